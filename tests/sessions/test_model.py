"""The dataclasses: the seed's fields first, frozen, and one dictionary for every door."""

import json
from dataclasses import FrozenInstanceError, fields
from datetime import UTC, datetime

import pytest

from holdfast.sessions import model

AT = datetime(2026, 11, 16, 9, 4, 0, 1, tzinfo=UTC)
AT_TEXT = "2026-11-16T09:04:00.000001Z"
SESSION_ROW = (
    *(
        "s1",
        "u1",
        "architect",
        None,
        None,
        "main",
        AT_TEXT,
        None,
        '{"context":{"files":["/a"]},"name":"n"}',
    ),
    *("codex", "native", "repo", "/tree", "n", None, 2, 7, b"\x01\x02"),
)
EVENT_ROW = ("e1", "s1", 7, "tool_call", "tool", "ls", '{"a":1}', AT_TEXT, b"\x01", b"\x02", None)


@pytest.mark.parametrize(
    ("dataclass", "names"),
    [
        (
            model.Session,
            "id user_id chatmode workflow skill git_branch started_at ended_at metadata",
        ),
        (model.SessionEvent, "id session_id sequence type role content parts created_at"),
        (model.SessionState, "session_id scratchpad updated_at"),
    ],
)
def test_the_seed_s_fields_come_first_and_in_its_order(dataclass, names):
    """Code that builds one by position, as the seed's users may, gets what they mean."""
    assert [field.name for field in fields(dataclass)][: len(names.split())] == names.split()


def test_fields_beyond_those_of_the_seed_have_defaults():
    session = model.Session("s1", "u1", "architect", None, None, None, AT, None, {})
    event = model.SessionEvent("e1", "s1", 1, "user_message", "user", "hi", None, AT)

    assert (session.revision, session.last_sequence, session.context) == (1, 0, {})
    assert (event.content_hash, event.erased_at) == ("", None)


def test_an_event_is_frozen():
    with pytest.raises(FrozenInstanceError):
        model.make_event(EVENT_ROW).content = "other"


def test_a_session_reads_rows_of_both_engines():
    """SQLite answers with texts, PostgreSQL with moments."""
    text = model.make_session(SESSION_ROW)
    moment = model.make_session((*SESSION_ROW[:6], AT, AT, *SESSION_ROW[8:]))

    assert text.started_at == moment.started_at == moment.ended_at == AT
    assert text.ended_at is None
    assert text.context == {"files": ["/a"]}
    assert text.head_hash == "0102"


def test_an_event_reads_rows_of_both_engines():
    text = model.make_event(EVENT_ROW)
    moment = model.make_event((*EVENT_ROW[:6], None, AT, b"\x01", b"\x02", AT))

    assert text.created_at == moment.created_at == moment.erased_at == AT
    assert (text.parts, moment.parts) == ({"a": 1}, None)
    assert (text.content_hash, text.chain_hash) == ("01", "02")


def test_every_answer_is_json_after_to_dict():
    """Doors print it as it is, so nothing may be left that JSON does not have."""
    ended = model.make_session((*SESSION_ROW[:7], AT, *SESSION_ROW[8:]))
    erased = model.make_event((*EVENT_ROW[:10], AT))
    state = model.make_state(("s1", '{"a":1}', AT_TEXT))
    change = model.SetChange("files", ("/b",), ("/b",), ("/a",), {"files": ["/b"]})
    found = model.Verification("s1", 7, 1, ("number 3 was edited",))

    assert json.loads(json.dumps(ended.to_dict()))["ended_at"] == AT_TEXT
    assert model.make_session(SESSION_ROW).to_dict()["ended_at"] is None
    assert json.loads(json.dumps(erased.to_dict()))["erased_at"] == AT_TEXT
    assert model.make_event(EVENT_ROW).to_dict()["erased_at"] is None
    assert state.to_dict() == {"session_id": "s1", "scratchpad": {"a": 1}, "updated_at": AT_TEXT}
    assert change.to_dict() == {"context": {"files": ["/b"]}, "added": ["/b"], "removed": ["/a"]}
    assert found.to_dict() == {
        "session_id": "s1",
        "checked": 7,
        "erased": 1,
        "damage": ["number 3 was edited"],
        "ok": False,
    }


def test_a_session_without_damage_is_ok():
    assert model.Verification("s1", 7, 0, ()).ok
