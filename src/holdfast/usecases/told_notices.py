"""Explaining notices: which entry was told, why it matched, when and in which session."""

from __future__ import annotations

from datetime import UTC, datetime

from holdfast.clients import find_client
from holdfast.clients.contract import PROMPT, START
from holdfast.conversations import offering
from holdfast.ground import clock
from holdfast.ground.frozen import asdict, dataclass
from holdfast.notices import model, store
from holdfast.usecases.noticing import open_index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.app import App

SHOWN = 20
NAMED = {START: "start", PROMPT: "prompt"}  # every other hook that tells something is at an edit
REASONS = {
    model.FILE: "it names the file {term}",
    model.SYMBOL: "it names {term}",
    model.DEPENDENCY: "it is about the package {term}",
    model.NEW_DEPENDENCY: "{term} is a new dependency",
    model.COMMAND: "it is about the command {term}",
    model.WORDS: "it is about {term}",
    model.OVERLAP: "a teammate or another session works on {term}",
    model.HANDOFF: "a handoff was offered to the user",
    offering.PAUSE: "the user seemed to stop",
    offering.REMINDER: "{term} requests were not saved",
}


@dataclass(frozen=True)
class ExplainedNotice:
    at: datetime
    client: str
    native_id: str
    session_id: str | None  # ours, where something of that session was stored
    moment: str  # start, prompt or edit
    entry: str
    kind: str
    why: str
    text: str | None  # as it is noted now; None where it no longer counts here

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "at": clock.to_text(self.at)}


async def explain_notices(app: App, worktree: str) -> list[ExplainedNotice]:
    """The newest of a working tree first."""
    told = store.list_told(app.settings.home, worktree)[:SHOWN]
    if not told:
        return []
    texts = _list_texts(app, worktree)
    return [await _explain(app, line, texts) for line in told]


def _list_texts(app: App, worktree: str) -> dict[str, str]:
    index = open_index(app.settings, worktree).find(is_current=False)
    entries = [index.entries[number] for number in range(len(index.entries))] if index else []
    return {entry["identity"]: entry["text"] for entry in entries}


async def _explain(app: App, line: dict[str, Any], texts: dict[str, str]) -> ExplainedNotice:
    client, native_id = str(line.get("client")), str(line.get("native_id"))
    reason = REASONS.get(str(line.get("reason")), "")
    return ExplainedNotice(
        at=datetime.fromtimestamp(store.read_moment(line), UTC),
        client=client,
        native_id=native_id,
        session_id=await app.scope.session_store.find_last_native_id(client, native_id),
        moment=_name_moment(client, str(line.get("hook"))),
        entry=str(line.get("id")),
        kind=str(line.get("kind")),
        why=reason.format(term=line.get("term")),
        text=texts.get(str(line.get("entry")), line.get("text")),
    )


def _name_moment(client: str, hook: str) -> str:
    known = find_client(client)
    kind = known.MOMENTS.get(hook) if known is not None else None
    return NAMED.get(kind or "", "edit")
