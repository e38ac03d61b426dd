"""Written by `make docs`: a changed function raises the number."""

NUMBER = 1
CHECKSUM = "a423815667500d1405c12929896b413920522b6f2ea0f35a0cd9c093a8720631"
