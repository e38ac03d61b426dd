"""What a server raises when it starts, and what it answers to requests that it does not take."""

from __future__ import annotations

from holdfast.errors import Action, Conflict, Invalid, Refused, Unavailable, shown
from holdfast.ground.text import plural


class ServerRunningError(Conflict):
    code = "server_running"

    def __init__(self, store: str, pid: int | None, port: int | None, url: str | None = None):
        self.store, self.pid, self.port, self.url = store, pid, port, url
        server = "another process"
        actions = []
        if pid:
            server = f"process {pid}"
            actions = [Action("server.stop", pid=pid)]
        if port:
            server += f" on port {port}"
        sentences = [f"{store} is served by {server} already."]
        if url:
            sentences.append(
                f"Open {url} and log in with the token in the file 'token' of its data folder; "
                "it acts for the developer who started it."
            )
        sentences.append(
            "To start another, stop it first, or set HOLDFAST_HOME to another folder "
            "(and HOLDFAST_DATABASE, where that is set, to another file)."
        )
        super().__init__(" ".join(sentences), next_actions=actions)


class PortTakenError(Conflict):
    code = "port_taken"

    def __init__(self, host: str, port: int):
        self.host, self.port = host, port
        super().__init__(
            f"Port {port} of {host} is taken by another program.",
            next_actions=[Action("serve.port")],
        )


class AdoptedMemoriesError(Refused):
    """A table that was there before Holdfast has no walls between developers."""

    code = "adopted_memories"

    def __init__(self, where: str):
        self.where = where
        super().__init__(
            f"The table memori.memories in {where} was made by another program, so nothing keeps "
            "one developer's memories from another. It is served to one developer, on loopback "
            "only. Leave out --host, or serve another database and bring them there with an "
            "export and an import.",
            next_actions=[Action("memory.export")],
        )


class UnauthorizedError(Refused):
    """One answer to every token that does not count, whatever is wrong with it."""

    code = "unauthorized"
    http_status = 401

    def __init__(self) -> None:
        super().__init__(
            "This needs a token that counts: one of a developer, or the one "
            "that is in the file 'token' of HOLDFAST_HOME, as Authorization: Bearer TOKEN. "
            "A browser gets in by the link that the server prints when it starts, or at /login."
        )


class TokenOfMachineError(Refused):
    code = "token_of_machine"

    def __init__(self) -> None:
        super().__init__(
            "The token of this call is the file 'token' of the server's data folder. It ends when "
            "the file is removed."
        )


class ForeignRequestError(Refused):
    """A page or a name that is not ours sent it, perhaps in a person's browser."""

    code = "foreign_request"
    http_status = 403

    def __init__(self, header: str, value: object, problem: str):
        self.header, self.value = header, value
        found = f"{header} {shown(value)} {problem}."
        super().__init__(f"{found} Use the address that the server prints when it starts.")


class NetworkRefusedError(Refused):
    code = "network_refused"

    def __init__(self, host: str):
        self.host = host
        super().__init__(
            f"Host {shown(host)} can be reached from other machines, and a store in a file is for "
            "one person. Serve it on 127.0.0.1, or set HOLDFAST_DATABASE to a PostgreSQL URL."
        )


class WrongMediaTypeError(Invalid):
    code = "wrong_media_type"
    http_status = 415

    def __init__(self, found: object):
        self.found = found
        super().__init__(
            f"Content-Type {shown(found)} is not taken here. Send JSON as application/json."
        )


class TooLargeError(Invalid):
    code = "too_large"
    http_status = 413

    def __init__(self, max_bytes: int):
        self.max_bytes = max_bytes
        super().__init__(
            f"The body has more than {max_bytes:,} bytes. Nothing was written. Send it in parts."
        )


class TooSlowError(Invalid):
    code = "too_slow"
    http_status = 408

    def __init__(self, seconds: float):
        self.seconds = seconds
        problem = f"The body was not complete after {seconds:g} seconds."
        super().__init__(f"{problem} Nothing was written. Send it again.")


class TooManyError(Unavailable):
    code = "too_many"
    http_status = 429

    def __init__(self, what: str, limit: int, advice: str):
        self.what, self.limit = what, limit
        super().__init__(f"There are more than {limit} {what}. {advice}")


class EventsDroppedError(Unavailable):
    code = "events_dropped"

    def __init__(self, dropped: int, last_at: str | None):
        self.dropped, self.last_at = dropped, last_at
        events = plural(dropped, "event")
        moment = last_at or "an unknown time"
        super().__init__(
            f"{events} of hooks could not be kept, the last at {moment}: no disk took them."
        )


class EventsLostError(Unavailable):
    code = "events_lost"

    def __init__(self, lost: int):
        self.lost = lost
        events = plural(lost, "accepted event")
        super().__init__(
            f"{events} cannot be found. Keep the files as they are.",
            next_actions=[Action("session.verify")],
        )
