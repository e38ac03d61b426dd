"""Write the results of a run, read from a state that is not trusted, each part on its own.

A part that a rule refuses is reported with its reason, nothing of it is stored, and the others are
still written. A state that is kept from run to run still holds the results of earlier runs. Those
were written then, and perhaps withdrawn or made stale since: the state notes what was written, and
only what is new is written.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from traceback import format_exception_only
from typing import Any

from holdfast.app import App
from holdfast.errors import InvalidValueError
from holdfast.ground import canonical
from holdfast.surfaces.langgraph.state import describe_refusal, find_in_context, to_list
from holdfast.workstreams.service import WorkstreamService

NAME_BYTES = 4096
DONE_KEPT = 500
# The names of a ledger's entry that are used again; its hashes are computed anew.
PLACE = ("path", "lines", "symbol", "proof")


class StateWriter:
    def __init__(self, app: App, work: WorkstreamService, about: dict[str, Any], done: object = ()):
        self.run = app.run
        self.work = work
        self.about = about
        self.done: list[str] = []
        if isinstance(done, list):
            self.done = [str(mark) for mark in done]
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
        self._keep_decisions(find_in_context(state, "decisions"))
        self._keep_claims(find_in_context(state, "claims"))
        self._keep_checklist(find_in_context(state, "checklist"))
        self._keep_pointers(find_in_context(state, "file_pointers"))
        feature_request = find_in_context(state, "feature_request")
        self._keep_summary(find_in_context(state, "summary"), feature_request)
        if before.failed_run:
            with self._record("last_run"):
                self.run(self.work.succeed(**self.about))

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
        if given is None or not self._is_new("checklist", given):
            return
        with self._record("checklist", given):
            items = _check_texts("checklist", given)
            self.run(self.work.set_checklist(items, **self.about))

    def _keep_pointers(self, given: Any) -> None:
        if not given or not self._is_new("file_pointers", given):
            return
        with self._record("file_pointers", given):
            paths = _check_texts("file_pointers", given)
            self.run(self.work.point(paths, **self.about))

    def _keep_summary(self, given: Any, feature_request: Any) -> None:
        if not given or not self._is_new("summary", given):
            return
        with self._record("summary", given):
            self.run(self.work.save(given, feature_request=feature_request, **self.about))

    def _keep_decisions(self, given: object) -> None:
        for decision in self._list_new("decision", given):
            with self._record("decision", decision):
                fields: dict[str, Any] = {
                    "decision_id": decision.get("id"),
                    "status": decision.get("status"),
                    "because": decision.get("because"),
                }
                self.run(self.work.decide(decision.get("text"), **fields, **self.about))

    def _keep_claims(self, given: object) -> None:
        for claim in self._list_new("claim", given):
            with self._record("claim", claim):
                text = claim.get("text")
                if text is None:
                    text = claim.get("claim")
                checked = _check_text("claim", text)
                evidence = _list_evidence(claim)
                kind = claim.get("kind")
                self.run(self.work.claim(checked, evidence, kind=kind, **self.about))

    def _list_new(self, name: str, given: object) -> list[Mapping[str, Any]]:
        """Entries as objects; a text alone is an entry with only a text."""
        try:
            values = to_list(f"{name}s", given)
            entries = [_make_object("text", value) for value in values]
            return [entry for entry in entries if self._is_new(name, entry)]
        except InvalidValueError as error:
            self._refuse(name, error)
            return []

    def _is_new(self, name: str, item: object) -> bool:
        return _make_mark(name, item) not in self.done

    @contextmanager
    def _record(self, name: str, item: object = None) -> Iterator[None]:
        try:
            yield
            self.written.append(name)
            if item is not None:
                done = [*self.done, _make_mark(name, item)]
                self.done = done[-DONE_KEPT:]
        except Exception as error:  # whatever the error, the other parts are written
            self._refuse(name, error)

    def _refuse(self, name: str, error: Exception) -> None:
        self.refused.append({"what": name, **describe_refusal(error)})


def _make_mark(name: str, item: object) -> str:
    """The same for the same words, in every process."""
    text = json.dumps([name, item], sort_keys=True, default=repr)
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
