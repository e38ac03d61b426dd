"""Written by `make docs`: a changed function raises the number."""

NUMBER = 22
CHECKSUM = "5467d67378da14757a8caf5a26cad62ad89aab064da17c2d109afe190ad99830"
