"""Written by `make docs`: a changed function raises the number."""

NUMBER = 56
CHECKSUM = "a38e13758fc52ece594f91070622a36ce07ad1eac220158708a5ad8865f09c0d"
