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
from holdfast.ground.settings import Settings, load_settings, sqlite_path

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
    settings, wrong = _settings()
    for error in wrong.values():
        _note(error)
    if sqlite_path(settings.database) is None:
        _silence()
    record = lifecycle.as_record(event, settings, wrong)
    with App(settings, wait_seconds=WAIT_SECONDS) as app:
        try:
            database = app.database if not wrong and _spool_is_free(app) else None
        except BaseException as error:
            app.spool.add(record)  # whatever is wrong with the store or with what waits, it is not this record
            _raise_unless_ours(error)
            return
        if database is None:
            app.spool.add(record)
            return
        try:
            app.run(lifecycle.store_record(database, settings.owner, record))
        except BaseException as error:
            app.spool.keep(record, error)
            _raise_unless_ours(error)


def _has_more(descriptor: int, seconds: float) -> bool:
    return bool(select.select([descriptor], [], [], max(0.0, seconds))[0])


def _parsed(data: bytearray) -> dict[str, Any] | None:
    try:
        payload = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return payload if isinstance(payload, dict) else None


def _raise_unless_ours(error: BaseException) -> None:
    """A bug or a Ctrl-C is noted; nothing was lost by it."""
    if not isinstance(error, HoldfastError):
        raise error


def _silence() -> None:
    """A role that is too strong is told by every command; here nobody reads it, and an agent might take it for more."""
    import logging
    import warnings

    warnings.simplefilter("ignore")
    logging.getLogger().addHandler(logging.NullHandler())  # without one, the library's own words go to stderr


def _settings() -> tuple[Settings, dict[str, InvalidValueError]]:
    """And which are wrong: what is said until they are mended waits in the spool."""
    environment, wrong = dict(os.environ), dict[str, InvalidValueError]()
    while True:
        try:
            return load_settings(environment), wrong
        except InvalidValueError as error:
            if not environment.get(error.field):
                raise  # not one that somebody has set
            wrong[error.field] = error
            environment[error.field] = ""


def _spool_is_free(app: App) -> bool:
    """The usual case is a look at the disk; the spool's code is loaded only when something waits."""
    try:
        names = os.listdir(os.path.join(app.settings.home, "spool"))
    except OSError:
        return True
    if not any(name.endswith(".jsonl") and name != "rejected.jsonl" for name in names):
        return True
    app.drain_spool(DRAIN_LIMIT)
    return app.spool.is_empty()


def _note(error: BaseException) -> None:
    """A code in the log, never a word of what the agent said."""
    try:
        from holdfast.ground.log import Log

        field = getattr(error, "field", None)  # the name of a setting that is wrong, never what it was set to
        log = Log(_settings()[0].home)
        log("hook_failed", error=type(error).__name__, code=getattr(error, "code", "bug"), field=field)
    except Exception:
        return
