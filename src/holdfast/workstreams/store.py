"""What a workstream keeps: its files in the repository, and the journal beside them.

The repository's file counts. What is saved there is also written into the journal of this
machine's store, so that a removed worktree or a branch that was never pushed loses nothing, and so
that one phase can show the other's decisions without reading its file.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from holdfast.errors import Action, InvalidValueError, StoreReadOnlyError, StoreUnreachableError
from holdfast.ground import canonical, ids
from holdfast.ground import light_json as json
from holdfast.ground.errors import PathOutsideError
from holdfast.ground.folder import Folder, open_folder
from holdfast.ground.frozen import dataclass
from holdfast.ground.light_typing import Generic
from holdfast.ground.off_loop import off_loop
from holdfast.storage.journal import CONTENT_BYTES
from holdfast.workstreams import document, errors
from holdfast.workstreams.document import Document
from holdfast.workstreams.entries import ContextFields
from holdfast.workstreams.flag import GraphConfig
from holdfast.workstreams.merging import leave_out_known, list_lost, recover_context
from holdfast.workstreams.model import ContextChange, Key, Proof, RepoContext, Written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.storage.journal import Journal, JournalEntry

FILE_BYTES = 32 << 20
CONFIG_FOLDER, CONFIG = "configs", "graph_config.yaml"
CONFIG_PATH = f"{CONFIG_FOLDER}/{CONFIG}"
CONFIG_BYTES = 1 << 20
ADVICE = "delete entries that are no longer needed from its file, or use another workstream"
NOT_TEXT = "is not text in UTF-8"
DASHBOARD_FOLDER, DASHBOARD = "docs", "context_summary.md"
DASHBOARD_PATH = f"{DASHBOARD_FOLDER}/{DASHBOARD}"
IGNORED = "*.local.json\n.holdfast-*.tmp\n"
PROOFS_READ = 100
WITHDRAWALS_READ = 10_000
COMMANDS_READ = 1_000  # different commands that were run on the same contents
WITHDRAWN, RUN_ON_TREE = "withdrawn_proof", "run_on_tree"
ATTRIBUTES = "*.json text eol=lf merge=holdfast-context\n"


def name_context_file(phase: str) -> str:
    return f"{phase}_context.json"


def name_sessions_file(phase: str) -> str:
    return f"{phase}_sessions.local.json"


@dataclass(frozen=True)
class DocumentChange(Generic[Written]):
    """A change of one file: what was read, what is to be written, and what the rule made of it."""

    before: Document
    after: Document
    change: ContextChange[Written]


class WorkstreamFiles:
    """The context files of one checkout."""

    def __init__(self, root: str, folder: str):
        self.root, self.folder = root, folder

    def list_own_paths(self) -> list[str]:
        """What is ours in the repository, and so never makes anything stale."""
        return [self.folder, DASHBOARD_PATH]

    def load(self, phase: str) -> Document:
        """A path that is not a file or a folder of ours is reported like a broken file."""
        try:
            with self._open() as place:
                return self._read(place, phase)
        except (PathOutsideError, InvalidValueError) as error:
            return Document(problem=error.message)

    def has_file(self, phase: str) -> bool:
        return os.path.lexists(os.path.join(self.root, self.folder, name_context_file(phase)))

    def update(
        self,
        phase: str,
        planned: DocumentChange[Written],
        plan: Callable[[Document], DocumentChange[Written]],
    ) -> DocumentChange[Written]:
        """Compare and replace in one step. Where another process wrote since, `plan` runs again.

        A file that must not be written is refused with what to do.
        """
        with self._open(create=True) as place:
            assert place is not None
            self._prepare(place)
            with place.locked():
                now = self._read(place, phase)
                if now.problem:
                    raise errors.ReadOnlyContextError(now.problem)
                if now != planned.before:
                    planned = plan(now)
                place.replace(name_context_file(phase), document.to_bytes(planned.after))
        return planned

    def load_config(self) -> GraphConfig:
        """The repository's own graph configuration. One that is there is read or has a problem."""
        try:
            with _FolderToClose(open_folder(self.root, CONFIG_FOLDER)) as place:
                data = place and place.find(CONFIG, max_bytes=CONFIG_BYTES)
        except (PathOutsideError, InvalidValueError) as error:
            return self._report_config(error.problem)
        except (StoreReadOnlyError, StoreUnreachableError) as error:
            return self._report_config(f"cannot be read ({error.cause})")
        return _decode_config(data or b"")

    def _report_config(self, problem: str) -> GraphConfig:
        """Something else may be called `configs`: a file, say, which has no file in it."""
        path = os.path.join(self.root, CONFIG_FOLDER, CONFIG)
        try:
            os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return GraphConfig()
        except OSError:
            pass  # it may be there
        return GraphConfig(problem=problem)

    def write_dashboard(self, text: str, *, exclude_in: str | None) -> None:
        """`exclude_in` is git's own folder, where the page is excluded for this clone."""
        with _FolderToClose(open_folder(self.root, DASHBOARD_FOLDER, create=True)) as place:
            assert place is not None
            place.replace(DASHBOARD, text.encode())
        if exclude_in:
            _exclude(exclude_in, f"/{DASHBOARD_PATH}")

    # --- sessions of clients, on this machine only ------------------------------------------------

    def find_sessions(self, phase: str, key: Key) -> dict[str, Any]:
        """The session of each client in this workstream, by the client's own id."""
        with self._open() as place:
            known = self._read_sessions(place, phase)
        found: dict[str, Any] = known.get(_write_key(key), {})
        return found

    def save_session(
        self, phase: str, key: Key, client: str, native_id: str, local_path: str | None
    ) -> None:
        with self._open(create=True) as place:
            assert place is not None
            self._prepare(place)
            with place.locked():
                known = self._read_sessions(place, phase)
                name = _write_key(key)
                session = {"id": native_id}
                if local_path:
                    session["local_path"] = local_path
                earlier = known.get(name, {})
                known[name] = {**earlier, client: session}
                place.replace(name_sessions_file(phase), _sessions_to_bytes(known))

    # --- inside -----------------------------------------------------------------------------------

    def _open(self, *, create: bool = False) -> _FolderToClose:
        return _FolderToClose(open_folder(self.root, self.folder, create=create))

    def _read_sessions(self, place: Folder | None, phase: str) -> dict[str, Any]:
        """A file that cannot be read counts as missing: it only saves time."""
        data = place and place.find(name_sessions_file(phase), max_bytes=FILE_BYTES)
        try:
            known = {}
            for each in json.loads(data or b"{}")["sessions"]:
                name = json.dumps(each["key"], sort_keys=True)
                known[name] = dict(each["cli_sessions"])
            return known
        except (ValueError, TypeError, KeyError, RecursionError):
            return {}

    def _read(self, place: Folder | None, phase: str) -> Document:
        name = name_context_file(phase)
        data = place and place.find(name, max_bytes=FILE_BYTES)
        if not data:
            return Document()
        return document.from_bytes(data, f"{self.folder}/{name}")

    def _prepare(self, place: Folder) -> None:
        """Write git's settings for the folder into the folder, unless they are there already."""
        wanted = {".gitignore": IGNORED, ".gitattributes": ATTRIBUTES}
        for name, text in wanted.items():
            if place.find(name, max_bytes=FILE_BYTES) is None:
                place.replace(name, text.encode())


class _FolderToClose:
    """A folder that may be missing."""

    def __init__(self, folder: Folder | None):
        self.folder = folder

    def __enter__(self) -> Folder | None:
        return self.folder

    def __exit__(self, *exception: object) -> None:
        if self.folder is not None:
            self.folder.__exit__()


def _decode_config(data: bytes) -> GraphConfig:
    """UTF-16 without a mark at its beginning is valid UTF-8, with zeros in it."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return GraphConfig(problem=NOT_TEXT)
    if "\x00" in text:
        return GraphConfig(problem=NOT_TEXT)
    return GraphConfig(text)


def _exclude(git_folder: str, line: str) -> None:
    with _FolderToClose(open_folder(git_folder, "info", create=True)) as place:
        assert place is not None
        with place.locked():
            known = place.find("exclude", max_bytes=FILE_BYTES) or b""
            if line.encode() in known.splitlines():
                return
            if known and not known.endswith(b"\n"):
                known += b"\n"
            place.replace("exclude", known + line.encode() + b"\n")


def _write_key(key: Key) -> str:
    return json.dumps(key.to_dict(), sort_keys=True)


def _sessions_to_bytes(known: dict[str, Any]) -> bytes:
    sessions = []
    for name in sorted(known):
        key = json.loads(name)
        sessions.append({"key": key, "cli_sessions": known[name]})
    content = {"schema_version": 1, "sessions": sessions}
    text = json.dumps(content, indent=1, sort_keys=True)
    return f"{text}\n".encode()


class WorkstreamJournal:
    """What was saved and proven, on this machine."""

    def __init__(self, journal: Journal):
        self.journal = journal

    def check(self, context: RepoContext) -> None:
        """Before the file is written: what the journal would refuse must not be half saved."""
        content = _make_content(context)
        try:
            canonical.canonical_object("repo context", content, max_bytes=CONTENT_BYTES)
        except InvalidValueError as error:
            raise InvalidValueError(
                "Workstream",
                context.key.workstream_id,
                f"{error.problem}, so nothing was written; {ADVICE}",
                next_actions=[Action("workstream.other")],
            ) from None

    async def keep_context(
        self, context: RepoContext, kept: RepoContext | None, replaced: ContextFields
    ) -> None:
        """As it was written, and beside it what the file had lost, so that it can be restored.

        `kept` is what was saved before, `replaced` what the file had when it was written.
        """
        content = await off_loop(_make_content_with_lost, context, kept, replaced)
        subject = _make_subject(context.key, context.phase)
        try:
            await self.journal.add("repo_context", subject, content)
        except InvalidValueError:  # too much for one entry: what is in the file counts
            await self.journal.add("repo_context", subject, _make_content(context))

    async def find_kept(self, key: Key, phase: str) -> RepoContext | None:
        """Everything that was ever saved here, including what the file has lost."""
        newest = await self.journal.newest("repo_context", _make_subject(key, phase))
        if not newest:
            return None
        return await off_loop(_read_kept, key, phase, newest[0])

    async def keep_proof(self, proof: Proof) -> Proof:
        """Once by time, and once by what was run on which contents, which decides about a save."""
        await self.journal.add("proof", [proof.repo], proof.to_content(), entry_id=proof.id)
        short = {**proof.to_content(), "output_tail": "", "id": proof.id}
        if proof.tree is not None:
            await self.journal.add(RUN_ON_TREE, _name_run(proof), short)
        return proof

    async def list_newest_runs(
        self, repo: str, tree: str, withdrawn: frozenset[str]
    ) -> list[Proof]:
        """The newest run of each command on these contents, without those that were withdrawn."""
        newest = await self.journal.newest_of_each(RUN_ON_TREE, [repo, tree], COMMANDS_READ)
        runs = [_parse_run(entry) for entry in newest if entry.content]
        found = [await self._find_standing(run, withdrawn) for run in runs]
        return [proof for proof in found if proof]

    async def _find_standing(self, newest: Proof, withdrawn: frozenset[str]) -> Proof | None:
        """The run itself, or, where that was withdrawn, the one before it."""
        if newest.id not in withdrawn:
            return newest
        entries = await self.journal.newest(RUN_ON_TREE, _name_run(newest), PROOFS_READ)
        earlier = [_parse_run(entry) for entry in entries if entry.content]
        return next((run for run in earlier if run.id not in withdrawn), None)

    async def find_proof(self, proof_id: str) -> Proof | None:
        entry = await self.journal.find("proof", proof_id)
        if entry is None or entry.content is None:
            return None
        return Proof.from_dict(entry.id, entry.content)

    async def withdraw_proof(self, proof: Proof, *, by: str, now: str) -> None:
        """What was run stays in the log; it only counts no longer."""
        entry_id = ids.named_id("withdrawn", *self.journal.owner, proof.id)
        content = {"proof": proof.id, "by": by, "at": now}
        await self.journal.add(WITHDRAWN, [proof.repo], content, entry_id=entry_id)

    async def list_proofs(self, repo: str, limit: int = PROOFS_READ) -> list[Proof]:
        """Those that were not withdrawn, the newest first."""
        entries = await self.journal.newest("proof", [repo], limit)
        withdrawn = await self.list_withdrawn(repo)
        return [
            Proof.from_dict(entry.id, entry.content)
            for entry in entries
            if entry.content is not None and entry.id not in withdrawn
        ]

    async def list_withdrawn(self, repo: str) -> frozenset[str]:
        entries = await self.journal.newest(WITHDRAWN, [repo], WITHDRAWALS_READ)
        return frozenset(entry.content["proof"] for entry in entries if entry.content)


def _name_run(proof: Proof) -> list[str]:
    """The same command in another folder is another one."""
    text = json.dumps([proof.command, proof.folder])
    return [proof.repo, proof.tree or "", canonical.sha256(text.encode()).hex()]


def _parse_run(entry: JournalEntry) -> Proof:
    content = entry.content or {}
    return Proof.from_dict(content["id"], content)


def _read_kept(key: Key, phase: str, entry: JournalEntry) -> RepoContext | None:
    found = entry.content
    if not found:
        return None
    earlier = found.get("earlier")
    return RepoContext(
        key,
        phase,
        ContextFields.from_dict(found.get("kept") or found["fields"]),
        own=frozenset(found.get("own", ())),
        saved_at=entry.created_at,
        head=found.get("head"),
        earlier=earlier and ContextFields.from_dict(earlier),
    )


def _make_content_with_lost(
    context: RepoContext, kept: RepoContext | None, replaced: ContextFields
) -> dict[str, Any]:
    content = _make_content(context)
    if kept is not None and list_lost(context.fields, kept.fields):
        missing = leave_out_known(kept.fields, replaced)
        whole = recover_context(context.fields, missing)
        content["kept"] = whole.to_dict()
    earlier = kept and kept.earlier
    if earlier and list_lost(context.fields, earlier):
        content["earlier"] = earlier.to_dict()
    return content


def _make_content(context: RepoContext) -> dict[str, Any]:
    fields = context.fields.to_dict()
    fields["key"] = context.key.to_dict()
    return {"fields": fields, "own": sorted(context.own), "head": context.head}


def _make_subject(key: Key, phase: str) -> list[str]:
    return [*key, phase]


def make_relative(path: str, root: str, folder: str) -> str:
    """A path that a person gave in some folder, from the top of the checkout, with slashes."""
    canonical.check_text("Path", path, max_bytes=4096)
    whole = os.path.normpath(os.path.join(folder, path))
    inside = os.path.relpath(whole, root)
    is_above = inside == os.pardir or inside.startswith(os.pardir + os.sep)
    if is_above or os.path.isabs(inside):
        raise PathOutsideError(path, "is not in this repository", "Name a file that is.")
    return inside.replace(os.sep, "/")
