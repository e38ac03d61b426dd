"""Every tool and every operation, over both transports, in both eras, on both engines."""

from pathlib import Path

from holdfast.app import App
from holdfast.sessions.changing import mark_rewound
from tests.surfaces.mcp import doors
from tests.surfaces.mcp.doors import call, data

MESSAGE = {"event_type": "user_message", "role": "user", "content": "Fix the login."}


async def test_every_operation_works_on_every_way_in(connect: doors.Connect, store: str):
    """One session from its start to its end, as an agent would keep it."""
    async with connect() as client:
        started = (
            await data(client, "session", operation="start", chatmode="debug", name="login")
        )["session"]
        mine = {"session_id": started["id"]}
        message = {**MESSAGE, "parts": {"n": 1}}
        appended = (await data(client, "session", operation="append", **message, **mine))["event"]
        for scratchpad in ({"current_task": "login", "old": 1}, {"old": None}):
            changed = await data(
                client, "session", operation="update_state", scratchpad=scratchpad, **mine
            )
        found = (await data(client, "session", operation="state", **mine))["state"]
        recent = await data(
            client, "session", operation="recent", max_turns=5, max_tokens=1000, **mine
        )
        files = {"setName": "files", **mine}
        ports = {"setName": "ports", **mine}
        set_ = await data(client, "set_relevant_context", items=["/r/spec.md"], **files)
        merged = await data(client, "set_relevant_context", items=["8080"], mode="merge", **ports)
        got = await data(client, "get_relevant_context", **mine)
        single = await data(client, "get_relevant_context", **ports)
        cleared = await data(client, "set_relevant_context", items=[], **files)
        ended = (await data(client, "session", operation="end", **mine))["session"]

    assert (started["chatmode"], started["name"], started["client"]) == (
        "debug",
        "login",
        doors.UNKNOWN_CLIENT,
    )
    assert (appended["sequence"], appended["content"], appended["parts"]) == (
        1,
        MESSAGE["content"],
        {"n": 1},
    )
    assert changed["state"] == found
    assert found["scratchpad"] == {"current_task": "login"}
    assert [event["id"] for event in recent["events"]] == [appended["id"]]
    assert set_ == {
        "context": {"files": ["/r/spec.md"]},
        "added": ["/r/spec.md"],
        "removed": [],
        "session_id": started["id"],
    }
    assert merged["context"] == got["context"] == {"files": ["/r/spec.md"], "ports": ["8080"]}
    assert single["context"] == {"ports": ["8080"]}
    assert (cleared["context"], cleared["removed"]) == ({"ports": ["8080"]}, ["/r/spec.md"])
    assert ended["id"] == started["id"]
    assert ended["ended_at"] is not None


async def test_the_service_reads_what_a_client_wrote(connect: doors.Connect):
    """The door writes to the store that every other door reads."""
    async with connect() as client:
        start = {"operation": "start", "chatmode": "debug"}
        started = (await data(client, "session", **start))["session"]
        message = {"operation": "append", "session_id": started["id"], **MESSAGE}
        event = (await data(client, "session", **message, detail=True))["event"]

    async with App() as app:
        [session] = await app.scope.sessions.list_sessions()
        [stored] = await app.scope.sessions.get_recent_events(session.id)
    assert stored.to_dict() == event
    assert (session.client, session.chatmode, session.user_id) == (
        doors.UNKNOWN_CLIENT,
        "debug",
        app.settings.developer,
    )


async def test_recent_says_first_who_speaks_where_it_is_not_the_person(project: Path, store: str):
    agent = {"agent": "explorer", "agent_id": "a1"}
    said = [
        ("user_message", "plant pears", None),
        ("model_message", "pears it is", None),
        ("user_message", "plant plums", None),
        ("user_message", "list the files", agent),
        ("model_message", "two files", agent),
        ("user_message", "<task-notification>", {"origin": "task-notification"}),
    ]
    async with App() as app:
        sessions = app.scope.sessions
        session = await sessions.create_session("a", "u1")
        for kind, content, parts in said:
            role = "user" if kind == "user_message" else "assistant"
            await sessions.append_event(session.id, kind, role, content, parts)
        [first, *_] = await sessions.get_recent_events(session.id)
        await mark_rewound(sessions.store, session.id, [first.id], is_rewound=True)

    async with doors.inside(project) as client:
        recent = {"operation": "recent", "session_id": session.id}
        answer = await client.call_tool("session", recent)

    who = [event.get("who") for event in answer.structured_content["data"]["events"]]
    back = ["user, taken back", "assistant, taken back"]
    assert who == [*back, None, "to agent explorer", "agent explorer", "client"]
    text = answer.content[0].text
    assert "#1 user_message (user, taken back, " in text
    assert "#3 user_message (user, 2" in text
    assert "#4 user_message (to agent explorer, " in text
    assert "#6 user_message (client, " in text


async def test_a_read_before_anything_was_written_is_empty_and_no_error(project: Path, store: str):
    """Nothing is started by looking."""
    async with doors.inside(project) as client:
        assert await data(client, "get_relevant_context") == {"context": {}, "session_id": None}
        assert await data(client, "session", operation="recent") == {
            "events": [],
            "session_id": None,
        }
        assert await data(client, "session", operation="state") == {"state": None}
        nothing = await call(client, "session", operation="end")

    assert nothing["data"] == {"session": None}
    assert nothing["warnings"] == ["No session is open here, so none was ended."]
    async with App() as app:
        assert await app.scope.sessions.list_sessions() == []


async def test_start_with_an_id_goes_on_with_that_session(project: Path, store: str):
    """An ended one goes on in a new session with its context; the answer says what it was about."""
    file = project / "spec.md"
    file.write_text("x")
    async with doors.inside(project) as client:
        old = (await data(client, "session", operation="start", chatmode="debug", name="login"))[
            "session"
        ]
        await call(client, "set_relevant_context", setName="files", items=[str(file), "/gone.md"])
        open_one = await call(
            client, "session", operation="start", session_id="login", chatmode="other"
        )
        await call(client, "session", operation="end")
        resumed = await data(client, "session", operation="start", session_id=old["id"])

    assert open_one["data"]["session"]["id"] == old["id"]
    assert open_one["warnings"] == [
        f"Session {old['id']} goes on as it was; not changed: chatmode."
    ]
    assert resumed["session"]["resumed_from"] == old["id"]
    assert resumed["resume_text"] == f"Relevant files:\n- {file}\n(1 file not found)"


async def test_the_eleventh_file_pushes_out_the_oldest_and_says_so(project: Path, store: str):
    """Whatever leaves a set is named, in the data and in words."""
    async with doors.inside(project) as client:
        await call(
            client, "set_relevant_context", setName="files", items=[f"/r/{i}" for i in range(10)]
        )
        answer = await call(
            client, "set_relevant_context", setName="files", items=["/r/new"], mode="merge"
        )

    assert answer["data"]["removed"] == ["/r/0"]
    assert answer["data"]["context"]["files"][-1] == "/r/new"
    assert answer["warnings"] == ["'files' is full: the oldest left to make room: /r/0."]


async def test_an_unknown_set_works_and_is_warned_about_with_the_nearest(project: Path, store: str):
    """A typo is kept and said."""
    async with doors.inside(project) as client:
        answer = await client.call_tool(
            "set_relevant_context", {"setName": "fles", "items": ["/r/a"]}
        )

    envelope = answer.structured_content
    assert envelope["status"] == "warning"
    assert "Did you mean 'files'?" in envelope["warnings"][0]
    assert envelope["data"]["context"] == {"fles": ["/r/a"]}
    assert answer.content[0].text.startswith(f"Note: {envelope['warnings'][0]}\nContext sets of ")


async def test_arguments_that_are_null_were_not_given(project: Path, store: str):
    """Some models fill in every argument there is."""
    async with doors.inside(project) as client:
        answer = await data(
            client,
            "set_relevant_context",
            setName="ports",
            items=["1"],
            mode=None,
            session_id=None,
            idempotency_key=None,
        )

    assert answer["added"] == ["1"]


async def test_a_set_that_is_asked_for_by_a_wrong_name_is_warned_about(project: Path, store: str):
    """As it is when it is kept: a typo must not look like an empty set."""
    async with doors.inside(project) as client:
        before = await call(client, "get_relevant_context", setName="fles")
        await call(client, "set_relevant_context", setName="files", items=["/r/spec.md"])
        asked = await call(client, "get_relevant_context", setName="fles")
        right = await call(client, "get_relevant_context", setName="files")

    assert (
        before["warnings"]
        == asked["warnings"]
        == ["'fles' is not a known context set. Did you mean 'files'?"]
    )
    assert (asked["data"]["context"], right["warnings"]) == ({"fles": []}, [])
