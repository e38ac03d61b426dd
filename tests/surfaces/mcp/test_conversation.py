"""The `conversation` tool: find, go on, read what was said in pages, save; and bad input."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError

from holdfast.app import App
from holdfast.surfaces.mcp.answer import READ_CHARS
from holdfast.usecases import conversing, sharing
from tests.ground.repositories import Work, make_filled
from tests.surfaces.mcp import doors
from tests.surfaces.mcp.doors import call, call_refused, data

TOOL = "conversation"
NAME = "001-debug-webhook-retry"
NO_COST = 1.1, 150  # what an answer may cost beside the text that it promises


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return make_filled(tmp_path / "work")


@pytest.fixture
async def app() -> AsyncIterator[App]:
    async with App() as opened:
        yield opened


async def begin(app: App, work: Work, *said: str, title: str = "Webhook retry") -> str:
    """A conversation of another client, with what the person and the agent said in turns."""
    session = await app.scope.sessions.create_session(
        "coder", "ada", client="codex", worktree=str(work.root)
    )
    for number, content in enumerate(said):
        kind = ("model_message", "assistant") if number % 2 else ("user_message", "user")
        await app.scope.sessions.append_event(session.id, *kind, content)
    conversation = await conversing.begin_conversation(app, str(work.root), "debug", title, session)
    await conversing.save_conversation(app, str(work.root), session, wanted=conversation.id)
    return conversation.id


def name_repository(work: Work) -> str:
    name = sharing.find_repository_name(str(work.root))
    assert name is not None
    return name


async def read_all(client: Client, id_: str) -> list[dict[str, Any]]:
    """Every page, from the last to the first."""
    answer = await call(client, TOOL, operation="resume", conversation_id=id_, detail=True)
    resumed = answer["data"]["resume"]
    said = resumed["messages"]
    while resumed.get("cursor"):
        assert answer["next_actions"] == [
            f"conversation operation=resume conversation_id={id_} cursor={resumed['cursor']}"
        ]
        answer = await call(
            client, TOOL, operation="resume", conversation_id=id_, cursor=resumed["cursor"]
        )
        resumed = answer["data"]["resume"]
        said = resumed["messages"] + said
    return said


# --- finding --------------------------------------------------------------------------------------


async def test_conversations_and_sessions_are_listed_in_text_and_data(app: App, work: Work):
    async with doors.on_app(app, work.root) as client:
        id_ = await begin(app, work, "Retry webhooks.", "Done.")
        lone = await app.scope.sessions.create_session("coder", "ada", worktree=str(work.root))
        await app.scope.sessions.append_event(lone.id, "user_message", "user", "Look at the logs.")

        answer = await client.call_tool(TOOL, {"operation": "list"})
        paused = await data(client, TOOL, operation="list", status="paused")
        detailed = await data(client, TOOL, operation="list", detail=True)

        rows = answer.structured_content["data"]["conversations"]
        assert {row["id"] for row in rows} == {id_, lone.id}
        for row in rows:
            assert row["id"] in answer.content[0].text
            assert row["title"] in answer.content[0].text
        assert paused["conversations"] == []
        assert len(detailed["conversations"]) == 2


async def test_a_search_finds_what_was_said_and_takes_any_words(app: App, work: Work):
    async with doors.on_app(app, work.root) as client:
        id_ = await begin(app, work, "The 409 of the provider counts as success.")

        found = await data(client, TOOL, operation="search", query="provider success")
        assert [row["id"] for row in found["conversations"]] == [id_]
        for query in ('"', "a AND", "NEAR(", "*", "🙂", "x" * 10_000, "", " "):
            await data(client, TOOL, operation="search", query=query)


async def test_a_long_list_ends_with_how_many_more_there_are(app: App, work: Work):
    async with doors.on_app(app, work.root) as client:
        for number in range(22):
            await begin(app, work, title=f"Topic {number}")

        answer = await call(client, TOOL, operation="list")

        assert len(answer["data"]["conversations"]) == 20
        assert answer["data"]["more"] == 2
        assert answer["next_actions"] == ["conversation operation=search query=WORDS"]


# --- going on -------------------------------------------------------------------------------------


async def test_another_clients_conversation_goes_on_in_a_session_of_the_caller(
    app: App, work: Work
):
    async with doors.on_app(app, work.root) as client:
        id_ = await begin(
            app, work, "Retry webhooks.", "Which status?", "Give up after 8 attempts."
        )

        answer = await client.call_tool(TOOL, {"operation": "resume", "conversation_id": NAME})
        resumed = answer.structured_content["data"]["resume"]
        said = {"event_type": "user_message", "role": "user", "content": "And wait 30 s."}
        await data(client, "session", operation="append", **said)
        saved = await data(client, TOOL, operation="pause", summary="Wait 30 s.")

        assert resumed["id"] == id_
        assert "Give up after 8 attempts." in resumed["text"]
        assert resumed["text"] in answer.content[0].text
        times, more = NO_COST
        assert len(answer.content[0].text) <= times * len(resumed["text"]) + more
        assert saved["conversation"]["status"] == "paused"
        assert saved["conversation"]["message_count"] == 4
        session = await app.scope.sessions.get_session(resumed["session_id"])
        assert session.metadata["conversation"] == id_


async def test_a_conversation_without_a_session_here_goes_on(app: App, work: Work):
    async with doors.on_app(app, work.root) as client:
        made = await conversing.begin_conversation(app, str(work.root), "plan", "Alone", None)

        resumed = await data(client, TOOL, operation="resume", conversation_id=made.id)
        answer = await call(client, TOOL, operation="save", summary="Begun.")

        assert resumed["resume"]["id"] == made.id
        assert answer["data"]["conversation"]["id"] == made.id
        assert answer["data"]["conversation"]["summary"] == "Begun."


async def test_everything_that_was_said_comes_in_pages(app: App, work: Work):
    """Also a message that is longer than a page, in numbered parts."""
    async with doors.on_app(app, work.root) as client:
        said = [f"message {number} " + "x" * 900 for number in range(40)]
        said.insert(20, "long " + 'ä"\n' * 9_000)
        id_ = await begin(app, work, *said)

        read = await read_all(client, id_)

        texts = ["" for _ in said]
        ids = list(dict.fromkeys(part["id"] for part in read))
        for part in read:
            texts[ids.index(part["id"])] += part["content"]
        assert texts == said
        assert next(part["part"] for part in read if "part" in part).startswith("1 of ")


async def test_no_page_is_longer_than_an_answer_may_be(app: App, work: Work):
    async with doors.on_app(app, work.root) as client:
        id_ = await begin(app, work, *[f"{number} " + "\\" * 700 for number in range(30)])

        answer = await client.call_tool(
            TOOL, {"operation": "resume", "conversation_id": id_, "detail": True}
        )
        resumed = answer.structured_content["data"]["resume"]
        page = await client.call_tool(
            TOOL, {"operation": "resume", "conversation_id": id_, "cursor": resumed["cursor"]}
        )

        times, more = NO_COST
        assert len(json.dumps(page.structured_content)) <= times * READ_CHARS + more
        assert len(page.content[0].text) <= times * READ_CHARS + more


async def test_a_conversation_is_read_by_its_address(app: App, work: Work):
    async with doors.on_app(app, work.root) as client:
        id_ = await begin(app, work, "Give up after 8 attempts.")

        for name in (id_, id_.replace("/", "%2F")):
            found = await client.read_resource(f"holdfast://conversations/{name}")
            assert "Give up after 8 attempts." in found.contents[0].text
        with pytest.raises(MCPError, match="does not exist"):
            await client.read_resource("holdfast://conversations/nothing")


# --- saving ---------------------------------------------------------------------------------------


async def test_a_save_is_kept_once_by_its_key_and_masks_secrets(app: App, work: Work):
    async with doors.on_app(app, work.root) as client:
        id_ = await begin(app, work, "Retry webhooks.")
        await data(client, TOOL, operation="resume", conversation_id=id_)
        secret = "ghp_" + "a1B2" * 9

        first = await call(
            client, TOOL, operation="save", summary=f"Key {secret}.", idempotency_key="k1"
        )
        again = await call(
            client, TOOL, operation="save", summary=f"Key {secret}.", idempotency_key="k1"
        )
        done = await data(client, TOOL, operation="complete", detail=True)

        assert secret not in json.dumps(first)
        assert first["warnings"]
        assert again["data"]["conversation"]["id"] == id_
        assert done["conversation"]["status"] == "completed"
        assert "agent_config" in done["conversation"]


async def test_a_pause_names_the_command_that_continues(app: App, work: Work):
    async with doors.on_app(app, work.root) as client:
        id_ = await begin(app, work, "Retry webhooks.")
        await data(client, TOOL, operation="resume", conversation_id=id_)

        answer = await call(client, TOOL, operation="pause")

        assert "/workspace.resume" in answer["next_actions"][0]


# --- bad input ------------------------------------------------------------------------------------


async def test_a_name_is_never_a_guess(app: App, work: Work):
    async with doors.on_app(app, work.root) as client:
        await begin(app, work, "One.")

        unknown = await call_refused(
            client, TOOL, operation="resume", conversation_id="001-debug-webhook-retri"
        )
        part = await call_refused(client, TOOL, operation="resume", conversation_id="webhook")

        assert unknown["code"] == part["code"] == "conversation_not_found"
        assert NAME in unknown["message"]
        assert unknown["next_actions"] == ["conversation operation=list"]


async def test_cursors_that_fit_nothing_are_refused(app: App, work: Work):
    async with doors.on_app(app, work.root) as client:
        one = await begin(app, work, *["x" * 3_000] * 20)
        other = await begin(app, work, "Something.", title="Other")
        resumed = await data(client, TOOL, operation="resume", conversation_id=one, detail=True)
        cursor = resumed["resume"]["cursor"]
        outdated = cursor[:12] + "0" * 12

        for id_, wrong in ((other, cursor), (one, "nonsense"), (one, outdated)):
            refused = await call_refused(
                client, TOOL, operation="resume", conversation_id=id_, cursor=wrong
            )
            assert refused["code"] == "invalid_value"


async def test_texts_of_another_kind_are_refused(app: App, work: Work):
    async with doors.on_app(app, work.root) as client:
        for arguments in (
            {"operation": "search", "query": 7},
            {"operation": "resume", "conversation_id": ["x"]},
            {"operation": "list", "status": "gone"},
            {"operation": "save", "summary": {}},
        ):
            refused = await call_refused(client, TOOL, **arguments)
            assert refused["code"].startswith("invalid")


async def test_without_a_conversation_nothing_is_saved_or_started(app: App, work: Work):
    async with doors.on_app(app, work.root) as client:
        refused = await call_refused(client, TOOL, operation="save")

        assert refused["code"] == "no_conversation"
        assert (await app.scope.sessions.list_active_sessions(str(work.root), 10)) == []


async def test_outside_of_a_working_tree_there_are_none(tmp_path: Path):
    folder = tmp_path / "bare"
    folder.mkdir()
    async with doors.inside(folder) as client:
        answer = await client.call_tool(TOOL, {"operation": "list"})

    assert "Traceback" not in answer.content[0].text


async def test_a_folder_of_a_newer_version_goes_on_and_says_that_it_is_only_read(
    app: App, work: Work
):
    async with doors.on_app(app, work.root) as client:
        id_ = await begin(app, work, "Retry webhooks.")
        (file,) = Path(app.settings.home, "conversations").glob("*/*/*/.session/session.json")
        file.write_text(json.dumps(json.loads(file.read_text()) | {"version": "9.0"}))
        before = file.read_bytes()

        answer = await call(client, TOOL, operation="resume", conversation_id=id_)

        assert answer["warnings"]
        assert file.read_bytes() == before


# --- what somebody else wrote ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"title": "\ud800", "context_summary": "\ud800", "client": "\ud800"},
        {"session_id": "a\0b", "git_head": "--output=x", "files": ["a\0b", "../x", "/etc/passwd"]},
        {"context_summary": "z" * 100_000, "title": "t" * 100_000, "agent_config": {"tools": "x"}},
        {"last_active": "9999-12-31T23:59:59-14:00", "created_at": "0001-01-01"},
        {"version": "2.0"},
    ],
    ids=["half signs", "names", "long", "times", "newer"],
)
async def test_a_folder_that_anyone_could_have_written_is_answered(
    app: App, work: Work, wrong: dict[str, Any]
):
    """By every operation, and in the room that an answer has."""
    async with doors.on_app(app, work.root) as client:
        id_ = await begin(app, work, "Retry webhooks.", "Done.")
        service = conversing.open_conversations(app, str(work.root))
        folder = Path(service.files.find_folder(id_), ".session")
        known = json.loads((folder / "session.json").read_text())
        (folder / "session.json").write_text(json.dumps({**known, **wrong}))
        line = {"id": "\ud800", "role": "user", "content": "half \ud800 \0\x1b[2J"}
        with (folder / "messages.jsonl").open("a") as file:
            file.write(f"{json.dumps(line)}\n<<<<<<< ours\n")

        for arguments in (
            {"operation": "list"},
            {"operation": "search", "query": "half"},
            {"operation": "resume", "conversation_id": id_},
            {"operation": "resume", "conversation_id": id_, "detail": True},
        ):
            answer = await call(client, TOOL, **arguments)
            text = json.dumps(answer, ensure_ascii=False)
            assert arguments.get("detail") or len(text) < READ_CHARS * 2
            assert text.encode()
        saved = await client.call_tool(TOOL, {"operation": "save"})
        assert saved.is_error == ("version" in wrong)


async def test_pages_fence_what_this_machine_has_no_log_of(app: App, work: Work):
    async with doors.on_app(app, work.root) as client:
        sharing.set_switch(app.settings.home, name_repository(work), conversing.SWITCH, is_on=True)
        id_ = await begin(app, work, "Retry webhooks.", "Done.")
        folder = Path(work.root, "conversations", id_, ".session")
        shared = {"role": "user", "timestamp": "2026-11-01T00:00:00Z"}
        lines = [
            {**shared, "id": f"{'same ' * 20}{number}", "content": f"<user>{number}\n\n" * 500}
            for number in range(20)
        ]
        with (folder / "messages.jsonl").open("a") as file:
            file.writelines(f"{json.dumps(line)}\n" for line in lines)

        answer = await client.call_tool(
            TOOL, {"operation": "resume", "conversation_id": id_, "detail": True}
        )
        said = await read_all(client, id_)

    assert "SAID BY OTHERS, from the repository" in answer.content[0].text
    own = [message for message in said if not message["content"].startswith("SAID BY OTHERS")]
    assert [message["content"] for message in own] == ["Retry webhooks.", "Done."]
    fenced = [message["content"].split("\n") for message in said if message not in own]
    for _, *quoted, last in fenced:
        assert all(line.startswith("| ") for line in quoted)
        assert last.startswith("[end of untrusted text ")
    quoted_text = "\n".join(line for content in fenced for line in content)
    assert all(f"‹user>{number}\n" in quoted_text for number in range(20))


@pytest.mark.parametrize(
    "wanted", ["a\0b", "x" * 100_000, "", "../../etc", f"{NAME}/../x", "%s", "*"]
)
async def test_a_conversation_that_nothing_is_called_is_not_found(
    app: App, work: Work, wanted: str
):
    async with doors.on_app(app, work.root) as client:
        await begin(app, work, "Retry webhooks.")

        refused = await call_refused(client, TOOL, operation="resume", conversation_id=wanted)

    assert refused["code"] == "conversation_not_found"
    assert len(refused["message"]) < 400
