"""An example of each error of this folder, for docs/errors.md and the tests of all errors."""

from holdfast.storage import errors

STORE = "/home/ana/.local/share/holdfast/holdfast.db"
SERVER = "postgresql://app@db/holdfast"
EXAMPLES = (
    errors.AdoptionRefusedError(
        SERVER, "a column is missing", "ALTER TABLE memori.memories ADD COLUMN …"
    ),
    errors.AdoptionRefusedError(SERVER, "a column is missing", None),
    errors.ChangedMigrationError(STORE, "0001_begin"),
    errors.DumpFailedError(SERVER, "the connection was lost"),
    errors.DumpProgramError(SERVER, 18, "pg_dump is missing"),
    errors.EventDroppedError(f"No space is left for {STORE}."),
    errors.IdTakenError(),
    errors.LoginRefusedError(SERVER, "role app does not exist"),
    errors.NewerSchemaError(STORE, 9, 8),
    errors.NotADatabaseError(STORE),
    errors.OwnerNeededError(SERVER, "app"),
    errors.PartialBackupError(SERVER, "app"),
    errors.PoolClosedError(SERVER),
    errors.PermissionRefusedError(
        SERVER, "permission denied", "Ask its owner.", [errors.GRANT_RUNTIME_ROLE]
    ),
    errors.SchemaMissingError(SERVER),
    errors.SchemaTakenError(SERVER, "memori"),
    errors.SqliteTooOldError("3.45.0", "3.51.3"),
    errors.StoreClosedError(STORE),
    errors.StoreDamagedError(STORE, "database disk image is malformed"),
    errors.TableLockedError(SERVER, 30, "Process 4711 of role 'app'"),
    errors.UnreleasedSchemaError(STORE),
    errors.UnsafeRoleError("app", "is a superuser"),
    errors.WrongEncodingError(SERVER, "LATIN1"),
)
