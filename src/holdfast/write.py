"""The write path: every change that a door makes goes through `write`.

A door parses a request, gives a verb, and formats what comes back. Only here is it known that a
request may come twice, that it may depend on what the caller has seen, and that a transaction may
have to be run again. A verb takes a scope and returns a value; it can be run again after a
rollback, so it keeps nothing outside of its result.

A transaction is opened where one is needed: for a key, for a condition, or where the caller asks
for it because several verbs belong together. Any other verb runs on the plain database: one round
trip, and its commit is grouped with those of others.

An effect on files is not part of the store's transaction. There the key is kept after the effect,
so the verb must be repeatable: a request that is sent again after a crash between the two finds its
own entry.

A call of the team exchange is also counted (`usage`): in the transaction of its effect; a refused
one, which is rolled back, in a transaction of its own. A read has no effect, so it is counted after
it, and is answered even where the store takes no write.

Two callers may use one key at the same moment. The one that comes second may be refused, because it
meets the effect of the first: then it is answered with the result of the first.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar, runtime_checkable

from holdfast.errors import Conflict, HoldfastError, NotFound, Unavailable
from holdfast.ground.frozen import dataclass, field
from holdfast.ground.off_loop import off_loop
from holdfast.scope import Scope
from holdfast.storage.errors import IdTakenError
from holdfast.storage.idempotency import check_key, hash_request
from holdfast.storage.in_transaction import InTransaction, in_transaction

if TYPE_CHECKING:
    from holdfast.storage.database import Database, Transaction
    from holdfast.team.remote import RemoteTeam

ATTEMPTS = 3  # of two callers with one key, the second finds it when it tries again
# How long a refused caller waits for the key of another one whose files are written already. One
# transaction lies between the two, about 2 ms; every refused request with a key pays for the wait.
KEY_SECONDS = 0.1
LOOK_SECONDS = 0.02
COUNT_SECONDS = 1.0  # how long a read waits until it is counted
DONE, REPEATED = "ok", "repeated"


R = TypeVar("R")
Verb = Callable[[Scope], Awaitable[R]]
Effect = Literal["store", "files"]


@dataclass(frozen=True)
class Request(Generic[R]):
    """What a caller asks for.

    `operation` and `target` say what a key belongs to, `arguments` what makes two requests the
    same. `condition` raises where the state is not what the caller has seen. `read_again` answers a
    request that was done before.
    """

    operation: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    key: str | None = None
    target: str = ""
    condition: Callable[[Scope], Awaitable[None]] | None = None
    read_again: Callable[[Scope, str], Awaitable[R]] | None = None
    is_whole: bool = False  # several verbs, all or none
    effect: Effect = "store"
    usage: str = ""  # the name under which the team exchange counts this call


@dataclass(frozen=True)
class Done(Generic[R]):
    """The result, and whether this request was the first with its key."""

    result: R
    is_first: bool = True


async def write(scope: Scope, request: Request[R], verb: Verb[R]) -> Done[R]:
    """Do what is asked for, once for each key."""
    if not request.usage:
        return await _write(scope, request, verb)
    remote = scope.remote_team
    if remote is not None:
        return await _write_there(scope, request, verb, remote)

    async def counted_verb(inside: Scope) -> R:
        # First, so that two calls of one developer lock the same rows in the same order.
        await inside.own_team.note_usage(request.usage, DONE)
        return await verb(inside)

    in_one_transaction = Request(**{**request.__dict__, "is_whole": True})
    try:
        done = await _write(scope, in_one_transaction, counted_verb)
    except HoldfastError as error:
        await count_call(scope, request.usage, error.code)
        raise
    if not done.is_first:
        await count_call(scope, request.usage, REPEATED)
    return done


async def _write_there(
    scope: Scope, request: Request[R], verb: Verb[R], remote: RemoteTeam
) -> Done[R]:
    """At a server that keeps the key, counts the call, and has the transaction of the effect."""
    keyed = remote.with_key(request.key)
    there = Scope(scope.database, scope.owner, scope.mask, lambda: keyed)
    result = await verb(there)
    return Done(result, is_first=not keyed.was_repeated)


async def read(scope: Scope, usage: str, verb: Verb[R]) -> R:
    """A read of the team exchange, which is counted too: at a server by the server itself."""
    if scope.remote_team is not None:
        return await verb(scope)
    try:
        result = await verb(scope)
    except HoldfastError as error:
        await count_call(scope, usage, error.code)
        raise
    await count_call(scope, usage, DONE)
    return result


async def count_call(scope: Scope, usage: str, outcome: str) -> None:
    """A call without an effect of its own; the answer to it does not wait for a busy store.

    What is refused before a server is asked is counted nowhere: the server does not hear of it.
    """
    if scope.has_team_elsewhere:
        return

    async def work(tx: Transaction) -> None:
        inside = InTransaction(scope.database.engine, tx)
        await scope.on(inside).own_team.note_usage(usage, outcome)

    with suppress(Unavailable):
        await scope.database.try_transaction(work, COUNT_SECONDS)


async def _write(scope: Scope, request: Request[R], verb: Verb[R]) -> Done[R]:
    if request.key is not None:
        return await _write_once(scope, request, verb)
    if request.condition is None and not request.is_whole:
        return Done(await verb(scope))

    async def work(database: Database) -> R:
        return await _check_and_run(scope.on(database), request, verb)

    return Done(await in_transaction(scope.database, work))


async def _check_and_run(scope: Scope, request: Request[R], verb: Verb[R]) -> R:
    if request.condition is not None:
        await request.condition(scope)
    return await verb(scope)


# --- requests with a key --------------------------------------------------------------------------


@runtime_checkable
class HasSubject(Protocol):
    """What a verb returns that takes a key: a result with a name by which it can be read again."""

    @property
    def subject(self) -> str: ...


@dataclass(frozen=True)
class _Key:
    operation: str
    key: str
    digest: bytes

    async def find_subject(self, scope: Scope) -> str | None:
        return await scope.request_keys.find_subject(self.operation, self.key, self.digest)

    async def keep(self, scope: Scope, result: object) -> None:
        assert isinstance(result, HasSubject), f"{self.operation} takes a key and names no subject"
        await scope.request_keys.keep(self.operation, self.key, self.digest, result.subject)


async def _write_once(scope: Scope, request: Request[R], verb: Verb[R]) -> Done[R]:
    operation = f"{request.operation} {request.target}".strip()
    checked = check_key(request.key)
    key = _Key(operation, checked, digest=hash_request(request.arguments))
    try:
        return await _attempt(scope, request, key, verb)
    except (Conflict, NotFound):
        known = await _find_other_result(scope, request, key)
        if known is None:
            raise
    return await _repeat(scope, request, known)


async def _attempt(scope: Scope, request: Request[R], key: _Key, verb: Verb[R]) -> Done[R]:
    attempt = _attempt_in_store if request.effect == "store" else _attempt_in_files
    for _ in range(ATTEMPTS - 1):
        with suppress(IdTakenError):
            return await attempt(scope, request, key, verb)
    return await attempt(scope, request, key, verb)


async def _find_other_result(scope: Scope, request: Request[R], key: _Key) -> str | None:
    """What another caller with this key did meanwhile; in files before its key was kept."""
    known = await key.find_subject(scope)
    if request.effect == "store":
        return known
    for _ in range(round(KEY_SECONDS / LOOK_SECONDS)):
        if known is not None:
            break
        await off_loop(time.sleep, LOOK_SECONDS)
        known = await key.find_subject(scope)
    return known


async def _attempt_in_store(scope: Scope, request: Request[R], key: _Key, verb: Verb[R]) -> Done[R]:
    """The key is kept in the transaction of the effect, so there is never one without the other."""

    async def work(database: Database) -> R | str:
        inside = scope.on(database)
        known = await key.find_subject(inside)
        if known is not None:
            return known
        result = await _check_and_run(inside, request, verb)
        await key.keep(inside, result)
        return result

    outcome = await in_transaction(scope.database, work)
    if isinstance(outcome, str):
        return await _repeat(scope, request, outcome)
    return Done(outcome)


async def _attempt_in_files(scope: Scope, request: Request[R], key: _Key, verb: Verb[R]) -> Done[R]:
    known = await key.find_subject(scope)
    if known is not None:
        return await _repeat(scope, request, known)
    result = await _check_and_run(scope, request, verb)

    async def keep(database: Database) -> str | None:
        """The result of another caller with the same key; None where this caller is the first."""
        inside = scope.on(database)
        subject = await key.find_subject(inside)
        if subject is None:
            await key.keep(inside, result)
        return subject

    known = await in_transaction(scope.database, keep)
    if known is None:
        return Done(result)
    return await _repeat(scope, request, known)


async def _repeat(scope: Scope, request: Request[R], subject: str) -> Done[R]:
    assert request.read_again is not None, (
        f"{request.operation} takes a key and cannot be read again"
    )
    return Done(await request.read_again(scope, subject), is_first=False)
