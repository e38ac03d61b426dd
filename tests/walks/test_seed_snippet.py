"""A program that was written for the seed's `SessionService`: a pool, the service, and every method
by its old name.
"""

import asyncpg
import pytest

from holdfast import SessionEndedError, SessionNotFoundError, SessionService


async def test_a_plain_pool_and_the_seeds_own_calls(postgres_url: str):
    pool = await asyncpg.create_pool(dsn=postgres_url, min_size=2, max_size=10)
    try:
        session_service = SessionService(pool)

        session = await session_service.create_session(
            "architect", "u1", workflow="feature", git_branch="feat/retry"
        )
        first = await session_service.append_event(
            session.id, "user_message", "user", "retry failed webhooks"
        )
        await session_service.append_event(
            session.id, "tool_call", "assistant", "pytest", {"tool": "bash", "args": ["-q"]}
        )
        await session_service.append_event(session.id, "tool_result", "tool", "12 passed")
        state = await session_service.update_state(
            session.id, {"current_task": "retry.py", "blockers": []}
        )
        recent = await session_service.get_recent_events(session.id, max_turns=30, max_tokens=4000)
        active = await session_service.get_active_session("architect", "u1")
        await session_service.end_session(session.id)

        assert first.sequence == 1
        assert [event.sequence for event in recent] == [1, 2, 3]
        assert recent[1].parts == {"tool": "bash", "args": ["-q"]}
        assert state.scratchpad == {"current_task": "retry.py", "blockers": []}
        assert (await session_service.get_state(session.id)).scratchpad == state.scratchpad
        assert active is not None
        assert active.id == session.id
        assert await session_service.get_active_session("architect", "u1") is None
        with pytest.raises(SessionEndedError):
            await session_service.append_event(session.id, "user_message", "user", "late")
        with pytest.raises(SessionNotFoundError):
            await session_service.get_session("01a1e0aa-0000-7000-8000-000000000001")
        rows = await pool.fetch("select count(*) from pg_class where relname = 'session_events'")
        assert rows[0][0] == 1
    finally:
        await pool.close()
