"""Written by `make docs`: a changed function raises the number."""

NUMBER = 3
CHECKSUM = "8284730059a5c2083beccded1ab5693b2e1d220babe8e1f27e3ede9acbe4c605"
