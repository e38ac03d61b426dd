"""An example of each error of this folder, for docs/errors.md and the tests of all errors."""

from holdfast.errors import Action
from holdfast.surfaces.cli import errors

EXAMPLES = (
    errors.NobodyAnsweredError(Action("forget.confirmed", selection="--session S1")),
    errors.NobodyAnsweredError(Action("conversation.prune", selection="--yes")),
    errors.StoppedError("Stopped. Nothing was changed."),
    errors.UnconfirmedError(),
)
