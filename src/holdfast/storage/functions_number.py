"""Written by `make docs`: a changed function raises the number."""

NUMBER = 11
CHECKSUM = "3a26f7656889feab2eaf282eb342d5edd3742cbba959484461164d3eca15e332"
