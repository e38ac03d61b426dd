"""An example of each error of this folder, for docs/errors.md and the tests of all errors."""

from holdfast.conversations import errors

EXAMPLES = (
    errors.AmbiguousConversationError("webhook", ["2026-11-18/001-debug-webhook-retry"]),
    errors.ConversationNotFoundError("webhok", ["2026-11-18/001-debug-webhook-retry"]),
    errors.NoConversationError(),
    errors.ReadOnlyConversationError(
        "2026-11-18/001-debug-webhook-retry", "its session.json is of version 2.0"
    ),
)
