"""Written by `make docs`: a changed function raises the number."""

NUMBER = 12
CHECKSUM = "9bc7789334e601e203afe7eebf5322d6a305da2c13b6fdd9090f2e1a8c2e1cd5"
