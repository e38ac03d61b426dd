"""Written by `make docs`: a changed function raises the number."""

NUMBER = 23
CHECKSUM = "ab07ebead27eb3015e2cd877ff8609d7b50e479e66086fe124001f7bd97bf120"
