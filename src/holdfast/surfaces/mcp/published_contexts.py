"""The `covibe_session` tool: publish what one works on, and read what teammates published."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.ground.off_loop import off_loop
from holdfast.surfaces.mcp import exchange_data, exchange_text
from holdfast.surfaces.mcp.answer import SHORTER, Answer, count_chars, count_fitting
from holdfast.surfaces.mcp.call import describe_repeated
from holdfast.surfaces.mcp.exchange_calls import (
    counting,
    fill_in,
    find_own_place,
    find_own_session,
    get_key,
)
from holdfast.surfaces.mcp.exchange_data import Reader
from holdfast.surfaces.mcp.tool import DETAIL, TEXT, TEXTS, Operation, Schema, Tool

if TYPE_CHECKING:
    from holdfast.app import App
    from holdfast.surfaces.mcp.call import Call
    from holdfast.team.freshness import Freshness
    from holdfast.team.model import ListPlace, PublishedContext
    from holdfast.write import Done

FIELDS = (
    *("files_touched", "next_actions", "blockers", "task_ids"),
    *("repo", "branch", "ttl_hours"),
)
LIST_CHARS = 12_000
AROUND_CHARS = 900  # markers, warnings and next calls
TITLES_CHARS = 3_500
TITLES = (10, 6, 3, 0)  # the first number that fits
MOST_NAMED = 5
GET = "covibe_session operation=get_context"
NO_MORE = "No more contexts are active now."
NONE = "No teammate has published a context that is active now."


async def publish_context(call: Call) -> Answer:
    from holdfast.usecases import exchange
    from holdfast.usecases.freshness import make_basis

    given = call.pick("title", "summary", *FIELDS, "session_id")
    async with counting(call):
        session_id = await find_own_session(call)
        place = await find_own_place(call)
    seen = fill_in(call, place, session_id)
    basis = None
    if place is not None:
        files = seen.get("files_touched", ())
        basis = await off_loop(make_basis, place.worktree, files)
    done = await exchange.publish_context(call.scope, given, get_key(call), basis, seen)
    return _answer_change(call, done)


async def get_context(call: Call) -> Answer:
    from holdfast.usecases import exchange, exchange_place

    developer = call.arguments.get("developer")
    worktree = call.caller.worktree
    async with counting(call):
        place = find_place(call.arguments.get("cursor"))
    contexts = await exchange.get_contexts(call.scope, developer, place)
    if place is not None and not contexts:
        return Answer({"contexts": []}, text=NO_MORE)
    is_here = await off_loop(exchange_place.find_here, worktree)
    fresh = await off_loop(exchange_place.compare_with, worktree, contexts)
    return make_contexts_answer(
        call.app, contexts, fresh, is_here, developer=developer, is_whole=call.wants_detail
    )


def find_place(cursor: object) -> ListPlace | None:
    from holdfast.team.fields import check_list_place

    return None if cursor is None else check_list_place("cursor", cursor)


async def revoke_context(call: Call) -> Answer:
    from holdfast.usecases import exchange

    done = await exchange.revoke_context(call.scope, call.arguments["context_id"], get_key(call))
    return _answer_change(call, done)


def _answer_change(call: Call, done: Done[PublishedContext]) -> Answer:
    """One's own context as it is stored now; its basis is the first to give way for room."""
    reader = Reader(call.app)
    whole = exchange_data.make_context(done.result)
    counts = exchange_data.count_parts(whole)
    warnings = describe_repeated(done)
    if call.wants_detail:
        text = exchange_text.write_context(reader, whole, counts)
        return Answer({"context": whole}, warnings, text=text)
    without_basis = {name: value for name, value in whole.items() if name != "basis"}

    def make(text_chars: int, entries: int) -> dict[str, Any]:
        shown = whole if (text_chars, entries) == exchange_data.LONGEST else without_basis
        short = exchange_data.shorten_texts(shown, text_chars, entries)
        return {"context": short if entries else exchange_data.drop_empty(short)}

    def describe(data: Mapping[str, Any]) -> str:
        return exchange_text.write_context(reader, data["context"], counts)

    return exchange_data.fit_write(make, describe, warnings)


# --- lists ----------------------------------------------------------------------------------------


class Shown:
    """A context as both halves of an answer show it."""

    def __init__(self, reader: Reader, context: PublishedContext, fresh: Freshness | None):
        self.reader = reader
        self.context = context
        self.fresh = fresh
        self.data = exchange_data.make_context(context)
        self.counts = exchange_data.count_parts(self.data)
        self.is_whole = True

    @property
    def text(self) -> str:
        return exchange_text.write_context(self.reader, self.data, self.counts, self.fresh)

    @property
    def chars(self) -> int:
        return max(count_chars(self.data), len(self.text)) + 2

    def shorten_to(self, room: int) -> None:
        """For one that is longer than an answer."""
        whole = self.data
        for text_chars, entries in SHORTER:
            if self.chars <= room:
                break
            self.data = exchange_data.shorten_texts(whole, text_chars, entries)
            self.is_whole = False


def make_contexts_answer(
    app: App,
    contexts: Sequence[PublishedContext],
    fresh: Mapping[str, Freshness],
    is_here: Callable[[PublishedContext], bool],
    *,
    developer: object = None,
    is_whole: bool = False,
) -> Answer:
    """The newest: as many in full as fit, and, where not all are wanted whole, some more by their
    titles. A cursor leads to the others. Of those in full, the ones of the reader's repository come
    first.
    """
    reader = Reader(app)
    if not contexts:
        return Answer({"contexts": []}, text=NONE)
    newest, rest = _divide(reader, contexts, fresh, is_whole=is_whole)
    full = sorted(newest, key=lambda each: not is_here(each.context))
    for titles in (0,) if is_whole else TITLES:
        answer = _answer_page(reader, contexts, full, rest[:titles], developer, is_whole=is_whole)
        if answer.chars <= LIST_CHARS:
            break
    return answer


def _answer_page(
    reader: Reader,
    contexts: Sequence[PublishedContext],
    full: Sequence[Shown],
    brief: Sequence[PublishedContext],
    developer: object,
    *,
    is_whole: bool,
) -> Answer:
    """Some in full, those after them by their titles, and how to read the others."""
    from holdfast.team.model import ListPlace
    from holdfast.team.service import ENDS_OF_ALL, may_be_cut

    titled = [_make_titled(context) for context in brief]
    data = _make_data(reader, full, titled)
    authors = [context.developer.__dict__ for context in (*contexts[: len(full)], *brief)]
    text = "\n\n".join([each.text for each in full])
    if titled:
        text += "\n\n" + _write_titled(reader, titled)
    at = full[0].data["published_at"]
    rest = contexts[len(full) :]
    warnings = list(_list_warnings(full, rest, len(titled)))
    if may_be_cut(contexts):
        warnings.append(ENDS_OF_ALL)
    actions = [] if is_whole else list(_list_actions(developer, full, rest))
    shown = len(full) + len(titled)
    if shown < len(contexts) or may_be_cut(contexts):
        place = ListPlace.of(contexts[shown - 1])
        actions.append(_word_next_page(developer, place, is_whole=is_whole))
    data = {**reader.enclose(data, authors, at), **_compare_here(reader, full)}
    return Answer(data, warnings, actions, text=text)


def _divide(
    reader: Reader,
    contexts: Sequence[PublishedContext],
    fresh: Mapping[str, Freshness],
    *,
    is_whole: bool,
) -> tuple[list[Shown], Sequence[PublishedContext]]:
    """What is shown in full, and what is left; of one that is wanted whole nothing is cut."""
    made: list[Shown] = []

    def iterate_costs() -> Iterator[int]:
        for context in contexts:
            made.append(Shown(reader, context, fresh.get(context.id)))
            yield made[-1].chars

    room = LIST_CHARS - AROUND_CHARS
    count = count_fitting(iterate_costs(), room)
    if is_whole:
        return made[:count], contexts[count:]
    if count < len(contexts):
        room -= TITLES_CHARS
        count = count_fitting((each.chars for each in made), room)
    full = made[:count]
    full[0].shorten_to(room)
    return full, contexts[count:]


def _make_data(
    reader: Reader, full: Sequence[Shown], titled: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    data: dict[str, Any] = {"contexts": [each.data for each in full]}
    if titled:
        data["more_contexts"] = list(titled)
    shown = [*data["contexts"], *titled]
    own = [each["id"] for each in shown if not reader.is_of_other(each["developer"])]
    if own:
        data["yours"] = own
    return data


def _compare_here(reader: Reader, full: Sequence[Shown]) -> dict[str, Any]:
    """What was found on the reader's checkout, behind the markers: no teammate has written it."""
    freshness = {
        each.data["id"]: _make_freshness(reader, each, each.fresh) for each in full if each.fresh
    }
    return {"freshness": freshness} if freshness else {}


def _make_freshness(reader: Reader, shown: Shown, fresh: Freshness) -> dict[str, Any]:
    """Only the files that are not the same here: the others are named in the context."""
    from holdfast.team.freshness import DIFFERS, MISSING, describe_checkout

    record = exchange_data.make_context(shown.context)
    paths = shown.context.files_touched
    names = exchange_text.list_shown_paths(reader, record, paths)
    made: dict[str, Any] = {"text": describe_checkout(fresh)}
    for name, state in (("differs", DIFFERS), ("missing_here", MISSING)):
        found = [
            called
            for path, called in zip(paths, names, strict=True)
            if fresh.files.get(path) == state
        ]
        if found:
            made[name] = found
    return made


def _make_titled(context: PublishedContext) -> dict[str, Any]:
    brief = exchange_data.make_brief_context(context)
    brief["title"] = exchange_data.cut_title(brief["title"])
    for name in ("summary", "expires_at"):
        del brief[name]
    return exchange_data.drop_empty(brief)


def _write_titled(reader: Reader, titled: Sequence[dict[str, Any]]) -> str:
    rows = [exchange_text.write_titled_line(reader, each) for each in titled]
    words = [exchange_text.make_title_words(reader, each) for each in titled]
    blocks = exchange_text.write_words(reader, words)
    return "\n".join(["More, by title:", *(f"- {row}" for row in rows), *blocks])


def _list_warnings(
    full: Sequence[Shown], rest: Sequence[PublishedContext], titles: int
) -> Iterator[str]:
    if not full[0].is_whole:
        yield "The first context is shortened: it is longer than an answer."
    titled, left = min(len(rest), titles), max(0, len(rest) - titles)
    if titled:
        yield f"Of {titled:,} more only the title is shown, and {left:,} are not shown."
    elif left:
        yield f"{left:,} more are not shown."


def _list_actions(
    developer: object, full: Sequence[Shown], rest: Sequence[PublishedContext]
) -> Iterator[str]:
    handles = [] if full[0].is_whole else [full[0].data["developer"]["handle"]]
    handles += [context.developer.handle for context in rest]
    for handle in list(dict.fromkeys(handles))[:MOST_NAMED]:
        detail = " detail=true" if developer is not None or not full[0].is_whole else ""
        yield f"{GET} developer={handle}{detail}"


def _word_next_page(developer: object, place: ListPlace, *, is_whole: bool) -> str:
    words = [GET, f"developer={developer}" if developer is not None else ""]
    words += ["detail=true" if is_whole else "", f"cursor={place}"]
    return " ".join(word for word in words if word)


# --- the tool -------------------------------------------------------------------------------------


def _make_properties() -> dict[str, Schema]:
    return {
        **dict.fromkeys(("title", "summary"), TEXT),
        **dict.fromkeys(("files_touched", "next_actions", "blockers", "task_ids"), TEXTS),
        **dict.fromkeys(("repo", "branch"), TEXT),
        "ttl_hours": {"type": "integer"},
        **dict.fromkeys(("developer", "context_id"), TEXT),
        "detail": DETAIL,
        **dict.fromkeys(("cursor", "session_id", "idempotency_key"), TEXT),
    }


TOOLS = (
    Tool(
        "covibe_session",
        "Publish work in progress and read that of teammates",
        (
            Operation(
                "publish_context",
                publish_context,
                needs=("title", "summary"),
                takes=(*FIELDS, "detail"),
                writes=True,
            ),
            Operation("get_context", get_context, takes=("developer", "detail", "cursor")),
            Operation(
                "revoke_context",
                revoke_context,
                needs=("context_id",),
                takes=("detail",),
                writes=True,
            ),
        ),
        _make_properties,
        # A context is replaced by the next one; others read it, and nobody outside of the team.
        hints={
            "readOnlyHint": False,
            "destructiveHint": False,
            "idempotentHint": False,
            "openWorldHint": True,
        },
        is_of_team=True,
    ),
)
