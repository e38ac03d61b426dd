"""What only workstreams raise."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.errors import Conflict, NotFound, Refused, shown


class NoRepositoryError(NotFound):
    """A verb about a repository, called outside of one."""

    code = "no_repository"

    def __init__(self, folder: str):
        self.folder = folder
        super().__init__(
            f"Folder {shown(folder)} is in no git repository. Change into one, or begin one with `git init`."
        )


class ProofNotFoundError(NotFound):
    code = "proof_not_found"

    def __init__(self, proof_id: object):
        self.proof_id = proof_id
        super().__init__(
            f"Proof {shown(proof_id)} does not exist. `holdfast workstream show --json` lists the last ones."
        )


class NoteNotFoundError(NotFound):
    """A claim or a decision that is not in this repo context."""

    code = "note_not_found"

    def __init__(self, note_id: object, known: Sequence[str]):
        self.note_id = note_id
        there = f"There are {', '.join(known[:10])}{', …' if len(known) > 10 else ''}." if known else "There are none."
        super().__init__(f"No claim or decision {shown(note_id)} is noted here. {there}")


class ContextChangedError(Conflict):
    """A repo context that somebody else has written since it was read."""

    code = "context_changed"

    def __init__(self, expected: int, actual: int):
        self.expected, self.actual = expected, actual
        super().__init__(
            f"The repo context is at revision {actual}, not {expected}: written meanwhile. Load it again, then save."
        )


class SharedContextOffError(Refused):
    """Nobody has agreed to keep context in this repository, so nothing of it is read or written."""

    code = "shared_context_off"

    def __init__(
        self, settings_file: str = "settings.json of the data folder", *, repo: str | None = None, says: str = ""
    ) -> None:
        show = "SHARED_CONTEXT_ENABLED=true holdfast workstream show"
        called = f" This repository is called {repo} there." if repo else f" `{show}` prints this repository's name."
        super().__init__(
            f"Shared context is off, so nothing is kept in this repository.{says and ' ' + says} Switch it on with "
            f'SHARED_CONTEXT_ENABLED=true, or with "shared_context": true in {settings_file}.{called}',
            next_actions=[show],
        )


class EvidenceMissingError(Refused):
    """Somebody says that something is done, and shows nothing."""

    code = "evidence_missing"

    def __init__(self, claim: str, word: str | None):
        self.claim, self.word = claim, word
        because = f"says {shown(word)}" if word else "is of kind completion"
        super().__init__(
            f"Claim {shown(claim)} {because} and has no evidence. Name a path with lines or a symbol, or a command "
            "that was seen to pass.",
            next_actions=["evidence: PATH:L1-L2", "evidence: PATH#SYMBOL", "holdfast prove -- COMMAND"],
        )


class ProofFailedError(Refused):
    """Something is said to be done, and what should show it shows that it is not."""

    code = "proof_failed"

    def __init__(self, claim: str, command: str, exit_code: object):
        self.claim, self.command = claim, command
        how = f"ended with exit code {exit_code}" if exit_code != 0 else "ran while files changed"
        super().__init__(
            f"Claim {shown(claim)} is shown by nothing: {shown(command)} {how}. Run it until it passes, then claim.",
            next_actions=["holdfast prove -- COMMAND"],
        )


class EvidenceNotThereError(Refused):
    """Evidence is checked when it is given; what is not there shows nothing."""

    code = "evidence_not_there"

    def __init__(self, evidence: str, problem: str):
        self.evidence, self.problem = evidence, problem
        super().__init__(f"Evidence {shown(evidence)} is not there: {problem}. Name a place that is.")


class NotVerifiedError(Refused):
    """A summary would be written against a state that nobody has checked."""

    code = "not_verified"

    def __init__(self) -> None:
        super().__init__(
            "The summary is kept as it is: tracked files have uncommitted changes, and no command was seen to pass on "
            "them. Prove or commit them, then save.",
            next_actions=["holdfast prove -- COMMAND", "git commit"],
        )


class ReadOnlyContextError(Refused):
    """A file that this program must not write again; its problem says what to do."""

    code = "read_only_context"

    def __init__(self, problem: str):
        self.problem = problem
        super().__init__(f"Nothing was changed: {problem}")
