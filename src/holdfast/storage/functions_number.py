"""Written by `make docs`: a changed function raises the number."""

NUMBER = 13
CHECKSUM = "fe11681895bfcb00646b8bf6521158b395861c416f2aee440eb02d0aec1a73fc"
