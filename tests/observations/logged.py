"""Events as the readers of the clients make them, for rules that look at a log."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hypothesis import strategies as st

TRANSCRIPTS = Path(__file__).parent.parent / "clients" / "transcripts"
NOW = datetime(2026, 11, 16, 9, tzinfo=UTC)

# Values of any type and depth, as a foreign program may write them.
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=20),
        st.sampled_from(["completed", "pending", "deleted", "1", "user-rejected", "first"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(
                ["todos", "plan", "content", "status", "id", "taskId", "subject", "task", "answers",
                 "questions", "question", "0", "command", "step", "success", "isAgent"]
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=20,
)  # fmt: skip


def make_event(
    content: Any = "", parts: Any = None, sequence: int = 1, kind: str = "tool_result"
) -> Any:
    return SimpleNamespace(
        sequence=sequence,
        type=kind,
        content=content,
        parts=parts,
        happened_at=NOW + timedelta(minutes=sequence),
    )


def make_call(tool: Any, given: Any, content: Any = "", sequence: int = 1, **outcome: Any) -> Any:
    return make_event(content, {"tool": tool, "input": given, **outcome}, sequence)


def read_events(name: str) -> list[Any]:
    """What was checked to be in a transcript of a real session, numbered from 1 on."""
    records = json.loads((TRANSCRIPTS / f"{name}.json").read_text())
    return [
        make_event(record["content"], record["parts"], number, record["type"])
        for number, record in enumerate(records, start=1)
    ]
