"""Written by `make docs`: a changed function raises the number."""

NUMBER = 29
CHECKSUM = "ce509de10c45180a55e71dc216e04254edb87a1d2a2b9844124c3c2237f37ea7"
