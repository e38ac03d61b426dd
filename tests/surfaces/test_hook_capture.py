"""Hooks as real processes over a real transcript: what is kept, and what the next model reads."""

import json
import os
import re
import shutil
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from holdfast.app import App
from holdfast.observations.turns import gather_turns
from holdfast.storage.enrolment import Enrolment
from holdfast.storage.hook_marks import HookMarks
from holdfast.usecases.switching import set_off
from tests.rig.claude_program import FIRST, SECOND, Claude, said, stored
from tests.rig.codex_program import THREAD, Codex
from tests.rig.commands import Answer, run_process

pytestmark = pytest.mark.measures_processes


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/feat/x\n")
    return folder


@pytest.fixture
def claude(home: Path, project: Path) -> Claude:
    return Claude(home, project)


@pytest.fixture
def next_claude(home: Path, project: Path) -> Claude:
    return Claude(home, project, SECOND)


@pytest.fixture
def data_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "holdfast"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


EARLIER = datetime(2026, 1, 1, tzinfo=UTC)
OLDER = "22222222-2222-4333-8444-555555555555"


def format_time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def handed(answer: Answer) -> str:
    assert (answer.code, answer.err) == (0, "")
    if not answer.out:
        return ""
    output = json.loads(answer.out)["hookSpecificOutput"]
    assert output["hookEventName"] == "SessionStart"
    text: str = output["additionalContext"]
    return text


# --- what the next model reads --------------------------------------------------------------------


def test_the_first_session_of_a_folder_is_handed_nothing_and_nothing_is_explained(claude: Claude):
    assert claude.fire("SessionStart", source="startup") == Answer(0, "", "")
    assert run_process("why", cwd=claude.project).code == 3


def test_the_next_session_is_handed_the_last_request(claude: Claude, next_claude: Claude):
    claude.turn("Retry at most 8 times.", "Done, in retry.py.", "p1")
    claude.fire("SessionEnd", reason="other")

    text = handed(next_claude.fire("SessionStart", source="startup"))

    assert "> Retry at most 8 times." in text
    assert "Last session: claude, ended" in text


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf-16"])
def test_the_document_is_utf_8_in_any_environment(
    encoding: str, claude: Claude, next_claude: Claude, monkeypatch: pytest.MonkeyPatch
):
    claude.turn("Größe prüfen 日本語 →", "It is used.", "p1")
    monkeypatch.setenv("PYTHONIOENCODING", encoding)

    answer = next_claude.fire("SessionStart", source="startup")

    assert "> Größe prüfen 日本語 →" in handed(answer)


def test_a_server_as_the_store_keeps_and_hands_over_the_same(
    claude: Claude, next_claude: Claude, postgres_url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOLDFAST_DATABASE", postgres_url)
    claude.turn("Retry at most 8 times.", "Done, in retry.py.", "p1")
    claude.fire("SessionEnd", reason="other")

    text = handed(next_claude.fire("SessionStart", source="startup"))

    assert "> Retry at most 8 times." in text
    assert said(FIRST) == ["Retry at most 8 times.", "Done, in retry.py."]
    next_claude.turn("Now the docs.", "Written.", "p2")
    assert run_process("off", cwd=next_claude.project).code == 0
    next_claude.turn("A secret.", "Kept out.", "p3")
    assert said(SECOND) == ["Now the docs.", "Written."]


def test_a_window_is_handed_the_document_once(claude: Claude, next_claude: Claude):
    claude.turn("Retry at most 8 times.", "Done.", "p1")

    assert handed(next_claude.fire("SessionStart", source="startup"))
    assert not handed(next_claude.fire("SessionStart", source="resume"))
    assert handed(next_claude.fire("SessionStart", source="compact"))


IDE = (
    "<ide_opened_file>The user opened the file /x/a.py in the IDE.</ide_opened_file>",
    "<ide_selection>The user selected the lines 1 to 4:\nNever use 9 threads</ide_selection>",
)


@pytest.mark.parametrize("added", IDE)
def test_what_an_editor_adds_to_a_request_is_not_said_by_the_person(claude: Claude, added: str):
    claude.fire("UserPromptSubmit", prompt="Make it blue.", prompt_id="p1")
    texts = [added, "Make it blue."]
    claude.ask([{"type": "text", "text": text} for text in texts], "p1")
    claude.ask("Not red.\n<system-reminder>\nUse 3 tools.\n</system-reminder>", "p2")
    claude.ask(added, "p3")
    claude.answer("It is blue.")
    claude.fire("Stop", prompt_id="p1", last_assistant_message="It is blue.")

    assert said(FIRST) == ["Make it blue.", "Not red.", "It is blue."]


def test_what_an_editor_puts_above_a_request_to_codex_is_not_said_by_the_person(
    home: Path, project: Path
):
    codex = Codex(home, project)
    above = "# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\n"
    codex.ask(f"{above}Make it blue.", "t1")
    codex.say("It is blue.", "t1")
    codex.fire("Stop", turn_id="t1", last_assistant_message="It is blue.")

    assert said(THREAD) == ["Make it blue.", "It is blue."]


def test_a_hook_that_is_set_up_twice_hands_over_once(claude: Claude, next_claude: Claude):
    """For the person and for the project: the client starts two processes at once."""
    claude.turn("Retry at most 8 times.", "Done.", "p1")

    texts = [handed(next_claude.fire("SessionStart", source="startup")) for _ in range(2)]

    assert [bool(text) for text in texts] == [True, False]


def test_a_session_that_began_with_nothing_is_not_told_about_itself_when_it_goes_on(
    claude: Claude,
):
    assert not handed(claude.fire("SessionStart", source="startup"))
    claude.turn("Retry at most 8 times.", "Done.", "p1")

    assert not handed(claude.fire("SessionStart", source="resume"))


def test_after_a_compaction_the_session_is_reminded_of_its_own_request(claude: Claude):
    claude.turn("Retry at most 8 times.", "Done.", "p1")
    claude.turn("And log each try.", "Logged.", "p2")

    text = handed(claude.fire("SessionStart", source="compact"))

    assert "> And log each try." in text
    assert "This session, before its compaction." in text
    assert "Last session" not in text


def test_a_summary_is_stored_before_the_request_that_follows_it(claude: Claude):
    """The client writes it after the hook that tells of the compaction."""
    claude.turn("Retry at most 8 times.", "Done.", "p1")
    claude.fire("SessionStart", source="compact")
    claude.write("user", "What was said so far.", isCompactSummary=True)
    claude.turn("And log each try.", "Logged.", "p2")

    assert said(FIRST)[2:] == ["What was said so far.", "And log each try.", "Logged."]


def test_a_session_that_is_resumed_is_told_once_what_happened_elsewhere(
    claude: Claude, next_claude: Claude
):
    claude.turn("Rename parse().", "Done.", "p1")
    claude.fire("SessionEnd", reason="other")
    next_claude.turn("We keep parse().", "Kept.", "p2")

    text = handed(claude.fire("SessionStart", source="resume"))

    assert "> We keep parse()." in text
    assert not handed(claude.fire("SessionStart", source="resume"))


def test_in_plan_mode_the_document_is_for_planning(claude: Claude, next_claude: Claude):
    """At its start Claude Code does not say; in the middle of a session its transcript does."""
    claude.ask("Plan the retries.", "p1", permissionMode="plan")
    claude.answer("Here is the plan.")
    in_plan_mode = handed(claude.fire("SessionStart", source="compact"))
    next_claude.ask("Go on.", "p2", permissionMode="default")
    after_it = handed(next_claude.fire("SessionStart", source="compact"))

    assert in_plan_mode.startswith("HOLDFAST planning · ")
    assert after_it.startswith("HOLDFAST implementation · ")


def test_what_a_subagent_was_told_is_no_request(claude: Claude, next_claude: Claude):
    claude.turn("Look at the three modules.", "Three agents did.", "p1")
    folder = claude.path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    for number in range(3):
        record = {
            "parentUuid": None,
            "isSidechain": True,
            "agentId": f"a{number}",
            "type": "user",
            "message": {"role": "user", "content": f"Read module {number}."},
            "uuid": f"sub-{number}",
            "sessionId": FIRST,
        }
        (folder / f"agent-a{number}.jsonl").write_text(json.dumps(record) + "\n")
        about = {"agentType": "general-purpose"}
        (folder / f"agent-a{number}.meta.json").write_text(json.dumps(about))
    claude.fire("SubagentStop", agent_id="a2")

    text = handed(next_claude.fire("SessionStart", source="startup"))

    assert "> Look at the three modules." in text
    assert "Read module" not in text
    told = [event for event in stored(FIRST) if (event.parts or {}).get("agent_id")]
    assert [event.content for event in told] == [f"Read module {n}." for n in range(3)]


def test_a_request_that_was_taken_back_is_handed_to_nobody(claude: Claude, next_claude: Claude):
    before = claude.ask("Retry at most 8 times.", "p1")
    answered = claude.answer("Done.")
    claude.ask("Drop the table.", "p2")
    claude.answer("Dropped.")
    claude.ask("Log each try.", "p3", parent=answered)
    claude.fire("Stop", prompt_id="p3", last_assistant_message="")
    claude.ask("Never mind.", "p4", parent=before)
    claude.fire("Stop", prompt_id="p4", last_assistant_message="")
    claude.ask("Log each try, once.", "p5", parent=before)
    claude.answer("Logged.")
    claude.fire("Stop", prompt_id="p5", last_assistant_message="Logged.")

    text = handed(next_claude.fire("SessionStart", source="startup"))

    assert "> Log each try, once." in text
    with App() as app:
        [session] = app.run(app.scope.sessions.list_sessions())
        newest = app.run(app.scope.sessions.list_requests(session.id, 10))
    assert [event.content for event in newest] == [
        "Log each try, once.",
        "Retry at most 8 times.",
    ]


def test_two_programs_in_one_session_take_nothing_back_from_each_other(claude: Claude):
    """Each goes on after its own last line, so that the other's request seems to be left."""
    claude.turn("Build it.", "Built.", "p0")
    ends = [claude.last, claude.last]
    for number in range(1, 4):
        for program in range(2):
            claude.last = ends[program]
            claude.turn(f"Step {number} of {program}.", "Done.", f"p{number}-{program}")
            ends[program] = claude.last

    with App() as app:
        [session] = app.run(app.scope.sessions.list_sessions())
        newest = app.run(app.scope.sessions.list_requests(session.id, 10))
    steps = [f"Step {number} of {program}." for number in range(1, 4) for program in range(2)]
    assert [event.content for event in reversed(newest)] == ["Build it.", *steps]


# --- what is kept ---------------------------------------------------------------------------------


def test_a_turn_is_kept_once_by_hook_and_transcript(claude: Claude):
    claude.turn("Retry at most 8 times.", "Done.", "p1")
    claude.fire("SessionEnd", reason="other")

    assert said(FIRST) == ["Retry at most 8 times.", "Done."]


def test_an_answer_that_the_transcript_has_late_is_kept_once(claude: Claude):
    claude.fire("UserPromptSubmit", prompt="Go on.", prompt_id="p1")
    claude.ask("Go on.", "p1")
    claude.fire("Stop", prompt_id="p1", last_assistant_message="Done.")
    claude.answer("Done.")
    claude.fire("SessionEnd", reason="other")

    assert said(FIRST) == ["Go on.", "Done."]


def test_a_turn_without_hooks_comes_before_the_next_request(claude: Claude, next_claude: Claude):
    """The program was away for one turn: the order is that of what happened."""
    claude.turn("Say one.", "First.", "p1")
    claude.ask("Say two.", "p2")
    claude.answer("Second.")
    claude.turn("Say three.", "Third.", "p3")
    claude.fire("SessionEnd", reason="other")

    text = handed(next_claude.fire("SessionStart", source="startup"))

    assert said(FIRST) == ["Say one.", "First.", "Say two.", "Second.", "Say three.", "Third."]
    assert "> Say three." in text


def test_what_an_interrupted_turn_did_comes_before_the_next_request(claude: Claude):
    """No hook tells of the end of a turn that a person has stopped."""
    claude.fire("UserPromptSubmit", prompt="Run the tests.", prompt_id="p1")
    claude.ask("Run the tests.", "p1")
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "pytest"}}
    claude.write("assistant", [call])
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "1 failed"}
    claude.write("user", [result], promptId="p1")
    claude.answer("One of them")
    claude.turn("Never mind, fix the docs.", "Fixed.", "p2")

    assert said(FIRST) == [
        "Run the tests.",
        "1 failed",
        "One of them",
        "Never mind, fix the docs.",
        "Fixed.",
    ]


def test_a_hook_that_fires_twice_is_kept_once(claude: Claude):
    """Set up for the person and for the project; the second may even come after the end."""
    claude.turn("Retry at most 8 times.", "Done.", "p1")
    claude.fire("Stop", prompt_id="p1", last_assistant_message="Done.")
    claude.fire("SessionEnd", reason="other")
    claude.fire("Stop", prompt_id="p1", last_assistant_message="Done.")

    with App() as app:
        assert len(app.run(app.scope.sessions.list_all_sessions())) == 1
    assert said(FIRST) == ["Retry at most 8 times.", "Done."]


def test_a_session_that_no_hook_reported_comes_back_at_the_next_start(
    claude: Claude, next_claude: Claude
):
    """The program was missing, or the disk was full; the client has written it down."""
    claude.ask("Retry at most 8 times.", "p1")
    claude.answer("Done, in retry.py.")

    text = handed(next_claude.fire("SessionStart", source="startup"))

    assert "> Retry at most 8 times." in text
    assert said(FIRST) == ["Retry at most 8 times.", "Done, in retry.py."]


def test_what_was_cut_off_happened_when_its_transcript_says(
    claude: Claude, next_claude: Claude, home: Path, project: Path
):
    """Two clients were killed, one yesterday and one an hour ago, and no hook reported anything."""
    now = datetime.now(UTC)
    yesterday, lately = now - timedelta(hours=20), now - timedelta(hours=1)
    older = Claude(home, project, OLDER)
    older.ask("Draw the schema.", "p0", timestamp=format_time(yesterday))
    os.utime(older.path, (yesterday.timestamp(), yesterday.timestamp()))
    claude.ask("Retry at most 8 times.", "p1", timestamp=format_time(lately))
    claude.write("assistant", [{"type": "text", "text": "On it."}], timestamp=format_time(lately))

    text = handed(next_claude.fire("SessionStart", source="startup"))
    listed = json.loads(run_process("session", "list", "--json", cwd=project).out)["sessions"]

    assert f"{lately:%H:%M}" in text.splitlines()[1]
    # Just after midnight that was on another day, which is named.
    assert re.search(rf"LAST REQUEST \(user, (?:[\d-]+ )?{lately:%H:%M}\)", text)
    assert "> Retry at most 8 times." in text
    idle_since = {session["native_id"]: session["idle_since"] for session in listed}
    assert idle_since[FIRST].startswith(f"{lately:%Y-%m-%dT%H:%M:%S}")
    assert idle_since[OLDER].startswith(f"{yesterday:%Y-%m-%dT%H:%M:%S}")
    for event in stored(FIRST):
        assert event.happened_at.replace(microsecond=0) == lately.replace(microsecond=0)
        assert event.created_at > now


def test_a_time_that_cannot_be_is_not_believed(claude: Claude, next_claude: Claude):
    """A client's clock may be wrong, and a line may hold anything."""
    times = ["2999-01-01T00:00:00.000Z", "2026-99-99T99:99:99Z", "soon", 7]
    for number, moment in enumerate(times):
        claude.ask(f"Request {number}.", f"p{number}", timestamp=moment)

    assert handed(next_claude.fire("SessionStart", source="startup"))

    events = stored(FIRST)
    assert len(events) == len(times)
    assert all(event.happened_at == event.created_at for event in events)


def test_what_cannot_be_read_leaves_its_place_and_is_counted_once(claude: Claude):
    claude.turn("Show the log.", "Here it is.", "p1")
    claude.answer("x" * (5 << 20))
    claude.turn("And the other.", "There.", "p2")
    with claude.path.open("r+b") as file:  # as after a crash: all of it is read again
        file.truncate(claude.path.stat().st_size - 1)
    claude.fire("SessionEnd", reason="other")

    assert said(FIRST) == ["Show the log.", "Here it is.", "", "And the other.", "There."]
    [place] = [event.parts for event in stored(FIRST) if not event.content]
    assert place is not None
    assert (place["left_out"], "happened_at" in place) == (1, True)
    status = run_process("status")
    assert "Unreadable places in transcripts of Claude Code: 1" in status.err


# --- turns that were not answered -----------------------------------------------------------------


def begin_turn(claude: Claude, request: str, command: str) -> None:
    """As far as a client gets that is killed while a command runs."""
    claude.fire("SessionStart", source="startup")
    claude.fire("UserPromptSubmit", prompt=request, prompt_id="p1")
    claude.ask(request, "p1", timestamp=format_time(datetime.now(UTC)))
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": command}}
    for block in ({"type": "text", "text": "I run the tests."}, call):
        claude.write("assistant", [block], timestamp=format_time(datetime.now(UTC)))


def test_what_ran_when_a_client_was_killed_is_known_to_the_next(
    claude: Claude, next_claude: Claude, home: Path, project: Path
):
    begin_turn(claude, "Make it pass.", "pytest -q")

    text = handed(next_claude.fire("SessionStart", source="startup"))
    handed(Claude(home, project, OLDER).fire("SessionStart", source="startup"))

    listed = json.loads(run_process("session", "list", "--json", cwd=project).out)["sessions"]
    [killed] = [session for session in listed if session["native_id"] == FIRST]
    assert killed["status"] == "idle"
    assert "Last session: claude, cut off at" in text
    assert ' while running "Bash pytest -q".' in text
    assert [event.type for event in stored(FIRST)] == ["user_message", "model_message", "tool_call"]


def test_the_result_of_a_call_that_ran_belongs_to_it(claude: Claude, next_claude: Claude):
    """The client was not killed: it went on."""
    begin_turn(claude, "Make it pass.", "pytest -q")
    next_claude.fire("SessionStart", source="startup")
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "1 passed"}
    claude.write("user", [result], toolUseResult={"stdout": "1 passed"})
    claude.answer("It passes.")
    claude.fire("Stop", prompt_id="p1", last_assistant_message="It passes.")

    [turn] = gather_turns(stored(FIRST))

    assert [(command.text, command.verdict) for command in turn.commands] == [
        ("pytest -q", "passed")
    ]
    assert [event.type for event in stored(FIRST)].count("tool_result") == 1


def test_another_client_goes_on_where_one_was_killed(claude: Claude, home: Path, project: Path):
    begin_turn(claude, "Make it pass.", "pytest -q")

    text = json.loads(Codex(home, project).fire("SessionStart", source="startup").out)

    assert "> Make it pass." in text["hookSpecificOutput"]["additionalContext"]
    assert ' while running "Bash pytest -q".' in text["hookSpecificOutput"]["additionalContext"]


def test_a_client_that_was_moved_is_read_at_the_start_of_another(
    home: Path, project: Path, data_folder: Path
):
    """Only the moved one is started with the variable that says where it is."""
    moved = home / "work"
    record = {"client": "claude", "environment": {"CLAUDE_CONFIG_DIR": str(moved / ".claude")}}
    (data_folder / "installed.json").write_text(json.dumps({"files": {"settings.json": record}}))
    HookMarks(str(data_folder)).record_check("claude", "SessionStart")
    begin_turn(Claude(moved, project), "Make it pass.", "pytest -q")

    text = json.loads(Codex(home, project).fire("SessionStart", source="startup").out)

    assert 'running "Bash pytest -q".' in text["hookSpecificOutput"]["additionalContext"]


def test_what_was_revoked_in_another_client_is_not_the_last_request(
    claude: Claude, next_claude: Claude, home: Path, project: Path
):
    begin_turn(claude, "Rename parse().", "pytest -q")
    codex = Codex(home, project)
    codex.ask("We keep parse().", "t1")
    codex.say("Kept.", "t1")
    codex.fire("Stop", turn_id="t1", last_assistant_message="Kept.")

    text = handed(next_claude.fire("SessionStart", source="startup"))

    assert "> We keep parse()." in text
    assert "Last session: codex, answered at" in text


def test_a_limit_that_ended_a_turn_is_told(claude: Claude, home: Path, project: Path):
    codex = Codex(home, project)
    codex.ask("Make it pass.", "t1")
    error = {"message": "You've hit your usage limit, resets 18:00"}
    codex.write("event_msg", {"type": "task_complete", "turn_id": "t1", "error": error})
    codex.fire("SessionEnd")

    text = handed(claude.fire("SessionStart", source="startup"))

    assert ', last request unanswered: "You\'ve hit your usage limit, resets 18:00".' in text
    assert said(THREAD) == ["Make it pass.", error["message"]]


def test_a_client_that_was_not_set_up_is_not_read(claude: Claude, home: Path, project: Path):
    codex = Codex(home, project)
    codex.write("event_msg", {"type": "task_started", "turn_id": "t1"})
    codex.complete("UserMessage", "t1", content=[{"type": "text", "text": "Private."}])

    assert claude.fire("SessionStart", source="startup") == Answer(0, "", "")
    assert said(THREAD) == []


def test_what_comes_after_an_end_is_linked_to_it(claude: Claude):
    claude.turn("Retry at most 8 times.", "Done.", "p1")
    claude.fire("SessionEnd", reason="other")
    claude.turn("And log each try.", "Logged.", "p2")

    with App() as app:
        later, first = app.run(app.scope.sessions.list_sessions())
    assert later.resumed_from == first.id
    assert said(FIRST) == ["Retry at most 8 times.", "Done.", "And log each try.", "Logged."]


@pytest.mark.parametrize("has_transcript", [True, False])
def test_an_answer_that_comes_after_the_end_begins_no_session_that_seems_live(
    has_transcript: bool, claude: Claude, next_claude: Claude
):
    claude.turn("Retry at most 8 times.", "Shall I begin?", "p1")
    claude.fire("UserPromptSubmit", prompt="Yes.", prompt_id="p2")
    claude.ask("Yes.", "p2")
    claude.fire("SessionEnd", reason="other")
    if has_transcript:
        claude.answer("Done, in retry.py.")
    claude.fire("Stop", prompt_id="p2", last_assistant_message="Done, in retry.py.")

    text = handed(next_claude.fire("SessionStart", source="startup"))
    listed = run_process("session", "list", "--json", cwd=claude.project)
    sessions = json.loads(listed.out)["sessions"]

    assert [session["status"] for session in sessions] == ["ended", "ended"]
    assert said(FIRST)[-2:] == ["Yes.", "Done, in retry.py."]
    assert "> Yes." in text
    assert "Done, in retry.py." in text
    next_claude.answer("Written again.")  # and read at the next start, which adds nothing to it
    next_claude.fire("SessionStart", source="clear")
    assert said(FIRST).count("Done, in retry.py.") == 1


def test_secrets_are_masked_on_the_way_in(claude: Claude):
    secret = "ghp_" + "a1B2" * 9
    claude.turn(f"Use {secret} for the push.", f"I used {secret}.", "p1")

    for content in said(FIRST):
        assert secret not in content
        assert "[REDACTED:" in content


# --- where hooks work -----------------------------------------------------------------------------


def test_in_a_folder_without_consent_a_hook_does_nothing(
    claude: Claude, data_folder: Path, tmp_path: Path
):
    Enrolment(str(data_folder)).add(str(tmp_path / "elsewhere"))

    claude.turn("Retry at most 8 times.", "Done.", "p1")

    assert not (data_folder / "processes").exists()
    assert said(FIRST) == []


def test_a_session_stays_where_it_began_wherever_its_agent_goes(
    claude: Claude, data_folder: Path, monkeypatch: pytest.MonkeyPatch
):
    Enrolment(str(data_folder)).add(str(claude.project))
    nested = claude.project / "vendor" / "lib"
    (nested / ".git").mkdir(parents=True)
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(claude.project))
    claude.turn("Look into the library.", "Looking.", "p1")
    claude.ask("Go on.", "p2")
    claude.answer("Done.")
    claude.fire("Stop", prompt_id="p2", cwd=str(nested), last_assistant_message="Done.")
    claude.fire("SessionEnd", reason="other", cwd=str(nested))

    assert said(FIRST) == ["Look into the library.", "Looking.", "Go on.", "Done."]
    with App() as app:
        [session] = app.run(app.scope.sessions.list_sessions())
    assert session.ended_at is not None


def test_a_session_of_another_folder_is_not_taken_in_by_going_where_hooks_work(
    home: Path,
    project: Path,
    data_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    Enrolment(str(data_folder)).add(str(project))
    other = Claude(home, tmp_path / "other")
    other.project.mkdir()
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(other.project))
    other.ask("A private thing.", "p1")
    other.answer("Done.")
    other.fire("Stop", prompt_id="p1", cwd=str(project), last_assistant_message="Done.")

    assert stored(FIRST) == []


def test_a_folder_that_is_gone_is_captured_only_if_it_was_before(
    claude: Claude, next_claude: Claude, data_folder: Path
):
    Enrolment(str(data_folder)).add(str(claude.project))
    claude.turn("Retry at most 8 times.", "Done.", "p1")
    elsewhere = str(claude.project.parent / "gone")
    claude.ask("And log each try.", "p2")
    claude.fire("SessionEnd", reason="other", cwd=elsewhere)
    next_claude.ask("A private thing.", "p3")
    next_claude.fire("SessionEnd", reason="other", cwd=elsewhere)

    assert said(FIRST) == ["Retry at most 8 times.", "Done.", "And log each try."]
    assert stored(SECOND) == []


@pytest.mark.parametrize("program", [Claude, Codex])
def test_a_repository_without_consent_below_one_with_it_is_not_read(
    program: type[Claude] | type[Codex],
    home: Path,
    next_claude: Claude,
    data_folder: Path,
):
    Enrolment(str(data_folder)).add(str(next_claude.project))
    HookMarks(str(data_folder)).record_check("codex", "SessionStart")
    nested = next_claude.project / "vendor" / "secret"
    (nested / ".git").mkdir(parents=True)
    say_unheard(program(home, nested), "A private thing.")

    assert handed(next_claude.fire("SessionStart", source="startup")) == ""
    assert list_places() == []

    shutil.rmtree(nested)  # a folder that is gone proves nothing
    assert handed(next_claude.fire("SessionStart", source="clear")) == ""
    assert list_places() == []


@pytest.mark.parametrize("program", [Claude, Codex])
def test_a_session_of_a_linked_worktree_below_belongs_there(
    program: type[Claude] | type[Codex],
    home: Path,
    next_claude: Claude,
    data_folder: Path,
):
    """Its transcript is read at a start in the main one."""
    project = next_claude.project
    Enrolment(str(data_folder)).add(str(project))
    HookMarks(str(data_folder)).record_check("codex", "SessionStart")
    linked = project / ".wt" / "feat"
    git_dir = project / ".git" / "worktrees" / "feat"
    linked.mkdir(parents=True)
    git_dir.mkdir(parents=True)
    (linked / ".git").write_text(f"gitdir: {git_dir}\n")
    (git_dir / "gitdir").write_text(f"{linked}/.git\n")
    (git_dir / "commondir").write_text("../..\n")
    (git_dir / "HEAD").write_text("ref: refs/heads/feat\n")
    say_unheard(program(home, linked), "Rename the table.")

    assert handed(next_claude.fire("SessionStart", source="startup")) == ""
    assert list_places() == [(str(linked), "feat")]


def say_unheard(program: Claude | Codex, text: str) -> None:
    """A request that no hook tells of."""
    if isinstance(program, Claude):
        program.ask(text, "p1")
    else:
        program.complete("UserMessage", "t1", content=[{"type": "text", "text": text}])


def list_places() -> list[tuple[str | None, str | None]]:
    with App() as app:
        sessions = app.run(app.scope.sessions.list_all_sessions())
    return [(session.worktree, session.git_branch) for session in sessions]


def test_a_session_that_is_off_is_kept_out_of_everything(claude: Claude, next_claude: Claude):
    claude.turn("Retry at most 8 times.", "Done.", "p1")
    with App() as app:
        app.run(set_off(app, str(claude.project), is_off=True))

    claude.turn("And something private.", "Sure.", "p2")
    text = handed(next_claude.fire("SessionStart", source="startup"))

    assert said(FIRST) == ["Retry at most 8 times.", "Done."]
    assert text == ""
    with App() as app:
        app.run(set_off(app, str(claude.project), is_off=False, named=("claude", FIRST)))
    claude.turn("Go on.", "Going on.", "p3")
    next_claude.fire("SessionStart", source="startup")
    assert said(FIRST) == ["Retry at most 8 times.", "Done.", "Go on.", "Going on."]


def test_what_a_subagent_did_in_a_session_that_was_off_stays_out(claude: Claude):
    claude.turn("Retry at most 8 times.", "Done.", "p1")
    native = "claude", FIRST
    with App() as app:
        app.run(set_off(app, str(claude.project), is_off=True, named=native))
    told = {"type": "user", "message": {"role": "user", "content": "A private thing."}}
    named = {"agentId": "a1", "isSidechain": True, "uuid": "sub-1", "sessionId": FIRST}
    subagent = claude.path.with_suffix("") / "subagents" / "agent-a1.jsonl"
    subagent.parent.mkdir(parents=True)
    subagent.write_text(json.dumps({**named, **told}) + "\n")

    with App() as app:
        app.run(set_off(app, str(claude.project), is_off=False, named=native))
    claude.turn("Go on.", "Going on.", "p2")

    contents = [event.content for event in stored(FIRST)]
    assert contents == ["Retry at most 8 times.", "Done.", "Go on.", "Going on."]


def test_a_transcript_that_was_not_found_brings_nothing_back_from_before(claude: Claude):
    """Its client has moved on to another folder, and the next hook names the file."""
    claude.turn("Retry at most 8 times.", "Done.", "p1")
    native = "claude", FIRST
    with App() as app:
        app.run(set_off(app, str(claude.project), is_off=True, named=native))
    path = claude.path
    claude.path = path.parent.parent / "elsewhere.jsonl"
    claude.write("user", "A private thing.", promptId="p2", timestamp=format_time(EARLIER))
    with App() as app:
        app.run(set_off(app, str(claude.project), is_off=False, named=native))
    claude.fire("Stop", prompt_id="p2", last_assistant_message="")
    claude.path = path

    assert said(FIRST) == ["Retry at most 8 times.", "Done."]


def test_a_check_of_an_installed_hook_stores_nothing(claude: Claude, tmp_path: Path):
    answer = claude.fire("UserPromptSubmit", session_id="holdfast-check", prompt="Is it there?")

    assert answer == Answer(0, "", "")
    [mark] = HookMarks(str(tmp_path / "holdfast")).list_marks()
    assert (mark["client"], mark["event"]) == ("claude", "UserPromptSubmit")
    assert "checked_at" in mark
    assert "fired_at" not in mark


def test_a_hook_that_fired_leaves_a_mark_with_its_price(
    claude: Claude, next_claude: Claude, tmp_path: Path
):
    claude.turn("Retry at most 8 times.", "Done.", "p1")
    text = handed(next_claude.fire("SessionStart", source="startup"))

    marks = {mark["event"]: mark for mark in HookMarks(str(tmp_path / "holdfast")).list_marks()}

    assert marks["SessionStart"]["chars"] == len(text)
    assert marks["Stop"]["count"] == 1
    assert marks["Stop"]["milliseconds"] > 0


def test_after_a_compaction_even_the_first_request_is_the_session_s_own(
    claude: Claude, next_claude: Claude
):
    claude.turn("Retry at most 8 times.", "Done.", "p1")
    next_claude.turn("Rename the table.", "Renamed.", "p2")

    text = handed(next_claude.fire("SessionStart", source="compact"))

    request, before = text.split("BEFORE IT")
    assert "> Rename the table." in request
    assert "> Retry at most 8 times." in before


def test_a_transcript_that_has_not_changed_is_not_read_again(
    claude: Claude, next_claude: Claude, home: Path, project: Path
):
    claude.ask("Retry at most 8 times.", "p1")
    at = os.stat(claude.path).st_mtime_ns - 10**10  # what is newer may still be written
    os.utime(claude.path, ns=(at, at))
    next_claude.fire("SessionStart", source="startup")
    claude.answer("Written in the same moment.")
    os.utime(claude.path, ns=(at, at))
    next_claude.fire("SessionStart", source="clear")
    assert said(FIRST) == ["Retry at most 8 times."]

    os.utime(claude.path)
    next_claude.fire("SessionStart", source="clear")
    assert said(FIRST) == ["Retry at most 8 times.", "Written in the same moment."]


def test_a_session_that_is_resumed_is_read_however_old_it_is(
    claude: Claude, next_claude: Claude, data_folder: Path
):
    """It was killed long ago; at any other start it is too old."""
    row = {"since": time.time() - 60 * 86_400}
    folders = {"folders": {str(claude.project): row}}
    (data_folder / "folders.json").write_text(json.dumps(folders))
    claude.fire("UserPromptSubmit", prompt="Retry at most 8 times.", prompt_id="p1")
    claude.ask("Retry at most 8 times.", "p1")
    claude.answer("I have begun with retry.py.")
    long_ago = time.time() - 31 * 86_400
    os.utime(claude.path, (long_ago, long_ago))

    next_claude.fire("SessionStart", source="startup")
    assert said(FIRST) == ["Retry at most 8 times."]
    claude.fire("SessionStart", source="resume")
    assert said(FIRST) == ["Retry at most 8 times.", "I have begun with retry.py."]


def test_all_sessions_that_no_hook_reported_arrive_over_the_next_starts_each_once(
    claude: Claude, home: Path, project: Path, data_folder: Path
):
    """More than are read at one start, of two clients."""
    HookMarks(str(data_folder)).record_check("codex", "SessionStart")
    for number in range(60):
        name = f"{number:04}{OLDER[4:]}"
        Claude(home, project, name).ask(f"Request {number}.", "p1")
        say_unheard(Codex(home, project, name), f"Request {number}.")
    for transcript in home.rglob("*.jsonl"):  # what is newer is read again
        at = os.stat(transcript).st_mtime_ns - 10**10
        os.utime(transcript, ns=(at, at))

    arrived: list[int] = []
    while len(arrived) < 10 and arrived[-1:] != [120]:
        assert claude.fire("SessionStart", source="startup").code == 0
        arrived.append(len(list_places()))

    assert arrived[-1] == 120
    claude.fire("SessionStart", source="clear")
    with App() as app:
        assert app.count().stored == 120


def test_sessions_that_no_hook_reported_begin_in_their_order(
    claude: Claude, next_claude: Claude, home: Path, project: Path
):
    now = time.time()
    names = [f"{number}{OLDER[1:]}" for number in (3, 1, 2)]
    for number, name in enumerate(names):
        old = Claude(home, project, name)
        old.ask(f"Request {number}.", "p1")
        os.utime(old.path, (now - 60 + number, now - 60 + number))

    claude.fire("SessionStart", source="startup")

    listed = json.loads(run_process("session", "list", "--json", cwd=project).out)["sessions"]
    assert [session["native_id"] for session in listed] == names[::-1]
