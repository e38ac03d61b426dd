"""What the coordination screen makes of one look at the exchange, without a store."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast.ground.frozen import replace
from holdfast.surfaces.console.coordination_view import (
    EVENTS,
    Asked,
    ClaimGroup,
    HereNow,
    list_events,
    list_items,
    make_view,
    show_context,
)
from holdfast.surfaces.console.looks import Look
from holdfast.surfaces.console.pictures import FIGURE_HEIGHT, make_hour_bars
from holdfast.surfaces.console.showing import ago_text, left_text
from holdfast.team import store
from holdfast.team.block import LISTED, RESERVED, UNCOMMITTED
from holdfast.team.freshness import DIFFERS, MISSING, SAME, UNKNOWN, Freshness
from holdfast.team.model import (
    Basis,
    Developer,
    Handoff,
    Person,
    PublishedContext,
    Reservation,
    TeamState,
    WorkEvent,
)
from holdfast.team.service import LISTED as MOST
from holdfast.workstreams.model import JudgedClaim, JudgedEvidence

NOW = datetime(2026, 11, 16, 9, 10, tzinfo=UTC)
REPO = "github.com/acme/payouts"
ME = Developer("d-me", "ana", "ana", "public", NOW)
DEV_A, DEV_B = Person("d-a", "dev-a", "dev-a"), Person("d-b", "dev-b", "dev-b")
CONTEXT = PublishedContext(
    id="c1",
    developer=DEV_A,
    title="Retry",
    summary="s",
    files_touched=("a.py", "b.py"),
    next_actions=(),
    blockers=("x",),
    task_ids=(),
    repo=REPO,
    branch="main",
    session_id=None,
    basis=None,
    published_at=NOW - timedelta(hours=1),
    expires_at=NOW + timedelta(hours=23),
    superseded_by=None,
    revoked_at=None,
)
CLAIM = Reservation(
    id="r1",
    developer=DEV_A,
    repo=REPO,
    branch="main",
    paths=("src/**",),
    reason="why",
    session_id=None,
    reserved_at=NOW - timedelta(minutes=45),
    expires_at=NOW + timedelta(minutes=15),
    released_at=None,
)
HANDOFF = Handoff(
    id="h1",
    giver=DEV_A,
    to=ME.person,
    claim_id="r1",
    repo=REPO,
    branch="main",
    paths=("src/**",),
    reason="why",
    note="",
    status="offered",
    context=None,
    offered_at=NOW,
    expires_at=NOW + timedelta(days=1),
    answered_at=None,
    completed_at=None,
)
NEVER = Look()


def state(
    contexts: Sequence[PublishedContext] = (),
    claims: Sequence[Reservation] = (),
    handoffs: Sequence[Handoff] = (),
    developers: Sequence[Developer] = (),
) -> TeamState:
    return TeamState(ME, developers, contexts, claims, handoffs, work_events=())


def here(*uncommitted: str, stale: Sequence[JudgedClaim] = ()) -> HereNow:
    return HereNow("/r/payouts", REPO, uncommitted, stale=stale)


def judged(verdict: str, **fields: Any) -> JudgedClaim:
    evidence = (JudgedEvidence("a.py", verdict),)
    return JudgedClaim(
        **{
            "id": f"id-{verdict}",
            "claim": f"It is {verdict}",
            "kind": "statement",
            "claimed_at": "",
            "evidence": evidence,
            **fields,
        }
    )


# --- since the last look --------------------------------------------------------------------------


def test_a_file_is_named_once_with_everyone_who_works_on_it():
    soft = replace(CLAIM, id="s", developer=DEV_B, paths=("src/a.py",), is_soft=True)
    listed = replace(CONTEXT, developer=DEV_B, files_touched=("src/a.py", "src/b.py"))

    first, second = list_items(state([listed], [CLAIM, soft]), here("src/a.py", "src/b.py"), NEVER)

    assert [(other.handle, other.how) for other in first.others] == [
        ("dev-a", RESERVED),
        ("dev-b", UNCOMMITTED),
    ]
    assert first.others[0].until == CLAIM.expires_at
    assert [(other.handle, other.how) for other in second.others] == [
        ("dev-a", RESERVED),
        ("dev-b", LISTED),
    ]
    assert first.link == "/?applet=git-diff&path=%2Fr%2Fpayouts%2Fsrc%2Fa.py&from=coordination"


@pytest.mark.parametrize(
    "claim",
    [
        replace(CLAIM, developer=ME.person),
        replace(CLAIM, repo="github.com/acme/other"),
        replace(CLAIM, repo=None),
        replace(CLAIM, paths=("docs/**",)),
    ],
)
def test_what_is_ones_own_or_elsewhere_is_no_overlap(claim: Reservation):
    assert list_items(state(claims=[claim]), here("src/a.py"), NEVER) == []


def test_what_was_not_seen_comes_first_and_nothing_leaves_before_it_is_done():
    stale = [judged(verdict) for verdict in ("changed", "ok", "moved", "gone")]
    team = state(handoffs=[HANDOFF])
    items = list_items(team, here(stale=stale), NEVER)
    assert [(item.kind, item.verdict) for item in items] == [
        ("handoff", ""),
        ("stale", "gone"),
        ("stale", "changed"),
    ]

    look = Look(NOW, frozenset({items[0].key, items[1].key}))
    again = list_items(team, here(stale=stale), look)

    assert [(item.verdict, item.is_new) for item in again] == [
        ("changed", True),
        ("", False),
        ("gone", False),
    ]


def test_who_is_meant_may_decline_and_who_is_not_may_only_accept():
    named, open_to_all = HANDOFF, replace(HANDOFF, id="h2", to=None)

    items = list_items(state(handoffs=[named, open_to_all]), here(), NEVER)

    assert [item.may_decline for item in items] == [True, False]


def test_at_most_three_stale_claims_are_shown():
    stale = [judged("changed", id=str(number)) for number in range(9)]

    assert len(list_items(state(), here(stale=stale), NEVER)) == 3


def test_a_claim_of_another_person_is_not_ones_own_to_repair():
    stale = [judged("gone", is_own=False)]

    assert list_items(state(), here(stale=stale), NEVER) == []


def test_each_item_has_one_button():
    items = list_items(
        state(claims=[CLAIM], handoffs=[HANDOFF]),
        here("src/a.py", stale=[judged("gone")]),
        NEVER,
    )

    assert [bool(item.deed) + bool(item.link) for item in items] == [1, 1, 1]


# --- contexts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "words", "is_same"),
    [
        ({}, "", True),
        ({"a.py": UNKNOWN, "b.py": UNKNOWN}, "", False),
        ({"a.py": SAME, "b.py": SAME}, "all as here", True),
        ({"a.py": SAME, "b.py": DIFFERS}, "1 of 2 differs here", False),
    ],
)
def test_freshness_is_said_only_where_something_was_compared(
    files: dict[str, str], words: str, is_same: bool
):
    compared = replace(here(), freshness={"c1": Freshness(files)})

    shown = show_context(CONTEXT, ME, compared, NEVER, (), NOW)

    assert (shown.freshness, shown.is_same) == (words, is_same)
    assert shown.counts == ("2 files touched", "0 next actions", "1 blocker")


def test_a_file_is_compared_with_the_commit_it_was_published_at_where_that_is_here():
    based = replace(CONTEXT, basis=Basis("abc", {}))

    def find_link(commits: frozenset[str]) -> str:
        place = replace(here(), commits=commits)
        return show_context(based, ME, place, NEVER, ("c1",), NOW).files[0].link

    assert "&since=abc&" in find_link(frozenset({"abc"}))
    assert "since" not in find_link(frozenset())
    elsewhere = replace(based, repo="github.com/acme/other")
    assert show_context(elsewhere, ME, here(), NEVER, ("c1",), NOW).files[0].link == ""


def test_a_file_that_is_missing_here_leads_nowhere():
    compared = replace(here(), freshness={"c1": Freshness({"a.py": MISSING, "b.py": SAME})})

    missing, same = show_context(CONTEXT, ME, compared, NEVER, ("c1",), NOW).files

    assert (missing.state, missing.link) == (MISSING, "")
    assert same.link


def test_what_was_published_since_the_last_look_is_new_unless_it_is_ones_own():
    before, after = CONTEXT.published_at - timedelta(1), CONTEXT.published_at
    own = replace(CONTEXT, developer=ME.person)

    def is_new(context: PublishedContext, look: Look) -> bool:
        return show_context(context, ME, here(), look, (), NOW).is_new

    assert is_new(CONTEXT, Look(before))
    assert not is_new(CONTEXT, Look(after))
    assert not is_new(CONTEXT, NEVER)
    assert not is_new(own, Look(before))


def test_a_filter_takes_repository_and_person_together():
    contexts = [
        CONTEXT,
        replace(CONTEXT, id="c2", developer=DEV_B),
        replace(CONTEXT, id="c3", repo="github.com/acme/other"),
    ]

    def ids_of(asked: Asked) -> list[str]:
        view = make_view(state(contexts), [], here(), NEVER, asked, NOW)
        assert view.contexts_left_out == len(contexts) - len(view.contexts)
        return [shown.id for shown in view.contexts]

    assert ids_of(Asked()) == ["c1", "c2", "c3"]
    assert ids_of(Asked(person="dev-a")) == ["c1", "c3"]
    assert ids_of(Asked(repo=REPO, person="dev-a")) == ["c1"]
    assert ids_of(Asked(repo=REPO[1:])) == []


def test_contexts_of_the_repository_that_is_served_come_first_and_within_each_the_newest():
    contexts = [
        replace(CONTEXT, id="c1", repo="github.com/acme/other"),
        replace(CONTEXT, id="c2"),
        replace(CONTEXT, id="c3", repo=None),
        replace(CONTEXT, id="c4", repo="acme/payouts"),
    ]

    def ids_of(here: HereNow) -> list[str]:
        view = make_view(state(contexts), [], here, NEVER, Asked(), NOW)
        return [shown.id for shown in view.contexts]

    assert ids_of(here()) == ["c2", "c4", "c1", "c3"]
    assert ids_of(HereNow()) == ["c1", "c2", "c3", "c4"]


def test_a_list_that_may_go_on_says_so():
    full = make_view(state([CONTEXT] * MOST), [], here(), NEVER, Asked(), NOW)
    short = make_view(state([CONTEXT] * (MOST - 1)), [], here(), NEVER, Asked(), NOW)

    assert (full.is_cut, short.is_cut) == (True, False)


def test_the_mark_is_the_same_within_a_minute_and_differs_after_any_change():
    def mark(team: TeamState, now: datetime = NOW) -> str:
        return make_view(team, [0, 1], here(), NEVER, Asked(), now).mark

    team = state([CONTEXT], [CLAIM], [HANDOFF], [ME])

    assert mark(team, NOW + timedelta(seconds=1)) == mark(team, NOW + timedelta(seconds=2))
    assert mark(team) != mark(team, NOW + timedelta(hours=1))
    changed = [
        state([], [CLAIM], [HANDOFF], [ME]),
        state([replace(CONTEXT, title="other")], [CLAIM], [HANDOFF], [ME]),
        state([CONTEXT], [replace(CLAIM, paths=("a",))], [HANDOFF], [ME]),
        state([CONTEXT], [CLAIM], [replace(HANDOFF, status="accepted")], [ME]),
        state([CONTEXT], [CLAIM], [HANDOFF], [replace(ME, branch="b")]),
    ]
    assert len({mark(each) for each in [team, *changed]}) == len(changed) + 1


# --- beside them ----------------------------------------------------------------------------------


def test_a_reservation_drains_from_all_to_nothing():
    def width(minutes: int) -> int:
        claim = replace(CLAIM, reserved_at=NOW, expires_at=NOW + timedelta(minutes=60))
        at = NOW + timedelta(minutes=minutes)
        return make_view(state(claims=[claim]), [], here(), NEVER, Asked(), at).claims[0].width

    assert [width(minutes) for minutes in (0, 15, 30, 60, 90)] == [100, 75, 50, 1, 1]


def test_reservations_of_one_developer_on_one_branch_stand_together():
    """Also beyond the fold, where a group goes on."""
    mine = replace(CLAIM, developer=DEV_B)
    claims = [CLAIM, mine, *([CLAIM] * 7), replace(CLAIM, branch="other")]

    view = make_view(state(claims=claims), [], here(), NEVER, Asked(), NOW)

    def describe(groups: Sequence[ClaimGroup]) -> list[tuple[str, str | None, int]]:
        return [(each.developer.handle, each.branch, len(each.claims)) for each in groups]

    assert describe(view.first_claims) == [("dev-a", "main", 8)]
    assert describe(view.more_claims) == [("dev-b", "main", 1), ("dev-a", "other", 1)]


@pytest.mark.parametrize(
    ("handoff", "deeds"),
    [
        (HANDOFF, ["Accept", "Decline"]),
        (replace(HANDOFF, to=None), ["Accept"]),
        (replace(HANDOFF, status="accepted"), ["Complete"]),
        (replace(HANDOFF, giver=ME.person, to=DEV_A), ["Withdraw"]),
        (replace(HANDOFF, giver=ME.person, to=None), ["Withdraw"]),
        (replace(HANDOFF, giver=ME.person, to=DEV_A, status="accepted"), []),
    ],
)
def test_a_handoff_offers_what_its_reader_may_do(handoff: Handoff, deeds: list[str]):
    view = make_view(state(handoffs=[handoff]), [], here(), NEVER, Asked(), NOW)

    assert [deed.label for deed in view.handoffs[0].deeds] == deeds


def test_people_who_are_live_come_first():
    live = replace(ME, id="d-l", handle="live", is_live=True)
    view = make_view(state(developers=[ME, live]), [], here(), NEVER, Asked(), NOW)

    assert [shown.developer.handle for shown in view.people] == ["live", "ana"]
    assert [shown.is_me for shown in view.people] == [False, True]


def test_every_work_event_has_words():
    sql = Path(store.__file__).with_name("queries.sqlite.sql").read_text()
    named = set(re.findall(r"'((?:session|coordination|developer)\.[a-z_]+[a-z])'", sql))
    answers = {f"coordination.handoff_{status}" for status in ("accepted", "declined")}
    assert named | answers == set(EVENTS)


def test_what_one_developer_does_again_is_one_line_unless_another_deed_is_between():
    def did(kind: str, developer: Person, minute: int, branch: str = "main") -> WorkEvent:
        at = NOW - timedelta(minutes=minute)
        return WorkEvent(kind, developer, "subject", REPO, branch, at)

    claimed, released = "coordination.claimed", "coordination.released"
    events = [
        did(claimed, DEV_A, 1),
        did(claimed, DEV_B, 2),
        did(claimed, DEV_A, 3),
        did(claimed, DEV_B, 4, branch="other"),
        did(released, DEV_A, 5),
        did(claimed, DEV_A, 6),
    ]

    shown = [
        (each.event.developer.handle, each.words, each.ago) for each in list_events(events, NOW)
    ]

    assert shown == [
        ("dev-a", "reserved files, 2 times", "1 min ago"),
        ("dev-b", "reserved files", "2 min ago"),
        ("dev-b", "reserved files", "4 min ago"),
        ("dev-a", "released files", "5 min ago"),
        ("dev-a", "reserved files", "6 min ago"),
    ]


def test_a_day_is_drawn_once_three_of_its_hours_have_events():
    def count_bars(activity: Sequence[int]) -> int:
        return len(make_view(state(), activity, here(), NEVER, Asked(), NOW).hours)

    assert count_bars([0] * 23 + [9]) == 0
    assert count_bars([0] * 22 + [1, 1]) == 0
    assert count_bars([0] * 21 + [1, 1, 1]) == 24


def test_an_hour_is_as_high_as_its_share_and_an_empty_one_is_the_base_line():
    bars = make_hour_bars([0, 1, 2])

    assert [bar.x for bar in bars] == [0, 80, 160]
    assert [bar.height for bar in bars] == [1, 19, FIGURE_HEIGHT]
    assert {bar.y + bar.height for bar in bars} == {FIGURE_HEIGHT}
    assert make_hour_bars([]) == []


@pytest.mark.parametrize(
    ("minutes", "ago", "left"),
    [
        (-5, "just now", "less than 1 min left"),
        (0, "just now", "less than 1 min left"),
        (1, "1 min ago", "1 min left"),
        (119, "119 min ago", "119 min left"),
        (120, "2 h ago", "2 h left"),
        (48 * 60 - 1, "47 h ago", "47 h left"),
        (48 * 60, "2 days ago", "2 days left"),
    ],
)
def test_times_are_said_in_the_largest_unit_of_at_least_two(minutes: int, ago: str, left: str):
    span = timedelta(minutes=minutes)

    assert (ago_text(NOW - span, NOW), left_text(NOW + span, NOW)) == (ago, left)
