"""Written by `make docs`: a changed function raises the number."""

NUMBER = 21
CHECKSUM = "4e12c07bf9ac4cd14a1d548bdc8dbd761eb9ee619ff374d6c3344ab2db7bbbf4"
