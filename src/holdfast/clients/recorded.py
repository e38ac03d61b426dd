"""Where clients keep their files, as `init` has found it.

A person may have moved one of them by a variable that no other program is started with. What was
put into its files is recorded with that variable, and hooks read the record: so this loads little.
"""

from __future__ import annotations

import os

from holdfast.errors import HoldfastError
from holdfast.ground import files
from holdfast.ground import light_json as json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RECORD = "installed.json"
RECORD_BYTES = 1 << 20


def list_environments(home: str, client: str) -> list[dict[str, str]]:
    """What has led to the files of a client, each once; none where the record cannot be read."""
    try:
        data = files.find_bytes(os.path.join(home, RECORD), max_bytes=RECORD_BYTES)
        recorded = json.loads(data or b"{}").get("files", {}).values()
        found = [_find_environment(entry) for entry in recorded if entry.get("client") == client]
    except (OSError, ValueError, AttributeError, RecursionError, HoldfastError):
        return []
    return [known for at, known in enumerate(found) if known not in found[:at]]


def _find_environment(entry: dict[str, Any]) -> dict[str, str]:
    given = entry.get("environment", {})
    return {name: value for name, value in given.items() if isinstance(value, str)}
