"""Written by `make docs`: a changed function raises the number."""

NUMBER = 31
CHECKSUM = "b8bc70b3c299a32a64a9169863354eff420ccb12eddc7e48d2831c6068480289"
