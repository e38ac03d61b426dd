"""`holdfast session …`: what a person and a script get from each of its commands."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.rig.commands import Call

CONTENT = ("--type", "user_message", "--role", "user", "--content")


def start(cli: Call, *options: str) -> dict[str, Any]:
    session: dict[str, Any] = cli(
        "session", "start", "--chatmode", "architect", *options, "--json"
    ).document
    return session


def append_messages(cli: Call, session: str, *contents: str) -> list[str]:
    """The ids of user messages that were appended."""
    return [
        cli("session", "append", session, *CONTENT, content, "--json").document["id"]
        for content in contents
    ]


# --- start, show, list, rename --------------------------------------------------------------------


def test_start_prints_the_id_and_nothing_else(cli: Call):
    answer = cli("session", "start", "--chatmode", "architect")

    assert (answer.code, answer.err) == (0, "")
    assert cli("session", "show", answer.out.strip(), "--json").document["id"] == answer.out.strip()


def test_start_hands_over_what_to_continue_from_beside_the_id(cli: Call):
    first = cli("session", "start", "--chatmode", "debug").out.strip()
    append_messages(cli, first, "Stop after three letters")

    started = cli("session", "start", "--chatmode", "debug", "--json")
    read = cli("session", "start", "--chatmode", "debug")

    assert "> Stop after three letters" in started.document["resume_text"]
    assert started.err == ""
    assert "> Stop after three letters" in read.err
    assert len(read.out.split()) == 1


def test_start_stores_every_option(cli: Call, project: Path):
    options = (
        "--user",
        "u1",
        "--workflow",
        "w1",
        "--skill",
        "s1",
        "--branch",
        "feat/x",
        "--name",
        "web hook",
    )

    session = start(cli, *options)

    expected = {
        "chatmode": "architect",
        "user_id": "u1",
        "workflow": "w1",
        "skill": "s1",
        "git_branch": "feat/x",
    }
    expected |= {"name": "web hook", "worktree": str(project), "ended_at": None, "last_sequence": 0}
    assert {key: session[key] for key in expected} == expected


def test_start_without_a_user_is_for_the_developer(cli: Call, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOLDFAST_DEVELOPER", "Ana")

    assert start(cli)["user_id"] == "ana"


def test_the_branch_that_is_checked_out_is_kept_unless_another_is_named(cli: Call, project: Path):
    assert start(cli)["git_branch"] is None, "nothing is checked out yet"
    (project / ".git" / "HEAD").write_text("ref: refs/heads/feat/webhook-retry\n")

    assert start(cli)["git_branch"] == "feat/webhook-retry"
    assert start(cli, "--branch", "main")["git_branch"] == "main"
    (project / ".git" / "HEAD").write_text(f"ref: refs/heads/{'x' * 401}\n")
    assert start(cli)["git_branch"] is None, "a name that cannot be kept stands in nobody's way"


def test_the_beginning_of_an_id_means_the_session_that_alone_has_it(cli: Call):
    """Everywhere a session is named, in either case of letters; a name comes first."""
    first = start(cli)["id"]
    beginning = first[:23]
    cli("session", "append", beginning.upper(), *CONTENT, "hello")

    assert cli("session", "show", beginning, "--json").document["id"] == first
    assert len(cli("session", "events", beginning, "--json").document["events"]) == 1
    assert cli("context", "show", "--session", beginning, "--json").document["session_id"] == first
    assert cli("forget", "--session", beginning, "--dry-run", "--json").document["dry_run"] is True
    assert cli("session", "show", first[:7]).code == 3
    assert cli("session", "show", f"{beginning}%").code == 3
    named = start(cli, "--name", beginning)["id"]
    assert cli("session", "show", beginning, "--json").document["id"] == named


def test_the_beginning_of_several_ids_is_answered_with_them(cli: Call):
    """An id begins with its time, so the one in the middle begins like a neighbour."""
    found = [start(cli)["id"] for _ in range(3)]
    beginning = found[1][:8]
    alike = [session_id for session_id in reversed(found) if session_id.startswith(beginning)]

    answer = cli("session", "end", beginning, "--json")

    assert (answer.code, answer.document["code"]) == (2, "invalid_value")
    said = f"Session '{beginning}' is the beginning of {len(alike)} ids. Known: {', '.join(alike)}."
    assert answer.document["message"] == said
    assert {
        session["ended_at"] for session in cli("session", "list", "--json").document["sessions"]
    } == {None}


def test_show_prints_the_facts_that_are_there(cli: Call):
    session = start(cli, "--name", "web hook", "--branch", "main")
    cli("context", "set", "files", "/r/a.md", "--session", session["id"])

    sheet = cli("session", "show", session["id"]).out

    assert f"Session       {session['id']}\n" in sheet
    assert "Name          web hook\n" in sheet
    assert "Branch        main\n" in sheet
    assert "Workflow" not in sheet
    assert "Ended" not in sheet
    assert sheet.endswith("files:\n  - /r/a.md\n")


def test_list_is_newest_first_and_goes_on_below_the_last(cli: Call):
    names = [start(cli, "--name", name)["name"] for name in ("one", "two", "three")]

    first = cli("session", "list", "--limit", "2", "--json").document["sessions"]
    rest = cli("session", "list", "--below", first[-1]["id"], "--json").document["sessions"]

    assert [session["name"] for session in (*first, *rest)] == names[::-1]
    assert cli("session", "list", "--below", "two", "--json").document["sessions"] == rest


def test_list_has_a_line_for_each_session(cli: Call):
    first, second = start(cli, "--name", "one"), start(cli)
    append_messages(cli, first["id"], "a", "b")
    cli("session", "end", first["id"])

    day, newest, oldest = cli("session", "list").out.splitlines()

    assert day.endswith(" (UTC)")
    assert newest.endswith("live   -         architect")
    assert oldest.endswith("ended  -         one")
    beginning, *_ = newest.split()
    assert cli("session", "show", beginning, "--json").document["id"] == second["id"]


def hook(run: Call, client: str, event: str, project: Path, **fields: Any) -> None:
    payload = {"session_id": "s-1", "hook_event_name": event, "cwd": str(project), **fields}
    assert run("hook", client, event, stdin=json.dumps(payload)).code == 0


def test_a_session_of_a_client_is_known_by_its_client_branch_and_request(run: Call, project: Path):
    """On a terminal of eighty columns, however long the request is."""
    (project / ".git" / "HEAD").write_text("ref: refs/heads/feat/webhook-retry-and-more\n")
    request = "give up after 8, and count the first delivery as attempt 1"
    hook(run, "codex", "UserPromptSubmit", project, prompt=request, turn_id="t1")
    hook(run, "codex", "UserPromptSubmit", project, prompt="and then?", turn_id="t2")

    _, line = run("session", "list", COLUMNS="80").out.splitlines()
    sheet = run("session", "show", line.split()[0]).out

    assert line.endswith("live   codex     give up after 8,… · feat/webhook-retry-…")
    assert len(line) <= 80
    assert f"\nAsked first   {request}\nAsked last    and then?\n" in sheet
    assert "\nNative id     s-1\n" in sheet
    assert "Chatmode" not in sheet


def test_a_session_in_which_nothing_was_asked_says_so(run: Call, project: Path):
    hook(run, "claude", "Stop", project, last_assistant_message="Ready.", prompt_id="p1")

    assert "  claude    (nothing asked yet)" in run("session", "list").out


def test_an_empty_list_says_whose_it_is_and_how_to_begin(
    cli: Call, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOLDFAST_DEVELOPER", "ana")

    answer = cli("session", "list")

    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith(
        "No sessions of 'ana' in workspace 'local' yet. Start one with `holdfast session start"
    )
    assert cli("session", "list", "--json").document == {"sessions": []}


def test_a_session_is_renamed_and_found_by_its_new_name(cli: Call):
    session = start(cli, "--name", "old")

    assert cli("session", "rename", "old", "new name").out == f"{session['id']} is now 'new name'\n"
    assert cli("session", "show", "new name", "--json").document["id"] == session["id"]
    assert cli("session", "show", "old").code == 3


def test_a_name_of_two_sessions_means_the_newest_with_a_note(cli: Call):
    start(cli, "--name", "twice")

    second = cli("session", "start", "--chatmode", "coder", "--name", "twice")

    newest = second.out.strip()
    assert second.err == (
        "Note: Another session is called 'twice' too. "
        f"The name means the newest, {newest}; use the id for any other.\n"
    )
    assert cli("session", "show", "twice", "--json").document["id"] == newest


def test_a_name_that_another_session_has_is_noted_when_it_is_given(run: Call):
    """The older one gets it, and the name goes on to mean the newer: who renames has to know."""
    older, newer = (
        run("session", "start", "--chatmode", "coder", "--name", name).out.strip()
        for name in ("a", "b")
    )

    renamed = run("session", "rename", "a", "b")
    alone = run("session", "rename", newer, "c")

    assert (renamed.code, renamed.out) == (0, f"{older} is now 'b'\n")
    assert renamed.err == (
        f"Note: Another session is called 'b' too. The name means the newest, {newer}; "
        "use the id for any other.\n"
    )
    assert (alone.code, alone.err) == (0, "")


def test_every_command_takes_a_name_instead_of_an_id(cli: Call):
    session = start(cli, "--name", "web hook")
    for command in (
        ("append", "web hook", *CONTENT, "hello"),
        ("show", "web hook"),
        ("events", "web hook"),
        ("state", "web hook", "--set", "{}"),
        ("verify", "web hook"),
        ("thread", "web hook"),
        ("rename", "web hook", "web hook"),
        ("resume", "web hook"),
        ("end", "web hook"),
    ):
        answer = cli("session", *command, "--json")

        assert answer.code == 0, answer
        assert session["id"] in answer.out


# --- append, events -------------------------------------------------------------------------------


def test_append_prints_the_number_and_the_id(cli: Call):
    session = start(cli)["id"]

    answer = cli("session", "append", session, *CONTENT, "hello")

    [event] = cli("session", "events", session, "--json").document["events"]
    assert answer.out == f"1  {event['id']}\n"
    assert (event["content"], event["type"], event["role"], event["parts"]) == (
        "hello",
        "user_message",
        "user",
        None,
    )


def test_append_takes_structured_data(cli: Call):
    session = start(cli)["id"]
    parts = {"tool": "Bash", "input": {"command": "ls"}}
    options = ("--type", "tool_call", "--role", "assistant", "--content", "ls")

    event = cli(
        "session", "append", session, *options, "--parts", json.dumps(parts), "--json"
    ).document

    assert event["parts"] == parts


def test_the_same_event_id_again_appends_nothing(cli: Call):
    session, event_id = start(cli)["id"], "01a1e0aa-0000-7000-8000-000000000001"
    append = ("session", "append", session, *CONTENT, "once", "--event-id", event_id, "--json")

    assert cli(*append).document == cli(*append).document
    assert len(cli("session", "events", session, "--json").document["events"]) == 1


def test_an_expected_number_decides_whether_an_append_goes_in(cli: Call):
    session = start(cli)["id"]
    append_messages(cli, session, "one")

    late = cli("session", "append", session, *CONTENT, "late", "--expected-sequence", "0", "--json")
    in_time = cli(
        "session", "append", session, *CONTENT, "two", "--expected-sequence", "1", "--json"
    )

    assert (late.code, late.document["code"]) == (4, "sequence_conflict")
    assert in_time.document["sequence"] == 2


def test_events_are_limited_by_turns_and_by_tokens(cli: Call):
    session = start(cli)["id"]
    append_messages(cli, session, "a" * 40, "b" * 40, "c" * 40)

    def contents(*options: str) -> list[str]:
        events = cli("session", "events", session, *options, "--json").document["events"]
        return [event["content"][0] for event in events]

    assert contents() == ["a", "b", "c"]
    assert contents("--turns", "2") == ["b", "c"]
    assert contents("--tokens", "20") == ["b", "c"]
    assert contents("--tokens", "1") == ["c"]


def test_one_long_event_is_cut_to_the_limit(cli: Call):
    session = start(cli)["id"]
    append_messages(cli, session, "word " * 20_000)

    limited = cli("session", "events", session, "--tokens", "500", "--json")

    assert len(limited.out) <= 2_100
    assert "it has 100,000 characters" in limited.err


def test_events_are_lines_that_fit_a_terminal(cli: Call):
    session = start(cli)["id"]
    append_messages(cli, session, "one\n  two", "long " * 100)

    day, short, long = cli("session", "events", session).out.splitlines()

    assert day.endswith(" (UTC)")
    assert short.endswith("user_message     one two")
    assert long.endswith("…")
    assert len(long) < 140
    assert cli("session", "events", start(cli)["id"]).out == "No events yet.\n"


def test_events_of_tools_and_subagents_say_what_they_are(cli: Call):
    session = start(cli)["id"]
    agent = {"agent_id": "a1", "agent": "Explore"}
    bash = {"tool": "Bash", "input": {"command": "make test"}}
    printed = json.dumps({"stdout": "12 passed", "stderr": ""})
    for kind, role, content, parts in (
        ("tool_result", "tool", printed, bash),
        ("user_message", "user", "look in src", agent),
        ("tool_result", "tool", "one caller", {**bash, **agent}),
        ("system_event", "system", "All so far: …", {"compaction": "auto"}),
        ("system_event", "system", "", {"rewound": ["e1"]}),
    ):
        fields = ("--type", kind, "--role", role, "--content", content)
        answer = cli("session", "append", session, *fields, "--parts", json.dumps(parts))
        assert answer.code == 0, answer.err

    _, *lines = cli("session", "events", session).out.splitlines()

    assert [line[34:] for line in lines] == [
        "Bash make test → 12 passed",
        "[Explore] look in src",
        "[Explore] Bash make test → one caller",
        "compaction · auto · All so far: …",
        "rewind · 1 request taken back",
    ]


def test_what_a_client_says_and_objects_are_shown_by_what_matters(cli: Call):
    session = start(cli)["id"]
    notification = "<task-notification>\n<summary>Agent finished</summary>\n</task-notification>"
    typed = "<summary>x</summary> is what I typed"
    launched = {"isAsync": True, "status": "async_launched", "prompt": "look"}
    edited = {"filePath": "/p/a.py", "oldString": "a", "newString": "b"}
    told = {"content": [{"type": "text", "text": "12 rows"}], "isError": False}
    for kind, role, content, parts in (
        ("user_message", "user", notification, {"origin": "task-notification"}),
        ("user_message", "user", typed, {}),
        ("model_message", "assistant", "API Error", {"origin": "client"}),
        ("tool_result", "tool", json.dumps(launched), {"tool": "Task", "input": {}}),
        ("tool_result", "tool", json.dumps(edited), {"tool": "Edit", "input": {}}),
        ("tool_result", "tool", json.dumps(told), {"tool": "mcp__db__ask", "input": {}}),
        ("tool_result", "tool", '{"rows": 3}', {"tool": "Count", "input": {}}),
    ):
        fields = ("--type", kind, "--role", role, "--content", content)
        answer = cli("session", "append", session, *fields, "--parts", json.dumps(parts))
        assert answer.code == 0, answer.err

    _, *lines = cli("session", "events", session).out.splitlines()

    assert [" ".join(line[17:].split()) for line in lines] == [
        "client Agent finished",
        "user_message <summary>x</summary> is what I typed",
        "client API Error",
        "tool_result Task → async_launched",
        "tool_result Edit → /p/a.py",
        "tool_result mcp__db__ask → 12 rows",
        'tool_result Count → {"rows": 3}',
    ]


def test_events_stand_under_their_days(run: Call, tmp_path: Path):
    """A log is read weeks later, and an hour alone says nothing then; a script is given the whole
    moment.
    """
    session = run("session", "start", "--chatmode", "coder").out.strip()
    for content in ("one", "two", "three"):
        run("session", "append", session, *CONTENT, content)
    for number, moment in enumerate(
        ("2026-11-15T23:59:59", "2026-11-15T23:59:59", "2026-11-16T00:00:01"), 1
    ):
        at = f"{moment}.000000Z"
        edit(
            tmp_path / "holdfast" / "holdfast.db",
            f"update session_events set created_at='{at}' where sequence={number}",
        )

    lines = run("session", "events", session).out.splitlines()
    events = run("session", "events", session, "--json").document["events"]

    assert [line.split()[0] for line in lines] == ["2026-11-15", "1", "2", "2026-11-16", "3"]
    assert lines[4] == "    3  00:00:01  user_message     three"
    assert events[2]["created_at"] == "2026-11-16T00:00:01.000000Z"
    assert (
        lines
        == run("session", "resume", session).out.partition("Last events:\n")[2].splitlines()[:5]
    )


# --- state ----------------------------------------------------------------------------------------


def test_the_scratchpad_is_merged_and_shown(cli: Call):
    session = start(cli)["id"]

    assert cli("session", "state", session).out == "{}\n"
    cli("session", "state", session, "--set", '{"task": "retry", "files": {"a": 1}}')
    merged = cli(
        "session", "state", session, "--set", '{"task": null, "files": {"b": "ü"}}', "--json"
    ).document

    assert merged["scratchpad"] == {"files": {"a": 1, "b": "ü"}}
    assert json.loads(cli("session", "state", session).out) == merged["scratchpad"]


# --- end, resume, thread --------------------------------------------------------------------------


def test_end_says_how_to_go_on_and_can_be_repeated(cli: Call):
    session = start(cli)["id"]

    ended, again = cli("session", "end", session), cli("session", "end", session)

    assert ended.out == f"Ended {session}.\nTo continue: holdfast session resume {session}\n"
    assert again.out.startswith(f"Session {session} had ended already.\n")
    shown = cli("session", "show", session, "--json").document
    assert (shown.pop("status"), shown.pop("idle_since")) == ("ended", None)
    assert cli("session", "end", session, "--json").document == shown


def test_end_names_the_session_by_id_when_another_has_the_same_name(cli: Call):
    first = start(cli, "--name", "same")["id"]
    start(cli, "--name", "same")

    assert f"holdfast session resume {first}\n" in cli("session", "end", first).out


def test_an_open_session_is_resumed_as_it_is(cli: Call, project: Path):
    session = start(cli)["id"]
    (project / "here.md").touch()
    cli("context", "set", "files", str(project / "here.md"), "/gone.md")

    answer = cli("session", "resume", session)

    assert answer.out == (
        f"Session {session} is live\n\nRelevant files:\n- {project}/here.md\n"
        "(1 file not found)\n\n"
        f"All of it: holdfast session thread {session}\n"
    )


def test_an_ended_session_continues_in_a_new_one(cli: Call):
    old = start(cli, "--name", "web hook")["id"]
    cli("session", "state", old, "--set", '{"task": "retry"}')
    append_messages(cli, old, *(f"text {number}" for number in range(8)))
    cli("session", "end", old)

    answer = cli("session", "resume", "web hook")

    new = cli("session", "show", "web hook", "--json").document
    assert new["resumed_from"] == old
    assert answer.out.startswith(f"Session {new['id']}\ncontinues {old}\n\nHOLDFAST implementation")
    assert "\nLAST REQUEST " in answer.out
    assert "\n> text 7\n" in answer.out
    assert "\nSCRATCHPAD\n| task: retry\n" in answer.out
    assert [line.split()[-1] for line in answer.out.splitlines() if "user_message" in line] == list(
        "234567"
    )
    assert answer.out.splitlines()[-1].startswith("All of it: holdfast session thread ")
    assert cli("session", "state", new["id"], "--json").document["scratchpad"] == {"task": "retry"}


def test_resuming_an_ended_session_again_says_that_there_are_two_now(cli: Call):
    old = start(cli, "--name", "web hook")["id"]
    cli("session", "end", old)
    first = cli("session", "resume", old, "--json").document["id"]

    second = cli("session", "resume", old, "--json")

    assert second.err == f"Note: It went on in {first} already, which is open; now there are two.\n"
    for new in (first, second.document["id"]):
        thread = cli("session", "thread", new, "--json").document["sessions"]
        assert [session["id"] for session in thread] == [old, new]


def test_a_thread_is_read_as_one(cli: Call):
    old = start(cli, "--name", "web hook")["id"]
    append_messages(cli, old, "before")
    cli("session", "end", old)
    new = cli("session", "resume", old, "--json").document["id"]
    append_messages(cli, new, "after")

    text = cli("session", "thread", "web hook").out

    for session_id in (old, new):
        document = cli("session", "thread", session_id, "--json").document
        assert [session["id"] for session in document["sessions"]] == [old, new]
        assert [event["content"] for event in document["events"]] == ["before", "after"]
    sessions, events = text.split("\n\n")
    _, *lines = sessions.splitlines()
    assert [line.split()[0] for line in lines] == [old[:13], new[:13]]
    assert [line.split()[-1] for line in events.splitlines()] == ["(UTC)", "before", "after"]


# --- verify ---------------------------------------------------------------------------------------


def test_verify_counts_what_it_checked(cli: Call):
    first, second = start(cli)["id"], start(cli)["id"]
    append_messages(cli, first, "a", "b")
    append_messages(cli, second, "c")

    assert cli("session", "verify").out == "Sound: 3 events in 2 sessions\n"
    assert cli("session", "verify", second).out == "Sound: 1 event in 1 session\n"
    verified = cli("session", "verify", "--json").document
    assert (verified["ok"], [s["checked"] for s in verified["sessions"]]) == (True, [1, 2])


def test_verify_names_the_place_of_a_damage_and_exits_with_5(cli: Call, tmp_path: Path):
    session = start(cli)["id"]
    append_messages(cli, session, "a", "b")
    edit(
        tmp_path / "holdfast" / "holdfast.db",
        "update session_events set content = 'x' where sequence = 2",
    )

    answer = cli("session", "verify", session)
    document = cli("session", "verify", "--json")

    assert (answer.code, document.code, document.document["ok"]) == (5, 5, False)
    assert answer.out.splitlines() == [
        f"{session}: number 2 was edited: its content does not match its hash",
        "Damaged: 1 place in 2 events",
    ]


def edit(path: Path, statement: str) -> None:
    """A person with access to the file, who has removed the triggers."""
    import apsw

    connection = apsw.Connection(str(path))
    for (trigger,) in connection.execute(
        "select name from sqlite_schema where type = 'trigger'"
    ).fetchall():
        connection.execute(f"drop trigger {trigger}")
    connection.execute(statement)
    connection.close()
