"""What a run leaves behind, read from a state that anybody may have filled, each part on its own.

A part that a rule refuses is named with its reason, nothing of it is stored, and the others are written all the same.
A state that is kept from run to run still holds what an earlier one has left behind. That was written then, and perhaps
withdrawn or made stale since: the state notes what it has written, and only what is new is written.
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
from holdfast.surfaces.langgraph.state import refusal, said, several
from holdfast.workstreams.service import WorkstreamService

NAME_BYTES = 4096
DONE_KEPT = 500
PLACE = ("path", "lines", "symbol", "proof")  # of a ledger's entry; what stood there is looked up anew


class Writing:
    def __init__(self, app: App, work: WorkstreamService, about: dict[str, Any], done: object = ()):
        self.run, self.work, self.about = app.run, work, about
        self.done = [str(one) for one in done] if isinstance(done, list) else []
        self.written: list[str] = []
        self.refused: list[dict[str, Any]] = []

    def keep_failure(self, state: Any) -> None:
        error = said(state, "error")
        told = {
            "step": str(said(state, "failed_step") or "unknown"),
            "error": "".join(format_exception_only(error)) if isinstance(error, BaseException) else str(error),
            "next_action": str(said(state, "next_action") or "look at the error"),
        }
        with self._noted("last_run"):
            self.run(self.work.fail(**told, **self.about))

    def keep_learned(self, state: Any) -> None:
        """A run that got through also ends the failure of an earlier one, whether it brings a summary or not."""
        before = self.run(self.work.load(**self.about)).context.last_run or {}
        self._keep_decisions(said(state, "decisions"))
        self._keep_claims(said(state, "claims"))
        if (checklist := said(state, "checklist")) is not None and self._is_new("checklist", checklist):
            with self._noted("checklist", checklist):
                self.run(self.work.set_checklist(_texts("checklist", checklist), **self.about))
        if (pointers := said(state, "file_pointers")) and self._is_new("file_pointers", pointers):
            with self._noted("file_pointers", pointers):
                self.run(self.work.point(_texts("file_pointers", pointers), **self.about))
        if (summary := said(state, "summary")) and self._is_new("summary", summary):
            with self._noted("summary", summary):
                self.run(self.work.save(summary, feature_request=said(state, "feature_request"), **self.about))
        if before.get("status") == "failed":
            with self._noted("last_run"):
                self.run(self.work.succeed(**self.about))

    def keep_sessions(self, given: object) -> None:
        if not isinstance(given, Mapping):
            self._refuse("cli_session", InvalidValueError("cli_sessions", given, "has no session for each client"))
            return
        for client, one in given.items():
            session = one if isinstance(one, Mapping) else {"id": one}
            if session.get("id") is None:  # a client that has not begun one
                continue
            with self._noted("cli_session"):
                name, native_id = _text("client", client), _text("cli_sessions", session["id"])
                path = session.get("local_path")
                path = None if path is None else _text("local_path", path)
                self.run(self.work.keep_client_session(name, native_id, local_path=path, **self.about))

    def _keep_decisions(self, given: object) -> None:
        for one in self._each("decision", given):
            with self._noted("decision", one):
                named: dict[str, Any] = {"decision_id": one.get("id")}
                named |= {name: one.get(name) for name in ("status", "because")}
                self.run(self.work.decide(one.get("text"), **named, **self.about))

    def _keep_claims(self, given: object) -> None:
        for one in self._each("claim", given):
            with self._noted("claim", one):
                text = one["text"] if one.get("text") is not None else one.get("claim")
                self.run(self.work.claim(_text("claim", text), _shown(one), kind=one.get("kind"), **self.about))

    def _each(self, name: str, given: object) -> list[Mapping[str, Any]]:
        """Entries as objects; a text alone is an entry that is only a text."""
        try:
            entries = [one if isinstance(one, Mapping) else {"text": one} for one in several(f"{name}s", given)]
            return [one for one in entries if self._is_new(name, one)]
        except InvalidValueError as error:
            self._refuse(name, error)
            return []

    def _is_new(self, name: str, item: object) -> bool:
        return _mark(name, item) not in self.done

    @contextmanager
    def _noted(self, name: str, item: object = None) -> Iterator[None]:
        try:
            yield
            self.written.append(name)
            self.done = [*self.done, *([_mark(name, item)] if item is not None else [])][-DONE_KEPT:]
        except Exception as error:  # whatever it is, the other parts are written
            self._refuse(name, error)

    def _refuse(self, name: str, error: Exception) -> None:
        self.refused.append({"what": name, **refusal(error)})


def _mark(name: str, item: object) -> str:
    """The same for the same words, in whatever process."""
    text = json.dumps([name, item], sort_keys=True, default=repr)
    return canonical.sha256(text.encode()).hex()[:16]


def _shown(claim: Mapping[str, Any]) -> list[Any]:
    """Evidence as it is given, or as a ledger has it: `files` with their lines, `commands` with their proofs."""
    kept = [*several("files", claim.get("files")), *several("commands", claim.get("commands"))]
    named = [{name: one[name] for name in PLACE if name in one} if isinstance(one, Mapping) else one for one in kept]
    return [*several("evidence", claim.get("evidence")), *named]


def _texts(name: str, given: object) -> list[str]:
    return [_text(name, one) for one in several(name, given)]


def _text(name: str, given: object) -> str:
    return canonical.check_text(name, given, max_bytes=NAME_BYTES)
