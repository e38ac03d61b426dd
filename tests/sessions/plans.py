"""Rows and values with which the laws of the house are tried on this room's tables and verbs."""

from holdfast.scope import Scope

FILL = """
insert into context.sessions (workspace_id, developer_id, id, user_id, chatmode, client, native_id,
    worktree, metadata,
                              resumed_from, head_hash, started_at, ended_at, active_at, noted_at)
select 'w' || w, 'd' || d, md5(format('%s %s %s', w, d, s))::uuid, 'u1', 'm' || s % 5, 'claude',
    'n' || s,
       '/r' || s % 20, jsonb_build_object('name', 'name ' || s % 30),
       case when s % 3 = 0 then md5(format('%s %s %s', w, d, s - 1))::uuid end,
       '', now() - s * interval '1 minute', case when s % 2 = 0 then now() end,
       now() - s * interval '1 minute', now() - s * interval '1 minute'
from owners, numbers x (s)
where s <= 100
on conflict do nothing;
insert into context.session_state (workspace_id, developer_id, session_id, updated_at)
select workspace_id, developer_id, id, now() from context.sessions
on conflict do nothing;
insert into context.session_events (workspace_id, developer_id, id, session_id, sequence, type,
    role, content,
                                    created_at, content_hash, chain_hash, erased_at)
select workspace_id, developer_id, md5(format('%s %s', id, n))::uuid, id, n,
       case when n % 4 = 0 then 'user_message' else 'tool_call' end, 'user', '', now(), '', '',
       case when n = 1 then now() end
from context.sessions, generate_series(1, case when id = md5('2 5 40')::uuid
    then 8 * (select count(*) from numbers) else 8 end) n
on conflict do nothing;
insert into context.erasures (workspace_id, developer_id, event_id, session_id, content_hash,
    reason, created_at)
select workspace_id, developer_id, id, session_id, '', 'asked for', now()
  from context.session_events
where sequence = 1
on conflict do nothing;
insert into context.captures (workspace_id, developer_id, client, native_id, source, state,
    revision, updated_at)
select workspace_id, developer_id, client, native_id, '', '{}', 1, now() from context.sessions
on conflict do nothing;
insert into context.session_observations (workspace_id, developer_id, session_id, observed,
    revision, updated_at)
select workspace_id, developer_id, id, '{}', 1, now() from context.sessions
on conflict do nothing;
update context.sessions s set last_sequence =
    case when id = md5('2 5 40')::uuid then 8 * (select count(*) from numbers) else 8 end
"""
SESSION = "md5('2 5 40')::uuid"
EVENT = f"md5(format('%s %s', {SESSION}, 5))::uuid"
VALUES = {
    "p_before": "'2001-01-01Z'",
    "p_session": SESSION,
    "p_ids": f"jsonb_build_array({SESSION})::text",
    "p_id": SESSION,
    "p_below": SESSION,
    "p_resumed_from": SESSION,
    "p_after": "3990",
    "p_limit": "10",
    "p_turns_before": "1",
    "p_chars": "100",
    "p_bytes": "1000",
    "p_name": "'name 10'",
    "p_begun": "'NAME 1'",
    "p_among": "10",
    "p_sessions": "4",
    "p_rows": "20",
    "p_chatmode": "'m1'",
    "p_user_id": "'u1'",
    "p_client": "'claude'",
    "p_native_id": "'n41'",
    "p_state": "'{}'",
    "p_observed": "'{}'",
    "p_source": "''",
    "p_worktree": "'/r1'",
    "p_until": "'2100-01-01T00:00:00Z'",
    "p_at": "'2026-01-01T00:00:00Z'",
    "p_workflow": "null",
    "p_skill": "null",
    "p_git_branch": "null",
    "p_repo": "null",
    "p_metadata": "'{}'",
    "p_scratchpad": "'{}'",
    "p_cleared": "'{}'",
    "p_patch": "'{\"a\": 1}'",
    "p_data": "'{}'",
    "p_topic": "'session.renamed'",
    "p_head_hash": "'\\x00'",
    "p_text": "'x'",
    "p_escaped": "'x'",
    "p_reason": "'asked for'",
}
ANOTHER_SESSION = "md5('2 5 41')::uuid"
VALUES_OF = {
    "context.sessions_to_prune": {"p_after": "'00000000-0000-0000-0000-000000000000'"},
    "context.sessions_with_text": {"p_after": "null"},
    "context.create_session": {"p_id": "gen_random_uuid()", "p_native_id": "'new'"},
    "context.link_fork": {"p_id": ANOTHER_SESSION},
    "context.recent_events": {"p_below": "null", "p_limit": "40"},
    "context.turn_start": {"p_below": "3990"},
    "context.newest_user_messages": {"p_below": "3990"},
    "context.turns_below": {"p_below": "3990"},
    "context.find_event": {"p_id": EVENT},
    "context.save_capture": {"p_expected": "1"},
    "context.save_observed": {"p_expected": "1"},
    "context.erase_event": {"p_id": EVENT},
    "context.append_events": {
        "p_id": "array[gen_random_uuid()]",
        "p_session": ANOTHER_SESSION,
        "p_call": "array[0]",
        "p_expected": "array[null::bigint]",
        "p_type": "array['user_message']",
        "p_role": "array['user']",
        "p_content": "array['']",
        "p_parts": "array[null::text]",
        "p_hash": "array['\\x00'::bytea]",
    },
    "context.append_event": {
        "p_id": "gen_random_uuid()",
        "p_session": ANOTHER_SESSION,
        "p_expected": "null",
        "p_type": "'user_message'",
        "p_role": "'user'",
        "p_content": "''",
        "p_parts": "null",
        "p_hash": "'\\x00'",
    },
}
READS_ALL = {
    "context.sessions_to_prune": "retention must miss none",
    "context.matching_events": "forgetting by words must miss none",
    "context.sessions_with_text": "forgetting by words must miss none",
    "context.rewrite_session": (
        "forgetting a session is rare, and empties every notice of it in the outbox"
    ),
}
SORTS = {
    "context.create_session": "two rows at most",
    "context.thread_sessions": "one thread",
    "context.session_names": "one row for each name",
    "context.last_session": "the sessions of one minute",
    "context.session_notes": "at most two sessions that are named and ten that are not",
}
INNER = {"context.refusal"}


async def add_rows(scope: Scope) -> None:
    """At least one row in every table of the room."""
    sessions, developer = scope.sessions, scope.owner.developer_id
    session = await sessions.create_session("architect", "u1", client="claude", native_id="n-1")
    events = [
        await sessions.append_event(session.id, "user_message", "user", f"{developer} {number}")
        for number in range(2)
    ]
    await sessions.set_relevant_context(session.id, "files", [f"/{developer}/a.py"])
    await sessions.forget_events([events[0].id])
    await sessions.store.save_capture("claude", "n-1", {}, 0)
    await sessions.store.save_observed(session.id, {}, 0)
