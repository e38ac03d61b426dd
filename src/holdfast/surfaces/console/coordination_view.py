"""What the coordination screen shows, made from one look at the exchange and one at the checkout.

Everything that another developer wrote is shown as that developer's words, and nothing acts on it.
A view is made of values that a template only writes down, so two equal ones are the same page.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property

from holdfast.ground.frozen import dataclass, field
from holdfast.ground.text import plural
from holdfast.surfaces.console import links, pictures, showing
from holdfast.surfaces.console.claim_view import hash_text
from holdfast.surfaces.console.looks import Look, make_key
from holdfast.surfaces.console.own_work import SharedWork, list_own_work, list_shared_work
from holdfast.team.block import LISTED, RESERVED, UNCOMMITTED
from holdfast.team.freshness import (
    MISSING,
    SAME,
    UNKNOWN,
    Freshness,
    describe_freshness,
    is_same_repo,
)
from holdfast.team.model import (
    ACCEPTED,
    OFFERED,
    PRIVATE,
    Developer,
    Handoff,
    Person,
    PublishedContext,
    Reservation,
    TeamState,
    WorkEvent,
)
from holdfast.team.service import may_be_cut
from holdfast.usecases.touched import Touch, find_listed, find_reserved
from holdfast.workstreams.model import JudgedClaim

HOURS = 24
NOT_COMPARED = Freshness({})
CHECKOUT, OWN_WORK, NOTHING = "checkout", "own work", "nothing"
STALE_VERDICTS = ("gone", "changed")
STALE_SHOWN, OVERLAPS_SHOWN, FIRST_ITEMS = 3, 20, 4
PEOPLE_SHOWN, CLAIMS_SHOWN, PATHS_SHOWN = 12, 8, 4
EVENTS_SHOWN, REPOS_SHOWN = 12, 12
FEWEST_HOURS = 3  # with events, below which a picture says nothing
EVENTS = {
    "session.context_published": "published a context",
    "session.context_revoked": "revoked a context",
    "coordination.claimed": "reserved files",
    "coordination.released": "released files",
    "coordination.handoff_offered": "offered a handoff",
    "coordination.handoff_accepted": "accepted a handoff",
    "coordination.handoff_declined": "declined a handoff",
    "coordination.handoff_completed": "completed a handoff",
    "coordination.handoff_cancelled": "withdrew a handoff",
    "developer.visibility_changed": "changed visibility",
}


@dataclass(frozen=True)
class Asked:
    """What the address asks for: of one repository, of one developer, with these rows open."""

    repo: str = ""
    person: str = ""
    opened: tuple[str, ...] = ()

    def has(self, repo: str | None, person: Person) -> bool:
        is_of_repo = not self.repo or repo == self.repo
        return is_of_repo and (not self.person or person.handle == self.person)


@dataclass(frozen=True)
class HereNow:
    """The checkout that this server was started for; empty where there is none."""

    worktree: str = ""
    repo: str = ""
    uncommitted: Sequence[str] = ()
    freshness: Mapping[str, Freshness] = field(default_factory=dict)  # by the id of a context
    commits: frozenset[str] = frozenset()  # of those that were asked for, which are here
    stale: Sequence[JudgedClaim] = ()

    def is_of(self, repo: str | None) -> bool:
        return bool(self.worktree) and is_same_repo(repo, self.repo)

    def find_link(self, repo: str | None, path: str, since: str | None = None) -> str:
        """To the diff of a file; empty where its repository is not the one that is here."""
        if not self.is_of(repo):
            return ""
        full = os.path.join(self.worktree, path)
        return links.diff_link(full, since=since, came_from=links.COORDINATION)


@dataclass(frozen=True)
class Deed:
    """A change that a button makes, by the same address that programs use."""

    label: str
    method: str
    address: str
    done: str
    body: str = "{}"


@dataclass(frozen=True)
class Other:
    """Who works on a file too, and how."""

    handle: str
    how: str
    until: datetime | None


@dataclass(frozen=True)
class Item:
    """A line of what came since the last look, with its one button: a deed, or a link."""

    kind: str  # handoff; overlap or stale beside a working tree, shared on a server
    key: str
    is_new: bool
    deed: Deed | None = None
    link: str = ""
    handle: str = ""
    paths: tuple[str, ...] = ()
    more_paths: int = 0
    handoff: Handoff | None = None
    may_decline: bool = False
    words: str = ""
    others: tuple[Other, ...] = ()
    verdict: str = ""
    mine: str = ""  # how a shared one is one's own


@dataclass(frozen=True)
class FileShown:
    path: str
    state: str
    link: str


@dataclass(frozen=True)
class ContextShown:
    context: PublishedContext
    is_own: bool
    is_new: bool
    is_open: bool
    published: str
    expires: str
    counts: tuple[str, str, str]
    freshness: str
    is_same: bool
    files: tuple[FileShown, ...]

    @property
    def id(self) -> str:
        return self.context.id


@dataclass(frozen=True)
class PersonShown:
    developer: Developer
    is_me: bool
    is_chosen: bool
    seen: str
    link: str


@dataclass(frozen=True)
class ClaimShown:
    claim: Reservation
    is_own: bool
    paths: tuple[str, ...]
    more_paths: int
    left: str
    width: int  # of a hundred
    deed: Deed | None


@dataclass(frozen=True)
class ClaimGroup:
    """What one developer has reserved on one branch."""

    developer: Person
    is_own: bool
    repo: str | None
    branch: str | None
    claims: tuple[ClaimShown, ...]


@dataclass(frozen=True)
class HandoffShown:
    handoff: Handoff
    is_mine: bool
    words: str
    left: str
    paths: tuple[str, ...]
    more_paths: int
    deeds: tuple[Deed, ...]
    is_item: bool  # then what its giver says stands there


@dataclass(frozen=True)
class EventShown:
    """The newest of several that say the same of one developer."""

    event: WorkEvent
    words: str
    ago: str


@dataclass(frozen=True)
class Choice:
    """A link that filters by a repository."""

    repo: str
    link: str
    is_chosen: bool


@dataclass(frozen=True)
class View:
    me: Developer
    switch: Deed
    looked_at: datetime | None
    items: tuple[Item, ...]
    compared: str
    compares_newest: bool  # and there are older ones
    contexts: tuple[ContextShown, ...]
    contexts_left_out: int
    is_cut: bool  # there are more than one answer has
    asked: Asked
    repos: tuple[Choice, ...]
    people: tuple[PersonShown, ...]
    claims: tuple[ClaimShown, ...]
    handoffs: tuple[HandoffShown, ...]
    events: tuple[EventShown, ...]
    hours: tuple[pictures.HourBar, ...]
    events_today: int

    @property
    def is_private(self) -> bool:
        return self.me.visibility == PRIVATE

    @property
    def is_known(self) -> bool:
        """Whether others can see this developer: who has only looked is known to nobody."""
        return self.me.seen_at is not None

    @property
    def first_items(self) -> tuple[Item, ...]:
        return self.items[:FIRST_ITEMS]

    @property
    def more_items(self) -> tuple[Item, ...]:
        return self.items[FIRST_ITEMS:]

    @property
    def first_claims(self) -> tuple[ClaimGroup, ...]:
        return tuple(group_claims(self.claims[:CLAIMS_SHOWN]))

    @property
    def more_claims(self) -> tuple[ClaimGroup, ...]:
        return tuple(group_claims(self.claims[CLAIMS_SHOWN:]))

    @cached_property
    def mark(self) -> str:
        """Differs between any two states, so that a page is sent again only after a change."""
        return hash_text(repr(self))[:16]


def make_view(
    state: TeamState,
    activity: Sequence[int],
    here: HereNow,
    look: Look,
    asked: Asked,
    now: datetime,
) -> View:
    me = state.me
    contexts = [each for each in state.published_contexts if asked.has(each.repo, each.developer)]
    contexts.sort(key=lambda each: not here.is_of(each.repo))  # among equals the newest stays first
    claims = [each for each in state.claims if asked.has(each.repo, each.developer)]
    events = [each for each in state.work_events if asked.has(each.repo, each.developer)]
    return View(
        me=me,
        switch=_make_switch(me),
        looked_at=look.at,
        items=tuple(list_items(state, here, look)),
        compared=_name_compared(state, here),
        compares_newest=may_be_cut(state.claims, state.published_contexts),
        contexts=tuple(show_context(each, me, here, look, asked.opened, now) for each in contexts),
        is_cut=may_be_cut(state.published_contexts),
        contexts_left_out=len(state.published_contexts) - len(contexts),
        asked=asked,
        repos=tuple(_list_repos(state, asked)),
        people=tuple(_list_people(state, asked, now)),
        claims=tuple(_list_claims(claims, me, now)),
        handoffs=tuple(_show_handoff(each, me, now) for each in state.handoffs),
        events=tuple(list_events(events, now))[:EVENTS_SHOWN],
        hours=tuple(_draw_hours(activity)),
        events_today=sum(activity),
    )


def _name_compared(state: TeamState, here: HereNow) -> str:
    """What the work of others was compared with."""
    if here.worktree:
        return CHECKOUT
    return OWN_WORK if list_own_work(state) else NOTHING


def _make_switch(me: Developer) -> Deed:
    if me.visibility == PRIVATE:
        return _make_visibility("Become public", "public", "The team sees you now.")
    return _make_visibility("Become private", PRIVATE, "Nobody else sees you now.")


def _make_visibility(label: str, visibility: str, done: str) -> Deed:
    body = f'{{"visibility": "{visibility}"}}'
    return Deed(label, "PUT", "/api/team/visibility", done, body)


# --- since the last look --------------------------------------------------------------------------


def list_items(state: TeamState, here: HereNow, look: Look) -> list[Item]:
    """What waits for this developer, what is new first; nothing leaves before it is done."""
    items = [
        *(
            _make_offer(each, state.me, look)
            for each in state.handoffs
            if _is_offered(each, state.me)
        ),
        *_list_met(state, here, look),
        *_list_stale(here, look),
    ]
    return sorted(items, key=lambda item: not item.is_new)


def _is_offered(handoff: Handoff, me: Developer) -> bool:
    return handoff.status == OFFERED and handoff.giver.id != me.id


def _is_to(handoff: Handoff, developer: Developer) -> bool:
    return handoff.to is not None and handoff.to.id == developer.id


def _make_offer(handoff: Handoff, me: Developer, look: Look) -> Item:
    key = make_key("handoff", handoff.id)
    return Item(
        kind="handoff",
        key=key,
        is_new=key not in look.seen,
        deed=_make_answer(handoff, "accept"),
        handle=handoff.giver.handle,
        paths=tuple(handoff.paths[:PATHS_SHOWN]),
        more_paths=len(handoff.paths[PATHS_SHOWN:]),
        handoff=handoff,
        may_decline=_is_to(handoff, me),
    )


def _list_met(state: TeamState, here: HereNow, look: Look) -> list[Item]:
    """Where others work on what one works on: in this checkout, or as far as a server knows."""
    if here.worktree:
        return _list_overlaps(state, here, look)
    shared = list_shared_work(state)
    return [_make_shared(each, look) for each in shared[:OVERLAPS_SHOWN]]


def _make_shared(shared: SharedWork, look: Look) -> Item:
    key = make_key("shared", shared.developer_id, shared.how, shared.mine, *shared.paths)
    return Item(
        kind="shared",
        key=key,
        is_new=key not in look.seen,
        link=links.coordination_link(person=shared.handle),
        paths=shared.paths[:PATHS_SHOWN],
        more_paths=len(shared.paths[PATHS_SHOWN:]),
        others=(Other(shared.handle, shared.how, shared.until),),
        mine=MINE[shared.mine],
    )


def _list_overlaps(state: TeamState, here: HereNow, look: Look) -> list[Item]:
    """Each file once, with everyone who works on it too."""
    by_path: dict[str, dict[str, Touch]] = {}
    for touch in _find_touches(state, here):
        by_path.setdefault(touch.path, {}).setdefault(touch.developer.id, touch)
    return [
        _make_overlap(here, path, list(touches.values()), look)
        for path, touches in list(by_path.items())[:OVERLAPS_SHOWN]
    ]


def _find_touches(state: TeamState, here: HereNow) -> Iterable[Touch]:
    """What says most about a developer comes first: a reservation, then a list."""

    def concerns(repo: str | None, developer: Person) -> bool:
        return developer.id != state.me.id and is_same_repo(repo, here.repo)

    claims = [each for each in state.claims if concerns(each.repo, each.developer)]
    contexts = [each for each in state.published_contexts if concerns(each.repo, each.developer)]
    yield from find_reserved(claims, here.uncommitted)
    yield from find_listed(contexts, here.uncommitted)


def _make_overlap(here: HereNow, path: str, touches: Sequence[Touch], look: Look) -> Item:
    key = make_key("overlap", path, *sorted(touch.developer.id for touch in touches))
    return Item(
        kind="overlap",
        key=key,
        is_new=key not in look.seen,
        link=here.find_link(here.repo, path),
        paths=(path,),
        others=tuple(Other(each.developer.handle, each.how, each.until) for each in touches),
    )


def _list_stale(here: HereNow, look: Look) -> list[Item]:
    """The worst of one's own claims here that no longer hold."""
    own = [claim for claim in here.stale if claim.is_own]
    stale = [claim for claim in own if claim.verdict in STALE_VERDICTS]
    worst = sorted(stale, key=lambda claim: STALE_VERDICTS.index(claim.verdict))
    return [_make_stale(claim, look) for claim in worst[:STALE_SHOWN]]


def _make_stale(claim: JudgedClaim, look: Look) -> Item:
    key = make_key("stale", claim.id, claim.verdict)
    anchor = f"claim-{hash_text(claim.id)[:12]}"
    return Item(
        kind="stale",
        key=key,
        is_new=key not in look.seen,
        link=f"{links.work_link(phase='implementation')}#{anchor}",
        words=claim.claim,
        verdict=claim.verdict,
    )


# --- published contexts ---------------------------------------------------------------------------


def show_context(
    context: PublishedContext,
    me: Developer,
    here: HereNow,
    look: Look,
    opened: Collection[str],
    now: datetime,
) -> ContextShown:
    is_own = context.developer.id == me.id
    fresh = here.freshness.get(context.id, NOT_COMPARED)
    is_open = context.id in opened
    return ContextShown(
        context=context,
        is_own=is_own,
        is_new=not is_own and look.at is not None and context.published_at > look.at,
        is_open=is_open,
        published=showing.ago_text(context.published_at, now),
        expires=showing.left_text(context.expires_at, now),
        counts=(
            f"{plural(len(context.files_touched), 'file')} touched",
            plural(len(context.next_actions), "next action"),
            plural(len(context.blockers), "blocker"),
        ),
        freshness=_describe_freshness(fresh),
        is_same=fresh.count(SAME) == len(fresh.files),
        files=tuple(_list_files(context, here, fresh)) if is_open else (),
    )


def _describe_freshness(fresh: Freshness) -> str:
    """Nothing where nothing could be compared."""
    is_compared = fresh.count(UNKNOWN) < len(fresh.files)
    return describe_freshness(fresh) if is_compared else ""


def _list_files(context: PublishedContext, here: HereNow, fresh: Freshness) -> Iterable[FileShown]:
    """A file is compared with the commit that it was published at, where that one is here."""
    head = context.basis.head if context.basis else None
    since = head if head in here.commits else None
    for path in context.files_touched:
        state = fresh.files.get(path, UNKNOWN)
        link = "" if state == MISSING else here.find_link(context.repo, path, since)
        yield FileShown(path, "" if state == UNKNOWN else state, link)


def _list_repos(state: TeamState, asked: Asked) -> list[Choice]:
    """The ones with the most to see first."""
    named = [context.repo for context in state.published_contexts]
    named += [claim.repo for claim in state.claims]
    counts = Counter(repo for repo in named if repo)
    most_first = [repo for repo, _ in counts.most_common(REPOS_SHOWN)]
    return [
        Choice(repo, links.coordination_link(repo, asked.person), repo == asked.repo)
        for repo in most_first
    ]


# --- beside them ----------------------------------------------------------------------------------


def _list_people(state: TeamState, asked: Asked, now: datetime) -> list[PersonShown]:
    live_first = sorted(state.developers, key=lambda each: not each.is_live)
    return [_show_person(each, state.me, asked, now) for each in live_first]


def _show_person(developer: Developer, me: Developer, asked: Asked, now: datetime) -> PersonShown:
    is_chosen = developer.handle == asked.person
    person = "" if is_chosen else developer.handle
    return PersonShown(
        developer=developer,
        is_me=developer.id == me.id,
        is_chosen=is_chosen,
        seen=showing.ago_text(developer.seen_at, now) if developer.seen_at else "",
        link=links.coordination_link(asked.repo, person),
    )


def _list_claims(
    claims: Sequence[Reservation], me: Developer, now: datetime
) -> Iterable[ClaimShown]:
    """Those of one group one after another."""
    for group in group_claims([_show_claim(each, me, now) for each in claims]):
        yield from group.claims


def group_claims(claims: Sequence[ClaimShown]) -> Iterable[ClaimGroup]:
    """By developer and place, in the order of the first of each."""
    groups: dict[object, list[ClaimShown]] = {}
    for shown in claims:
        claim = shown.claim
        place = (claim.developer.id, claim.repo, claim.branch)
        groups.setdefault(place, []).append(shown)
    for group in groups.values():
        first = group[0].claim
        yield ClaimGroup(first.developer, group[0].is_own, first.repo, first.branch, tuple(group))


def _show_claim(claim: Reservation, me: Developer, now: datetime) -> ClaimShown:
    is_own = claim.developer.id == me.id
    whole = (claim.expires_at - claim.reserved_at).total_seconds()
    left = (claim.expires_at - now).total_seconds()
    deed = Deed("Release", "DELETE", f"/api/claims/{claim.id}", "Released.")
    return ClaimShown(
        claim=claim,
        is_own=is_own,
        paths=tuple(claim.paths[:PATHS_SHOWN]),
        more_paths=len(claim.paths[PATHS_SHOWN:]),
        left=showing.left_text(claim.expires_at, now),
        width=min(max(round(100 * left / whole), 1), 100) if whole > 0 else 1,
        deed=deed if is_own and not claim.is_soft else None,
    )


def _show_handoff(handoff: Handoff, me: Developer, now: datetime) -> HandoffShown:
    is_mine = handoff.giver.id == me.id
    return HandoffShown(
        handoff=handoff,
        is_mine=is_mine,
        words=_describe_handoff(handoff, is_mine),
        left=showing.left_text(handoff.expires_at, now) if handoff.status == OFFERED else "",
        paths=tuple(handoff.paths[:PATHS_SHOWN]),
        more_paths=len(handoff.paths[PATHS_SHOWN:]),
        deeds=tuple(_list_deeds(handoff, me)),
        is_item=_is_offered(handoff, me),
    )


def _describe_handoff(handoff: Handoff, is_mine: bool) -> str:
    """With the other developer's handle behind it, where there is one."""
    if is_mine:
        if handoff.to is None:
            return "You offer the team"
        return "Taken over by" if handoff.status == ACCEPTED else "You offer"
    return "You took over from" if handoff.status == ACCEPTED else "Offered by"


def _list_deeds(handoff: Handoff, me: Developer) -> Iterable[Deed]:
    is_to_me = _is_to(handoff, me)
    if _is_offered(handoff, me):
        yield _make_answer(handoff, "accept")
        if is_to_me:
            yield _make_answer(handoff, "decline")
    elif handoff.status == OFFERED:
        yield _make_answer(handoff, "cancel")
    elif is_to_me:
        yield _make_answer(handoff, "complete")


ANSWERS = {
    "accept": ("Accept", "Accepted: it is reserved for you now."),
    "decline": ("Decline", "Declined."),
    "complete": ("Complete", "Completed."),
    "cancel": ("Withdraw", "Withdrawn."),
}


def _make_answer(handoff: Handoff, answer: str) -> Deed:
    label, done = ANSWERS[answer]
    return Deed(label, "POST", f"/api/handoffs/{handoff.id}/{answer}", done)


def list_events(events: Iterable[WorkEvent], now: datetime) -> Iterable[EventShown]:
    """Newest first; what a developer did several times without another deed between is one line."""
    runs: list[list[WorkEvent]] = []
    last: dict[str, list[WorkEvent]] = {}
    for event in events:
        run = last.get(event.developer.id)
        if run is None or not _says_the_same(run[0], event):
            run = last[event.developer.id] = []
            runs.append(run)
        run.append(event)
    return (_show_events(run, now) for run in runs)


def _says_the_same(one: WorkEvent, other: WorkEvent) -> bool:
    return (one.type, one.repo, one.branch) == (other.type, other.repo, other.branch)


def _show_events(run: Sequence[WorkEvent], now: datetime) -> EventShown:
    newest = run[0]
    words = EVENTS.get(newest.type, newest.type)
    if len(run) > 1:
        words = f"{words}, {len(run)} times"
    return EventShown(newest, words, showing.ago_text(newest.created_at, now))


def _draw_hours(activity: Sequence[int]) -> Sequence[pictures.HourBar]:
    busy = [count for count in activity if count]
    return pictures.make_hour_bars(activity) if len(busy) >= FEWEST_HOURS else ()


# What a template says about someone who works on the same file, and about how it is one's own.
MINE = {
    RESERVED: "which you reserved",
    UNCOMMITTED: "which you have uncommitted, too",
    LISTED: "which you list in a context",
}
HOW = {LISTED: "lists it in a context", UNCOMMITTED: "has it uncommitted, too"}
