"""Written by `make docs`: a changed function raises the number."""

NUMBER = 28
CHECKSUM = "db92b04cb7ec932da233b9a7adabd26ef0431fe676e186fe841408d9e5c9be71"
