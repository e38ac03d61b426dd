"""The verbs of workstreams: read notes and judge them on this checkout; write what a rule allows.

No file is trusted. Every read compares the summary with the contents that it was written against,
and checks each piece of evidence again. Every write is one pass: the file is read, the rule is
applied, and the result replaces the file unless another process wrote meanwhile; only then is the
rule applied again. The journal comes last.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence

from holdfast.errors import HoldfastError, InvalidValueError
from holdfast.ground import clock, git, git_repository, ids, redaction
from holdfast.ground.fence import fence_key
from holdfast.ground.frozen import dataclass, replace
from holdfast.ground.off_loop import off_loop
from holdfast.workstreams import (
    cutting,
    errors,
    finding,
    inheriting,
    judging,
    owning,
    rules,
)
from holdfast.workstreams.checkout import Checkout, open_checkout
from holdfast.workstreams.document import Document
from holdfast.workstreams.entries import Claim, Decision
from holdfast.workstreams.evidence import CommandEvidence, Evidence, TreeRuns
from holdfast.workstreams.model import (
    PHASES,
    ContextChange,
    JudgedClaim,
    JudgedContext,
    Key,
    ListedContext,
    Proof,
    RepoContext,
    Written,
)
from holdfast.workstreams.rules import Stamp, SummaryToSave, Verification
from holdfast.workstreams.store import (
    DASHBOARD,
    DASHBOARD_PATH,
    FILE_BYTES,
    DocumentChange,
    WorkstreamJournal,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.ground.settings import Settings
    from holdfast.storage.journal import Journal
    from holdfast.workstreams import proving

Rule = Callable[[RepoContext], ContextChange[Written]]
FindPass = Callable[[Sequence[str]], Awaitable[str | None]]
PROOF = "proof:"
SEEN_PASS = "a pass of "


@dataclass(frozen=True)
class Target:
    """The context that a verb is about: the file as it was read, and what this machine saved."""

    checkout: Checkout
    workstream_id: str | None  # as the caller named it
    document: Document
    context: RepoContext
    kept: RepoContext | None


class WorkstreamService:
    """Context in the repository of a folder. `share` is the flag as a program sets it."""

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
        self._begun: tuple[str, Target | HoldfastError] | None = None

    # --- reading ----------------------------------------------------------------------------------

    async def load(self, phase: str, workstream_id: str | None = None) -> JudgedContext:
        """What was noted, with this checkout's verdict on each part of it."""
        target = self._take_begun(phase, workstream_id)
        if target is None:
            target = await self._find_target(phase, workstream_id)
        return await self._judge(target)

    async def begin(self, phase: str) -> None:
        """Let git compare while the caller prepares: the next `load` continues from here."""
        try:
            target = await self._find_target(phase, None)
            self._begun = phase, target
            await off_loop(judging.begin_state, target.checkout, target.context)
        except HoldfastError as error:
            self._begun = phase, error

    def _take_begun(self, phase: str, workstream_id: str | None) -> Target | None:
        if self._begun is None or self._begun[0] != phase or workstream_id is not None:
            return None
        _, found = self._begun
        self._begun = None
        if isinstance(found, HoldfastError):
            raise found
        return found

    def abandon(self) -> None:
        """End what was begun, where it was not loaded."""
        begun, self._begun = self._begun, None
        if begun is not None and isinstance(begun[1], Target):
            begun[1].checkout.abandon()

    async def get_noted(self, phase: str, workstream_id: str | None = None) -> RepoContext:
        """The same without a verdict: after a write, its revision and its entry."""
        target = await self._find_target(phase, workstream_id)
        return target.context

    async def find_claim(
        self, claim_id: str, phase: str, workstream_id: str | None = None
    ) -> JudgedClaim | None:
        """One claim with its verdict; None where it no longer stands."""
        target = await self._find_target(phase, workstream_id)
        for claim in target.context.ledger:
            if claim.id == claim_id:
                return await self._judge_claim(target.checkout, claim)
        return None

    async def list_contexts(self) -> list[ListedContext]:
        """Every workstream in the files of this checkout, without a verdict."""
        checkout = await off_loop(self._open)
        here = checkout.key(None)
        listed: list[ListedContext] = []
        for phase in PHASES:
            document = await off_loop(checkout.files.load, phase)
            listed += finding.list_contexts(document, here, phase)
        return listed

    async def list_judged(self) -> list[ListedContext]:
        """The same within one look; those of the branch that is checked out are judged."""
        checkout = await off_loop(self._open)
        here = checkout.key(None)
        listed: list[ListedContext] = []
        for phase in PHASES:
            document = await off_loop(checkout.files.load, phase)
            known = finding.list_contexts(document, here, phase)
            judged = await self._judge_listed(checkout, document, known)
            listed += [replace(each, judged=judged.get(each.key)) for each in known]
        return listed

    # --- decisions and claims ---------------------------------------------------------------------

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
    ) -> Decision:
        """Note a decision or change one. A repeated `request_id` finds the first result."""
        words = self._redact(text)
        reason = self._redact(because)
        stamp = self._stamp(request_id)
        target = await self._find_target(phase, workstream_id)

        def decide(context: RepoContext) -> ContextChange[Decision]:
            return rules.decide(
                context,
                words,
                decision_id=decision_id,
                status=status,
                because=reason,
                stamp=stamp,
                kept=target.kept,
            )

        written = await self._write(target, decide)
        return written.entry

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
        """A statement about the code, with its evidence, which is checked before any write."""
        target = await self._find_target(phase, workstream_id)
        rules.check_evidence(shown)
        checkout = target.checkout
        words = self._redact(text)
        stamp = self._stamp(request_id)
        taken = [await self._take_evidence(checkout, each, words) for each in shown]

        def claim(context: RepoContext) -> ContextChange[Claim]:
            return rules.claim(context, words, taken, kind=kind, stamp=stamp)

        written = await self._write(target, claim)
        return await self._judge_claim(checkout, written.entry)

    async def withdraw(
        self, note: str, *, phase: str = "implementation", workstream_id: str | None = None
    ) -> Decision | Claim | Proof:
        """Withdraw a claim or a decision, named by id or words, so that it is not shown.

        A proof that was run by mistake is named by its id, and counts no longer.
        """
        named = self._redact(note)
        by, now = self.settings.developer, _now()
        proof = await self._find_proof(note)
        if proof is not None:
            await self.journal.withdraw_proof(proof, by=by, now=now)
            return self._redact_proof(proof)

        def withdraw(context: RepoContext) -> ContextChange[Decision | Claim]:
            return rules.withdraw(context, named, by=by, now=now)

        written = await self._find_and_write(phase, workstream_id, withdraw)
        return written.entry

    async def restore(
        self, *, phase: str = "implementation", workstream_id: str | None = None
    ) -> RepoContext:
        """Write what was saved here and is missing in the file into it again."""
        target = await self._find_target(phase, workstream_id)
        kept = finding.join_earlier(target.kept) if target.kept else None
        now = _now()

        def restore(context: RepoContext) -> ContextChange[tuple[str, ...]]:
            return rules.restore(context, kept, now=now)

        written = await self._write(target, restore)
        return replace(written.context, notes=written.entry)

    # --- other notes ------------------------------------------------------------------------------

    async def set_checklist(
        self,
        items: Sequence[str],
        *,
        phase: str = "implementation",
        workstream_id: str | None = None,
    ) -> RepoContext:
        rules.check_checklist(items)
        steps = [self._redact(item) for item in items]
        now = _now()

        def set_checklist(context: RepoContext) -> ContextChange[None]:
            return rules.set_checklist(context, steps, now=now)

        written = await self._find_and_write(phase, workstream_id, set_checklist)
        return written.context

    async def point(
        self,
        paths: Sequence[str],
        *,
        phase: str = "implementation",
        workstream_id: str | None = None,
    ) -> RepoContext:
        """Files that the next reader should look at; they have to exist."""
        rules.check_pointers(paths)
        target = await self._find_target(phase, workstream_id)
        now = _now()
        pointers = await off_loop(target.checkout.parse_pointers, paths)

        def point(context: RepoContext) -> ContextChange[None]:
            return rules.point(context, pointers, now=now)

        written = await self._write(target, point)
        return written.context

    async def save(
        self,
        summary: str,
        *,
        phase: str = "implementation",
        workstream_id: str | None = None,
        feature_request: str | None = None,
        by_hand: bool = False,
        expected_revision: int | None = None,
        find_pass: FindPass | None = None,
    ) -> RepoContext:
        """Save the summary, bound to the contents as they are now, which must be verified.

        `expected_revision` is that of the document that the caller has read: a later one is not
        overwritten. `find_pass` is asked, with the paths of our notes, where neither a proof nor a
        commit verifies: whether a check was seen to pass on these files.
        """
        rules.check_revision(expected_revision)
        target = await self._find_target(phase, workstream_id)
        now = _now()
        text = self._redact(rules.check_summary(summary))
        label = self._redact(feature_request)
        state = await off_loop(target.checkout.read_state)
        verified = await self._find_verification(
            target.checkout, state, by_hand=by_hand, find_pass=find_pass
        )
        saved = SummaryToSave(
            text=text,
            feature_request=label,
            verified=verified,
            expected_revision=expected_revision,
        )

        def save(context: RepoContext) -> ContextChange[None]:
            checkpoint = judging.make_checkpoint(target.checkout, context, state)
            return rules.save(
                context, saved, checkpoint=checkpoint, by=self.settings.developer, now=now
            )

        written = await self._write(target, save)
        notes = await off_loop(_try_to_write_dashboard, target.checkout, state.head)
        return replace(written.context, notes=notes)

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
        texts = {"step": step, "error": error, "next_action": next_action}
        cleaned = {name: self._redact(text) for name, text in texts.items()}
        stamp = self._stamp(request_id)

        def fail(context: RepoContext) -> ContextChange[None]:
            return rules.fail(context, **cleaned, stamp=stamp)

        written = await self._find_and_write(phase, workstream_id, fail)
        return written.context

    async def succeed(
        self, *, phase: str = "implementation", workstream_id: str | None = None
    ) -> RepoContext:
        now = _now()

        def succeed(context: RepoContext) -> ContextChange[None]:
            return rules.succeed(context, now=now)

        written = await self._find_and_write(phase, workstream_id, succeed)
        return written.context

    async def keep_client_session(
        self,
        client: str,
        native_id: str,
        *,
        phase: str,
        workstream_id: str | None = None,
        local_path: str | None = None,
    ) -> None:
        """A client's own id of its session: it only saves time, and stays on this machine."""
        checkout = await off_loop(self._open)
        key = checkout.key(workstream_id)
        rules.check_phase(phase)
        save = checkout.files.save_session
        await off_loop(save, phase, key, client, native_id, local_path)

    async def list_client_sessions(
        self, phase: str, workstream_id: str | None = None
    ) -> dict[str, Any]:
        checkout = await off_loop(self._open)
        rules.check_phase(phase)
        key = checkout.key(workstream_id)
        return await off_loop(checkout.files.find_sessions, phase, key)

    # --- proofs -----------------------------------------------------------------------------------

    async def prove(
        self,
        command: Sequence[str],
        *,
        again: str | None = None,
        show: Callable[[bytes], object] = lambda part: None,
    ) -> Proof:
        """Run a command and keep how it ended, bound to the contents that it ran on."""
        from holdfast.workstreams import proving

        checkout = await off_loop(self._open)
        folder = checkout.folder
        words = tuple(command)
        if again is not None:
            if words:
                problem = "is one too many: --again names a command already"
                raise InvalidValueError("Command", words[0], problem)
            earlier = await self._get_proof(checkout, again)
            words = earlier.command
            folder = os.path.join(checkout.repository.root, earlier.folder)
        checked = proving.check_command(words)
        before = await off_loop(checkout.read_state)
        run = await off_loop(proving.run_command, checked, folder, show)
        run = replace(run, output_tail=self._redact(run.output_tail))
        after = await off_loop(checkout.read_state)
        proof = _make_proof(checkout, checked, folder=folder, run=run, before=before, after=after)
        return self._redact_proof(await self.journal.keep_proof(proof))

    async def get_proof(self, proof_id: str) -> Proof:
        checkout = await off_loop(self._open)
        return self._redact_proof(await self._get_proof(checkout, proof_id))

    # --- inside: finding --------------------------------------------------------------------------

    def _open(self) -> Checkout:
        return open_checkout(self.settings.home, self.folder, self.share, self.environment)

    async def _find_target(self, phase: str, workstream_id: str | None) -> Target:
        rules.check_phase(phase)
        checkout = await off_loop(self._open)
        document = await off_loop(checkout.files.load, phase)
        return await self._find_in(checkout, document, phase, workstream_id)

    async def _find_in(
        self, checkout: Checkout, document: Document, phase: str, workstream_id: str | None
    ) -> Target:
        """From the file, else as it was saved here, else under this name on another branch.

        That one is the same line of work: it keeps its key, and is written there.
        """
        key = checkout.key(workstream_id)
        renamed = finding.follow_renamed_repository(document, key)
        found = finding.get_context(renamed, key, phase)
        kept = await self._find_kept(document, key, phase)
        target = Target(
            checkout=checkout,
            workstream_id=workstream_id,
            document=document,
            context=found,
            kept=kept,
        )
        if document.problem:
            return target
        if not found.is_empty:
            lost = await off_loop(finding.describe_lost, found, kept)
            head = kept.head if kept else None
            return replace(target, context=replace(found, notes=lost, head=head))
        if kept is None:
            return await self._find_on_other_branch(target)
        if await off_loop(_is_saved_here, checkout, kept):
            return replace(target, context=finding.use_log(kept, document))
        apart = replace(target, kept=finding.set_apart(kept))
        elsewhere = await self._find_on_other_branch(apart)
        notes = (finding.EARLIER_BRANCH, *elsewhere.context.notes)
        return replace(elsewhere, context=replace(elsewhere.context, notes=notes))

    async def _find_kept(self, document: Document, key: Key, phase: str) -> RepoContext | None:
        """What this machine saved, also under the earlier name of the repository."""
        kept = await self.journal.find_kept(key, phase)
        earlier = finding.find_earlier_key(document, key)
        if earlier is None:
            return kept
        return finding.join_kept(kept, await self.journal.find_kept(earlier, phase), key)

    async def _find_on_other_branch(self, target: Target) -> Target:
        """Only what the caller names is looked for there; without a name the branch is meant."""
        document = target.document
        key, phase = target.context.key, target.context.phase
        elsewhere = None
        if target.workstream_id is not None:
            elsewhere = finding.find_on_other_branch(document, key)
        if elsewhere is None:
            notes = finding.describe_other_work(document, key)
            return replace(target, context=replace(target.context, notes=notes))
        found = finding.get_context(document, elsewhere, phase)
        kept = await self.journal.find_kept(elsewhere, phase)
        lost = await off_loop(finding.describe_lost, found, kept)
        notes = (finding.describe_branch(elsewhere), *lost)
        return replace(target, context=replace(found, notes=notes), kept=kept)

    async def _judge(self, target: Target) -> JudgedContext:
        """What takes no notice of the files is read while git compares them."""
        checkout, context = target.checkout, target.context
        try:
            await off_loop(judging.begin_state, checkout, context)
            proofs = await self.journal.list_proofs(checkout.repository.repo)
            other_phase = _name_other_phase(context.phase)
            other_document = await off_loop(checkout.files.load, other_phase)
            merged = await off_loop(inheriting.list_merged, checkout, context)
            of_other_phase = await self._find_kept(other_document, context.key, other_phase)
            own = owning.OwnHashes(
                here=_unite_own([target.kept, of_other_phase]), merged=await self._list_own(merged)
            )
            state = await off_loop(judging.find_state, checkout, context)
        finally:
            checkout.abandon()
        runs = await self._list_runs(checkout, state.contents_id)
        return await off_loop(self._judge_now, target, proofs, runs, other_document, merged, own)

    def _judge_now(
        self,
        target: Target,
        known: Sequence[Proof],
        runs: TreeRuns,
        other_document: Document,
        merged: inheriting.Merged,
        own: owning.OwnHashes,
    ) -> JudgedContext:
        proofs = [self._redact_proof(proof) for proof in known]
        checkout, noted = target.checkout, target.context
        judged = judging.judge(checkout, noted, proofs, runs)
        renamed = finding.follow_renamed_repository(other_document, noted.key)
        other = finding.get_context(renamed, noted.key, _name_other_phase(noted.phase))
        of_phase = finding.list_decisions_of_other_phase(other)
        shared, note = cutting.cut_shared(of_phase)
        context = judged.context
        if note:
            context = replace(context, notes=(*context.notes, note))
        decisions = [*noted.decisions, *other.decisions]
        inherited = inheriting.inherit(checkout, merged, noted, decisions, runs)
        if inherited.branches:
            earlier = [note for note in context.notes if note == finding.EARLIER_BRANCH]
            notes = (finding.describe_inherited(inherited.branches, merged.unnamed), *earlier)
            context = replace(context, notes=notes)
        whole = replace(
            judged, context=context, shared_decisions=tuple(shared), inherited=inherited
        )
        return owning.mark_own(whole, own)

    async def _list_own(self, merged: inheriting.Merged) -> dict[str, frozenset[str]]:
        """What was written on this machine, by branch."""
        own: dict[str, frozenset[str]] = {}
        for context in merged.contexts:
            kept = await self.journal.find_kept(context.key, context.phase)
            branch = context.key.branch
            own[branch] = _unite_own([kept]) | own.get(branch, frozenset())
        return own

    async def _judge_claim(self, checkout: Checkout, claim: Claim) -> JudgedClaim:
        runs = TreeRuns()
        if claim.commands:  # only they are judged by the tree, which costs two processes
            state = await off_loop(checkout.read_state)
            runs = await self._list_runs(checkout, state.contents_id)
        return await off_loop(judging.judge_claim, checkout, claim, runs)

    async def _list_runs(self, checkout: Checkout, tree: str | None) -> TreeRuns:
        """However many claims there are, these are a few queries."""
        if tree is None:
            return TreeRuns()
        repo = checkout.repository.repo
        withdrawn = await self.journal.list_withdrawn(repo)
        newest = await self.journal.list_newest_runs(repo, tree, withdrawn)
        failing = [self._redact_proof(proof) for proof in newest if not proof.passed]
        return TreeRuns(
            tree=tree,
            failed=frozenset(proof.to_evidence().line for proof in failing),
            withdrawn=withdrawn,
        )

    async def _judge_listed(
        self, checkout: Checkout, document: Document, known: Sequence[ListedContext]
    ) -> dict[Key, JudgedContext]:
        """The newest first: one look does not reach everything."""
        here = [each for each in known if each.is_here]
        here.sort(key=lambda each: each.updated_at or "", reverse=True)
        judged = {}
        for each in here:
            target = await self._find_in(checkout, document, each.phase, each.key.workstream_id)
            judged[each.key] = await self._judge(target)
        return judged

    async def _find_verification(
        self,
        checkout: Checkout,
        state: git.TreeState,
        *,
        by_hand: bool,
        find_pass: FindPass | None,
    ) -> Verification:
        repo = checkout.repository.repo
        withdrawn = await self.journal.list_withdrawn(repo)
        proofs = await self.journal.list_newest_runs(repo, state.contents_id, withdrawn)
        try:
            return rules.find_verification(
                by_hand=by_hand,
                tree=state.contents_id,
                is_committed=not state.changed and state.head is not None,
                proofs=[self._redact_proof(proof) for proof in proofs],
            )
        except errors.NotVerifiedError as refused:
            seen = None
            if find_pass is not None and refused.failing is None:
                seen = await find_pass(checkout.files.list_own_paths())
            if seen is None:
                raise
        return Verification(f"{SEEN_PASS}{seen}")

    async def _find_proof(self, note: str) -> Proof | None:
        """By its id, also as evidence names it."""
        proof_id = ids.parse_id(str(note).removeprefix(PROOF))
        if proof_id is None:
            return None
        checkout = await off_loop(self._open)
        found = await self.journal.find_proof(proof_id)
        if found is None or found.repo != checkout.repository.repo:
            return None
        return found

    async def _get_proof(self, checkout: Checkout, proof_id: str) -> Proof:
        """Of this repository only: a command of another one must not run here."""
        found = await self.journal.find_proof(proof_id)
        if found is None or found.repo != checkout.repository.repo:
            raise errors.ProofNotFoundError(proof_id)
        return found

    # --- inside: writing --------------------------------------------------------------------------

    async def _find_and_write(
        self, phase: str, workstream_id: str | None, rule: Rule[Written]
    ) -> ContextChange[Written]:
        target = await self._find_target(phase, workstream_id)
        return await self._write(target, rule)

    async def _write(self, target: Target, rule: Rule[Written]) -> ContextChange[Written]:
        """The rule comes before the first write, so that a refusal does not even make a folder."""
        key, phase = target.context.key, target.context.phase
        if self._redact(target.workstream_id) != target.workstream_id:
            problem = "looks like a secret, and would be committed"
            raise InvalidValueError("workstream_id", "…", problem)

        def plan(document: Document) -> DocumentChange[Written]:
            current = finding.follow_renamed_repository(document, key)
            found = target.context
            if key in current.contexts:
                found = finding.get_context(current, key, phase)
            change = rule(replace(found, revision=document.revision))
            self.journal.check(change.context)
            after = current.with_context(key, change.context.fields)
            return DocumentChange(document, after, change)

        planned = await off_loop(plan, target.document)
        done = await off_loop(target.checkout.files.update, phase, planned, plan)
        written = finding.get_context(done.after, key, phase)
        own = await off_loop(owning.list_own, done.change.stated, written.fields, target.kept)
        head = await off_loop(target.checkout.find_head)
        replaced = finding.get_context(done.before, key, phase).fields
        saved = replace(written, own=own, head=head)
        await self.journal.keep_context(saved, target.kept, replaced)
        return replace(done.change, context=written)

    async def _take_evidence(
        self, checkout: Checkout, shown: str | Mapping[str, Any], claim: str
    ) -> Evidence | CommandEvidence:
        """Evidence with the hashes of its text now; a proof is named by its id."""
        if isinstance(shown, Mapping) and shown.get("proof"):
            shown = f"{PROOF}{shown['proof']}"
        if isinstance(shown, str) and shown.startswith(PROOF):
            proof_id = shown.removeprefix(PROOF)
            proof = await self._get_proof(checkout, proof_id)
            command = self._redact_proof(proof).to_evidence()
            rules.check_still_passes(claim, command, await self._list_runs(checkout, proof.tree))
            return command
        return await off_loop(checkout.take_evidence, shown)

    def _redact(self, text: Any) -> Any:
        """Without secrets, because it will be committed. Rules refuse what is not text."""
        if not isinstance(text, str):
            return text
        key = fence_key(self.settings.home)
        return redaction.redact(text, key=key).text

    def _redact_proof(self, proof: Proof) -> Proof:
        """Without the secrets in its command, as every reader sees it; it runs again as it was."""
        from holdfast.workstreams import proving

        command = proving.mask_command(proof.command, fence_key(self.settings.home))
        return replace(proof, command=command)

    def _stamp(self, request_id: str | None) -> Stamp:
        developer = self.settings.developer
        uid = ids.named_id("request", developer, request_id) if request_id else ids.new_id()
        return Stamp(by=developer, uid=uid, now=_now(), key=request_id)


def _is_saved_here(checkout: Checkout, kept: RepoContext) -> bool:
    """Whether what this machine saved is of the branch that is checked out, and not of another of
    the same name. All detached checkouts have one name, so there only the same commit counts.
    """
    if kept.head != checkout.find_head():
        is_detached = checkout.repository.branch == git.DETACHED
        if is_detached or not _is_below(checkout, kept.head):
            return False
    started_at = git_repository.find_branch_start(checkout.repository)
    if started_at is None or kept.saved_at is None:
        return True
    return kept.saved_at.timestamp() >= started_at


def _is_below(checkout: Checkout, commit: str | None) -> bool:
    """Whether HEAD has it in its history, as it has what was before the first commit."""
    return commit is None or git.is_ancestor(checkout.repository, commit) is True


def _name_other_phase(phase: str) -> str:
    return next(other for other in PHASES if other != phase)


def _unite_own(kept: Sequence[RepoContext | None]) -> frozenset[str]:
    """What was written on this machine, in any of these."""
    none: frozenset[str] = frozenset()
    return none.union(*(context.own for context in kept if context))


# --- small pieces ---------------------------------------------------------------------------------


def _make_proof(
    checkout: Checkout,
    command: tuple[str, ...],
    *,
    folder: str,
    run: proving.CommandRun,
    before: git.TreeState,
    after: git.TreeState,
) -> Proof:
    is_same_tree = before.contents_id == after.contents_id
    tree = after.contents_id if is_same_tree or run.exit_code else None
    inside = os.path.relpath(folder, checkout.repository.root)
    if inside == os.curdir:
        inside = ""
    return Proof(
        id=ids.new_id(),
        command=command,
        exit_code=run.exit_code,
        duration_ms=run.duration_ms,
        output_hash=run.output_hash,
        output_tail=run.output_tail,
        tree=tree,
        head=after.head,
        ran_at=_now(),
        repo=checkout.repository.repo,
        branch=checkout.repository.branch,
        folder=inside,
    )


def _try_to_write_dashboard(checkout: Checkout, head: str | None) -> tuple[str, ...]:
    """The page is only for people, so a failure is a note: the summary is saved already."""
    try:
        _write_dashboard(checkout, head)
    except HoldfastError as error:
        return (f"{DASHBOARD} was not written: {error.message}",)
    return ()


def _write_dashboard(checkout: Checkout, head: str | None) -> None:
    """For people; never read back. It stays out of git unless it was added."""
    from holdfast.workstreams import dashboard

    exclude_in: str | None = checkout.repository.common_dir
    if head is not None and _is_in_commit(checkout, head, DASHBOARD_PATH):
        exclude_in = None
    documents = {phase: checkout.files.load(phase) for phase in PHASES}
    page = dashboard.render(documents)
    checkout.files.write_dashboard(page, exclude_in=exclude_in)


def _is_in_commit(checkout: Checkout, commit: str, path: str) -> bool:
    data = git.read_blob(checkout.repository, commit, path, max_bytes=FILE_BYTES)
    return data is not None


def _now() -> str:
    return clock.to_text(clock.now())
