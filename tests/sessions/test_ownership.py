"""Sessions belong to one developer of one workspace: to every other owner they do not exist."""

import uuid

import pytest

import holdfast
from holdfast.ground.settings import owner_of
from holdfast.sessions.errors import EventConflictError, EventNotFoundError, SessionNotFoundError
from holdfast.storage.outbox import Outbox
from tests.rig.postgres import new_workspace
from tests.sessions.tables import all_rows, in_schema, nothing_changes

UNKNOWN = "01890a5d-ac96-774b-bcce-b302099a8057"


@pytest.fixture
def ada(database, workspace):
    return holdfast.SessionService(database, owner=owner_of(workspace, "ada"))


@pytest.fixture
def other_owners(database, workspace):
    """A colleague of the same workspace, the same name in another one, and another
    name altogether.
    """
    another = new_workspace()
    people = ((workspace, "bob"), (another, "ada"), (another, "bob"))
    return [holdfast.SessionService(database, owner=owner_of(*who)) for who in people]


async def start(sessions):
    s = await sessions.create_session(
        "codex", "u1", name="login", client="codex", native_id="n1", worktree="/w"
    )
    event = await sessions.append_event(s.id, "user_message", "user", "a secret")
    await sessions.set_relevant_context(s.id, "files", ["/a"])
    return s, event


async def test_another_owner_sees_nothing(ada, other_owners):
    s, event = await start(ada)

    for other_owner in other_owners:
        assert await other_owner.list_sessions() == []
        assert await other_owner.get_active_session("codex", "u1") is None
        assert await other_owner.find_current_sessions("/w") == []
        assert await other_owner.store.find_native("codex", "n1") is None
        assert await other_owner.find_events_to_forget(match="secret") == []
        assert tuple(await other_owner.store.count_events(9, 9)) == (0, 0, 0, False)
        assert await Outbox(other_owner.db, other_owner.owner).read() == []
        for call in (
            other_owner.get_session(s.id),
            other_owner.find_session(s.id),
            other_owner.find_session("login"),
            other_owner.get_recent_events(s.id),
            other_owner.get_recent_events(s.id, 5, 100),
            other_owner.get_state(s.id),
            other_owner.get_relevant_context(s.id),
            other_owner.get_resume_text(s.id),
            other_owner.list_thread(s.id),
            other_owner.list_sessions(below=s.id),
            other_owner.verify_session(s.id),
            other_owner.find_events_to_forget(session_id=s.id),
            anext(other_owner.read_events(s.id)),
            anext(other_owner.read_thread(s.id)),
        ):
            with pytest.raises(SessionNotFoundError):
                await call
        with pytest.raises(EventNotFoundError):
            await other_owner.find_events_to_forget(event_ids=[event.id])


async def test_another_owner_changes_nothing(ada, other_owners):
    s, event = await start(ada)

    for other_owner in other_owners:
        async with nothing_changes(ada):
            for call in (
                other_owner.append_event(s.id, "user_message", "user", "hi"),
                other_owner.append_events(
                    s.id, [{"type": "user_message", "role": "user", "content": "hi"}]
                ),
                other_owner.update_state(s.id, {"a": 1}),
                other_owner.set_relevant_context(s.id, "files", ["/b"]),
                other_owner.update_metadata(s.id, {"name": "mine"}),
                other_owner.rename_session(s.id, "mine"),
                other_owner.replace_metadata(s.id, {"name": "mine"}),
                other_owner.resume_session(s.id),
                other_owner.end_session(s.id),
                other_owner.forget_session(s.id),
            ):
                with pytest.raises(SessionNotFoundError):
                    await call
            with pytest.raises(EventNotFoundError):
                await other_owner.forget_events([event.id])

        assert await other_owner.list_sessions() == []


async def test_a_foreign_session_and_an_unknown_one_give_the_same_answer(ada, other_owners):
    s, _ = await start(ada)

    answers = []
    for other_owner in other_owners:
        for session_id in (s.id, UNKNOWN):
            for call in (
                other_owner.get_session,
                other_owner.end_session,
                other_owner.resume_session,
                other_owner.verify_session,
            ):
                with pytest.raises(SessionNotFoundError) as refusal:
                    await call(session_id)
                answers.append((type(refusal.value), str(refusal.value).replace(session_id, "ID")))

        assert len(set(answers)) == 1


async def test_the_same_native_id_is_another_session_for_another_owner(ada, other_owners):
    s, _ = await start(ada)

    for other_owner in other_owners:
        other = await other_owner.create_session("codex", "u1", client="codex", native_id="n1")

        assert other.id != s.id
        assert [session.id for session in await other_owner.list_sessions()] == [other.id]
        assert [session.id for session in await ada.list_sessions()] == [s.id]


async def test_an_event_id_of_another_workspace_is_free(database, workspace):
    """Every key begins with the workspace, so no workspace learns which ids another one uses."""
    event_id = str(uuid.uuid4())
    for name in (workspace, new_workspace()):
        sessions = holdfast.SessionService(database, owner=owner_of(name, "ada"))
        s = await sessions.create_session("codex", "u1")
        event = await sessions.append_event(s.id, "user_message", "user", name, event_id=event_id)
        assert (event.sequence, event.content) == (1, name)


async def test_an_event_id_of_a_colleague_is_a_conflict_that_shows_nothing(database, workspace):
    ada, bob = (
        holdfast.SessionService(database, owner=owner_of(workspace, name))
        for name in ("ada", "bob")
    )
    _, event = await start(ada)
    own = await bob.create_session("codex", "u1")

    async with nothing_changes(bob):
        with pytest.raises(EventConflictError) as refusal:
            await bob.append_event(own.id, "user_message", "user", "a secret", event_id=event.id)

    assert "secret" not in str(refusal.value)
    two = [
        {"type": "user_message", "role": "user", "content": "x", "event_id": event_id}
        for event_id in (None, event.id)
    ]
    with pytest.raises(EventConflictError, match="One of the 2 event ids|Event id " + event.id):
        await bob.append_events(own.id, two)


async def test_postgresql_shows_no_row_to_an_empty_or_another_owner(postgres_sessions):
    """The wall itself: the tables read directly, as the application's role."""
    s, _ = await start(postgres_sessions)
    pool = postgres_sessions.db.pool
    workspace, developer = postgres_sessions.store.owner
    rows = await all_rows(postgres_sessions)
    tables = [table for table, found in rows.items() if found]
    assert {"sessions", "session_events", "session_state", "outbox"} <= set(tables)

    for who in (
        None,
        ("", ""),
        (workspace, ""),
        ("", developer),
        (workspace, "other"),
        ("other", developer),
        ("' or 1=1", "x"),
    ):
        async with pool.acquire() as connection, connection.transaction():
            if who:
                await connection.fetch("select holdfast.act_for($1, $2)", *who)
            for table in tables:
                assert await connection.fetchval(f"select count(*) from {in_schema(table)}") == 0
    assert (
        await pool.fetchval("select coalesce(current_setting('holdfast.workspace', true), '')")
        == ""
    )
    assert (await postgres_sessions.get_session(s.id)).id == s.id
