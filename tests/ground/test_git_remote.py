"""One name for a repository, whichever way it was cloned, and never a password or a place on this
machine.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.ground.git_remote import normalise_remote, rewrite

PAYOUTS = "github.com/acme/payouts"


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/acme/payouts",
        "https://github.com/acme/payouts.git",
        "https://github.com/acme/payouts.git/",
        "https://GitHub.com:443/acme//payouts",
        "https://me@github.com/acme/payouts.git",
        "https://me:p%40ss@github.com/acme/payouts.git",
        "https://github.com/acme/payouts.git?token=secret#x",
        "http://github.com:80/acme/payouts",
        "git://github.com:9418/acme/payouts",
        "ssh://git@github.com/acme/payouts.git",
        "ssh://git@github.com:22/acme/payouts.git",
        "SSH://git@GITHUB.com/acme/payouts.git",
        "git+ssh://git@github.com/acme/payouts.git",
        "git@github.com:acme/payouts.git",
        "git@github.com:/acme/payouts.git",
        "github.com:acme/payouts",
    ],
)
def test_every_way_to_a_repository_gives_it_one_name(url: str):
    assert normalise_remote(url) == PAYOUTS


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://git.example.org:8443/x/y.git", "git.example.org:8443/x/y"),
        ("ssh://git@git.example.org:2222/x/y.git", "git.example.org:2222/x/y"),
        ("http://git.example.org:443/x", "git.example.org:443/x"),
        ("https://[2001:DB8::1]/x/y", "[2001:db8::1]/x/y"),
        ("git@[2001:db8::1]:x/y", "[2001:db8::1]/x/y"),
        ("https://example.org/Team/Name", "example.org/Team/Name"),
        ("git@example.org:team@home/name.git", "example.org/team@home/name"),
        ("https://example.org/größe", "example.org/größe"),
    ],
)
def test_ports_letters_and_odd_hosts_are_kept_where_they_distinguish_repositories(
    url: str, name: str
):
    assert normalise_remote(url) == name


@pytest.mark.parametrize(
    "url",
    [
        *(
            "",
            ".",
            "..",
            "/srv/git/x.git",
            "../x",
            "./a:b",
            "x",
            "x/y",
            "~/x",
            "file:///~/x",
            "file://host/srv/x",
        ),
        *(
            "C:/x",
            "C:\\x",
            "c:x",
            "ext::sh -c touch% x",
            "codecommit::eu://x",
            "foo::bar",
            "unknown://host/x",
        ),
        *(
            "https://",
            "https:///x",
            "https://host",
            "https://host/",
            "host:",
            ":x",
            "@:x",
            "https://host/a/../b",
        ),
        *(
            "https://ho st/x",
            "https://host/x\n",
            "https://host/\x1b[2J",
            "https://-c=x;/y",
            "u:p@ss@host:x",
        ),
        *("https://me:p@ss/word@host/x", "https://me:p@s?s/w@host/x"),
        *(
            "host:x@github.com:acme/payouts",
            "https://host#@github.com/x",
            "https://host?@github.com/x",
        ),
        *("https://host\\@github.com/x", "http\u017f://host/x", "https://git\u212aub.com/x"),
        "https://host/" + "x" * 500,
    ],
)
def test_a_remote_url_that_is_local_to_this_machine_gives_no_name(url: str):
    assert normalise_remote(url) is None


@given(st.text(max_size=60))
def test_any_text_is_answered_and_a_name_is_its_own_name(url: str):
    name = normalise_remote(url)

    if name is not None:
        assert normalise_remote(f"https://{name}") == name.removesuffix(".git")


@given(st.from_regex(r"[a-z]{8,12}", fullmatch=True), st.sampled_from(["https", "ssh", "git"]))
def test_a_password_is_never_part_of_a_name(secret: str, scheme: str):
    for user in (secret, f"me:{secret}", f"{secret}:x-oauth-basic"):
        name = normalise_remote(f"{scheme}://{user}@example.org/t/r?key={secret}#{secret}")
        assert name is not None
        assert secret not in name


def test_the_longest_short_form_is_written_out():
    rules = [("https://github.com/", "gh:"), ("https://github.com/acme/", "gh:acme-"), ("x", "")]

    assert rewrite("gh:acme-payouts", rules) == "https://github.com/acme/payouts"
    assert rewrite("gh:acme/payouts", rules) == "https://github.com/acme/payouts"
    assert rewrite("git@github.com:x", rules) == "git@github.com:x"
    assert rewrite("", rules) == ""
