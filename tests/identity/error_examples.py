"""An example of each error of this folder, for docs/errors.md and the tests of all errors."""

from holdfast.identity import errors

ID = "0190d3a1-0000-7000-8000-000000000001"
EXAMPLES = (
    errors.WorkspaceNotFoundError("acme"),
    errors.DeveloperExistsError("ana", "acme"),
    errors.UnknownDeveloperError("dora", "acme"),
    errors.TokenNotFoundError(ID),
    errors.TokenEndedError(),
    errors.InsufficientScopeError("context:publish"),
    errors.LoginNotFoundError(),
    errors.LoginDecidedError("approved"),
    errors.TooManyLoginsError(200),
    errors.AuthorizationPendingError(),
    errors.SlowDownError(5),
    errors.AccessDeniedError(),
    errors.ExpiredTokenError(),
)
