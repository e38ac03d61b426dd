"""The context card: what a session is reminded of, as something to click on."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from holdfast.ground.confined import ConfinedRoot
from holdfast.ground.frozen import dataclass
from holdfast.sessions.context_sets import as_applet
from holdfast.sessions.model import Session
from holdfast.surfaces.console import links

OWN_SETS = {"files", "applet", "endpoints", "ports"}
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
        counts = [len(self.files), len(self.endpoints), len(self.ports)]
        counts += [len(items) for _, items in self.others]
        if self.applet:
            counts.append(1)
        return sum(counts)


def make_card(
    session: Session, roots: Sequence[ConfinedRoot], exists: Callable[[str], bool] = os.path.exists
) -> ContextCard:
    context = session.context
    paths = context.get("files", ())
    urls = context.get("endpoints", ())
    ports = context.get("ports", ())
    applet = context.get("applet", ())
    other_names = sorted(context.keys() - OWN_SETS)
    return ContextCard(
        session_id=session.id,
        files=tuple(make_file_item(session, path, roots, exists) for path in paths),
        endpoints=tuple(CardItem(url, url, links.web_link(url)) for url in urls),
        ports=tuple(ports),
        applet=_make_applet_item(session, applet),
        others=tuple((name, tuple(context[name])) for name in other_names),
    )


def make_file_item(
    session: Session,
    path: str,
    roots: Sequence[ConfinedRoot],
    exists: Callable[[str], bool] = os.path.exists,
) -> CardItem:
    full = links.full_path(path, session.worktree)
    short = links.short_path(full, session.worktree)
    # A link inside may lead outside: then not even whether the file exists is shown.
    real = os.path.realpath(full)
    is_inside = any(root.holds(real) for root in roots)
    if not is_inside:
        link = links.editor_link(full, session.id)
        return CardItem(short, full, link, OUTSIDE)
    note = "" if exists(real) else "missing"
    # The editor follows no link, so it gets the real path.
    link = links.editor_link(real, session.id)
    return CardItem(short, full, link, note)


def _make_applet_item(session: Session, items: Sequence[str]) -> CardItem | None:
    """Offered, and never opened by itself."""
    if not items:
        return None
    slug, *options = items
    params = as_applet(items).get("params", {})
    path = params.get("path", "")
    line = params.get("line")
    about = ", ".join(options)
    if "path" in params:
        about = links.short_path(path, session.worktree)
    if line:
        about = f"{about}, line {line}"
    text = f"Open again: {_describe_applet(slug, path)}"
    link = links.applet_link(items, session.id)
    return CardItem(text, about, link)


def _describe_applet(slug: str, path: str) -> str:
    name = links.folder_name(path)
    if not name or slug not in WHAT_IT_SHOWS:
        return slug
    return WHAT_IT_SHOWS[slug].format(name=name)
