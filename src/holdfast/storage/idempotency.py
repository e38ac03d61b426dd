"""Keys of requests that may come twice.

The answer to a request can be lost after its effect was stored, and the caller sends it again. The
key names the request, its hash tells whether it is really the same one, and the subject says what
it was about, so that the answer to the repeated request is read anew. Keys never expire: an expired
key would do the work a second time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.errors import InvalidValueError, KeyReusedError
from holdfast.ground import canonical
from holdfast.storage.queries import STORAGE as QUERIES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.ground.settings import Owner
    from holdfast.storage.database import Database

KEY_BYTES = 200
REQUEST_BYTES = 16 << 20


class RequestKeys:
    """The keys that one developer has used, by operation."""

    def __init__(self, database: Database, owner: Owner):
        self.database = database
        self.owner = owner.workspace_id, owner.developer_id

    async def find_subject(self, operation: str, key: str, digest: bytes) -> str | None:
        """What the request with this key was about, or None; another request's key is refused."""
        rows = await self.database.read(QUERIES["find_key"], *self.owner, operation, key)
        if not rows:
            return None
        [(known_digest, subject)] = rows
        if bytes(known_digest) != digest:
            raise KeyReusedError(key)
        found: str = subject
        return found

    async def keep(self, operation: str, key: str, digest: bytes, subject: str) -> None:
        """Raises IdTakenError when another caller kept the same key first."""
        await self.database.write(QUERIES["keep_key"], *self.owner, operation, key, digest, subject)


def hash_request(arguments: Mapping[str, Any]) -> bytes:
    text = canonical.canonical_object("request", dict(arguments), max_bytes=REQUEST_BYTES)
    return canonical.sha256(text.encode())


def check_key(key: object) -> str:
    checked = canonical.check_text("idempotency key", key, max_bytes=KEY_BYTES)
    if not checked or not checked.isascii() or not checked.isprintable():
        problem = "is not a line of printable ASCII characters"
        raise InvalidValueError("idempotency key", checked, problem)
    return checked
