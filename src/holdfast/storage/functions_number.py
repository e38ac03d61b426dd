"""Written by `make docs`: a changed function raises the number."""

NUMBER = 28
CHECKSUM = "6ce4abbac946b304ffff5a59fb8682e269506d7abab011d6db91d4d4c0308530"
