"""Print `storage/functions_number.py`: the number is raised when a function was changed."""

from __future__ import annotations

from holdfast.storage import functions, functions_number

TEMPLATE = '''"""Written by `make docs`: a changed function raises the number."""

NUMBER = {number}
CHECKSUM = "{checksum}"
'''


def describe_functions() -> str:
    checksum = functions.compute_checksum()
    number = functions_number.NUMBER
    if checksum != functions_number.CHECKSUM:
        number += 1
    return TEMPLATE.format(number=number, checksum=checksum)


if __name__ == "__main__":
    print(describe_functions(), end="")
