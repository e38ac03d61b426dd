"""Written by `make docs`: a changed function raises the number."""

NUMBER = 53
CHECKSUM = "bd8207954c38d759f742d15dfabd172115b73debfc823f830cd7814f8f92078a"
