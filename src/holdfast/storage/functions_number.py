"""Written by `make docs`: a changed function raises the number."""

NUMBER = 3
CHECKSUM = "c1ae92caf4e64ef55831e50a127708bb419d37bc55acbcae088df588c6dd0d9d"
