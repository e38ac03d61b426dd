"""What a bundle is made of: which session is continued, whose notes, which files are missing."""

import re
from dataclasses import replace

import pytest

from holdfast.bundles.model import LOST
from holdfast.bundles.service import BundleService
from holdfast.storage.journal import Journal
from holdfast.workstreams.model import ContextFields
from tests.bundles.situations import EMPTY, NOW
from tests.bundles.test_service import load, memory, refuse


@pytest.fixture
def journal(sessions):
    return Journal(sessions.db, sessions.owner)


@pytest.fixture
def bundles(journal, sessions):
    return BundleService(journal, sessions, load=load, now=lambda: NOW)


async def start(sessions, *requests: str, worktree: str = "/w", **more):
    session = await sessions.create_session("codex", "u1", worktree=worktree, **more)
    for request in requests:
        await sessions.append_event(session.id, "user_message", "user", request)
    return session


async def test_a_session_with_one_turn_is_handed_the_one_before(bundles, sessions):
    """Its own request is in its window, and says nothing about what came before."""
    await start(sessions, "stop after 3")
    own = await start(sessions, "go on")

    text = (await bundles.build("implementation", session_id=own.id)).text

    assert "> stop after 3\n" in text
    assert "> go on" not in text


async def test_a_session_with_two_turns_is_handed_its_own_last_request_alone(bundles, sessions):
    """Its client may have lost the first, as after compaction; the other's was answered before."""
    await start(sessions, "something else", "and more of it")
    own = await start(sessions, "stop after 3", "and count the first")

    text = (await bundles.build("implementation", session_id=own.id)).text

    assert "> and count the first\n" in text
    assert "and more of it" not in text


async def test_a_session_alone_is_handed_its_own_request(bundles, sessions):
    own = await start(sessions, "stop after 3")

    assert "> stop after 3\n" in (await bundles.build(session_id=own.id)).text


async def test_the_session_written_last_is_continued_whatever_sets_an_older_one_has(
    bundles, sessions
):
    older = await start(sessions, "an old one")
    await sessions.set_relevant_context(older.id, "ports", ["5432"])
    await start(sessions, "stop after 3")

    text = (await bundles.build(worktree="/w")).text

    assert "> stop after 3\n" in text
    assert "SET ports: 5432" in text, "the newest sets are shown too"


async def test_a_session_of_another_place_is_not_continued(bundles, sessions):
    await start(sessions, "elsewhere", worktree="/other")

    assert "elsewhere" not in (await bundles.build(worktree="/w")).text


async def test_a_session_that_is_named_is_continued_though_it_is_not_the_last(bundles, sessions):
    named = await start(sessions, "stop after 3")
    await start(sessions, "go on")

    text = (await bundles.build(worktree="/w", continues=named.id)).text

    assert "> stop after 3\n" in text


async def test_the_own_scratchpad_comes_before_that_of_the_last_session(bundles, sessions):
    last = await start(sessions, "stop after 3")
    own = await start(sessions)
    await sessions.update_state(last.id, {"current_task": "the first reminder"})
    before = (await bundles.build(session_id=own.id)).text
    await sessions.update_state(own.id, {"current_task": "the second reminder"})

    assert "NEXT now: the first reminder" in before
    assert "NEXT now: the second reminder" in (await bundles.build(session_id=own.id)).text


async def test_everything_that_the_stop_prompt_asks_for_is_in_the_next_bundle(
    bundles, sessions, tmp_path
):
    (tmp_path / "spec.md").write_text("x")
    place = str(tmp_path)
    last = await start(sessions, "stop after 3", worktree=place)
    await sessions.update_state(
        last.id,
        {
            "current_task": "count the first reminder",
            "next_steps": ["the migration"],
            "blockers": ["finance has not answered"],
            "files_in_progress": ["gone.py"],
            "spec_file": "spec.md",
            "handoff_context": {"key_decisions": ["levels are numbers"]},
        },
    )
    await sessions.set_relevant_context(last.id, "files", ["spec.md", "lost.md"])

    bundle = await bundles.build(worktree=place)

    text = bundle.text + "".join(cut.text for cut in bundle.cut)
    assert "NEXT now: count the first reminder (gone.py (missing))" in text
    assert "the migration" in text
    assert "BLOCKED finance has not answered" in text
    assert "- levels are numbers" in text
    assert "FILES spec.md · lost.md (missing)" in text


async def test_a_bundle_masks_what_it_quotes_and_asks_memories_in_the_words_of_the_request(
    journal, sessions
):
    """The log, the scratchpad, the sets and memories are kept as they were said."""
    asked = []

    async def recall(query: str, *, limit: int):
        asked.append(query)
        return [memory("the letter service has the password Fr0stb1te: password=Fr0stb1te")]

    bundles = BundleService(
        journal, sessions, load=load, recall=recall, now=lambda: NOW, fence_key=b"k"
    )
    last = await start(sessions, "log in, the admin password is hunter2")
    task = "rotate it; the db password has been set to S3cr3t!x"
    await sessions.update_state(last.id, {"current_task": task, "api_token": "zx81qq55vv"})
    await sessions.set_relevant_context(last.id, "urls", ["https://ana:monkey1@host/x"])

    bundle = await bundles.build("planning", worktree="/w")

    receipt = await bundles.get_receipt(bundle.id)
    kept = str(receipt.to_content())
    for secret in ("hunter2", "S3cr3t!x", "zx81qq55vv", "monkey1", "=Fr0stb1te"):
        assert secret not in bundle.text + kept
    assert bundle.text.count("[REDACTED:") >= 4
    assert "log in, the admin password is hunter2" in asked
    assert (await bundles.build("planning", worktree="/w")).text.count("[REDACTED:") >= 4


async def test_an_address_or_a_path_that_cannot_be_is_never_missing(bundles, sessions, tmp_path):
    own = await start(sessions, "go on", worktree=str(tmp_path))
    entries = ["https://example.org/a", "a" * 5_000, "#only"]
    await sessions.set_relevant_context(own.id, "docs", entries[:1])
    await sessions.update_state(own.id, {"files_in_progress": entries[1:]})

    assert "(missing)" not in (await bundles.build(worktree=str(tmp_path))).text


async def test_flag_off_shows_what_the_session_knows_and_nothing_of_the_workstream(
    journal, sessions
):
    async def recall(query: str, *, limit: int):
        return [memory("The letter service answers 409")]

    local = BundleService(
        journal, sessions, load=refuse, recall=recall, rules=["Ask first."], now=lambda: NOW
    )
    last = await start(sessions, "stop after 3")
    await sessions.update_state(
        last.id,
        {
            "current_task": "count the first",
            "blockers": "finance",
            "handoff_context": {"key_decisions": ["never shown"], "tone": "calm"},
        },
    )
    await sessions.set_relevant_context(last.id, "ports", ["5432"])

    bundle = await local.build(worktree="/w")

    assert [shown.section.name for shown in bundle.sections] == [
        "rules",
        "request",
        "next",
        "blocked",
        "context_sets",
        "notes",
        "recalled",
        "more",
    ]
    assert "never shown" not in bundle.text
    for name in ("DECI", "CLAIMS", "SUMMARY", "GOAL", "REPO", "FILES"):
        assert f"\n{name}" not in bundle.text
    assert "Kept on this machine; not checked against any checkout." in bundle.text


async def test_where_nothing_has_events_the_newest_with_context_is_continued(bundles, sessions):
    older = await start(sessions)
    await sessions.set_relevant_context(older.id, "ports", ["5432"])
    await sessions.update_state(older.id, {"current_task": "count the first"})
    own = await start(sessions)

    text = (await bundles.build(session_id=own.id)).text

    assert "SET ports: 5432" in text
    assert "NEXT now: count the first" in text


# --- what the session before left -----------------------------------------------------------------


async def test_a_running_session_keeps_what_the_one_before_left_turn_after_turn(bundles, sessions):
    last = await start(sessions, "stop after 3", client="gemini")
    await sessions.update_state(
        last.id, {"current_task": "the fee", "blockers": ["finance"], "next_steps": ["a table"]}
    )
    own = await start(sessions, "hello", "continue", "and go on")

    text = (await bundles.build(session_id=own.id)).text

    assert "> and go on\n" in text
    assert "the fee" in text
    assert "BLOCKED finance" in text
    assert "a table" in text
    assert "Last session: gemini, cut off at " in text


async def test_a_session_never_calls_itself_the_last_one(bundles, sessions):
    own = await start(sessions, "hello", "continue")
    await sessions.update_state(own.id, {"current_task": "the fee"})

    text = (await bundles.build(session_id=own.id)).text

    assert "> continue\n" in text
    assert "the fee" in text
    assert "Last session" not in text


async def test_own_events_that_are_no_request_leave_the_bytes_as_they_are(bundles, sessions):
    await start(sessions, "stop after 3")
    own = await start(sessions, "hello")
    before = await bundles.build(session_id=own.id)
    for event_type, role in (("tool_result", "tool"), ("model_message", "assistant")):
        await sessions.append_event(own.id, event_type, role, "done")
        assert await bundles.build(session_id=own.id) == before
    await sessions.append_event(own.id, "user_message", "user", "/compact")

    assert await bundles.build(session_id=own.id) == before


async def test_own_events_of_a_session_alone_leave_the_bytes_as_they_are(bundles, sessions):
    own = await start(sessions, "hello")
    before = await bundles.build(session_id=own.id)
    await sessions.append_event(own.id, "model_message", "assistant", "done")

    assert await bundles.build(session_id=own.id) == before


async def test_one_note_of_its_own_hides_nothing_that_was_handed_over(bundles, sessions):
    last = await start(sessions, "stop after 3")
    await sessions.update_state(
        last.id, {"current_task": "the fee", "blockers": ["finance"], "next_steps": ["a table"]}
    )
    own = await start(sessions, "hello")
    await sessions.update_state(own.id, {"current_task": "first look"})

    text = (await bundles.build(session_id=own.id)).text

    assert "now: first look" in text
    assert "the fee" not in text
    assert "BLOCKED finance" in text
    assert "a table" in text


async def test_a_short_session_in_between_takes_nothing_away(bundles, sessions):
    last = await start(sessions, "stop after 3")
    await sessions.update_state(last.id, {"blockers": ["finance"], "next_steps": ["a table"]})
    await sessions.end_session(last.id)
    short = await start(sessions, "What is this repository about?")

    for named in ({}, {"continues": short.id}):
        text = (await bundles.build(worktree="/w", **named)).text
        assert "> What is this repository about?\n" in text
        assert "BLOCKED finance" in text
        assert "a table" in text


async def test_a_session_that_only_noted_is_handed_over(bundles, sessions):
    await start(sessions, "yesterday")
    noting = await start(sessions, client="gemini")
    await sessions.update_state(noting.id, {"current_task": "the fee", "blockers": ["finance"]})

    text = (await bundles.build(worktree="/w")).text

    assert "Last session: gemini, last note " in text
    assert "now: the fee" in text
    assert "BLOCKED finance" in text


async def test_the_head_says_how_the_last_session_ended(bundles, sessions):
    last = await start(sessions)

    async def read_end() -> str:
        text = (await bundles.build(worktree="/w")).text
        return text.partition("Last session: codex, ")[2][:10]

    await sessions.append_event(last.id, "tool_result", "tool", "x")
    assert await read_end() == "last event"
    await sessions.append_event(last.id, "user_message", "user", "stop after 3")
    assert await read_end() == "cut off at"
    await sessions.append_event(last.id, "model_message", "assistant", "done")
    assert await read_end() == "answered a"
    await sessions.append_event(last.id, "user_message", "user", "and go on")
    await sessions.end_session(last.id)
    assert (await read_end()).startswith("ended ")


async def test_the_head_calls_a_session_live_while_a_program_runs_in_it(journal, sessions):
    last = await start(sessions, "stop after 3")
    running = {last.id}
    bundles = BundleService(
        journal,
        sessions,
        load=load,
        now=lambda: NOW,
        is_running=lambda session: session.id in running,
    )

    live = (await bundles.build(worktree="/w")).text
    await sessions.end_session(last.id)
    ended = (await bundles.build(worktree="/w")).text

    assert "Last session: codex, live.\n" in live
    assert "Last session: codex, ended " in ended


async def test_the_head_names_every_client_that_is_live_here(journal, sessions):
    other = await sessions.create_session("claude", "u1", client="claude", worktree="/w")
    await sessions.append_event(other.id, "user_message", "user", "refactor the parser")
    last = await start(sessions, "write the changelog")
    running = {other.id, last.id}
    bundles = BundleService(
        journal,
        sessions,
        load=load,
        now=lambda: NOW,
        is_running=lambda session: session.id in running,
    )

    both = (await bundles.build(worktree="/w")).text
    running.remove(other.id)
    alone = (await bundles.build(worktree="/w")).text

    assert "Last session: codex, live. Also live here: claude.\n" in both
    assert "Also live" not in alone


@pytest.mark.parametrize(
    ("native_id", "end"),
    [("n1", "ended 00:00, last request unanswered."), (None, "ended 00:00.")],
)
async def test_an_end_does_not_hide_that_the_last_request_was_not_answered(
    bundles, sessions, native_id, end
):
    """Of a client's own session; of any other nothing says that all answers are in the log."""
    last = await sessions.create_session(
        "codex", "u1", client="codex", native_id=native_id, worktree="/w"
    )
    await sessions.append_event(last.id, "user_message", "user", "stop after 3")
    await sessions.end_session(last.id)

    text = (await bundles.build(worktree="/w")).text
    notice = next(line for line in text.splitlines() if "Last session" in line)

    assert re.sub(r"ended .*?(?=[,.])", "ended 00:00", notice).endswith(end)


async def test_what_was_cut_of_the_session_before_is_one_call_away(journal, sessions):
    """The call names it, because one without an id is about the caller's own."""
    local = BundleService(journal, sessions, load=refuse, now=lambda: NOW)
    shared = BundleService(journal, sessions, load=load, now=lambda: NOW)
    last = await start(sessions, "stop after 3")
    own = await start(sessions, "go on", "and on")
    recent = f"More: session operation=recent session_id={last.id}"

    short = (await local.build(session_id=own.id)).text
    steps = [f"step {number} of a plan that is too long" for number in range(80)]
    await sessions.update_state(last.id, {"next_steps": steps, "blockers": steps})
    long = (await local.build(session_id=own.id)).text
    noted = (await shared.build(session_id=own.id)).text

    assert short.endswith(recent)
    assert long.endswith(f"{recent} · session operation=state session_id={last.id}")
    assert "\nMore: repo_context operation=load · operation=bundle detail=true" in noted


async def test_where_there_is_room_both_the_notes_and_the_session_before_are_named(
    journal, sessions
):
    context = replace(EMPTY.judged.context, fields=ContextFields(checklist=("the migration",)))

    async def load_little(phase: str, workstream_id: str | None = None):
        return replace(EMPTY.judged, context=context)

    bundles = BundleService(journal, sessions, load=load_little, now=lambda: NOW)
    last = await start(sessions, "stop after 3")

    text = (await bundles.build(worktree="/w")).text

    calls = f"repo_context operation=load · session operation=recent session_id={last.id}"
    assert text.endswith(f"\nMore: {calls}")


async def test_where_nothing_is_noted_only_the_session_before_is_named(journal, sessions):
    async def load_nothing(phase: str, workstream_id: str | None = None):
        return EMPTY.judged

    bundles = BundleService(journal, sessions, load=load_nothing, now=lambda: NOW)
    last = await start(sessions, "stop after 3")

    text = (await bundles.build(worktree="/w")).text

    assert text.endswith(f"\nMore: session operation=recent session_id={last.id}")


async def test_the_head_names_the_branch_that_is_checked_out_now(journal, sessions, tmp_path):
    place, head = str(tmp_path), tmp_path / ".git" / "HEAD"
    head.parent.mkdir()
    head.write_text("ref: refs/heads/main\n")
    bundles = BundleService(journal, sessions, load=refuse, now=lambda: NOW)
    await start(sessions, "stop after 3", worktree=place, git_branch="feat/retry", client="codex")

    on_main = (await bundles.build(worktree=place)).text
    head.write_text("9c41e2d0" * 5)
    detached = (await bundles.build(worktree=place)).text
    elsewhere = (await bundles.build(continues=(await sessions.list_sessions())[0].id)).text

    assert on_main.startswith("HOLDFAST implementation · main · ")
    assert "Last session: codex on feat/retry, " in on_main
    assert detached.startswith("HOLDFAST implementation · 2026-")
    assert elsewhere.startswith("HOLDFAST implementation · feat/retry · ")


async def test_the_session_that_a_person_resumed_is_handed_to_the_next_agent(bundles, sessions):
    old = await start(sessions, "stop after 3", client="claude")
    await sessions.update_state(old.id, {"blockers": ["finance"]})
    await sessions.end_session(old.id)
    other = await start(sessions, "something else", client="gemini")
    await sessions.update_state(other.id, {"blockers": ["another"]})
    resumed = await sessions.resume_session(old.id, client="cli")
    agent = await start(sessions, "go on")

    for named in ({"worktree": "/w", "continues": resumed.id}, {"session_id": agent.id}):
        text = (await bundles.build(**named)).text
        assert "> stop after 3\n" in text
        assert "BLOCKED finance" in text
        assert "BLOCKED another" not in text
        assert "Last session: claude, ended " in text


async def test_a_session_that_resumes_continues_its_own_thread(bundles, sessions):
    old = await start(sessions, "stop after 3", client="claude")
    await sessions.end_session(old.id)
    resumed = await sessions.resume_session(old.id)
    await start(sessions, "something else", client="gemini")

    text = (await bundles.build(session_id=resumed.id)).text

    assert "> stop after 3\n" in text
    assert "Last session: claude, ended " in text


async def test_the_request_is_quoted_however_long_its_turn_was(bundles, sessions):
    last = await start(sessions, "stop after 3")
    events = [{"type": "tool_result", "role": "tool", "content": "x"}] * 1_100
    for start_at in range(0, len(events), 500):
        await sessions.append_events(last.id, events[start_at : start_at + 500])

    assert "> stop after 3\n" in (await bundles.build(worktree="/w")).text


async def test_a_prompt_of_ours_is_not_the_last_request(bundles, sessions):
    await start(sessions, "stop after 3", "/mcp__holdfast__workspace-stop finished for today")

    text = (await bundles.build(worktree="/w")).text

    assert "> stop after 3\n" in text
    assert "finished for today" not in text


async def test_a_session_that_was_only_given_commands_hides_no_request(bundles, sessions):
    asked = await start(sessions, "stop after 3", client="claude")
    await start(sessions, "/workspace-resume", "/exit", client="gemini")
    own = await start(sessions, "/clear")

    for named in ({"worktree": "/w"}, {"session_id": own.id}):
        text = (await bundles.build(**named)).text
        assert "LAST REQUEST (user to claude, " in text
        assert "> stop after 3\n" in text
        assert f"session operation=recent session_id={asked.id}" in text, "not of the last one"


async def test_a_request_that_says_little_stands_with_what_it_goes_on_with(bundles, sessions):
    await start(sessions, "Rework the payout export by Friday")
    last = await start(sessions, "Add a column for the tax, too")
    await say(sessions, last, "Two ways: 1. net, 2. gross. Which one?")
    await sessions.append_event(last.id, "user_message", "user", "2")
    await say(sessions, last, "Done with gross. Shall I also rename it?")
    await sessions.append_event(
        last.id, "model_message", "assistant", "a subagent's", {"agent_id": "a1"}
    )

    text = (await bundles.build(worktree="/w")).text

    assert re.search(
        r"LAST REQUEST .*\n> 2\n"
        r"ITS ANSWER \(agent said, .*\)\n\| Done with gross\. Shall I also rename it\?\n"
        r"IT REPLIES TO \(agent said, .*\)\n\| Two ways: 1\. net, 2\. gross\. Which one\?\n"
        r"BEFORE IT .*\n> Add a column for the tax, too\n"
        r"ASKED BEFORE\n- .*: Rework the payout export by Friday\n",
        text,
    )


async def test_requests_of_this_branch_come_first_and_those_of_others_say_of_which(
    journal, sessions
):
    bundles = BundleService(journal, sessions, load=refuse, now=lambda: NOW)
    sums, csv = {"git_branch": "feat/sums"}, {"git_branch": "fix/csv"}
    follows = "Now write the tests of the sums, and run them"
    await start(sessions, "Sum up the payouts of a month", client="codex", **sums)
    await start(sessions, "Quote the names in the export", client="gemini", **csv)
    await start(sessions, "Round the sums half up", "yes, 2", follows, client="x", **sums)

    text = (await bundles.build(worktree="/w")).text

    asked = text.partition("ASKED BEFORE\n")[2].split("\n")[:4]
    expected = [
        r"- [\d: -]+: Round the sums half up",
        r"- [\d: -]+ to codex: Sum up the payouts of a month",
        r"- [\d: -]+ to gemini on fix/csv: Quote the names in the export",
        r"- [\d: -]+: yes, 2",
    ]
    assert all(map(re.fullmatch, expected, asked)), asked


async def say(sessions, session, text):
    await sessions.append_event(session.id, "model_message", "assistant", text)


async def test_what_it_goes_on_with_may_be_of_an_older_session(bundles, sessions):
    first = await start(sessions, "Rework the payout export by Friday")
    await say(sessions, first, "Shall I begin with the columns?")
    for _ in range(2):
        await start(sessions, "go on")

    text = (await bundles.build(worktree="/w")).text

    assert "> go on\nIT REPLIES TO (agent said, " in text
    assert "| Shall I begin with the columns?\nBEFORE IT (user, " in text
    assert "> Rework the payout export by Friday\n" in text
    assert "ITS ANSWER" not in text, "nothing was answered"


async def test_a_request_of_substance_stands_with_its_answer_and_those_before_it(journal, sessions):
    bundles = BundleService(journal, sessions, load=refuse, now=lambda: NOW)
    last = await start(sessions, "Rework the payout export", "Stop after the first step, please")
    beginning = "I looked at the export in detail. " * 50
    await say(sessions, last, f"{beginning}One test still fails: 9 == 8. Change the test?")
    await sessions.append_event(last.id, "system_event", "system", "", {"compaction": "manual"})

    text = (await bundles.build(worktree="/w")).text

    assert "One test still fails: 9 == 8. Change the test?\n" in text.replace("\n| ", "")
    assert re.search(r"\n… [\d,]+ characters before this\n\| ", text)
    assert re.search(r"\nASKED BEFORE\n- .*: Rework the payout export\n", text)
    assert "BEFORE IT" not in text
    assert "IT REPLIES TO" not in text


@pytest.mark.parametrize("calls", [1, 60])
async def test_what_was_said_before_the_work_that_was_cut_off_is_quoted(bundles, sessions, calls):
    """However many tools were called since; it is no answer, and not called one."""
    last = await start(sessions, "Move the queue into a package")
    await say(sessions, last, "I begin with the worker.")
    for number in range(calls):
        parts = {"tool": "Read", "input": {"file_path": f"{number}.py"}}
        await sessions.append_event(last.id, "tool_result", "tool", "text", parts)

    text = (await bundles.build(worktree="/w")).text

    assert re.search(r"LAST WORDS \(agent said, .*\)\n\| I begin with the worker\.\n", text)
    assert "ITS ANSWER" not in text


async def test_words_before_the_last_request_are_not_its_answer(bundles, sessions):
    last = await start(sessions, "Move the queue into a package")
    await say(sessions, last, "It is moved.")
    await sessions.append_event(last.id, "user_message", "user", "Now rename the worker, please")

    text = (await bundles.build(worktree="/w")).text

    assert "It is moved." not in text


async def test_a_session_that_lost_its_conversation_gets_its_own_back(bundles, sessions):
    other = await start(sessions, "Use Decimal for all money, everywhere")
    await say(sessions, other, "Done.")
    own = await start(sessions, "Export as CSV with the columns id and amount", "yes")
    await say(sessions, own, "The export is written; --since is missing.")

    text = (
        await bundles.build(session_id=own.id, continues=own.id, worktree="/w", window=LOST)
    ).text

    assert re.search(r"BEFORE IT .*\n> Export as CSV with the columns id and amount\n", text)
    assert "| The export is written; --since is missing.\n" in text


async def test_a_session_that_was_cut_off_is_not_hidden_by_a_later_one(journal, sessions):
    bundles = BundleService(journal, sessions, load=refuse, now=lambda: NOW)
    await start(sessions, "Move app.py into a package", client="claude", native_id="n-1")
    await start(sessions, "Move it into two", client="gemini", native_id="n-2")
    last = await start(sessions, "What does the README say about money?", client="codex")
    await say(sessions, last, "Integer cents.")

    text = (await bundles.build(worktree="/w")).text

    unanswered = text.partition("UNANSWERED\n")[2].split("\n")
    assert re.fullmatch(r"- .* to gemini: Move it into two", unanswered[0])
    assert re.fullmatch(r"- .* to claude: Move app.py into a package", unanswered[1])
    assert "ASKED BEFORE" not in text, "each is shown once"


async def test_what_another_agent_is_at_work_on_names_it(journal, sessions):
    bundles = BundleService(
        journal, sessions, load=refuse, now=lambda: NOW, is_running=lambda session: True
    )
    await start(sessions, "Update the dependencies", client="gemini")

    assert "LAST REQUEST (user to gemini, " in (await bundles.build(worktree="/w")).text


async def test_a_task_that_was_noted_before_the_last_request_is_dated(journal, sessions):
    bundles = BundleService(journal, sessions, load=refuse, now=lambda: NOW)
    old = await start(sessions, "Parse CAMT files")
    await sessions.update_state(
        old.id, {"current_task": "parse CAMT", "next_steps": ["map Ntry"], "blockers": ["sample"]}
    )
    noted = (await bundles.build(worktree="/w")).text
    await start(sessions, "The importer is merged. Now only the login page")

    text = (await bundles.build(worktree="/w")).text

    assert "\nNEXT now: parse CAMT  1. map Ntry\nBLOCKED sample\n" in noted
    age = r" \(noted [0-9: -]+\)"
    assert re.search(
        rf"\nNEXT now: parse CAMT{age}  1\. map Ntry{age}\nBLOCKED sample{age}\n", text
    )


@pytest.mark.parametrize("chars", [5_000, 90_000])
async def test_the_end_of_a_request_is_handed_over_however_long_it_is(bundles, sessions, chars):
    await start(sessions, "word " * (chars // 5) + "\nDo not touch migrations/.")

    text = (await bundles.build(worktree="/w")).text

    assert "\n> Do not touch migrations/.\n" in text
    shown = sum(len(line) for line in text.split("\n") if line.startswith(">"))
    [left_out] = re.findall(r"\n… ([\d,]+) characters left out", text)
    assert chars - shown < int(left_out.replace(",", "")) < chars - shown + 150


async def test_its_own_request_is_not_one_of_before(bundles, sessions):
    await start(sessions, "/exit")
    own = await start(sessions, "stop after 3")

    assert "LAST REQUEST (user, " in (await bundles.build(session_id=own.id)).text
