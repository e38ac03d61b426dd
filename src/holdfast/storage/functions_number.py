"""Written by `make docs`: a changed function raises the number."""

NUMBER = 1
CHECKSUM = "fcdc6bec083a60b943c7b1f54c8de0ca9931a30ca98480ada190d878127d839f"
