"""`holdfast hook CLIENT EVENT`: what a client calls while a person waits.

It appends one event, or spools it when the store is busy or down, and never speaks, never fails, never waits
long. So it imports little, reads no more than is there, and swallows every error after having counted it.
"""

from __future__ import annotations

import json
import os
import select
import time

from holdfast import lifecycle
from holdfast.app import App
from holdfast.clients import find_client
from holdfast.errors import HoldfastError, InvalidValueError
from holdfast.ground.settings import Settings, load_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from holdfast.clients.contract import HookEvent

PAYLOAD_BYTES = 16 << 20
SILENCE_SECONDS = 2.0
READ_SECONDS = 4.0  # however slowly it drips
WAIT_SECONDS = 1.0  # for the store; what takes longer is spooled
DRAIN_LIMIT = 100


def main(arguments: Sequence[str]) -> int:
    """Always 0: whatever goes wrong here, the agent goes on."""
    try:
        if len(arguments) != 2 or (client := find_client(arguments[0])) is None:
            raise InvalidValueError("hook", list(arguments), "is not wired to a client that is known")
        if (payload := read_payload(0)) is None:
            raise InvalidValueError("payload", "", "is not a JSON object")
        if event := client.parse(arguments[1], payload):
            keep(event)
    except BaseException as error:  # Ctrl-C as well: it was meant for the agent
        _note(error)
    return 0


def read_payload(descriptor: int) -> dict[str, Any] | None:
    """One JSON object; some clients never close the pipe, so it ends where the object ends."""
    if os.isatty(descriptor):
        return None
    data, size, deadline = bytearray(), 0, time.monotonic() + READ_SECONDS
    while _has_more(descriptor, min(SILENCE_SECONDS, deadline - time.monotonic())):
        chunk = os.read(descriptor, 1 << 16)
        size += len(chunk)
        if not chunk:
            break
        if size > PAYLOAD_BYTES:  # read on all the same: some clients do not survive a pipe that nobody empties
            data.clear()
            continue
        data += chunk
        if data[-64:].rstrip().endswith(b"}") and not _has_more(descriptor, 0) and (payload := _parsed(data)):
            return payload
    if size > PAYLOAD_BYTES:
        raise InvalidValueError("payload", size, f"is longer than {PAYLOAD_BYTES:,} bytes")
    return _parsed(data)


def keep(event: HookEvent) -> None:
    """Store it, or spool it behind what is waiting already, so that the order holds."""
    settings, has_store = _settings()
    record = lifecycle.as_record(event, settings)
    with App(settings, wait_seconds=WAIT_SECONDS) as app:
        try:
            if has_store and _spool_is_free(app):
                app.run(lifecycle.store_record(app.database, settings.owner, record))
            else:
                app.spool.add(record)
        except BaseException as error:
            app.spool.keep(record, error)
            if not isinstance(error, HoldfastError):
                raise  # a bug or a Ctrl-C: it is noted, and nothing was lost by it


def _has_more(descriptor: int, seconds: float) -> bool:
    return bool(select.select([descriptor], [], [], max(0.0, seconds))[0])


def _parsed(data: bytearray) -> dict[str, Any] | None:
    try:
        payload = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return payload if isinstance(payload, dict) else None


def _settings() -> tuple[Settings, bool]:
    """And whether they name a store: when its URL is mistyped, what is said meanwhile waits in the spool."""
    try:
        return load_settings(), True
    except InvalidValueError:
        return load_settings({**os.environ, "HOLDFAST_DATABASE": ""}), False


def _spool_is_free(app: App) -> bool:
    """The usual case is a look at the disk; the spool's code is loaded only when something waits."""
    folder = os.path.join(app.settings.home, "spool")
    if not any(os.path.exists(os.path.join(folder, name)) for name in ("pending.jsonl", "draining.jsonl")):
        return True
    app.drain_spool(DRAIN_LIMIT)
    return app.spool.is_empty()


def _note(error: BaseException) -> None:
    """A code in the log, never a word of what the agent said."""
    try:
        from holdfast.ground.log import Log

        Log(_settings()[0].home)("hook_failed", error=type(error).__name__, code=getattr(error, "code", "bug"))
    except Exception:
        return
