"""What only the engines can do wrong: their indexes, their walls, their triggers,
and two at once.
"""

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.errors import HoldfastError
from holdfast.ground.settings import Owner
from holdfast.memories.errors import MemoryForgottenError
from holdfast.memories.service import MemoryService, finish_noting
from tests.memories.conftest import Both
from tests.memories.locking import count_deadlocks, use_together
from tests.rig.postgres import APP, OWNER, Cluster, execute, new_workspace

# --- both engines ---------------------------------------------------------------------------------

WORDS = [
    "port",
    "staging",
    "db",
    "migration",
    "retry",
    "the",
    "cache",
    "Postgres",
    "数据库",
    "max_size",
]
sentences = st.lists(st.sampled_from(WORDS), min_size=1)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(sentences, min_size=1, max_size=8), sentences)
def test_both_engines_give_the_same_answers_in_the_same_order(
    both: Both, texts: list[list[str]], question: list[str]
):
    """Over everything that earlier examples have left as well."""
    answers = []
    for service in both.services:
        for text in texts:
            both.run(service.remember(" ".join(text)))
        found = both.run(service.recall(" ".join(question), limit=50, min_relevance=0.0))
        answers.append([(recalled.memory.content, recalled.relevance) for recalled in found])
        both.run(finish_noting())

    assert [share for _, share in answers[0]] == [share for _, share in answers[1]]
    assert sorted(answers[0]) == sorted(answers[1])


async def test_one_statement_that_many_make_at_once_is_one_memory(
    memories: MemoryService, scale: Callable[[int], int]
):
    """None is lost, none is doubled, and every session counts."""
    count = scale(160)

    kept = await asyncio.gather(
        *(memories.remember("The same  words", session_id=f"s-{n}") for n in range(count))
    )

    [memory] = await memories.list_memories()
    assert {answer.memory.id for answer in kept} == {memory.id}
    assert sum(answer.is_new for answer in kept) == 1
    assert sorted(memory.lineage) == sorted(f"s-{n}" for n in range(count))


async def test_a_memory_forgotten_while_others_remember_it_stays_forgotten(
    memories: MemoryService, scale: Callable[[int], int]
):
    """Afterwards it is gone, whichever call was first."""
    for number in range(scale(50)):
        text = f"secret number {number}"
        kept = (await memories.remember(text)).memory
        said = [memories.remember(text, session_id=f"s-{n}") for n in range(4)]
        results = await asyncio.gather(memories.forget(kept.id), *said, return_exceptions=True)
        assert all(
            not isinstance(outcome, Exception) or isinstance(outcome, MemoryForgottenError)
            for outcome in results
        )
        with pytest.raises(MemoryForgottenError):
            await memories.remember(text)
    assert list(await memories.list_memories()) == []


async def test_only_the_owner_recalls_changes_and_lists_a_memory(database: Any, workspace: str):
    """Another developer, and another workspace, find nothing and say the same again
    as their own.
    """
    owners = (Owner(workspace, "ana"), Owner(new_workspace(), "bo"), Owner(workspace, "cy"))
    services = [MemoryService(database, owner=owner) for owner in owners]
    kept = [
        (await service_of_owner.remember("The port of staging is 6543")).memory
        for service_of_owner in services
    ]

    assert len({memory.id for memory in kept}) == 3
    for service, own in zip(services, kept, strict=True):
        assert [recalled.memory.id for recalled in await service.recall("staging port")] == [own.id]
        assert [memory.id for memory in await service.list_memories()] == [own.id]
        assert [memory.id for memory in await service.list_memories_with_text("6543")] == [own.id]
        for other in kept:
            if other.id != own.id:
                with pytest.raises(HoldfastError):
                    await service.forget(other.id)
    await services[0].forget(kept[0].id)
    assert len(await services[1].recall("staging port")) == 1
    assert (await services[2].remember("The port of staging is 6543")).is_new is False


async def test_an_answer_does_not_depend_on_noting_its_use(
    database: Any, monkeypatch: pytest.MonkeyPatch
):
    """A disk that is full, a server that is gone: the question is answered all the same."""
    memories = MemoryService(database)
    await memories.remember("The port of staging is 6543")

    async def full(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(memories.store, "note_use", full)
    assert len(await memories.recall("staging port")) == 1
    await finish_noting()


# --- SQLite ---------------------------------------------------------------------------------------


def test_without_a_loop_everything_works_inline(sqlite_url: str, tmp_path: Path):
    """As a command does it."""
    from holdfast.storage.database import drive
    from holdfast.storage.sqlite import open_sqlite

    memories = MemoryService(open_sqlite(sqlite_url.removeprefix("sqlite:///")))
    kept = drive(memories.remember("The port of staging is 6543")).memory

    [found] = drive(memories.recall("staging port"))

    assert found.memory.id == kept.id
    assert drive(memories.get_memory(kept.id)).use_count == 1
    drive(memories.db.close())


async def test_nothing_of_a_forgotten_text_is_left_in_the_file(sqlite_url: str, tmp_path: Path):
    """Neither in the row nor in the index of words, nor in the log."""
    async with holdfast.open_database(sqlite_url) as database:
        memories = MemoryService(database)
        for number in range(50):
            await memories.remember(f"ordinary statement number {number}")
        kept = (
            await memories.remember("the key is zyxwvuq4711", metadata={"k": "zyxwvuq4711"})
        ).memory
        await memories.forget(kept.id)

    files = [path for path in tmp_path.iterdir() if path.name.startswith("test.db")]
    assert files
    assert not any(b"zyxwvuq" in path.read_bytes() for path in files)
    connection = apsw.Connection(str(tmp_path / "test.db"))
    connection.execute("insert into memory_words (memory_words) values ('integrity-check')")
    assert connection.execute("pragma integrity_check").get == "ok"
    connection.close()


async def test_a_vacuum_keeps_the_index_and_its_rows_together(sqlite_url: str, tmp_path: Path):
    async with holdfast.open_database(sqlite_url) as database:
        memories = MemoryService(database)
        gone = (await memories.remember("first")).memory
        kept = (await memories.remember("The port of staging is 6543")).memory
        await memories.forget(gone.id)
    connection = apsw.Connection(str(tmp_path / "test.db"))
    connection.execute("vacuum")
    connection.close()

    async with holdfast.open_database(sqlite_url) as database:
        assert [
            recalled.memory.id for recalled in await MemoryService(database).recall("staging port")
        ] == [kept.id]


SPOILING = [
    "update memories set content = 'other'",
    (
        "update memories set content = '', content_tsv = '', category = null, metadata = '{}', "
        "erased_at = 'now'"
    ),
    "update memories set developer_id = 'bo'",
    "update memories set source_type = 'tool_output'",
    "update memories set created_at = '2020'",
    "update memories set content_hash = x'00'",
    "delete from memories",
    "delete from memory_tombstones",
    "update memory_tombstones set content_hash = x'00'",
]


async def test_the_content_of_a_memory_cannot_be_changed_on_sqlite(sqlite_url: str, tmp_path: Path):
    async with holdfast.open_database(sqlite_url) as database:
        memories = MemoryService(database)
        await memories.forget((await memories.remember("gone")).memory.id)
        await memories.remember("kept")
    connection = apsw.Connection(str(tmp_path / "test.db"))
    for statement in SPOILING:
        with pytest.raises(apsw.ConstraintError):
            connection.execute(statement)
    with pytest.raises(apsw.ConstraintError):
        connection.execute(
            "insert or replace into memories select * from memories where erased_at is null"
        )
    connection.close()


# --- PostgreSQL -----------------------------------------------------------------------------------


@pytest.mark.own_database
async def test_verbs_on_the_same_memories_never_deadlock(
    postgres: Cluster, postgres_database: str, postgres_url: str, scale: Callable[[int], int]
):
    """All lock a content before its rows, and rows in the order of their ids."""
    async with holdfast.open_database(postgres_url) as database:
        memories = MemoryService(database)
        for number in range(scale(50)):
            await use_together(memories, f"staging {number}")

    assert await count_deadlocks(postgres, postgres_database) == 0


async def as_owner(connection: Any, who: Owner, statement: str) -> None:
    async with connection.transaction():
        await connection.execute(
            "select holdfast.act_for($1, $2)", who.workspace_id, who.developer_id
        )
        await connection.execute(statement)


@pytest.mark.own_database
async def test_the_content_of_a_memory_cannot_be_changed_on_postgres(
    postgres_memories: MemoryService, postgres: Cluster
):
    """By the owner neither."""
    await postgres_memories.forget((await postgres_memories.remember("gone")).memory.id)
    await postgres_memories.remember("kept")
    name = await postgres_memories.db.pool.fetchval("select current_database()")
    who = postgres_memories.owner
    connection = await asyncpg.connect(postgres.dsn(name, OWNER))
    try:
        for statement in [*SPOILING, "truncate memories"]:
            said = re.sub(r" (memor\w+)", r" memori.\1", statement, count=1).replace(
                "x'00'", "'\\x00'"
            )
            with pytest.raises(asyncpg.PostgresError):
                await as_owner(connection, who, said)
        assert await connection.fetch("select * from memori.memories") == [], (
            "the owner sees nothing of anybody"
        )
    finally:
        await connection.close()
    assert len(await postgres_memories.list_memories()) == 1


FILL = """
insert into memori.memories (workspace_id, developer_id, id, user_id, content, content_tsv,
    source_type, created_at,
                             updated_at, content_hash)
select 'north', 'd' || n % 20, n::text, 'u', 'word' || n,
    array_to_tsvector(array['word' || n, 'common']), 'explicit',
       now(), now(), sha256(n::text::bytea)
from generate_series(1, 5000) n
"""


async def explain(connection: Any, statement: str) -> str:
    plans: list[str] = []
    connection.add_log_listener(lambda _, message: plans.append(message.message))
    await connection.execute(statement)
    return "\n".join(plans)


SEARCHES = {
    "find_candidates": (
        "select * from memori.find_candidates('{}', '{}', '[\"{}\"]', '[]', 1000, "
        "'2026-11-16T09:04:00Z', null, null)"
    ),
    "count_words": (
        "select * from memori.count_words('{}', '{}', '[\"{}\"]', 1000, "
        "'2026-11-16T09:04:00Z', null, null)"
    ),
}


@pytest.mark.own_database
@pytest.mark.parametrize("function", SEARCHES)
async def test_the_index_of_words_is_used_under_row_level_security(
    function: str, postgres: Cluster, postgres_database: str, postgres_url: str
):
    """As the application; where it asks the table itself, every row is read for its
    owner's policy.
    """
    execute(postgres.dsn(postgres_database), FILL, "vacuum analyze memori.memories")
    connection = await asyncpg.connect(postgres.dsn(postgres_database))
    try:
        await connection.execute("load 'auto_explain'")
        for setting in ("log_nested_statements = on", "log_min_duration = 0", "log_level = notice"):
            await connection.execute(f"set auto_explain.{setting}")
        await connection.execute(f"set role {APP}")
        call = SEARCHES[function].format("north", "d7", "word1007")

        assert "Bitmap Index Scan on memories_by_words" in await explain(connection, call)
        await connection.execute("select holdfast.act_for('north', 'd7')")
        bare = await explain(
            connection,
            "select * from memori.memories where workspace_id = 'north' and developer_id = 'd7'"
            " and content_tsv @@ 'word1007'::tsquery",
        )
        assert "memories_by_words" not in bare
    finally:
        await connection.close()


@pytest.mark.own_database
@pytest.mark.parametrize("role", [APP, OWNER])
async def test_only_the_two_functions_look_past_the_policy(
    role: str, postgres: Cluster, postgres_database: str
):
    """The setting that they use opens nothing to the application, and what they used is gone when
    they end.
    """
    execute(postgres.dsn(postgres_database), FILL)
    connection = await asyncpg.connect(postgres.dsn(postgres_database, role))
    count = "select count(*) from memori.memories"
    call = SEARCHES["find_candidates"].format("north", "d7", "common")
    try:
        async with connection.transaction():
            found = await connection.fetch(call)
            assert len(found) == await connection.fetchval(count) == 250
            assert {int(row["id"]) % 20 for row in found} == {7}
        assert await connection.fetchval(count) == 0
        if role == APP:
            async with connection.transaction():
                await connection.execute("select set_config('holdfast.searching', 'yes', true)")
                assert await connection.fetchval(count) == 0
    finally:
        await connection.close()


@pytest.mark.own_database
async def test_a_role_without_our_group_cannot_search(postgres: Cluster, postgres_database: str):
    from tests.rig.roles import new_role

    with new_role(postgres, postgres_database) as reader:
        execute(postgres.dsn(postgres_database), f"grant usage on schema memori to {reader.name}")
        connection = await asyncpg.connect(reader.url)
        try:
            for search in SEARCHES.values():
                with pytest.raises(asyncpg.InsufficientPrivilegeError):
                    await connection.fetch(search.format("north", "ana", "common"))
        finally:
            await connection.close()


@pytest.mark.own_database
async def test_words_arrive_in_the_index_as_the_rule_cuts_them(
    postgres_memories: MemoryService, postgres: Cluster, postgres_database: str
):
    from holdfast.memories.words import extract_words

    text = "validateIban() prüft 数据库 in src/payouts/bank.py"
    await postgres_memories.remember(text)

    [(stored,)] = execute(
        postgres.dsn(postgres_database),
        "select to_jsonb(tsvector_to_array(content_tsv))::text from memori.memories",
    )
    assert set(json.loads(stored)) == extract_words(text)
