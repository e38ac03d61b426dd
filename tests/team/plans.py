"""Rows and values with which the laws of the house are tried on this room's tables and verbs."""

from holdfast.ground import ids
from holdfast.scope import Scope
from holdfast.team.model import Publication

FILL = """
insert into team.developers (workspace_id, developer_id, handle, name, created_at, seen_at)
select 'w' || w, 'd' || d, 'h' || d, 'h' || d, now(), now() - d * interval '1 minute' from owners
on conflict do nothing;
insert into team.session_contexts (workspace_id, id, developer_id, repo, branch, title, summary,
    files_touched,
    next_actions, blockers, task_ids, published_at, expires_at, superseded_by, revoked_at)
select 'w' || w, md5(format('c %s %s %s', w, d, n))::uuid, 'd' || d, 'r', 'b' || n, 't', 's',
    '[]', '[]', '[]', '[]',
       now() - n * interval '1 hour', now() - n * interval '1 hour' + interval '5 hours',
       case when n % 3 = 0 then md5(format('c %s %s %s', w, d, n))::uuid end, case when n % 3 = 1
    then now() end
from owners, numbers x (n)
on conflict do nothing;
insert into team.reservations (workspace_id, id, developer_id, session_id, repo, branch, paths,
    reason, reserved_at,
    expires_at, released_at)
select 'w' || w, md5(format('r %s %s %s', w, d, n))::uuid, 'd' || d, md5(format('s %s %s %s', w,
    d, n))::uuid, 'r', 'b',
       '["a/**"]', 'x', now() - n * interval '1 minute', now() - n * interval '1 minute' +
    interval '5 minutes',
       case when n % 2 = 0 or d not in (4, 5) then now() end
from owners, numbers x (n)
on conflict do nothing;
insert into team.presence (workspace_id, developer_id, session_id, client, repo, branch, paths,
    began_at, seen_at, ended_at)
select 'w' || w, 'd' || d, md5(format('s %s %s %s', w, d, n))::uuid, 'claude', 'r', 'b',
    '["a.py"]', now(),
       now() - n * interval '1 minute', case when n % 4 <> 1 or d not in (4, 5) then now() end
from owners, numbers x (n)
on conflict do nothing;
insert into team.handoffs (workspace_id, id, developer_id, to_developer_id, claim_id, repo,
    branch, paths, reason, note,
    status, offered_at, expires_at)
select 'w' || w, md5(format('h %s %s %s', w, d, n))::uuid, 'd' || d, 'd' || (d + 1),
    md5(format('r %s %s %s', w, d, n))::uuid,
       'r', 'b', '["a/**"]', 'x', '', case when n = 40 then 'offered' else 'completed' end,
       now() - n * interval '1 minute', now() + interval '1 hour'
from owners, numbers x (n)
on conflict do nothing;
insert into team.work_events (workspace_id, stream, id, developer_id, type, subject, created_at)
select 'w' || w, 'd' || d, n, 'd' || d, 't', 's', now() from owners, numbers x (n)
union all
select 'w' || w, '', 1000 * d + n, 'd' || d, 't', 's', now() from owners, numbers x (n)
on conflict do nothing;
insert into team.usage_events (workspace_id, developer_id, id, operation, outcome, created_at)
select 'w' || w, 'd' || d, md5(format('u %s %s %s', w, d, n))::uuid, 'o', 'ok', now() from
    owners, numbers x (n)
on conflict do nothing
"""
CONTEXT = "md5('c 2 5 40')::uuid"
CLAIM = "md5('r 2 5 41')::uuid"
HANDOFF = "md5('h 2 4 40')::uuid"
NEW = "gen_random_uuid()"
VALUES = {
    "p_before": "'2001-01-01Z'",
    "p_handle": "'h5'",
    "p_visibility": "'public'",
    "p_limit": "10",
    "p_who": "'d4'",
    "p_id": CONTEXT,
    "p_below": CONTEXT,
    "p_at": "'2026-11-19T06:00:00.000000Z'",
    "p_is_soft": "false",
    "p_session": "md5('s 2 5 41')::uuid",
    "p_repo": "'r'",
    "p_repos": "'[\"r\"]'",
    "p_branch": "'b40'",
    "p_title": "'t'",
    "p_summary": "'s'",
    "p_files": "'[]'",
    "p_next_actions": "'[]'",
    "p_blockers": "'[]'",
    "p_task_ids": "'[]'",
    "p_basis": "null",
    "p_ttl_hours": "24",
    "p_paths": """'["a"]'""",
    "p_reason": "'x'",
    "p_ttl_minutes": "60",
    "p_client": "'claude'",
    "p_claim": CLAIM,
    "p_to": "'d6'",
    "p_note": "''",
    "p_status": "'accepted'",
    "p_team": "5030",
    "p_own": "30",
    "p_hours": "24",
    "p_operation": "'o'",
    "p_outcome": "'ok'",
    "p_type": "'t'",
    "p_subject": "'s'",
    "p_stream": "''",
}
VALUES_OF = {
    "team.newest_work_events": {"p_limit": "5"},
    "team.work_events_after": {"p_limit": "5"},
    "team.publish_context": {"p_id": NEW},
    "team.note_usage": {"p_id": NEW},
    "team.reserve": {"p_id": NEW},
    "team.release": {"p_id": CLAIM},
    "team.find_own_reservation": {"p_id": CLAIM},
    "team.offer_handoff": {"p_id": NEW},
    "team.answer_handoff": {"p_id": HANDOFF, "p_claim": NEW},
    "team.complete_handoff": {"p_id": HANDOFF},
    "team.cancel_handoff": {"p_id": HANDOFF},
    "team.find_handoff": {"p_id": HANDOFF},
}
OF_OWNER = {"team.erase_ended"}
READS_ALL = {
    "team.count_ended": "retention must miss none",
    "team.erase_ended": "retention must miss none",
    "team.words_with_text": "erasing must miss none",
    "team.erase_words": "erasing must miss none",
    "team.find_exchange": "the first developer that is found is enough",
    "team.list_developers": "a workspace's people are the answer",
    "team.newest_work_events": "one reader of events for each of a workspace's people",
    "team.work_events_after": "one reader of events for each of a workspace's people",
    "team.work_events_end": "one reader of events for each of a workspace's people",
    "team.list_stored_contexts": "the audit, which a person asks for",
    "team.list_usage": "the audit, which a person asks for",
}
SORTS: dict[str, str] = {
    "team.list_active_contexts": "what is active is little, whatever was published before",
    "team.list_contexts_of": "what is active is little, whatever was published before",
    "team.list_contexts_below": "what is active is little, whatever was published before",
    "team.list_reservations": "what is active is little",
    "team.list_reserved_repos": "what is active is little",
    "team.list_publishers": "what is active is little, whatever was published before",
    "team.list_reservations_below": "what is active is little",
    "team.list_handoffs": "what is open is little",
    "team.find_handoff": "the active contexts of one developer",
    "team.find_handoff_of": "the handoffs of one reservation",
    "team.newest_work_events": "two short lists are merged",
    "team.count_work_events": "a row for each hour of a day",
    "team.work_events_after": "two short lists are merged",
    "team.list_developers": "the live sessions of one developer",
    "team.list_stored_contexts": "the audit, which a person asks for",
    "team.list_usage": "the audit, which a person asks for",
    "team.words_with_text": "erasing, which a person asks for",
}
INNER: set[str] = {
    "team.hold_stream",
    "team.last_number",
    "team.next_event",
    "team.merge_events",
    "team.add_work_event",
    "team.own_context",
    "team.own_reservation",
    "team.end_reservation",
    "team.end_shown",
    "team.withdraw_hidden",
}


async def add_rows(scope: Scope) -> None:
    """At least one row in every table of the room, which its owner alone may see."""
    team = scope.team.store
    await team.enter(scope.owner.handle, "private")
    await team.publish(ids.new_id(), Publication("kept", "by one"))
    claim = await team.reserve(
        ids.new_id(), ["a/**"], "work", 60, repo=None, branch=None, session_id=None
    )
    assert claim is not None
    await team.show_presence(ids.new_id(), ["a.py"], client="claude", repo=None, branch=None)
    await team.set_visibility("public")
    await team.offer(ids.new_id(), claim.id, None, "")
    await team.set_visibility("private")
    await team.note_usage("team.state", "ok")
