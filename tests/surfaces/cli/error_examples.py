"""An example of each error of this folder, for docs/errors.md and the tests of all errors."""

from holdfast.errors import Action
from holdfast.surfaces.cli import errors

EXAMPLES = (
    errors.DeclinedError("Nothing was published."),
    errors.NobodyAnsweredError(Action("forget.confirmed", selection="--session S1")),
    errors.NobodyAnsweredError(Action("conversation.prune", selection="--yes")),
    errors.NobodyAnsweredError(Action("prune.confirmed", before="2026-01-01T00:00:00")),
    errors.StoppedError("Stopped. Nothing was changed."),
    errors.UnconfirmedError(),
    errors.UndraftedError(["--title T", "--summary S"]),
    errors.UnpublishedError(Action("publish.confirmed", selection="--title X --yes")),
)
