"""How sessions stand, from their events and from the programs that run."""

from datetime import timedelta
from pathlib import Path

import pytest

from holdfast.ground import process_tree
from holdfast.scope import Scope
from holdfast.sessions import status
from holdfast.sessions.model import Session
from holdfast.sessions.service import SessionService
from holdfast.storage.processes import Processes
from holdfast.usecases.session_status import find_status, find_statuses


async def test_a_session_is_live_while_a_program_is_known_to_be_in_it(
    sessions: SessionService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """By the id that its client gave it, or by its own; an ended one is ended all the same."""
    monkeypatch.setattr(status, "LIVE_FOR", timedelta(0))
    hooked = await sessions.create_session("a", "u1", client="a", native_id="n-1")
    opened = await sessions.create_session("a", "u1", client="a")
    left = await sessions.create_session("b", "u1", client="b", native_id="n-1")
    ended = await sessions.create_session("a", "u1", client="a", native_id="n-2")
    await sessions.end_session(ended.id)
    event = await sessions.append_event(left.id, "user_message", "user", "hello")
    processes = Processes(str(tmp_path))
    above, *others = process_tree.list_ancestors()
    processes.register(str(process_tree.find_own_process()), {"session_id": opened.id})
    processes.register(above, {"client": "a", "native_id": "n-1"})
    for process in others[:1]:
        processes.register(process, {"client": "a", "native_id": "n-2"})
    listed = await sessions.list_sessions()

    found = await find_statuses(Scope(sessions.db, sessions.owner), str(tmp_path), listed)

    words = {session_id: each.word for session_id, each in found.items()}
    assert words == {hooked.id: "live", opened.id: "live", left.id: "idle", ended.id: "ended"}
    assert found[left.id].since == event.created_at


async def make_native(sessions: SessionService, native_id: str, *said: str) -> Session:
    session = await sessions.create_session("a", "u1", client="a", native_id=native_id)
    roles = {"user_message": "user", "model_message": "assistant"}
    for kind in said:
        await sessions.append_event(session.id, kind, roles[kind], f"{kind} of {native_id}")
    return session


async def test_a_session_whose_program_has_ended_is_told_as_in_the_document(
    sessions: SessionService, tmp_path: Path
):
    killed = await make_native(sessions, "n-1", "user_message")
    left = await make_native(sessions, "n-2", "user_message", "model_message")
    unknown = await make_native(sessions, "n-3", "user_message")
    ended = await make_native(sessions, "n-4", "user_message")
    answered = await make_native(sessions, "n-5", "user_message", "model_message")
    for each in (ended, answered):
        await sessions.end_session(each.id)
    processes = Processes(str(tmp_path))
    for number in (1, 2):
        processes.register(f"gone_1.{number}.1", {"client": "a", "native_id": f"n-{number}"})
    listed = await sessions.list_sessions()

    found = await find_statuses(Scope(sessions.db, sessions.owner), str(tmp_path), listed)

    at = f"{found[killed.id].since:%H:%M}"
    told = {session_id: each.describe_shortly() for session_id, each in found.items()}
    assert told == {
        killed.id: f"cut off {at}",
        left.id: "idle",
        unknown.id: "live",
        ended.id: "ended, last request unanswered",
        answered.id: "ended",
    }
    assert found[killed.id].describe().startswith("cut off 2")
    assert found[ended.id].describe().endswith("Z, last request unanswered")


async def test_a_program_that_goes_on_with_a_session_makes_it_live_again(
    sessions: SessionService, tmp_path: Path
):
    session = await make_native(sessions, "n-1", "user_message")
    processes = Processes(str(tmp_path))
    row = {"client": "a", "native_id": "n-1"}
    processes.register("gone_1.1.1", row)
    assert processes.list_running() == []

    processes.register(str(process_tree.find_own_process()), row)

    status = await find_status(Scope(sessions.db, sessions.owner), str(tmp_path), session)
    assert status.describe() == "live"
