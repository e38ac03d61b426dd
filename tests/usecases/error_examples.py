"""An example of each error of this folder, for docs/errors.md and the tests of all errors."""

from holdfast.usecases.errors import NoClientSessionError

EXAMPLES = (NoClientSessionError("/home/ana/payouts", is_off=False),)
