"""Written by `make docs`: a changed function raises the number."""

NUMBER = 13
CHECKSUM = "409448e28f7ae7b0de1b5e33ca773e9fd2503ddb5f086e17c4ea4cb64bc360ea"
