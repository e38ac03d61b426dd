"""`kill -9` at any moment: R1, and F2's named points inside a write to SQLite."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.ground.ids import new_id
from tests.faults import writers
from tests.faults.audit import audit, new_session, read_outbox, with_sessions
from tests.rig.nursery import Nursery

pytestmark = pytest.mark.own_database

Scale = Callable[[int], int]


@pytest.mark.parametrize(
    "body", [writers.append_inline_until_killed, writers.append_together_until_killed]
)
def test_no_acknowledged_event_is_lost_when_its_writer_is_killed(
    nursery: Nursery, sqlite_url: str, scale: Scale, body: Callable[..., None]
) -> None:
    """R1: 500 kills over two ways to write, each 0 to 20 ms after the first acknowledgement; the
    next one goes on.
    """
    kills, seed = scale(250), random.randrange(1 << 32)
    chance, acked, session_id = random.Random(seed), list[str](), new_session(sqlite_url)
    for kill in range(kills):
        child = nursery.start(body, sqlite_url, session_id, seed + kill)
        acked.append(child.hear())
        acked += child.hear_for(chance.uniform(0, 0.020))
        child.kill()
        acked += child.hear_all()
        assert child.wait() == -9

    events = audit(sqlite_url, session_id, acked)

    assert len(acked) == len(set(acked)) >= kills
    print(
        f"R1: {kills} kills, {len(acked)} acknowledged, {len(events) - len(acked)} stored "
        f"without, seed {seed}"
    )


def test_writers_that_go_on_are_not_disturbed_by_those_that_are_killed(
    nursery: Nursery, database_url: str, scale: Scale
) -> None:
    """R1 with company: of four writers at one store one after the other is killed and replaced; the
    rest go on.
    """
    kills, seed = scale(300), random.randrange(1 << 32)
    chance, acked, session_id = random.Random(seed), list[str](), new_session(database_url)
    alone, together = writers.append_inline_until_killed, writers.append_together_until_killed
    bodies = [alone if database_url.startswith("sqlite") else together, together] * 2
    children = [
        nursery.start(body, database_url, session_id, seed + n) for n, body in enumerate(bodies)
    ]
    for kill in range(kills + len(children)):
        place = kill % len(children)
        child = children[place]
        acked += [child.hear(), *child.hear_for(chance.uniform(0, 0.020))]
        child.kill()
        acked += child.hear_all()
        assert child.wait() == -9
        if kill < kills:
            children[place] = nursery.start(
                bodies[place], database_url, session_id, seed + 100 + kill
            )

    audit(database_url, session_id, acked)

    assert len(acked) == len(set(acked)) >= kills
    print(f"R1: {kills} kills among four writers, {len(acked)} acknowledged, seed {seed}")


# --- F2: named points -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "point", ["before_begin", "after_counter", "after_insert", "before_commit", "after_commit"]
)
def test_a_kill_at_a_named_point_of_an_append_keeps_what_was_acknowledged(
    nursery: Nursery, sqlite_url: str, scale: Scale, point: str
) -> None:
    """F2: six tasks append in groups and the process dies at the nth time; repeated, each event is
    there once.
    """
    chance, session_id, sent = random.Random(point), new_session(sqlite_url), 0
    for _ in range(scale(20)):
        wanted = [[new_id() for _ in range(4)] for _ in range(6)]
        every = [event_id for mine in wanted for event_id in mine]
        number = chance.randrange(
            1, 5 if point in ("before_begin", "before_commit", "after_commit") else 25
        )
        child = nursery.start(writers.append_and_die, sqlite_url, session_id, wanted, point, number)
        acked = child.hear_all()
        assert child.wait() == -9
        audit(sqlite_url, session_id, acked)

        again = nursery.start(
            writers.append_and_die, sqlite_url, session_id, wanted, point, 1_000_000
        )

        sent += 24
        assert sorted(again.hear_all()) == sorted(every)
        assert again.wait() == 0
        assert len(audit(sqlite_url, session_id, every)) == sent


@pytest.mark.parametrize(
    "point", ["before_begin", "between_change_and_telling", "before_commit", "after_commit"]
)
def test_a_kill_while_a_context_set_changes_leaves_set_and_outbox_in_step(
    nursery: Nursery, sqlite_url: str, scale: Scale, point: str
) -> None:
    """F2: the events for listeners say what the session holds, whenever the process died."""
    chance, session_id = random.Random(point), new_session(sqlite_url)
    for attempt in range(scale(20)):
        items = [f"/r/{attempt}/{number}" for number in range(4)]
        child = nursery.start(
            writers.change_context_and_die,
            sqlite_url,
            session_id,
            items,
            point,
            chance.randrange(1, 5),
        )
        acked = child.hear_all()
        assert child.wait() == -9

        context = with_sessions(
            sqlite_url, lambda sessions: sessions.get_relevant_context(session_id)
        )
        told = [
            event.data["files"]
            for event in with_sessions(sqlite_url, read_outbox)
            if event.topic == "caco.context"
        ]

        assert ([context["files"]] if context else []) == told[-1:]
        assert all([item] in told for item in acked)
        audit(sqlite_url, session_id)


@pytest.mark.parametrize(
    "point", ["before_begin", "after_tombstone", "before_commit", "after_commit"]
)
def test_a_kill_while_events_are_forgotten_forgets_all_or_none(
    nursery: Nursery, sqlite_url: str, scale: Scale, point: str
) -> None:
    """F2: content goes with its tombstone, all events of a call together, and a second try finishes
    it.
    """
    chance, session_id = random.Random(point), new_session(sqlite_url)
    for _ in range(scale(20)):
        wanted = [new_id() for _ in range(3)]
        add = nursery.start(
            writers.append_and_die, sqlite_url, session_id, [wanted], "before_begin", 1_000
        )
        assert add.hear_all() == wanted
        assert add.wait() == 0
        number = chance.randrange(1, 4) if point == "after_tombstone" else 1
        child = nursery.start(writers.forget_and_die, sqlite_url, wanted, point, number)
        assert child.hear_all() == []
        assert child.wait() == -9

        erased = {event.id for event in audit(sqlite_url, session_id) if event.erased_at} & set(
            wanted
        )

        assert erased == (set(wanted) if point == "after_commit" else set())
        again = nursery.start(writers.forget_and_die, sqlite_url, wanted, point, 1_000)
        assert again.hear() == "forgotten"
        assert again.wait() == 0
        assert all(event.content == "" for event in audit(sqlite_url, session_id))


@pytest.mark.parametrize(
    "point", ["before_begin", "after_wal_switch", "mid_migration", "before_commit", "after_commit"]
)
def test_a_kill_while_a_store_is_made_leaves_one_that_the_next_can_finish(
    nursery: Nursery, tmp_path: Path, scale: Scale, point: str
) -> None:
    """F2: at any statement of the migrations; the next process completes the store."""
    for attempt in range(scale(20)):
        url = f"sqlite:///{tmp_path / str(attempt) / 'test.db'}"
        number = 1 + attempt * 7 % 25 if point == "mid_migration" else 1
        child = nursery.start(writers.open_and_die, url, point, number)
        assert child.hear_all() == []
        assert child.wait() == -9

        session_id = new_session(url)

        assert audit(url, session_id) == []
