"""An example of each error of this folder, for docs/errors.md and the tests of all errors."""

from holdfast import errors
from holdfast.errors import Action

STORE = "/home/ana/.local/share/holdfast/holdfast.db"
SERVER = "postgresql://app@db/holdfast"
EXAMPLES = (
    errors.ExtraMissingError("holdfast mcp", "mcp"),
    errors.InvalidValueError(
        "Phase", "testing", "is unknown", known=("planning", "implementation")
    ),
    errors.InvalidValueError("Command", "", "is missing", next_actions=[Action("prove")]),
    errors.KeyReusedError("k-1"),
    errors.NoWorkingTreeError(),
    errors.PartlyDoneError("Erased 2,000 events", errors.StoreBusyError(STORE)),
    errors.StoreBusyError(STORE),
    errors.StoreFullError(STORE),
    errors.StoreReadOnlyError(STORE),
    errors.StoreUnreachableError(SERVER, "it did not answer in time"),
)
