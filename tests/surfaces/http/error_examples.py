"""An example of each error of this folder, for docs/errors.md and the tests of all errors."""

from holdfast.surfaces.http import errors

STORE = "/home/ana/.local/share/holdfast/holdfast.db"
SERVER = "postgresql://app@db/holdfast"
EXAMPLES = (
    errors.AdoptedMemoriesError(SERVER),
    errors.EventsDroppedError(3, "2026-11-16T09:04:00.000000Z"),
    errors.EventsLostError(3),
    errors.ForeignRequestError("Host", "evil.example", "is not this server"),
    errors.NetworkRefusedError("0.0.0.0"),
    errors.PortTakenError("127.0.0.1", 8000),
    errors.ServerRunningError(STORE, 4711, 8000, "http://127.0.0.1:8000"),
    errors.ServerRunningError(STORE, None, None),
    errors.TokenOfMachineError(),
    errors.TooLargeError(1_000_000),
    errors.TooManyError("streams of events open", 64, "Close one, then try again."),
    errors.TooSlowError(10),
    errors.UnauthorizedError(),
    errors.WrongMediaTypeError("text/plain"),
)
