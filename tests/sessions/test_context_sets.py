"""Context sets: one rule for the limits, the events for listeners, and the same on both engines."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InvalidValueError
from holdfast.sessions import context_sets
from holdfast.sessions.errors import ContextFullError
from holdfast.storage.outbox import Outbox
from tests.sessions.tables import nothing_changes

ITEMS = st.lists(st.sampled_from([f"/r/{number}" for number in range(25)]), max_size=10)
NAMES = st.sampled_from(["files", "endpoints", "ports", "fles", "a", "b", "c"])


async def context_events(sessions):
    """The events for listeners about context sets, oldest first."""
    return [
        event.data
        for event in await Outbox(sessions.db, sessions.owner).read()
        if event.topic == "caco.context"
    ]


# --- the rule -------------------------------------------------------------------------------------


@given(st.lists(st.tuples(NAMES, ITEMS, st.sampled_from(["replace", "merge"])), max_size=12))
def test_no_sequence_of_changes_exceeds_the_limits_or_loses_an_item_silently(changes):
    context = {}
    for name, items, mode in changes:
        before = context.get(name, [])
        try:
            change = context_sets.change_set(context, name, items, mode)
        except ContextFullError:
            kept = (
                items
                if mode == "replace"
                else context_sets.merge_items(before, list(dict.fromkeys(items)))
            )
            assert sum(map(len, context.values())) - len(before) + len(set(kept)) > 50
            continue
        kept = list(change.items)

        assert len(kept) <= 10
        assert sum(map(len, change.context.values())) <= 50
        assert len(set(kept)) == len(kept)
        # Everything that was given is there.
        new = list(dict.fromkeys(items))
        assert set(new) <= set(kept)
        # Whatever was there or came is kept, or named as removed.
        assert set(kept) | set(change.removed) == set(before) | set(new)
        assert set(kept) & set(change.removed) == set()
        assert set(change.added) == set(kept) - set(before)
        # What was there keeps its order, the new follows in its own, and the oldest leave.
        stayed = [item for item in before if item not in change.removed]
        fresh = [item for item in new if item not in before]
        assert kept == ([*stayed, *fresh] if mode == "merge" else new)
        unnamed = [item for item in before if item not in new]
        assert mode == "replace" or list(change.removed) == unnamed[: len(change.removed)]
        # Other sets are left alone, and an empty set does not exist.
        assert {key: value for key, value in change.context.items() if key != name} == {
            key: value for key, value in context.items() if key != name
        }
        assert change.context.get(name, []) == kept
        assert [] not in change.context.values()
        context = change.context


def test_the_eleventh_item_pushes_out_the_oldest():
    ten = [f"/r/{number}" for number in range(10)]

    change = context_sets.change_set({"files": ten}, "files", ["/r/new"], "merge")

    assert change.items == (*ten[1:], "/r/new")
    assert (change.added, change.removed) == (("/r/new",), ("/r/0",))


def test_an_item_that_is_named_again_keeps_its_place():
    change = context_sets.change_set({"files": ["/a", "/b", "/c"]}, "files", ["/a", "/d"], "merge")

    assert change.items == ("/a", "/b", "/c", "/d")
    assert (change.added, change.removed) == (("/d",), ())


def test_an_item_that_is_named_again_does_not_leave_a_full_set():
    ten = [f"/r/{number}" for number in range(10)]

    change = context_sets.change_set({"files": ten}, "files", ["/r/new", "/r/0"], "merge")

    assert change.items == ("/r/0", *ten[2:], "/r/new")
    assert change.removed == ("/r/1",)


APPLET = ["git-diff", "path=/a", "since=abc"]


@pytest.mark.parametrize(
    ("items", "merged"),
    [
        (["path=/b"], ["git-diff", "path=/b", "since=abc"]),
        (["git-diff", "path=/b"], ["git-diff", "path=/b", "since=abc"]),
        (["line=3", "path=/b"], ["git-diff", "path=/b", "since=abc", "line=3"]),
        (["path=/b", "path=/c"], ["git-diff", "path=/c", "since=abc"]),
        (["path=/b", "git-diff"], ["git-diff", "path=/b", "since=abc"]),
        ([], APPLET),
    ],
)
def test_merging_an_applet_replaces_parameters_by_name_and_keeps_the_slug_first(items, merged):
    change = context_sets.change_set({"applet": APPLET}, "applet", items, "merge")

    assert list(change.items) == merged
    assert context_sets.describe_removed(change) is None, "a replaced parameter did not leave"


def test_the_slug_of_a_full_applet_never_leaves():
    full = ["git-diff", *(f"p{number}={number}" for number in range(9))]

    change = context_sets.change_set({"applet": full}, "applet", ["p0=new", "more=1"], "merge")

    assert change.items == ("git-diff", "p0=new", *full[3:], "more=1")
    assert "p1=1" in context_sets.describe_removed(change)


def test_merging_another_applet_is_refused_and_says_how_it_works():
    with pytest.raises(InvalidValueError, match="replace the set instead"):
        context_sets.change_set({"applet": APPLET}, "applet", ["text-editor", "path=/b"], "merge")
    assert context_sets.change_set({}, "applet", APPLET, "merge").items == tuple(APPLET)


def test_fifty_items_are_the_most_in_all():
    full = {f"set{number}": [f"/{item}" for item in range(10)] for number in range(5)}

    with pytest.raises(ContextFullError) as refusal:
        context_sets.change_set(full, "files", ["/one"])

    assert (refusal.value.total, refusal.value.limit, refusal.value.code) == (
        51,
        50,
        "context_full",
    )
    assert "would hold 51 items; 50 are the most in all" in str(refusal.value)
    assert context_sets.change_set(full, "set0", ["/one"]).items == ("/one",)


@pytest.mark.parametrize(
    ("items", "words"),
    [
        (None, "is not a list of texts"),
        ("/a", "is not a list of texts"),
        ({"/a"}, "is not a list of texts"),
        ({"/a": 1}, "is not a list of texts"),
        (
            [f"/{number}" for number in range(11)],
            "Number of items 11 is more than the 10 that a set holds",
        ),
        (["/a", 7], "is not a text"),
        ([""], "is empty"),
        (["/a\n/b"], "line break"),
        (["/a\x00"], "NUL"),
        (["/\ud800"], "surrogate"),
        (["x" * 2001], "longer than 2,000 bytes"),
    ],
)
def test_items_are_up_to_ten_single_lines(items, words):
    with pytest.raises(InvalidValueError) as refusal:
        context_sets.change_set({}, "files", items)

    assert words in str(refusal.value)


def test_an_unknown_mode_is_refused_with_the_known_ones():
    with pytest.raises(InvalidValueError, match="Known: replace, merge"):
        context_sets.change_set({}, "files", ["/a"], "append")


@pytest.mark.parametrize("name", ["files", "applet", "endpoints", "ports"])
def test_a_known_set_gives_no_warning(name):
    assert context_sets.change_set({}, name, ["/a"]).warning is None


def test_a_typo_works_and_names_the_nearest_known_set():
    assert "Did you mean 'files'?" in context_sets.change_set({}, "fles", ["/a"]).warning


def test_clearing_an_unknown_set_does_not_say_that_it_was_kept():
    for context in ({}, {"fles": ["/a"]}):
        warning = context_sets.change_set(context, "fles", []).warning
        assert warning == "'fles' is not a known context set. Did you mean 'files'?"
    assert "kept" in context_sets.change_set({}, "fles", ["/a"]).warning


def test_a_name_without_a_near_match_gets_the_list_of_known_sets():
    assert (
        "Known sets: files, applet, endpoints, ports."
        in context_sets.change_set({}, "x", ["/a"]).warning
    )


def test_a_whole_context_is_checked_set_by_set():
    assert context_sets.check_context({"ports": ["80", "80"], "files": []}) == {"ports": ["80"]}
    for wrong in (None, [], {"files": "x"}, {7: ["x"]}, {"a\x00": ["x"]}):
        with pytest.raises(InvalidValueError):
            context_sets.check_context(wrong)
    with pytest.raises(ContextFullError):
        context_sets.check_context(
            {f"s{number}": [f"/{item}" for item in range(10)] for number in range(6)}
        )


# --- on a session ---------------------------------------------------------------------------------


async def test_the_eleventh_file_pushes_out_the_oldest_and_says_so(sessions):
    s = await sessions.create_session("architect", "u1")
    await sessions.set_relevant_context(s.id, "files", [f"/r/{i}.md" for i in range(10)])

    change = await sessions.set_relevant_context(s.id, "files", ["/r/new.md"], mode="merge")

    assert change.items[-1] == "/r/new.md"
    assert change.removed == ("/r/0.md",)
    assert await sessions.get_relevant_context(s.id, "files") == {"files": list(change.items)}


async def test_no_items_clear_a_set(sessions):
    s = await sessions.create_session("architect", "u1")
    await sessions.set_relevant_context(s.id, "files", ["/a"])
    await sessions.set_relevant_context(s.id, "ports", ["8080"])

    change = await sessions.set_relevant_context(s.id, "files", [])

    assert change.removed == ("/a",)
    assert await sessions.get_relevant_context(s.id) == {"ports": ["8080"]}
    assert await sessions.get_relevant_context(s.id, "files") == {"files": []}


async def test_a_change_raises_the_revision_and_keeps_the_other_metadata(sessions):
    s = await sessions.create_session("architect", "u1", name="spec")

    await sessions.set_relevant_context(s.id, "files", ["/a"])

    after = await sessions.get_session(s.id)
    assert (after.name, after.revision) == ("spec", s.revision + 1)
    assert after.metadata == {"name": "spec", "context": {"files": ["/a"]}}


async def test_listeners_get_the_added_and_removed_files(sessions):
    """One file by itself, several as a list."""
    s = await sessions.create_session("architect", "u1")
    await sessions.set_relevant_context(s.id, "files", ["/a"])
    await sessions.set_relevant_context(s.id, "files", ["/b", "/c"])
    await sessions.set_relevant_context(s.id, "files", [])

    single, several, none = await context_events(sessions)

    assert single == {
        "reason": "changed",
        "session_id": s.id,
        "context": {"files": ["/a"]},
        "files": ["/a"],
        "addedFile": "/a",
    }
    assert (several["addedFiles"], several["removedFile"], several["files"]) == (
        ["/b", "/c"],
        "/a",
        ["/b", "/c"],
    )
    assert (none["removedFiles"], none["context"]) == (["/b", "/c"], {})
    assert "files" not in none


async def test_listeners_get_the_applet_with_its_parameters(sessions):
    s = await sessions.create_session("architect", "u1")
    await sessions.set_relevant_context(
        s.id, "applet", ["git-diff", "path=/repo", "base=a=b", "flag"]
    )
    await sessions.set_relevant_context(s.id, "applet", ["notes"])

    with_parameters, without = await context_events(sessions)

    assert with_parameters["applet"] == {
        "slug": "git-diff",
        "params": {"path": "/repo", "base": "a=b", "flag": ""},
    }
    assert without["applet"] == {"slug": "notes"}
    assert "addedFile" not in with_parameters


async def test_a_full_context_of_the_longest_items_can_be_changed_and_resumed(sessions):
    """The limits are those of the rule: whatever fits them is stored and sent on both engines."""
    s = await sessions.create_session("architect", "u1")
    for number, name in enumerate(("a", "b", "c", "d", "files")):
        await sessions.set_relevant_context(
            s.id, name, [f"{number}{item}".ljust(2000, "\\") for item in range(10)]
        )

    await sessions.set_relevant_context(
        s.id, "files", [f"new{item}".ljust(2000, "\\") for item in range(10)]
    )

    assert len((await context_events(sessions))[-1]["removedFiles"]) == 10
    assert len((await sessions.resume_session(s.id)).context) == 5


async def test_a_refused_change_changes_nothing(sessions):
    s = await sessions.create_session("architect", "u1")
    for number in range(5):
        await sessions.set_relevant_context(
            s.id, f"set{number}", [f"/{item}" for item in range(10)]
        )

    async with nothing_changes(sessions):
        with pytest.raises(ContextFullError):
            await sessions.set_relevant_context(s.id, "files", ["/one"])


async def test_merges_from_many_tasks_lose_no_item(sessions):
    """Ten tasks with one file each fill one set; ten more fill another at the same time."""
    s = await sessions.create_session("architect", "u1")

    await asyncio.gather(
        *(
            sessions.set_relevant_context(s.id, name, [f"/{name}/{number}"], mode="merge")
            for number in range(10)
            for name in ("files", "docs")
        )
    )

    context = await sessions.get_relevant_context(s.id)
    assert {name: set(items) for name, items in context.items()} == {
        name: {f"/{name}/{number}" for number in range(10)} for name in ("files", "docs")
    }
    assert (await sessions.get_session(s.id)).revision == s.revision + 20
    assert len(await context_events(sessions)) == 20


async def test_many_tasks_never_exceed_the_limits(sessions):
    """Thirty merges into one set: ten stay, and every item that left was named in an answer."""
    s = await sessions.create_session("architect", "u1")

    changes = await asyncio.gather(
        *(
            sessions.set_relevant_context(s.id, "files", [f"/{number}"], mode="merge")
            for number in range(30)
        )
    )

    kept = (await sessions.get_relevant_context(s.id))["files"]
    removed = [item for change in changes for item in change.removed]
    assert len(kept) == 10
    assert sorted(kept + removed) == sorted(f"/{number}" for number in range(30))
