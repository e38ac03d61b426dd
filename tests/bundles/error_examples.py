"""An example of each error of this folder, for docs/errors.md and the tests of all errors."""

from holdfast.bundles import errors

EXAMPLES = (
    errors.ReceiptForgottenError("R7"),
    errors.ReceiptNotFoundError("R7"),
    errors.ReceiptOutdatedError("R7"),
    errors.RoundClosingError("payouts"),
    errors.RoundMovedError("payouts"),
    errors.RoundNotFoundError("main"),
    errors.RoundOpenError("payouts"),
    errors.SourceMissingError("architect"),
    errors.WrongRoleError("tester", "architect"),
)
