"""An example of each error of this folder, for docs/errors.md and the tests of all errors."""

from datetime import UTC, datetime

from holdfast.sessions import errors

EXAMPLES = (
    errors.ContextFullError(51, 50),
    errors.EventConflictError("E1"),
    errors.EventConflictError("E1", elsewhere="S2"),
    errors.EventNotFoundError("E1"),
    errors.RevisionConflictError("S1", 3, 4),
    errors.SequenceConflictError("S1", 3, 4),
    errors.SessionEndedError("S1", datetime(2026, 1, 31, 12, 30, tzinfo=UTC)),
    errors.SessionInUseError("S1", "gemini"),
    errors.SessionNotFoundError("S1"),
    errors.SessionNotFoundError("web hok", "web hook"),
    errors.SessionNotNamedError(),
)
