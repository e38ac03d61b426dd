"""Write the results of a run, read from a state that is not trusted, each part on its own.

A part that a rule refuses is reported with its reason, nothing of it is stored, and the others are
still written. A state that is kept from run to run still holds the results of earlier runs. Those
were written then, and perhaps withdrawn or made stale since, so only what is new is written.

The state notes for each target (a workstream's context of one phase) what it held when it was last
written there. This is not a history: a value that was replaced and returns is new again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from traceback import format_exception_only
from typing import Any, NamedTuple

from holdfast.app import App
from holdfast.errors import InvalidValueError
from holdfast.ground import canonical
from holdfast.surfaces.langgraph.state import describe_refusal, find_in_context, to_list
from holdfast.workstreams.service import WorkstreamService

NAME_BYTES = 4096
# The names of a ledger's entry that are used again; its hashes are computed anew.
PLACE = ("path", "lines", "symbol", "proof")


class MarkedEntry(NamedTuple):
    which: str  # its id, or else its words
    mark: str
    entry: Mapping[str, Any]


class StateWriter:
    def __init__(self, app: App, work: WorkstreamService, about: dict[str, Any], done: object = ()):
        self.run = app.run
        self.work = work
        self.about = about
        self.done: dict[Any, Any] = {}
        if isinstance(done, Mapping):
            self.done = dict(done)
        self.before: set[str] = set()  # the marks of the run before on this target
        self.marks: list[str] = []
        self.written: list[str] = []
        self.refused: list[dict[str, Any]] = []

    def keep_failure(self, state: Any) -> None:
        run = {
            "step": str(find_in_context(state, "failed_step") or "unknown"),
            "error": _describe_error(find_in_context(state, "error")),
            "next_action": str(find_in_context(state, "next_action") or "look at the error"),
        }
        with self._record("last_run"):
            self.run(self.work.fail(**run, **self.about))

    def keep_learned(self, state: Any) -> None:
        """A successful run also ends an earlier failure, with or without a summary."""
        before = self.run(self.work.load(**self.about)).context
        target = _hash([before.key, before.phase])
        self.before = _parse_marks(self.done.get(target))
        self._keep_decisions(find_in_context(state, "decisions"))
        self._keep_claims(find_in_context(state, "claims"))
        self._keep_checklist(find_in_context(state, "checklist"))
        self._keep_pointers(find_in_context(state, "file_pointers"))
        feature_request = find_in_context(state, "feature_request")
        self._keep_summary(find_in_context(state, "summary"), feature_request)
        if before.failed_run:
            with self._record("last_run"):
                self.run(self.work.succeed(**self.about))
        self.done[target] = self.marks

    def keep_sessions(self, given: object) -> None:
        if not isinstance(given, Mapping):
            error = InvalidValueError("cli_sessions", given, "has no session for each client")
            self._refuse("cli_session", error)
            return
        for client, value in given.items():
            session = _make_object("id", value)
            if session.get("id") is not None:  # else the client has not started one
                self._keep_session(client, session)

    def _keep_session(self, client: object, session: Mapping[str, Any]) -> None:
        with self._record("cli_session"):
            name = _check_text("client", client)
            native_id = _check_text("cli_sessions", session["id"])
            path = session.get("local_path")
            if path is not None:
                path = _check_text("local_path", path)
            self.run(self.work.keep_client_session(name, native_id, local_path=path, **self.about))

    def _keep_checklist(self, given: Any) -> None:
        mark = _hash(["checklist", given])
        if given is None or not self._is_new(mark):
            return
        with self._record("checklist", mark):
            items = _check_texts("checklist", given)
            self.run(self.work.set_checklist(items, **self.about))

    def _keep_pointers(self, given: Any) -> None:
        mark = _hash(["file_pointers", given])
        if not given or not self._is_new(mark):
            return
        with self._record("file_pointers", mark):
            paths = _check_texts("file_pointers", given)
            self.run(self.work.point(paths, **self.about))

    def _keep_summary(self, given: Any, feature_request: Any) -> None:
        mark = _hash(["summary", given])
        if not given or not self._is_new(mark):
            return
        with self._record("summary", mark):
            self.run(self.work.save(given, feature_request=feature_request, **self.about))

    def _keep_decisions(self, given: object) -> None:
        for _, mark, decision in self._list_new("decision", given):
            with self._record("decision", mark):
                fields: dict[str, Any] = {
                    "decision_id": decision.get("id"),
                    "status": decision.get("status"),
                    "because": decision.get("because"),
                }
                self.run(self.work.decide(decision.get("text"), **fields, **self.about))

    def _keep_claims(self, given: object) -> None:
        for _, mark, claim in self._list_new("claim", given):
            with self._record("claim", mark):
                checked = _check_text("claim", _find_words(claim))
                evidence = _list_evidence(claim)
                kind = claim.get("kind")
                self.run(self.work.claim(checked, evidence, kind=kind, **self.about))

    def _list_new(self, name: str, given: object) -> list[MarkedEntry]:
        """Entries as objects; a text alone is an entry with only a text."""
        try:
            values = to_list(f"{name}s", given)
            entries = [_make_object("text", value) for value in values]
        except InvalidValueError as error:
            self._refuse(name, error)
            return []
        return self._leave_out_done(_mark_entries(name, entries))

    def _leave_out_done(self, marked: Sequence[MarkedEntry]) -> list[MarkedEntry]:
        """A value that was refused is not tried again after a later one of the same entry."""
        new: list[MarkedEntry] = []
        done = set()
        for each in reversed(marked):
            if not self._is_new(each.mark):
                done.add(each.which)
            elif each.which not in done:
                new.append(each)
        return new[::-1]

    def _is_new(self, mark: str) -> bool:
        """What was written before stays noted, and is not written again."""
        if mark not in self.before:
            return True
        self.marks.append(mark)
        return False

    @contextmanager
    def _record(self, name: str, mark: str | None = None) -> Iterator[None]:
        try:
            yield
            self.written.append(name)
            if mark is not None:
                self.marks.append(mark)
        except Exception as error:  # whatever the error, the other parts are written
            self._refuse(name, error)

    def _refuse(self, name: str, error: Exception) -> None:
        self.refused.append({"what": name, **describe_refusal(error)})


def _mark_entries(name: str, entries: Sequence[Mapping[str, Any]]) -> list[MarkedEntry]:
    """An entry's mark holds the earlier values of the same entry in the list, in their order.

    In a list that is only appended to, a value that returns is thus not the earlier one.
    """
    last: dict[str, str] = {}
    marked = []
    for entry in entries:
        which = str(entry.get("id") or _find_words(entry))
        mark = _hash([name, entry, last.get(which)])
        marked.append(MarkedEntry(which, mark, entry))
        last[which] = mark
    return marked


def _find_words(entry: Mapping[str, Any]) -> Any:
    """The text of an entry; a ledger calls it `claim`."""
    text = entry.get("text")
    if text is None:
        text = entry.get("claim")
    return text


def _parse_marks(given: object) -> set[str]:
    if not isinstance(given, list):
        return set()
    return {str(mark) for mark in given}


def _hash(value: object) -> str:
    """The same for the same words, in every process."""
    try:
        text = json.dumps(value, sort_keys=True, default=repr)
    except (TypeError, ValueError):  # names that are not texts, or an object that holds itself
        text = ascii(value)
    digest = canonical.sha256(text.encode()).hex()
    return digest[:16]


def _make_object(name: str, value: Any) -> Mapping[str, Any]:
    """An object as it is, and anything else as an object with only that."""
    if isinstance(value, Mapping):
        return value
    return {name: value}


def _list_evidence(claim: Mapping[str, Any]) -> list[Any]:
    """Evidence as given, or as in a ledger: `files` with lines, `commands` with proofs."""
    files = to_list("files", claim.get("files"))
    commands = to_list("commands", claim.get("commands"))
    evidence = to_list("evidence", claim.get("evidence"))
    evidence += [_name_place(kept) for kept in (*files, *commands)]
    return evidence


def _name_place(kept: object) -> object:
    if not isinstance(kept, Mapping):
        return kept
    known = [name for name in PLACE if name in kept]
    return {name: kept[name] for name in known}


def _describe_error(error: object) -> str:
    if isinstance(error, BaseException):
        return "".join(format_exception_only(error))
    return str(error)


def _check_texts(name: str, given: object) -> list[str]:
    return [_check_text(name, text) for text in to_list(name, given)]


def _check_text(name: str, given: object) -> str:
    return canonical.check_text(name, given, max_bytes=NAME_BYTES)
