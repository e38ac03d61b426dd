"""The verbs of workstreams: read what was noted and judge it on this checkout; write only what a rule allows.

Nothing here believes a file. Every read compares the summary with the contents that it was written against, and looks
each piece of evidence up again. Every write goes through the same three steps: the rule, the file, the journal.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from holdfast.errors import HoldfastError, InvalidValueError
from holdfast.ground import clock, git, ids, redaction
from holdfast.ground.errors import FileMissingError
from holdfast.ground.fence import fence_key
from holdfast.ground.off_loop import off_loop
from holdfast.workstreams import dashboard, errors, evidence, judging, proving, rules
from holdfast.workstreams.checkout import Checkout, open_checkout
from holdfast.workstreams.document import Document, lost
from holdfast.workstreams.model import PHASES, JudgedClaim, JudgedContext, Key, Proof, RepoContext, changed_at
from holdfast.workstreams.store import DASHBOARD, FILE_BYTES, WorkstreamJournal, as_relative

if TYPE_CHECKING:
    from holdfast.ground.settings import Settings
    from holdfast.storage.journal import Journal

Change = Callable[[RepoContext], RepoContext]
FROM_THE_LOG = "This is from the log of this machine: the files of this checkout do not have it."
LISTED = 50  # workstreams of a phase that are judged at once; a file may hold any number


class WorkstreamService:
    """Context in the repository that a folder belongs to. `share` is what a program says about the flag."""

    def __init__(
        self,
        settings: Settings,
        journal: Journal,
        *,
        folder: str | None = None,
        share: bool | None = None,
        environment: Mapping[str, str] | None = None,
    ):
        self.settings = settings
        self.journal = WorkstreamJournal(journal)
        self.folder = folder or os.getcwd()
        self.share = share
        self.environment = os.environ if environment is None else environment

    # --- reading -------------------------------------------------------------------------------------------

    async def load(self, phase: str, workstream_id: str | None = None) -> JudgedContext:
        """What was noted, with this checkout's verdict on each part of it."""
        checkout = await off_loop(self._open)
        document = await off_loop(checkout.files.load, rules.check_phase(phase))
        context = await self._find(checkout, document, phase, workstream_id)
        proofs = [self._as_shown(one) for one in await self.journal.list_proofs(checkout.repository.repo)]
        judged = await off_loop(judging.judge, checkout, context, proofs)
        other = await self.journal.find_context(context.key, _other(phase))
        shared = [{**one, "of": _other(phase)} for one in (other.decisions if other else ())]
        return replace(judged, shared_decisions=(*shared, *_of_other_branches(document, context)))

    async def list_judged(self) -> list[dict[str, Any]]:
        """Every workstream that this checkout's files know; those of its own branch with their verdicts."""
        checkout = await off_loop(self._open)
        found = []
        for phase in PHASES:
            document = await off_loop(checkout.files.load, phase)
            here = [key for key in document.contexts if key[:2] == checkout.key(None)[:2]]
            newest = sorted(here, key=lambda key: str(document.contexts[key].get("updated_at") or ""))[-LISTED:]
            for key, fields in sorted(document.contexts.items()):
                judged = await self.load(phase, key.workstream_id) if key in newest else None
                entry = {"key": key.to_dict(), "phase": phase, "updated_at": fields.get("updated_at")}
                found.append({**entry, "context": judged.to_dict() if judged else None})
        return found

    # --- writing -------------------------------------------------------------------------------------------

    async def decide(
        self,
        text: str | None,
        *,
        phase: str = "implementation",
        workstream_id: str | None = None,
        decision_id: str | None = None,
        status: str | None = None,
        because: str | None = None,
        request_id: str | None = None,
    ) -> dict[str, Any]:
        """Note a decision or change one. The same `request_id` again finds what it did the first time."""
        kept: list[dict[str, Any]] = []
        about = {
            "decision_id": decision_id,
            "status": status,
            "because": self._clean(because),
            **self._stamp(request_id),
        }

        def change(context: RepoContext) -> RepoContext:
            changed, entry = rules.decide(context, self._clean(text), **about)
            kept[:] = [entry]
            return changed

        await self._change(phase, workstream_id, change)
        return kept[0]

    async def claim(
        self,
        text: str,
        shown: Sequence[str | Mapping[str, Any]] = (),
        *,
        phase: str = "implementation",
        workstream_id: str | None = None,
        kind: str | None = None,
        request_id: str | None = None,
    ) -> JudgedClaim:
        """A statement about the code, with what shows it; every piece is looked at before anything is written."""
        checkout = await off_loop(self._open)
        rules.check_evidence(shown)
        taken = [await self._take(checkout, one) for one in shown]
        kept: list[dict[str, Any]] = []

        def change(context: RepoContext) -> RepoContext:
            changed, entry = rules.claim(context, self._clean(text), taken, kind=kind, **self._stamp(request_id))
            kept[:] = [entry]
            return changed

        await self._change(phase, workstream_id, change, checkout)
        state = await off_loop(checkout.read_state)
        return judging.judge_claim(checkout, kept[0], state.contents_id)

    async def withdraw(
        self, note: str, *, phase: str = "implementation", workstream_id: str | None = None
    ) -> dict[str, Any]:
        """Show a claim or a decision, named by id or words, no more."""
        kept: list[dict[str, Any]] = []

        def change(context: RepoContext) -> RepoContext:
            changed, entry = rules.withdraw(context, self._clean(note), by=self.settings.developer, now=_now())
            kept[:] = [entry]
            return changed

        await self._change(phase, workstream_id, change)
        return kept[0]

    async def restore(self, *, phase: str = "implementation", workstream_id: str | None = None) -> RepoContext:
        """Put back what was saved here and is no longer in the file."""
        checkout = await off_loop(self._open)
        document = await off_loop(checkout.files.load, rules.check_phase(phase))
        key = (await self._find(checkout, document, phase, workstream_id)).key
        kept = await self.journal.find_kept(key, phase)
        return await self._change(phase, workstream_id, lambda one: rules.restore(one, kept, now=_now()), checkout)

    async def set_checklist(
        self, items: Sequence[str], *, phase: str = "implementation", workstream_id: str | None = None
    ) -> RepoContext:
        cleaned = [self._clean(item) for item in items]
        return await self._change(phase, workstream_id, lambda one: rules.set_checklist(one, cleaned, now=_now()))

    async def point(
        self, paths: Sequence[str], *, phase: str = "implementation", workstream_id: str | None = None
    ) -> RepoContext:
        """Files that whoever continues should look at; they have to be there."""
        checkout = await off_loop(self._open)
        pointers = [_pointer(checkout, path) for path in paths]
        return await self._change(phase, workstream_id, lambda one: rules.point(one, pointers, now=_now()), checkout)

    async def save(
        self,
        summary: str,
        *,
        phase: str = "implementation",
        workstream_id: str | None = None,
        feature_request: str | None = None,
        by_hand: bool = False,
        expected_revision: int | None = None,
    ) -> RepoContext:
        """The summary, bound to the contents as they are now; only after something has shown that they work.

        `expected_revision` is that of the document which the writer had read: whatever was written since is not his.
        """
        rules.check_revision(expected_revision)
        checkout = await off_loop(self._open)
        text = self._clean(rules.check_summary(summary))
        state = await off_loop(checkout.read_state)
        verified = rules.verified_by(
            by_hand=by_hand,
            tree=state.contents_id,
            is_committed=not state.changed and state.head is not None,
            proofs=await self.journal.list_proofs(checkout.repository.repo),
        )

        def change(context: RepoContext) -> RepoContext:
            if expected_revision is not None and context.revision != expected_revision:
                raise errors.ContextChangedError(expected_revision, context.revision)
            return rules.save(
                context,
                text,
                checkpoint=judging.checkpoint_of(checkout, context, state),
                feature_request=self._clean(feature_request),
                verified_by=verified,
                by=self.settings.developer,
                now=_now(),
            )

        saved = await self._change(phase, workstream_id, change, checkout)
        try:
            await off_loop(_write_dashboard, checkout)
        except HoldfastError as error:  # the summary is saved, and the page is only for people
            return replace(saved, notes=(*saved.notes, f"{DASHBOARD} was not written: {error.message}"))
        return saved

    async def fail(
        self,
        *,
        step: str,
        error: str,
        next_action: str,
        phase: str = "implementation",
        workstream_id: str | None = None,
        request_id: str | None = None,
    ) -> RepoContext:
        said = {"step": self._clean(step), "error": self._clean(error), "next_action": self._clean(next_action)}
        stamp = self._stamp(request_id)
        said |= {name: stamp[name] for name in ("uid", "now", "key")}
        return await self._change(phase, workstream_id, lambda one: rules.fail(one, **said))

    async def succeed(self, *, phase: str = "implementation", workstream_id: str | None = None) -> RepoContext:
        return await self._change(phase, workstream_id, lambda one: rules.succeed(one, now=_now()))

    async def keep_client_session(
        self,
        client: str,
        native_id: str,
        *,
        phase: str,
        workstream_id: str | None = None,
        local_path: str | None = None,
    ) -> None:
        """What a client calls its own session: only saves time, and stays on this machine."""
        checkout = await off_loop(self._open)
        key = checkout.key(workstream_id)
        await off_loop(checkout.files.save_session, rules.check_phase(phase), key, client, native_id, local_path)

    async def list_client_sessions(self, phase: str, workstream_id: str | None = None) -> dict[str, Any]:
        checkout = await off_loop(self._open)
        return await off_loop(checkout.files.find_sessions, rules.check_phase(phase), checkout.key(workstream_id))

    # --- proofs --------------------------------------------------------------------------------------------

    async def prove(
        self, command: Sequence[str], *, again: str | None = None, show: Callable[[bytes], object] = lambda part: None
    ) -> Proof:
        """Run a command and keep how it ended, bound to the contents that it ran on."""
        checkout = await off_loop(self._open)
        folder, checked = checkout.folder, tuple(command)
        if again is not None:
            if checked:
                raise InvalidValueError("Command", checked[0], "is one too many: --again names a command already")
            earlier = await self._get_proof(checkout, again)
            folder, checked = os.path.join(checkout.repository.root, earlier.folder), earlier.command
        checked = proving.check_command(checked)
        before = await off_loop(checkout.read_state)
        run = await off_loop(proving.run_command, checked, folder, show)
        run = replace(run, output_tail=self._clean(run.output_tail))
        after = await off_loop(checkout.read_state)
        return await self.journal.keep_proof(_proof(checkout, checked, folder, run, before, after))

    async def get_proof(self, proof_id: str) -> Proof:
        return await self._get_proof(await off_loop(self._open), proof_id)

    # --- inside ----------------------------------------------------------------------------------------------

    def _open(self) -> Checkout:
        return open_checkout(self.settings.home, self.folder, self.share, self.environment)

    async def _find(self, checkout: Checkout, document: Document, phase: str, workstream_id: str | None) -> RepoContext:
        """As the file has it, else as it was saved here, else what was noted under this name on another branch.

        That one is the same line of work: it keeps its key, and what is written about it is written there.
        """
        key = checkout.key(workstream_id)
        found = _context(_as_called_now(document, key), key, phase)
        if document.problem:
            return found
        kept = await self.journal.find_kept(key, phase)
        if found.fields:
            return replace(found, notes=_lost_notes(found, kept))
        if kept is not None:
            return replace(kept, revision=document.revision, notes=(FROM_THE_LOG,))
        if workstream_id is not None and (elsewhere := _same_name(document, key)):
            there = _context(document, elsewhere, phase)
            missing = _lost_notes(there, await self.journal.find_kept(elsewhere, phase))
            return replace(there, notes=(f"These notes were made on branch {elsewhere.branch}.", *missing))
        return replace(found, notes=_elsewhere(document, key))

    async def _change(
        self, phase: str, workstream_id: str | None, change: Change, checkout: Checkout | None = None
    ) -> RepoContext:
        phase = rules.check_phase(phase)
        if checkout is None:
            checkout = await off_loop(self._open)
        if self._clean(workstream_id) != workstream_id:
            raise InvalidValueError("workstream_id", "…", "looks like a secret, and would be committed")
        document = await off_loop(checkout.files.load, phase)
        known = await self._find(checkout, document, phase, workstream_id)
        key = known.key
        kept = await self.journal.find_kept(key, phase)
        change(known)  # a refusal leaves nothing behind, not even a folder

        def apply(document: Document) -> Document:
            document = _as_called_now(document, key)
            found = _context(document, key, phase) if key in document.contexts else known
            changed = change(replace(found, revision=document.revision))
            self.journal.check(changed)
            return document.with_context(key, changed.fields)

        after: Document = await off_loop(checkout.files.update, phase, apply)
        written = _context(after, key, phase)
        await self.journal.keep_context(written, kept)
        return written

    async def _take(self, checkout: Checkout, shown: str | Mapping[str, Any]) -> dict[str, Any]:
        """Evidence with what stands there now; a proof is named by its id."""
        if isinstance(shown, Mapping) and shown.get("proof"):
            shown = f"proof:{shown['proof']}"
        if isinstance(shown, str) and shown.startswith("proof:"):
            return self._clean_all(_command_evidence(await self._get_proof(checkout, shown.removeprefix("proof:"))))
        if isinstance(shown, str) and shown.startswith(("./", "../")):
            shown = as_relative(shown, checkout.repository.root, checkout.folder)
        named = evidence.parse_evidence(shown) if isinstance(shown, str) else evidence.named_place(shown)
        named = replace(named, path=await off_loop(checkout.find_path, named.path))
        return evidence.take_evidence(named, await off_loop(checkout.read_text, named.path)).to_dict()

    async def _get_proof(self, checkout: Checkout, proof_id: str) -> Proof:
        """Of this repository: another one's command was never meant to be run here."""
        found = await self.journal.find_proof(proof_id)
        if found is None or found.repo != checkout.repository.repo:
            raise errors.ProofNotFoundError(proof_id)
        return found

    def _clean(self, text: Any) -> Any:
        """Without secrets: what is written here is committed by somebody sooner or later."""
        if not isinstance(text, str):
            return text
        return redaction.redact(text, key=fence_key(self.settings.home)).text

    def _clean_all(self, value: dict[str, Any]) -> dict[str, Any]:
        cleaned: dict[str, Any] = redaction.redact_value(value, key=fence_key(self.settings.home))[0]
        return cleaned

    def _as_shown(self, proof: Proof) -> Proof:
        """Without secrets in its command; to run it again it is fetched as it was."""
        return replace(proof, command=tuple(self._clean_all({"command": list(proof.command)})["command"]))

    def _stamp(self, request_id: str | None) -> dict[str, Any]:
        developer = self.settings.developer
        uid = ids.named_id("request", developer, request_id) if request_id else ids.new_id()
        return {"by": developer, "uid": uid, "now": _now(), "key": request_id}


# --- small pieces ------------------------------------------------------------------------------------------


def _context(document: Document, key: Key, phase: str) -> RepoContext:
    return RepoContext(key, phase, document.contexts.get(key, {}), document.revision, document.problem)


def _lost_notes(found: RepoContext, kept: RepoContext | None) -> tuple[str, ...]:
    """The file is the truth; but what was saved here and is not in it may have been thrown away by mistake."""
    missing = lost(dict(found.fields), dict(kept.fields)) if kept else []
    if not missing:
        return ()
    named = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
    return (f"Saved here and no longer in the file: {named}. `holdfast workstream restore` puts it back.",)


def _same_name(document: Document, key: Key) -> Key | None:
    """The same line of work on another branch; of several the one that was changed last."""
    named = [one for one in document.contexts if one.repo == key.repo and one.workstream_id == key.workstream_id]
    return max(named, key=lambda one: str(document.contexts[one].get("updated_at") or ""), default=None)


def _of_other_branches(document: Document, context: RepoContext) -> list[dict[str, Any]]:
    """Decisions that came into this checkout with a merge, or were there when its branch began: they hold here too."""
    others = [one for one in document.contexts if one.repo == context.key.repo and one.branch != context.key.branch]
    found = [
        {**entry, "of": one.branch} for one in others for entry in _context(document, one, context.phase).decisions
    ]
    own = {entry.get("text") for entry in context.decisions}
    latest = {entry.get("text"): entry for entry in sorted(found, key=changed_at) if entry.get("text") not in own}
    return sorted(latest.values(), key=changed_at, reverse=True)


def _elsewhere(document: Document, key: Key) -> tuple[str, ...]:
    """Where there is something to read, when there is nothing here."""
    others = sorted({one.branch if one.branch != key.branch else one.workstream_id for one in document.contexts})
    if not others:
        return ()
    more = f" and {len(others) - 5} more" if len(others) > 5 else ""
    what = "this branch" if key.workstream_id == key.branch else f"workstream {key.workstream_id}"
    return (f"Nothing is noted for {what}; there are notes for {', '.join(others[:5])}{more}.",)


def _as_called_now(document: Document, key: Key) -> Document:
    """A repository is called otherwise once it has a commit or a remote: what was noted before is still about it."""
    if key in document.contexts:
        return document
    earlier = [one for one in document.contexts if one[1:] == key[1:] and "/" not in one.repo]
    if len(earlier) != 1:
        return document
    contexts = {key if one == earlier[0] else one: fields for one, fields in document.contexts.items()}
    return replace(document, contexts=contexts)


def _pointer(checkout: Checkout, path: str) -> str:
    name, mark, symbol = path.partition("#")
    inside = checkout.find_path(name)
    if checkout.read_text(inside) is None:
        raise FileMissingError(path)
    return f"{inside}{mark}{symbol}"


def _proof(
    checkout: Checkout,
    command: tuple[str, ...],
    folder: str,
    run: proving.Run,
    before: git.TreeState,
    after: git.TreeState,
) -> Proof:
    same = before.contents_id == after.contents_id
    inside = os.path.relpath(folder, checkout.repository.root)
    return Proof(
        id=ids.new_id(),
        command=command,
        exit_code=run.exit_code,
        duration_ms=run.duration_ms,
        output_hash=run.output_hash,
        output_tail=run.output_tail,
        tree=after.contents_id if same else None,
        head=after.head,
        ran_at=_now(),
        repo=checkout.repository.repo,
        branch=checkout.repository.branch,
        folder="" if inside == os.curdir else inside,
    )


def _command_evidence(proof: Proof) -> dict[str, Any]:
    names = ("exit_code", "tree", "ran_at", "output_hash", "duration_ms")
    return {"command": list(proof.command), "proof": proof.id, **{name: getattr(proof, name) for name in names}}


def _write_dashboard(checkout: Checkout) -> None:
    """For people; never read back. It stays out of git unless somebody has added it."""
    head = checkout.read_state().head
    path = checkout.files.own_paths()[1]
    is_tracked = head is not None and git.read_blob(checkout.repository, head, path, max_bytes=FILE_BYTES) is not None
    checkout.files.write_dashboard(
        dashboard.render({phase: checkout.files.load(phase) for phase in PHASES}),
        exclude_in=None if is_tracked else checkout.repository.common_dir,
    )


def _other(phase: str) -> str:
    return next(one for one in PHASES if one != phase)


def _now() -> str:
    return clock.to_text(clock.now())
