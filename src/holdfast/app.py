"""The composition root: settings, then the store, then the services; only here are they made.

Nothing is opened before it is used, and what only some programs need is imported where it is made:
a hook, which an agent waits for, loads only what it needs to store its event.
"""

from __future__ import annotations

from holdfast import errors
from holdfast.ground.settings import Settings, hide_password, is_sqlite, load_settings
from holdfast.storage.database import drive
from holdfast.storage.mark import mark_store
from holdfast.storage.opening import open_database
from holdfast.storage.reserve import prepare_reserve
from holdfast.usecases import capture
from holdfast.usecases.location import locate_worktree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence
    from typing import Any, TypeVar

    from holdfast.bundles.round_service import RoundService
    from holdfast.bundles.service import BundleService
    from holdfast.ground.settings import Owner
    from holdfast.memories.model import MemoryMatch
    from holdfast.scope import Scope
    from holdfast.storage.accounting import Accounting
    from holdfast.storage.database import Database
    from holdfast.storage.spool import Spool
    from holdfast.team.remote import RemoteTeam
    from holdfast.usecases.client_memory import NoteMatch
    from holdfast.workstreams.model import JudgedContext
    from holdfast.workstreams.service import WorkstreamService

    T = TypeVar("T")


DRAIN_SECONDS = 1.0  # on PostgreSQL, where another transaction may hold a session

# Of the newest sessions, how many the accounts cover, and how many of their events are counted one
# by one.
SESSIONS_COUNTED = 1000
ROWS_COUNTED = 10_000


class App:
    """One program's access to one store. On SQLite it never needs an event loop.

    A command uses it as `with App() as app`, a server as `async with App() as app`, on its own
    loop. `wait_seconds` is for a program that others wait for: a store that needs longer counts as
    busy. `folder` is the checkout that a server was started for.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        wait_seconds: float | None = None,
        folder: str | None = None,
        serves_itself: bool = False,
        is_for_agent: bool = False,
    ):
        self.settings = settings or load_settings()
        # Of a server, which has the exchange of its own store, whatever its environment names.
        self.serves_itself = serves_itself
        # Whether an agent waits for each call, and not a person.
        self.is_for_agent = is_for_agent
        self._remote: RemoteTeam | None = None
        self.folder = folder
        self.wait_seconds = wait_seconds
        self._opening = open_database(self.settings.database, patience_seconds=wait_seconds)
        self._opening.leaves_log = wait_seconds is not None
        self._database: Database | None = None
        self._runner: Any = None
        self._is_late = False
        # Whether a thread may still wait for something that is not needed any more.
        self.left_behind = False
        self._spool: Spool | None = None
        # Whether it acts for the developer whose machine this is; a server acts for others too.
        self.is_at_home = True

    def acting_for(self, owner: Owner) -> App:
        """The same store and spool for a developer on another machine.

        Nothing of this machine is theirs: no working tree, no repositories, no clients. It is
        opened and closed with this one.
        """
        from copy import copy

        _ = self.spool  # made once, for all
        view = copy(self)
        view.settings = Settings(
            home=self.settings.home,
            database=self.settings.database,
            workspace=owner.workspace_id,
            developer=owner.handle,
            is_named=True,
        )
        view.folder = None
        view.serves_itself = True
        view.is_at_home = False
        return view

    def __enter__(self) -> App:
        return self

    def __exit__(self, *exception: object) -> None:
        try:
            if self._database is not None:
                self.run_unopened(self._opening.__aexit__(None, None, None))
        finally:
            if self._runner is not None:
                self._end_loop()

    async def __aenter__(self) -> App:
        self._database = await self._opening.__aenter__()
        prepare_reserve(self.settings.home)
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._opening.__aexit__(None, None, None)

    def run(self, coroutine: Coroutine[Any, Any, T], seconds: float | None = None) -> T:
        """To its end, or to that of its time; the store is opened before that counts."""
        try:
            _ = self.database
        except BaseException:
            coroutine.close()
            raise
        return self.run_unopened(coroutine, seconds)

    def run_unopened(self, coroutine: Coroutine[Any, Any, T], seconds: float | None = None) -> T:
        """Without a loop on SQLite, where nothing ever waits; else on our own loop.

        What runs there cannot open the store, because that needs the loop as well.
        """
        if is_sqlite(self.settings.database):
            return drive(coroutine)
        import asyncio

        if self._runner is None:
            self._runner = asyncio.Runner()
        try:
            limited = asyncio.wait_for(coroutine, seconds or self.wait_seconds)
            result: T = self._runner.run(limited)
        except TimeoutError:
            self._is_late = True
            raise errors.StoreBusyError(hide_password(self.settings.database)) from None
        return result

    def _end_loop(self) -> None:
        """Closing a runner waits for its threads, and a look-up of a host cannot be stopped."""
        if self.wait_seconds is None or not (self._is_late or self._database is None):
            self._runner.close()
            return
        import asyncio

        self._runner.get_loop().close()
        asyncio.set_event_loop(None)
        self.left_behind = True

    @property
    def is_opened(self) -> bool:
        """Whether anything has needed the store so far."""
        return self._database is not None

    @property
    def database(self) -> Database:
        if self._database is None:
            self._database = self.run_unopened(self._opening.__aenter__())
            prepare_reserve(self.settings.home)
        return self._database

    @property
    def scope(self) -> Scope:
        """The rooms on the whole store, for the owner that the settings name."""
        from holdfast.ground.masking import Mask
        from holdfast.scope import Scope

        mask = Mask(self.settings.home)
        return Scope(self.database, self.settings.owner, mask, self.find_remote_team)

    @property
    def has_server(self) -> bool:
        """Whether the exchange of this machine is that of a server."""
        return not self.serves_itself and capture.has_server(self.settings)

    def find_remote_team(self) -> RemoteTeam | None:
        """Of the server that this machine has joined; nothing of it is loaded where it has none."""
        if self._remote is None and self.has_server:
            from holdfast.team.joined import find_joined
            from holdfast.team.remote import RemoteTeam

            joined = find_joined(self.settings)
            if joined is not None:
                self._remote = RemoteTeam(joined, is_for_agent=self.is_for_agent)
        return self._remote

    def workstreams(self, folder: str, *, share: bool | None = None) -> WorkstreamService:
        """Context in the repository of a folder; `share` is what a program sets the flag to."""
        from holdfast.workstreams.service import WorkstreamService

        return WorkstreamService(self.settings, self.scope.journal, folder=folder, share=share)

    def work_in(self, worktree: str | None) -> WorkstreamService:
        """In the caller's working tree; without one in that of the server."""
        if worktree is None:
            return self.served_work()
        return self.workstreams(worktree)

    @property
    def served_worktree(self) -> str | None:
        """The one that this server was started for, for one person. A team's server has none."""
        if self.folder is None or not is_sqlite(self.settings.database):
            return None
        return locate_worktree(self.folder)

    def served_work(self) -> WorkstreamService:
        worktree = self.served_worktree
        if worktree is None:
            raise errors.NoWorkingTreeError
        return self.workstreams(worktree)

    async def recall(
        self,
        query: str,
        *,
        worktree: str | None,
        client: str | None = None,
        namespace: str | None = None,
        category: str | None = None,
        **limits: Any,
    ) -> Sequence[MemoryMatch | NoteMatch]:
        """Memories that answer a question, and notes of the clients' own memory for a worktree.

        Without what the asking client loads itself; a note has neither namespace nor category.
        """
        stored = await self.scope.memories.recall(
            query, namespace=namespace, category=category, **limits
        )
        if worktree is None or namespace or category or not self.has_own_file:
            return stored
        import os

        from holdfast.ground.masking import Mask
        from holdfast.ground.off_loop import off_loop
        from holdfast.usecases import client_memory

        noted = await off_loop(
            client_memory.recall_notes, query, worktree, os.environ, client=client, **limits
        )
        masked = client_memory.mask_matches(noted, Mask(self.settings.home))
        return client_memory.merge_matches(stored, masked, **limits)

    @property
    def has_own_file(self) -> bool:
        """Whether it acts for the developer of this machine, in a file of theirs: whom it tells of
        places here, and whose clients keep memories of their own here.
        """
        return self.is_at_home and is_sqlite(self.settings.database)

    def _load_rules(self) -> Sequence[str]:
        """What the person of this machine pinned; rules of others are on their machines."""
        if not self.is_at_home:
            return ()
        from holdfast.ground.user_settings import load_user_settings

        return load_user_settings(self.settings.home).pinned_rules

    def bundles(self, work: WorkstreamService | None) -> BundleService:
        """What an agent receives about that repository; without one, what sessions know."""
        from holdfast.bundles.service import BundleService
        from holdfast.clients import text_limit
        from holdfast.ground.fence import fence_key
        from holdfast.storage.enrolment import Enrolment
        from holdfast.usecases.observing import observe
        from holdfast.usecases.session_status import is_running

        scope = self.scope
        return BundleService(
            scope.journal,
            scope.sessions,
            load=work.load if work else _load_nothing,
            recall=scope.memories.recall,
            recall_notes=_recall_notes if self.has_own_file else None,
            native_ids=work.list_client_sessions if work else None,
            rules=self._load_rules(),
            text_limit=text_limit,
            fence_key=fence_key(self.settings.home),
            is_running=lambda session: is_running(self.settings.home, session),
            may_look=Enrolment(self.settings.home).has_agreed if self.is_at_home else _never,
            observe=observe,
        )

    def rounds(self, work: WorkstreamService) -> RoundService:
        from holdfast.bundles.round_service import RoundService

        return RoundService(self.bundles(work), work.decide)

    @property
    def spool(self) -> Spool:
        if self._spool is None:
            from holdfast.storage.spool import BRIEF_SECONDS, Spool

            mark = mark_store(self.settings.database, self.settings.home)
            lock_seconds = self.wait_seconds
            if lock_seconds is None:  # a hook may have been stopped while it held a lock
                lock_seconds = BRIEF_SECONDS
            self._spool = Spool(self.settings.home, store=mark, lock_seconds=lock_seconds)
        return self._spool

    def drain_spool(self, limit: int | None = None) -> int:
        """Store what waited while the store was busy or down, if it can be stored now."""
        if self.spool.is_empty():
            return 0
        return self.run(self.drain(limit))

    async def drain(self, limit: int | None = None) -> int:
        """The same on a running loop. Only a hook waits: others want to read, and come again."""
        if self.spool.is_empty():
            return 0
        if self.wait_seconds is not None or is_sqlite(self.settings.database):
            return await self.spool.drain(self._store_record, limit)
        import asyncio

        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                return await self.spool.drain(self._store_record, limit)
        except TimeoutError:
            raise errors.StoreBusyError(hide_password(self.settings.database)) from None

    def count(self) -> Accounting:
        return self.run(self.take_stock())

    async def take_stock(self) -> Accounting:
        """Where every accepted input is: stored, spooled or rejected, and none lost.

        Of the newest sessions: it is asked often, and must not cost more with every session.
        """
        from contextlib import suppress

        from holdfast.storage.accounting import Accounting

        with suppress(errors.StoreBusyError):  # then it is counted where it waits
            await self.drain()
        store = self.scope.session_store
        numbered, stored, sessions, has_older = await store.count_events(
            SESSIONS_COUNTED, ROWS_COUNTED
        )
        waiting = self.spool.count_waiting()
        rejected = self.spool.count_rejected()
        lost = self.spool.count_lost()
        return Accounting(
            **waiting.__dict__,
            accepted=numbered + waiting.spooled + rejected + lost,
            stored=stored,
            rejected=rejected,
            sessions=sessions,
            has_older_sessions=bool(has_older),
        )

    async def _store_record(self, record: dict[str, Any]) -> None:
        try:
            if not capture.is_agreed(self.settings.home, record):
                return
            record = capture.with_owner(record, self.settings)
            await self._store(capture.get_owner(record), record)
        except (KeyError, TypeError) as error:
            raise errors.InvalidValueError(
                "Spooled record", sorted(record), f"is not whole ({error!r})"
            ) from None

    async def _store(self, owner: Owner, record: dict[str, Any]) -> None:
        """For a reader the store is free at once, or not at all."""
        if self.wait_seconds is not None or not is_sqlite(self.settings.database):
            await capture.store_record(self.database, owner, record)
            return
        from holdfast.storage.in_transaction import InTransaction

        await self.database.try_transaction(
            lambda tx: capture.store_record(InTransaction("sqlite", tx), owner, record),
            seconds=0.0,
        )


def _never(worktree: str) -> bool:
    return False


async def _load_nothing(phase: str, workstream_id: str | None) -> JudgedContext:
    from holdfast.workstreams.errors import NoRepositoryError

    raise NoRepositoryError("")


def _recall_notes(query: str, worktree: str, client: str | None, limit: int) -> Sequence[NoteMatch]:
    """For a bundle, which an agent waits for: git is not asked."""
    import os

    from holdfast.usecases.client_memory import recall_notes

    return recall_notes(query, worktree, os.environ, client=client, limit=limit, is_quick=True)
