"""Written by `make docs`: a changed function raises the number."""

NUMBER = 10
CHECKSUM = "94b938c44963fc25a99525643a9f1c6184b7d6cc7dcd62d26c9dc2969766301a"
