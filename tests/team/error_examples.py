"""An example of each error of this folder, for docs/errors.md and the tests of all errors."""

from holdfast.team import errors

ID = "0190d3a1-0000-7000-8000-000000000001"
EXAMPLES = (
    errors.InvalidFieldError("title", "has 240 characters; at most 200"),
    errors.NotMetadataError("summary", "a diff", 3, "@@ -1,2 +3,4 @@"),
    errors.SecretFoundError("next_actions", "github_token", 2),
    errors.DeveloperNotFoundError("dev-z"),
    errors.ContextNotFoundError(ID),
    errors.ClaimNotFoundError(ID),
    errors.ClaimEndedError(ID, ("src/retry.py", "docs/**")),
    errors.HandoffNotFoundError(ID),
    errors.HandoffOpenError(ID, ID),
    errors.HandoffStateError(ID, "declined", "only an open offer can be accepted"),
    errors.HandoffToSelfError(),
    errors.PrivateDeveloperError(),
    errors.ServerUnreachableError("https://team.example", "nothing listens there"),
    errors.TokenRefusedError("https://team.example"),
    errors.NoTokenError("https://team.example"),
    errors.RepositoryNotListedError("github.com/acme/secret", "https://team.example"),
    errors.ServerVersionError("https://team.example", "0.2.0", "0.1.0", "GET /api/team/near"),
    errors.OtherServerError("https://team.example", "https://other.example"),
    errors.LoginEndedError("Nobody approved it in time."),
    errors.ChangeWaitsError(ID, "A publication", "https://team.example", "nothing listens there"),
    errors.ChangeTakenBackError(ID, "The publication"),
    errors.TooManyWaitError(200, "https://team.example"),
)
