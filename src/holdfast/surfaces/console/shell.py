"""The frame of every page: the rail, the strip on top, the templates and their words.

A screen joins the console with one `RailEntry` here, one template and one route.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Callable
from datetime import tzinfo
from functools import cache, partial
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from holdfast.app import App
from holdfast.bundles.quoting import short_repo
from holdfast.errors import HoldfastError, Unavailable
from holdfast.ground import clock
from holdfast.ground.errors import GitFailedError, GitMissingError
from holdfast.ground.frozen import dataclass
from holdfast.ground.settings import is_sqlite
from holdfast.ground.text import plural, term_safe
from holdfast.sessions.requests import find_summary
from holdfast.surfaces.cli.actions import word_actions
from holdfast.surfaces.cli.client_wording import describe_hook_price, describe_text_price
from holdfast.surfaces.console import links, markdown, showing

HERE = os.path.dirname(os.path.abspath(__file__))
STATIC = os.path.join(HERE, "static")
ZONE_COOKIE = "holdfast_zone"


@dataclass(frozen=True)
class RailEntry:
    """A line of the rail: a screen's name, its address, and its sign as an SVG path of 24 by 24."""

    name: str
    link: str
    sign: str


RAIL = (
    RailEntry(
        "Coordination",
        "/coordination",
        "M8.5 7.5a3 3 0 1 0 .01 0M16.5 9.5a2.4 2.4 0 1 0 .01 0M3 19.5c0-3 2.4-5 5.5-5s5.5 2 5.5 5"
        "M16.5 15.5c2.6 0 4.5 1.6 4.5 4",
    ),
    RailEntry("Sessions", "/sessions", "M5 5h14M5 10h14M5 15h9M5 20h6"),
    RailEntry(
        "Conversations",
        "/conversations",
        "M5 4.5h14a1.5 1.5 0 0 1 1.5 1.5v9a1.5 1.5 0 0 1-1.5 1.5h-7.5L7 20.5v-4H5A1.5 1.5 0 0 1 "
        "3.5 15V6A1.5 1.5 0 0 1 5 4.5M8 9h8M8 12.5h5",
    ),
    RailEntry(
        "Workstreams",
        "/workstreams",
        "M7 8.5v7M7 4.5a2 2 0 1 0 .01 0M7 15.5a2 2 0 1 0 .01 0"
        "M17 4.5a2 2 0 1 0 .01 0M17 8.5c0 4-10 2.5-10 7",
    ),
)

MARKS = {"passed": ("✓", "passed"), "failed": ("✗", "failed"), "unknown": ("?", "not known")}

# What the templates may call.
FILTERS: dict[str, Callable[..., str]] = {
    "seen": showing.mark_unseen,
    "with_code": showing.with_code,
    "markdown": markdown.render,
    "gist": markdown.find_gist,
    "plain": term_safe,  # for attributes and titles, which take no marks
    "plural": plural,
    "client_title": showing.client_title,
    "thousands": "{:,}".format,
    "pretty": showing.pretty,
    "hook_price": describe_hook_price,
    "text_price": describe_text_price,
    "given": showing.describe_given,
    "output": showing.describe_output,
    "summary": find_summary,
    "first_words": showing.first_words,
    "as_typed": shlex.join,
    "short_repo": short_repo,
}
GLOBALS: dict[str, Any] = {
    "rail": RAIL,
    "marks": MARKS,
    "client_mark": showing.client_mark,
    "session_link": links.session_link,
    "event_link": links.event_link,
    "editor_link": links.editor_link,
    "line_link": links.line_link,
    "diff_link": links.diff_link,
    "conversation_link": links.conversation_link,
    "work_link": links.work_link,
    "work_piece_link": links.work_piece_link,
    "coordination_link": links.coordination_link,
    "coordination_piece_link": links.coordination_piece_link,
    "full_path": links.full_path,
    "short_path": links.short_path,
    "folder_name": links.folder_name,
    "span_text": showing.span_text,
    "as_moment": showing.as_moment,
    "at_seconds": showing.at_seconds,
}


class Shell:
    """Turns a template and its values into an answer."""

    def __init__(self, app: App):
        self.workspace = app.settings.workspace
        self.developer = app.settings.developer
        # Of a team: it has no working tree, and the agents run on other machines.
        self.is_server = not (app.is_at_home and is_sqlite(app.settings.database))
        self.has_stock = app.is_at_home  # the accounts are for who runs the machine

    def render(
        self, template: str, request: Request, status: int = 200, **values: Any
    ) -> HTMLResponse:
        zone = showing.find_zone(request.cookies.get(ZONE_COOKIE))
        times = {
            "clock": partial(showing.clock_text, zone=zone),
            "moment": partial(showing.moment_text, zone=zone),
            "recent_moment": partial(showing.recent_moment_text, now=clock.now(), zone=zone),
            "short_moment": partial(showing.short_moment_text, zone=zone),
            "iso": clock.to_text,
            "zone_name": zone_name(zone),
        }
        page = load_templates().get_template(template).render(shell=self, **times, **values)
        # Never kept: a page shows what is stored now, and a shared machine must not show it again.
        return HTMLResponse(page, status, headers={"Cache-Control": "no-store"})

    def render_problem(self, request: Request, error: HoldfastError, **values: Any) -> HTMLResponse:
        """An error as a page: what it is about, and what to do."""
        words = {
            "title": _choose_title(error),
            "message": str(error),
            "advice": word_actions(error.next_actions),
        }
        return self.render("message.html", request, error.http_status, **words, **values)


@cache
def load_templates() -> Environment:
    """Once a process, however many apps it makes: compiling them takes longer than a page."""
    templates = Environment(
        loader=FileSystemLoader(os.path.join(HERE, "templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= FILTERS
    templates.globals |= {**GLOBALS, "static": partial(static_link, static_hashes())}
    return templates


_TITLES = {
    404: "Not found",
    400: "Not understood",
    422: "Not allowed",
    409: "Changed in the meantime",
}


def _choose_title(error: HoldfastError) -> str:
    if isinstance(error, GitMissingError | GitFailedError):
        return "Git does not answer"
    if isinstance(error, Unavailable):
        return "The store is not available"
    return _TITLES.get(error.http_status, "This cannot be shown")


def zone_name(zone: tzinfo | None) -> str:
    return str(zone) if zone else ""


def static_hashes() -> dict[str, str]:
    """By name; an address with the hash changes with the file, so browsers may cache it."""
    hashes = {}
    for folder, _, names in os.walk(STATIC):
        for name in names:
            path = os.path.join(folder, name)
            hashes[os.path.relpath(path, STATIC)] = _hash_file(path)
    return hashes


def _hash_file(path: str) -> str:
    with open(path, "rb") as file:
        digest = hashlib.sha256(file.read())
    return digest.hexdigest()[:12]


def static_link(hashes: dict[str, str], name: str) -> str:
    return f"/static/{name}?v={hashes[name]}"
