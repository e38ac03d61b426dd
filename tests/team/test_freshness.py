"""Which files of a published context are as here, in words; and whether it is of this one."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.ground.git_remote import normalise_remote
from holdfast.team.freshness import (
    DIFFERS,
    MISSING,
    SAME,
    UNKNOWN,
    Freshness,
    describe_freshness,
    is_id,
    is_listed_as,
    is_same_repo,
    list_meant,
    name_repo,
)


def describe(*states: str) -> str:
    return describe_freshness(Freshness({str(number): s for number, s in enumerate(states)}))


def test_all_the_same_is_said_in_three_words():
    assert describe(SAME, SAME) == "all as here"


def test_what_differs_and_what_is_missing_are_counted_of_all():
    assert describe(SAME, DIFFERS, SAME) == "1 of 3 differs here"
    assert describe(DIFFERS, DIFFERS, MISSING, SAME, SAME, SAME) == (
        "2 of 6 differ here, 1 missing here"
    )
    assert describe(MISSING, SAME) == "1 of 2 missing here"


def test_what_could_not_be_compared_is_not_called_the_same():
    assert describe() == "not compared"
    assert describe(UNKNOWN, UNKNOWN) == "not compared"
    assert describe(SAME, SAME, UNKNOWN) == "2 of 3 as here, 1 not compared"
    assert describe(DIFFERS, UNKNOWN) == "1 of 2 differs here, 1 not compared"


def test_the_counts_are_given_as_data():
    found = Freshness({"a": SAME, "b": MISSING}, "behind").to_dict()

    assert found == {
        "head": "behind",
        "files": {"a": "same", "b": "missing here"},
        "same": 1,
        "differs": 0,
        "missing_here": 1,
        "unknown": 0,
    }


@pytest.mark.parametrize("value", ["a" * 40, "0" * 64])
def test_a_whole_id_is_one(value: str):
    assert is_id(value)


@pytest.mark.parametrize(
    "value", [None, 1, "", "a" * 39, "A" * 40, "--" + "a" * 38, "a" * 40 + "\n", ["a" * 40]]
)
def test_what_is_no_whole_id_is_none(value: object):
    assert not is_id(value)


@pytest.mark.parametrize(
    ("theirs", "mine"),
    [
        ("github.com/acme/payouts", "github.com/acme/payouts"),
        ("github.com/Acme/Payouts", "github.com/acme/payouts"),
        ("https://me:secret@github.com/acme/payouts.git", "github.com/acme/payouts"),
        ("git@github.com:acme/payouts.git", "github.com/acme/payouts"),
        ("acme/payouts", "github.com/acme/payouts"),
        ("payouts", "payouts"),
    ],
)
def test_a_repository_is_known_under_its_other_names(theirs: str, mine: str):
    assert is_same_repo(theirs, mine)
    assert is_same_repo(mine, theirs)


@pytest.mark.parametrize(
    ("theirs", "mine"),
    [
        (None, "github.com/acme/payouts"),
        (None, None),
        ("", ""),
        ("payouts", "github.com/acme/payouts"),
        ("github.com/other/payouts", "github.com/acme/payouts"),
        ("gitlab.com/acme/payouts", "github.com/acme/payouts"),
        ("x" * 501, "x" * 501),
    ],
)
def test_another_repository_is_not_taken_for_this_one(theirs: object, mine: object):
    assert not is_same_repo(theirs, mine)
    assert not is_same_repo(mine, theirs)


# --- a person's list ------------------------------------------------------------------------------

LISTED = "github.com/acme/payouts"
USERS = st.sampled_from(["", "git@", "me@", "me:secret@", "github.com@", "evil.example@"])
PLACES = st.sampled_from(
    [
        *(
            "github.com",
            "GitHub.com",
            "github.com.",
            "github",
            "acme",
            "gitlab.com",
            "evil.example",
        ),
        *("github.com.evil.example", "git\u212aub.com", "[::1]", "localhost", "c", "C", ""),
    ]
)
PORTS = st.sampled_from(["", ":22", ":443", ":8443", ":2222"])
STEPS = st.lists(
    st.sampled_from(
        [
            *("acme", "ACME", "acm\u0435", "payouts", "payouts.git", "Payouts.git.git", "pay outs"),
            *("github.com", "gitlab.com", "..", ".", "", "x", "payouts2", "acme@x", "x:acme"),
        ]
    ),
    min_size=1,
    max_size=4,
)
ADDRESSES = st.one_of(
    st.builds(
        lambda scheme, user, place, port, steps, end: (
            f"{scheme}{user}{place}{port}/{'/'.join(steps)}{end}"
        ),
        st.sampled_from(
            ["https://", "http://", "ssh://", "git://", "file://", "ext::", "x://", ""]
        ),
        USERS,
        PLACES,
        PORTS,
        STEPS,
        st.sampled_from(["", "/", ".git", ".git/"]),
    ),
    st.builds(
        lambda user, place, steps: f"{user}{place}:{'/'.join(steps)}",
        st.one_of(USERS, PLACES.map(lambda place: f"{place}:x@")),
        PLACES,
        STEPS,
    ),
    st.builds(
        lambda way, steps: way + "/".join(steps), st.sampled_from(["C:\\", "/", "./", "~/"]), STEPS
    ),
)
# Every way to write the address of the listed one, and nothing else.
SAME_ADDRESS = re.compile(
    r"((https://([\w.]+(:\w+)?@)?github\.com(:443)?|http://([\w.]+(:\w+)?@)?github\.com"
    r"|git://([\w.]+(:\w+)?@)?github\.com|ssh://([\w.]+(:\w+)?@)?github\.com(:22)?)/"
    r"|([\w.]+@)?github\.com:(?!//))"
    r"/*acme/+payouts(?-i:\.git)?/*",
    re.IGNORECASE | re.ASCII,
)


def is_listed(address: str) -> bool:
    name = normalise_remote(address)
    return name is not None and is_listed_as(LISTED, name)


@settings(max_examples=1_000)
@given(ADDRESSES)
def test_no_other_address_passes_for_a_listed_one(address: str):
    assert is_listed(address) == (SAME_ADDRESS.fullmatch(address) is not None)


@given(st.from_regex(SAME_ADDRESS, fullmatch=True))
def test_every_spelling_of_a_listed_address_passes(address: str):
    assert is_listed(address) or len(address) > 500


@given(st.text(max_size=60), st.sampled_from([LISTED, "acme/payouts", "payouts", ""]))
def test_no_text_passes_for_a_listed_name_by_being_completed(text: str, listed: str):
    assert not is_listed_as(listed, text) or (text.casefold(), "/" in text) == (listed, True)


@pytest.mark.parametrize(
    "read",
    [
        *("acme/payouts", "payouts", "acme:2222/payouts", "github.com:8443/acme/payouts"),
        *("gitlab.com/acme/payouts", "evil.example/github.com/acme/payouts", "x" * 40),
        *("github.com/acme/payouts/more", "github.com/acme/pay%20outs", "git\u212aub.com/acme"),
    ],
)
def test_what_a_checkout_is_called_must_be_on_the_list_as_a_whole(read: str):
    assert not is_listed_as(LISTED, read)


def test_the_name_of_a_folder_is_not_listed():
    assert not is_listed_as("payouts", "payouts")
    assert is_listed_as("acme/payouts", "acme/Payouts")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("github.com/acme/payouts", [LISTED]),
        ("git@github.com:acme/payouts.git", [LISTED]),
        ("acme/payouts", [LISTED]),
        ("Acme/Payouts.git", [LISTED]),
        ("acme/mail", ["github.com/acme/mail", "gitlab.com/acme/mail"]),
        ("near/it", ["near/it"]),
        ("git@acme:payouts.git", []),
        ("ssh://acme/payouts", []),
        ("acme.example/payouts", []),
        ("payouts", []),
        ("", []),
    ],
)
def test_a_typed_name_may_leave_the_host_out(typed: str, meant: list[str]):
    listed = (LISTED, "github.com/acme/mail", "gitlab.com/acme/mail", "near/it", "x.org/near/it")

    assert list_meant(listed, typed) == meant


@pytest.mark.parametrize(
    "address",
    [
        *("ssh://git@[2001:db8::1]:2222/x/y.git", "https://git.example.org:8443/x/y"),
        *("git@[2001:db8::1]:2222/x/y", "https://example.org/größe", "git@example.org:a b/c"),
    ],
)
def test_what_is_stored_of_a_listed_repository_is_found_again(address: str):
    """Also the port behind an address of numbers, which a path may look like."""
    name = normalise_remote(address)

    assert name is not None
    assert is_listed_as(name_repo(name), name)
    assert name_repo(name_repo(name)) == name_repo(name)


def test_only_the_letters_that_hosts_fold_are_folded():
    assert name_repo("GitHub.com/Acme/\u212ait") == "github.com/acme/\u212ait"
