"""The exchange of a server that this machine has joined: the verbs of the room, over HTTP.

Rules are asked here before anything is sent, so that what is refused never leaves the machine, and
a repository that is not on the person's list is not named. Every change has a key, so that one
whose answer was lost is sent again and done once. Four changes wait where the server cannot be
reached; everything else says so. What waits is sent before the next change, in its order; a read
never depends on that. Nothing that a teammate wrote is kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from holdfast import __version__
from holdfast.errors import (
    Action,
    Conflict,
    HoldfastError,
    Invalid,
    InvalidValueError,
    NotFound,
    Refused,
    Unavailable,
)
from holdfast.ground import clock, ids
from holdfast.ground import light_json as json
from holdfast.ground.fence import one_line
from holdfast.ground.frozen import replace
from holdfast.ground.handles import parse_developer
from holdfast.ground.https import Answer, NoAnswerError, ask
from holdfast.ground.off_loop import off_loop
from holdfast.ground.settings import Owner
from holdfast.storage.idempotency import check_key
from holdfast.team import overlap, publishing_rules, wire
from holdfast.team.errors import (
    ChangeTakenBackError,
    ChangeWaitsError,
    ClaimNotFoundError,
    ContextNotFoundError,
    HandoffNotFoundError,
    ServerUnreachableError,
    ServerVersionError,
    TokenRefusedError,
)
from holdfast.team.joined import Joined, Known
from holdfast.team.model import (
    OFFERED,
    VISIBILITIES,
    Developer,
    Handoff,
    ListPlace,
    PublishedContext,
    Reservation,
    TeamState,
)
from holdfast.team.nearby import Nearby
from holdfast.team.path_rules import find_name_objection
from holdfast.team.waiting import Outbox, Waiting, make_waiting
from holdfast.team.wire import Object, WireError

T = TypeVar("T")
Sent = tuple[str, str, Object | None]  # method, path and body

SECONDS = 10.0
AGENT_SECONDS = 4.0  # for all of a call where an agent waits
LOCK_SECONDS = 1.0  # for another process that sends what waits
ATTEMPTS = 2
MOST_ANSWERED = 5  # times that the server itself answers a waiting change with an error
DETAIL_CHARS = 1_000
SKEW_SECONDS = 5.0  # less is the time that an answer takes
MOST_SHOWN = 50
JSON = "json"
UNKNOWN_FORM = "its answer has a form that is unknown here"
NO_ROUTE = ("not_found", "method_not_allowed")
KINDS: Mapping[int, type[HoldfastError]] = {
    400: Invalid,
    404: NotFound,
    409: Conflict,
    412: Conflict,
    413: Invalid,
    403: Refused,
    422: Refused,
    429: Unavailable,
    503: Unavailable,
}
NEXT = {
    "developer_not_found": Action("team.state"),
    "context_not_found": Action("team.contexts"),
    "claim_not_found": Action("team.state"),
    "claim_ended": Action("team.claim"),
    "handoff_not_found": Action("team.state"),
    "handoff_open": Action("team.state"),
    "handoff_state": Action("team.state"),
    "handoff_to_self": Action("team.state"),
    "developer_is_private": Action("team.visibility", visibility="public"),
}


class RemoteTeam:
    """What one developer does in the exchange of a server.

    `seconds` bounds all calls together, and leaves what waits to another process. `is_for_agent`
    bounds each call, together with what is sent before it.
    """

    def __init__(self, joined: Joined, *, seconds: float | None = None, is_for_agent: bool = False):
        self.joined = joined
        self.outbox = Outbox(joined.home)
        self.was_repeated = False
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._sends_waiting = seconds is None
        self._is_for_agent = is_for_agent
        self._clock = _ServerClock()
        self._key: str | None = None

    def with_key(self, key: str | None) -> RemoteTeam:
        """For one change."""
        keyed = copy(self)
        keyed._key = ids.new_id() if key is None else check_key(key)
        keyed.was_repeated = False
        return keyed

    @property
    def server(self) -> str:
        return str(self.joined.origin)

    @property
    def owner(self) -> Owner:
        """Who this machine is there."""
        self._require_known()
        owner = self.joined.owner
        assert owner is not None
        return owner

    @property
    def is_out_of_reach(self) -> bool:
        return self.joined.is_paused

    def now(self) -> datetime:
        """By the clock of the server, whose times are compared with it."""
        return self._clock.now()

    # --- the developer who asks -------------------------------------------------------------------

    async def get_me(self) -> Developer:
        """As the server says; where it cannot be reached, as it said the last time."""
        known = self.joined.known
        try:
            found = await off_loop(self._ask_me)
        except Unavailable:
            if known is None:
                raise
            return known.me
        return found.me

    async def is_used(self) -> bool:
        return True

    async def set_visibility(self, visibility: object) -> Developer:
        if not isinstance(visibility, str) or visibility not in VISIBILITIES:
            raise InvalidValueError("visibility", visibility, "is unknown", known=VISIBILITIES)
        sent = ("PUT", "/api/team/visibility", {"visibility": visibility})
        me = await self._change(sent, wire.read_developer)
        known = self.joined.known
        if known is not None:
            self.joined.keep_known(replace(known, me=me))
        return me

    def allow(self, repo: str | None) -> None:
        """Refused where the caller works in a repository that the server is not told of."""
        self.joined.require_listed(repo)

    # --- published contexts -----------------------------------------------------------------------

    async def publish_context(self, **fields: Any) -> PublishedContext:
        publication = publishing_rules.check_publication(**fields)
        repo = self.joined.require_meant(fields.get("repo"))
        basis = publication.basis
        body: Object = {
            "title": publication.title,
            "summary": publication.summary,
            "files_touched": list(publication.files_touched),
            "next_actions": list(publication.next_actions),
            "blockers": list(publication.blockers),
            "task_ids": list(publication.task_ids),
            "repo": repo,
            "branch": publication.branch,
            "session_id": publication.session_id,
            "ttl_hours": publication.ttl_hours,
        }
        if basis is not None:
            body["basis"] = basis.to_dict()
        sent = ("POST", "/api/contexts", body)
        return await self._change_or_keep("The publication", sent, wire.read_context)

    async def get_contexts(
        self, developer: object = None, below: ListPlace | None = None
    ) -> Sequence[PublishedContext]:
        who = None if developer is None else parse_developer(developer)
        path = _with_query("/api/contexts", developer=who, below=below)
        return await self._read(path, wire.read_contexts)

    async def list_own_contexts(self, below: object = None) -> Sequence[PublishedContext]:
        path = _with_query("/api/contexts", history="true", below=below)
        return await self._read(path, wire.read_contexts)

    async def revoke_context(self, context_id: object) -> PublishedContext:
        parsed = ids.parse_id(context_id)
        if parsed is None:
            raise ContextNotFoundError(context_id)
        if await off_loop(self.outbox.take_back, parsed):
            raise ChangeTakenBackError(parsed, "The publication")
        sent = ("DELETE", "/api/contexts/{id}", None)
        what = "The withdrawal of a publication"
        return await self._change_or_keep(what, sent, wire.read_context, about=parsed)

    # --- reservations -----------------------------------------------------------------------------

    async def claim(
        self,
        paths: object,
        reason: object,
        *,
        repo: object = None,
        branch: object = None,
        ttl_minutes: object = None,
        session_id: object = None,
    ) -> Reservation:
        checked_paths = overlap.check_paths(paths)
        checked_reason = overlap.check_reason(reason)
        minutes = overlap.check_ttl_minutes(ttl_minutes)
        place = publishing_rules.check_place(repo, branch, session_id)
        body = {
            "paths": list(checked_paths),
            "reason": checked_reason,
            "repo": self.joined.require_meant(repo if isinstance(repo, str) else None),
            "branch": place.branch,
            "session_id": place.session_id,
            "ttl_minutes": minutes,
        }
        sent = ("POST", "/api/claims", body)
        return await self._change_or_keep("The claim", sent, wire.read_reservation)

    async def release(self, claim_id: object) -> Reservation:
        parsed = ids.parse_id(claim_id)
        if parsed is None:
            raise ClaimNotFoundError(claim_id)
        if await off_loop(self.outbox.take_back, parsed):
            raise ChangeTakenBackError(parsed, "The claim")
        sent = ("DELETE", "/api/claims/{id}", None)
        what = "The release of a claim"
        return await self._change_or_keep(what, sent, wire.read_reservation, about=parsed)

    async def list_claims(self, below: ListPlace | None = None) -> Sequence[Reservation]:
        return await self._read(_with_query("/api/claims", below=below), wire.read_claims)

    async def list_claims_near(self, repo: str | None) -> Sequence[Reservation]:
        return (await self.look_near(repo)).claims

    # --- sessions of this machine -----------------------------------------------------------------

    async def show_presence(
        self,
        session_id: str,
        paths: Sequence[str],
        *,
        client: str | None = None,
        repo: str | None = None,
        branch: str | None = None,
    ) -> None:
        body = self.make_presence(paths, client=client, repo=repo, branch=branch)
        await off_loop(self.request, "PUT", f"/api/team/presence/{session_id}", body)

    def make_presence(
        self, paths: Sequence[str], *, client: str | None, repo: str | None, branch: str | None
    ) -> Object:
        """A name that looks like a secret or cannot be shown stays here."""
        plain = [path for path in paths if not find_name_objection(path)]
        return {
            "client": client,
            "repo": self.joined.require_listed(repo),
            "branch": None if branch is None or find_name_objection(branch) else branch,
            "paths": plain[:MOST_SHOWN],
        }

    async def end_presence(self, session_id: str) -> None:
        await off_loop(self.request, "DELETE", f"/api/team/presence/{session_id}")

    async def look_near(self, repo: str | None = None) -> Nearby:
        listed = self.joined.find_listed(repo)
        return await self._read(_with_query("/api/team/near", repo=listed), wire.read_near)

    # --- handoffs ---------------------------------------------------------------------------------

    async def handoff(self, claim_id: object, *, to: object = None, note: object = None) -> Handoff:
        parsed = ids.parse_id(claim_id)
        if parsed is None:
            raise ClaimNotFoundError(claim_id)
        body = {
            "claim_id": self.outbox.find_sent(parsed) or parsed,
            "to": None if to is None else parse_developer(to, field="to"),
            "note": overlap.check_note(note),
        }
        return await self._change(("POST", "/api/handoffs", body), wire.read_handoff)

    async def accept(self, handoff_id: object, *, session_id: object = None) -> Handoff:
        place = publishing_rules.check_place(None, None, session_id)
        return await self._answer(handoff_id, "accept", {"session_id": place.session_id})

    async def decline(self, handoff_id: object) -> Handoff:
        return await self._answer(handoff_id, "decline", {})

    async def complete(self, handoff_id: object) -> Handoff:
        return await self._answer(handoff_id, "complete", {})

    async def cancel(self, handoff_id: object) -> Handoff:
        return await self._answer(handoff_id, "cancel", {})

    async def _answer(self, handoff_id: object, verb: str, body: Object) -> Handoff:
        parsed = ids.parse_id(handoff_id)
        if parsed is None:
            raise HandoffNotFoundError(handoff_id)
        return await self._change(
            ("POST", f"/api/handoffs/{parsed}/{verb}", body), wire.read_handoff
        )

    # --- the whole --------------------------------------------------------------------------------

    async def get_state(
        self,
        *,
        contexts_below: ListPlace | None = None,
        claims_below: ListPlace | None = None,
    ) -> TeamState:
        state = await self._read("/api/state", wire.read_state)
        if contexts_below is not None:
            page = await self.get_contexts(below=contexts_below)
            state = replace(state, published_contexts=page)
        if claims_below is not None:
            state = replace(state, claims=await self.list_claims(claims_below))
        return state

    def is_offered_to(self, handoff: Handoff, me: Developer) -> bool:
        return handoff.status == OFFERED and handoff.giver.id != me.id

    # --- joining and leaving ----------------------------------------------------------------------

    def ask_known(self) -> Known:
        return self._ask_me()

    def count_other_machines(self) -> int:
        """Of this developer; none at a server that does not say."""
        found = self.request("GET", "/api/me").get("other_machines")
        return found if isinstance(found, int) else 0

    def end_token(self) -> None:
        self.request("DELETE", "/api/me/token")

    # --- reads and changes ------------------------------------------------------------------------

    async def _read(self, path: str, read: Callable[[Object], T]) -> T:
        def work() -> T:
            self._begin_call()
            self._require_known()
            self._try_to_send()
            found = self.request("GET", path)
            return self._parse(read, found, f"GET {path.partition('?')[0]}")

        return await off_loop(work)

    async def _change(self, sent: Sent, read: Callable[[object], T]) -> T:
        method, path, body = sent

        def work() -> T:
            self._begin_call()
            self._require_known()
            self._send_first()
            found = self.request(method, path, body, self._find_key())
            return self._parse(read, found, f"{method} {path}")

        return await off_loop(work)

    async def _change_or_keep(
        self, what: str, sent: Sent, read: Callable[[object], T], *, about: str | None = None
    ) -> T:
        method, path, body = sent

        def work() -> T:
            key, is_asked = self._find_key(), False
            try:
                self._begin_call()
                self._require_known()
                self._send_first()
                named = path.format(id=self._find_made(about))
                is_asked = True
                found = self.request(method, named, body, key)
                return self._parse(read, found, f"{method} {path}")
            except Unavailable as error:
                was_tried = is_asked and getattr(error, "was_sent", True)
                raise self._keep(what, sent, key, about, error, was_tried=was_tried) from None

        return await off_loop(work)

    def _keep(
        self,
        what: str,
        sent: Sent,
        key: str,
        about: str | None,
        error: Unavailable,
        *,
        was_tried: bool,
    ) -> Unavailable:
        """What the caller is told: that it waits. Who never reached the server has nothing that
        could be sent to it later.
        """
        owner = self.joined.owner
        if owner is None:
            return error
        waits_itself = about is not None and self.outbox.find(about) is not None
        method, path, body = sent
        if not waits_itself:
            path = path.format(id=self._find_made(about))
        entry = make_waiting(
            self.server,
            owner.developer_id,
            what,
            (method, path, body),
            key,
            about=about if waits_itself else None,
            was_tried=was_tried,
        )
        kept = self.outbox.add(entry)
        cause = error.cause if isinstance(error, ServerUnreachableError) else error.message
        return ChangeWaitsError(kept.receipt, what, self.server, cause.rstrip("."))

    def _find_made(self, about: str | None) -> str | None:
        return about and (self.outbox.find_sent(about) or about)

    def _find_key(self) -> str:
        return self._key or ids.new_id()

    # --- what waits -------------------------------------------------------------------------------

    def _begin_call(self) -> None:
        if self._is_for_agent:
            self._deadline = time.monotonic() + AGENT_SECONDS

    def _send_first(self) -> None:
        """What was made before a change; where a hook waits, that is left to another call."""
        if self._sends_waiting:
            self.send_waiting()

    def _try_to_send(self) -> None:
        """Before a read, which goes on where something that waits was not taken."""
        if not self._sends_waiting:
            return
        try:
            self.send_waiting()
        except TokenRefusedError:
            raise
        except ServerUnreachableError as error:
            if not error.was_answered:
                raise
        except HoldfastError:  # the folder is damaged, or another process sends
            return

    def send_waiting(self, patience_seconds: float = LOCK_SECONDS) -> None:
        """All of it in order, until the server cannot be reached or does not take one."""
        if self.outbox.is_empty():
            return
        with self.outbox.sending(patience_seconds):
            self.outbox.set_damaged_aside()
            for entry in self.outbox.list_all():
                self._send_entry(entry)

    def send_withdrawals(self) -> list[str]:
        """Of what others see already, before this machine leaves; returns what is still seen."""
        left = []
        with self.outbox.sending(LOCK_SECONDS):
            for entry in self.outbox.list_all():
                if entry.method != "DELETE" or entry.about is not None:
                    continue
                try:
                    self._send_entry(entry)
                except HoldfastError:
                    left.append(entry.path.rpartition("/")[2])
        return left

    def _send_entry(self, entry: Waiting) -> None:
        objection = self._find_objection(entry)
        if objection is not None:
            self.outbox.refuse(entry, objection)
            return
        path = entry.path.format(id=self._find_made(entry.about))
        tried = self.outbox.mark_tried(entry)
        try:
            made = _find_reader(entry.path)(self.request(entry.method, path, entry.body, entry.key))
        except WireError:
            raise self._fail(UNKNOWN_FORM, was_answered=True) from None
        except TokenRefusedError:
            raise
        except ServerVersionError as error:
            self._count_answer(tried, error.message)
        except ServerUnreachableError as error:
            if not error.is_own_answer:  # a proxy in front of it: it may be back at any time
                raise
            self._count_answer(tried, error.cause)
        except (NotFound, Conflict, Invalid, Refused) as error:
            self.outbox.refuse(tried, error.message)
        else:
            self.outbox.finish(tried, made.id)

    def _count_answer(self, entry: Waiting, cause: str) -> None:
        """It stays first in its order for a while: the server may be repaired or upgraded."""
        answered = entry.answered + 1
        if answered >= MOST_ANSWERED:
            self.outbox.refuse(entry, f"The server did not take it {answered} times: {cause}.")
            return
        self.outbox.replace(replace(entry, answered=answered))
        raise ServerUnreachableError(
            self.server, f"it does not take what waits first: {cause}", was_answered=True
        )

    def _find_objection(self, entry: Waiting) -> str | None:
        me = self._require_known().me
        if entry.server != self.server or entry.developer_id != me.id:
            return f"It was made for another developer of {entry.server}."
        repo = (entry.body or {}).get("repo")
        if repo is not None and self.joined.find_listed(repo) is None:
            return f"Repository {repo} is not one of those that the server may be told of any more."
        if entry.about is not None and self.outbox.find_sent(entry.about) is None:
            return "What it is about was not taken."
        return None

    # --- the wire ---------------------------------------------------------------------------------

    def request(
        self, method: str, path: str, body: Object | None = None, key: str | None = None
    ) -> Object:
        """One answer, or the error that it is; the same request again where its answer was lost."""
        answer = self._ask(method, path, body, key)
        self._clock.learn(answer.headers.get("date", ""))
        found = _parse_object(answer)
        name = f"{method} {path.partition('?')[0]}"
        if found is None:
            raise self._fail(f"it answered with {_describe(answer)}", was_answered=True)
        if answer.status not in (200, 201):
            raise self._make_error(answer.status, found, name)
        self.joined.end_pause()
        self.was_repeated = answer.headers.get("idempotency-repeated") == "true"
        return found

    def _ask(self, method: str, path: str, body: Object | None, key: str | None) -> Answer:
        headers = {
            "Accept": "application/json",
            "User-Agent": f"holdfast/{__version__}",
        }
        if self.joined.token:
            headers["Authorization"] = f"Bearer {self.joined.token}"
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body).encode()
        if key is not None:
            headers["Idempotency-Key"] = key
        may_repeat = method != "POST" or key is not None
        for attempt in range(ATTEMPTS):
            try:
                return ask(
                    self.joined.origin,
                    method,
                    path,
                    headers=headers,
                    body=data,
                    seconds=self._find_seconds(),
                )
            except NoAnswerError as error:
                is_last = attempt == ATTEMPTS - 1 or self._is_over()
                if is_last or not error.was_cut or not may_repeat:
                    raise self._fail(error.cause, was_sent=error.was_sent) from None
        raise AssertionError

    def _is_over(self) -> bool:
        return self._deadline is not None and time.monotonic() >= self._deadline

    def _find_seconds(self) -> float:
        if self._deadline is None:
            return SECONDS
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise ServerUnreachableError(self.server, "the time for it was over", was_sent=False)
        return min(left, SECONDS)

    def _fail(
        self, cause: str, *, was_sent: bool = True, was_answered: bool = False
    ) -> ServerUnreachableError:
        self.joined.begin_pause()
        return ServerUnreachableError(
            self.server, cause, was_sent=was_sent, was_answered=was_answered
        )

    def _make_error(self, status: int, problem: Object, name: str) -> HoldfastError:
        """The same kind and code as there; its words are those of the server."""
        code = problem.get("code")
        kind = KINDS.get(status)
        if not isinstance(code, str) or "type" not in problem:
            return self._fail(f"it answered {status}", was_answered=True)
        if status == 401:
            return TokenRefusedError(self.server)
        if (status in (404, 405) and code in NO_ROUTE) or status == 405:
            if self._find_version() == __version__:  # something in between does not know it
                return self._fail(f"it answered {status} to {name}", was_answered=True)
            return self._blame_version(name)
        if kind is None:
            cause = f"it answered {status}"
            return ServerUnreachableError(self.server, cause, was_answered=True, is_own_answer=True)
        if status == 400 and code == Invalid.code and self._find_version() != __version__:
            return self._blame_version(name)
        detail = one_line(str(problem.get("detail") or code), DETAIL_CHARS)
        following = NEXT.get(code)
        error = kind(detail, next_actions=[following] if following else [])
        error.code = one_line(code, 60)
        return error

    def _parse(self, read: Callable[[Object], T], found: Object, name: str) -> T:
        try:
            return read(found)
        except WireError:
            if self._find_version() != __version__:
                raise self._blame_version(f"{name} in a form that is known here") from None
            raise self._fail(UNKNOWN_FORM, was_answered=True) from None

    def _blame_version(self, name: str) -> ServerVersionError:
        return ServerVersionError(self.server, self._find_version(), __version__, name)

    def _find_version(self) -> str:
        known = self.joined.known
        return known.version if known else "of an unknown version"

    def _require_known(self) -> Known:
        return self.joined.known or self._ask_me()

    def _ask_me(self) -> Known:
        found = self.request("GET", "/api/me")
        try:
            known = read_known(found)
        except WireError:
            raise self._fail(UNKNOWN_FORM, was_answered=True) from None
        self.joined.keep_known(known)
        return known


def _find_reader(path: str) -> Callable[[Object], PublishedContext | Reservation]:
    """Of the answer to a change that waited: an answer of another form acknowledges nothing."""
    return wire.read_context if path.startswith("/api/contexts") else wire.read_reservation


def read_known(found: Object) -> Known:
    """What `/api/me` says."""
    token = found.get("token")
    developer = {**wire.read_object(found.get("developer")), "seen_at": None}
    return Known(
        workspace=wire.read_text(found.get("workspace")),
        me=wire.read_developer(developer),
        token_id=wire.read_text(token.get("id")) if isinstance(token, dict) else None,
        version=one_line(wire.read_text(found.get("version")), 40),
    )


class _ServerClock:
    """How far the clock of the server is from the one here."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def now(self) -> datetime:
        return clock.now() + self.ahead

    def learn(self, date: str) -> None:
        """From the header that says when an answer was made."""
        from email.utils import parsedate_to_datetime

        try:
            there = parsedate_to_datetime(date).astimezone(UTC)
        except (ValueError, TypeError, OverflowError):
            return
        ahead = there - clock.now()
        is_skewed = abs(ahead.total_seconds()) > SKEW_SECONDS
        self.ahead = ahead if is_skewed else timedelta()


def _with_query(path: str, **asked: object) -> str:
    given = {name: str(value) for name, value in asked.items() if value is not None}
    return f"{path}?{urlencode(given, quote_via=quote)}" if given else path


def _parse_object(answer: Answer) -> Object | None:
    """None for what is not a document of Holdfast: a page, an empty answer, half of one."""
    if JSON not in answer.headers.get("content-type", ""):
        return None
    try:
        found = json.loads(answer.body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _describe(answer: Answer) -> str:
    if 300 <= answer.status < 400:
        return f"a redirect ({answer.status}), which is not followed"
    kind = answer.headers.get("content-type", "").partition(";")[0] or "no content"
    return f"{answer.status} and {one_line(kind, 40)}, which is not an answer of Holdfast"
