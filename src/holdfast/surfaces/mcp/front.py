"""`holdfast mcp` until its first call: answers the handshake and the lists from a file.

A client starts a server for every session, some for every subagent, and most of these are asked
what there is and nothing else. Loading the SDK for that costs fifty times the start of Python and
most of the memory. So these first requests are answered here, with the bytes that the SDK would
send: `make docs` records them in `answers.txt`. The first line that is not certain to be answered
so is left to the SDK, right or wrong, with everything after it. It is loaded then, told what was
said before, and reads and writes the same pipes.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from io import BufferedIOBase
    from typing import Any, NoReturn

    Frame = dict[str, Any]

ANSWERS = os.path.join(os.path.dirname(__file__), "answers.txt")
SDK = "sdk"  # the name under which its release is recorded
HANDSHAKE = "handshake"
STATELESS = "stateless"
TEAM = "team "  # before the name of an answer that differs where the team exchange is on

LINE_BYTES = 64 << 10
MOST_BRACKETS = 100  # the SDK refuses what is nested more deeply than 200
MOST_DIGITS = 15
WRITE_MILLISECONDS = 1000

FRAME_KEYS = {"jsonrpc", "id", "method", "params"}
INTRODUCTION_KEYS = {"protocolVersion", "capabilities", "clientInfo"}
CLIENT_KEYS = {"name", "title", "version", "description", "websiteUrl"}
CAPABILITY_KEYS = {"roots", "elicitation", "sampling", "experimental", "extensions"}
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
STATELESS_VERSION = "2026-07-28"
# Nothing is running that they could be about: every request has been answered before they are read.
IDLE_NOTIFICATIONS = ("notifications/cancelled", "notifications/roots/list_changed")


class Handover:
    """What the SDK takes over: the pipes, what it has to know, and what is half done."""

    def __init__(
        self,
        wire_in: BufferedIOBase,
        wire_out: BufferedIOBase,
        *,
        folder: str | None = None,
        answered: Sequence[bytes] = (),
    ):
        self.wire_in = wire_in
        self.wire_out = wire_out
        self.folder = folder
        self.answered = answered  # lines that decide how the next ones are understood
        self.begun = b""  # a line, or the beginning of one
        self.unsent = b""  # the rest of an answer


def main() -> NoReturn:
    """Serve until the client leaves, then exit at once: a thread may still wait for input."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    answers = load_answers()
    if not answers:
        from holdfast.surfaces.mcp import stdio  # the caller reports it if the extra is missing
    try:
        handover = answer_first_requests(*_take_pipes(), answers)
        if handover is not None:
            from holdfast.surfaces.mcp import stdio

            stdio.run(handover)
    except KeyboardInterrupt:
        pass
    except BaseException as error:
        _exit_after(error)
    os._exit(0)


def answer_first_requests(
    wire_in: BufferedIOBase, wire_out: BufferedIOBase, answers: dict[str, bytes]
) -> Handover | None:
    """What is left to the SDK; None if the input ended before it was needed."""
    front = Front(answers)
    handover = Handover(wire_in, wire_out, folder=_find_folder(), answered=front.answered)
    while line := wire_in.readline(LINE_BYTES):
        answer = front.answer(line)
        if answer is None:
            handover.begun = line
            return handover
        handover.unsent = _write_without_waiting(wire_out.fileno(), answer)
        if handover.unsent:
            return handover
    return None


class Front:
    """One connection, as far as it can be answered from the file."""

    def __init__(self, answers: dict[str, bytes]):
        self.answers = answers
        self.era = ""  # the first request decides
        self.answered: list[bytes] = []

    def answer(self, line: bytes) -> bytes | None:
        """The answer, empty for a notification; None if this line is the SDK's."""
        frame = parse_frame(line)
        if frame is None:
            return None
        if "id" not in frame:
            return self._accept_notification(line, frame)
        era = self.era or _choose_era(frame)
        known = self._find_answer(f"{era} {name_request(era, frame)}")
        is_second_handshake = self.era == HANDSHAKE and frame["method"] == "initialize"
        if known is None or is_second_handshake:
            return None
        if not self.era:
            self.era = era
            self.answered.append(line)
        request_id = json.dumps(frame["id"], ensure_ascii=False).encode()
        return b'{"jsonrpc":"2.0","id":%s,%s' % (request_id, known)

    def _find_answer(self, name: str) -> bytes | None:
        """Looked up for each request: the exchange may be switched on while this server runs."""
        with_team = self.answers.get(TEAM + name)
        if with_team is None:
            return self.answers.get(name)
        from holdfast.surfaces.mcp.exchange_look import look_for_exchange

        is_on = look_for_exchange()
        if is_on is None:
            return None
        return with_team if is_on else self.answers.get(name)

    def _accept_notification(self, line: bytes, frame: Frame) -> bytes | None:
        if not self.era:
            return None
        method = frame["method"]
        if method in IDLE_NOTIFICATIONS:
            return b""
        is_plain = self.era == HANDSHAKE and not frame.get("params")
        is_first = len(self.answered) == 1
        if method == "notifications/initialized" and is_plain and is_first:
            self.answered.append(line)
            return b""
        return None


# --- which requests are plain ---------------------------------------------------------------------


def parse_frame(line: bytes) -> Frame | None:
    """A message that every parser reads alike: no escapes, no fractions, nothing twice."""
    is_simple = line.endswith(b"\n") and line.isascii() and b"\\" not in line
    if not is_simple or line.count(b"{") + line.count(b"[") > MOST_BRACKETS:
        return None
    try:
        frame = json.loads(
            line.decode(),
            parse_int=_parse_short_number,
            parse_float=_refuse_number,
            parse_constant=_refuse_number,
            object_pairs_hook=_make_object,
        )
    except ValueError:
        return None
    return frame if _is_message(frame) else None


def _is_message(frame: object) -> bool:
    return (
        isinstance(frame, dict)
        and frame.keys() <= FRAME_KEYS
        and frame.get("jsonrpc") == "2.0"
        and isinstance(frame.get("method"), str)
        and isinstance(frame.get("params", {}), dict)
        and type(frame.get("id", 0)) in (int, str)
    )


def _parse_short_number(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(digits)
    return int(digits)


def _refuse_number(number: str) -> NoReturn:
    raise ValueError(number)


def _make_object(pairs: list[tuple[str, Any]]) -> Frame:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key is given twice")
    return made


def _choose_era(frame: Frame) -> str:
    return HANDSHAKE if frame["method"] == "initialize" else STATELESS


def name_request(era: str, frame: Frame) -> str | None:
    """Its name in the file; None for a request with anything unusual in it."""
    method = frame["method"]
    params = frame.get("params", {})
    if method == "initialize":
        if is_introduction(params):
            return f"initialize {params['protocolVersion']}"
    elif era == HANDSHAKE and (not params or is_meta_only(params, set())):
        return str(method)
    elif era == STATELESS and is_meta_only(params, {VERSION_KEY, CLIENT_KEY, CAPABILITIES_KEY}):
        return str(method) if is_envelope(params["_meta"]) else None
    return None


def is_meta_only(params: Frame, keys: set[str]) -> bool:
    """Nothing but `_meta`, with a progress token or these keys and no others."""
    if params.keys() != {"_meta"} or not isinstance(params["_meta"], dict):
        return False
    meta = params["_meta"]
    has_token = type(meta.get("progressToken", 0)) in (int, str)
    return has_token and meta.keys() - {"progressToken"} <= keys


def is_introduction(params: Frame) -> bool:
    return (
        params.keys() == INTRODUCTION_KEYS
        and isinstance(params["protocolVersion"], str)
        and is_client(params["clientInfo"])
        and has_known_capabilities(params["capabilities"])
    )


def is_envelope(meta: Frame) -> bool:
    """What a stateless request says about its sender; the client may leave out its name."""
    return (
        meta.get(VERSION_KEY) == STATELESS_VERSION
        and (CLIENT_KEY not in meta or is_client(meta[CLIENT_KEY]))
        and has_known_capabilities(meta.get(CAPABILITIES_KEY))
    )


def is_client(client: object) -> bool:
    if not isinstance(client, dict) or not {"name", "version"} <= client.keys() <= CLIENT_KEYS:
        return False
    return all(isinstance(value, str) for value in client.values())


def has_known_capabilities(capabilities: object) -> bool:
    if not isinstance(capabilities, dict) or not capabilities.keys() <= CAPABILITY_KEYS:
        return False
    others = {name: value for name, value in capabilities.items() if name != "roots"}
    roots = capabilities.get("roots", {})
    return has_known_roots(roots) and all(is_object_of_objects(value) for value in others.values())


def has_known_roots(roots: object) -> bool:
    if not isinstance(roots, dict) or not roots.keys() <= {"listChanged"}:
        return False
    return isinstance(roots.get("listChanged", False), bool)


def is_object_of_objects(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(inner, dict) for inner in value.values())


# --- the file -------------------------------------------------------------------------------------


def load_answers() -> dict[str, bytes]:
    """By era and request; none if they were recorded with another release of the SDK."""
    answers = {}
    try:
        with open(ANSWERS, "rb") as file:
            for line in file:
                name, _, answer = line.partition(b"\t")
                answers[name.decode()] = answer
    except OSError:
        return {}
    release = answers.pop(SDK, b"").decode().strip()
    return answers if _has_sdk(release) else {}


def _has_sdk(release: str) -> bool:
    """Read from the names of folders: asking Python for a version takes longer than starting it.

    A release for fixes only (2.3.1 after 2.3.0) counts as the same.
    """
    for folder in sys.path:
        if folder.endswith("-packages") and os.path.isdir(folder):
            names = [name for name in os.listdir(folder) if name.endswith(".dist-info")]
            found = [name for name in names if name.startswith("mcp-")]
            if found:
                return all(name.startswith(f"mcp-{release}.") for name in found)
    return False


# --- the process ----------------------------------------------------------------------------------


def _write_without_waiting(wire_out: int, answer: bytes) -> bytes:
    """Write as much as the client takes, and return the rest.

    A client may write all of its requests before it reads an answer. To wait for it here would be
    to wait for ever; the SDK reads on while it writes.
    """
    poll = select.poll()
    poll.register(wire_out, select.POLLOUT)
    try:
        while answer and poll.poll(WRITE_MILLISECONDS):
            written = os.write(wire_out, answer[: select.PIPE_BUF])
            answer = answer[written:]
    except BlockingIOError:
        return answer
    except OSError:  # a client that has gone reads nothing; the end of its input follows
        return b""
    return answer


def _take_pipes() -> tuple[BufferedIOBase, BufferedIOBase]:
    """Stdin becomes empty and stdout goes to stderr, for all code but this door."""
    wire_in = os.dup(0)
    wire_out = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return os.fdopen(wire_in, "rb"), os.fdopen(wire_out, "wb")


def _find_folder() -> str | None:
    try:
        return os.getcwd()
    except FileNotFoundError:  # removed under us; a session is still found by its id
        return None


def _exit_after(error: BaseException) -> NoReturn:
    try:
        print(f"holdfast mcp: ended by {type(error).__name__}", file=sys.stderr, flush=True)
    finally:
        os._exit(1)


def _leave(number: int, frame: object) -> NoReturn:
    os._exit(0)
