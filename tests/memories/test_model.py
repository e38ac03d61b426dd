"""Memories as documents."""

import json

from holdfast.memories.model import MemoryImportReport, MemoryMatch, StoredMemory, make_memory

ROW = (
    *("m-1", "u1", "kept", None, '{"a":1}', "explicit", 0.8, '["s-1"]', None, 2, None),
    *("2026-11-16T09:04:00.000000Z", "2026-11-16T09:05:00.000000Z", None, "kept"),
)


def test_a_row_becomes_a_memory_and_a_document():
    memory = make_memory(ROW)

    assert (memory.metadata, memory.lineage, memory.use_count) == ({"a": 1}, ("s-1",), 2)
    assert json.loads(json.dumps(memory.to_dict())) == {
        "id": "m-1",
        "user_id": "u1",
        "content": "kept",
        "category": None,
        "metadata": {"a": 1},
        "source_type": "explicit",
        "confidence": 0.8,
        "lineage": ["s-1"],
        "last_used_at": None,
        "use_count": 2,
        "expires_at": None,
        "created_at": ROW[11],
        "updated_at": ROW[12],
        "erased_at": None,
    }


def test_an_answer_says_how_well_it_answers_and_whether_it_is_new():
    memory = make_memory(ROW)

    assert MemoryMatch(memory, 0.5, 0.6).to_dict() == {
        **memory.to_dict(),
        "relevance": 0.5,
        "score": 0.6,
    }
    assert StoredMemory(memory, True).to_dict() == {**memory.to_dict(), "is_new": True}
    assert MemoryImportReport(problems=("x",)).to_dict() == {
        "imported": 0,
        "known": 0,
        "forgotten": 0,
        "problems": ["x"],
    }
