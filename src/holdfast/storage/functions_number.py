"""Written by `make docs`: a changed function raises the number."""

NUMBER = 15
CHECKSUM = "27ece8091fca29bf9e93a9112fc0c329131d48e7056ee2d58549fc2cdff0a75f"
