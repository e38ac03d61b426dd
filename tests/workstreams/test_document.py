"""The file of one phase: written so that git can merge it, read whatever git made of it."""

import json
import random
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from holdfast.workstreams.document import Document, from_bytes, merge_bytes, to_bytes
from holdfast.workstreams.entries import ContextFields, Decision
from holdfast.workstreams.merging import merge_contexts, next_decision_id, recover_context
from holdfast.workstreams.model import Key

PATH = "data/context/planning_context.json"
KEY = Key("github.com/acme/payouts", "main", "main")


def at(second: int) -> str:
    return f"2026-11-16T09:00:{second:02d}.000000Z"


def decision(uid: str, text: str, second: int = 0, number: str = "D1", **more: Any) -> Decision:
    entry = {"id": number, "uid": uid, "text": text, "status": "open", "created_at": at(second)}
    return Decision.from_dict({**entry, "updated_at": at(second), **more})


def context(*decisions: Decision, key: Key = KEY, **fields: Any) -> ContextFields:
    entries = [entry.to_dict() for entry in decisions]
    return ContextFields.from_dict({"key": key.to_dict(), "open_decisions": entries, **fields})


def with_contexts(*contexts: ContextFields, revision: int = 1, **top: Any) -> bytes:
    keys = [Key(**fields.key) for fields in contexts]
    return to_bytes(Document(revision, dict(zip(keys, contexts, strict=True)), top))


def texts(found: Document, key: Key = KEY) -> set[str | None]:
    return {entry.text for entry in found.contexts[key].open_decisions or ()}


def test_a_file_has_one_context_per_line_in_order_with_sorted_keys_and_a_last_newline():
    data = with_contexts(
        context(key=KEY._replace(branch="z")),
        context(decision("u1", "é"), key=KEY._replace(branch="a")),
        revision=7,
    )

    lines = data.decode().split("\n")
    assert lines[0] == '{"contexts": ['
    assert [json.loads(line.lstrip(","))["key"]["branch"] for line in lines[1:3]] == ["a", "z"]
    assert lines[3:] == ["],", '"revision": 7,', '"schema_version": 1', "}", ""]
    assert list(json.loads(data)) == sorted(json.loads(data))
    assert "é" in lines[1]


def test_an_empty_document_is_a_whole_file():
    assert from_bytes(to_bytes(Document()), PATH) == Document()


def test_unknown_fields_are_kept_in_every_place():
    data = with_contexts(context(decision("u1", "a", later="kept"), later={"x": 1}), later=[1, 2])

    again = from_bytes(to_bytes(from_bytes(data, PATH)), PATH)

    assert again.others == {"later": [1, 2]}
    assert again.contexts[KEY].extra == {"later": {"x": 1}}
    assert again.contexts[KEY].open_decisions[0].extra == {"later": "kept"}


def test_a_newer_schema_may_only_be_read_about():
    found = from_bytes(b'{"schema_version": 2, "revision": 1, "contexts": []}', PATH)

    assert found.problem
    assert "newer version (schema 2" in found.problem
    assert found.contexts == {}


def test_an_older_draft_with_one_context_is_understood():
    found = from_bytes(
        json.dumps({"schema_version": 1, **context(decision("u1", "a")).to_dict()}).encode(), PATH
    )

    assert found.problem is None
    assert texts(found) == {"a"}


BROKEN = {
    "not utf-8": b"\xff\xfe{}",
    "cut off": with_contexts(context(decision("u1", "a")))[:60],
    "a list": b"[]",
    "no version": b'{"contexts": []}',
    "a version that is none": b'{"schema_version": true, "contexts": []}',
    "contexts that are none": b'{"schema_version": 1, "contexts": [1]}',
    "a context without a key": b'{"schema_version": 1, "contexts": [{}]}',
    "decisions that are none": (
        b'{"schema_version": 1, "contexts": [{"key": {}, "open_decisions": 5}]}'
    ),
    "a summary that is none": (
        b'{"schema_version": 1, "contexts": [{"key": {}, "working_summary": "x"}]}'
    ),
    "a claim that is none": (
        b'{"schema_version": 1, "contexts": [{"key": {}, "evidence_ledger": ["x"]}]}'
    ),
    "no list of errors": b'{"schema_version": 1, "contexts": [{"key": {}, "last_errors": null}]}',
    "no files of a claim": (
        b'{"schema_version": 1, "contexts": [{"key": {}, "evidence_ledger": [{"files": 1}]}]}'
    ),
    "a revision that is none": b'{"schema_version": 1, "revision": -1, "contexts": []}',
    "nested without end": b"[" * 100_000,
    "a number without end": b'{"schema_version": 1' + b"1" * 5000 + b"}",
    "words": b"hello\n",
}


def test_any_broken_file_is_read_as_a_document_with_a_problem():
    for name, data in BROKEN.items():
        found = from_bytes(data, PATH)
        assert (found.problem or "").startswith(PATH), name
        assert found.contexts == {}, name


@given(st.binary(max_size=200))
def test_no_bytes_raise(data: bytes):
    from_bytes(data, PATH)


@given(st.data())
def test_no_damage_to_a_real_file_raises(data: st.DataObject):
    whole = with_contexts(context(decision("u1", "a"), checklist=["x"]), revision=3)
    place = data.draw(st.integers(0, len(whole) - 1))
    from_bytes(
        whole[:place]
        + data.draw(st.binary(max_size=3))
        + whole[place + data.draw(st.integers(0, 3)) :],
        PATH,
    )


# --- what git makes of two sides ------------------------------------------------------------------


def test_conflict_markers_show_both_sides_and_forbid_writing():
    ours = with_contexts(context(decision("u1", "ours")), revision=2).decode()
    theirs = with_contexts(context(decision("u2", "theirs", 1)), revision=3).decode()
    data = f"<<<<<<< HEAD\n{ours}||||||| base\n=======\n{theirs}>>>>>>> other\n".encode()

    found = from_bytes(data, PATH)

    assert texts(found) == {"ours", "theirs"}
    assert found.revision == 3
    assert found.problem
    assert "Delete the marker lines" in found.problem


def test_after_the_marker_lines_are_deleted_the_rest_is_merged():
    ours = with_contexts(context(decision("u1", "ours"))).decode().splitlines()
    theirs = with_contexts(context(decision("u2", "theirs", 1))).decode().splitlines()
    data = "\n".join([ours[0], ours[1], theirs[1], *ours[2:]]).encode()

    found = from_bytes(data, PATH)

    assert found.problem is None
    assert texts(found) == {"ours", "theirs"}


def test_two_sides_that_gave_out_the_same_number_keep_both_decisions():
    merged = merge_contexts(
        context(decision("u1", "queue", 1), decision("u2", "earlier", 0, "D2")),
        context(decision("u3", "table", 2)),
    )

    assert {entry.id: entry.text for entry in merged.open_decisions} == {
        "D1": "queue",
        "D2": "earlier",
        "D3": "table",
    }


def test_the_later_of_two_changes_to_a_decision_wins_and_both_histories_stay():
    first = decision("u1", "a", 1, history=[{"text": "x"}], updated_at=at(5))
    second = decision("u1", "b", 1, history=[{"text": "y"}], updated_at=at(9))

    (entry,) = merge_contexts(context(first), context(second)).open_decisions

    assert entry.text == "b"
    assert {past.text for past in entry.history} == {"a", "x", "y"}


def test_a_summary_stays_with_its_own_checkpoint_and_the_other_is_kept():
    first = context(
        working_summary={"text": "one", "updated_at": at(1)},
        checkpoint={"git_head": "a"},
        updated_at=at(9),
    )
    second = context(
        working_summary={"text": "two", "updated_at": at(2)},
        checkpoint={"git_head": "b"},
        updated_at=at(3),
    )

    merged = merge_contexts(first, second)

    assert (merged.working_summary.text, merged.checkpoint.git_head) == ("two", "b")
    assert [summary.text for summary in merged.other_summaries] == ["one"]


ENTRIES = st.lists(
    st.builds(
        decision,
        st.sampled_from("uvwx"),
        st.sampled_from(["a", "b"]),
        st.integers(0, 5),
        st.sampled_from(["D1", "D2"]),
    ),
    max_size=4,
    unique_by=lambda entry: entry.uid,
)
SIDES = st.builds(
    lambda decisions, list_, pointers, second, summary: context(
        *decisions,
        checklist=list_,
        file_pointers=pointers,
        updated_at=at(second),
        **({"working_summary": {"text": summary, "updated_at": at(second)}} if summary else {}),
    ),
    ENTRIES,
    st.lists(st.sampled_from("pqr"), unique=True),
    st.lists(st.sampled_from("st"), unique=True),
    st.integers(0, 9),
    st.sampled_from(["", "one", "two"]),
)


def words_of(side: ContextFields) -> set[str | None]:
    summaries = [side.working_summary, *(side.other_summaries or ())]
    return {summary.text for summary in summaries if summary}


@given(SIDES, SIDES)
def test_merging_loses_no_entry_whichever_side_comes_first(
    first: ContextFields, other: ContextFields
):
    merged = merge_contexts(first, other)
    again = merge_contexts(other, first)

    uids = {entry.uid for side in (first, other) for entry in side.open_decisions}
    assert {entry.uid for entry in merged.open_decisions} == uids
    assert len({entry.id for entry in merged.open_decisions}) == len(uids)
    assert set(merged.checklist) == {*first.checklist, *other.checklist}
    assert words_of(merged) == words_of(first) | words_of(other)
    assert merged.open_decisions == again.open_decisions
    assert merged.working_summary == again.working_summary


@given(SIDES, SIDES)
def test_merging_again_changes_nothing(first: ContextFields, other: ContextFields):
    merged = merge_contexts(first, other)

    again = merge_contexts(merged, other)

    assert {entry.uid: entry.text for entry in again.open_decisions} == {
        entry.uid: entry.text for entry in merged.open_decisions
    }
    assert set(again.checklist) == set(merged.checklist)


def test_a_driver_does_not_merge_what_it_cannot_read():
    assert merge_bytes(b"{", to_bytes(Document()), PATH) is None
    assert merge_bytes(to_bytes(Document()), to_bytes(Document(3)), PATH) is not None


def git(folder: Path, *command: str, check: bool = True) -> str:
    flags = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(
        ["git", *flags, *command], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0 or not check, done.stderr
    return done.stdout


def write(folder: Path, found: Document) -> None:
    (folder / "context.json").write_bytes(to_bytes(found))
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "x", "--allow-empty")


def test_random_merges_by_git_lose_no_record(tmp_path: Path, scale: Any):
    """Without any driver, with union, and with ours: the loader has every id of
    both sides (R14).
    """
    for round_ in range(scale(200)):
        chance = random.Random(round_)
        way = ("plain", "union", "ours")[round_ % 3]
        folder = tmp_path / str(round_)
        folder.mkdir()
        git(folder, "init", "-q")
        if way == "union":
            (folder / ".gitattributes").write_text("*.json merge=union\n")
        base = Document(1, {})
        for number in range(chance.randint(0, 3)):
            base = _grown(base, chance, f"base{number}")
        write(folder, base)
        sides = []
        for side in ("left", "right"):
            git(folder, "checkout", "-q", "-B", side, "main")
            grown = base
            for number in range(chance.randint(1, 3)):
                grown = _grown(grown, chance, f"{side}{number}")
            write(folder, grown)
            sides.append(grown)
        wanted = _uids(sides[0]) | _uids(sides[1])
        if way == "ours":
            merged = merge_bytes(*(to_bytes(side) for side in sides), PATH)
        else:
            git(folder, "merge", "-q", "left", check=False)
            merged = (folder / "context.json").read_bytes()
        found = from_bytes(merged or b"", PATH)
        assert _uids(found) == wanted, (round_, way)
        assert found.problem is None or way == "plain"


def _grown(found: Document, chance: random.Random, uid: str) -> Document:
    key = KEY._replace(workstream_id=chance.choice(["a", "b", "c"]))
    fields = found.contexts.get(key, context(key=key))
    entry = decision(uid, uid, chance.randint(0, 59), next_decision_id(fields.open_decisions))
    grown = replace(
        fields, open_decisions=(*fields.open_decisions, entry), updated_at=entry.created_at
    )
    return found.with_context(key, grown)


def _uids(found: Document) -> set[str | None]:
    return {entry.uid for fields in found.contexts.values() for entry in fields.open_decisions}


def test_claims_of_both_sides_stand_in_the_order_in_which_they_were_made():
    sides = [
        context(evidence_ledger=[{"id": f"c-{uid}", "uid": uid, "claim": uid, "claimed_at": at(n)}])
        for uid, n in (("b", 1), ("a", 2))
    ]

    assert [entry.uid for entry in merge_contexts(*sides).evidence_ledger] == ["b", "a"]


def test_the_summary_that_was_written_last_wins_over_a_later_change_of_its_file():
    """The file was changed later, but not its summary."""
    file = context(updated_at=at(9), working_summary={"text": "old", "updated_at": at(1)})
    kept = context(updated_at=at(5), working_summary={"text": "new", "updated_at": at(5)})

    assert recover_context(file, kept).working_summary.text == "new"


def test_a_merge_adds_no_field_that_neither_side_has():
    first, second = context(updated_at=at(1)), context(updated_at=at(2))

    assert merge_contexts(first, second).to_dict().keys() == first.to_dict().keys()


def test_an_entry_of_the_file_that_was_changed_after_it_was_saved_stays_as_it_is():
    file = context(decision("u1", "Use a table", 1, updated_at=at(9), because="fast"))
    kept = context(decision("u1", "Use a queue", 1, updated_at=at(5)))

    assert recover_context(file, kept).open_decisions == file.open_decisions
    [newer] = recover_context(kept, file).open_decisions
    assert newer.text == "Use a table"
