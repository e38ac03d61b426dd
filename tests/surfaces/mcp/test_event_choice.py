"""What is chosen of any log, in any room."""

from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from holdfast.sessions.model import SessionEvent
from holdfast.surfaces.mcp.event_choice import EventChoice, Wanted, choose_events
from holdfast.surfaces.mcp.event_forms import EventForms, count_event
from holdfast.surfaces.mcp.recent import make_brief_event

LEAST_ROOM = 600
KINDS = {
    "user_message": "user",
    "model_message": "assistant",
    "tool_call": "assistant",
    "tool_result": "tool",
    "system_event": "system",
}
LETTERS = ("x", "word ", "\n", "\x01", "é", '"')
PARTS: tuple[dict[str, Any] | None, ...] = (
    None,
    {"tool": "Bash", "input": {"command": "make"}},
    {"tool": "Edit", "input": {"file_path": "a.py", "text": "y" * 2_000}},
)
lengths = st.sampled_from([0, 1, 50, 300, 2_000, 20_000])
logged = st.tuples(
    st.sampled_from(list(KINDS)), lengths, st.sampled_from(LETTERS), st.sampled_from(PARTS)
)
logs = st.lists(logged, min_size=1, max_size=25)
rooms = st.sampled_from([LEAST_ROOM, 1_500, 7_500, 30_000, 400_000])


def make_forms(log: list[tuple[str, int, str, Any]], room: int) -> list[EventForms]:
    forms = []
    for number, (kind, length, letter, parts) in enumerate(log, 1):
        event = SessionEvent(
            id="0197a1b2-0000-7000-8000-000000000000",
            session_id="s",
            sequence=number,
            type=kind,
            role=KINDS[kind],
            content=letter * length,
            parts=parts,
            created_at=datetime(2026, 11, 17, 9, 30, 12, 123456, tzinfo=UTC),
        )
        forms.append(EventForms(event, make_brief_event(event), room))
    return forms


def choose(forms: list[EventForms], room: int) -> tuple[EventChoice, EventForms | None]:
    said = [form for form in forms if form.fields["type"] == "user_message"]
    newest = said[-1] if said else None
    return choose_events(forms, Wanted(newest), room, is_complete=True), newest


@given(logs, rooms)
def test_the_room_holds_the_newest_event_and_the_newest_user_message(log, room):
    forms = make_forms(log, room)
    choice, newest_said = choose(forms, room)

    shown = choice.list_forms()
    assert sum(map(count_event, shown)) <= room
    assert shown[-1]["sequence"] == len(log)
    assert newest_said is None or newest_said.sequence in choice.forms
    numbers = [form["sequence"] for form in shown]
    assert numbers == sorted(numbers)


@given(logs, rooms)
def test_no_output_is_whole_that_could_be_shorter_while_something_else_is_not(log, room):
    forms = make_forms(log, room)
    choice, _ = choose(forms, room)

    tools = [form for form in forms if form.is_tool and choice.has_whole(form)]
    long_ones = [form for form in tools if count_event(form.make_brief()) < form.whole_cost]
    others = [form for form in forms if not form.is_tool]
    if long_ones:
        assert all(map(choice.has_whole, others))


@given(logs, rooms)
def test_everything_is_whole_where_everything_fits(log, room):
    forms = make_forms(log, room)
    choice, _ = choose(forms, room)

    if sum(form.whole_cost for form in forms) <= room:
        assert all(map(choice.has_whole, forms))


@given(logs, rooms)
def test_a_shortened_message_says_how_much_is_left_out_between_its_ends(log, room):
    forms = make_forms(log, room)
    choice, _ = choose(forms, room)

    for number, form in choice.forms.items():
        kind, length, letter, _parts = log[number - 1]
        if "chars" in form and kind in ("user_message", "model_message"):
            beginning, end = form["content"].split("\n[… ", 1)
            count, end = end.split(" characters left out …]\n", 1)
            content = letter * length
            assert content.startswith(beginning)
            assert content.endswith(end)
            assert len(beginning) + len(end) + int(count.replace(",", "")) == len(content)
            assert form["chars"] == len(content)
