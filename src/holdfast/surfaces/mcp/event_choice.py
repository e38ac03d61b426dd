"""Which events an answer holds, and in which form. Pure.

What was asked and answered says more about the work than what tools printed. So messages come
first, and the outputs of tools are shortened before a message is. An output is whole only where
everything else is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.ground.frozen import dataclass
from holdfast.surfaces.mcp.event_forms import EventForms, count_event

MESSAGE_COST = 500  # with less room, a message that does not fit is left out
NEWEST_SHARE = 3  # the newest event has this part of the room, whatever was asked
TOOLS_SHARE = 4  # and all that is not a message this one, while messages are left out


@dataclass(frozen=True)
class Wanted:
    """What an answer should not be without."""

    message: EventForms | None = None  # the newest user message
    request: EventForms | None = None  # of a person, where that is another
    offer: EventForms | None = None  # what the agent said before the request

    def list_known(self) -> list[EventForms]:
        events = (self.message, self.request, self.offer)
        return [event for event in events if event is not None]


class EventChoice:
    """The forms of the chosen events, by number."""

    def __init__(self, newest_first: Sequence[EventForms], wanted: Wanted, room: int):
        known = {event.sequence: event for event in (*newest_first, *wanted.list_known())}
        self.events = sorted(known.values(), key=lambda event: -event.sequence)
        self.wanted = wanted
        self.forms: dict[int, dict[str, Any]] = {}
        self.costs: dict[int, int] = {}
        self.left = room

    @property
    def messages(self) -> list[EventForms]:
        return [event for event in self.events if event.is_message]

    @property
    def others(self) -> list[EventForms]:
        return [event for event in self.events if not event.is_message]

    def has_whole(self, event: EventForms) -> bool:
        form = self.forms.get(event.sequence)
        return form is not None and event.is_whole(form)

    def count_needed(self) -> int:
        """The characters with which each message that is shown or wanted would be whole."""
        known = {*self.forms, *(event.sequence for event in self.wanted.list_known())}
        shown = [event for event in self.events if event.sequence in known]
        costs = [event.whole_cost for event in shown if event.is_message]
        costs += [self.costs[event.sequence] for event in shown if not event.is_message]
        return sum(costs)

    def list_forms(self) -> list[dict[str, Any]]:
        """Oldest first."""
        return [self.forms[sequence] for sequence in sorted(self.forms)]

    def put(self, event: EventForms, room: int) -> bool:
        form = event.find_form(min(room, self.left))
        return form is not None and self.put_form(event, form)

    def put_form(self, event: EventForms, form: dict[str, Any]) -> bool:
        """In the place of another form of the event; not where there is too little room."""
        cost = count_event(form)
        left = self.left + self.costs.get(event.sequence, 0) - cost
        if left < 0:
            return False
        self.left = left
        self.forms[event.sequence] = form
        self.costs[event.sequence] = cost
        return True


def choose_events(
    newest_first: Sequence[EventForms],
    wanted: Wanted,
    room: int,
    *,
    is_complete: bool,
    detail: bool = False,
) -> EventChoice:
    """`is_complete`: these are all events that were asked for. `detail`: no output is shortened
    that could be sent whole.
    """
    choice = EventChoice(newest_first, wanted, room)
    if not choice.events:
        return choice
    brief = {event.sequence: _choose_brief(event, detail=detail) for event in choice.others}
    _take_wanted(choice, brief, room)
    keep = min(room // TOOLS_SHARE, sum(map(count_event, brief.values())))
    _take_messages(choice, keep)
    _take_others(choice, brief)
    _take_messages(choice)
    if is_complete and all(map(choice.has_whole, choice.messages)):
        _expand(choice, [event for event in choice.others if not event.is_tool])
        if all(choice.has_whole(event) for event in choice.others if not event.is_tool):
            _expand(choice, choice.others)
    return choice


def _choose_brief(event: EventForms, *, detail: bool) -> dict[str, Any]:
    if detail and event.is_sendable:
        return event.fields
    return event.make_brief()


def _take_wanted(choice: EventChoice, brief: Mapping[int, dict[str, Any]], room: int) -> None:
    newest, wanted = choice.events[0], choice.wanted
    share = room // NEWEST_SHARE
    kept_back = 0
    if newest is not wanted.message:
        cost = (
            count_event(brief[newest.sequence]) if newest.sequence in brief else newest.whole_cost
        )
        kept_back = max(newest.least_cost, min(cost, share))
    if wanted.message is not None:
        most = room - kept_back
        if wanted.request is not None:
            most = max(wanted.message.least_cost, share)
        _put_message(choice, wanted.message, most, is_alone=len(choice.events) == 1)
    if newest.sequence not in choice.forms:
        is_put = newest.sequence in brief and choice.put_form(newest, brief[newest.sequence])
        if not is_put:
            choice.put(newest, choice.left)
    for event in (wanted.request, wanted.offer):
        if event is not None and event.sequence not in choice.forms:
            _put_message(choice, event, choice.left)


def _put_message(
    choice: EventChoice, event: EventForms, room: int, *, is_alone: bool = False
) -> None:
    """Whole, or shortened so that a part of the room is left for what else there is."""
    is_whole = is_alone or event.whole_cost <= room
    part = room if is_whole else room * 3 // 4
    if not choice.put(event, part):
        choice.put(event, room)


def _take_messages(choice: EventChoice, keep: int = 0) -> None:
    """Newest first; one that is too long hides neither itself nor what was before it."""
    for event in choice.messages:
        if event.sequence in choice.forms:
            continue
        room = choice.left - keep
        if event.whole_cost > room:
            room //= 2
            if room < MESSAGE_COST:
                break
        choice.put(event, room)


def _take_others(choice: EventChoice, brief: Mapping[int, dict[str, Any]]) -> None:
    """Newest first, as far back as the messages reach."""
    missing = [event.sequence for event in choice.messages if event.sequence not in choice.forms]
    last_missing = max(missing, default=-1)
    for event in choice.others:
        if event.sequence in choice.forms:
            continue
        is_reached = event.sequence > last_missing
        if not is_reached or not choice.put_form(event, brief[event.sequence]):
            break


def _expand(choice: EventChoice, newest_first: Sequence[EventForms]) -> None:
    for event in newest_first:
        if event.sequence in choice.forms and event.is_sendable:
            choice.put_form(event, event.fields)
