"""What happens in a client becomes what the rooms keep."""

import random
from pathlib import Path
from typing import Any

import pytest

from holdfast.clients.contract import HookEvent
from holdfast.errors import InvalidValueError
from holdfast.ground import ids
from holdfast.ground.settings import Settings, owner_of
from holdfast.sessions.service import SessionService
from holdfast.storage.mark import mark_store
from holdfast.usecases import capture
from holdfast.usecases.location import locate_worktree

pytestmark = pytest.mark.own_database

ANA = owner_of("local", "ana")


def hook_event(number: int = 1, **fields: Any) -> HookEvent:
    given: dict[str, Any] = {
        "client": "claude",
        "native_id": "n1",
        "cwd": "/home/dev/project",
        "event_id": f"01a1e0aa-0000-7000-8000-{number:012d}",
        "event_type": "user_message",
        "role": "user",
        "content": f"text {number}",
        "parts": {"a": 1},
        "key": f"prompt:{number}",
    }
    return HookEvent(**{**given, **fields})


def as_record(event: HookEvent, home: Path) -> dict[str, Any]:
    settings = Settings(
        home=str(home), database="sqlite:///x.db", workspace="local", developer="ana"
    )
    return capture.make_record(event, settings)


@pytest.fixture
def sessions_of_ana(database: Any) -> SessionService:
    return SessionService(database, owner=ANA)


def test_a_record_says_everything_that_is_needed_to_store_it(tmp_path: Path):
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / ".git" / "HEAD").write_text("ref: refs/heads/feat/x\n")

    record = as_record(hook_event(cwd=str(tmp_path / "repo" / "src")), tmp_path)

    assert record == {
        "store": mark_store("sqlite:///x.db", str(tmp_path)),
        "workspace_id": "local",
        "developer_id": ANA.developer_id,
        "user_id": "ana",
        "client": "claude",
        "native_id": "n1",
        "worktree": str(tmp_path / "repo"),
        "git_branch": "feat/x",
        "event": {
            "id": "01a1e0aa-0000-7000-8000-000000000001",
            "type": "user_message",
            "role": "user",
            "content": "text 1",
            "parts": {"a": 1},
            "mark": None,
        },
    }
    owner = capture.get_owner(record)
    assert (owner.workspace_id, owner.developer_id) == (ANA.workspace_id, ANA.developer_id)


async def test_a_session_keeps_the_branch_of_its_first_event(
    sessions_of_ana: SessionService, tmp_path: Path
):
    """As it was then, whenever it is stored; a record of an earlier version has no branch."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    first = as_record(hook_event(1, cwd=str(tmp_path)), tmp_path)
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/feat/x\n")
    older = as_record(hook_event(2, native_id="n2", cwd=str(tmp_path)), tmp_path)
    del older["git_branch"]

    for record in (first, older):
        await capture.store_record(sessions_of_ana.db, ANA, record)

    assert {
        session.native_id: session.git_branch for session in await sessions_of_ana.list_sessions()
    } == {
        "n1": "main",
        "n2": None,
    }


@pytest.mark.parametrize("cwd", ["/" + "x" * 2000, "/a\nb", "\x00", "/\ud800"])
def test_a_folder_that_cannot_be_kept_is_left_out(cwd: str, tmp_path: Path):
    assert as_record(hook_event(cwd=cwd), tmp_path)["worktree"] is locate_worktree(cwd) is None


async def test_a_long_folder_is_kept_on_both_engines(
    sessions_of_ana: SessionService, tmp_path: Path
):
    """As long as an index takes it, also where nothing in the name repeats."""
    folder = "/" + "/".join(random.Random(1).randbytes(100).hex() for _ in range(9))

    await capture.store_record(sessions_of_ana.db, ANA, as_record(hook_event(cwd=folder), tmp_path))

    [session] = await sessions_of_ana.list_sessions()
    assert (session.worktree, len(folder)) == (folder, 1809)


def test_an_event_of_two_developers_gets_an_id_for_each(tmp_path: Path):
    """Its id is named after them; one that was made by chance stays as it is."""
    people = [
        Settings(home="/x", database="sqlite:///x.db", workspace="local", developer=name)
        for name in ("a", "b")
    ]
    named, by_chance = ids.named_id("x"), ids.new_id()

    made = [
        capture.make_record(hook_event(event_id=named), settings_of_person)["event"]["id"]
        for settings_of_person in people
    ]
    kept = [
        capture.make_record(hook_event(event_id=by_chance), settings_of_person)["event"]["id"]
        for settings_of_person in people
    ]

    assert len({named, *made}) == 3
    assert kept == [by_chance, by_chance]


def test_a_record_of_an_unknown_owner_gets_the_developer_who_stores_it(tmp_path: Path):
    settings = Settings(home="/x", database="sqlite:///x.db", workspace="local", developer="ana")
    event = hook_event(event_id=ids.named_id("x"))

    record = capture.make_record(event, settings, ["HOLDFAST_DEVELOPER"])

    assert (record["workspace_id"], record["developer_id"], record["user_id"]) == (None, None, None)
    assert capture.with_owner(record, settings) == capture.make_record(event, settings)
    assert capture.with_owner(record, settings) == capture.with_owner(
        capture.with_owner(record, settings), settings
    )
    assert capture.make_record(event, settings, ["HOLDFAST_DATABASE"])["store"] is None


@pytest.mark.parametrize("forgotten", [False, True])
async def test_an_event_of_an_ended_session_is_known_also_when_another_has_begun(
    forgotten: bool, sessions_of_ana: SessionService, tmp_path: Path
):
    await capture.store_record(sessions_of_ana.db, ANA, as_record(hook_event(1), tmp_path))
    [first] = await sessions_of_ana.list_sessions()
    await sessions_of_ana.end_session(first.id)
    await capture.store_record(sessions_of_ana.db, ANA, as_record(hook_event(2), tmp_path))
    if forgotten:
        await sessions_of_ana.store.erase_events([hook_event(1).event_id], "test")

    await capture.store_record(sessions_of_ana.db, ANA, as_record(hook_event(1), tmp_path))

    in_other_words = as_record(hook_event(1, content="other"), tmp_path)
    await capture.store_record(sessions_of_ana.db, ANA, in_other_words)

    assert [session.last_sequence for session in await sessions_of_ana.list_sessions()] == [1, 1]


async def test_the_first_event_starts_the_session_and_the_next_find_it(
    sessions_of_ana: SessionService, tmp_path: Path
):
    for number in (1, 2, 1):
        await capture.store_record(sessions_of_ana.db, ANA, as_record(hook_event(number), tmp_path))

    [session] = await sessions_of_ana.list_sessions()
    assert (session.client, session.chatmode, session.native_id, session.user_id) == (
        "claude",
        "claude",
        "n1",
        "ana",
    )
    assert [event.content for event in await sessions_of_ana.get_recent_events(session.id)] == [
        "text 1",
        "text 2",
    ]


async def test_two_clients_with_one_native_id_have_two_sessions(
    sessions_of_ana: SessionService, tmp_path: Path
):
    for number, client in enumerate(("claude", "codex")):
        await capture.store_record(
            sessions_of_ana.db, ANA, as_record(hook_event(number, client=client), tmp_path)
        )

    assert {session.client for session in await sessions_of_ana.list_sessions()} == {
        "claude",
        "codex",
    }


async def test_an_event_that_was_stored_before_the_end_starts_no_second_session(
    sessions_of_ana: SessionService, tmp_path: Path
):
    record = as_record(hook_event(1), tmp_path)
    await capture.store_record(sessions_of_ana.db, ANA, record)
    [session] = await sessions_of_ana.list_sessions()
    await sessions_of_ana.end_session(session.id)

    await capture.store_record(sessions_of_ana.db, ANA, record)

    assert [listed.id for listed in await sessions_of_ana.list_sessions()] == [session.id]


async def test_a_new_event_after_the_end_starts_another_session(
    sessions_of_ana: SessionService, tmp_path: Path
):
    await capture.store_record(sessions_of_ana.db, ANA, as_record(hook_event(1), tmp_path))
    [first] = await sessions_of_ana.list_sessions()
    await sessions_of_ana.end_session(first.id)

    await capture.store_record(sessions_of_ana.db, ANA, as_record(hook_event(2), tmp_path))

    second, _ = await sessions_of_ana.list_sessions()
    assert (second.native_id, second.last_sequence, first.last_sequence) == ("n1", 1, 1)


async def test_a_session_that_ends_between_lookup_and_append_continues_in_another(
    sessions_of_ana: SessionService, tmp_path: Path
):
    """The database is asked through a thin wrapper that ends the session right
    after it was found.
    """
    await capture.store_record(sessions_of_ana.db, ANA, as_record(hook_event(1), tmp_path))

    class Meanwhile:
        engine = sessions_of_ana.db.engine

        async def read(self, query: Any, *args: object) -> Any:
            rows = await sessions_of_ana.db.read(query, *args)
            if query.name == "native_session":
                await sessions_of_ana.end_session(rows[0][0])
            return rows

        def __getattr__(self, name: str) -> Any:
            return getattr(sessions_of_ana.db, name)

    await capture.store_record(Meanwhile(), ANA, as_record(hook_event(2), tmp_path))  # type: ignore[arg-type]

    newest, oldest = await sessions_of_ana.list_sessions()
    assert (oldest.last_sequence, newest.last_sequence, newest.ended_at) == (1, 1, None)


@pytest.mark.parametrize("field", ["workspace_id", "developer_id"])
def test_an_owner_that_is_not_a_label_is_refused_by_its_field(field: str):
    with pytest.raises(InvalidValueError) as refusal:
        capture.get_owner({"workspace_id": "local", "developer_id": "ana", field: ""})

    assert refusal.value.field == field


@pytest.mark.parametrize("field", ["client", "native_id", "user_id", "git_branch"])
async def test_a_record_with_a_field_that_is_not_a_label_is_refused_by_its_field(
    sessions_of_ana: SessionService, tmp_path: Path, field: str
):
    record = {**as_record(hook_event(), tmp_path), field: "two\nlines"}

    with pytest.raises(InvalidValueError) as refusal:
        await capture.store_record(sessions_of_ana.db, ANA, record)

    assert refusal.value.field == field
    assert await sessions_of_ana.list_sessions() == []
