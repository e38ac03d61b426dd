"""Every error that Holdfast raises on purpose.

Doors know the five kinds only; a kind decides the exit code and the HTTP status. A concrete class carries
its data as attributes and a stable code, and its message names the thing, its value and what to do.

    HoldfastError
    ├── NotFound (3)      SessionNotFoundError · EventNotFoundError · FileMissingError
    │                     · NoRepositoryError · ProofNotFoundError · ReceiptNotFoundError · MemoryNotFoundError
    │                     · ReceiptForgottenError · RoundNotFoundError · NoteNotFoundError
    ├── Conflict (4)      SessionEndedError · SequenceConflictError · EventConflictError · IdTakenError
    │                     · RevisionConflictError · KeyReusedError · ServerRunningError · PortTakenError
    │                     · FileChangedError · ContextChangedError · ExportRefusedError · ProofRunningError
    │                     · RoundOpenError · RoundClosingError · RoundMovedError · WrongRoleError
    ├── Refused (5)       ContextFullError · NewerSchemaError · ChangedMigrationError · UnsafeRoleError
    │                     · PermissionRefusedError · SchemaTakenError · WrongEncodingError · UnauthorizedError
    │                     · ForeignRequestError · NetworkRefusedError · PathOutsideError
    │                     · NoWorkingTreeError · SharedContextOffError · EvidenceMissingError · NotVerifiedError
    │                     · ReadOnlyContextError · ProofFailedError
    │                     · EvidenceNotThereError · MemoryForgottenError · AdoptedMemoriesError
    │                     · AdoptionRefusedError · ForeignTableError
    │                     · ReceiptOutdatedError · SourceMissingError
    ├── Invalid (2)       InvalidValueError · NotADatabaseError · WrongMediaTypeError · TooLargeError · TooSlowError
    └── Unavailable (6)   StoreBusyError · StoreUnreachableError · StoreFullError · StoreReadOnlyError
                          · StoreDamagedError · SchemaMissingError · SqliteTooOldError · StoreClosedError
                          · LoginRefusedError · TooManyError · EventsLostError · ExtraMissingError
                          · GitMissingError · GitFailedError
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

SHOWN_CHARS = 80


def shown(value: object) -> str:
    """A value as it appears in a message: quoted, escaped, and short however long it is."""
    try:
        text = ascii(value)
    except (RecursionError, ValueError):  # nested without end, or a number of more digits than Python prints
        return f"(a {type(value).__name__})"
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}… ({len(text)} characters)"


def place_of(error: BaseException) -> str:
    """The file and line that an error comes from."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    return f"{os.path.basename(frame.tb_frame.f_code.co_filename)}:{frame.tb_lineno}" if frame else "an unknown place"


def bug_message(error: BaseException) -> str:
    """What is said of an error that is none of ours, without anything of the person's own text."""
    return f"This is a bug in Holdfast: {type(error).__name__} at {place_of(error)}."


class HoldfastError(Exception):
    """The root; a door that meets anything else has met a bug."""

    code = "error"
    exit_code = 1
    http_status = 500

    def __init__(self, message: str, *, next_actions: Sequence[str] = ()):
        self.message = message
        self.next_actions = tuple(next_actions)
        super().__init__(message)


class NotFound(HoldfastError):
    code, exit_code, http_status = "not_found", 3, 404


class Conflict(HoldfastError):
    code, exit_code, http_status = "conflict", 4, 409


class Refused(HoldfastError):
    code, exit_code, http_status = "refused", 5, 422


class Invalid(HoldfastError):
    code, exit_code, http_status = "invalid", 2, 400


class Unavailable(HoldfastError):
    code, exit_code, http_status = "unavailable", 6, 503


# --- not found ---------------------------------------------------------------------------------------------


class SessionNotFoundError(NotFound):
    code = "session_not_found"

    def __init__(self, session_id: object):
        self.session_id = session_id
        super().__init__(
            f"Session {shown(session_id)} does not exist. `holdfast session list` shows the ones that do.",
            next_actions=["holdfast session list"],
        )


class EventNotFoundError(NotFound):
    code = "event_not_found"

    def __init__(self, event_id: object):
        self.event_id = event_id
        super().__init__(
            f"Event {shown(event_id)} does not exist. `holdfast session events ID --json` shows the ids of a session.",
            next_actions=["holdfast session events ID --json"],
        )


class FileMissingError(NotFound):
    code = "file_not_found"

    def __init__(self, path: str):
        self.path = path
        super().__init__(f"File {shown(path)} does not exist, or is no file. Check its path.")


class NoRepositoryError(NotFound):
    """A verb about a repository, called outside of one."""

    code = "no_repository"

    def __init__(self, folder: str):
        self.folder = folder
        super().__init__(
            f"Folder {shown(folder)} is in no git repository. Change into one, or begin one with `git init`."
        )


class ProofNotFoundError(NotFound):
    code = "proof_not_found"

    def __init__(self, proof_id: object):
        self.proof_id = proof_id
        super().__init__(
            f"Proof {shown(proof_id)} does not exist. `holdfast workstream show --json` lists the last ones."
        )


class NoteNotFoundError(NotFound):
    """A claim or a decision that is not in this repo context."""

    code = "note_not_found"

    def __init__(self, note_id: object, known: Sequence[str]):
        self.note_id = note_id
        there = f"There are {', '.join(known[:10])}{', …' if len(known) > 10 else ''}." if known else "There are none."
        super().__init__(f"No claim or decision {shown(note_id)} is noted here. {there}")


class ReceiptNotFoundError(NotFound):
    code = "receipt_not_found"

    def __init__(self, receipt_id: object):
        self.receipt_id = receipt_id
        super().__init__(
            f"Receipt {shown(receipt_id)} does not exist. `holdfast bundle show` builds a bundle and its receipt."
        )


class MemoryNotFoundError(NotFound):
    code = "memory_not_found"

    def __init__(self, memory_id: object):
        self.memory_id = memory_id
        super().__init__(
            f"Memory {shown(memory_id)} does not exist, or was forgotten. `holdfast memory list` shows the ids.",
            next_actions=["holdfast memory list"],
        )


class ReceiptForgottenError(NotFound):
    """It was there; what it held was erased, and only that it was made is still known."""

    code = "receipt_forgotten"

    def __init__(self, receipt_id: str):
        self.receipt_id = receipt_id
        super().__init__(f"Receipt {receipt_id} was forgotten, so its bundle cannot be made again.")


class RoundNotFoundError(NotFound):
    code = "round_not_found"

    def __init__(self, workstream_id: str):
        self.workstream_id = workstream_id
        super().__init__(
            f"Workstream {shown(workstream_id)} has no open round. Start one: `holdfast round start --topic TOPIC`.",
            next_actions=["holdfast round start --topic TOPIC"],
        )


# --- conflict ----------------------------------------------------------------------------------------------


class SessionEndedError(Conflict):
    code = "session_ended"

    def __init__(self, session_id: str, ended_at: object):
        self.session_id, self.ended_at = session_id, ended_at
        super().__init__(
            f"Session {session_id} ended at {ended_at:%Y-%m-%d %H:%MZ}. "
            f"Continue it with `holdfast session resume {session_id}`.",
            next_actions=[f"holdfast session resume {session_id}"],
        )


class SequenceConflictError(Conflict):
    code = "sequence_conflict"

    def __init__(self, session_id: str, expected: int | None, actual: int):
        self.session_id, self.expected, self.actual = session_id, expected, actual
        super().__init__(
            f"Session {session_id} is at sequence {actual}, not {expected}. "
            "Read its events, then append with the sequence that it has.",
            next_actions=[f"holdfast session events {session_id}"],
        )


class KeyReusedError(Conflict):
    code = "idempotency_key_reused"

    def __init__(self, key: str):
        self.key = key
        super().__init__(
            f"Idempotency key '{key}' was used for another request. Repeat that request unchanged, or use a new key."
        )


class EventConflictError(Conflict):
    code = "event_conflict"

    def __init__(self, *event_ids: str):
        self.event_id = event_ids[0] if len(event_ids) == 1 else None
        which = f"Event id {event_ids[0]}" if len(event_ids) == 1 else f"One of the {len(event_ids)} event ids"
        super().__init__(
            f"{which} is taken by an event with other content. Repeat the first request unchanged, or use a new id."
        )


class IdTakenError(Conflict):
    """A row with this id is there and not ours to see; the store of the room says which id it was."""

    code = "id_taken"

    def __init__(self) -> None:
        super().__init__("An id is taken. Use a new one.")


class ContextChangedError(Conflict):
    """A repo context that somebody else has written since it was read."""

    code = "context_changed"

    def __init__(self, expected: int, actual: int):
        self.expected, self.actual = expected, actual
        super().__init__(
            f"The repo context is at revision {actual}, not {expected}: written meanwhile. Load it again, then save."
        )


class ExportRefusedError(Conflict):
    """A file that would lose what only it has."""

    code = "export_refused"

    def __init__(self, path: str, unknown: int):
        self.path, self.unknown = path, unknown
        lines = f"{unknown:,} line{'' if unknown == 1 else 's'} that this store does not know"
        super().__init__(
            f"File {shown(path)} has {lines if unknown else 'something that this store did not write'}, so it was left "
            "as it is. Bring it in first; where that says that no export replaces it, name another file.",
            next_actions=[f"holdfast memory import {path}"],
        )


class RevisionConflictError(Conflict):
    code = "revision_conflict"
    http_status = 412

    def __init__(self, session_id: str, expected: int | str, actual: int | str):
        self.session_id, self.expected, self.actual = session_id, expected, actual
        super().__init__(
            f"Session {session_id} is at revision {actual}, not {shown(expected)}. Read it again, then change it."
        )


class FileChangedError(Conflict):
    code = "file_changed"

    def __init__(self, path: str):
        self.path = path
        super().__init__(
            f"File {shown(path)} was changed by somebody else since it was read. Nothing was written. "
            "Read it again, or overwrite it knowingly."
        )


class ProofRunningError(Conflict):
    code = "proof_running"

    def __init__(self, command: Sequence[str]):
        self.command = tuple(command)
        super().__init__(
            f"A proof is running already: {shown(' '.join(command))}. Nothing was started. Wait until it has ended."
        )


class RoundOpenError(Conflict):
    code = "round_open"

    def __init__(self, topic: str):
        self.topic = topic
        super().__init__(
            f"A round about {shown(topic)} is open. `holdfast round next` says whose turn it is. End it first, with "
            "`holdfast round close` or, without a result, with `holdfast round abandon`.",
            next_actions=["holdfast round next", "holdfast round close", "holdfast round abandon"],
        )


class RoundClosingError(Conflict):
    """The chair has spoken, and its results are being noted or were when a program stopped."""

    code = "round_closing"

    def __init__(self, topic: str):
        self.topic = topic
        super().__init__(
            f"The round about {shown(topic)} is being closed, so it is not abandoned. If nobody is at it any more, "
            "`holdfast round close` notes what is left.",
            next_actions=["holdfast round close"],
        )


class RoundMovedError(Conflict):
    """Two took the same step of a round, and this one came second."""

    code = "round_moved"

    def __init__(self, topic: str):
        self.topic = topic
        super().__init__(
            f"The round about {shown(topic)} went on meanwhile. Nothing was written. "
            "`holdfast round next` says where it is.",
            next_actions=["holdfast round next"],
        )


class WrongRoleError(Conflict):
    code = "wrong_role"

    def __init__(self, role: object, expected: str):
        self.role, self.expected = role, expected
        super().__init__(
            f"Role {shown(role)} does not speak now: it is the turn of {expected}. Nothing was written.",
            next_actions=["holdfast round next"],
        )


# --- refused -----------------------------------------------------------------------------------------------


class ContextFullError(Refused):
    code = "context_full"

    def __init__(self, total: int, limit: int):
        self.total, self.limit = total, limit
        super().__init__(
            f"The context sets would hold {total} items; {limit} are the most in all. Clear a set first: "
            "`holdfast context set NAME` without items.",
            next_actions=["holdfast context show"],
        )


class NewerSchemaError(Refused):
    code = "newer_schema"

    def __init__(self, where: str, found: int, known: int):
        self.where, self.found, self.known = where, found, known
        super().__init__(
            f"{where} has schema {found}; this version of Holdfast knows {known}. Nothing was changed. "
            "Upgrade Holdfast: `pipx upgrade holdfast`.",
            next_actions=["pipx upgrade holdfast"],
        )


class ChangedMigrationError(Refused):
    code = "changed_migration"

    def __init__(self, where: str, name: str):
        self.where, self.name = where, name
        super().__init__(
            f"Migration {name} was applied to {where} with other text than this version ships. Nothing was changed. "
            "Install the version that wrote it, or restore a backup."
        )


class UnsafeRoleError(Refused):
    code = "unsafe_role"

    def __init__(self, role: str, reason: str):
        self.role, self.reason = role, reason
        super().__init__(
            f"PostgreSQL role {shown(role)} {reason}, so row-level security does not hold for it. Connect as a role "
            "that is only a member of holdfast_runtime: `CREATE ROLE app LOGIN IN ROLE holdfast_runtime`."
        )


class PermissionRefusedError(Refused):
    code = "permission_refused"
    http_status = 403

    def __init__(self, where: str, detail: str, advice: str):
        self.where, self.detail = where, detail
        super().__init__(f"{where} refused: {detail}. {advice}")


class SchemaTakenError(Refused):
    code = "schema_taken"

    def __init__(self, where: str, schema: str):
        self.where, self.schema = where, schema
        super().__init__(
            f"{where} has a schema {shown(schema)} that is not Holdfast's, with something in it. Nothing was changed. "
            f"Use another database, or rename it: `ALTER SCHEMA {schema} RENAME TO {schema}_before`."
        )


class WrongEncodingError(Refused):
    code = "wrong_encoding"

    def __init__(self, where: str, encoding: str):
        self.where, self.encoding = where, encoding
        super().__init__(
            f"{where} has the encoding {encoding}, which does not keep every text as it is. Nothing was changed. "
            "Use a database that was made with `CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`."
        )


class PathOutsideError(Refused):
    """A path that leads out of the folders that may be shown, or might: through a link, a device, a `..`."""

    code = "path_outside"

    ADVICE = "`holdfast serve --root DIR` names the folders that are shown."

    def __init__(self, path: object, problem: str, advice: str = ADVICE):
        self.path, self.problem = path, problem
        super().__init__(f"Path {shown(path)} {problem}. {advice}")


class NoWorkingTreeError(Refused):
    """A server for a team has nobody's files."""

    code = "no_working_tree"

    def __init__(self) -> None:
        super().__init__("This server has no working tree. Ask the `holdfast mcp` of the machine that has one.")


class SharedContextOffError(Refused):
    """Nobody has agreed to keep context in this repository, so nothing of it is read or written."""

    code = "shared_context_off"

    def __init__(
        self, settings_file: str = "settings.json of the data folder", *, repo: str | None = None, says: str = ""
    ) -> None:
        show = "SHARED_CONTEXT_ENABLED=true holdfast workstream show"
        called = f" This repository is called {repo} there." if repo else f" `{show}` prints this repository's name."
        super().__init__(
            f"Shared context is off, so nothing is kept in this repository.{says and ' ' + says} Switch it on with "
            f'SHARED_CONTEXT_ENABLED=true, or with "shared_context": true in {settings_file}.{called}',
            next_actions=[show],
        )


class EvidenceMissingError(Refused):
    """Somebody says that something is done, and shows nothing."""

    code = "evidence_missing"

    def __init__(self, claim: str, word: str | None):
        self.claim, self.word = claim, word
        because = f"says {shown(word)}" if word else "is of kind completion"
        super().__init__(
            f"Claim {shown(claim)} {because} and has no evidence. Name a path with lines or a symbol, or a command "
            "that was seen to pass.",
            next_actions=["evidence: PATH:L1-L2", "evidence: PATH#SYMBOL", "holdfast prove -- COMMAND"],
        )


class ProofFailedError(Refused):
    """Something is said to be done, and what should show it shows that it is not."""

    code = "proof_failed"

    def __init__(self, claim: str, command: str, exit_code: object):
        self.claim, self.command = claim, command
        how = f"ended with exit code {exit_code}" if exit_code != 0 else "ran while files changed"
        super().__init__(
            f"Claim {shown(claim)} is shown by nothing: {shown(command)} {how}. Run it until it passes, then claim.",
            next_actions=["holdfast prove -- COMMAND"],
        )


class EvidenceNotThereError(Refused):
    """Evidence is checked when it is given; what is not there shows nothing."""

    code = "evidence_not_there"

    def __init__(self, evidence: str, problem: str):
        self.evidence, self.problem = evidence, problem
        super().__init__(f"Evidence {shown(evidence)} is not there: {problem}. Name a place that is.")


class NotVerifiedError(Refused):
    """A summary would be written against a state that nobody has checked."""

    code = "not_verified"

    def __init__(self) -> None:
        super().__init__(
            "The summary is kept as it is: tracked files have uncommitted changes, and no command was seen to pass on "
            "them. Prove or commit them, then save.",
            next_actions=["holdfast prove -- COMMAND", "git commit"],
        )


class ReadOnlyContextError(Refused):
    """A file that this program must not write again; its problem says what to do."""

    code = "read_only_context"

    def __init__(self, problem: str):
        self.problem = problem
        super().__init__(f"Nothing was changed: {problem}")


class MemoryForgottenError(Refused):
    """A text that somebody wanted gone, about to come back."""

    code = "memory_forgotten"

    def __init__(self, memory_id: str):
        self.memory_id = memory_id
        super().__init__(
            f"This text was forgotten (memory {memory_id}), and what was forgotten is not kept again. Nothing was "
            "stored. Say it in other words if it should be remembered after all."
        )


class AdoptedMemoriesError(Refused):
    """A table that was there before Holdfast has no walls between developers."""

    code = "adopted_memories"

    def __init__(self, where: str):
        self.where = where
        super().__init__(
            f"The table memori.memories in {where} was made by another program, so nothing keeps one developer's "
            "memories from another. It is for one person's use and not served. Serve another database, and bring them "
            "there with `holdfast memory export FILE` and `holdfast memory import FILE`.",
            next_actions=["holdfast memory export FILE"],
        )


class AdoptionRefusedError(Refused):
    """A table that was there before Holdfast and cannot be used as it is."""

    code = "adoption_refused"

    def __init__(self, where: str, problem: str, remedy: str | None):
        self.where, self.problem, self.remedy = where, problem, remedy
        mended = f"Mend it (`{remedy}`)" if remedy else "Change that"
        super().__init__(
            f"The table memori.memories in {where} was made by another program, and Holdfast cannot use it as it is: "
            f"{problem}. Nothing was changed. {mended}, or name another database in HOLDFAST_DATABASE."
        )


class ForeignTableError(Refused):
    """What another program's table does not take."""

    code = "foreign_table"

    def __init__(self, problem: str):
        self.problem = problem
        super().__init__(
            f"The table memori.memories was made by another program and does not take this: {problem}. Nothing was "
            "stored. Say it so that it fits, or change the table."
        )


class ReceiptOutdatedError(Refused):
    code = "receipt_outdated"

    def __init__(self, receipt_id: str):
        self.receipt_id = receipt_id
        super().__init__(
            f"Receipt {receipt_id} was written by another version of Holdfast, and this one would write its bundle "
            "differently. That version makes the exact bytes."
        )


class SourceMissingError(Refused):
    """Somebody speaks in a round, and says neither where it is from nor that it is nothing new."""

    code = "source_missing"

    def __init__(self, role: str):
        self.role = role
        super().__init__(
            f"{role} names no source. Give one as repo:PATH, tool:COMMAND or user:WORDS, or begin the text with "
            '"No new fact".',
            next_actions=["holdfast round submit --role ROLE --text TEXT --source repo:PATH"],
        )


# --- invalid -----------------------------------------------------------------------------------------------


class InvalidValueError(Invalid):
    code = "invalid_value"

    def __init__(self, field: str, value: object, problem: str, *, known: Iterable[str] = ()):
        self.field, self.value, self.problem, self.known = field, value, problem, tuple(known)
        choices = f" Known: {', '.join(self.known)}." if self.known else ""
        super().__init__(f"{field} {shown(value)} {problem}.{choices}")


class NotADatabaseError(Invalid):
    code = "not_a_database"

    def __init__(self, where: str, problem: str = "is not a SQLite database"):
        self.where = where
        super().__init__(f"{where} {problem}. It was left as it is. Name another file in HOLDFAST_DATABASE.")


# --- unavailable -------------------------------------------------------------------------------------------


class StoreBusyError(Unavailable):
    code = "store_busy"

    def __init__(self, where: str):
        self.where = where
        super().__init__(f"{where} is locked by another writer for too long. Nothing was written. Try again.")


class StoreUnreachableError(Unavailable):
    code = "store_unreachable"

    def __init__(self, where: str, cause: str, advice: str = "Check that it runs and that HOLDFAST_DATABASE is right."):
        self.where, self.cause = where, cause
        super().__init__(f"{where} cannot be reached: {cause}. {advice}")


class StoreFullError(Unavailable):
    code = "store_full"

    def __init__(self, where: str):
        self.where = where
        super().__init__(f"No space is left for {where}. Nothing was written. Free some space, then try again.")


class StoreReadOnlyError(Unavailable):
    code = "store_read_only"

    def __init__(
        self,
        where: str,
        cause: str = "it is read-only",
        advice: str = "Make it writable, or set HOLDFAST_HOME to another folder.",
    ):
        self.where, self.cause = where, cause
        super().__init__(f"{where} cannot be written: {cause}. {advice}")


class StoreDamagedError(Unavailable):
    code = "store_damaged"

    def __init__(self, where: str, cause: str, *, may_be_written: bool = False):
        self.where, self.cause = where, cause
        written = (
            "It may have been written; repeat it with the same event id" if may_be_written else "Nothing was written"
        )
        super().__init__(f"{where} is damaged: {cause}. {written}. Keep the file and its -wal, and restore a backup.")


class SchemaMissingError(Unavailable):
    code = "schema_missing"

    def __init__(self, where: str, detail: str = "has no Holdfast schema of this version"):
        self.where = where
        super().__init__(
            f"{where} {detail}. Run `holdfast admin migrate` with HOLDFAST_DATABASE set to the owner's URL.",
            next_actions=["holdfast admin migrate"],
        )


class SqliteTooOldError(Unavailable):
    code = "sqlite_too_old"

    def __init__(self, found: str, needed: str):
        self.found, self.needed = found, needed
        super().__init__(
            f"SQLite {found} can lose a committed write when a checkpoint races it; {needed} is needed. "
            "Install it with `pip install --upgrade apsw`.",
            next_actions=["pip install --upgrade apsw"],
        )


class StoreClosedError(Unavailable):
    code = "store_closed"

    def __init__(self, where: str):
        self.where = where
        super().__init__(f"{where} was closed, or opened before a fork. Open it again with `open_database`.")


class LoginRefusedError(StoreUnreachableError):
    """To a door the same; to a person not, because the server runs."""

    def __init__(self, where: str, cause: str):
        self.where, self.cause = where, cause
        Unavailable.__init__(self, f"{where} refused the login: {cause}. Correct HOLDFAST_DATABASE.")


# --- a server and its callers ------------------------------------------------------------------------------


class ServerRunningError(Conflict):
    code = "server_running"

    def __init__(self, store: str, pid: int | None, port: int | None, url: str | None = None):
        self.store, self.pid, self.port, self.url = store, pid, port, url
        who = f"process {pid}" if pid else "another process"
        where = f" on port {port}" if port else ""
        come_in = f"Open {url} and log in with the token in the file `token` of its data folder. " if url else ""
        stop = f"stop it first with `kill {pid}`" if pid else "stop it first"
        super().__init__(
            f"{store} is served by {who}{where} already. {come_in}To start another, {stop}, or set HOLDFAST_HOME to "
            "another folder (and HOLDFAST_DATABASE, where that is set, to another file).",
            next_actions=[f"kill {pid}"] if pid else (),
        )


class PortTakenError(Conflict):
    code = "port_taken"

    def __init__(self, host: str, port: int):
        self.host, self.port = host, port
        super().__init__(
            f"Port {port} of {host} is taken by another program. Choose another one: `holdfast serve --port PORT`.",
            next_actions=["holdfast serve --port 0"],
        )


class UnauthorizedError(Refused):
    code = "unauthorized"
    http_status = 401

    def __init__(self) -> None:
        super().__init__(
            "This needs the token that is in the file `token` of HOLDFAST_HOME, as `Authorization: Bearer TOKEN`. "
            "A browser gets in by the link that `holdfast serve` prints."
        )


class ForeignRequestError(Refused):
    """A page or a name that is not ours sent it, perhaps in somebody's browser."""

    code = "foreign_request"
    http_status = 403

    def __init__(self, header: str, value: object, problem: str):
        self.header, self.value = header, value
        super().__init__(f"{header} {shown(value)} {problem}. Use the address that `holdfast serve` prints.")


class NetworkRefusedError(Refused):
    code = "network_refused"

    def __init__(self, host: str):
        self.host = host
        super().__init__(
            f"Host {shown(host)} can be reached from other machines, and a store in a file is for one person. "
            "Serve it on 127.0.0.1, or set HOLDFAST_DATABASE to a PostgreSQL URL."
        )


class WrongMediaTypeError(Invalid):
    code = "wrong_media_type"
    http_status = 415

    def __init__(self, found: object):
        self.found = found
        super().__init__(f"Content-Type {shown(found)} is not taken here. Send JSON as `application/json`.")


class TooLargeError(Invalid):
    code = "too_large"
    http_status = 413

    def __init__(self, max_bytes: int):
        self.max_bytes = max_bytes
        super().__init__(f"The body has more than {max_bytes:,} bytes. Nothing was written. Send it in parts.")


class TooSlowError(Invalid):
    code = "too_slow"
    http_status = 408

    def __init__(self, seconds: float):
        self.seconds = seconds
        super().__init__(f"The body was not complete after {seconds:g} seconds. Nothing was written. Send it again.")


class TooManyError(Unavailable):
    code = "too_many"
    http_status = 429

    def __init__(self, what: str, limit: int, advice: str):
        self.what, self.limit = what, limit
        super().__init__(f"There are more than {limit} {what}. {advice}")


class EventsLostError(Unavailable):
    code = "events_lost"

    def __init__(self, lost: int):
        self.lost = lost
        super().__init__(
            f"{lost:,} accepted event{'' if lost == 1 else 's'} cannot be found. `holdfast session verify` says where; "
            "keep the files as they are.",
            next_actions=["holdfast session verify"],
        )


class ExtraMissingError(Unavailable):
    code = "extra_missing"

    def __init__(self, command: str, extra: str):
        self.command, self.extra = command, extra
        super().__init__(
            f"`{command}` needs what is not installed. Install it in the folder of Holdfast's source: "
            f"`pip install '.[{extra}]'`.",
            next_actions=[f"pip install '.[{extra}]'"],
        )


# --- git ---------------------------------------------------------------------------------------------------


class GitMissingError(Unavailable):
    code = "git_missing"

    def __init__(self, problem: str):
        self.problem = problem
        super().__init__(f"git {problem}. Install git 2.31 or newer, then try again.")


class GitFailedError(Unavailable):
    code = "git_failed"

    def __init__(self, folder: str, complaint: str):
        self.folder, self.complaint = folder, complaint
        super().__init__(
            f"git does not answer about {shown(folder)}: {shown(complaint)}. `git status` there says what is wrong.",
            next_actions=["git status"],
        )
