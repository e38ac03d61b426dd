"""Rows and values with which the laws of the house are tried on this room's tables and verbs."""

from holdfast.ground import clock
from holdfast.scope import Scope
from holdfast.storage.health import check_health
from holdfast.storage.prunings import Prunings

FILL = """
insert into holdfast.heartbeats select 'w' || w, 'd' || d, 1 from owners
on conflict do nothing;
insert into holdfast.idempotency_keys
select 'w' || w, 'd' || d, 'op' || k % 3, 'k' || k, '', '', now()
from owners, numbers x (k)
where k <= 100
on conflict do nothing;
insert into holdfast.outbox (workspace_id, developer_id, id, topic, data, created_at)
select 'w' || w, 'd' || d, s, 'caco.context',
       jsonb_build_object('session_id', md5(format('%s %s %s', w, d, s))::uuid), now()
from owners, numbers x (s)
where s <= 100
on conflict do nothing;
insert into holdfast.journal (workspace_id, developer_id, id, kind, subject, content, created_at)
select 'w' || w, 'd' || d, md5(format('%s %s %s', w, d, n))::uuid, 'k' || n % 3, 's' || n % 50,
    'x', now()
from owners, numbers x (n)
where n <= 400
on conflict do nothing;
insert into holdfast.prunings (workspace_id, developer_id, id, before_at, found, created_at)
select 'w' || w, 'd' || d, md5(format('p %s %s', w, d))::uuid, now(), '{}', now() from owners
on conflict do nothing
"""
VALUES = {
    "p_id": "md5('2 5 40')::uuid",
    "p_after": "100",
    "p_limit": "10",
    "p_operation": "'op1'",
    "p_key": "'k50'",
    "p_request_hash": "'\\x00'",
    "p_subject": "'s10'",
    "p_kind": "'k1'",
    "p_content": "'{}'",
    "p_text": "'x'",
    "p_before": "'2001-01-01Z'",
    "p_found": "'{}'",
}
VALUES_OF = {
    "holdfast.entries_with_text": {"p_after": "null"},
    "holdfast.keep_key": {"p_key": "'new'"},
    "holdfast.keep_entry": {"p_id": "gen_random_uuid()"},
    "holdfast.keep_pruning": {"p_id": "gen_random_uuid()"},
}
READS_ALL = {
    "holdfast.list_owners": "retention is decided for all developers of a workspace",
    "holdfast.count_receipts": "retention must miss none",
    "holdfast.erase_receipts": "retention must miss none",
    "holdfast.entries_with_text": "forgetting by words must miss none",
    "holdfast.outbox_end": "the last entry of the index answers max()",
    "holdfast.beat": "a developer has one heartbeat",
    "holdfast.last_beat": "a developer has one heartbeat",
}
SORTS: dict[str, str] = {}
INNER = {"holdfast.act_for", "holdfast.notify"}


async def add_rows(scope: Scope) -> None:
    """At least one row in every table of the room; sessions write the outbox."""
    await scope.request_keys.keep("end", "k1", b"0" * 32, "s1")
    await scope.journal.add("proof", ["repo"], {"command": ["true"]})
    await check_health(scope.database, scope.owner)
    await Prunings(scope.database, scope.owner).keep(clock.now(), {})
