"""Find the context that is meant, and describe where it differs from the expected one. Pure.

A line of work may have notes under the earlier name of its repository, on another branch, or only
in the log of this machine. What is found elsewhere is used, and a note says so.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.ground.frozen import replace
from holdfast.ground.git_refs import is_branch_name
from holdfast.workstreams.document import Document
from holdfast.workstreams.entries import ContextFields
from holdfast.workstreams.merging import list_lost, recover_context, renumber
from holdfast.workstreams.model import JudgedDecision, Key, ListedContext, RepoContext

NAMES_SHOWN = 5
LISTED = 50  # workstreams of a phase that are judged at once; a file may hold any number
FROM_THE_LOG = "This is from the log of this machine: the files of this checkout do not have it."

EARLIER_BRANCH = (
    "This machine has saved notes of an earlier branch of this name, or of another detached HEAD: "
    "`holdfast workstream restore` writes them into the file."
)


def get_context(document: Document, key: Key, phase: str) -> RepoContext:
    """The context with this key; an empty one where nothing is noted yet."""
    return RepoContext(
        key=key,
        phase=phase,
        fields=document.contexts.get(key) or ContextFields(),
        revision=document.revision,
        read_only=document.problem,
    )


def use_log(kept: RepoContext, document: Document) -> RepoContext:
    """What this machine saved, where the file has nothing of it."""
    fields = renumber(kept.fields)
    return replace(kept, fields=fields, revision=document.revision, notes=(FROM_THE_LOG,))


def set_apart(kept: RepoContext) -> RepoContext:
    """What was saved for an earlier branch of the same name: it is only there to be restored."""
    return replace(kept, fields=ContextFields(), earlier=join_earlier(kept))


def join_earlier(kept: RepoContext) -> ContextFields:
    if kept.earlier is None:
        return kept.fields
    return recover_context(kept.fields, kept.earlier)


def find_earlier_key(document: Document, key: Key) -> Key | None:
    """A repository is renamed by its first commit or remote: earlier notes are still about it."""
    if key in document.contexts:
        return None
    same_work = [known for known in document.contexts if _is_same_work(known, key)]
    earlier = [known for known in same_work if "/" not in known.repo]
    if len(earlier) != 1:
        return None
    return earlier[0]


def follow_renamed_repository(document: Document, key: Key) -> Document:
    """The same notes under the name that the repository has now."""
    earlier = find_earlier_key(document, key)
    if earlier is None:
        return document
    contexts = {}
    for known, fields in document.contexts.items():
        name = key if known == earlier else known
        contexts[name] = fields
    return replace(document, contexts=contexts)


def join_kept(
    kept: RepoContext | None, earlier: RepoContext | None, key: Key
) -> RepoContext | None:
    """What was saved here under this name, and what is known as own from an earlier name."""
    if kept is None:
        return earlier and replace(earlier, key=key)
    if earlier is None:
        return kept
    return replace(kept, own=kept.own | earlier.own)


def find_on_other_branch(document: Document, key: Key) -> Key | None:
    """The same line of work on another branch; of several the one that was changed last."""
    same_repo = [known for known in document.contexts if known.repo == key.repo]
    same_work = [known for known in same_repo if known.workstream_id == key.workstream_id]
    found = [known for known in same_work if is_branch_name(known.branch)]

    def get_updated_at(known: Key) -> str:
        return document.contexts[known].updated_at or ""

    return max(found, key=get_updated_at, default=None)


def list_contexts(document: Document, here: Key, phase: str) -> list[ListedContext]:
    """By key; of the branch that is checked out, the newest ones count as here."""
    same_repo = [key for key in document.contexts if key.repo == here.repo]
    own = [key for key in same_repo if key.branch == here.branch]
    own.sort(key=lambda key: document.contexts[key].updated_at or "")
    newest = set(own[-LISTED:])
    return [
        ListedContext(key, phase, document.contexts[key].updated_at, is_here=key in newest)
        for key in sorted(document.contexts)
    ]


def list_decisions_of_other_phase(other: RepoContext) -> list[JudgedDecision]:
    return [JudgedDecision(decision, of=other.phase) for decision in other.decisions]


# --- notes for the reader -------------------------------------------------------------------------


def describe_lost(found: RepoContext, kept: RepoContext | None) -> tuple[str, ...]:
    """The file counts; but what was saved here and is not in it may have been lost by mistake."""
    if kept is None:
        return ()
    lost = list_lost(found.fields, kept.fields)
    if not lost:
        return ()
    hint = "A person puts it back with `holdfast workstream restore`."
    return (f"Saved here and no longer in the file: {_list_names(lost)}. {hint}",)


def describe_other_work(document: Document, key: Key) -> tuple[str, ...]:
    """Which other contexts have notes, where this one is empty."""
    on_branch = {known.workstream_id for known in document.contexts if known.branch == key.branch}
    branches = {known.branch for known in document.contexts if known.branch != key.branch}
    others = sorted(on_branch | branches)
    if not others:
        return ()
    what = f"workstream {key.workstream_id}"
    if key.workstream_id == key.branch:
        what = "this branch"
    named = [name for name in others if is_branch_name(name)]
    names = _list_names(named, len(others) - len(named))
    return (f"Nothing is noted for {what}; there are notes for {names}.",)


def describe_inherited(branches: Sequence[str], unnamed: int = 0) -> str:
    return f"This branch begins with notes of {_list_names(branches, unnamed)}."


def describe_branch(key: Key) -> str:
    return f"These notes were made on branch {key.branch}."


def _list_names(names: Sequence[str], unnamed: int = 0) -> str:
    """Anybody can write a name into the file: one that is not a branch's is only counted."""
    listed = list(names[:NAMES_SHOWN])
    left_out = len(names) - NAMES_SHOWN
    if left_out > 0:
        listed[-1] += f" and {left_out} more"
    if unnamed:
        listed.append(f"+{unnamed} with names that are no branch")
    return ", ".join(listed)


def _is_same_work(first: Key, second: Key) -> bool:
    return first.branch == second.branch and first.workstream_id == second.workstream_id
