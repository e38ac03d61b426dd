"""What a look costs: no more in a long session, or among many, than in a short one.

Counted as rows and steps of SQLite in real hooks, never as seconds.
"""

import json
from datetime import timedelta
from pathlib import Path

import apsw
import pytest

from holdfast.app import App
from holdfast.ground import clock, ids
from holdfast.ground.settings import load_settings, sqlite_path
from holdfast.usecases import observing
from tests.rig.claude_program import FIRST, SECOND, Claude
from tests.rig.counting import Counted, count_work

SHORT, LONG = 100, 100_000
MORE = 1.25  # an index of a longer log is a level deeper
SLACK_STEPS = 50
COMMAND = {"tool": "Bash", "input": {"command": "make test"}, "exit_code": 0}
# As many events as a session would have after a long time; how each is chained is not read here.
LENGTHEN = """
with recursive numbers(n) as (
  select ?2 union all select n + 1 from numbers where n < ?3
)
insert into session_events (
  workspace_id, id, developer_id, session_id, sequence, type, role, content, parts, created_at,
  content_hash, chain_hash
)
select workspace_id, printf('%08x-0000-7000-8000-%s', n, substr(session_id, -12)), developer_id,
  session_id, n, 'tool_result', 'tool', 'ok', ?4, created_at, content_hash, chain_hash
from session_events cross join numbers
where session_id = ?1 and sequence = 1
"""
COPY_SESSION = """
insert into sessions (workspace_id, id, developer_id, user_id, chatmode, started_at, metadata,
  client, native_id, worktree, revision, last_sequence, head_hash, active_at)
select workspace_id, ?2, developer_id, user_id, chatmode, ?3, metadata, client, ?2, worktree,
  revision, 1, head_hash, ?3
from sessions where id = ?1
"""
COPY_REQUEST = """
insert into session_events (
  workspace_id, id, developer_id, session_id, sequence, type, role, content, parts, created_at,
  content_hash, chain_hash
)
select workspace_id, ?2, developer_id, ?2, 1, type, role, content, parts, created_at, content_hash,
  chain_hash
from session_events where session_id = ?1 and sequence = 1
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    return folder


def connect() -> apsw.Connection:
    path = sqlite_path(load_settings().database)
    assert path is not None
    return apsw.Connection(path)


def find_session_id(native_id: str) -> str:
    with App() as app:
        session_id = app.run(app.scope.session_store.find_last_native_id("claude", native_id))
    assert session_id is not None
    return session_id


def lengthen(native_id: str, events: int) -> None:
    session_id = find_session_id(native_id)
    with connect() as connection:
        [(last,)] = connection.execute(
            "select last_sequence from sessions where id = ?", (session_id,)
        )
        values = (session_id, last + 1, events, json.dumps(COMMAND))
        connection.execute(LENGTHEN, values)
        connection.execute(
            "update sessions set last_sequence = ? where id = ?", (events, session_id)
        )


def finish_look(native_id: str) -> None:
    """A counted hook is slow, and what it did not get to would be read by the next one."""
    with App() as app:
        sessions = app.scope.sessions
        session = app.run(sessions.get_session(find_session_id(native_id)))
        digest = None
        while digest is None or digest.sequence < session.last_sequence:
            (digest,) = app.run(observing.observe(sessions, [session]))


def count_hook(claude: Claude, tmp_path: Path, event: str, **fields: str) -> Counted:
    payload = claude.payload(event, **fields)
    words = ("hook", "claude", event)
    return count_work(tmp_path / "counts", words, cwd=claude.project, payload=payload)


def count_moments(home: Path, project: Path, tmp_path: Path, events: int) -> dict[str, Counted]:
    """A turn in a session of so many events, and the starts after it: of a session that was never
    looked at, and of one whose digest is a turn behind.
    """
    claude = Claude(home, project)
    claude.turn("Give up after 8 attempts.", "Done.", "p1")
    lengthen(FIRST, events)
    counted = {}
    for number, start in enumerate(("never looked at", "a turn behind"), start=2):
        mark, request = f"p{number}", f"Use {number} workers."
        prompt = {"prompt": request, "prompt_id": mark}
        counted[f"prompt {number}"] = count_hook(claude, tmp_path, "UserPromptSubmit", **prompt)
        claude.ask(request, mark)
        claude.answer("Done.")
        end = {"prompt_id": mark, "last_assistant_message": "Done."}
        counted[f"end {number}"] = count_hook(claude, tmp_path, "Stop", **end)
        other = Claude(home, project, f"{SECOND[:-1]}{number}")
        counted[start] = count_hook(other, tmp_path, "SessionStart", source="startup")
        assert (
            f"> {request}"
            in json.loads(counted[start].out)["hookSpecificOutput"]["additionalContext"]
        )
        finish_look(FIRST)
    return counted


def test_a_look_at_a_long_session_costs_what_it_costs_in_a_short_one(
    home: Path, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    short = count_moments(home, project, tmp_path, SHORT)
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "other"))
    (home / ".claude").rename(tmp_path / "read before")
    long = count_moments(home, project, tmp_path, LONG)

    first = long.pop("never looked at")
    assert first.rows < observing.EVENTS_IN_A_LOOK + short.pop("never looked at").rows
    for moment, counted in long.items():
        before = short[moment]
        assert counted.rows <= before.rows + 2, (moment, counted, before)
        most = before.steps * MORE + SLACK_STEPS
        assert counted.steps <= most, (moment, counted.steps, before.steps)


def test_a_session_that_has_gone_on_for_long_is_handed_over(
    home: Path, project: Path, tmp_path: Path
):
    """It was looked at in between; what came since is too much to read before an agent begins."""
    claude = Claude(home, project)
    claude.turn("Give up after 8 attempts.", "Done.", "p1")
    counted = []
    for number, events in enumerate((SHORT, LONG), start=2):
        lengthen(FIRST, events)
        claude.turn(f"Use {number} workers.", "Done.", f"p{number}")
        other = Claude(home, project, f"{SECOND[:-1]}{number}")
        counted.append(count_hook(other, tmp_path, "SessionStart", source="startup"))

    few, many = counted
    assert many.rows <= few.rows + observing.EVENTS_IN_A_LOOK
    assert "> Use 3 workers." in many.out.replace("\\n", "\n")


def test_a_start_among_many_sessions_reads_a_bounded_number_of_them(
    home: Path, project: Path, tmp_path: Path
):
    Claude(home, project).turn("Give up after 8 attempts.", "Done.", "p1")
    session_id = find_session_id(FIRST)
    counted = []
    for sessions, native_id in ((20, SECOND), (1_000, SECOND.replace("1", "3"))):
        with connect() as connection:
            for number in range(sessions):
                copied = session_id, ids.new_id()
                at = clock.to_text(clock.now() - timedelta(minutes=number + 2))
                connection.execute(COPY_SESSION, (*copied, at))
                connection.execute(COPY_REQUEST, copied)
        claude = Claude(home, project, native_id)
        counted.append(count_hook(claude, tmp_path, "SessionStart", source="startup"))

    few, many = counted
    assert "> Give up after 8 attempts." in few.out.replace("\\n", "\n")
    assert many.rows <= few.rows + 2
    assert many.steps <= few.steps * MORE + SLACK_STEPS
