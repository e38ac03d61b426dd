"""Written by `make docs`: a changed function raises the number."""

NUMBER = 12
CHECKSUM = "10cbffd4519458e55110ef9a6bff252008d14cf6670f8015848e3051e35152fb"
