"""Written by `make docs`: a changed function raises the number."""

NUMBER = 4
CHECKSUM = "50cb4630e17d1308bc3d1a42971d3dbe18728ea2ab835d156f6acc3e88d69fb9"
