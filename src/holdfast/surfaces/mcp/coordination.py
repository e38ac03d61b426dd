"""The `covibe_coordination` tool: reserve files for a time, and hand a reservation over.

The interface keeps the word `claim` for a reservation. It keeps nobody out: others are told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.ground.off_loop import off_loop
from holdfast.surfaces.mcp import exchange_data, exchange_text
from holdfast.surfaces.mcp.answer import Answer
from holdfast.surfaces.mcp.call import describe_repeated
from holdfast.surfaces.mcp.exchange_calls import (
    counting,
    fill_in,
    find_own_place,
    find_own_session,
    get_key,
)
from holdfast.surfaces.mcp.exchange_data import CountedNotes, Reader
from holdfast.surfaces.mcp.published_contexts import GET
from holdfast.surfaces.mcp.tool import TEXT, TEXTS, Operation, Schema, Tool

if TYPE_CHECKING:
    from holdfast.surfaces.mcp.call import Call
    from holdfast.team.model import Handoff, Reservation
    from holdfast.write import Done

PLACE = ("repo", "branch", "ttl_minutes")
CLAIM_FIELDS = (
    *("id", "developer", "repo", "branch", "paths", "reason", "session_id", "expires_at"),
    "released_at",
)
HANDOFF_FIELDS = (
    *("id", "status", "claim_id", "repo", "branch", "paths", "reason", "note"),
    *("context", "expires_at"),
)
OF_THE_CLAIM = ("repo", "reason")
KNOWN_ELSEWHERE = ("expires_at", "to")
RELEASE = "covibe_coordination operation=release claim_id={id}"
COMPLETE = "covibe_coordination operation=complete handoff_id={id}"
MORE_OVERLAP = "{count:,} more overlap: covibe_team operation=state"


async def claim(call: Call) -> Answer:
    from holdfast.usecases import exchange

    given = call.pick("paths", "reason", *PLACE)
    async with counting(call):
        session_id = await find_own_session(call)
        place = await find_own_place(call)
    seen = fill_in(call, place, session_id)
    done = await exchange.claim(call.scope, given, get_key(call), seen)
    return _answer_claim(call, done, await _find_overlaps(call, done.result))


async def release(call: Call) -> Answer:
    from holdfast.usecases import exchange

    done = await exchange.release(call.scope, call.arguments["claim_id"], get_key(call))
    return _answer_claim(call, done)


async def handoff(call: Call) -> Answer:
    from holdfast.usecases import exchange

    given = call.pick("claim_id", "to", "note")
    return _answer_handoff(call, await exchange.handoff(call.scope, given, get_key(call)))


async def accept(call: Call) -> Answer:
    """What is accepted is reserved in the caller's session, if there is one."""
    async with counting(call):
        session_id = await find_own_session(call)
    return await _answer_offer(call, "accept", session_id)


async def decline(call: Call) -> Answer:
    return await _answer_offer(call, "decline")


async def complete(call: Call) -> Answer:
    return await _answer_offer(call, "complete")


async def cancel(call: Call) -> Answer:
    return await _answer_offer(call, "cancel")


async def _answer_offer(call: Call, operation: str, session_id: str | None = None) -> Answer:
    from holdfast.usecases import exchange

    handoff_id = call.arguments["handoff_id"]
    done = await exchange.answer_handoff(
        call.scope, operation, handoff_id, get_key(call), session_id
    )
    return _answer_handoff(call, done)


# --- overlaps -------------------------------------------------------------------------------------


async def _find_overlaps(call: Call, own: Reservation) -> CountedNotes:
    """Who else works on the same files of the same repository, as far as the caller may know."""
    from holdfast.usecases import exchange
    from holdfast.usecases.overlaps import describe_overlaps, list_overlaps

    near = await exchange.list_claims_near(call.scope, own.repo)
    found = await off_loop(list_overlaps, own, near)
    return CountedNotes(describe_overlaps(found), len(found), MORE_OVERLAP)


# --- answers --------------------------------------------------------------------------------------


def _answer_claim(
    call: Call, done: Done[Reservation], overlaps: CountedNotes = exchange_data.NO_NOTES
) -> Answer:
    reader = Reader(call.app)
    whole = exchange_data.make_claim(done.result)
    brief = _pick(whole, CLAIM_FIELDS)
    author = exchange_data.find_author(reader, whole)
    authors = [author] if author else []

    def make(text_chars: int, entries: int) -> dict[str, Any]:
        shown = exchange_data.shorten_texts(brief, text_chars, entries)
        return reader.enclose({"claim": shown}, authors, whole["reserved_at"])

    def describe(data: Mapping[str, Any]) -> str:
        found = {**whole, **data["claim"]}
        line = exchange_text.write_claim_line(reader, found)
        if author is None:
            return f"{line}\n  {found['reason']}" if found["reason"] else line
        words = exchange_text.make_claim_words(reader, found)
        return "\n".join([line, *exchange_text.write_words(reader, words)])

    actions = []
    if done.result.released_at is None:
        actions.append(RELEASE.format(id=done.result.id))
    warnings = describe_repeated(done)
    is_others = author is not None
    return exchange_data.fit_write(make, describe, warnings, actions, overlaps, is_others=is_others)


def _answer_handoff(call: Call, done: Done[Handoff]) -> Answer:
    """With the giver's context, whose words are fenced for everyone else.

    For want of room the summary of the context and what the offer already said of the claim leave
    first: who accepts needs the paths and the note.
    """
    reader = Reader(call.app)
    whole = exchange_data.make_handoff(done.result)
    people = {name: {"handle": whole[name]["handle"]} for name in ("giver", "to") if whole[name]}
    brief = {**_pick(whole, HANDOFF_FIELDS), **people, "context": whole["context"]}
    if whole["taken_claim_id"]:
        brief["taken_claim_id"] = whole["taken_claim_id"]

    without_rest = {name: value for name, value in brief.items() if name not in OF_THE_CLAIM}
    if whole["context"]:
        without_rest["context"] = _pick(whole["context"], ("id", "title"))

    def make(text_chars: int, entries: int) -> dict[str, Any]:
        shown = brief if (text_chars, entries) == exchange_data.LONGEST else without_rest
        shown = exchange_data.shorten_texts(shown, text_chars, entries)
        if not entries:  # long handles leave no room
            shown = {name: shown[name] for name in shown if name not in KNOWN_ELSEWHERE}
        return reader.enclose({"handoff": shown}, [whole["giver"]], whole["offered_at"])

    def describe(data: Mapping[str, Any]) -> str:
        people = {name: whole[name] for name in ("giver", "to")}
        found = {**whole, "reason": "", **data["handoff"], **people}
        line = exchange_text.write_handoff_line(reader, found)
        words = exchange_text.make_handoff_words(reader, found)
        return "\n".join([line, *exchange_text.write_words(reader, [words])])

    actions = list_next(reader, whole)
    is_others = reader.is_of_other(whole["giver"])
    return exchange_data.fit_write(
        make, describe, describe_repeated(done), actions, is_others=is_others
    )


def list_next(reader: Reader, handoff: Mapping[str, Any]) -> list[str]:
    """Who accepted reads what the giver published; without that there is only the work."""
    if handoff["status"] != "accepted" or not reader.is_of_other(handoff["giver"]):
        return []
    if handoff["context"]:
        return [f"{GET} developer={handoff['giver']['handle']}"]
    return [COMPLETE.format(id=handoff["id"])]


def _pick(whole: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: whole[name] for name in names if name in whole}


# --- the tool -------------------------------------------------------------------------------------


def _make_properties() -> dict[str, Schema]:
    return {
        **dict.fromkeys(("repo", "branch"), TEXT),
        "paths": TEXTS,
        "reason": TEXT,
        "ttl_minutes": {"type": "integer"},
        **dict.fromkeys(("claim_id", "to", "note", "handoff_id"), TEXT),
        "idempotency_key": TEXT,
    }


ANSWERS = {"accept": accept, "decline": decline, "complete": complete, "cancel": cancel}
TOOLS = (
    Tool(
        "covibe_coordination",
        "Claim files and hand them over",
        (
            Operation(
                "claim",
                claim,
                needs=("paths", "reason"),
                takes=PLACE,
                writes=True,
                is_in_session=False,
            ),
            Operation(
                "release",
                release,
                needs=("claim_id",),
                writes=True,
                is_in_session=False,
            ),
            Operation(
                "handoff",
                handoff,
                needs=("claim_id",),
                takes=("to", "note"),
                writes=True,
                is_in_session=False,
            ),
            *(
                Operation(
                    name,
                    run,
                    needs=("handoff_id",),
                    writes=True,
                    is_in_session=False,
                )
                for name, run in ANSWERS.items()
            ),
        ),
        _make_properties,
        hints={
            "readOnlyHint": False,
            "destructiveHint": False,
            "idempotentHint": False,
            "openWorldHint": True,
        },
        is_of_team=True,
    ),
)
