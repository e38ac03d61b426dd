"""Written by `make docs`: a changed function raises the number."""

NUMBER = 9
CHECKSUM = "c686ef5f0d22bb8188812f48734648e0be70fae70ac72a4975ed8f432f59dfd3"
