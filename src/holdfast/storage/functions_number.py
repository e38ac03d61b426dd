"""Written by `make docs`: a changed function raises the number."""

NUMBER = 27
CHECKSUM = "8f3a1fed35cdc4642d3c8d8688cfeeeb5c448ef6d44e5f051f2a0e90e0f0a1c8"
