"""The measurements of the exchange measure what they say, and a partial run leaves the rest of the
page as it was. No time is looked at.
"""

from pathlib import Path

import pytest

from bench.agents import ARRIVAL, ONE, Worked, describe, refuse_damage, sum_up
from bench.exchange import ENGINES, exchange_lanes
from bench.exchange_history import QUESTIONS, history_lanes
from bench.measure import Lane
from bench.page import find_section, update_page
from bench.place import Places
from bench.report import SECTIONS
from bench.targets import Found, promises
from tests.rig.load import PUBLISH, WEIGHTS, Member, Seen
from tests.rig.postgres import Cluster

PAGE = """# Benchmarks

## Promises

| promise | target | measured | verdict |
| --- | --- | --- | --- |
| first | ≤ 2 | 1.00 | met |
| second | ≤ 2 | 1.00 | met |

Read by its median.

## One

old

## Notes

- a remark
"""
RUN = """# Benchmarks

## Promises

| promise | target | measured | verdict |
| --- | --- | --- | --- |
| first | ≤ 2 | – | not measured |
| second | ≤ 2 | 3.00 (2.00–4.00) | missed: 150% of the target |
| third | ≤ 2 | 1.50 | met |

Read by its median.

## One

new

## Two

first

## Notes

- another remark
"""


def updated() -> str:
    return update_page(PAGE, RUN, ["One", "Two"], "Measured alone.", "2026-01-02")


def test_a_partial_run_writes_its_sections_with_a_remark_and_nothing_else():
    page = updated()

    assert find_section(page, "One") == "## One\n\nMeasured alone.\n\nnew\n\n"
    assert find_section(page, "Two") == "## Two\n\nMeasured alone.\n\nfirst\n\n"
    assert page.endswith("## Notes\n\n- a remark\n")


def test_a_partial_run_writes_the_promises_that_it_reached_with_its_date():
    assert find_section(updated(), "Promises").splitlines()[4:8] == [
        "| first | ≤ 2 | 1.00 | met |",
        "| second | ≤ 2 | 3.00 (2.00–4.00) | missed: 150% of the target, on 2026-01-02 |",
        "| third | ≤ 2 | 1.50 | met, on 2026-01-02 |",
        "",
    ]


def test_a_partial_run_is_written_twice_as_once():
    again = update_page(updated(), RUN, ["One", "Two"], "Measured alone.", "2026-01-02")

    assert again == updated()


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def places(tmp_path: Path, postgres: Cluster) -> Places:
    return Places(tmp_path, postgres)


async def run_each(lanes: list[Lane]) -> None:
    for lane in lanes:
        lane.blocks[0] = await lane.run(2)


async def test_every_call_of_the_exchange_is_answered_beside_its_bare_one(
    places: Places, engine: str
):
    async with exchange_lanes(places, engine) as lanes:
        await run_each(lanes)

    assert [lane.blocks[0].done for lane in lanes] == [2] * 9
    assert len({(lane.contestant, lane.case) for lane in lanes}) == 9


async def test_a_long_history_is_measured_against_a_short_one(places: Places, engine: str):
    async with history_lanes(places, engine, 2_000) as lanes:
        await run_each(lanes)

    [table] = SECTIONS["exchange-history"](lanes)
    title = ENGINES[engine]
    assert [row.split(" | ")[0] for row in table.splitlines()[2:]] == [
        f"| {title}: {question}" for question in QUESTIONS
    ]


def test_nothing_of_the_exchange_may_grow_with_its_history():
    promised = [each for each in promises(Found({})) if "exchange" in each.promise]

    assert [each.limit for each in promised] == [1.5] * 6


def see_a_publication() -> Seen:
    """Heard by two, as it should be."""
    seen = Seen(seconds=2.0, arrivals=[0.1, 0.3], places=1)
    for kind in WEIGHTS:
        seen.calls[kind] = [0.01]
    seen.acknowledged["id"] = (Member("dev-a", "token", is_private=False), 1.0)
    seen.active[1] += 1
    return seen


def test_agents_are_described_by_call_and_by_what_their_streams_brought():
    row = Worked(ONE, "a case", see_a_publication())

    lines = describe(row)

    refuse_damage(row.seen)
    assert lines[0] == (f"`{PUBLISH}`", "1", "10", "10", "10")
    assert lines[-1] == (ARRIVAL, "2", "200", "290", "298")
    assert sum_up(row).startswith("One process: 2 calls/s for 2 s; 1 publications, 2 arrivals")


@pytest.mark.parametrize("damage", ["lost", "doubled", "overheard"])
def test_a_run_of_agents_that_lost_anything_has_no_figures(damage: str):
    seen = see_a_publication()
    setattr(seen, damage, 1)

    with pytest.raises(ValueError, match="lost"):
        refuse_damage(seen)


def test_a_run_of_agents_with_two_active_contexts_in_a_place_has_no_figures():
    seen = see_a_publication()
    seen.active[2] += 1

    with pytest.raises(ValueError, match="Counter"):
        refuse_damage(seen)
