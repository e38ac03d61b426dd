"""Print docs/errors.md: every error of the package with its codes, and what it says of an example.

The classes are found in the package; the examples are listed here. tests/house/test_errors.py reads
them too: each class has one, and each door has words for what to do next.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from datetime import UTC, datetime

import holdfast
from holdfast import errors
from holdfast.bundles import errors as bundles
from holdfast.errors import Action, HoldfastError
from holdfast.ground import errors as ground
from holdfast.memories import errors as memories
from holdfast.sessions import errors as sessions
from holdfast.storage import errors as storage
from holdfast.surfaces.cli import errors as cli
from holdfast.surfaces.console import errors as console
from holdfast.surfaces.hook import UnreadableError
from holdfast.surfaces.http import errors as http
from holdfast.workstreams import errors as workstreams

HEAD = """# Errors

Written by `make docs` from the code. There are five kinds, and a kind decides the exit code and the HTTP status; a few
classes have a status of their own. A program decides by `code`. The message says what is wrong; what to do next is
given by verb, and each door words it in its own grammar: the CLI as a command, MCP as a tool call, HTTP as a route.
Messages have example values here.
"""  # noqa: E501 - the lines of the page
KINDS = {
    errors.NotFound: "something that is asked for does not exist",
    errors.Conflict: "the state is another than the caller expects",
    errors.Refused: "a rule does not allow it",
    errors.Invalid: "the input is wrong",
    errors.Unavailable: "it may work later, or elsewhere",
    HoldfastError: "of no kind",
}
STORE = "/home/ana/.local/share/holdfast/holdfast.db"
SERVER = "postgresql://app@db/holdfast"
EXAMPLES: tuple[HoldfastError, ...] = (
    errors.ExtraMissingError("holdfast mcp", "mcp"),
    errors.InvalidValueError(
        "Phase", "testing", "is unknown", known=("planning", "implementation")
    ),
    errors.InvalidValueError("Command", "", "is missing", next_actions=[Action("prove")]),
    errors.KeyReusedError("k-1"),
    errors.NoWorkingTreeError(),
    errors.StoreBusyError(STORE),
    errors.StoreFullError(STORE),
    errors.StoreReadOnlyError(STORE),
    errors.StoreUnreachableError(SERVER, "it did not answer in time"),
    bundles.ReceiptForgottenError("R7"),
    bundles.ReceiptNotFoundError("R7"),
    bundles.ReceiptOutdatedError("R7"),
    bundles.RoundClosingError("payouts"),
    bundles.RoundMovedError("payouts"),
    bundles.RoundNotFoundError("main"),
    bundles.RoundOpenError("payouts"),
    bundles.SourceMissingError("architect"),
    bundles.WrongRoleError("tester", "architect"),
    console.ProofRunningError(["pytest", "-q"]),
    ground.FileChangedError("docs/plan.md"),
    ground.FileMissingError("docs/plan.md"),
    ground.GitFailedError("/repo", "fatal: bad object HEAD"),
    ground.GitMissingError("is not installed"),
    ground.PathOutsideError("/etc/passwd", "is not below a folder that may be shown"),
    ground.PathOutsideError(
        "data", "is no plain folder", "It is left as it is: remove it or move it away."
    ),
    http.AdoptedMemoriesError(SERVER),
    http.EventsLostError(3),
    http.ForeignRequestError("Host", "evil.example", "is not this server"),
    http.NetworkRefusedError("0.0.0.0"),
    http.PortTakenError("127.0.0.1", 8000),
    http.ServerRunningError(STORE, 4711, 8000, "http://127.0.0.1:8000"),
    http.ServerRunningError(STORE, None, None),
    http.TooLargeError(1_000_000),
    http.TooManyError("streams of events open", 64, "Close one, then try again."),
    http.TooSlowError(10),
    http.UnauthorizedError(),
    http.WrongMediaTypeError("text/plain"),
    memories.ExportRefusedError("memories.jsonl", 2),
    memories.ForeignTableError("value too long"),
    memories.MemoryForgottenError("M3"),
    memories.MemoryNotFoundError("M3"),
    sessions.ContextFullError(51, 50),
    sessions.EventConflictError("E1"),
    sessions.EventNotFoundError("E1"),
    sessions.RevisionConflictError("S1", 3, 4),
    sessions.SequenceConflictError("S1", 3, 4),
    sessions.SessionEndedError("S1", datetime(2026, 1, 31, 12, 30, tzinfo=UTC)),
    sessions.SessionNotFoundError("S1"),
    storage.AdoptionRefusedError(
        SERVER, "a column is missing", "ALTER TABLE memori.memories ADD COLUMN …"
    ),
    storage.AdoptionRefusedError(SERVER, "a column is missing", None),
    storage.ChangedMigrationError(STORE, "0001_begin"),
    storage.IdTakenError(),
    storage.LoginRefusedError(SERVER, "role app does not exist"),
    storage.NewerSchemaError(STORE, 9, 8),
    storage.NotADatabaseError(STORE),
    storage.PermissionRefusedError(
        SERVER, "permission denied", "Ask its owner.", [storage.GRANT_RUNTIME_ROLE]
    ),
    storage.SchemaMissingError(SERVER),
    storage.SchemaTakenError(SERVER, "memori"),
    storage.SqliteTooOldError("3.45.0", "3.51.3"),
    storage.StoreClosedError(STORE),
    storage.StoreDamagedError(STORE, "database disk image is malformed"),
    storage.UnreleasedSchemaError(STORE),
    storage.UnsafeRoleError("app", "is a superuser"),
    storage.WrongEncodingError(SERVER, "LATIN1"),
    workstreams.ContextChangedError(3, 4),
    workstreams.EvidenceMissingError("The export is done", "done"),
    workstreams.EvidenceNotThereError("src/a.py:10-20", "the file has 5 lines"),
    workstreams.NoRepositoryError("/tmp"),
    workstreams.NotVerifiedError(),
    workstreams.NoteNotFoundError("D9", ["D1", "D2"]),
    workstreams.ProofFailedError("The export is done", "pytest -q", 1),
    workstreams.ProofNotFoundError("P5"),
    workstreams.ReadOnlyContextError("repo_context.json was written by a newer version."),
    workstreams.SharedContextOffError(),
    workstreams.SharedContextOffError(repo="example.org/payouts"),
    cli.NobodyAnsweredError("--session S1"),
    cli.StoppedError("Stopped. Nothing was changed."),
    UnreadableError("payload", "{", "is not JSON"),
)


def find_errors() -> list[type[HoldfastError]]:
    """Every class of the tree, wherever in the package it is defined."""
    for module in pkgutil.walk_packages(holdfast.__path__, "holdfast."):
        importlib.import_module(module.name)
    return [error for error in _tree(HoldfastError) if error.__module__.startswith("holdfast.")]


def _tree(kind: type[HoldfastError]) -> Iterator[type[HoldfastError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _tree(below)


def kind_of(error: HoldfastError) -> type[HoldfastError]:
    return next(kind for kind in KINDS if isinstance(error, kind))


def print_page() -> None:
    print(HEAD)
    for kind, meaning in KINDS.items():
        print(
            f"## {kind.__name__}: {meaning}\n\n"
            f"Exit code {kind.exit_code}, HTTP {kind.http_status}\n"
        )
        print("| code | class | HTTP | message | next |\n| --- | --- | --- | --- | --- |")
        rows = [_row(error) for error in EXAMPLES if kind_of(error) is kind]
        print("\n".join(sorted(rows)), end="\n\n" if kind is not HoldfastError else "\n")


def _row(error: HoldfastError) -> str:
    verbs = ", ".join(f"`{action.verb}`" for action in error.next_actions) or "—"
    place = f"`{type(error).__module__}.{type(error).__name__}`".replace("`holdfast.", "`")
    return f"| `{error.code}` | {place} | {error.http_status} | {error.message} | {verbs} |"


if __name__ == "__main__":
    print_page()
