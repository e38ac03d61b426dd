"""Written by `make docs`: a changed function raises the number."""

NUMBER = 5
CHECKSUM = "76d2fa86687c5b3aaad31c12379476997d9a72ed1efafca3c1b69eb8912d63d6"
