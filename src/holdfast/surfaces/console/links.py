"""Which texts become links, and where they lead.

A stored text is data. It becomes a link to the web only if it parses as a plain http or https
address, and a link into the console only as a value inside an address that we build. Everything
else stays text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlencode, urlsplit

from holdfast.ground.patterns import compile_later
from holdfast.ground.text import term_safe
from holdfast.sessions.context_sets import as_applet

EDITOR, DIFF = "text-editor", "git-diff"
COORDINATION = "coordination"
LINK_CHARS = 2000
OWN_PARAMS = ("applet", "session", "line")
_NOT_IN_LINKS = compile_later(r"[\s\\<>\"'`{}|^]")
# A host in plain letters: one that only looks like another, or hides behind a login, stays text.
_HOST = compile_later(r"[a-z0-9]([a-z0-9.-]{0,252})|\[[0-9a-f:.]{2,45}\]", re.IGNORECASE)
LINE = compile_later(r"[1-9]\d{0,6}")


def web_link(text: str) -> str | None:
    """The address, if it is one that a click may open; otherwise None."""
    if len(text) > LINK_CHARS or term_safe(text) != text or _NOT_IN_LINKS.search(text):
        return None
    try:
        parts = urlsplit(text)
        host, port = parts.netloc, parts.port
    except ValueError:
        return None
    begins_with_scheme = text.lower().startswith(f"{parts.scheme}://")
    if parts.scheme not in ("http", "https") or not begins_with_scheme:
        return None
    name = host if port is None else host.removesuffix(f":{port}")
    if _HOST.fullmatch(name):
        return text
    return None


def editor_link(
    path: str, session_id: str | None = None, came_from: str | None = None, **more: str
) -> str:
    """Where a file opens; the session is named so that the editor can say later what was open.

    `came_from` is a screen to go back to.
    """
    params = {"applet": EDITOR, "path": path, "session": session_id, "from": came_from}
    return _console_link({**params, **more})


def diff_link(
    path: str,
    session_id: str | None = None,
    since: str | None = None,
    came_from: str | None = None,
) -> str:
    """Where a file is compared with a commit, by default HEAD."""
    params = {
        "applet": DIFF,
        "path": path,
        "session": session_id,
        "since": since,
        "from": came_from,
    }
    return _console_link(params)


def conversation_link(
    conversation_id: str | None = None,
    words: str = "",
    status: str = "",
    older: str | None = None,
) -> str:
    """Where it is shown, beside the list that was looked through."""
    query = _make_query({"q": words or None, "status": status or None, "older": older})
    path = f"/conversations/{conversation_id}" if conversation_id else "/conversations"
    return f"{quote(path)}?{query}" if query else quote(path)


def work_link(workstream_id: str | None = None, phase: str | None = None) -> str:
    query = _make_query({"workstream": workstream_id or None, "phase": phase})
    if query:
        return f"/workstreams?{query}"
    return "/workstreams"


def work_piece_link(workstream_id: str, phase: str, seen: str) -> str:
    """Where the notes are fetched again, unless they are the ones that were seen."""
    query = _make_query({"workstream": workstream_id, "phase": phase, "seen": seen})
    return f"/console/workstreams?{query}"


def coordination_link(repo: str = "", person: str = "") -> str:
    """Where the team is shown, of one repository or one developer."""
    query = _make_query({"repo": repo or None, "person": person or None})
    return f"/coordination?{query}" if query else "/coordination"


def coordination_piece_link(repo: str, person: str, seen: str) -> str:
    """Where it is fetched again, unless it is what was seen."""
    query = _make_query({"repo": repo or None, "person": person or None, "seen": seen})
    return f"/console/coordination?{query}"


def applet_link(items: Sequence[str], session_id: str) -> str:
    """Where a captured applet opens again; no parameter names another applet or session."""
    applet = as_applet(items)
    params: Mapping[str, str] = applet.get("params", {})
    line = params.get("line", "")
    kept = {key: value for key, value in params.items() if key not in OWN_PARAMS}
    query = {"applet": applet["slug"], **kept, "session": session_id}
    if not LINE.fullmatch(line):
        return _console_link(query)
    link = _console_link({**query, "line": line})
    return f"{link}#L{line}"


def line_link(
    path: str, session_id: str | None, asked: int, target: int, came_from: str | None = None
) -> str:
    """The lines around one of a file, with another of them to look at."""
    link = editor_link(path, session_id, came_from, line=str(asked))
    return f"{link}#L{target}"


def session_link(session_id: str, **more: str) -> str:
    link = f"/sessions/{session_id}"
    if more:
        return f"{link}?{urlencode(more)}"
    return link


def event_link(session_id: str, sequence: int, part: str = "step") -> str:
    """Where the turn of an event is shown, at that `part` of it."""
    link = session_link(session_id, at=str(sequence))
    return f"{link}#{part}-{sequence}"


def full_path(path: str, worktree: str | None) -> str:
    """A relative path belongs to the session's working tree."""
    if os.path.isabs(path) or not worktree:
        return path
    return os.path.join(worktree, path)


def short_path(path: str, worktree: str | None) -> str:
    """Relative to the working tree, for a path inside it."""
    if not worktree:
        return path
    return path.removeprefix(worktree.rstrip("/") + "/")


def folder_name(path: str) -> str:
    return os.path.basename(path.rstrip("/")) or path


def _console_link(params: Mapping[str, str | None]) -> str:
    return f"/?{_make_query(params)}"


def _make_query(params: Mapping[str, str | None]) -> str:
    """Without what is None; a file name that is not UTF-8 must not break the page."""
    given = {key: value for key, value in params.items() if value is not None}
    return urlencode(given, errors="replace")
