"""Written by `make docs`: a changed function raises the number."""

NUMBER = 1
CHECKSUM = "6465bf3764cc6e129c73c34f1d60507b0814d87d52c57a6961b7ab9954daa90a"
