"""`holdfast mcp` from its first call on: one client, over the pipes that the front hands over.

Stdout carries JSON-RPC and nothing else, so the pipe is hidden from all code that might print. A
line that is not a message is answered where JSON-RPC has an answer for it, and never ends the
server; only the end of the input does, or a signal. Requests that were read before the end are
answered first: what was accepted is not dropped.
"""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.shared.message import SessionMessage

from holdfast.ground import process_tree
from holdfast.surfaces.mcp.server import ServerProcess, make_server

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from holdfast.app import App
    from holdfast.surfaces.mcp.front import Handover

LINE_BYTES = 32 << 20  # the largest content there may be, all of it escaped, fits
PIECE_BYTES = 1 << 20
TOO_LONG = f"A line is longer than {LINE_BYTES:,} bytes"
LAST_ANSWERS_SECONDS = 20.0
CLOSING_SECONDS = 10.0
WAITING = "team-outbox"  # in the data folder: there once something has waited for a server


def run(handover: Handover) -> None:
    _silence_libraries()
    anyio.run(serve, handover)


async def serve(handover: Handover) -> None:
    process = ServerProcess(process_tree.find_own_process(), process_tree.list_ancestors())
    store = Store(process)
    server = make_server(
        store.app_for,
        environment=os.environ,
        folder=handover.folder,
        process=process,
        exists=os.path.exists,
        is_exchange_on=store.is_exchange_on,
    )
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    wire = Wire(handover)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_stop_on_signal, tasks.cancel_scope)
            tasks.start_soon(wire.finish_answer)  # before any other is begun
            tasks.start_soon(wire.read, to_server)
            tasks.start_soon(wire.write, from_server)
            tasks.start_soon(_send_waiting)
            await server.run(from_client, to_client, server.create_initialization_options())
            tasks.cancel_scope.cancel()
    finally:
        with anyio.move_on_after(CLOSING_SECONDS, shield=True):
            await store.close()


class Store:
    """Opened by the first call that needs it; after a failure the next call tries again."""

    def __init__(self, process: ServerProcess) -> None:
        self.process = process
        self._app: App | None = None
        self._opening = anyio.Lock()

    async def app_for(self, request: object) -> App:
        from holdfast.errors import HoldfastError

        async with self._opening:
            if self._app is None:
                from holdfast.app import App

                self._app = await App(is_for_agent=True).__aenter__()
        # Spooled events of hooks can wait: this call does not depend on them.
        with suppress(HoldfastError, OSError):
            await self._app.drain()
        return self._app

    async def is_exchange_on(self, request: object) -> bool:
        """Without opening the store for it, where that is possible.

        Once it is open it is asked itself: who closes a file loses the locks of its process on it.
        """
        from holdfast.errors import HoldfastError
        from holdfast.surfaces.mcp.exchange_look import look_for_exchange

        async with self._opening:
            found = look_for_exchange() if self._app is None else None
        if found is not None:
            return found
        from holdfast.usecases.exchange import is_exchange_on

        try:
            return await is_exchange_on(await self.app_for(request))
        except (HoldfastError, OSError):
            return False

    async def close(self) -> None:
        """What this server has opened ends with it; what hooks have opened does not."""
        if self._app is None:
            return
        from holdfast.errors import HoldfastError

        for session_id in self.process.opened:
            with suppress(HoldfastError):  # then it is idle from now on
                await self._app.scope.sessions.end_session(session_id)
        await self._app.__aexit__(None, None, None)


class Wire:
    """The two pipes as streams of messages."""

    def __init__(self, handover: Handover):
        self.handover = handover
        self.wire_in = handover.wire_in
        self.wire_out = handover.wire_out
        self._begun = handover.begun
        self._writing = anyio.Lock()
        self._repeated: anyio.Event | None = None  # while a request is repeated
        self._asked: list[types.RequestId] = []
        self._all_answered = anyio.Event()

    async def finish_answer(self) -> None:
        """What the front could not write because the client did not read."""
        if self.handover.unsent:
            await self._write(self.handover.unsent)

    async def read(self, to_server: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        async with to_server:
            for answered in self.handover.answered:
                await self._repeat(answered, to_server)
            while True:
                line = await anyio.to_thread.run_sync(self._read_line, abandon_on_cancel=True)
                if line == b"":
                    break
                if line is None:
                    await self._send(_make_error(None, types.INVALID_REQUEST, TOO_LONG))
                elif line.strip():
                    await self._handle_line(line, to_server)
            await self._wait_for_answers()

    async def write(self, from_server: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with from_server:
            async for sent in from_server:
                if self._repeated is None:
                    await self._send(sent.message)
                else:
                    self._repeated.set()

    async def _repeat(
        self, line: bytes, to_server: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        """Tell the server what the client said before; its answer has been sent already."""
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        if isinstance(message, types.JSONRPCRequest):
            self._repeated = anyio.Event()
        await to_server.send(SessionMessage(message))
        if self._repeated is not None:
            await self._repeated.wait()
            self._repeated = None

    async def _handle_line(
        self, line: bytes, to_server: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        try:
            message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except Exception:  # whatever is wrong with this line, the next may be right
            await self._send(_make_error_reply(line))
            return
        is_notification = isinstance(message, types.JSONRPCNotification)
        if is_notification and "id" in _parse_object(line):
            # A request with an invalid id: the SDK would accept it and never answer.
            await self._send(_make_error_reply(line))
            return
        self._track(message)
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await to_server.send(SessionMessage(message))

    def _track(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCRequest):
            self._asked.append(message.id)
        if not isinstance(message, types.JSONRPCNotification):
            return
        if message.method == "notifications/cancelled":
            params = message.params or {}
            self._mark_answered(params.get("requestId"))  # it never will be

    async def _send(self, message: types.JSONRPCMessage) -> None:
        await self._write(_format_line(message))
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            self._mark_answered(message.id)

    async def _write(self, text: bytes) -> None:
        async with self._writing:
            # A client that has gone reads nothing; the end of its input follows.
            with suppress(OSError, ValueError):
                await anyio.to_thread.run_sync(self._write_line, text, abandon_on_cancel=True)

    async def _wait_for_answers(self) -> None:
        if self._asked:
            self._all_answered = anyio.Event()
            with anyio.move_on_after(LAST_ANSWERS_SECONDS):
                await self._all_answered.wait()

    def _mark_answered(self, request_id: Any) -> None:
        if request_id in self._asked:
            self._asked.remove(request_id)
        if not self._asked:
            self._all_answered.set()

    def _read_line(self) -> bytes | None:
        """A line; None for one that is too long, of which nothing is kept; empty at the end."""
        line, self._begun = self._begun, b""
        if not line.endswith(b"\n"):
            line += self.wire_in.readline(LINE_BYTES - len(line))
        if len(line) < LINE_BYTES or line.endswith(b"\n"):
            return line
        while line and not line.endswith(b"\n"):
            line = self.wire_in.readline(PIECE_BYTES)
        return None

    def _write_line(self, text: bytes) -> None:
        self.wire_out.write(text)
        self.wire_out.flush()


async def _send_waiting() -> None:
    """What was made while the team's server could not be reached; no call waits for it."""
    await anyio.to_thread.run_sync(_send_what_waits, abandon_on_cancel=True)


def _send_what_waits() -> None:
    from holdfast.errors import HoldfastError
    from holdfast.ground.settings import load_settings

    with suppress(HoldfastError, OSError):
        settings = load_settings()
        if os.path.lexists(os.path.join(settings.home, WAITING)):
            from holdfast.usecases.exchange import send_waiting

            send_waiting(settings)


def _format_line(message: types.JSONRPCMessage) -> bytes:
    try:
        return _dump_line(message)
    except ValueError:  # something in it has no JSON, which the caller should know
        request_id = getattr(message, "id", None)
        problem = "The answer cannot be written as JSON"
        error = _make_error(request_id, types.INTERNAL_ERROR, problem)
        return _dump_line(error)


def _dump_line(message: types.JSONRPCMessage) -> bytes:
    text = message.model_dump_json(by_alias=True, exclude_unset=True)
    return text.encode() + b"\n"


def _parse_object(line: bytes) -> dict[str, Any]:
    try:
        frame = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return frame if isinstance(frame, dict) else {}


def _make_error_reply(line: bytes) -> types.JSONRPCError:
    """What JSON-RPC answers to something that is not a message, with its id where it has one."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return _make_error(None, types.PARSE_ERROR, "Parse error")
    known = _parse_object(line).get("id")
    request_id = known if _is_request_id(known) else None
    return _make_error(request_id, types.INVALID_REQUEST, "Invalid request")


def _is_request_id(known: object) -> bool:
    """Not half of a surrogate pair, nor a number beyond what other programs count to."""
    if isinstance(known, str):
        return known.isprintable()
    if isinstance(known, bool) or not isinstance(known, int):
        return False
    return abs(known) < 1 << 53


def _make_error(request_id: types.RequestId | None, code: int, message: str) -> types.JSONRPCError:
    error = types.ErrorData(code=code, message=message)
    return types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error)


async def _stop_on_signal(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            scope.cancel()


def _silence_libraries() -> None:
    """Libraries log and warn with what they were given, which does not belong on stderr."""
    import logging
    import warnings

    logging.getLogger().addHandler(logging.NullHandler())
    warnings.simplefilter("ignore")
