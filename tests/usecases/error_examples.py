"""An example of each error of this folder, for docs/errors.md and the tests of all errors."""

from holdfast.usecases.errors import (
    ClientMissingError,
    ClientSessionNotNamedError,
    NoClientSessionError,
    NothingToResumeError,
    SessionOffError,
    SwitchableSession,
)

OWN_ID = "019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071"
RETRY = SwitchableSession(OWN_ID, "claude", "Retry the webhook three times.")
NEW = SwitchableSession("0af395d8", "codex", "nothing stored yet")

EXAMPLES = (
    NoClientSessionError("/home/ana/payouts", is_off=False),
    ClientSessionNotNamedError("/home/ana/payouts", [RETRY, NEW], is_off=False),
    ClientSessionNotNamedError("/home/ana/payouts", [RETRY], is_off=True),
    SessionOffError("0af395d8-6c4b-4446-89a7-d52beac3d8cd"),
    ClientMissingError("codex", ["claude", "gemini"]),
    ClientMissingError(None, []),
    NothingToResumeError("webhok"),
)
