"""Written by `make docs`: a changed function raises the number."""

NUMBER = 30
CHECKSUM = "b8088329eb1f6cb4e2cf4d57e568502e16c4412ae39b005e68033237e07817cb"
