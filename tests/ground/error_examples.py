"""An example of each error of this folder, for docs/errors.md and the tests of all errors."""

from holdfast.ground import errors

EXAMPLES = (
    errors.FileChangedError("docs/plan.md"),
    errors.FileMissingError("docs/plan.md"),
    errors.CommitFailedError("pre-commit hook failed"),
    errors.GitFailedError("/repo", "fatal: bad object HEAD"),
    errors.GitMissingError("is not installed"),
    errors.PathOutsideError("/etc/passwd", "is not below a folder that may be shown"),
    errors.PathOutsideError(
        "data", "is no plain folder", "It is left as it is: remove it or move it away."
    ),
)
