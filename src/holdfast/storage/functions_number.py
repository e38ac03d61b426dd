"""Written by `make docs`: a changed function raises the number."""

NUMBER = 20
CHECKSUM = "38ec25ce8d4af00e36624b1cda9d6789e90eeb507f3c32264e339fe03ff25ef1"
