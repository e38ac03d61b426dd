"""Written by `make docs`: a changed function raises the number."""

NUMBER = 16
CHECKSUM = "d75eb3b820a8ea8fc370d438b31100c1d2c15d43f7a4dd5c0eacc50818ab0d5f"
