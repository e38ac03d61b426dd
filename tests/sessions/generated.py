"""What properties draw from: JSON values as both engines can keep them, with the numbers that
engines trip over.
"""

from hypothesis import strategies as st

TEXT = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=8)
TRICKY_NUMBERS = st.sampled_from(
    [
        0,
        -0.0,
        1e2,
        1e-7,
        0.1,
        1 / 3,
        5e-324,
        1e22,
        1e23,
        1.5e300,
        1.7e308,
        -1e16,
        2**53 + 1,
        2**63,
        10**40,
        -(10**307),
    ]
)
NUMBERS = TRICKY_NUMBERS | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXT
KEYS = (
    st.sampled_from(
        ["a", "b", "c", "key", "schlüssel", "鍵", "🗝", "", "a.b", "$.a", 'q"q', "back\\slash"]
    )
    | TEXT
)
VALUES = st.recursive(
    SCALARS,
    lambda values: st.lists(values, max_size=3) | st.dictionaries(KEYS, values, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)
