"""The `covibe_team` tool: who is here, what they published, work on and hand over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.errors import InvalidValueError
from holdfast.surfaces.mcp import exchange_data, exchange_text
from holdfast.surfaces.mcp.answer import WRITTEN_TEXT_CHARS, Answer, count_chars
from holdfast.surfaces.mcp.exchange_calls import counting
from holdfast.surfaces.mcp.exchange_data import Reader
from holdfast.surfaces.mcp.published_contexts import GET, LIST_CHARS, MOST_NAMED, find_place
from holdfast.surfaces.mcp.tool import DETAIL, TEXT, Operation, Tool

if TYPE_CHECKING:
    from holdfast.surfaces.mcp.call import Call
    from holdfast.team.model import TeamState

KINDS = {
    "developers": "developers",
    "published_contexts": "published contexts",
    "claims": "claims",
    "handoffs": "handoffs",
}
# The lists that may go on in the store, and what the place is called where one went on.
PLACES = {"published_contexts": "contexts_below", "claims": "claims_below"}
WHOLE = "covibe_team operation=state detail=true"
ITEMS = 20
ROOMS = (LIST_CHARS - 1_500, LIST_CHARS // 2, LIST_CHARS // 4, 1)
Lists = Mapping[str, Sequence[dict[str, Any]]]
# How long a text and how many of each kind, from mild to severe.
STEPS = (
    *((WRITTEN_TEXT_CHARS, 50), (WRITTEN_TEXT_CHARS, 20), (200, 15), (120, 12), (80, 10)),
    *((60, 6), (40, 4), (40, 2), (40, 1)),
)


async def state(call: Call) -> Answer:
    from holdfast.team.service import may_be_cut
    from holdfast.usecases import exchange

    async with counting(call):
        kind, below = _read_cursor(call.arguments.get("cursor"))
        place = find_place(below) if kind in PLACES else None
    edges = {PLACES[kind]: place} if place else {}
    found = await exchange.get_state(call.scope, **edges)
    reader = Reader(call.app)
    lists = _make_lists(found)
    if call.wants_detail or kind:
        return _answer_page(reader, found, _skip(lists, kind, below), is_first=not kind)
    steps = list(_list_actions(reader, lists))
    for text_chars, entries in STEPS:
        shown = {name: records[:entries] for name, records in lists.items()}
        has_more = shown != lists or may_be_cut(*lists.values())
        actions = [*steps, WHOLE] if has_more else steps
        answer = _make_answer(reader, found, lists, shown, text_chars, actions)
        if answer.chars <= LIST_CHARS:
            break
    return answer


# --- pages ----------------------------------------------------------------------------------------


def _read_cursor(cursor: object) -> tuple[str, str]:
    """The list that a page ended in, and where: a place that the store knows, or an id."""
    if cursor is None:
        return "", ""
    kind, _, below = cursor.partition(":") if isinstance(cursor, str) else ("", "", "")
    if kind not in KINDS:
        problem = "is not a cursor; leave it out for the first page"
        raise InvalidValueError("cursor", cursor, problem)
    return kind, below


def _skip(lists: Lists, kind: str, below: str) -> Lists:
    """Without what was on the pages before; from a place the store has gone on itself."""
    if not kind:
        return lists
    names = list(lists)
    before = names[: names.index(kind)]
    rest = {name: [] if name in before else records for name, records in lists.items()}
    if kind not in PLACES:
        known = [each["id"] for each in rest[kind]]
        if below not in known:
            problem = "is outdated, because the list has changed; leave it out for the first page"
            raise InvalidValueError("cursor", f"{kind}:{below}", problem)
        rest[kind] = rest[kind][known.index(below) + 1 :]
    return rest


def _answer_page(reader: Reader, found: TeamState, lists: Lists, *, is_first: bool) -> Answer:
    """As much as fits, in the order of the lists; the last next step leads to the rest."""
    for room in ROOMS:
        shown, cursor = _fill(lists, room)
        if cursor is not None or not is_first:  # what is not on this page is not said to be none
            shown = {name: records for name, records in shown.items() if records}
        actions = list(_list_actions(reader, shown))
        if cursor is not None:
            actions.append(f"{WHOLE} cursor={cursor}")
        answer = _make_answer(reader, found, lists, shown, WRITTEN_TEXT_CHARS, actions)
        if answer.chars <= LIST_CHARS:
            break
    return answer


def _fill(lists: Lists, room: int) -> tuple[Lists, str | None]:
    """One entry at least; a list that goes on in the store ends a page."""
    from holdfast.team.service import may_be_cut

    shown: dict[str, list[dict[str, Any]]] = {name: [] for name in lists}
    end = None
    for name, records in lists.items():
        for record in records:
            room -= count_chars(exchange_data.shorten_texts(record, WRITTEN_TEXT_CHARS, ITEMS))
            if room < 0 and end is not None:
                return shown, end
            shown[name].append(record)
            end = _write_cursor(name, record)
        if name in PLACES and may_be_cut(records):
            return shown, end
    return shown, None


def _write_cursor(kind: str, last: Mapping[str, Any]) -> str:
    from holdfast.team.model import ListPlace

    if kind not in PLACES:
        return f"{kind}:{last['id']}"
    at = last.get("reserved_at") or last["published_at"]
    return f"{kind}:{ListPlace(at, last['id'], last.get('is_soft', False))}"


# --- answers --------------------------------------------------------------------------------------


def _make_lists(found: TeamState) -> dict[str, list[dict[str, Any]]]:
    make = exchange_data
    return {
        "developers": [make.make_developer(each) for each in found.developers],
        "published_contexts": [make.make_brief_context(each) for each in found.published_contexts],
        "claims": [make.make_claim(each) for each in found.claims],
        "handoffs": [make.make_handoff(each) for each in found.handoffs],
    }


def _make_answer(
    reader: Reader,
    found: TeamState,
    lists: Lists,
    shown: Lists,
    text_chars: int,
    actions: Sequence[str],
) -> Answer:
    from holdfast.team.service import ENDS, may_be_cut

    short = {
        name: [exchange_data.shorten_texts(each, text_chars, ITEMS) for each in records]
        for name, records in shown.items()
    }
    data = {"me": exchange_data.make_developer(found.me), **short}
    left = {name: len(records) - len(shown.get(name, ())) for name, records in lists.items()}
    counts = [f"{count:,} more {KINDS[name]}" for name, count in left.items() if count]
    warnings = [f"Not shown: {', '.join(counts)}."] if counts else []
    if may_be_cut(*lists.values()):
        warnings.append(ENDS)
    text = exchange_text.describe_state(reader, data)
    found_authors = [
        exchange_data.find_author(reader, each) for records in short.values() for each in records
    ]
    authors = [author for author in found_authors if author is not None]
    newest = _find_newest(short)
    return Answer(reader.enclose(data, authors, newest), warnings, actions, text=text)


def _find_newest(shown: Lists) -> str:
    return max((each["published_at"] for each in shown.get("published_contexts", ())), default="")


def _list_actions(reader: Reader, lists: Lists) -> Iterator[str]:
    yield from _list_offers(reader, lists.get("handoffs", ()))
    yield from _list_reads(reader, lists.get("published_contexts", ()))


def _list_offers(reader: Reader, handoffs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What the reader may take over."""
    from holdfast.team.model import OFFERED

    open_ones = [each for each in handoffs if each["status"] == OFFERED]
    offered = [each for each in open_ones if reader.is_of_other(each["giver"])]
    for each in offered[:MOST_NAMED]:
        yield f"covibe_coordination operation=accept handoff_id={each['id']}"


def _list_reads(reader: Reader, contexts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """How to read more than titles and beginnings, where there is more of another."""
    authors = [each["developer"] for each in contexts]
    handles = [each["handle"] for each in authors if reader.is_of_other(each)]
    for handle in list(dict.fromkeys(handles))[:MOST_NAMED]:
        yield f"{GET} developer={handle}"


TOOLS = (
    Tool(
        "covibe_team",
        "See who works on what",
        (Operation("state", state, takes=("detail", "cursor"), is_in_session=False),),
        lambda: {"detail": DETAIL, "cursor": TEXT},
        hints={
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": True,
        },
        is_of_team=True,
    ),
)
