"""What only sessions raise."""

from __future__ import annotations

from holdfast.errors import Action, Conflict, NotFound, Refused, shown


class SessionNotFoundError(NotFound):
    code = "session_not_found"

    def __init__(self, session_id: object, nearest: str | None = None):
        self.session_id, self.nearest = session_id, nearest
        message = f"Session {shown(session_id)} does not exist."
        if nearest is not None:
            message += f" Did you mean {shown(nearest)}?"
        super().__init__(message, next_actions=[Action("session.list")])


class SessionNotNamedError(Refused):
    code = "session_not_named"

    def __init__(self) -> None:
        super().__init__(
            "This call names no session, and the connection that it came over has none: "
            "each call of it needs a session_id.",
            next_actions=[Action("session.start")],
        )


class SessionInUseError(Refused):
    code = "session_in_use"

    def __init__(self, session_id: str, client: str):
        self.session_id, self.client = session_id, client
        super().__init__(
            f"Session {session_id} is a live one of {client}, which ends it itself.",
            next_actions=[Action("session.resume", session_id=session_id)],
        )


class EventNotFoundError(NotFound):
    code = "event_not_found"

    def __init__(self, event_id: object):
        self.event_id = event_id
        super().__init__(
            f"Event {shown(event_id)} does not exist.", next_actions=[Action("session.event_ids")]
        )


class SessionEndedError(Conflict):
    code = "session_ended"

    def __init__(self, session_id: str, ended_at: object):
        self.session_id, self.ended_at = session_id, ended_at
        super().__init__(
            f"Session {session_id} ended at {ended_at:%Y-%m-%d %H:%MZ}.",
            next_actions=[Action("session.resume", session_id=session_id)],
        )


class SequenceConflictError(Conflict):
    code = "sequence_conflict"

    def __init__(self, session_id: str, expected: int | None, actual: int):
        self.session_id, self.expected, self.actual = session_id, expected, actual
        super().__init__(
            f"Session {session_id} is at sequence {actual}, not {expected}. "
            "Read its events, then append with the sequence that it has.",
            next_actions=[Action("session.events", session_id=session_id)],
        )


class EventConflictError(Conflict):
    code = "event_conflict"

    def __init__(self, *event_ids: str, elsewhere: str | None = None):
        """`elsewhere`: the session that has an event with this id and the same content."""
        self.event_id = None
        self.elsewhere = elsewhere
        which = f"One of the {len(event_ids)} event ids"
        if len(event_ids) == 1:
            [self.event_id] = event_ids
            which = f"Event id {self.event_id}"
        problem = (
            "is taken by an event with other content. "
            "Repeat the first request unchanged, or use a new id."
        )
        if elsewhere is not None:
            problem = (
                f"is taken by an event with the same content in session {elsewhere}. "
                "Append to that session, or use a new id."
            )
        super().__init__(f"{which} {problem}")


class RevisionConflictError(Conflict):
    code = "revision_conflict"
    http_status = 412

    def __init__(self, session_id: str, expected: int | str, actual: int | str):
        self.session_id, self.expected, self.actual = session_id, expected, actual
        super().__init__(
            f"Session {session_id} is at revision {actual}, not {shown(expected)}. "
            "Read it again, then change it."
        )


class ContextFullError(Refused):
    code = "context_full"

    def __init__(self, total: int, limit: int):
        self.total, self.limit = total, limit
        super().__init__(
            f"The context sets would hold {total} items; {limit} are the most in all. "
            "Clear a set first.",
            next_actions=[Action("context.clear"), Action("context.show")],
        )
