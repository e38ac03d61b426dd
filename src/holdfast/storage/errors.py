"""What a store raises: a database of another version, with other rights, damaged, or closed."""

from __future__ import annotations

from holdfast.errors import (
    Action,
    Conflict,
    Invalid,
    Refused,
    StoreUnreachableError,
    Unavailable,
    shown,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

CREATE_RUNTIME_ROLE = "CREATE ROLE holdfast_runtime NOLOGIN"
GRANT_RUNTIME_ROLE = "GRANT holdfast_runtime TO …"
CREATE_BACKUP_ROLE = "CREATE ROLE holdfast_backup LOGIN BYPASSRLS IN ROLE pg_read_all_data"


class IdTakenError(Conflict):
    """A row with this id exists and is hidden from us; the room's store says which id it was."""

    code = "id_taken"

    def __init__(self) -> None:
        super().__init__("An id is taken. Use a new one.")


class EventDroppedError(Unavailable):
    """What a hook was given and could keep nowhere; it is counted where that is possible."""

    code = "event_dropped"

    def __init__(self, reason: str):
        self.reason = reason
        super().__init__(f"An event could not be kept anywhere. {reason}")


class NewerSchemaError(Refused):
    code = "newer_schema"

    def __init__(self, where: str, found: int, known: int, part: str = "schema"):
        self.where, self.found, self.known = where, found, known
        super().__init__(
            f"{where} has {part} {found}; this version of Holdfast knows {known}. "
            "Nothing was changed.",
            next_actions=[Action("upgrade")],
        )


class ChangedMigrationError(Refused):
    code = "changed_migration"

    def __init__(self, where: str, name: str):
        self.where, self.name = where, name
        super().__init__(
            f"Migration {name} was applied to {where} with other text than this version ships. "
            "Nothing was changed. Install the version that wrote it, or restore a backup."
        )


class UnreleasedSchemaError(Refused):
    code = "unreleased_schema"

    def __init__(self, where: str):
        self.where = where
        super().__init__(
            f"{where} was made by Holdfast before its first release, and no released version "
            "reads it. Nothing was changed. "
            "Set HOLDFAST_DATABASE to another file or an empty database."
        )


class UnsafeRoleError(Refused):
    code = "unsafe_role"

    def __init__(self, role: str, reason: str):
        self.role, self.reason = role, reason
        super().__init__(
            f"PostgreSQL role {shown(role)} {reason}, so row-level security does not hold for it. "
            "Connect as a role that is only a member of holdfast_runtime.",
            next_actions=[
                Action("database.run", statement="CREATE ROLE app LOGIN IN ROLE holdfast_runtime")
            ],
        )

    @property
    def names_place(self) -> bool:
        return True


class PermissionRefusedError(Refused):
    code = "permission_refused"
    http_status = 403

    def __init__(self, where: str, detail: str, advice: str, statements: Iterable[str] = ()):
        self.where, self.detail = where, detail
        super().__init__(
            f"{where} refused: {detail}. {advice}",
            next_actions=[Action("database.run", statement=statement) for statement in statements],
        )


class OwnerNeededError(Refused):
    code = "owner_needed"
    http_status = 403

    def __init__(self, where: str, role: str):
        self.where, self.role = where, role
        super().__init__(
            f"PostgreSQL role {shown(role)} sees one developer at a time in {where}, and this is "
            "about all of them. Nothing was changed. Set HOLDFAST_DATABASE to the URL of the owner "
            "of the tables, who migrates them."
        )


class PartialBackupError(Refused):
    """A copy of what one role sees would miss rows without any error."""

    code = "partial_backup"

    def __init__(self, where: str, role: str):
        self.where, self.role = where, role
        super().__init__(
            f"PostgreSQL role {shown(role)} does not read every row of {where}. No file was made. "
            "Set HOLDFAST_DATABASE to the URL of a role that does.",
            next_actions=[Action("database.run", statement=CREATE_BACKUP_ROLE)],
        )


class DumpProgramError(Unavailable):
    code = "dump_program"

    def __init__(self, where: str, server: int, problem: str):
        self.where, self.server, self.problem = where, server, problem
        super().__init__(
            f"{where} is of PostgreSQL {server}, and {problem}. No file was made. "
            f"Install the client programs of PostgreSQL {server} or newer."
        )


class DumpFailedError(Unavailable):
    code = "dump_failed"

    def __init__(self, where: str, cause: str):
        self.where, self.cause = where, cause
        super().__init__(f"{where} was not copied: {cause}. No file was made.")


class SchemaTakenError(Refused):
    code = "schema_taken"

    def __init__(self, where: str, schema: str):
        self.where, self.schema = where, schema
        super().__init__(
            f"{where} has a schema {shown(schema)} that is not Holdfast's, with something in it. "
            "Nothing was changed. Use another database, or rename it.",
            next_actions=[
                Action("database.run", statement=f"ALTER SCHEMA {schema} RENAME TO {schema}_before")
            ],
        )


class WrongEncodingError(Refused):
    code = "wrong_encoding"

    def __init__(self, where: str, encoding: str):
        self.where, self.encoding = where, encoding
        super().__init__(
            f"{where} has the encoding {encoding}, which does not keep every text as it is. "
            "Nothing was changed. Use a database that was made with the encoding UTF8.",
            next_actions=[
                Action(
                    "database.run", statement="CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
                ),
            ],
        )


class AdoptionRefusedError(Refused):
    """A table that existed before Holdfast and cannot be used as it is."""

    code = "adoption_refused"

    def __init__(self, where: str, problem: str, remedy: str | None, *, is_begun: bool = False):
        self.where, self.problem, self.remedy = where, problem, remedy
        statements = [remedy] if remedy else []
        done = "Nothing was changed"
        if is_begun:
            done = "It has columns of Holdfast now, and its rows are as they were"
        super().__init__(
            f"The table memori.memories in {where} was made by another program, and Holdfast "
            f"cannot use it as it is: {problem}. {done}. Change that, or name another database in "
            "HOLDFAST_DATABASE.",
            next_actions=[Action("database.run", statement=statement) for statement in statements],
        )


class TableLockedError(Unavailable):
    """Another transaction has used the table for longer than we wait for it."""

    code = "table_locked"

    def __init__(self, where: str, seconds: float, holder: str):
        self.where, self.seconds, self.holder = where, seconds, holder
        super().__init__(
            f"{holder} keeps the table memori.memories in {where} busy, and {seconds:g} seconds of "
            "trying were not enough. Its rows are as they were, and a new run continues where this "
            "one stopped. End that transaction first, or wait for its end.",
            next_actions=[Action("database.migrate")],
        )


class NotADatabaseError(Invalid):
    code = "not_a_database"

    def __init__(self, where: str, problem: str = "is not a SQLite database"):
        self.where = where
        super().__init__(
            f"{where} {problem}. It was left as it is. Name another file in HOLDFAST_DATABASE."
        )


class StoreDamagedError(Unavailable):
    code = "store_damaged"

    def __init__(self, where: str, cause: str, *, may_be_written: bool = False):
        self.where, self.cause = where, cause
        written = "Nothing was written"
        if may_be_written:
            written = "It may have been written; repeat it with the same event id"
        super().__init__(
            f"{where} is damaged: {cause}. {written}. "
            "Keep the file and its -wal, and restore a backup."
        )


class SchemaMissingError(Unavailable):
    code = "schema_missing"

    def __init__(self, where: str, detail: str = "has no Holdfast schema of this version"):
        self.where = where
        super().__init__(
            f"{where} {detail}.",
            next_actions=[Action("database.migrate")],
        )


class SqliteTooOldError(Unavailable):
    code = "sqlite_too_old"

    def __init__(self, found: str, needed: str):
        self.found, self.needed = found, needed
        super().__init__(
            f"SQLite {found} can lose a committed write when a checkpoint races it; "
            f"{needed} is needed.",
            next_actions=[Action("sqlite.upgrade")],
        )


class StoreClosedError(Unavailable):
    code = "store_closed"

    def __init__(self, where: str):
        self.where = where
        super().__init__(
            f"{where} was closed, or opened before a fork. Open it again with open_database()."
        )


class PoolClosedError(StoreClosedError):
    """The same error to a door; a program that made the pool makes another."""

    def __init__(self, where: str, problem: str = "is closed. Make a new pool"):
        self.where, self.problem = where, problem
        Unavailable.__init__(self, f"{where} has a pool of connections that {problem}.")


class LoginRefusedError(StoreUnreachableError):
    """The same error to a door, but other advice to a person: the server does run."""

    def __init__(self, where: str, cause: str):
        self.where, self.cause = where, cause
        Unavailable.__init__(
            self, f"{where} refused the login: {cause}. Correct HOLDFAST_DATABASE."
        )
