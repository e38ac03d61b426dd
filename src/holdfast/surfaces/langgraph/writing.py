"""What a run leaves behind, read from a state that anybody may have filled, each part on its own.

A part that a rule refuses is named with its reason, nothing of it is stored, and the others are
written all the same. A state that is kept from run to run still holds what an earlier one has left
behind. That was written then, and perhaps withdrawn or made stale since: the state notes what it
has written, and only what is new is written.
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
PLACE = (
    "path",
    "lines",
    "symbol",
    "proof",
)  # of a ledger's entry; what stood there is looked up anew


class StateWriter:
    def __init__(self, app: App, work: WorkstreamService, about: dict[str, Any], done: object = ()):
        self.run, self.work, self.about = app.run, work, about
        self.done = [str(mark) for mark in done] if isinstance(done, list) else []
        self.written: list[str] = []
        self.refused: list[dict[str, Any]] = []

    def keep_failure(self, state: Any) -> None:
        error = find_in_context(state, "error")
        run = {
            "step": str(find_in_context(state, "failed_step") or "unknown"),
            "error": "".join(format_exception_only(error))
            if isinstance(error, BaseException)
            else str(error),
            "next_action": str(find_in_context(state, "next_action") or "look at the error"),
        }
        with self._record("last_run"):
            self.run(self.work.fail(**run, **self.about))

    def keep_learned(self, state: Any) -> None:
        """A run that got through also ends the failure of an earlier one, whether it brings a
        summary or not.
        """
        failed_before = self.run(self.work.load(**self.about)).context.failed_run
        self._keep_decisions(find_in_context(state, "decisions"))
        self._keep_claims(find_in_context(state, "claims"))
        if (checklist := find_in_context(state, "checklist")) is not None and self._is_new(
            "checklist", checklist
        ):
            with self._record("checklist", checklist):
                self.run(
                    self.work.set_checklist(_check_texts("checklist", checklist), **self.about)
                )
        if (pointers := find_in_context(state, "file_pointers")) and self._is_new(
            "file_pointers", pointers
        ):
            with self._record("file_pointers", pointers):
                self.run(self.work.point(_check_texts("file_pointers", pointers), **self.about))
        if (summary := find_in_context(state, "summary")) and self._is_new("summary", summary):
            with self._record("summary", summary):
                self.run(
                    self.work.save(
                        summary,
                        feature_request=find_in_context(state, "feature_request"),
                        **self.about,
                    )
                )
        if failed_before:
            with self._record("last_run"):
                self.run(self.work.succeed(**self.about))

    def keep_sessions(self, given: object) -> None:
        if not isinstance(given, Mapping):
            self._refuse(
                "cli_session",
                InvalidValueError("cli_sessions", given, "has no session for each client"),
            )
            return
        for client, value in given.items():
            session = value if isinstance(value, Mapping) else {"id": value}
            if session.get("id") is None:  # a client that has not begun one
                continue
            with self._record("cli_session"):
                name, native_id = (
                    _check_text("client", client),
                    _check_text("cli_sessions", session["id"]),
                )
                path = session.get("local_path")
                path = None if path is None else _check_text("local_path", path)
                self.run(
                    self.work.keep_client_session(name, native_id, local_path=path, **self.about)
                )

    def _keep_decisions(self, given: object) -> None:
        for decision in self._list_new("decision", given):
            with self._record("decision", decision):
                named: dict[str, Any] = {"decision_id": decision.get("id")}
                named |= {name: decision.get(name) for name in ("status", "because")}
                self.run(self.work.decide(decision.get("text"), **named, **self.about))

    def _keep_claims(self, given: object) -> None:
        for claim in self._list_new("claim", given):
            with self._record("claim", claim):
                text = claim["text"] if claim.get("text") is not None else claim.get("claim")
                checked, evidence = _check_text("claim", text), _list_evidence(claim)
                self.run(self.work.claim(checked, evidence, kind=claim.get("kind"), **self.about))

    def _list_new(self, name: str, given: object) -> list[Mapping[str, Any]]:
        """Entries as objects; a text alone is an entry that is only a text."""
        try:
            values = to_list(f"{name}s", given)
            entries = [value if isinstance(value, Mapping) else {"text": value} for value in values]
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
                self.done = [*self.done, _make_mark(name, item)][-DONE_KEPT:]
        except Exception as error:  # whatever it is, the other parts are written
            self._refuse(name, error)

    def _refuse(self, name: str, error: Exception) -> None:
        self.refused.append({"what": name, **describe_refusal(error)})


def _make_mark(name: str, item: object) -> str:
    """The same for the same words, in whatever process."""
    text = json.dumps([name, item], sort_keys=True, default=repr)
    return canonical.sha256(text.encode()).hex()[:16]


def _list_evidence(claim: Mapping[str, Any]) -> list[Any]:
    """Evidence as it is given, or as a ledger has it: `files` with their lines, `commands` with
    their proofs.
    """
    kept = [*to_list("files", claim.get("files")), *to_list("commands", claim.get("commands"))]
    return [*to_list("evidence", claim.get("evidence")), *map(_name_place, kept)]


def _name_place(kept: object) -> object:
    return (
        {name: kept[name] for name in PLACE if name in kept} if isinstance(kept, Mapping) else kept
    )


def _check_texts(name: str, given: object) -> list[str]:
    return [_check_text(name, text) for text in to_list(name, given)]


def _check_text(name: str, given: object) -> str:
    return canonical.check_text(name, given, max_bytes=NAME_BYTES)
