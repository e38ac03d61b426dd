"""The context card: what a session is reminded of, as something to click on."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from holdfast.ground.confined import ConfinedRoot
from holdfast.sessions.context_sets import as_applet
from holdfast.sessions.model import Session
from holdfast.surfaces.console import links

OWN_SETS = ("files", "applet", "endpoints", "ports")
OUTSIDE = "outside the folders shown here"
WHAT_IT_SHOWS = {links.EDITOR: "{name} in the text editor", links.DIFF: "the changes of {name}"}


@dataclass(frozen=True)
class CardItem:
    """A line of the card; without a link it is plain text, and a note names a problem."""

    text: str
    title: str = ""
    link: str | None = None
    note: str = ""


@dataclass(frozen=True)
class ContextCard:
    session_id: str
    files: tuple[CardItem, ...]
    endpoints: tuple[CardItem, ...]
    ports: tuple[str, ...]
    applet: CardItem | None
    others: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def count(self) -> int:
        others = sum(len(items) for _, items in self.others)
        return len(self.files) + len(self.endpoints) + len(self.ports) + others + bool(self.applet)


def make_card(
    session: Session, roots: Sequence[ConfinedRoot], exists: Callable[[str], bool] = os.path.exists
) -> ContextCard:
    context = session.context
    return ContextCard(
        session_id=session.id,
        files=tuple(
            _make_file_item(session, path, roots, exists) for path in context.get("files", ())
        ),
        endpoints=tuple(
            CardItem(url, url, links.web_link(url)) for url in context.get("endpoints", ())
        ),
        ports=tuple(context.get("ports", ())),
        applet=_make_applet_item(session, context.get("applet", ())),
        others=tuple(
            (name, tuple(items)) for name, items in sorted(context.items()) if name not in OWN_SETS
        ),
    )


def _make_file_item(
    session: Session, path: str, roots: Sequence[ConfinedRoot], exists: Callable[[str], bool]
) -> CardItem:
    full = links.full_path(path, session.worktree)
    real = os.path.realpath(
        full
    )  # also where a link inside leads outside: nothing is told of what lies there
    is_shown = any(root.holds(real) for root in roots)
    note = ("" if exists(real) else "missing") if is_shown else "outside the folders shown here"
    target = real if is_shown else full  # the editor follows no link
    return CardItem(
        links.short_path(full, session.worktree), full, links.editor_link(target, session.id), note
    )


def _make_applet_item(session: Session, items: Sequence[str]) -> CardItem | None:
    """Offered, and never opened by itself."""
    if not items:
        return None
    params = as_applet(items).get("params", {})
    name = links.folder_name(params.get("path", ""))
    words = WHAT_IT_SHOWS.get(items[0], "{slug}") if name else "{slug}"
    about = (
        links.short_path(params["path"], session.worktree)
        if "path" in params
        else ", ".join(items[1:])
    )
    if line := params.get("line"):
        about = f"{about}, line {line}"
    text = f"Open again: {words.format(slug=items[0], name=name)}"
    return CardItem(text, about, links.applet_link(items, session.id))
