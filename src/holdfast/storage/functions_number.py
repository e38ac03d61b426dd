"""Written by `make docs`: a changed function raises the number."""

NUMBER = 17
CHECKSUM = "dc5b0af7ae042eb3319b725d1c313bdc42996cffe0e665716775fce1d1318a1e"
