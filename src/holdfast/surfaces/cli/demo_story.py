"""The story that `holdfast demo` plays, a chapter a day.

Each chapter runs real commands, hooks and tools on the stage, and notes what their answers say. A
chapter that needs git or the extra for MCP is left out where that is missing.
"""

from __future__ import annotations

import json
import os
import shutil
import textwrap
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from holdfast.ground.text import plural
from holdfast.surfaces.cli.demo_transcript import (
    AGENT,
    AGENT_TYPE,
    FOUND,
    RETRY,
    TEST,
    Transcript,
    Turn,
    list_turns,
)

if TYPE_CHECKING:
    from holdfast.surfaces.cli.demo_command import Stage

LINE_CHARS = 74
STORY = "A webhook has to be retried, and must never pay twice."
WORK = "webhook retry"
COLLEAGUE, HIDDEN, NOBODY = "dev-b", "dev-c", "no-such-one"
BLOCKER = "Redis streams: ops will not run another one"
CODE = """def schedule(attempt):
    return 30 * 2**attempt


def deliver(event):
    return event
"""
MESSAGES = (
    ("user_message", "user", "Retry failed webhooks: 8 attempts over 24 h, and never pay twice."),
    (
        "model_message",
        "assistant",
        "Idempotency key = event id + attempt. Redis streams or a table?",
    ),
    ("user_message", "user", "No Redis: ops will not run another one."),
)
STATE = '{"current_task": "retry.py", "blockers": ["schedule open"]}'


def play(stage: Stage) -> dict[str, Any]:
    stage.say(STORY, bold=True)
    stage.say(f"Everything happens in {stage.folder}, which is removed at the end.", dim=True)
    session = monday(stage)
    night(stage)
    resumed = tuesday(stage)
    wednesday(stage)
    thursday(stage)
    friday(stage)
    saturday(stage)
    sunday(stage)
    return check_everything(stage, session, resumed)


def monday(stage: Stage) -> str:
    stage.chapter("Monday. A session is started, and what happens is kept.")
    session = stage.run("session", "start", "--chatmode", "architect", "--name", WORK)["id"]
    for kind, role, content in MESSAGES:
        event = _append(stage, kind, role, content)
        stage.note(f"number {event['sequence']}, hash {event['chain_hash'][:12]}…")
    stage.run("session", "state", WORK, "--set", STATE)
    notes = os.path.join(stage.folder, "retry-notes.md")
    _write(notes, "8 attempts, base 30 s, jitter 20 %\n")
    gone = os.path.join(stage.folder, "gone.md")
    change = stage.run("context", "set", "files", notes, gone)
    count = len(change["added"])
    stage.note(f"the next session will be reminded of {count} files")
    return str(session)


def night(stage: Stage) -> None:
    stage.chapter("Monday night. A writer is killed in the middle of its work.")
    acknowledged = stage.kill_writer(WORK)
    stored = stage.run("session", "show", WORK)["last_sequence"]
    lost = max(acknowledged - stored, 0)
    kept = f"number {stored} is stored, {lost} lost"
    stage.note(f"kill -9 after number {acknowledged} was acknowledged: {kept}")


def tuesday(stage: Stage) -> str:
    stage.chapter("Tuesday. It has ended; it is found by its name and goes on where it stopped.")
    stage.run("session", "end", WORK)
    refused = _append(stage, "user_message", "user", "late", expect=4)
    _note_refusal(stage, refused)
    resumed = stage.run("session", "resume", WORK)
    _note_text(stage, resumed["resume_text"])
    state = stage.run("session", "state", WORK)
    stage.note(json.dumps(state["scratchpad"]))
    thread = stage.run("session", "thread", WORK)["sessions"]
    stage.note(f"one line of work, {len(thread)} sessions")
    secret = "sk-demo-4711"
    _append(stage, "tool_result", "tool", f"key {secret}")
    forgotten = stage.run("forget", "--match", secret, "--yes")
    stage.note(f"{forgotten['erased']} event erased; its number and its hash stay")
    return str(resumed["id"])


def wednesday(stage: Stage) -> None:
    stage.chapter("Wednesday. An agent notes its own files, by a tool, and asks for them again.")
    if find_spec("mcp") is None:
        stage.note("left out: it needs the package's extra, pip install '.[mcp]'")
        return
    file = os.path.join(stage.repository, "retry.py")
    answer = _call(
        stage, "set_relevant_context", setName="files", items=[file], mode="merge", session_id=WORK
    )
    added = _list_names(answer["data"]["added"])
    stage.note(f"{answer['status']}: added {added}")
    answer = _call(stage, "get_relevant_context", session_id=WORK)
    for name, items in answer["data"]["context"].items():
        stage.note(f"{name}: {_list_names(items)}")


def thursday(stage: Stage) -> None:
    stage.chapter("Thursday. What is noted about the code is checked against the code, every time.")
    if shutil.which("git") is None:
        stage.note("left out: it needs git")
        return
    code = os.path.join(stage.repository, "retry.py")
    _make_repository(stage, code)
    _note_work(stage)
    _watch(stage, "nothing was changed")
    _write(code, "import random\n\n\n" + CODE)
    _watch(stage, "three lines were put above it")
    _write(code, CODE.replace("30", "45"))
    _watch(stage, "the pause was changed")
    stage.note("")
    bundle = _run_in_repository(stage, "bundle", "show")
    _note_text(stage, bundle["text"])


def friday(stage: Stage) -> None:
    stage.chapter("Friday. An agent program is used; its turns are read from its own transcript.")
    os.makedirs(stage.repository, exist_ok=True)
    transcript = Transcript(stage.folder)
    first, *rest = list_turns(stage.repository)
    text = stage.replay("claude", "SessionStart", source="startup")
    stage.note(f"its model reads first what is noted here: {len(text):,} characters")
    _play_turn(stage, transcript, first, 1, has_agent=True)
    _write(os.path.join(stage.repository, "retry.py"), RETRY)
    _write(os.path.join(stage.repository, "test_retry.py"), TEST)
    for number, turn in enumerate(rest, 2):
        _play_turn(stage, transcript, turn, number)
    stage.note("then it is killed. Another program goes on, and its model reads:")
    resumed = _run_in_repository(stage, "resume", "webhooks", "--print")
    _note_text(stage, resumed["resume"]["text"])
    text = stage.replay("codex", "SessionStart", session_id="demo-next", source="startup")
    stage.note(f"without `resume` its model reads the document alone: {len(text):,} characters")
    for session in stage.run("session", "list")["sessions"]:
        name = session["name"] or session["client"]
        stage.note(f"{name:<14} {plural(session['last_sequence'], 'event')}")


def saturday(stage: Stage) -> None:
    stage.chapter("Saturday. Another developer's agent picks up what was published.")
    if not _has_team_parts(stage):
        return
    published = _run_in_repository(stage, "publish", "--blocker", BLOCKER, "--yes")["context"]
    files = len(published["files_touched"])
    stage.note(f"drafted by code: {published['title']!r}, {plural(files, 'file')}")
    claim = _run_in_repository(stage, "team", "claim", "retry.py", "--reason", "off by one")
    stage.git(stage.folder, "clone", "--quiet", stage.place, COLLEAGUE)
    colleague = stage.turn_to(COLLEAGUE, COLLEAGUE)
    _note_text(stage, _replay_for(colleague, "SessionStart", source="startup"))
    _replay_for(colleague, "UserPromptSubmit", prompt="Go on with the retry.")
    fetched = colleague.call_tool("covibe_session", operation="get_context", developer="demo")
    _, mark, words = fetched["content"][0]["text"].partition("[untrusted text")
    _note_text(stage, f"{mark}{words}")
    patch = f"*** Begin Patch\n*** Update File: {colleague.repository}/retry.py\n*** End Patch\n"
    edit = {"tool_name": "apply_patch", "tool_input": {"command": patch}}
    _note_text(stage, _replay_for(colleague, "PreToolUse", **edit))
    _run_in_repository(stage, "team", "handoff", claim["claim"]["id"], "--to", COLLEAGUE)
    _note_text(stage, _replay_for(colleague, "UserPromptSubmit", prompt="What comes next?"))
    [offered] = _call(colleague, "covibe_team", operation="state")["data"]["handoffs"]
    answer = {"operation": "accept", "handoff_id": offered["id"]}
    accepted = _call(colleague, "covibe_coordination", **answer)["data"]["handoff"]
    stage.note(f"{accepted['status']}: the claim is {COLLEAGUE}'s now")


def sunday(stage: Stage) -> None:
    stage.chapter("Sunday. One who is private answers as one who does not exist.")
    if not _has_team_parts(stage):
        return
    hidden = stage.turn_to(HIDDEN, COLLEAGUE)
    _run_in_repository(hidden, "team", "visibility", "private")
    _run_in_repository(hidden, "publish", "--yes")
    for handle in (HIDDEN, NOBODY):
        refused = _run_in_repository(stage, "team", "contexts", handle, expect=3)
        _note_refusal(stage, refused)
    state = _run_in_repository(stage, "team", "state")
    handles = [each["handle"] for each in state["developers"]]
    stage.note(f"developers: {', '.join(handles)}")


def _has_team_parts(stage: Stage) -> bool:
    if shutil.which("git") is not None and find_spec("mcp") is not None:
        return True
    stage.note("left out: it needs git, and the package's extra, pip install '.[mcp]'")
    return False


def _replay_for(colleague: Stage, event: str, **payload: Any) -> str:
    return colleague.replay("codex", event, session_id="demo-team", turn_id="t1", **payload)


def _call(stage: Stage, name: str, **arguments: Any) -> dict[str, Any]:
    answer: dict[str, Any] = stage.call_tool(name, **arguments)["structuredContent"]
    return answer


def _play_turn(
    stage: Stage, transcript: Transcript, turn: Turn, number: int, *, has_agent: bool = False
) -> None:
    """The hooks that the program fires, and what it writes down between them."""
    about = {"prompt_id": f"p{number}", "transcript_path": transcript.path}
    stage.note(f"> {turn.request}")
    stage.replay("claude", "UserPromptSubmit", prompt=turn.request, **about)
    transcript.write_turn(turn, f"p{number}")
    if has_agent:
        path = transcript.write_agent()
        marks = {"agent_id": AGENT, "agent_type": AGENT_TYPE, "agent_transcript_path": path}
        stage.replay("claude", "SubagentStop", last_assistant_message=FOUND, **marks, **about)
    stage.replay("claude", "Stop", last_assistant_message=turn.answer, **about)


def _make_repository(stage: Stage, code: str) -> None:
    repo = stage.repository
    os.mkdir(repo)
    _write(code, CODE)
    stage.git(repo, "init", "--quiet")
    stage.git(repo, "add", "retry.py")
    stage.git(repo, "commit", "--quiet", "--message", "Retry failed webhooks")
    stage.git(repo, "checkout", "--quiet", "-b", "feat/webhook-retry")


def _note_work(stage: Stage) -> None:
    """A decision, a claim without and with evidence, a proof, and a summary."""
    rejected = ("--status", "rejected", "--because", "ops will not run another one")
    _run_in_repository(stage, "workstream", "decide", "Redis streams", *rejected)
    claim = ("workstream", "claim", "The schedule is done")
    refused = _run_in_repository(stage, *claim, expect=5)
    _note_refusal(stage, refused)
    _run_in_repository(stage, *claim, "--evidence", "retry.py#schedule")
    command = ("git", "grep", "--quiet", "30", "--", "retry.py")
    proof = _run_in_repository(stage, "prove", "--", *command)["proof"]
    stage.note(f"exit {proof['exit_code']}, on exactly these files")
    summary = ("--summary", "Retries double their pause.")
    _run_in_repository(stage, "workstream", "save", *summary)


def _run_in_repository(stage: Stage, *arguments: str, expect: int = 0) -> dict[str, Any]:
    return stage.run(*arguments, expect=expect, folder=stage.place)


def _note_text(stage: Stage, text: str) -> None:
    for line in text.splitlines():
        wrapped = "\n      ".join(textwrap.wrap(line, LINE_CHARS))
        stage.note(wrapped or line)


def _note_refusal(stage: Stage, refused: dict[str, Any]) -> None:
    reason, _, _ = refused["message"].partition(". ")
    _note_text(stage, f"refused: {reason}")


def _append(stage: Stage, kind: str, role: str, content: str, *, expect: int = 0) -> dict[str, Any]:
    fields = ("--type", kind, "--role", role, "--content", content)
    return stage.run("session", "append", WORK, *fields, expect=expect)


def _list_names(paths: list[str]) -> str:
    return ", ".join(os.path.basename(path) for path in paths)


def _watch(stage: Stage, what: str) -> None:
    checked = _run_in_repository(stage, "workstream", "check")
    claim = checked["claims"][0]
    state = "stale" if checked["stale"] else "fresh"
    stage.note(f"{what}: summary {state}, [{claim['verdict']}] {claim['claim']}")


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def check_everything(stage: Stage, session: str, resumed: str) -> dict[str, Any]:
    stage.chapter("The check.")
    verified = stage.run("session", "verify")
    status = stage.run("status")
    sessions = verified["sessions"]
    checked = sum(each["checked"] for each in sessions)
    verdict = "sound" if verified["ok"] else "damaged"
    stage.note(f"the chain of {checked} events in {len(sessions)} sessions is {verdict}")
    stage.note(f"stored {status['stored']} · spooled {status['spooled']} · lost {status['lost']}")
    return {
        "ok": verified["ok"],
        "checked": checked,
        "lost": status["lost"],
        "sessions": [session, resumed],
    }
