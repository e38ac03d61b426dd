"""Three nodes: load and judge the notes, hand them to the agent in a bundle, write the results.

Each is a plain callable, so a graph may run it with or without an event loop. When the flag is off
each returns nothing and starts nothing. What a rule refuses (a claim without evidence, a summary
that was not verified, a number instead of a text) does not stop the graph: it is reported in the
state with its reason, and nothing of it is stored. A broken store or repository does not stop it
either. Running a node again on the same state writes nothing twice.

What they read in `state.context`: `share_session`, `repo_path`, `phase`, `workstream_id`,
`feature_request`; for writing `summary`, `decisions`, `claims`, `checklist`, `file_pointers`, and
of a failed run `failed_step`, `error`, `next_action`. A single value may stand for a list.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from holdfast.app import App
from holdfast.ground.off_loop import run_in_thread
from holdfast.ground.settings import Settings
from holdfast.surfaces.langgraph.sharing import open_work, parse_share
from holdfast.surfaces.langgraph.state import (
    ERROR,
    describe_refusal,
    find_field,
    find_in_context,
    make_update,
)
from holdfast.surfaces.langgraph.writing import StateWriter
from holdfast.workstreams.model import JudgedClaim, JudgedContext
from holdfast.workstreams.service import WorkstreamService

Update = dict[str, Any]


class _Node(ABC):
    """What the three have in common: where they look, and when they do nothing."""

    def __init__(
        self,
        *,
        folder: str | None = None,
        phase: str = "implementation",
        settings: Settings | None = None,
    ):
        self.folder = folder
        self.phase = phase
        self.settings = settings

    def __call__(self, state: Any) -> Update:
        return run_in_thread(self._attempt, state)  # a notebook calls a graph on its loop

    def _attempt(self, state: Any) -> Update:
        try:
            return self._run_where_on(state)
        except Exception as error:  # whatever the error, the caller's graph continues
            return make_update(state, {ERROR: describe_refusal(error)})

    def _run_where_on(self, state: Any) -> Update:
        share = parse_share(find_in_context(state, "share_session"))
        folder = find_in_context(state, "repo_path") or self.folder
        with open_work(folder, share, self.settings) as place:
            if place is None:
                return {}
            app, work = place
            about = {
                "phase": find_in_context(state, "phase") or self.phase,
                "workstream_id": find_in_context(state, "workstream_id"),
            }
            return self.work(app, work, state, about)

    @abstractmethod
    def work(self, app: App, work: WorkstreamService, state: Any, about: dict[str, Any]) -> Update:
        """What this node does where sharing is on."""


class ContextLoadNode(_Node):
    """Before the workflow is chosen: the notes of earlier sessions, judged on this checkout."""

    def work(self, app: App, work: WorkstreamService, state: Any, about: dict[str, Any]) -> Update:
        judged = app.run(work.load(**about))
        sessions = app.run(work.list_client_sessions(**about))
        is_stale = judged.staleness.stale
        context = judged.context
        version = {"key": context.key.to_dict(), "revision": context.revision}
        metadata: dict[str, Any] = {"shared_context": version, "stale": is_stale}
        given = _find_sessions(state)
        if isinstance(given, Mapping):
            metadata["cli_sessions"] = {**sessions, **given}
        found = {"shared_context": judged.to_dict(), "stale": is_stale}
        return make_update(state, found, metadata)


class ValidationNode(_Node):
    """Before the agent: judged again, because files may have changed, and handed over as a bundle.

    What is stale comes first in it, and `rescan` names the files to read again before relying on
    any note about them.
    """

    def work(self, app: App, work: WorkstreamService, state: Any, about: dict[str, Any]) -> Update:
        judged = app.run(work.load(**about))
        bundles = app.bundles(work)
        bundle = app.run(bundles.build(about["phase"], about["workstream_id"]))
        is_stale = judged.staleness.stale
        unproven = _list_unproven(judged)
        validation = {
            "stale": is_stale,
            "rescan": _list_files_to_rescan(judged),
            "unproven": [claim.to_dict() for claim in unproven],
        }
        found = {
            "context_bundle": bundle.text,
            "context_receipt": bundle.id,
            "validation": validation,
            "stale": is_stale,
        }
        return make_update(state, found, {"context_receipt": bundle.id})


class ContextWriteNode(_Node):
    """At the end: decisions, claims and a verified summary; of a failed run only the failure."""

    def work(self, app: App, work: WorkstreamService, state: Any, about: dict[str, Any]) -> Update:
        before = find_in_context(state, "context_write")
        writing = StateWriter(app, work, about, find_field(before, "done"))
        if find_in_context(state, "error"):
            writing.keep_failure(state)
        else:
            writing.keep_learned(state)
        writing.keep_sessions(_find_sessions(state))
        report = {"written": writing.written, "refused": writing.refused, "done": writing.done}
        return make_update(state, {"context_write": report})

    def note_failure(self, state: Any, step: str, error: Exception) -> None:
        """Of a node that raised, and so returned no state that could report it."""
        names = ("share_session", "repo_path", "phase", "workstream_id", "next_action")
        context = {name: find_in_context(state, name) for name in names}
        failed = {**context, "failed_step": step, "error": error}
        self({"context": failed, "plan": find_field(state, "plan")})


def _find_sessions(state: Any) -> Any:
    """The sessions of dispatched clients, from the plan's metadata."""
    plan = find_field(state, "plan")
    metadata = find_field(plan, "metadata")
    found = find_field(metadata, "cli_sessions")
    return {} if found is None else found


def _list_files_to_rescan(judged: JudgedContext) -> list[str]:
    """Files that changed, then the evidence of unproven claims, each once."""
    paths = [change.path for change in judged.staleness.changed if change.what != "gone"]
    for claim in _list_unproven(judged):
        paths += [evidence.path for evidence in claim.evidence if evidence.path]
    return list(dict.fromkeys(paths))


def _list_unproven(judged: JudgedContext) -> list[JudgedClaim]:
    return [claim for claim in judged.claims if not claim.holds]
