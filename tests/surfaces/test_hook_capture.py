"""Hooks as real processes over a real transcript: what is kept, and what the next model reads."""

import json
from pathlib import Path

import pytest

from holdfast.app import App
from holdfast.storage.enrolment import Enrolment
from holdfast.storage.hook_marks import HookMarks
from holdfast.usecases.switching import set_off
from tests.rig.claude_program import FIRST, SECOND, Claude, said, stored
from tests.rig.commands import Answer

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


def handed(answer: Answer) -> str:
    assert (answer.code, answer.err) == (0, "")
    if not answer.out:
        return ""
    output = json.loads(answer.out)["hookSpecificOutput"]
    assert output["hookEventName"] == "SessionStart"
    text: str = output["additionalContext"]
    return text


# --- what the next model reads --------------------------------------------------------------------


def test_the_first_session_of_a_folder_is_handed_nothing(claude: Claude):
    assert claude.fire("SessionStart", source="startup") == Answer(0, "", "")


def test_the_next_session_is_handed_the_last_request(claude: Claude, next_claude: Claude):
    claude.turn("Retry at most 8 times.", "Done, in retry.py.", "p1")
    claude.fire("SessionEnd", reason="other")

    text = handed(next_claude.fire("SessionStart", source="startup"))

    assert "> Retry at most 8 times." in text
    assert "Last session: claude, ended" in text


def test_a_window_is_handed_the_document_once(claude: Claude, next_claude: Claude):
    claude.turn("Retry at most 8 times.", "Done.", "p1")

    assert handed(next_claude.fire("SessionStart", source="startup"))
    assert not handed(next_claude.fire("SessionStart", source="resume"))
    assert handed(next_claude.fire("SessionStart", source="compact"))


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


def test_a_session_that_no_hook_reported_comes_back_at_the_next_start(
    claude: Claude, next_claude: Claude
):
    """The program was missing, or the disk was full; the client has written it down."""
    claude.ask("Retry at most 8 times.", "p1")
    claude.answer("Done, in retry.py.")

    text = handed(next_claude.fire("SessionStart", source="startup"))

    assert "> Retry at most 8 times." in text
    assert said(FIRST) == ["Retry at most 8 times.", "Done, in retry.py."]


def test_what_comes_after_an_end_is_linked_to_it(claude: Claude):
    claude.turn("Retry at most 8 times.", "Done.", "p1")
    claude.fire("SessionEnd", reason="other")
    claude.turn("And log each try.", "Logged.", "p2")

    with App() as app:
        later, first = app.run(app.scope.sessions.list_sessions())
    assert later.resumed_from == first.id
    assert said(FIRST) == ["Retry at most 8 times.", "Done.", "And log each try.", "Logged."]


def test_secrets_are_masked_on_the_way_in(claude: Claude):
    secret = "ghp_" + "a1B2" * 9
    claude.turn(f"Use {secret} for the push.", f"I used {secret}.", "p1")

    for content in said(FIRST):
        assert secret not in content
        assert "[REDACTED:" in content


# --- where hooks work -----------------------------------------------------------------------------


def test_in_a_folder_without_consent_a_hook_does_nothing(claude: Claude, tmp_path: Path):
    data_folder = tmp_path / "holdfast"
    data_folder.mkdir(mode=0o700)
    Enrolment(str(data_folder)).add(str(tmp_path / "elsewhere"))

    claude.turn("Retry at most 8 times.", "Done.", "p1")

    assert not (data_folder / "processes").exists()
    assert said(FIRST) == []


def test_a_session_that_is_off_is_kept_out_of_everything(claude: Claude, next_claude: Claude):
    claude.turn("Retry at most 8 times.", "Done.", "p1")
    with App() as app:
        app.run(set_off(app, str(claude.project), is_off=True))

    claude.turn("And something private.", "Sure.", "p2")
    text = handed(next_claude.fire("SessionStart", source="startup"))

    assert said(FIRST) == ["Retry at most 8 times.", "Done."]
    assert text == ""
    with App() as app:
        app.run(set_off(app, str(claude.project), is_off=False))
    claude.turn("Go on.", "Going on.", "p3")
    assert "Going on." in said(FIRST)


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

    assert "> Rename the table." in text
    assert "Retry at most" not in text
