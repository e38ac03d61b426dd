"""How sessions stand, from their events and from the programs that run."""

from datetime import timedelta
from pathlib import Path

import pytest

from holdfast.ground import process_tree
from holdfast.scope import Scope
from holdfast.sessions import status
from holdfast.sessions.service import SessionService
from holdfast.storage.processes import Processes
from holdfast.usecases.session_status import find_statuses


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
