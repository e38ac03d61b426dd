"""A file of JSON lines: in, out, and searched as it lies there."""

import fcntl
import json
import os
from pathlib import Path

import pytest

from holdfast.errors import HoldfastError, InvalidValueError, StoreBusyError
from holdfast.ground import files
from holdfast.ground.errors import FileMissingError
from holdfast.ground.settings import Owner
from holdfast.memories import errors
from holdfast.memories.jsonl_store import (
    DEFAULT_PATH,
    TemporalMemoryStore,
    export_memories,
    import_memories,
)
from holdfast.memories.service import MemoryService
from tests.rig.postgres import new_workspace

RECORDS = [
    {
        "content": "The port of staging is 6543",
        "confidence": 0.9,
        "created_at": "2026-01-02T03:04:05Z",
        "embedding": [0.1],
    },
    {
        "text": "Money is stored as cents",
        "lineage": ["s-1"],
        "use_count": 4,
        "source_type": "implicit",
    },
    {"memory": "Redis streams were rejected", "category": "decision", "metadata": {"by": "ops"}},
]
ID = "01a1e32b-e814-774f-b2ce-74143d07cbf2"
WHOLE = [
    {
        "id": ID,
        "content": "The port of staging is 6543",
        "confidence": 0.9,
        "created_at": "2026-01-02T03:04:05+00:00",
    },
    {
        "content": "Money is stored as cents",
        "lineage": ["s-1"],
        "use_count": 4,
        "source_type": "implicit",
    },
    {
        "content": "Redis streams were rejected",
        "category": "decision",
        "metadata": {"by": "ops"},
        "user_id": "u1",
    },
]


def write_lines(path: Path, *lines: object) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(
        b"".join(
            line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines
        )
    )
    return str(path)


async def test_an_import_keeps_what_a_line_says(memories: MemoryService, tmp_path: Path):
    report = await import_memories(memories, write_lines(tmp_path / DEFAULT_PATH, *RECORDS))

    assert (report.imported, report.known, report.forgotten) == (3, 0, 0)
    port, money, redis = sorted(
        await memories.list_memories(), key=lambda memory: "TMR".index(memory.content[0])
    )
    assert (port.confidence, port.created_at.year, port.source_type) == (0.9, 2026, "bootstrap")
    assert (money.lineage, money.use_count, money.source_type) == (("s-1",), 4, "implicit")
    assert (redis.category, redis.metadata) == ("decision", {"by": "ops"})
    assert [recalled.memory.id for recalled in await memories.recall("why was redis rejected")] == [
        redis.id
    ]


async def test_to_import_again_changes_nothing(memories: MemoryService, tmp_path: Path):
    file = write_lines(tmp_path / "memories.jsonl", *RECORDS, RECORDS[0])
    first = await import_memories(memories, file)
    before = list(await memories.list_memories())

    again = await import_memories(memories, file)

    assert (first.imported, first.known) == (3, 1)
    assert (again.imported, again.known) == (0, 4)
    assert list(await memories.list_memories()) == before


async def test_an_import_skips_and_counts_forgotten_memories(
    memories: MemoryService, tmp_path: Path
):
    file = write_lines(tmp_path / "memories.jsonl", *RECORDS)
    await import_memories(memories, file)
    for memory in await memories.list_memories_with_text("Redis"):
        await memories.forget(memory.id)

    again = await import_memories(memories, file)

    assert (again.imported, again.known, again.forgotten) == (0, 2, 1)


async def test_damaged_lines_are_named_and_the_others_come_in(
    memories: MemoryService, tmp_path: Path
):
    lines = [
        RECORDS[0],
        b"{broken\n",
        b"<<<<<<< ours\n",
        b"\n",
        {"content": ""},
        b"[1]\n",
        RECORDS[1],
        b'{"content": "to',
    ]

    report = await import_memories(memories, write_lines(tmp_path / "memories.jsonl", *lines))

    assert report.imported == 2
    assert report.problems == (
        "Line 2: not_json",
        "Line 3: conflict_marker",
        "Line 5: content '' is empty.",
        "Line 6: not_object",
        "Line 8: torn",
        (
            "2 of 3 lines have other keys, ids or texts than this store keeps of them, so no "
            "export replaces this file."
        ),
    )


async def test_an_export_comes_in_elsewhere_as_it_was(memories: MemoryService, tmp_path: Path):
    """Byte for byte: ids, times, belief and lineage."""
    await import_memories(memories, write_lines(tmp_path / "given.jsonl", *RECORDS))
    kept = (await memories.remember("Kept ✓ 数据库", ttl_days=3, session_id="s-9")).memory
    await memories.contradict(kept.id)
    first, second = tmp_path / "new" / "folder" / "first.jsonl", tmp_path / "second.jsonl"

    count = await export_memories(memories, str(first))
    elsewhere = MemoryService(memories.db, owner=Owner(new_workspace(), "developer"))
    report = await import_memories(elsewhere, str(first))
    await export_memories(elsewhere, str(second))

    assert (count, report.imported) == (4, 4)
    assert first.read_bytes() == second.read_bytes()
    assert os.stat(first).st_mode & 0o777 == 0o600
    lines = [json.loads(line) for line in first.read_text().split("\n")[:-1]]
    assert [list(line) for line in lines] == [sorted(line) for line in lines]


async def test_an_export_never_loses_what_only_the_file_has(
    memories: MemoryService, tmp_path: Path
):
    """R13: neither an empty store nor a half-known or damaged file is a reason to empty it."""
    file = write_lines(tmp_path / "memories.jsonl", *WHOLE)
    before = Path(file).read_bytes()
    with pytest.raises(errors.ExportRefusedError, match="3 lines"):
        await export_memories(memories, file)
    assert Path(file).read_bytes() == before

    assert (await import_memories(memories, file)).problems == ()
    for memory in await memories.list_memories_with_text("Redis"):
        await memories.forget(memory.id)
    assert await export_memories(memories, file) == 2

    Path(file).write_bytes(Path(file).read_bytes() + b"{broken\n")
    with pytest.raises(errors.ExportRefusedError, match="1 line that"):
        await export_memories(memories, file)


@pytest.mark.parametrize(
    "lines",
    [
        [{"id": "m1", "content": "alpha beta", "user_id": "alice"}],
        [{"content": "alpha beta", "embedding": [0.1]}],
        [{"text": "alpha beta"}],
        [
            {"content": "alpha beta", "user_id": "alice"},
            {"content": "Alpha  beta", "user_id": "bob"},
        ],
        [{"id": ID, "content": "alpha beta"}, {"id": ID, "content": "another text"}],
        [
            {"id": ID, "content": "alpha beta", "category": "a"},
            {"id": ID, "content": "alpha beta", "category": "b"},
        ],
        [{"content": "alpha beta"}, {"content": 7}],
    ],
    ids=[
        "foreign id",
        "foreign key",
        "another name",
        "merged",
        "one id twice",
        "another category",
        "unreadable",
    ],
)
async def test_a_file_that_holds_more_than_memories_is_not_replaced(
    memories: MemoryService, tmp_path: Path, lines: list[object]
):
    """Another program still needs what is only there; the import says so, and the export leaves it
    alone.
    """
    file = write_lines(tmp_path / "memories.jsonl", *lines)
    before = Path(file).read_bytes()
    report = await import_memories(memories, file)

    assert report.imported >= 1
    assert "Line 2" in report.problems[0] or "no export replaces this file" in report.problems[0]
    with pytest.raises(errors.ExportRefusedError, match="name another file"):
        await export_memories(memories, file)
    assert Path(file).read_bytes() == before
    assert await TemporalMemoryStore(file).search("alpha beta")
    assert await export_memories(memories, str(tmp_path / "other.jsonl")) == report.imported


async def test_an_edit_by_hand_is_not_overwritten(memories: MemoryService, tmp_path: Path):
    """Brought in first, it is; what a person wrote beside the belief of a memory stays in the file
    in any case.
    """
    kept = (await memories.remember("Icons come from Lucide", category="ui")).memory
    file = tmp_path / "memories.jsonl"
    await export_memories(memories, str(file))
    for was, becomes, is_taken in [
        ('"confidence":0.8', '"confidence":0.7', True),
        ('"ui"', '"design"', False),
        ("Lucide", "Feather", False),
    ]:
        file.write_text(file.read_text().replace(was, becomes))
        edited = file.read_bytes()
        with pytest.raises(errors.ExportRefusedError):
            await export_memories(memories, str(file))
        assert file.read_bytes() == edited

        assert ((await import_memories(memories, str(file))).problems == ()) is is_taken
        if is_taken:
            assert await export_memories(memories, str(file)) == 1

    assert {memory.content for memory in await memories.list_memories()} == {
        kept.content,
        "Icons come from Feather",
    }


async def test_an_export_does_not_replace_lines_of_another_developer(
    memories: MemoryService, tmp_path: Path
):
    await memories.remember("Icons come from Lucide")
    file = str(tmp_path / "memories.jsonl")
    for _ in range(2):
        assert await export_memories(memories, file) == 1
    other = MemoryService(memories.db, owner=Owner(memories.owner.workspace_id, "another"))

    with pytest.raises(errors.ExportRefusedError, match="1 line that"):
        await export_memories(other, file)
    await import_memories(other, file)
    assert await export_memories(other, file) == 1


async def test_an_export_leaves_one_file_and_nothing_beside_it(
    memories: MemoryService, tmp_path: Path
):
    """A person who exports into a repository finds the export in `git status`, and
    no lock of ours.
    """
    await memories.remember("Icons come from Lucide")
    (tmp_path / "link").symlink_to(tmp_path / "new" / "folder")
    for file in ("new/folder/out.jsonl", "new/folder/out.jsonl", "link/other.jsonl"):
        assert await export_memories(memories, str(tmp_path / file)) == 1

    assert sorted(os.listdir(tmp_path / "new" / "folder")) == ["other.jsonl", "out.jsonl"]


async def test_an_export_waits_for_another_one(
    memories: MemoryService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(files, "LOCK_SECONDS", 0.0)
    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        with pytest.raises(StoreBusyError):
            await export_memories(memories, str(tmp_path / "out.jsonl"))
    finally:
        os.close(fd)

    assert await export_memories(memories, str(tmp_path / "out.jsonl")) == 0


async def test_an_export_without_memories_is_an_empty_file(memories: MemoryService, tmp_path: Path):
    assert await export_memories(memories, str(tmp_path / "none.jsonl")) == 0
    assert (tmp_path / "none.jsonl").read_bytes() == b""


async def test_importing_a_file_that_cannot_be_read_is_refused(
    memories: MemoryService, tmp_path: Path
):
    os.symlink(write_lines(tmp_path / "there.jsonl", *RECORDS), tmp_path / "link.jsonl")
    os.mkfifo(tmp_path / "pipe.jsonl")

    with pytest.raises(FileMissingError):
        await import_memories(memories, str(tmp_path / "missing.jsonl"))
    for name in ("link.jsonl", "pipe.jsonl", ""):
        with pytest.raises(HoldfastError):
            await import_memories(memories, str(tmp_path / name))
    assert list(await memories.list_memories()) == []


@pytest.mark.parametrize("name", ["", "/proc/x/y", "file/inside", "folder"])
async def test_a_file_that_cannot_be_written_is_named(
    memories: MemoryService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    """And the error does not advise moving the data folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()

    with pytest.raises(InvalidValueError) as refused:
        await export_memories(memories, name)

    assert (refused.value.field, refused.value.value) == ("file", name)
    assert "HOLDFAST" not in refused.value.message


# --- searched as it lies there --------------------------------------------------------------------


async def test_a_file_and_a_service_are_searched_alike(memories: MemoryService, tmp_path: Path):
    """Relevance means the same for both."""
    file = write_lines(tmp_path / "memories.jsonl", *RECORDS, b"{torn")
    await import_memories(memories, file)

    for question in (
        "which port has staging",
        "why were redis streams rejected",
        "postg",
        "who owns the bank",
        "money",
    ):
        of_file = await TemporalMemoryStore(file).search(question)
        of_service = await TemporalMemoryStore(memories).search(question)
        assert [(recalled.memory.content, recalled.relevance) for recalled in of_file] == [
            (recalled.memory.content, recalled.relevance) for recalled in of_service
        ]


async def test_a_file_is_read_as_it_is_now(tmp_path: Path):
    store = TemporalMemoryStore(tmp_path / "memories.jsonl")
    assert await store.search("staging port") == []

    write_lines(
        tmp_path / "memories.jsonl",
        RECORDS[0],
        {**RECORDS[2], "expires_at": "2020-01-01T00:00:00Z"},
        {"content": 7},
    )

    assert [recalled.memory.content for recalled in await store.search("staging port")] == [
        RECORDS[0]["content"]
    ]
    assert await store.search("redis streams") == []
    with pytest.raises(InvalidValueError):
        await store.search("")


async def test_without_a_path_the_usual_file_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write_lines(tmp_path / DEFAULT_PATH, *RECORDS)
    monkeypatch.chdir(tmp_path)

    [found] = await TemporalMemoryStore().search("redis streams", limit=1)

    assert found.memory.content == "Redis streams were rejected"
