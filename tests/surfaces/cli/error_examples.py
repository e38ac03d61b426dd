"""An example of each error of this folder, for docs/errors.md and the tests of all errors."""

from holdfast.surfaces.cli import errors

EXAMPLES = (
    errors.NobodyAnsweredError("--session S1"),
    errors.StoppedError("Stopped. Nothing was changed."),
    errors.UnconfirmedError(),
)
