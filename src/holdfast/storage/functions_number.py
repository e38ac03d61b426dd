"""Written by `make docs`: a changed function raises the number."""

NUMBER = 11
CHECKSUM = "7af41c518dc9c63bced8e75afca1e18ca18aabc611ab82f3b03832026140ff8d"
