"""Three nodes: load what was noted and judge it, hand it to the agent in a bundle, write down what was learned.

Each is a plain callable, so a graph may run it with or without an event loop. When the flag is off each returns nothing
and starts nothing. What a rule refuses (a claim without evidence, a summary that nobody verified) does not stop the
graph: it stands in the state with its reason. A store or a repository that is out of order does not stop it either.

What they read in `state.context`: `share_session`, `repo_path`, `phase`, `workstream_id`, `feature_request`; for
writing `summary`, `decisions`, `claims`, `checklist`, `file_pointers`, and of a failed run `failed_step`, `error`,
`next_action`.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from holdfast import errors
from holdfast.app import App
from holdfast.ground.off_loop import apart
from holdfast.ground.settings import Settings
from holdfast.surfaces.langgraph.state import context_of, field, update
from holdfast.workstreams.model import JudgedContext
from holdfast.workstreams.service import WorkstreamService

Update = dict[str, Any]


class _Node(ABC):
    """What the three have in common: where they look, and when they do nothing."""

    def __init__(self, *, folder: str | None = None, phase: str = "implementation", settings: Settings | None = None):
        self.folder, self.phase, self.settings = folder, phase, settings

    def __call__(self, state: Any) -> Update:
        return apart(self._attempt, state)  # a notebook calls a graph on its loop

    def _attempt(self, state: Any) -> Update:
        context = context_of(state)
        about = {"phase": context.get("phase") or self.phase, "workstream_id": context.get("workstream_id")}
        try:
            with self._opened(context) as (app, work):
                return self.work(app, work, state, about) if work.is_on() else {}
        except errors.HoldfastError as error:
            return update(state, {"shared_context_error": _refusal(error)})

    @contextmanager
    def _opened(self, context: Mapping[str, Any]) -> Iterator[tuple[App, WorkstreamService]]:
        share = context.get("share_session")
        folder = context.get("repo_path") or self.folder or os.getcwd()
        with App(self.settings) as app:
            yield app, app.workstreams(folder, share=share if isinstance(share, bool) else None)

    @abstractmethod
    def work(self, app: App, work: WorkstreamService, state: Any, about: dict[str, Any]) -> Update:
        """What this node does where sharing is on."""


class ContextLoadNode(_Node):
    """Before the workflow is chosen: what earlier sessions noted, each part with its verdict on this checkout."""

    def work(self, app: App, work: WorkstreamService, state: Any, about: dict[str, Any]) -> Update:
        judged = app.run(work.load(**about))
        sessions = app.run(work.list_client_sessions(**about))
        metadata = {
            "shared_context": {"key": judged.context.key.to_dict(), "revision": judged.context.revision},
            "stale": judged.staleness.stale,
            "cli_sessions": {**sessions, **_sessions_in(state)},
        }
        return update(state, {"shared_context": judged.to_dict(), "stale": judged.staleness.stale}, metadata)


class ValidationNode(_Node):
    """Before the agent: judged once more, because files may have changed since, and handed over as a bundle.

    What is stale comes first in it, and `rescan` names the files to read again before anything about them is believed.
    """

    def work(self, app: App, work: WorkstreamService, state: Any, about: dict[str, Any]) -> Update:
        judged = app.run(work.load(**about))
        bundle = app.run(app.bundles(work).build(about["phase"], about["workstream_id"]))
        validation = {
            "stale": judged.staleness.stale,
            "rescan": _rescan(judged),
            "unproven": [claim.to_dict() for claim in judged.claims if not claim.holds],
        }
        found = {"context_bundle": bundle.text, "context_receipt": bundle.id, "validation": validation}
        return update(state, {**found, "stale": judged.staleness.stale}, {"context_receipt": bundle.id})


class ContextWriteNode(_Node):
    """At the end: what was decided and shown; the summary only if something verified it; of a failed run only that."""

    def work(self, app: App, work: WorkstreamService, state: Any, about: dict[str, Any]) -> Update:
        context = context_of(state)
        writing = _Writing(app)
        if context.get("error"):
            writing.attempt(
                "last_run",
                work.fail,
                step=str(context.get("failed_step") or "unknown"),
                error=str(context["error"]),
                next_action=str(context.get("next_action") or "look at the error"),
                **about,
            )
        else:
            _write_all(writing, work, context, about)
        _keep_sessions(writing, work, state, about)
        return update(state, {"context_write": {"written": writing.written, "refused": writing.refused}})


class _Writing:
    """What got through and what did not, each on its own."""

    def __init__(self, app: App):
        self.app = app
        self.written: list[str] = []
        self.refused: list[dict[str, Any]] = []

    def attempt(self, name: str, verb: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        try:
            self.app.run(verb(*args, **kwargs))
            self.written.append(name)
        except errors.HoldfastError as error:
            self.refused.append({"what": name, **_refusal(error)})


def _write_all(writing: _Writing, work: WorkstreamService, context: Mapping[str, Any], about: dict[str, Any]) -> None:
    for given in _several(context, "decisions"):
        named = {"decision_id": given.get("id"), "status": given.get("status"), "because": given.get("because")}
        writing.attempt("decision", work.decide, given.get("text"), **named, **about)
    for given in _several(context, "claims"):
        text, shown = given.get("text") or given.get("claim"), given.get("evidence") or ()
        writing.attempt("claim", work.claim, text, shown, kind=given.get("kind"), **about)
    if context.get("checklist") is not None:
        writing.attempt("checklist", work.set_checklist, context["checklist"], **about)
    if context.get("file_pointers"):
        writing.attempt("file_pointers", work.point, context["file_pointers"], **about)
    if context.get("summary"):
        request = context.get("feature_request")
        writing.attempt("summary", work.save, context["summary"], feature_request=request, **about)


def _keep_sessions(writing: _Writing, work: WorkstreamService, state: Any, about: dict[str, Any]) -> None:
    for client, one in _sessions_in(state).items():
        session = one if isinstance(one, Mapping) else {"id": one}
        if isinstance(session.get("id"), str):
            path = session.get("local_path")
            writing.attempt("cli_session", work.keep_client_session, client, session["id"], local_path=path, **about)


def _sessions_in(state: Any) -> dict[str, Any]:
    """What dispatched clients called their sessions, as a plan's metadata has it."""
    metadata = field(field(state, "plan"), "metadata") or {}
    return dict(metadata.get("cli_sessions") or {})


def _rescan(judged: JudgedContext) -> list[str]:
    changed = [change.path for change in judged.staleness.changed if change.what != "gone"]
    doubted = [one.path for claim in judged.claims if not claim.holds for one in claim.evidence if one.path]
    return list(dict.fromkeys([*changed, *doubted]))


def _several(context: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Several entries, each an object; a text alone is an entry that is only a text."""
    found = context.get(name)
    given = found if isinstance(found, list | tuple) else ()
    return [dict(one) if isinstance(one, Mapping) else {"text": one} for one in given]


def _refusal(error: errors.HoldfastError) -> dict[str, Any]:
    return {"code": error.code, "message": error.message, "next_actions": list(error.next_actions)}
