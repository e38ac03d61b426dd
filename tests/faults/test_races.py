"""Many processes at one store: R4, R4b, R5 and R9, on both engines."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults import writers
from tests.faults.audit import audit, new_session, read_outbox, with_sessions
from tests.rig import postgres as rig
from tests.rig.nursery import Child, Nursery, hear_as_it_comes, hear_from_all, say_to_all

pytestmark = pytest.mark.own_database

Scale = Callable[[int], int]


def test_sixty_four_processes_append_to_one_session_without_a_gap(
    nursery: Nursery, database_url: str, scale: Scale
) -> None:
    """R4: 64 processes × 100; no call is refused, nothing is lost or doubled, and each writer's
    order is kept.
    """
    each, session_id = scale(100), new_session(database_url)
    children = [
        nursery.start(writers.append_many, database_url, session_id, n, each) for n in range(64)
    ]
    assert hear_from_all(children) == ["open"] * 64
    say_to_all(children)

    acked = dict(value for _, value in hear_as_it_comes(children))

    assert [child.wait() for child in children] == [0] * 64
    events = audit(database_url, session_id)
    assert {event.id: event.sequence for event in events} == acked
    assert len(events) == 64 * each
    for writer in range(64):
        mine = [event.content for event in events if event.content.startswith(f"{writer}.")]
        assert mine == [f"{writer}.{number}" for number in range(each)]


def test_a_writer_that_was_frozen_in_its_turn_is_refused_when_another_has_taken_over(
    nursery: Nursery, database_url: str, scale: Scale
) -> None:
    """R4b: A reads and is stopped, B writes, A thaws and writes what it had in mind; 100 times."""
    rounds, session_id = scale(100), new_session(database_url)
    frozen, other = (
        nursery.start(writers.append_fenced, database_url, session_id) for _ in range(2)
    )
    for _ in range(rounds):
        seen = begin_turn(frozen)
        frozen.stop()
        assert begin_turn(other) == seen
        assert finish_turn(other) == {"appended": seen + 1}
        frozen.say("write")
        frozen.thaw()
        assert frozen.hear() == {"expected": seen, "actual": seen + 1}
        frozen, other = other, frozen

    assert len(audit(database_url, session_id)) == rounds
    for child in (frozen, other):
        child.say("end")
        assert child.wait() == 0


def begin_turn(child: Child) -> int:
    child.say("turn")
    seen: int = child.hear()
    return seen


def finish_turn(child: Child) -> dict[str, int]:
    child.say("write")
    answer: dict[str, int] = child.hear()
    return answer


def test_no_event_slips_into_a_turn_whose_writer_is_frozen_at_any_moment(
    nursery: Nursery, database_url: str, scale: Scale
) -> None:
    """R4b: turns of four events that expect each other; a writer is stopped wherever it is, its
    lock included.
    """
    stops, session_id, seed = scale(100), new_session(database_url), random.randrange(1 << 32)
    chance = random.Random(seed)
    children = [nursery.start(writers.take_turns, database_url, session_id, 4) for _ in range(2)]
    turns = [[child.hear()] for child in children]
    for stop in range(stops):
        stopped, other = stop % 2, 1 - stop % 2
        turns[stopped] += children[stopped].hear_for(chance.uniform(0, 0.005))
        children[stopped].stop()
        turns[other] += children[other].hear_for(
            0.03
        )  # or it waits for the lock of the one that is stopped
        children[stopped].thaw()
    say_to_all(children, "end")
    for number, child in enumerate(children):
        turns[number] += child.hear_all()
        assert child.wait() == 0

    events = audit(database_url, session_id)

    written = [number for mine in turns for numbers, _ in mine for number in numbers]
    assert sorted(written) == [event.sequence for event in events]
    for numbers, whole in turns[0] + turns[1]:
        assert (
            numbers == list(range(numbers[0], numbers[0] + len(numbers))) if numbers else not whole
        )
        assert whole == (len(numbers) == 4)
    print(
        f"R4b: {stops} stops, {len(events)} events, "
        f"{sum(not whole for _, whole in turns[0] + turns[1])} turns refused"
    )


def test_sixty_four_processes_open_a_store_that_does_not_exist_yet(
    nursery: Nursery, tmp_path: Path, scale: Scale
) -> None:
    """R5: 64 processes × 20 folders; each makes the store or finds it, and none meets a lock."""
    folders = scale(20)
    children = [nursery.start(writers.open_first) for _ in range(64)]
    for number in range(folders):
        url = f"sqlite:///{tmp_path / str(number) / 'data' / 'test.db'}"
        say_to_all(children, url)

        assert hear_from_all(children) == [1] * 64
        assert len(with_sessions(url, lambda sessions: sessions.list_sessions(100))) == 64
    say_to_all(children, None)
    finish(children)


def test_sixteen_processes_migrate_one_postgresql_database(
    nursery: Nursery, postgres: rig.Cluster, scale: Scale
) -> None:
    """R5 on the other engine: the owner opens an empty database from 16 processes; 20 databases."""
    databases = scale(20)
    children = [nursery.start(writers.open_first) for _ in range(16)]
    for _ in range(databases):
        name = postgres.create_database()
        say_to_all(children, postgres.dsn(name, rig.OWNER))

        assert hear_from_all(children) == [1] * 16
        postgres.drop_database(name)
    say_to_all(children, None)
    finish(children)


def finish(children: list[Child]) -> None:
    for child in children:
        assert child.hear() is None  # or its traceback is raised
        assert child.wait() == 0


def test_a_tailing_reader_misses_nothing_while_sixteen_write(
    nursery: Nursery, database_url: str, scale: Scale
) -> None:
    """R9: 16 writers × 150, one reader of the session and one of the outbox; delivered is what is
    stored.
    """
    each, session_id = scale(150), new_session(database_url)
    readers = [
        nursery.start(writers.tail_events, database_url, session_id),
        nursery.start(writers.tail_outbox, database_url),
    ]
    children = [
        nursery.start(writers.append_and_send, database_url, session_id, n, each) for n in range(16)
    ]
    assert hear_from_all(children) == ["open"] * 16
    say_to_all(children)
    finish(children)
    say_to_all(readers, "stop")

    delivered, told = hear_from_all(readers)

    finish(readers)
    events = audit(database_url, session_id)
    assert delivered == [event.id for event in events]
    assert len(events) == 16 * each
    assert told == told_in(database_url)
    changes = [data["context"] for _, data in told if data.get("reason") == "changed"]
    assert len(changes) == 16 * len(range(0, each, 5))
    assert sorted(changes[-1]) == sorted(f"set {writer}" for writer in range(16))


def test_a_tailing_reader_misses_nothing_that_is_committed_late(
    nursery: Nursery, postgres_url: str, scale: Scale
) -> None:
    """R9: on PostgreSQL transactions end in another order than they began; 8 sessions whose writers
    dawdle.
    """
    each = scale(150)
    reader = nursery.start(writers.tail_outbox, postgres_url)
    sessions = [new_session(postgres_url) for _ in range(8)]
    children = [
        nursery.start(writers.tell_slowly, postgres_url, session_id, n, each)
        for n, session_id in enumerate(sessions)
    ]
    assert hear_from_all(children) == ["open"] * 8
    say_to_all(children)
    finish(children)
    say_to_all([reader], "stop")

    told = reader.hear()

    finish([reader])
    assert told == told_in(postgres_url)
    for writer in range(8):
        mine = [data["from"] for _, data in told if data.get("from", "").startswith(f"{writer}.")]
        assert mine == [f"{writer}.{number}" for number in range(each)]


def told_in(url: str) -> list[list[object]]:
    """All that the outbox holds, as a reader tells it who comes late."""
    return [[event.cursor, event.data] for event in with_sessions(url, read_outbox)]


@pytest.mark.soak
def test_a_checkpoint_loop_in_another_process_loses_no_event(
    nursery: Nursery, sqlite_url: str, scale: Scale
) -> None:
    """R24: 64 writers while another connection truncates the write-ahead log over and over."""
    each, session_id = scale(1_500), new_session(sqlite_url)
    children = [
        nursery.start(writers.append_many, sqlite_url, session_id, n, each) for n in range(64)
    ]
    outside = nursery.start(writers.checkpoint_until_stopped, sqlite_url)
    assert hear_from_all(children) == ["open"] * 64
    say_to_all(children)

    acked = dict(value for _, value in hear_as_it_comes(children))

    outside.say("stop")
    checkpoints: int = outside.hear()
    finish([*children, outside])
    assert {event.id: event.sequence for event in audit(sqlite_url, session_id)} == acked
    assert len(acked) == 64 * each
    assert checkpoints > 0
    print(f"R24: {len(acked)} events, {checkpoints} checkpoints")
