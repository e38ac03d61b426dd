"""Offers to save a conversation through real hook processes of each client, and the save that a
typed stop command makes.
"""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast.app import App
from holdfast.clients import CLIENTS, commands, find_client
from holdfast.conversations.model import ACTIVE, COMPLETED, PAUSED, Conversation
from holdfast.conversations.reminding import REMINDER_AFTER, REMINDER_TURNS
from holdfast.ground import clock
from holdfast.ground.settings import load_settings
from holdfast.sessions.changing import CONVERSATION, SAVING
from holdfast.sessions.model import Session
from holdfast.storage.off_sessions import OffSessions
from holdfast.surfaces.hook_log import find_last_failure
from holdfast.usecases import conversing
from tests.ground.repositories import Work, make_filled
from tests.rig.commands import Answer, Call
from tests.surfaces.test_hook import fire, payload
from tests.workstreams.repos import ON

pytestmark = pytest.mark.measures_processes

PROMPTS = {
    "claude": "UserPromptSubmit",
    "codex": "UserPromptSubmit",
    "gemini": "BeforeAgent",
    "opencode": "chat.message",
}
ENDS = {
    "claude": ("Stop", "last_assistant_message"),
    "codex": ("Stop", "last_assistant_message"),
    "gemini": ("AfterAgent", "prompt_response"),
    "opencode": ("session.idle", "last_assistant_message"),
}
LAST = {
    "claude": "SessionEnd",
    "codex": "SessionEnd",
    "gemini": "SessionEnd",
    "opencode": "dispose",
}
# As each client hands a command of ours to its hook.
BEGINNINGS = {
    "claude": "/workspace.debug the retry hangs",
    "codex": "$workspace-debug the retry hangs",
    "gemini": commands.make_type_text("debug", "the retry hangs"),
    "opencode": "/workspace.debug the retry hangs",
}
STOPS = {
    "claude": "/workspace.stop-conversation",
    "codex": "$workspace-stop",
    "gemini": commands.make_stop_text(),
    "opencode": "/workspace.stop-conversation",
}
PAUSE = "Holdfast: the user seems to stop here, and this conversation is not saved to its folder."
REMINDER = "requests of this conversation are not saved to its folder."
GOING = "ok, gotta run, see you tomorrow"


class Program:
    """A client with one session, as its hooks tell of it."""

    def __init__(self, client: str, work: Work, native_id: str = "n-1"):
        self.client, self.work, self.native_id = client, work, native_id
        self.prompts = 0

    def say(self, words: str, **env: str) -> str:
        """What the model is offered to ask with this prompt."""
        return read_offer(self.client, self.ask(words, **env))

    def ask(self, words: str, **given: Any) -> Answer:
        self.prompts += 1
        named = {"prompt_id": f"p{self.prompts}", "turn_id": f"t{self.prompts}"}
        env = {name: given.pop(name) for name in list(given) if name.isupper()}
        fields = {**named, "prompt": words, "source": None, **given}
        return self.fire(PROMPTS[self.client], env, **fields)

    def answer(self, words: str) -> None:
        event, field = ENDS[self.client]
        named = {"prompt_id": f"p{self.prompts}", "turn_id": f"a{self.prompts}"}
        assert self.fire(event, {}, **named, **{field: words}) == Answer(0, "", "")

    def quit(self) -> None:
        assert self.fire(LAST[self.client], {}) == Answer(0, "", "")

    def fire(self, event: str, env: dict[str, str], **fields: Any) -> Answer:
        given = {"cwd": str(self.work.root), "session_id": self.native_id, **fields}
        recorded = payload(self.client, event, **given)
        if self.client == "gemini":
            recorded["timestamp"] = f"2026-11-18T09:04:{self.prompts:02}.000Z"
        return fire(self.client, event, recorded, **env)

    @property
    def session(self) -> Session:
        with App() as app:
            found = app.run(app.scope.sessions.find_native_session(self.client, self.native_id))
        assert found is not None
        return found

    def begin(self) -> None:
        assert self.say(BEGINNINGS[self.client]) == ""
        self.answer("Which command shows it?")

    def work_on(self, turns: int, ago: timedelta) -> None:
        """Requests that were stored before, and happened then."""
        session, moment = self.session, clock.to_text(clock.now() - ago)
        with App() as app:
            for number in range(turns):
                parts = {"happened_at": moment}
                said = f"Look at case {number}."
                verb = app.scope.sessions.append_event(
                    session.id, "user_message", "user", said, parts
                )
                app.run(verb)


def read_offer(client: str, answer: Answer) -> str:
    assert (answer.code, answer.err) == (0, "")
    if not answer.out:
        return ""
    output = json.loads(answer.out)
    if client == "opencode":
        return str(output.get("offer", ""))
    text = str(output["hookSpecificOutput"]["additionalContext"])
    lines = [line for line in text.split("\n") if line.startswith("Holdfast: ")]
    return "\n".join(lines)


def find_conversations(work: Work) -> list[Conversation]:
    with App() as app:
        service = conversing.open_conversations(app, str(work.root))
        return app.run(service.list_conversations())


def list_said(work: Work, id_: str) -> list[str]:
    with App() as app:
        service = conversing.open_conversations(app, str(work.root))
        return [message.content for message in app.run(service.get_history(id_)).messages]


def save(program: Program, status: str = ACTIVE) -> None:
    with App() as app:
        verb = conversing.save_conversation(
            app, str(program.work.root), program.session, status=status
        )
        app.run(verb)


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return make_filled(tmp_path / "work")


@pytest.fixture
def claude(work: Work) -> Program:
    """In a conversation of which nothing is saved."""
    program = Program("claude", work)
    program.begin()
    return program


# --- a person who stops ---------------------------------------------------------------------------


@pytest.mark.parametrize("client", CLIENTS)
def test_a_pause_signal_offers_to_save_once_until_it_was_saved(client: str, work: Work):
    program = Program(client, work)
    program.begin()

    offers = [program.say(words) for words in ("Show me the log.", GOING, GOING)]
    save(program)
    offers += [program.say(words) for words in (GOING, "One more: fix the test.", GOING)]

    assert [bool(offer) for offer in offers] == [False, True, False, False, False, True]
    assert offers[1].startswith(PAUSE)
    known = find_client(client)
    assert known is not None
    assert f"`{known.STOP_COMMAND}`" in offers[1]
    assert "`conversation` operation `pause`" in offers[1]
    assert len(offers[1]) <= 300


@pytest.mark.parametrize("client", CLIENTS)
def test_the_first_prompt_of_a_session_that_goes_on_is_offered_a_save(client: str, work: Work):
    """Not every client says before it that the session goes on."""
    program = Program(client, work)
    program.begin()
    program.quit()

    offers = [program.say(words) for words in (GOING, "no", GOING)]

    assert [bool(offer) for offer in offers] == [True, False, False]
    assert "declined_at" in program.session.metadata[SAVING]


@pytest.mark.parametrize("client", CLIENTS)
def test_nothing_is_offered_in_a_session_without_a_conversation(client: str, work: Work):
    program = Program(client, work)
    program.say("Why is it called twice?")
    program.answer("Because of the retry.")

    assert program.say(GOING) == ""


@pytest.mark.parametrize(
    "words",
    [
        "let's stop the server",
        "Show me where the loop stops.",
        "Fix the parser, then let's stop here",
        "no, the other file",
        "is it enough to stop here?",
    ],
)
def test_a_false_friend_offers_nothing(words: str, claude: Program):
    assert claude.say(words) == ""


@pytest.mark.parametrize(
    "words", ["Machen wir Schluss für heute.", "on s'arrête là pour aujourd'hui", "今天先到这里"]
)
def test_a_pause_is_recognised_in_other_languages(words: str, claude: Program):
    assert claude.say(words).startswith(PAUSE)


def test_a_persons_own_words_are_a_pause(claude: Program):
    settings = Path(load_settings().home, "settings.json")
    assert claude.say("Ende Gelände") == ""

    settings.write_text(json.dumps({"pause_words": ["ende gelände"]}))

    assert claude.say("Ende Gelände").startswith(PAUSE)


def test_settings_that_are_wrong_offer_nothing_and_are_logged(claude: Program):
    home = load_settings().home
    Path(home, "settings.json").write_text("{")

    assert claude.say(GOING) == ""
    failure = find_last_failure(home)
    assert failure is not None
    assert (failure["client"], failure["code"]) == ("claude", "invalid_value")
    assert [event.content for event in list_events(claude)][-1] == GOING


def list_events(program: Program) -> list[Any]:
    with App() as app:
        return list(app.run(app.scope.sessions.get_recent_events(program.session.id)))


# --- a person who says no -------------------------------------------------------------------------


@pytest.mark.parametrize("client", CLIENTS)
def test_who_declines_is_not_asked_again_in_this_conversation_in_any_client(
    client: str, work: Work
):
    program = Program(client, work)
    program.begin()
    assert program.say(GOING)

    assert program.say("no thanks") == ""
    save(program)
    program.say("One more: fix the test.")
    again = program.say(GOING)
    left = program.session
    program.quit()
    elsewhere = continue_in("gemini" if client != "gemini" else "codex", work, left)
    elsewhere.say("Look at the queue.")

    assert (again, elsewhere.say(GOING)) == ("", "")
    (conversation,) = find_conversations(work)
    assert elsewhere.session.metadata[CONVERSATION] == conversation.id


def continue_in(client: str, work: Work, left: Session) -> Program:
    """As `holdfast resume` does it."""
    with App() as app:
        sessions = app.scope.sessions
        resumed = sessions.resume_session(left.id, client=client, native_id="n-2", apart=True)
        begun = app.run(resumed)
        app.run(sessions.link_conversation(begun.id, str(left.metadata[CONVERSATION])))
    return Program(client, work, "n-2")


def test_a_refusal_counts_only_as_the_next_thing_that_is_said(claude: Program):
    assert claude.say(GOING)
    claude.say("Wait, show me the log.")
    claude.say("no, the other log")
    save(claude)
    claude.say("And the queue?")

    assert claude.say(GOING).startswith(PAUSE)


def test_the_same_prompt_twice_is_offered_once_and_is_no_answer(claude: Program):
    claude.say("Show me the log.")
    first = claude.say(GOING)
    claude.prompts -= 1
    again = claude.say(GOING)

    assert (bool(first), again) == (True, "")
    assert claude.say("no") == ""
    save(claude)
    claude.say("And the queue?")
    assert claude.say(GOING) == ""


def test_who_stops_and_wants_nothing_saved_is_not_asked(claude: Program):
    assert claude.say("Let's stop here, don't save this.") == ""


# --- long work ------------------------------------------------------------------------------------


@pytest.mark.parametrize("client", CLIENTS)
def test_a_long_conversation_is_reminded_of_once_in_a_stretch(client: str, work: Work):
    program = Program(client, work)
    program.begin()
    program.work_on(REMINDER_TURNS, REMINDER_AFTER * 2)

    first, second = program.say("And the queue?"), program.say("And the pool?")

    assert first.startswith(f"Holdfast: the last {REMINDER_TURNS + 2} {REMINDER}")
    assert "`conversation` operation `save`" in first
    assert len(first) <= 300
    assert second == ""


def test_a_pause_after_a_reminder_is_offered(claude: Program):
    claude.work_on(REMINDER_TURNS, REMINDER_AFTER * 2)
    claude.say("And the queue?")

    assert claude.say(GOING).startswith(PAUSE)


def test_short_or_saved_work_is_not_reminded_of(claude: Program):
    claude.work_on(REMINDER_TURNS, REMINDER_AFTER / 2)
    quick = claude.say("And the queue?")
    claude.work_on(REMINDER_TURNS, REMINDER_AFTER * 2)
    save(claude)

    assert (quick, claude.say("And the pool?")) == ("", "")


def test_who_declines_a_reminder_is_not_offered_a_save_when_they_stop(claude: Program):
    claude.work_on(REMINDER_TURNS, REMINDER_AFTER * 2)
    assert claude.say("And the queue?")
    claude.say("not now")

    assert claude.say(GOING) == ""


def test_a_notice_comes_first_and_a_reminder_waits_where_it_leaves_no_room(
    work: Work, monkeypatch: pytest.MonkeyPatch
):
    for name, value in ON.items():
        monkeypatch.setenv(name, value)
    with App() as app:
        notes = app.workstreams(str(work.root))
        for text, because in (("Redis streams", "it hung"), ("Kafka", "ops said " + 100 * "no ")):
            app.run(notes.decide(text, status="rejected", because=because))
    opencode = Program("opencode", work)
    opencode.begin()
    opencode.work_on(REMINDER_TURNS, REMINDER_AFTER * 2)

    crowded = json.loads(opencode.ask("let's use kafka for the queue").out)
    both = json.loads(opencode.ask("let's use redis streams for the queue").out)

    assert "Kafka" in crowded["notice"]
    assert "offer" not in crowded
    assert "Redis streams" in both["notice"]
    assert REMINDER in both["offer"]
    assert len(f"{both['notice']}\n\n{both['offer']}") <= 300


# --- not the person's words -----------------------------------------------------------------------


def test_a_headless_run_is_offered_nothing(claude: Program, tmp_path: Path):
    assert claude.say(GOING, CLAUDE_CODE_ENTRYPOINT="sdk-cli") == ""
    assert claude.say(GOING, CLAUDE_CODE_ENTRYPOINT="cli").startswith(PAUSE)


@pytest.mark.parametrize(("source", "is_offered"), [("exec", False), ("cli", True)])
def test_a_session_that_codex_runs_without_a_person_is_offered_nothing(
    source: str, is_offered: bool, work: Work, tmp_path: Path
):
    codex = Program("codex", work)
    codex.begin()
    transcript = tmp_path / "rollout.jsonl"
    line = {"type": "session_meta", "payload": {"source": source}}
    transcript.write_text(json.dumps(line, separators=(",", ":")) + "\n")

    answer = codex.ask(GOING, transcript_path=str(transcript))

    assert bool(read_offer("codex", answer)) == is_offered


@pytest.mark.parametrize(
    "fields",
    [
        {"agent_id": "a1", "agent_type": "explore"},
        {"prompt": f"<task-notification><summary>{GOING}</summary></task-notification>"},
        {"prompt": "/exit"},
        {"prompt": "/workspace.stop-conversation"},
    ],
    ids=repr,
)
def test_what_no_person_says_to_the_agent_offers_nothing(fields: dict[str, str], claude: Program):
    assert read_offer("claude", claude.ask(GOING, **{"prompt": GOING, **fields})) == ""


def test_a_session_that_is_kept_out_of_everything_is_offered_nothing(claude: Program):
    OffSessions(load_settings().home).add("claude", claude.native_id)

    assert claude.say(GOING) == ""


# --- what is shown --------------------------------------------------------------------------------


def test_the_person_is_shown_a_line_and_why_explains_it(
    claude: Program, cli: Call, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(claude.work.root)
    (conversation,) = find_conversations(claude.work)

    shown = json.loads(claude.ask(GOING).out)["systemMessage"]

    line = "Holdfast: all is kept; the conversation's folder is not up to date (holdfast why)"
    assert shown == line
    (notice,) = cli("why", "--json").document["notices"]
    assert (notice["entry"], notice["kind"]) == (conversation.id, "offer")
    assert (notice["moment"], notice["why"]) == ("prompt", "the user seemed to stop")
    assert notice["text"].startswith(PAUSE)
    assert GOING not in json.dumps(notice)


# --- the command to stop --------------------------------------------------------------------------


@pytest.mark.parametrize("client", CLIENTS)
def test_the_turn_after_a_stop_command_ends_in_a_paused_and_saved_conversation(
    client: str, work: Work
):
    """Whatever the model has done: here nothing."""
    program = Program(client, work)
    program.begin()
    program.say("Why is it called twice?")
    program.answer("Because of the retry.")
    assert [each.status for each in find_conversations(work)] == [ACTIVE]

    program.ask(STOPS[client])
    program.answer("Saved. See you.")

    (conversation,) = find_conversations(work)
    assert conversation.status == PAUSED
    said = list_said(work, conversation.id)
    assert said[1:] == [
        *("Which command shows it?", "Why is it called twice?"),
        *("Because of the retry.", "Saved. See you."),
    ]


def test_no_other_turn_saves(claude: Program):
    claude.say("Fix it.")
    claude.answer("Fixed.")
    claude.say("/workspace.stop-conversation")
    claude.say("Wait, fix the test.")
    claude.answer("Fixed.")

    (conversation,) = find_conversations(claude.work)
    assert (conversation.status, list_said(claude.work, conversation.id)) == (ACTIVE, [])


def test_the_summary_of_an_agent_that_has_paused_itself_stays(claude: Program):
    claude.say("/workspace.stop-conversation")
    with App() as app:
        app.run(
            conversing.save_conversation(
                app, str(claude.work.root), claude.session, summary="It hangs.", status=PAUSED
            )
        )
    claude.answer("Paused.")

    (conversation,) = find_conversations(claude.work)
    assert (conversation.context_summary, conversation.status) == ("It hangs.", PAUSED)
    assert list_said(claude.work, conversation.id)[-1] == "Paused."


def test_a_completed_conversation_is_not_paused(claude: Program):
    claude.say("/workspace.stop-conversation")
    save(claude, COMPLETED)
    claude.answer("Done.")

    (conversation,) = find_conversations(claude.work)
    assert conversation.status == COMPLETED
    assert list_said(claude.work, conversation.id)[-1] == "Done."


def test_a_stop_that_was_interrupted_is_saved_at_the_end_of_the_session(claude: Program):
    claude.say("/workspace.stop-conversation")
    claude.quit()

    (conversation,) = find_conversations(claude.work)
    assert conversation.status == PAUSED
    assert list_said(claude.work, conversation.id)[-1] == "Which command shows it?"


def test_a_stop_without_a_conversation_saves_nothing(work: Work):
    program = Program("claude", work)
    program.say("Why is it called twice?")
    program.say("/workspace.stop-conversation")
    program.answer("There is nothing to save.")

    assert find_conversations(work) == []


def test_a_save_that_fails_is_logged_and_the_turn_ends_as_ever(claude: Program):
    (conversation,) = find_conversations(claude.work)
    home = Path(load_settings().home)
    (folder,) = home.glob(f"conversations/*/{conversation.id}")
    (folder / ".session" / "session.json").write_text("{")
    claude.say("/workspace.stop-conversation")

    claude.answer("Saved.")

    failure = find_last_failure(str(home))
    assert failure is not None
    assert failure["code"] == "conversation_read_only"
    assert [event.content for event in list_events(claude)][-1] == "Saved."
