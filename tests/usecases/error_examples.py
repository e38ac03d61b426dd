"""An example of each error of this folder, for docs/errors.md and the tests of all errors."""

from holdfast.usecases.errors import (
    ClientSessionNotNamedError,
    NoClientSessionError,
    SessionOffError,
)

EXAMPLES = (
    NoClientSessionError("/home/ana/payouts", is_off=False),
    ClientSessionNotNamedError(
        "/home/ana/payouts", [("claude", "0af395d8"), ("codex", "019a2b3c")], is_off=False
    ),
    ClientSessionNotNamedError("/home/ana/payouts", [("claude", "0af395d8")], is_off=True),
    SessionOffError("0af395d8-6c4b-4446-89a7-d52beac3d8cd"),
)
