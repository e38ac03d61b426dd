"""Written by `make docs`: a changed function raises the number."""

NUMBER = 6
CHECKSUM = "c01fa7ce25ee84f64078069a29aebef3b758f3ee4cc7189e6986a293823c2c6b"
