"""Written by `make docs`: a changed function raises the number."""

NUMBER = 8
CHECKSUM = "bb16da75769e6495dc563efbdd7fd925e1516b84fadc62a39317e6ad4dc8ab3b"
