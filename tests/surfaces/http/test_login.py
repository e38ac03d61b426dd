"""How a browser gets in, what it keeps, and what a foreign page can do with it: nothing."""

import httpx
import pytest

from holdfast.surfaces.http.errors import TooManyError
from holdfast.surfaces.http.login import (
    CODE_SECONDS,
    PAUSE_SECONDS,
    TRY_SECONDS,
    WRONG_TRIES,
    Codes,
    Tries,
    cookie_name,
)
from tests.surfaces.http.server import create_session, is_problem, run_server


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def browser(server):
    """A client without the token."""
    with httpx.Client(base_url=server.url) as client:
        yield client


def log_in(browser, server):
    return browser.post("/login", data={"token": server.token}, headers={"Origin": server.url})


def test_the_link_works_once(tmp_path):
    with run_server(tmp_path) as server, httpx.Client() as browser:
        link = server.started["login_url"]
        assert browser.head(link).status_code == 405  # a look ahead does not use it up
        first, again = browser.get(link), httpx.get(link)

        assert (first.status_code, first.headers["location"]) == (303, "/")
        assert again.status_code == 403
        assert "used already" in again.text
        for page in (link, f"{server.url}/login"):  # nothing to do for a browser that is in
            assert browser.get(page).headers["location"] == "/"
        assert browser.get(f"{server.url}/api/state").status_code == 200
        assert server.token not in link
        assert server.token not in first.headers["set-cookie"]


def test_a_browser_stays_in_over_a_restart_and_not_over_a_new_token(tmp_path):
    with run_server(tmp_path) as server, httpx.Client() as browser:
        browser.get(server.started["login_url"])
        cookie = browser.cookies[cookie_name(server.port)]
    with run_server(tmp_path) as server:
        cookies = {"Cookie": f"{cookie_name(server.port)}={cookie}"}
        assert httpx.get(f"{server.url}/api/state", headers=cookies).status_code == 200
        (tmp_path / "token").unlink()
        assert is_problem(
            httpx.get(f"{server.url}/api/state", headers=cookies), 401, "unauthorized"
        )


def test_two_servers_of_one_machine_do_not_log_each_other_out(tmp_path):
    """A browser keeps one cookie of a name for all ports of a machine."""
    with (
        run_server(tmp_path / "one") as one,
        run_server(tmp_path / "two") as two,
        httpx.Client() as browser,
    ):
        for server in (one, two):
            browser.get(server.started["login_url"])

        assert [browser.get(f"{server.url}/api/state").status_code for server in (one, two)] == [
            200,
            200,
        ]


def test_the_cookie_is_for_our_pages_only(browser, server):
    answer = log_in(browser, server)

    attributes = {part.strip().lower() for part in answer.headers["set-cookie"].split(";")[1:]}
    assert {"httponly", "samesite=strict", "path=/"} <= attributes
    assert not any(part.startswith("domain") or part == "secure" for part in attributes)


def test_a_cookie_reads_and_with_our_own_origin_writes(browser, server):
    log_in(browser, server)
    body = {"chatmode": "coder"}

    assert browser.get("/api/state").status_code == 200
    assert (
        browser.post("/api/sessions", json=body, headers={"Origin": server.url}).status_code == 201
    )
    assert (
        browser.post(
            "/api/sessions", json=body, headers={"Sec-Fetch-Site": "same-origin"}
        ).status_code
        == 201
    )


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "null"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://localhost:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
    ],
)
def test_a_foreign_page_cannot_use_the_cookie(browser, server, api, headers):
    log_in(browser, server)
    session = create_session(api)

    for content_type in ("application/json", "text/plain"):
        given = {**headers, "Content-Type": content_type}
        answer = browser.post(f"/api/sessions/{session['id']}/end", content=b"{}", headers=given)
        assert is_problem(answer, 403, "foreign_request")
    assert api.get(f"/api/sessions/{session['id']}").json()["ended_at"] is None


@pytest.mark.parametrize(
    "query", ["", "?code=", "?code=wrong", "?code=%00%ff", f"?code={'x' * 5000}"]
)
def test_without_a_good_code_there_is_a_page_that_says_what_to_do(browser, server, query):
    """On a laptop first where its token lies, and on a server of a team who gives one."""
    answer = browser.get(f"/login{query}")

    assert answer.status_code == (403 if query else 200)
    on_laptop = "<p>Paste the token. It is in the file <code>token</code> of the data folder"
    on_server = "<p>Paste the token that your administrator gave you, or that of a laptop"
    first = on_server if server.database_url else on_laptop
    before_form, _, _ = answer.text.partition("<form")
    assert first in before_form
    assert ("data folder" in before_form) == (first == on_laptop)
    assert ("You are not logged in." in answer.text) == (not query)
    assert "serve</code> again" not in answer.text  # one is running, and another would be refused
    assert "<script" not in answer.text
    assert "style=" not in answer.text
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("path", ["/", "/sessions", "/nothing"])
def test_a_person_without_a_cookie_sees_that_page(browser, path):
    answer = browser.get(path, headers={"Accept": "text/html,*/*"})

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert "<form" in answer.text


def test_too_many_wrong_tokens_are_slowed_down_and_do_not_lock_out_the_right_token(tmp_path):
    with run_server(tmp_path) as server, httpx.Client(base_url=server.url) as browser:
        wrong = [
            browser.post("/login", data={"token": f"wrong {number}"})
            for number in range(WRONG_TRIES + 2)
        ]

        assert [answer.status_code for answer in wrong] == [403] * WRONG_TRIES + [429] * 2
        assert wrong[-1].headers["retry-after"]
        right = browser.post("/login", data={"token": server.token})
        assert (right.status_code, "set-cookie" in right.headers) == (303, True)
        assert browser.get("/api/state", headers=server.bearer).status_code == 200


@pytest.mark.parametrize(
    "content_type", ["application/json", "text/plain", "multipart/form-data; boundary=x", ""]
)
def test_the_form_takes_a_form_only(browser, server, content_type):
    answer = browser.post(
        "/login", content=f"token={server.token}", headers={"Content-Type": content_type}
    )

    assert is_problem(answer, 415)


@pytest.mark.parametrize(
    "content", [b"", b"token", b"token=", b"x=1&" * 100, b"\xff=\xff", b"token=" + b"x" * 5000]
)
def test_a_form_without_a_token_sets_no_cookie(browser, content):
    answer = browser.post(
        "/login", content=content, headers={"Content-Type": "application/x-www-form-urlencoded"}
    )

    assert answer.status_code in (400, 403, 413, 429)
    assert "set-cookie" not in answer.headers


def test_a_code_ends_after_ten_minutes():
    clock = Clock()
    codes = Codes(clock)
    early, late = codes.issue(), codes.issue()

    clock.now = CODE_SECONDS - 1
    assert codes.redeem(early)
    clock.now = CODE_SECONDS
    assert not codes.redeem(late)
    assert not codes.redeem(early)


def test_wrong_tries_are_forgotten_after_a_minute():
    clock = Clock()
    tries = Tries(clock)
    for _ in range(WRONG_TRIES):
        assert tries.pause_seconds == 0
        tries.refuse()

    assert tries.pause_seconds == PAUSE_SECONDS
    with pytest.raises(TooManyError):
        tries.refuse()
    clock.now = TRY_SECONDS + 1
    assert tries.pause_seconds == 0
    tries.refuse()
