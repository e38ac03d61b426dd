"""Which texts become links: plain http and https, and addresses of our own."""

from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.surfaces.console import links


@pytest.mark.parametrize(
    "text",
    [
        "http://localhost:8080/x",
        "https://api.example.com/v1?a=1&b=%20#c",
        "HTTP://EXAMPLE.com",
        "http://[::1]:8080/",
        "http://a",
    ],
)
def test_a_plain_address_is_a_link(text: str):
    assert links.web_link(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        " javascript:alert(1)",
        "java\nscript:alert(1)",
        "\x01javascript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "vbscript:x",
        "file:/etc/passwd",
        "ftp://example.com",
        "mailto:a@example.com",
        "//example.com",
        "/relative",
        "example.com",
        "http:/example.com",
        "http:example.com",
        "http:///example.com",
        "https:\\\\example.com",
        "http://user@example.com",
        "http://bank.example@evil.example",
        "http://user:pass@example.com",
        "http://exa mple.com",
        "http://example.com/<b>",
        'http://example.com/"onmouseover=x',
        "http://example.com/\u202e",
        "http://ex\u0430mple.com",
        "http://example.com:99999999",
        "http://example.com:x",
        "http://[::1",
        "http://",
        "blob:http://example.com/x",
        "view-source:http://example.com",
        "http://" + "a" * 3000,
    ],
)
def test_everything_else_stays_text(text: str):
    assert links.web_link(text) is None


@given(st.text(max_size=60))
def test_a_link_is_always_of_an_allowed_scheme(text: str):
    link = links.web_link(text)

    assert link is None or urlsplit(link).scheme in ("http", "https")


def test_a_path_cannot_leave_its_place_in_an_address():
    link = links.editor_link("/r/a&applet=evil#x?.py", "s1")

    assert parse_qs(urlsplit(link).query) == {
        "applet": ["text-editor"],
        "path": ["/r/a&applet=evil#x?.py"],
        "session": ["s1"],
    }
    assert urlsplit(link).fragment == ""


def test_a_captured_applet_cannot_override_its_applet_or_session():
    link = links.applet_link(
        ["git-diff", "path=/r", "applet=evil", "session=other", "line=7", "x"], "s1"
    )

    assert parse_qs(urlsplit(link).query, keep_blank_values=True) == {
        "applet": ["git-diff"],
        "path": ["/r"],
        "x": [""],
        "session": ["s1"],
        "line": ["7"],
    }
    assert urlsplit(link).fragment == "L7"


@pytest.mark.parametrize("line", ["0", "x", "1;", "12345678", ""])
def test_a_line_that_is_not_a_number_is_left_out(line: str):
    assert "#" not in links.applet_link(["text-editor", f"line={line}"], "s1")


def test_paths_are_shown_relative_to_the_working_tree():
    assert links.full_path("a.py", "/r") == "/r/a.py"
    assert links.full_path("/x/a.py", "/r") == "/x/a.py"
    assert links.full_path("a.py", None) == "a.py"
    assert links.short_path("/r/a.py", "/r/") == "a.py"
    assert links.short_path("/r-evil/a.py", "/r") == "/r-evil/a.py"
    assert links.short_path("/r/a.py", None) == "/r/a.py"
    assert [links.folder_name(path) for path in ("/r/payouts/", "payouts", "/")] == [
        "payouts",
        "payouts",
        "/",
    ]
    assert links.session_link("s1") == "/sessions/s1"
    assert links.session_link("s1", below="5") == "/sessions/s1?below=5"


def test_a_diff_and_a_workstream_have_addresses_that_only_hold_values():
    assert links.diff_link("/r/a.py") == "/?applet=git-diff&path=%2Fr%2Fa.py"
    assert (
        links.diff_link("/r/a&since=x", "s1", "abc")
        == "/?applet=git-diff&path=%2Fr%2Fa%26since%3Dx&session=s1&since=abc"
    )
    assert links.work_link() == "/workstreams"
    assert links.work_link("", "planning") == "/workstreams?phase=planning"
    assert links.work_link("a&b#c", None) == "/workstreams?workstream=a%26b%23c"
    assert (
        links.work_piece_link("x", "planning", "m")
        == "/console/workstreams?workstream=x&phase=planning&seen=m"
    )


def test_a_name_that_an_address_cannot_hold_still_gives_a_link():
    assert links.diff_link("/r/\udcff") == "/?applet=git-diff&path=%2Fr%2F%3F"
