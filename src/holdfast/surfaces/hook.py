"""`holdfast hook CLIENT EVENT`: what a client calls while a person waits.

It appends one event, or spools it when the store is busy or down, and never speaks, never fails, never waits
long. So it imports little, reads no more than is there, and swallows every error after having counted it.
"""

from __future__ import annotations

import json
import os
import select

from holdfast import lifecycle
from holdfast.app import App
from holdfast.clients import find_client
from holdfast.errors import HoldfastError, Unavailable
from holdfast.ground.settings import load_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from holdfast.clients.contract import HookEvent

PAYLOAD_BYTES = 16 << 20
SILENCE_SECONDS = 2.0
DRAIN_LIMIT = 100
PATIENCE_SECONDS = 2.0


def main(arguments: Sequence[str]) -> int:
    """Always 0: whatever goes wrong here, the agent goes on."""
    try:
        if len(arguments) == 2 and (client := find_client(arguments[0])):
            payload = read_payload(0)
            if payload is not None and (event := client.parse(arguments[1], payload)):
                keep(event)
    except Exception as error:
        _note(error)
    return 0


def read_payload(descriptor: int) -> dict[str, Any] | None:
    """One JSON object; some clients never close the pipe, so it ends where the object ends."""
    if os.isatty(descriptor):
        return None
    data = b""
    while len(data) <= PAYLOAD_BYTES and select.select([descriptor], [], [], SILENCE_SECONDS)[0]:
        chunk = os.read(descriptor, 1 << 16)
        data += chunk
        if not chunk or data.rstrip().endswith(b"}"):
            try:
                payload = json.loads(data)
            except (ValueError, RecursionError):
                if not chunk:
                    return None
                continue
            return payload if isinstance(payload, dict) else None
    return None


def keep(event: HookEvent) -> None:
    """Store it, or spool it behind what is waiting already, so that the order holds."""
    settings = load_settings()
    record = lifecycle.as_record(event, settings)
    with App(settings, patience_seconds=PATIENCE_SECONDS) as app:
        try:
            if _spool_is_free(app):
                app.run(lifecycle.store_record(app.database, settings.owner, record))
            else:
                app.spool.add(record)
        except Unavailable:
            app.spool.add(record)
        except HoldfastError as error:
            app.spool.reject(record, error)


def _spool_is_free(app: App) -> bool:
    """The usual case is one look at the disk; the spool's code is loaded only when something waits."""
    if not os.path.exists(os.path.join(app.settings.home, "spool")):
        return True
    app.drain_spool(DRAIN_LIMIT)
    return app.spool.is_empty()


def _note(error: Exception) -> None:
    """A code in the log, never a word of what the agent said."""
    try:
        from holdfast.ground.log import Log

        Log(load_settings().home)("hook_failed", error=type(error).__name__, code=getattr(error, "code", "bug"))
    except Exception:
        return
