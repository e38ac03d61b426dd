"""What a person asks for by name: `workspace-resume` and `workspace-stop`."""

import re
from pathlib import Path

import mcp_types as types
import pytest
from mcp import MCPError

from holdfast.app import App
from holdfast.sessions.requests import is_request
from tests.surfaces.mcp import doors
from tests.surfaces.mcp.doors import call, data
from tests.surfaces.mcp.test_idempotency import count_all


async def test_both_prompts_work_on_every_way_in(connect: doors.Connect):
    async with connect() as client:
        listed = (await client.list_prompts()).prompts
        started = await data(client, "session", operation="start", chatmode="debug")
        ports = {"setName": "ports", "items": ["8080"], "session_id": started["session"]["id"]}
        await call(client, "set_relevant_context", **ports)
    async with connect() as client:
        resume = await client.get_prompt("workspace-resume")
        stop = await client.get_prompt("workspace-stop")

    assert [prompt.name for prompt in listed] == ["workspace-resume", "workspace-stop"]
    assert "ports: 8080" in resume.messages[0].content.text
    assert "update_state" in stop.messages[0].content.text
    assert "{" not in stop.messages[0].content.text
    for prompt in (resume, stop):
        assert not is_request(prompt.messages[0].content.text), "a client may send it as the user's"


async def test_resume_hands_over_what_the_newest_session_here_was_about(project: Path, store: str):
    """Files with what is gone, the applet as an offer, and how to go on in it."""
    (project / "spec.md").write_text("x")
    async with doors.inside(project, name="one") as client:
        await data(client, "session", operation="start", chatmode="debug", name="login {braces}")
        files = [str(project / "spec.md"), "/gone.md"]
        session_id = (await data(client, "set_relevant_context", setName="files", items=files))[
            "session_id"
        ]
        await call(client, "set_relevant_context", setName="applet", items=["git-diff", "path=/r"])
        await call(client, "session", operation="end")
    async with doors.inside(project, name="two") as client:
        text = (await client.get_prompt("workspace-resume")).messages[0].content.text

    assert re.match(r"Continue earlier work: login {braces} \(started .*, ended .*Z\)\.", text)
    assert f"Relevant files:\n- {project / 'spec.md'}\n(1 file not found)" in text
    assert "Last applet: git-diff (path=/r)" in text
    assert f'{{"operation": "start", "session_id": "{session_id}"}}' in text


async def test_resume_says_plainly_that_there_is_nothing(project: Path, store: str):
    """Nothing is started by asking."""
    async with doors.inside(project) as client:
        text = (await client.get_prompt("workspace-resume")).messages[0].content.text

    assert text.startswith("No earlier session of this working tree is known")
    assert not is_request(text)
    assert (await count_all())[0] == 0


@pytest.mark.parametrize("given", ["$1", "$ARGUMENTS", "", "  "])
async def test_a_placeholder_of_a_client_names_no_session(project: Path, store: str, given: str):
    async with doors.inside(project) as client:
        named = await client.get_prompt("workspace-resume", {"session_id": given})
        plain = await client.get_prompt("workspace-resume", {})

    assert named == plain


async def test_a_prompt_can_name_its_session(project: Path, store: str):
    async with doors.inside(project) as client:
        named = (await data(client, "session", operation="start", chatmode="debug", name="login"))[
            "session"
        ]
        await data(client, "session", operation="start", chatmode="other")
        resume = await client.get_prompt("workspace-resume", {"session_id": "login"})
        stop = await client.get_prompt("workspace-stop", {"session_id": named["id"]})

    assert named["id"] in resume.messages[0].content.text
    assert "Z, live)." in resume.messages[0].content.text
    assert "It noted nothing. Read its last events." in resume.messages[0].content.text
    assert named["id"] in stop.messages[0].content.text


@pytest.mark.parametrize("given", ["login page", "Login", "login"])
async def test_a_name_with_blanks_is_found_by_its_first_word(project: Path, store: str, given: str):
    """A client that passes one argument has cut what was typed at the blank."""
    async with doors.inside(project) as client:
        named = await data(client, "session", operation="start", chatmode="a", name="login page")
        stop = await client.get_prompt("workspace-stop", {"session_id": given})
        resume = await client.get_prompt("workspace-resume", {"session_id": given})

    session_id = named["session"]["id"]
    assert f"Use session_id `{session_id}` in every call." in stop.messages[0].content.text
    assert session_id in resume.messages[0].content.text
    for word in ("`step`", "`error`", "`next_action`"):
        assert word in stop.messages[0].content.text


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        (
            "workspace-resme",
            {},
            "Prompt 'workspace-resme' is unknown. Known: workspace-resume, workspace-stop.",
        ),
        (
            "workspace-stop",
            {"session": "x"},
            "Argument 'session' is unknown here. Known: session_id.",
        ),
        ("workspace-resume", {"session_id": "x"}, "Session 'x' does not exist"),
        ("workspace-stop", {"session_id": "we"}, "Session 'we' does not exist"),
    ],
)
async def test_a_prompt_that_cannot_be_given_says_why(
    project: Path, store: str, name: str, arguments: dict[str, str], words: str
):
    async with doors.inside(project) as client:
        with pytest.raises(MCPError, match=words) as refused:
            await client.get_prompt(name, arguments)

    assert refused.value.error.code == -32602


async def test_session_names_are_offered_as_completions(connect: doors.Connect):
    """The newest first, each once, for the argument that is a session and for nothing else."""
    resume = types.PromptReference(type="ref/prompt", name="workspace-resume")
    async with connect() as client:
        for name in ("login", "logout", "billing", "login"):
            await call(client, "session", operation="start", chatmode="debug", name=name)
        names = await client.complete(resume, {"name": "session_id", "value": "LOG"})
        other = await client.complete(resume, {"name": "other", "value": ""})

    assert (names.completion.values, names.completion.has_more) == (["login", "logout"], False)
    assert other.completion.values == []


async def test_at_most_a_hundred_names_are_offered(project: Path, store: str):
    """As many as the protocol allows, and that there are more."""
    resume = types.PromptReference(type="ref/prompt", name="workspace-resume")
    async with App() as app, doors.on_app(app, project) as client:
        for number in range(101):
            await app.scope.sessions.create_session("debug", "u1", name=f"name {number}")
        many = (await client.complete(resume, {"name": "session_id", "value": "NAME"})).completion
        few = (await client.complete(resume, {"name": "session_id", "value": "name 10"})).completion
        strange = (
            await client.complete(resume, {"name": "session_id", "value": "\x00%_"})
        ).completion

    assert many.values == [f"name {number}" for number in range(100, 0, -1)]
    assert (many.has_more, many.total) == (True, None)
    assert (few.values, few.has_more, few.total) == (["name 100", "name 10"], False, 2)
    assert strange.values == []


async def test_a_broken_store_offers_nothing_and_does_not_complain(project: Path):
    resume = types.PromptReference(type="ref/prompt", name="workspace-resume")
    async with doors.over_stdio(
        project, HOLDFAST_DATABASE="postgresql://x@127.0.0.1:1/x"
    ) as client:
        names = await client.complete(resume, {"name": "session_id", "value": ""})
        with pytest.raises(MCPError, match="cannot be reached"):
            await client.get_prompt("workspace-resume")

    assert names.completion.values == []
