"""What only workstreams raise."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.errors import Action, Conflict, NotFound, Refused, shown
from holdfast.ground.patterns import compile_later

_NOTE_ID = compile_later("D[0-9]{1,9}|c-[0-9a-f]{12}")


class NoRepositoryError(NotFound):
    """A verb about a repository, called outside of one."""

    code = "no_repository"

    def __init__(self, folder: str):
        self.folder = folder
        super().__init__(
            f"Folder {shown(folder)} is not in a git repository.", next_actions=[Action("git.init")]
        )


class ProofNotFoundError(NotFound):
    code = "proof_not_found"

    def __init__(self, proof_id: object):
        self.proof_id = proof_id
        super().__init__(
            f"Proof {shown(proof_id)} does not exist.", next_actions=[Action("proof.list")]
        )


class NoteNotFoundError(NotFound):
    """A claim or a decision that is not in this repo context."""

    code = "note_not_found"

    def __init__(self, note_id: object, known: Sequence[str]):
        self.note_id = note_id
        others = _describe_known(known)
        super().__init__(f"No claim, decision or proof {shown(note_id)} is noted here. {others}")


def _describe_known(ids: Sequence[str]) -> str:
    """Anybody can write an id into the file: one that we would not give out is not told."""
    known = [each for each in ids if _NOTE_ID.fullmatch(each)]
    if not known:
        return "There are none."
    names = known[:10]
    if len(known) > 10:
        names.append("…")
    return f"There are {', '.join(names)}."


class ContextChangedError(Conflict):
    """A repo context that another process has written since it was read."""

    code = "context_changed"

    def __init__(self, expected: int, actual: int):
        self.expected, self.actual = expected, actual
        super().__init__(
            f"The repo context is at revision {actual}, not {expected}. Load it again, then save.",
            next_actions=[Action("workstream.show")],
        )


class SharedContextOffError(Refused):
    """Context in this repository is not agreed to, so nothing of it is read or written."""

    code = "shared_context_off"

    def __init__(
        self,
        settings_file: str = "settings.json of the data folder",
        *,
        repo: str | None = None,
        says: str = "",
        refused: str = "",
    ) -> None:
        """`refused` is what the repository's own file says, which settings do not overrule."""
        self.repo, self.says, self.refused = repo, says, refused
        sentences = ["Shared context is off, so nothing is kept in this repository."]
        if refused:
            sentences += [refused, "Change that file, or set SHARED_CONTEXT_ENABLED=true."]
        else:
            sentences += _describe_switch(settings_file, repo, says)
        next_action = Action("shared_context.try") if repo else Action("repository.name")
        super().__init__(" ".join(sentences), next_actions=[next_action])


def _describe_switch(settings_file: str, repo: str | None, says: str) -> list[str]:
    setting = f'"shared_context": true in {settings_file}'
    sentences = [f"Switch it on with SHARED_CONTEXT_ENABLED=true, or with {setting}."]
    if says:
        sentences.insert(0, says)
    if repo:
        sentences.append(f"This repository is called {repo} there.")
    return sentences


class EvidenceMissingError(Refused):
    """A claim says that something is done, and has no evidence."""

    code = "evidence_missing"

    def __init__(self, claim: str, word: str | None):
        self.claim, self.word = claim, word
        because = "is of kind completion"
        if word:
            because = f"says {shown(word)}"
        super().__init__(
            f"Claim {shown(claim)} {because} and has no evidence.",
            next_actions=[Action("workstream.claim"), Action("prove")],
        )


class ProofFailedError(Refused):
    """A claim whose own evidence contradicts it; `problem` is how the command did not pass."""

    code = "proof_failed"

    def __init__(self, claim: str, command: str, problem: str):
        self.claim, self.command = claim, command
        super().__init__(
            f"Claim {shown(claim)} has no valid evidence: {shown(command)} {problem}. "
            "Run it until it passes, then claim.",
            next_actions=[Action("prove")],
        )


class EvidenceNotThereError(Refused):
    """Evidence is checked when it is given; a place that is missing shows nothing."""

    code = "evidence_not_there"

    def __init__(self, evidence: str, problem: str):
        self.evidence, self.problem = evidence, problem
        super().__init__(
            f"Evidence {shown(evidence)} was not found: {problem}. Name a place that exists."
        )


class NotVerifiedError(Refused):
    """A summary would be bound to a state that was not verified."""

    code = "not_verified"

    def __init__(self, failing: str | None = None, proof_id: str = "") -> None:
        self.failing = failing
        why = "tracked files have uncommitted changes, and no command was seen to pass on them."
        actions = [Action("prove"), Action("git.commit")]
        if failing:
            why = f"the newest run of a command on these files failed: {shown(failing)}."
            actions = [Action("prove"), Action("workstream.withdraw", proof_id=proof_id)]
        super().__init__(f"The summary is kept as it is: {why}", next_actions=actions)


class ReadOnlyContextError(Refused):
    """A file that this program must not write again; its problem says what to do."""

    code = "read_only_context"

    def __init__(self, problem: str):
        self.problem = problem
        super().__init__(f"Nothing was changed: {problem}")
