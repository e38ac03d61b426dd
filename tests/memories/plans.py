"""Rows and values with which the laws of the house are tried on this room's tables and verbs."""

from holdfast.scope import Scope

FILL = """
insert into memori.memories (workspace_id, developer_id, id, user_id, content, content_tsv,
    source_type, created_at,
                             updated_at, content_hash)
select 'w' || w, 'd' || d, format('m %s %s %s', w, d, n), 'u1', 'x',
       array_to_tsvector(array['common', 'word' || n, 'some' || n % 10]), 'explicit',
           now() - n * interval '1 minute',
       now(), sha256(format('%s %s %s', w, d, n)::bytea)
from owners, numbers x (n)
where n <= 300
on conflict do nothing;
insert into memori.memory_tombstones
select workspace_id, developer_id, sha256(content_hash), id, 'asked for', now()
  from memori.memories
on conflict do nothing
"""
MEMORY = "'m 2 5 40'"
VALUES = {
    "p_id": MEMORY,
    "p_below": MEMORY,
    "p_limit": "10",
    "p_hash": "sha256('2 5 40')",
    "p_hashes": "format('[\"%s\"]', encode(sha256(sha256('2 5 40')), 'hex'))",
    "p_content": "'x'",
    "p_ids": """'["m 2 5 40", "m 2 5 41"]'""",
    "p_words": """'["word40"]'""",
    "p_common": "'[]'",
    "p_namespace": "null",
    "p_most": "1",
    "p_now": "'2026-11-16T09:04:00Z'",
    "p_user_id": "'u1'",
    "p_category": "null",
    "p_metadata": "'{}'",
    "p_source_type": "'explicit'",
    "p_confidence": "0.9",
    "p_lineage": "'[]'",
    "p_use_count": "0",
    "p_last_used_at": "null",
    "p_expires_at": "null",
    "p_created_at": "null",
    "p_updated_at": "null",
    "p_text": "'x'",
    "p_escaped": "'x'",
    "p_reason": "'asked for'",
}
VALUES_OF = {
    "memori.find_tombstone": {"p_hash": "sha256(sha256('2 5 40'))"},
    "memori.add_memory": {"p_id": "'new'", "p_hash": "'\\x00'"},
}
READS_ALL = {
    "memori.matching_memories": "forgetting by words must miss none",
    "memori.find_candidates": (
        "the owner's rows are met with those that have the words, each by its index"
    ),
    "memori.count_words": (
        "how many memories there are decides what is rare; ten thousand are enough to tell"
    ),
}
SORTS = {
    "memori.matching_memories": "read as a whole anyway",
    "memori.find_candidates": "the best of those that have a rare word",
}
INNER: set[str] = set()


async def add_rows(scope: Scope) -> None:
    """At least one row in every table of the room."""
    for text in ("kept", "forgotten"):
        result = await scope.memories.remember(f"{text} by {scope.owner.developer_id}")
    await scope.memories.forget(result.memory.id)
