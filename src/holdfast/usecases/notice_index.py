"""Making the index of notices from what the bundle shows, too: one's own notes that hold here."""

from __future__ import annotations

import os

from holdfast.bundles.note_sections import list_decisions
from holdfast.bundles.quoting import quote, quote_inside
from holdfast.errors import HoldfastError
from holdfast.ground import canonical
from holdfast.ground.git_repository import find_repository
from holdfast.ground.user_settings import load_user_settings
from holdfast.ground.worktree import find_head
from holdfast.notices import store, terms
from holdfast.notices.code import find_declared
from holdfast.notices.model import ACCEPTED, REJECTED, RULE
from holdfast.usecases.continuation import PHASE
from holdfast.workstreams.errors import NoRepositoryError, SharedContextOffError
from holdfast.workstreams.model import PHASES
from holdfast.workstreams.store import CONFIG_PATH, name_context_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from holdfast.app import App
    from holdfast.ground.git_repository import Repository
    from holdfast.notices.model import NoticeIndex
    from holdfast.notices.store import IndexFile
    from holdfast.workstreams.model import JudgedContext, JudgedDecision

TEXT_CHARS, NAME_CHARS = 400, 60
AGAIN_SECONDS = 60.0  # after a look that failed, hooks wait so long before they look again
TRACKED_BYTES = 16 << 20
RENAMED_COMMITS = 500
MANIFESTS = (
    "pyproject.toml",
    "requirements.txt",
    "package.json",
    "go.mod",
    "Cargo.toml",
    "Gemfile",
)
MANIFEST_BYTES = 1 << 20


def make_index(app: App, file: IndexFile, worktree: str) -> NoticeIndex:
    """Make and keep it. Where that fails, an empty one stands for it for a while."""
    stamps = _read_stamps(app.settings.home, worktree)
    # For one that is stopped here, and for others meanwhile.
    file.save([], {}, stamps, seconds=AGAIN_SECONDS, is_settled=True)
    try:
        judged = app.run(app.workstreams(worktree).load(PHASE))
        entries = _describe_all(judged, worktree)
    except (SharedContextOffError, NoRepositoryError):
        entries = []
    index = file.keep(entries, terms.list_lookups, stamps)
    store.remove_unused(app.settings.home)
    return index


def _read_stamps(home: str, worktree: str) -> list[store.Stamp]:
    """Before anything is read, so that a change in between is seen at the next look."""
    _, of_head = find_head(worktree)
    try:
        folder = load_user_settings(home).context_folder
    except HoldfastError:
        folder = ""
    inside = [CONFIG_PATH, *MANIFESTS]
    inside += [os.path.join(folder, name_context_file(phase)) for phase in PHASES]
    paths = [os.path.join(worktree, path) for path in inside]
    return store.read_stamps([os.path.join(home, "settings.json"), *of_head, *paths])


def _describe_all(judged: JudgedContext, worktree: str) -> list[dict[str, Any]]:
    known = [*_list_decided(judged), *_list_rules(judged)]
    repository = find_repository(worktree)
    tracked = _list_tracked(repository) if repository else []
    declared = set(_list_declared(worktree))
    entries = terms.describe_entries(known, declared=declared, tracked=tracked)
    if repository:
        _follow_renames(repository, entries, frozenset(tracked))
    return entries


# --- entries --------------------------------------------------------------------------------------


def _list_decided(judged: JudgedContext) -> Iterator[dict[str, Any]]:
    """One's own, as bundles show them; what others noted is theirs to say, inside a fence."""
    for each in list_decisions(judged):
        is_told = each.status == REJECTED or (each.status == ACCEPTED and each.decision.because)
        if is_told and all(part.verdict in ("ok", "moved") for part in each.evidence):
            yield _describe_decision(each)


def _describe_decision(judged: JudgedDecision) -> dict[str, Any]:
    decision = judged.decision
    return {
        "identity": f"{decision.identity} {judged.status}",
        "id": quote(decision.id, NAME_CHARS) or "D?",
        "kind": judged.status,
        "text": quote(decision.text, TEXT_CHARS),
        "because": quote_inside(decision.because, TEXT_CHARS),
        "at": decision.changed_at,
        "of": quote(judged.of, NAME_CHARS) if judged.of not in (None, *PHASES) else "",
        "pointers": [part.text.partition(":")[0] for part in judged.evidence if part.path],
    }


def _list_rules(judged: JudgedContext) -> Iterator[dict[str, Any]]:
    for rule in judged.rules:
        name = canonical.sha256(rule.encode("utf-8", "replace")).hex()[:16]
        text = quote(rule, TEXT_CHARS)
        yield {"identity": f"rule {name}", "id": "rule", "kind": RULE, "text": text}


# --- the repository -------------------------------------------------------------------------------


def _list_tracked(repository: Repository) -> list[str]:
    answer = repository.git.run("ls-files", "-z", most_bytes=TRACKED_BYTES)
    names = answer.out.decode("utf-8", "replace").split("\x00")
    return [name for name in names if name]


def _list_declared(worktree: str) -> Iterator[str]:
    for name in MANIFESTS:
        try:
            with open(os.path.join(worktree, name), "rb") as file:
                text = file.read(MANIFEST_BYTES).decode("utf-8", "replace")
        except OSError:
            continue
        yield from find_declared(name, text)


def _follow_renames(
    repository: Repository, entries: Sequence[dict[str, Any]], tracked: frozenset[str]
) -> None:
    """A file that was renamed is still the one that an entry names."""
    named = {pointer.partition("#")[0] for entry in entries for pointer in entry["files"]}
    lost = named - tracked
    if not lost:
        return
    renamed = _list_renames(repository)
    for entry in entries:
        for pointer in list(entry["files"]):
            path, mark, symbol = pointer.partition("#")
            now = _find_now(path, renamed, tracked) if path in lost else None
            if now is not None:
                entry["files"].append(f"{now}{mark}{symbol}")


def _find_now(path: str, renamed: Mapping[str, str], tracked: frozenset[str]) -> str | None:
    seen = {path}
    while path in renamed and renamed[path] not in seen:
        path = renamed[path]
        seen.add(path)
    return path if len(seen) > 1 and path in tracked else None


def _list_renames(repository: Repository) -> dict[str, str]:
    """From what to what, in the newest commits and in what is staged; a later one counts."""
    style = ("--name-status", "-M", "-z", "--diff-filter=R")
    log = repository.git.run("log", f"-n{RENAMED_COMMITS}", "--format=", *style, "HEAD")
    staged = repository.git.run("diff-index", "--cached", *style, "HEAD")
    renamed: dict[str, str] = {}
    for listed in (staged.out, log.out):  # the newest first
        fields = listed.decode("utf-8", "replace").split("\x00")
        for status, old, new in zip(fields[0::3], fields[1::3], fields[2::3], strict=False):
            if status.strip().startswith("R"):
                renamed.setdefault(old, new)
    return renamed
