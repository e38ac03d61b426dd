"""`holdfast admin workspace|developer|token`: who may come in, as the owner of the store says."""

import asyncio
from collections.abc import Sequence

import pytest

from holdfast.app import App
from holdfast.ground.settings import hide_password, load_settings, owner_of
from holdfast.identity.service import IdentityService
from tests.rig.commands import Call


@pytest.fixture(autouse=True)
def store(database_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """On both engines."""
    monkeypatch.setenv("HOLDFAST_DATABASE", database_url)
    monkeypatch.setenv("HOLDFAST_DEVELOPER", "root")
    return database_url


@pytest.fixture
def team(cli: Call, workspace: str) -> str:
    cli("admin", "workspace", "add", workspace)
    for handle in ("ana", "bo"):
        cli("admin", "developer", "add", handle)
    return workspace


def test_a_workspace_is_added_once(cli: Call, workspace: str):
    slug = f"{workspace}.acme"

    first, again = (cli("admin", "workspace", "add", slug, "--json").document for _ in range(2))

    assert [document["workspace"] for document in (first, again)] == [slug, slug]
    assert [document["is_new"] for document in (first, again)] == [True, False]


def test_what_writes_says_in_which_store_and_no_password(cli: Call, team: str, store: str):
    """It may be another than was meant, where the settings of the server were forgotten."""
    made = cli("admin", "token", "add", "ana", "--json").document
    calls = [
        cli("admin", "workspace", "add", f"{team}.acme"),
        cli("admin", "workspace", "add", f"{team}.acme"),
        cli("admin", "developer", "add", "cy"),
        cli("admin", "developer", "set", "cy", "--visibility", "private"),
        cli("admin", "token", "add", "cy"),
        cli("admin", "token", "revoke", made["id"]),
    ]

    for call in calls:
        assert hide_password(store) in call.out + call.err
        assert store not in call.out + call.err or store == hide_password(store)
    assert made["database"] == hide_password(store)


@pytest.mark.parametrize("slug", ["", "A", "a b", "-a", "a" * 64, "a/b", "ä"])
def test_a_slug_that_is_no_name_is_refused(cli: Call, slug: str):
    refused = cli("admin", "workspace", "add", "--", slug)

    assert refused.code == 2


def test_a_developer_needs_a_workspace_that_was_added(
    cli: Call, workspace: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOLDFAST_WORKSPACE", f"{workspace}.typo")

    refused = cli("admin", "developer", "add", "ana", "--json")

    assert (refused.code, refused.document["code"]) == (3, "workspace_not_found")
    assert refused.document["next_actions"] == [f"holdfast admin workspace add {workspace}.typo"]


def test_the_local_workspace_is_there(cli: Call, monkeypatch: pytest.MonkeyPatch, sqlite_url: str):
    monkeypatch.setenv("HOLDFAST_DATABASE", sqlite_url)
    monkeypatch.setenv("HOLDFAST_WORKSPACE", "local")

    added = cli("admin", "developer", "add", "Ana", "--private", "--json").document

    assert (added["handle"], added["visibility"]) == ("ana", "private")


def test_a_developer_who_is_there_stays_as_visible_as_before(cli: Call, team: str):
    refused = cli("admin", "developer", "add", "ana", "--private", "--json")

    assert (refused.code, refused.document["code"]) == (4, "developer_exists")
    seen = cli("team", "state", "--json").document["developers"]
    assert sorted(each["handle"] for each in seen) == ["ana", "bo"]


def test_a_developer_is_hidden_and_shown_again(cli: Call, team: str):
    for visibility, handles in (("private", ["bo"]), ("public", ["ana", "bo"])):
        changed = cli("admin", "developer", "set", "ana", "--visibility", visibility, "--json")
        assert changed.document["visibility"] == visibility
        seen = cli("team", "state", "--json").document["developers"]
        assert sorted(each["handle"] for each in seen) == handles


def test_a_token_is_printed_once_and_listed_without_itself(cli: Call, team: str):
    made = cli("admin", "token", "add", "ana", "--agent", "claude")
    token = made.out.strip()

    listed = cli("admin", "token", "list", "ana", "--json")

    assert token.startswith("hft_")
    assert token.endswith(f".{team}")
    assert token not in made.err
    [known] = listed.document
    assert known["scopes"] == ["context:read", "context:publish", "events:write"]
    assert (known["handle"], known["agent"], known["last_used_at"]) == ("ana", "claude", None)
    assert "token" not in known
    assert token not in cli("admin", "token", "list").out
    assert token.partition(".")[0] not in listed.out


def test_a_token_has_the_scopes_that_it_was_made_with(cli: Call, team: str):
    arguments = ("--scope", "events:write", "--scope", "context:read")

    made = cli("admin", "token", "add", "ana", *arguments, "--json").document

    assert made["scopes"] == ["context:read", "events:write"]
    refused = cli("admin", "token", "add", "ana", "--scope", "everything")
    assert refused.code == 2
    assert "context:read" in refused.err


@pytest.mark.parametrize("handle", ["nobody", "root"])
def test_a_token_needs_a_developer(cli: Call, team: str, handle: str):
    refused = cli("admin", "token", "add", handle, "--json")

    assert (refused.code, refused.document["code"]) == (3, "developer_not_found")
    assert refused.document["next_actions"] == [f"holdfast admin developer add {handle}"]


def test_a_revoked_token_stays_listed_as_that(cli: Call, team: str):
    made = cli("admin", "token", "add", "ana", "--json").document

    first = cli("admin", "token", "revoke", made["id"], "--json").document
    again = cli("admin", "token", "revoke", made["id"], "--json").document

    assert first["revoked_at"] is not None
    assert again == first
    assert "revoked" in cli("admin", "token", "list", "ana").out


@pytest.mark.parametrize("token_id", ["x", "01a1f0ce-e771-7386-8608-49493591dc32", "hft_x"])
def test_an_id_that_is_no_token_s_is_not_found(cli: Call, team: str, token_id: str):
    refused = cli("admin", "token", "revoke", token_id, "--json")

    assert (refused.code, refused.document["code"]) == (3, "token_not_found")


def test_tokens_of_a_private_developer_are_listed_by_name_only(cli: Call, team: str):
    for handle in ("ana", "bo"):
        cli("admin", "token", "add", handle)
    cli("admin", "developer", "set", "ana", "--visibility", "private")

    everyone = cli("admin", "token", "list")

    assert " bo " in everyone.out
    assert " ana " not in everyone.out
    assert "private" in everyone.err
    private = cli("admin", "token", "list", "ana", "--json").document
    assert [each["handle"] for each in private] == ["ana"]
    revoked = cli("admin", "token", "revoke", private[0]["id"], "--json").document
    assert revoked["revoked_at"] is not None


def test_the_workspace_of_the_settings_is_the_one_that_is_administered(
    cli: Call, team: str, monkeypatch: pytest.MonkeyPatch
):
    made = cli("admin", "token", "add", "ana", "--json").document
    monkeypatch.setenv("HOLDFAST_WORKSPACE", f"{team}.other")

    assert cli("admin", "token", "revoke", made["id"]).code == 3
    assert cli("admin", "token", "list", "ana").code == 3


async def let_in(workspace: str, machines: Sequence[str]) -> str:
    """By logins that the only token of ana grants."""
    async with App(load_settings()) as app:
        identity = IdentityService(app.database, owner=owner_of(workspace, "ana"))
        [first] = await identity.list_tokens()
        for machine in machines:
            login = await identity.begin_login("holdfast", machine)
            await identity.approve_login(login.user_code, first)
            await identity.redeem_login(login.device_code)
    return first.id


def test_tokens_of_two_laptops_are_told_apart(cli: Call, team: str):
    """Each names the machine that asked, and what granted it."""
    cli("admin", "token", "add", "ana", "--agent", "first-login")
    first = asyncio.run(let_in(team, ["anas-laptop", "anas-desktop"]))

    lines = cli("admin", "token", "list", "ana").out.splitlines()

    assert [line.split("  ")[2] for line in lines] == [
        "holdfast on anas-desktop",
        "holdfast on anas-laptop",
        "first-login",
    ]
    assert [f"granted by {first}" in line for line in lines] == [True, True, False]
