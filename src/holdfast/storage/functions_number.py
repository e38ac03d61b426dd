"""Written by `make docs`: a changed function raises the number."""

NUMBER = 52
CHECKSUM = "da0b7e74a160f614ce4df0818493e3d217b7a2abf34afdf80810b08eef5f6eef"
