"""Written by `make docs`: a changed function raises the number."""

NUMBER = 20
CHECKSUM = "12a76dc3bbb2b7687798459cdd3159f1f106188204c64bda5a083863980a9f58"
