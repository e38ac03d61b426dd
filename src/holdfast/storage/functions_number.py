"""Written by `make docs`: a changed function raises the number."""

NUMBER = 4
CHECKSUM = "f314bd3853ab6f30e49ba58cc998c5204f45c8b97c41c1ea8cab68cb8d010ff7"
