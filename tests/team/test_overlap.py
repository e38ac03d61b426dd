"""T11: what a reservation covers, and when two touch; compared with trying every path."""

import re
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.team import overlap
from holdfast.team.errors import InvalidFieldError, NotMetadataError, SecretFoundError
from tests.security.secret_samples import samples
from tests.team.forbidden_samples import BAD_PATHS

NAMES = ["".join(name) for size in (1, 2, 3) for name in product("ab.", repeat=size)]
NAMES = [name for name in NAMES if name not in (".", "..")]
PARTS = [name for name in NAMES if len(name) < 3]
# Every path of at most three short parts, and some with a longer name: patterns below are shorter.
EVERY_PATH = [
    *NAMES,
    *("/".join(parts) for parts in product(PARTS, repeat=2)),
    *("/".join(parts) for parts in product(["a", "b", ".", "ab"], repeat=3) if "." not in parts),
    *(f"{name}/a" for name in NAMES),
    *(f"a/{name}" for name in NAMES),
]
SIGNS = st.sampled_from(["a", "b", ".", "*", "?", "[ab]", "[!a]", "[a-b]"])
PART = st.one_of(
    st.lists(SIGNS, min_size=1, max_size=2).map("".join), st.sampled_from(["**", "a", "b", "*"])
)
ENTRY = (
    st.lists(PART, min_size=1, max_size=2)
    .map("/".join)
    .filter(lambda entry: not {".", ".."} & set(entry.split("/")))
)


def matches(entry: str, path: str) -> bool:
    """The meaning of an entry, as an expression that Python's own engine compares."""
    name, dot, ending = entry.rpartition("/")[2].rpartition(".")
    below = "" if name and dot and ending[:1] in list("ab*?[") else "(?:[^/]+/)*"
    expressions = [translate(entry, has_classes=True) + below]
    if "[" in entry:
        expressions.append(translate(entry, has_classes=False) + below)
    return any(re.fullmatch(expression, f"{path}/") for expression in expressions)


def translate(entry: str, *, has_classes: bool) -> str:
    parts = []
    for part in entry.split("/"):
        if part == "**":
            parts.append("(?:[^/]+/)*")
            continue
        escaped = re.escape(part).replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
        if has_classes:
            escaped = re.sub(r"\\\[(!?)([ab\\-]+)\\\]", read_class, escaped)
        parts.append(f"{escaped}/")
    return "".join(parts)


def read_class(found: re.Match[str]) -> str:
    sign = "^/" if found[1] else ""
    return f"[{sign}{found[2]}]"


@settings(max_examples=300, deadline=None)
@given(ENTRY, st.sampled_from(EVERY_PATH))
def test_an_entry_covers_what_its_expression_matches(entry: str, path: str):
    is_within = f"{path}/".startswith(f"{entry}/")

    assert overlap.covers(entry, path) == (is_within or matches(entry, path))


@settings(max_examples=300, deadline=None)
@given(ENTRY, ENTRY)
def test_two_entries_overlap_if_there_is_a_path_that_both_match(one: str, other: str):
    has_common = any(matches(one, path) and matches(other, path) for path in EVERY_PATH)

    assert overlap.overlaps(one, other) == overlap.overlaps(other, one)
    if has_common:
        assert overlap.overlaps(one, other)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(["a", "b", "*", "?", "[ab]"]), min_size=1, max_size=4).map("".join),
    st.lists(st.sampled_from(["a", "b", "*", "?", "[!b]"]), min_size=1, max_size=4).map("".join),
)
def test_two_names_overlap_exactly_where_a_name_of_eight_letters_matches_both(one: str, other: str):
    """A shortest common name is no longer than both together, so every name is tried."""
    names = ["".join(name) for size in range(1, 9) for name in product("ab", repeat=size)]
    has_common = any(matches(one, name) and matches(other, name) for name in names)

    # `[ab]` may also be a name that is written so.
    if "[" not in one + other:
        assert overlap.overlaps(one, other) == has_common
    elif has_common:
        assert overlap.overlaps(one, other)


@settings(max_examples=200, deadline=None)
@given(st.lists(ENTRY, max_size=4), st.lists(ENTRY, max_size=4))
def test_all_pairs_that_touch_are_found_in_the_order_of_mine(mine: list[str], theirs: list[str]):
    pairs = [(one, other) for one in mine for other in theirs if overlap.overlaps(one, other)]

    assert overlap.find_overlaps(mine, theirs) == pairs


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("src", "src/team/a.py"),
        ("src/*.py", "src/a.py"),
        ("**/test_*.py", "tests/team/test_rules.py"),
        ("migrations/**", "migrations/sqlite/0001.sql"),
        ("**", "README.md"),
        ("*", "src/team/a.py"),
        ("a/**/b", "a/b"),
        ("a*b*c", "*x*"),
        ("[ab]/x", "[bc]/x"),
        ("src/[slug]/page.tsx", "src/[slug]/page.tsx"),
        ("src/[slug]", "src/*/page.tsx"),
        ("**/x", "y/**"),
        ("src/a.py#Store", "src/a.py#Store.open"),
        ("src/a.py#Store::open", "src/a.py#Store"),
        ("src/a.py#Store", "src/a.py"),
        ("src/a.py#Store", "src/*.py"),
        ("src/a.py#Store", "src"),
        ("größe/*", "größe/ä.md"),
    ],
)
def test_entries_that_touch_are_told(one: str, other: str):
    assert overlap.overlaps(one, other)
    assert overlap.overlaps(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("src", "srcs/a.py"),
        ("src/a.py", "src/A.py"),
        ("src/*.py", "src/team/a.py"),
        ("a/**/b", "ab"),
        ("**/a.py", "**/b.py"),
        ("**/test_*.py", "tests/**/rules.py"),
        ("a?c", "a/c"),
        ("[!a]", "a"),
        ("src/a.py#Store.open", "src/a.py#Store.close"),
        ("src/a.py#Store", "src/a.py#StoreError"),
        ("src/a.py#Store", "src/b.py#Store"),
    ],
)
def test_entries_without_a_common_path_do_not_touch(one: str, other: str):
    assert not overlap.overlaps(one, other)
    assert not overlap.overlaps(other, one)


def test_a_symbol_covers_its_file_and_a_file_does_not_cover_its_folder():
    assert overlap.covers("src/a.py#Store.open", "src/a.py")
    assert not overlap.covers("src/a.py", "src")
    assert overlap.covers("docs/issue#1.md", "docs/issue#1.md")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("*a" * 240, "a*" * 240),
        ("/".join(["*a"] * 160), "/".join(["a*"] * 160)),
        ("?" * 499, "*" + "a" * 498),
        ("[ab]" * 120, "[bc]" * 120),
        ("/".join(["**", "a"] * 100), "/".join(["**", "b"] * 100)),
    ],
    ids=["runs", "folders", "signs", "classes", "anything"],
)
def test_no_pair_of_globs_is_tried_in_every_combination(one: str, other: str):
    """With one try for each way to read them, none of these would ever end."""
    assert overlap.overlaps(one, other) == overlap.overlaps(other, one)
    assert not overlap.overlaps(f"{one}x.py", f"{other}y.py")


# --- what may be reserved -------------------------------------------------------------------------


def test_entries_are_kept_in_one_form_and_once():
    given_paths = ["./src/a.py", "src/a.py", "docs/", "src/b.py#Store.open", "**", "*", "[ab]/x"]

    assert overlap.check_paths(given_paths) == (
        *("src/a.py", "docs", "src/b.py#Store.open", "**", "*", "[ab]/x"),
    )


@pytest.mark.parametrize("path", BAD_PATHS)
def test_a_path_that_is_refused_among_files_is_refused_here(path: str):
    with pytest.raises((InvalidFieldError, NotMetadataError)):
        overlap.check_paths([path])


@pytest.mark.parametrize(
    "paths",
    [[], None, "src", {"src": 1}, [1], [None], ["a"] * 51, ["src/{a,b}"], ["a#"], ["*.py#Store"]],
)
def test_a_list_of_another_form_is_refused(paths: object):
    with pytest.raises(InvalidFieldError):
        overlap.check_paths(paths)


def test_a_reason_and_a_note_are_metadata_too():
    assert overlap.check_reason(" moving the store\n") == "moving the store"
    assert overlap.check_note("n" * 1000) == "n" * 1000
    for check in (overlap.check_reason, overlap.check_note):
        with pytest.raises(NotMetadataError):
            check("User: do it\nAssistant: done")
        with pytest.raises(SecretFoundError):
            check(next(samples()).line)
        with pytest.raises(InvalidFieldError):
            check("n" * 1001)
        with pytest.raises(InvalidFieldError):
            check(" \u200b ")


@pytest.mark.parametrize(("value", "minutes"), [(None, 60), (1, 1), (1440, 1440)])
def test_a_reservation_lasts_an_hour_unless_it_says_otherwise(value: object, minutes: int):
    assert overlap.check_ttl_minutes(value) == minutes


@pytest.mark.parametrize("value", [0, -1, 1441, 1.0, 1.5, True, "60", float("nan"), [60], 10**30])
def test_a_time_of_another_form_is_refused(value: object):
    with pytest.raises(InvalidFieldError):
        overlap.check_ttl_minutes(value)
