"""Written by `make docs`: a changed function raises the number."""

NUMBER = 57
CHECKSUM = "b624be73ca4b9fea2f293847bf5a8079bf93fa803dc9fd06197f3da939790eef"
