"""The wall alone: what it does with a bug below it, with websockets, and with TLS before it."""

import pytest

from holdfast.app import App
from holdfast.ground.log import Log
from holdfast.ground.settings import load_settings
from holdfast.surfaces.http.guard import Guard, Site
from holdfast.surfaces.http.principal import Principals
from holdfast.surfaces.http.token import Keys

SECRET = "what somebody wrote"


class Door:
    """One request to a guard, and what it sent."""

    def __init__(self, home, app, site=None):
        self.home, self.sent = home, []
        self.keys = Keys(str(home))
        nobody = App(load_settings({"HOLDFAST_HOME": str(home), "HOME": str(home)}))
        principals = Principals(nobody, self.keys)
        self.guard = Guard(app, site=site or Site(), principals=principals, log=Log(home))

    async def ask(self, path="/api/x", *, method="GET", scheme="http", kind="http", **headers):
        given = {"host": "127.0.0.1:4790", "authorization": f"Bearer {self.keys.token}"} | headers
        pairs = [
            (name.replace("_", "-").encode(), value.encode())
            for name, value in given.items()
            if value is not None
        ]
        scope = {"type": kind, "method": method, "path": path, "scheme": scheme, "headers": pairs}
        self.sent.clear()
        await self.guard(scope, self.receive, self.send)
        return self.sent[0].get("status")

    async def receive(self):
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(self, message):
        self.sent.append(message)


async def fine(scope, receive, send):
    await send(
        {"type": "http.response.start", "status": 204, "headers": [(b"Cache-Control", b"public")]}
    )
    await send({"type": "http.response.body", "body": b""})


async def broken(scope, receive, send):
    raise ValueError(SECRET)


async def broken_in_the_middle(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    raise ValueError(SECRET)


async def test_a_bug_is_named_by_its_type_in_the_log_and_not_at_all_in_the_answer(tmp_path):
    door = Door(tmp_path, broken)

    assert await door.ask() == 500
    assert SECRET.encode() not in b"".join(message.get("body", b"") for message in door.sent)
    assert b'"code":"bug"' in door.sent[1]["body"]
    log = (tmp_path / "holdfast.log").read_text()
    assert '"event":"http_bug"' in log
    assert '"type":"ValueError"' in log
    assert SECRET not in log


async def test_a_bug_in_the_middle_of_an_answer_ends_it(tmp_path):
    door = Door(tmp_path, broken_in_the_middle)

    assert await door.ask() == 200
    assert len(door.sent) == 1


async def test_every_answer_has_our_headers_and_only_ours(tmp_path):
    door = Door(tmp_path, fine)

    assert await door.ask() == 204
    headers = dict(door.sent[0]["headers"])
    policy = headers.pop(b"content-security-policy").decode().split("; ")
    assert headers == {
        b"x-content-type-options": b"nosniff",
        b"referrer-policy": b"same-origin",
        b"cross-origin-resource-policy": b"same-origin",
        b"cache-control": b"no-store",
    }
    assert {"default-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"} <= set(policy)
    await door.ask("/static/x.css")
    assert dict(door.sent[0]["headers"])[b"cache-control"] == b"no-cache"


async def test_no_websocket_is_opened(tmp_path):
    door = Door(tmp_path, fine)

    await door.ask(kind="websocket")

    assert door.sent == [{"type": "websocket.close", "code": 1008}]


async def test_under_tls_the_cookie_has_another_name_and_the_origin_another_scheme(tmp_path):
    door = Door(tmp_path, fine)
    cookie = door.keys.cookie
    mine = {"authorization": None, "scheme": "https"}

    assert await door.ask(**mine, cookie=f"__Host-holdfast_session={cookie}") == 204
    assert await door.ask(**mine, cookie=f"holdfast_session_4790={cookie}") == 401
    assert await door.ask(scheme="https", origin="https://127.0.0.1:4790") == 204
    assert await door.ask(scheme="https", origin="http://127.0.0.1:4790") == 403


async def test_one_good_cookie_among_others_is_enough(tmp_path):
    """A neighbour on another port may have set one of the same name."""
    door = Door(tmp_path, fine)
    line = f"a=b; holdfast_session_4790=other; holdfast_session_4790={door.keys.cookie}; c"

    assert await door.ask(authorization=None, cookie=line) == 204
    assert (
        await door.ask(authorization=None, cookie="holdfast_session_4790=; holdfast_session_4790")
        == 401
    )


@pytest.mark.parametrize(
    ("method", "status"),
    [("GET", 204), ("HEAD", 204), ("OPTIONS", 204), ("POST", 403), ("DELETE", 403)],
)
async def test_a_cookie_alone_is_enough_to_read_and_not_to_write(tmp_path, method, status):
    door = Door(tmp_path, fine)
    mine = {"authorization": None, "cookie": f"holdfast_session_4790={door.keys.cookie}"}

    assert await door.ask(method=method, **mine) == status
    assert await door.ask(method=method, **mine, origin="http://127.0.0.1:4790") == 204


async def test_a_wrong_token_is_not_saved_by_a_good_cookie(tmp_path):
    door = Door(tmp_path, fine)

    assert (
        await door.ask(authorization="Bearer x", cookie=f"holdfast_session_4790={door.keys.cookie}")
        == 401
    )


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ({}, 204),
        ({"method": "POST"}, 403),
        ({"sec_fetch_mode": "cors"}, 403),
        ({"sec_fetch_dest": "iframe"}, 403),
        ({"sec_fetch_dest": None}, 403),
        ({"sec_fetch_site": "cross-site"}, 403),
        ({"sec_fetch_site": "same-origin", "sec_fetch_mode": "cors"}, 204),
    ],
)
async def test_a_page_of_another_port_may_only_link_here(tmp_path, request_, status):
    link = {
        "sec_fetch_site": "same-site",
        "sec_fetch_mode": "navigate",
        "sec_fetch_dest": "document",
    }

    assert await Door(tmp_path, fine).ask(**{**link, **request_}) == status


@pytest.mark.parametrize(
    ("site", "host", "status"),
    [
        (Site("127.0.0.1", 80), "127.0.0.1", 204),
        (Site("127.0.0.1", 80), "localhost:80", 204),
        (Site("::1", 4790), "[::1]:4790", 204),
        (Site("Team.Example", 4790), "team.example:4790", 204),
        (Site("team.example", 4790), "team.example.:4790", 403),
        (Site("team.example", 4790), "team.example", 403),
    ],
)
async def test_a_server_answers_only_to_its_own_names(tmp_path, site, host, status):
    assert await Door(tmp_path, fine, site).ask(host=host) == status


def test_the_url_of_a_server_brackets_an_ipv6_address():
    assert Site("::1", 80).url == "http://[::1]:80"
    assert Site("127.0.0.1", 4790).url == "http://127.0.0.1:4790"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/api/sessions", b"application/problem+json"),
        ("/mcp", b"application/problem+json"),
        ("/sessions", b"text/html; charset=utf-8"),
        ("/apiary", b"text/html; charset=utf-8"),
    ],
)
async def test_only_pages_ask_a_person_to_log_in(tmp_path, path, kind):
    """A browser that is pointed at the interface of programs gets what programs get."""
    door = Door(tmp_path, fine)

    assert await door.ask(path, authorization=None, accept="text/html") == 401
    assert dict(door.sent[0]["headers"])[b"content-type"] == kind


# --- behind a proxy -------------------------------------------------------------------------------

BEHIND = Site("127.0.0.1", 4790, ("team.example", "other.example:8443"))


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("team.example", None, 204),
        ("Team.Example", "https://team.example", 204),
        ("other.example:8443", "https://other.example:8443", 204),
        ("127.0.0.1:4790", "http://127.0.0.1:4790", 204),
        ("team.example", "http://team.example", 403),
        ("team.example", "https://other.example:8443", 403),
        ("team.example", "https://team.example:8443", 403),
        ("team.example", "null", 403),
        ("other.example", None, 403),
        ("team.example:4790", None, 403),
        ("team.example.evil.example", None, 403),
        ("team.example,127.0.0.1:4790", None, 403),
    ],
)
async def test_a_name_of_a_proxy_counts_with_https(host, origin, status, tmp_path):
    door = Door(tmp_path, fine, BEHIND)

    assert await door.ask(host=host, **({"origin": origin} if origin else {})) == status


async def test_headers_of_a_proxy_are_not_believed(tmp_path):
    """Neither a name, nor a scheme, nor an address: whoever reaches the port can send them."""
    door = Door(tmp_path, fine, BEHIND)
    told = {"x_forwarded_host": "team.example", "x_forwarded_proto": "https", "forwarded": "host=a"}

    assert await door.ask(host="evil.example", **told) == 403
    assert await door.ask(origin="https://127.0.0.1:4790", **told) == 403
    assert await door.ask(**told) == 204


async def test_a_refused_program_is_told_the_name_that_it_used(tmp_path):
    door = Door(tmp_path, fine, BEHIND)

    for host, url in (
        ("team.example", "https://team.example/"),
        ("127.0.0.1:4790", "http://127.0.0.1:4790/"),
    ):
        assert await door.ask(host=host, authorization="Bearer wrong") == 401
        headers = dict(door.sent[0]["headers"])
        assert f'resource_metadata="{url}.well-known'.encode() in headers[b"www-authenticate"]


async def test_the_cookie_of_a_proxy_s_name_is_the_same_for_every_server_behind_it(tmp_path):
    for port in (4790, 4791):
        door = Door(tmp_path, fine, Site("127.0.0.1", port, ("team.example",)))
        cookie = f"__Host-holdfast_session={door.keys.cookie}"

        assert await door.ask(host="team.example", authorization=None, cookie=cookie) == 204
        own = f"127.0.0.1:{port}"
        assert await door.ask(host=own, authorization=None, cookie=cookie) == 401


async def test_a_server_on_every_address_is_called_by_its_names_only(tmp_path):
    door = Door(tmp_path, fine, Site("0.0.0.0", 4790, ("team.example",)))

    assert await door.ask(host="0.0.0.0:4790") == 403
    assert await door.ask(host="team.example") == 204
