"""What hooks write into the log: failures, by a code, and hooks that are unknown here.

A hook says nothing to the agent about them; a person asks `status` and `doctor`.
"""

from __future__ import annotations

from holdfast.errors import HoldfastError, InvalidValueError
from holdfast.ground import light_json as json
from holdfast.ground.settings import load_known_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

FAILED, IGNORED = "hook_failed", "hook_ignored"
FAILURE_FACTS = ("at", "client", "error", "code", "field")


def log_failure(error: BaseException, client: str | None) -> None:
    """A code in the log, never a word of what the agent wrote."""
    try:
        from holdfast.ground.log import Log

        settings, _ = load_known_settings()
        log = Log(settings.home)
        log(
            FAILED,
            client=client,
            error=type(error).__name__,
            code=getattr(error, "code", "bug"),
            field=getattr(error, "field", None),  # of a wrong setting its name, never its value
        )
    except Exception:
        return


def find_last_failure(home: str) -> dict[str, str | None] | None:
    """What the newest failed hook has logged, for a person who wonders why nothing arrives."""
    return next(map(_describe_failure, _read_log(home, FAILED)), None)


def list_ignored(home: str) -> list[tuple[str, str]]:
    """The client and the name of each hook that is unknown here, each once."""
    found = {
        (str(logged.get("client")), str(logged.get("hook"))) for logged in _read_log(home, IGNORED)
    }
    return sorted(found)


def _read_log(home: str, event: str) -> Iterator[dict[str, Any]]:
    """Newest first."""
    from holdfast.ground import files
    from holdfast.ground.log import MAX_BYTES, Log

    newest = Log(home).path
    for path in (newest, f"{newest}.1"):
        try:
            data = files.find_bytes(path, max_bytes=2 * MAX_BYTES) or b""
        except HoldfastError:  # something else is in its place
            continue
        for line in reversed(data.splitlines()):
            try:
                logged = json.loads(line)
            except (ValueError, RecursionError):  # a line that was cut
                continue
            if isinstance(logged, dict) and logged.get("event") == event:
                yield logged


def log_ignored(client: str, event_name: str) -> None:
    """Once: a client may have new hooks, and one that is wired may fire with every step."""
    try:
        from holdfast.ground.log import Log

        settings, _ = load_known_settings()
        if (client, event_name) not in list_ignored(settings.home):
            Log(settings.home)(IGNORED, client=client, hook=event_name)
    except (OSError, InvalidValueError):  # no data folder, or one that cannot be written
        return


def _describe_failure(logged: dict[str, Any]) -> dict[str, str | None]:
    facts: dict[str, str | None] = dict.fromkeys(FAILURE_FACTS)
    for fact in FAILURE_FACTS:
        if fact in logged:
            facts[fact] = str(logged[fact])
    return facts


def silence() -> None:
    """Every command warns of a role with too many rights; here an agent might misread that."""
    import logging
    import warnings

    warnings.simplefilter("ignore")
    # Without a handler, the messages of the library go to stderr.
    logging.getLogger().addHandler(logging.NullHandler())
