"""An example of each error of this folder, for docs/errors.md and the tests of all errors."""

from holdfast.errors import Action, InvalidValueError
from holdfast.workstreams import errors

EXAMPLES = (
    errors.ContextChangedError(3, 4),
    errors.EvidenceMissingError("The export is done", "done"),
    errors.EvidenceNotThereError("src/a.py:10-20", "the file has 5 lines"),
    InvalidValueError(
        "Workstream",
        "main",
        "is longer than 4,194,304 bytes as JSON",
        next_actions=[Action("workstream.other")],
    ),
    errors.NoRepositoryError("/tmp"),
    errors.NotVerifiedError(),
    errors.NotVerifiedError("pytest -q → exit 1"),
    errors.NoteNotFoundError("D9", ["D1", "D2"]),
    errors.ProofFailedError("The export is done", "pytest -q", "ended with exit code 1"),
    errors.ProofNotFoundError("P5"),
    errors.ReadOnlyContextError("repo_context.json was written by a newer version."),
    errors.SharedContextOffError(),
    errors.SharedContextOffError(repo="example.org/payouts"),
    errors.SharedContextOffError(
        repo="example.org/payouts",
        refused="configs/graph_config.yaml is larger than 1,048,576 bytes, which counts as off.",
    ),
)
