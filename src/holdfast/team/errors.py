"""What only the team exchange raises.

A private developer is one who does not exist: every error about a developer, a context, a
reservation or a handoff is the same for what is hidden and for what is missing.
"""

from __future__ import annotations

from holdfast.errors import Action, Conflict, Invalid, NotFound, Refused, Unavailable, shown

# --- what the rules raise -------------------------------------------------------------------------

_ADVICE = {
    "a diff": "Say in words what changed and why, and name the file.",
    "code": "Say in words what it does, and name the file and the function.",
    "file contents": "Name the file, and say in words what matters in it.",
    "the output of a program": "Say in words what it showed.",
    "a transcript": "Say in words what was decided.",
    "an absolute path": "Write it relative to the repository, such as src/payouts/api.py.",
}


class NotMetadataError(Refused):
    """Content where only metadata is published; `reason` is one of six."""

    code = "not_metadata"

    def __init__(self, field: str, reason: str, line: int = 1, excerpt: str = ""):
        self.field, self.reason, self.line, self.excerpt = field, reason, line, excerpt
        place = f"line {line}"
        if excerpt:
            place += f": {excerpt}"
        super().__init__(
            f"{field} holds {reason} ({place}), and only metadata is shared. {_ADVICE[reason]} "
            "Nothing was stored."
        )


class SecretFoundError(Refused):
    """The text is not shown anywhere, in an error neither."""

    code = "secret_found"

    def __init__(self, field: str, rule: str, line: int = 1):
        self.field, self.rule, self.line = field, rule, line
        super().__init__(
            f"{field} holds what looks like a secret (rule {rule}, line {line}). Nothing was "
            "stored. Remove it, and replace the secret if it is a real one."
        )


class InvalidFieldError(Invalid):
    """A value that is malformed or out of range; a text is not shown: it may be anything."""

    code = "invalid_field"

    def __init__(self, field: str, problem: str):
        self.field, self.problem = field, problem
        super().__init__(f"{field} {problem}. Nothing was stored.")


# --- what the verbs raise -------------------------------------------------------------------------


class DeveloperNotFoundError(NotFound):
    code = "developer_not_found"

    def __init__(self, who: object):
        self.who = who
        super().__init__(
            f"No developer {shown(who)} can be seen in this workspace. A public developer is seen "
            "from the first publication, claim or session with an agent on.",
            next_actions=[Action("team.state")],
        )


class ContextNotFoundError(NotFound):
    code = "context_not_found"

    def __init__(self, context_id: object):
        self.context_id = context_id
        super().__init__(
            f"No published context of yours has the id {shown(context_id)}. "
            "Only its owner can revoke a context.",
            next_actions=[Action("team.contexts")],
        )


class ClaimNotFoundError(NotFound):
    code = "claim_not_found"

    def __init__(self, claim_id: object):
        self.claim_id = claim_id
        super().__init__(
            f"No claim of yours has the id {shown(claim_id)}. "
            "Only its owner can release a claim or hand it off.",
            next_actions=[Action("team.state")],
        )


class ClaimEndedError(Conflict):
    code = "claim_ended"

    def __init__(self, claim_id: str, paths: tuple[str, ...]):
        self.claim_id, self.paths = claim_id, paths
        super().__init__(
            f"Claim {claim_id} has been released or has expired, so it cannot be handed off.",
            next_actions=[Action("team.claim", paths=paths)],
        )


class HandoffNotFoundError(NotFound):
    code = "handoff_not_found"

    def __init__(self, handoff_id: object):
        self.handoff_id = handoff_id
        super().__init__(
            f"No handoff {shown(handoff_id)} concerns you.",
            next_actions=[Action("team.state")],
        )


class HandoffOpenError(Conflict):
    """One reservation is offered once at a time."""

    code = "handoff_open"

    def __init__(self, claim_id: str, handoff_id: str):
        self.claim_id, self.handoff_id = claim_id, handoff_id
        super().__init__(
            f"Claim {claim_id} is offered already, by handoff {handoff_id}.",
            next_actions=[Action("team.cancel", handoff_id=handoff_id)],
        )


class HandoffStateError(Conflict):
    """A step that a handoff cannot take from here, or that is another developer's to take."""

    code = "handoff_state"

    def __init__(self, handoff_id: str, status: str, problem: str):
        self.handoff_id, self.status, self.problem = handoff_id, status, problem
        super().__init__(
            f"Handoff {handoff_id} is {status}, and {problem}.",
            next_actions=[Action("team.state")],
        )


class HandoffToSelfError(Refused):
    code = "handoff_to_self"

    def __init__(self) -> None:
        super().__init__(
            "A handoff goes to another developer. Name one, or nobody to offer it to the team.",
            next_actions=[Action("team.state")],
        )


class PrivateDeveloperError(Refused):
    """A private developer is not seen, so nothing can pass between the team and that developer."""

    code = "developer_is_private"

    def __init__(self) -> None:
        super().__init__(
            "You are private in this workspace, so you cannot give or take a handoff.",
            next_actions=[Action("team.visibility", visibility="public")],
        )


# --- a server that other machines reach -----------------------------------------------------------


class ServerUnreachableError(Unavailable):
    """It does not answer, or what answers is not Holdfast."""

    code = "server_unreachable"

    def __init__(
        self,
        server: str,
        cause: str,
        *,
        was_sent: bool = True,
        was_answered: bool = False,
        is_own_answer: bool = False,
    ):
        self.server, self.cause = server, cause
        self.was_sent = was_sent  # whether it may have heard the request
        self.was_answered = was_answered  # by itself, or by something in between
        self.is_own_answer = is_own_answer  # by itself for sure
        super().__init__(
            f"The team's server {server} cannot be reached: {cause}. Try again later.",
            next_actions=[Action("doctor")],
        )


class TokenRefusedError(Refused):
    code = "token_refused"

    def __init__(self, server: str):
        self.server = server
        super().__init__(
            f"The team's server {server} does not take the token of this machine: it was revoked, "
            "or it has expired.",
            next_actions=[Action("team.join", server=server)],
        )


class NoTokenError(Refused):
    code = "no_token"

    def __init__(self, server: str):
        self.server = server
        super().__init__(
            f"This machine has no token for the team's server {server}.",
            next_actions=[Action("team.join", server=server)],
        )


class RepositoryNotListedError(Refused):
    """The server is not told that there is such a repository."""

    code = "repository_not_listed"

    def __init__(self, repo: str | None, server: str):
        self.repo, self.server = repo, server
        what = "What is in no repository" if repo is None else f"Repository {shown(repo)}"
        super().__init__(
            f"{what} stays on this machine: it is not one of those that {server} may be told of. "
            "Nothing was sent. A person adds the repository of a folder by joining in it, where it "
            "has a remote that others know.",
            next_actions=[Action("team.join", server=server)],
        )


class ServerVersionError(Refused):
    code = "server_version"

    def __init__(self, server: str, theirs: str, ours: str, request: str):
        self.server, self.theirs, self.ours, self.request = server, theirs, ours, request
        super().__init__(
            f"The team's server {server} does not take {request}: it runs Holdfast {theirs}, and "
            f"this machine {ours}. Upgrade the older one."
        )


class OtherServerError(Conflict):
    code = "other_server"

    def __init__(self, joined: str, wanted: str):
        self.joined, self.wanted = joined, wanted
        super().__init__(
            f"This machine has joined {joined}, and not {wanted}. Leave that one first.",
            next_actions=[Action("team.leave")],
        )


class LoginEndedError(Refused):
    """Nobody approved it, or somebody denied it."""

    code = "login_ended"

    def __init__(self, why: str):
        self.why = why
        super().__init__(
            f"{why} This machine has not joined; the login named it, and nothing else was sent."
        )


class ChangeWaitsError(Unavailable):
    """It was kept, and is done later: to a person that is no failure."""

    code = "change_waits"
    exit_code, http_status = 0, 202

    def __init__(self, receipt: str, what: str, server: str, cause: str):
        self.receipt, self.what, self.server, self.cause = receipt, what, server, cause
        super().__init__(
            f"{what} waits on this machine as {receipt}, because the team's server {server} cannot "
            f"be reached: {cause}. It is sent once, in order, with the next call of the exchange "
            "or turn of an agent that reaches the server; its time counts from then."
        )


class ChangeTakenBackError(Unavailable):
    """A change that waited, and that the server never heard of: to a person that is no failure."""

    code = "change_taken_back"
    exit_code, http_status = 0, 200

    def __init__(self, receipt: str, what: str):
        self.receipt, self.what = receipt, what
        super().__init__(f"{what} was never sent, and waits no longer: {receipt} was removed.")


class TooManyWaitError(Unavailable):
    code = "too_many_wait"

    def __init__(self, limit: int, server: str):
        self.limit, self.server = limit, server
        super().__init__(
            f"{limit} changes wait for the team's server {server} already. This one was not kept.",
            next_actions=[Action("team.state")],
        )
