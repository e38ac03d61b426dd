"""With what the laws of the house are tried on each room with SQL; its own `plans.py` has

FILL       rows for its tables, for each of the `owners (w, d)` and `numbers (n)`, repeatable
VALUES     values for arguments of its verbs, by the argument's name; VALUES_OF those of one verb.
           They are about a developer in the middle of the rows.
READS_ALL  verbs that may read every row of a developer, and why
SORTS      verbs that sort what they found, and why it is little
OF_OWNER   verbs that only the owner of the tables may run, where there are such
INNER      functions that take an owner and are not verbs, because only other functions call them
add_rows   adds rows of one developer, for the tests of walls
"""

from importlib import import_module

from tools.schema import find_schemas

PLANS = {room: import_module(f"tests.{room}.plans") for room in find_schemas()}
OF_OWNER = {name for plans in PLANS.values() for name in getattr(plans, "OF_OWNER", ())}
