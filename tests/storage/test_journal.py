"""Documents as they were at one moment: kept once, found by id or as the newest about their
subject, and erased.
"""

from typing import Any

import pytest

from holdfast.errors import InvalidValueError
from holdfast.ground import ids
from holdfast.ground.settings import Owner
from holdfast.storage.errors import IdTakenError
from holdfast.storage.journal import Journal


@pytest.fixture
def journal(database: Any, workspace: str) -> Journal:
    return Journal(database, Owner(workspace, "ana"))


async def test_the_newest_of_each_subject_below_a_beginning_is_found(journal: Journal):
    for number, subject in enumerate(["a", "b", "a", "b-", "a"]):
        await journal.add("run", ["repo", subject], {"number": number})
    await journal.add("run", ["repo"], {"number": 10})
    await journal.add("run", ["repo2", "a"], {"number": 11})
    await journal.add("other", ["repo", "a"], {"number": 12})

    found = await journal.newest_of_each("run", ["repo"], 10)
    first = await journal.newest_of_each("run", ["repo"], 2)

    assert sorted(entry.content["number"] for entry in found if entry.content) == [1, 3, 4]
    assert len(first) == 2
    assert await journal.newest_of_each("run", ["rep"], 10) == []


async def test_the_newest_about_a_subject_comes_first(journal: Journal):
    for number in range(3):
        await journal.add("proof", ["repo", "a"], {"number": number})
    await journal.add("proof", ["repo", "b"], {"number": 9})
    await journal.add("receipt", ["repo", "a"], {"number": 8})

    assert [entry.content for entry in await journal.newest("proof", ["repo", "a"], 2)] == [
        {"number": 2},
        {"number": 1},
    ]
    assert [entry.content for entry in await journal.newest_of_kind("proof", 2)] == [
        {"number": 9},
        {"number": 2},
    ]
    assert await journal.newest("proof", ["repo a"]) == []


async def test_a_document_is_found_by_its_id_and_kind(journal: Journal):
    kept = await journal.add("proof", ["r"], {"ü": [1, None, "\u2028"]})

    found = await journal.find("proof", kept.id)

    assert found == kept
    assert await journal.find("receipt", kept.id) is None
    assert await journal.find("proof", "no id") is None
    assert await journal.find("proof", ids.new_id()) is None


async def test_the_same_id_again_gives_the_first(journal: Journal):
    kept = await journal.add("proof", ["r"], {"a": 1})

    assert (await journal.add("proof", ["r"], {"a": 2}, entry_id=kept.id)).content == {"a": 1}


async def list_with_text(journal: Journal, text: str) -> list[tuple[str, str]]:
    return [found async for found in journal.read_with_text(text)]


async def test_an_erased_entry_keeps_its_place_without_content(journal: Journal):
    kept = await journal.add("proof", ["r"], {"token": 'se"cret'})
    other = await journal.add("proof", ["r"], {"token": "none"})
    assert await list_with_text(journal, 'se"cret') == [(kept.id, "proof")]

    assert await journal.erase(kept.id)
    assert not await journal.erase(kept.id)

    assert await list_with_text(journal, 'se"cret') == []
    assert [entry.content for entry in await journal.newest("proof", ["r"], 5)] == [
        {"token": "none"},
        None,
    ]
    assert (await journal.add("proof", ["r"], {"token": "again"}, entry_id=kept.id)).content is None
    assert other.content


async def test_a_developer_cannot_read_or_erase_entries_of_another(
    database: Any, journal: Journal, workspace: str
):
    kept = await journal.add("proof", ["r"], {"a": "mine"})
    theirs = Journal(database, Owner(workspace, "bo"))

    assert await theirs.find("proof", kept.id) is None
    assert await theirs.newest_of_kind("proof", 5) == []
    assert await list_with_text(theirs, "mine") == []
    assert not await theirs.erase(kept.id)
    with pytest.raises(IdTakenError):
        await theirs.add("proof", ["r"], {}, entry_id=kept.id)


async def test_content_that_an_engine_cannot_store_is_refused(journal: Journal):
    for content in ({"a": "\x00"}, {"a": "\ud800"}, {"a": float("nan")}):
        with pytest.raises(InvalidValueError):
            await journal.add("proof", ["r"], content)
