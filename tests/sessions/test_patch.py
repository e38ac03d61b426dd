"""Several changes to one session at once: all of them or none, and listeners hear each."""

import pytest

from holdfast.errors import InvalidValueError
from holdfast.sessions.errors import SessionNotFoundError
from holdfast.sessions.model import PatchedSession
from holdfast.storage.outbox import Outbox
from tests.sessions.tables import nothing_changes

UNKNOWN = "01890a5d-ac96-774b-bcce-b302099a8057"


async def read_outbox(sessions, topic):
    return [
        event.data
        for event in await Outbox(sessions.db, sessions.owner).read()
        if event.topic == topic
    ]


async def test_name_and_context_change_together(sessions):
    s = await sessions.create_session("architect", "u1")

    done = await sessions.patch_session(
        s.id,
        metadata={"name": "spec"},
        set_context=("files", ["/a.md"]),
        union_context=("fles", ["x"]),
    )
    patched, warnings = done.session, list(done.warnings)

    assert (patched.name, patched.context) == ("spec", {"files": ["/a.md"], "fles": ["x"]})
    assert patched == await sessions.get_session(s.id)
    assert warnings == [
        "'fles' is not a known context set; it was kept as it is. Did you mean 'files'?"
    ]
    assert [data["name"] for data in await read_outbox(sessions, "session.renamed")] == ["spec"]
    assert [data.get("addedFile") for data in await read_outbox(sessions, "caco.context")] == [
        "/a.md",
        None,
    ]


async def test_a_whole_context_replaces_what_was_there(sessions):
    s = await sessions.create_session("architect", "u1")
    await sessions.set_relevant_context(s.id, "files", ["/a.md", "/b.md"])
    await sessions.set_relevant_context(s.id, "ports", ["80"])

    done = await sessions.patch_session(
        s.id, context={"files": ["/b.md", "/c.md"], "applet": ["git-diff"]}
    )
    patched = done.session

    assert patched.context == {"applet": ["git-diff"], "files": ["/b.md", "/c.md"]}
    last = (await read_outbox(sessions, "caco.context"))[-1]
    assert (last["reason"], last["addedFile"], last["removedFile"]) == ("changed", "/c.md", "/a.md")
    assert last["applet"] == {"slug": "git-diff"}


async def test_setting_the_same_values_changes_nothing_and_sends_no_event(sessions):
    """Neither revision nor event; the answer is the same as that to a change."""
    s = await sessions.create_session("architect", "u1")
    empty = await sessions.create_session("architect", "u1", name="spec")
    files = {"files": ["/a.md", "/b.md"]}
    await sessions.set_relevant_context(s.id, "files", files["files"])

    async with nothing_changes(sessions):
        change = await sessions.set_relevant_context(s.id, "files", files["files"])
        assert (change.items, change.added, change.removed) == (("/a.md", "/b.md"), (), ())
        await sessions.set_relevant_context(s.id, "ports", [])
        assert (await sessions.replace_context(s.id, files)).context == files
        done = await sessions.patch_session(s.id, context=files, union_context=("files", ["/b.md"]))
        patched, warnings = done.session, list(done.warnings)
        assert (patched.context, warnings) == (files, [])
        await sessions.patch_session(empty.id, context={}, metadata={"name": "spec"})

    await sessions.set_relevant_context(
        s.id, "files", ["/b.md", "/a.md"]
    )  # an order says what is newest
    assert [data["files"] for data in await read_outbox(sessions, "caco.context")] == [
        ["/a.md", "/b.md"],
        ["/b.md", "/a.md"],
    ]


async def test_nothing_to_change_changes_nothing(sessions):
    s = await sessions.create_session("architect", "u1")

    async with nothing_changes(sessions):
        assert await sessions.patch_session(s.id) == PatchedSession(s)
        assert await sessions.patch_session(s.id, metadata={}) == PatchedSession(s)
        with pytest.raises(SessionNotFoundError):
            await sessions.patch_session(UNKNOWN)


async def test_one_bad_part_undoes_the_others(sessions):
    s = await sessions.create_session("architect", "u1")

    async with nothing_changes(sessions):
        with pytest.raises(InvalidValueError):
            await sessions.patch_session(
                s.id, metadata={"name": "spec"}, union_context=("files", ["x"] * 11)
            )
        with pytest.raises(SessionNotFoundError):
            await sessions.patch_session(UNKNOWN, metadata={"name": "spec"})


async def test_items_that_a_union_pushes_out_and_an_unknown_set_name_give_warnings(sessions):
    s = await sessions.create_session("architect", "u1")
    await sessions.set_relevant_context(s.id, "files", [str(number) for number in range(10)])

    pushed = (await sessions.patch_session(s.id, union_context=("files", ["new"]))).warnings
    noted = (await sessions.patch_session(s.id, context={"fils": ["a"]})).warnings

    assert pushed == ("'files' is full: the oldest left to make room: 0.",)
    assert noted == (
        "'fils' is not a known context set; it was kept as it is. Did you mean 'files'?",
    )
