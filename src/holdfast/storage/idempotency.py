"""Requests that may come twice.

Whoever lost an answer asks again with the same key. The key is kept in the transaction of the effect, so that there
is never one without the other; what the request was about is named there, and the answer is read anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.errors import InvalidValueError, KeyReusedError
from holdfast.ground import canonical
from holdfast.storage.errors import IdTakenError
from holdfast.storage.in_transaction import InTransaction
from holdfast.storage.queries import STORAGE as QUERIES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from holdfast.ground.settings import Owner
    from holdfast.storage.database import Database, Transaction

KEY_BYTES = 200
REQUEST_BYTES = 16 << 20
ATTEMPTS = 3  # of two who bring one key at once, the second finds it when it tries again


class Idempotency:
    """Does a request once for each key of one developer."""

    def __init__(self, database: Database, owner: Owner):
        self.database = database
        self.owner = owner.workspace_id, owner.developer_id

    async def do_once(
        self,
        operation: str,
        key: str,
        request: Mapping[str, Any],
        effect: Callable[[Database], Awaitable[str]],
    ) -> tuple[str, bool]:
        """What the request is about, and whether this was the first time; `effect` answers with its subject."""
        checked = check_key(key)
        text = canonical.canonical_object("request", dict(request), max_bytes=REQUEST_BYTES)
        digest = canonical.sha256(text.encode())

        async def work(tx: Transaction) -> tuple[str, bool]:
            if known := await tx.run(QUERIES["find_key"], *self.owner, operation, checked):
                [(known_digest, subject)] = known
                if bytes(known_digest) != digest:
                    raise KeyReusedError(checked)
                return subject, False
            subject = await effect(InTransaction(self.database.engine, tx))
            await tx.run(QUERIES["keep_key"], *self.owner, operation, checked, digest, subject)
            return subject, True

        for _ in range(ATTEMPTS - 1):
            try:
                return await self.database.transaction(work)
            except IdTakenError:
                continue
        return await self.database.transaction(work)


def check_key(key: object) -> str:
    checked = canonical.check_text("idempotency key", key, max_bytes=KEY_BYTES)
    if not checked or not checked.isascii() or not checked.isprintable():
        raise InvalidValueError("idempotency key", checked, "is not a line of printable ASCII characters")
    return checked
