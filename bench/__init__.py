"""How Holdfast compares with the bare call and with other session stores, side by side in one run.

Run it with `make bench`, or `python -m bench --quick` for a first look.
"""
