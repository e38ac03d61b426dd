"""What only identity raises.

A token or a code that is unknown, truncated, revoked, expired or of another workspace has one
answer: it does not count.
"""

from __future__ import annotations

from holdfast.errors import Action, Conflict, Invalid, NotFound, Refused, Unavailable, shown


class UnknownDeveloperError(NotFound):
    """For an administrator, from whom nobody is hidden."""

    code = "developer_not_found"

    def __init__(self, handle: str, workspace: str):
        self.handle, self.workspace = handle, workspace
        super().__init__(
            f"No developer {shown(handle)} was added to workspace {shown(workspace)}.",
            next_actions=[Action("admin.developer.add", handle=handle)],
        )


class WorkspaceNotFoundError(NotFound):
    code = "workspace_not_found"

    def __init__(self, workspace: str):
        self.workspace = workspace
        super().__init__(
            f"No workspace {shown(workspace)} was added.",
            next_actions=[Action("admin.workspace.add", workspace=workspace)],
        )


class DeveloperExistsError(Conflict):
    code = "developer_exists"

    def __init__(self, handle: str, workspace: str):
        self.handle, self.workspace = handle, workspace
        super().__init__(
            f"Developer {shown(handle)} is in workspace {shown(workspace)} already, "
            "and stays as visible as before."
        )


class TokenNotFoundError(NotFound):
    code = "token_not_found"

    def __init__(self, token_id: object):
        self.token_id = token_id
        super().__init__(
            f"No token of this workspace has the id {shown(token_id)}.",
            next_actions=[Action("admin.token.list")],
        )


class TokenEndedError(Refused):
    """What is granted by a token is granted while that token counts."""

    code = "token_ended"

    def __init__(self) -> None:
        super().__init__("The token that would grant this was revoked or has expired.")


class InsufficientScopeError(Refused):
    code = "insufficient_scope"
    http_status = 403

    def __init__(self, scope: str):
        self.scope = scope
        super().__init__(
            f"This needs a token with the scope {scope}. "
            "An administrator of the workspace makes one."
        )


class LoginNotFoundError(NotFound):
    code = "login_not_found"

    def __init__(self) -> None:
        super().__init__(
            "This code is unknown, or its login was asked for more than ten minutes ago. "
            "Start the login again where the code was shown."
        )


class LoginDecidedError(Conflict):
    code = "login_decided"

    def __init__(self, decision: str):
        self.decision = decision
        super().__init__(f"This login was {decision} already.")


class TooManyLoginsError(Unavailable):
    code = "too_many_logins"
    http_status = 429

    def __init__(self, limit: int):
        self.limit = limit
        super().__init__(f"{limit} logins wait for a decision. Try again in ten minutes.")


# --- what an agent is told that waits for its token -----------------------------------------------


class AuthorizationPendingError(Invalid):
    code = "authorization_pending"

    def __init__(self) -> None:
        super().__init__("Nobody has approved this login yet. Ask again.")


class SlowDownError(Invalid):
    code = "slow_down"

    def __init__(self, seconds: int):
        self.seconds = seconds
        super().__init__(f"Asked too soon. Wait {seconds} seconds more between two tries.")


class AccessDeniedError(Invalid):
    code = "access_denied"

    def __init__(self) -> None:
        super().__init__("A developer has denied this login.")


class ExpiredTokenError(Invalid):
    code = "expired_token"

    def __init__(self) -> None:
        super().__init__(
            "This device code is unknown, was used already, or is older than ten minutes. "
            "Start another login."
        )
