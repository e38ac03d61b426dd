"""Written by `make docs`: a changed function raises the number."""

NUMBER = 19
CHECKSUM = "7e1060a2bff73d00f8d4140bc421ba20c407027f6d8642e36b8521f7e43fa797"
