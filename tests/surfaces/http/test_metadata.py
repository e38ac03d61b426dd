"""What a client without a token gets: where to read which kind of token it takes."""

import re

import httpx
import pytest

from tests.surfaces.http.server import Server, is_problem


def test_a_refusal_names_the_document_that_says_what_to_bring(server: Server):
    with httpx.Client() as stranger:
        refused = stranger.get(f"{server.url}/api/state")
        assert is_problem(refused, 401, "unauthorized")
        challenge = refused.headers["www-authenticate"]
        found = re.search(r'resource_metadata="([^"]+)"', challenge)
        assert found
        document = stranger.get(found[1]).json()
    assert document["resource"] == server.url
    assert document["bearer_methods_supported"] == ["header"]
    assert 'scope="context:read context:publish events:write"' in challenge
    assert document["scopes_supported"] == [
        *("context:read", "context:publish", "events:write", "admin")
    ]


@pytest.mark.parametrize(("path", "resource"), [("", ""), ("/mcp", "/mcp")])
def test_each_door_has_its_document_and_nothing_else_is_open(
    server: Server, path: str, resource: str
):
    place = f"{server.url}/.well-known/oauth-protected-resource{path}"
    assert httpx.get(place).json()["resource"] == f"{server.url}{resource}"
    assert is_problem(httpx.get(f"{place}/x"), 401, "unauthorized")
    assert is_problem(httpx.get(place, headers={"Host": "evil.example"}), 403, "foreign_request")
