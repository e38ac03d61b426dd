"""Written by `make docs`: a changed function raises the number."""

NUMBER = 14
CHECKSUM = "3947599b366ccb1ae9a63a792ce3a3f0d9116db1972c19461ff82773a99c65a9"
