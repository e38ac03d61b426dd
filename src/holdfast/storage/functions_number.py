"""Written by `make docs`: a changed function raises the number."""

NUMBER = 18
CHECKSUM = "8de685190d5db938b9b3572c3f9162a8fa05a85c86622586c5298e1e426fef32"
