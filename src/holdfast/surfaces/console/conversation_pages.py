"""The addresses of the conversations screen: its cards with their search, and the chosen one."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response

from holdfast.conversations.model import STATUSES
from holdfast.conversations.rules import check_status
from holdfast.errors import NoWorkingTreeError
from holdfast.surfaces.console import conversation_view
from holdfast.surfaces.console.here import Console, ConsoleHere
from holdfast.surfaces.console.links import conversation_link

WORDS_CHARS = 1_000  # beyond what is looked for; only to stop reading
LABEL = 200
NO_FILES = (
    "Conversations of your agents stay on your laptops, as folders of a repository or of the "
    "machine. In a repository there, this shows them:"
)
Words = Annotated[str, Query(max_length=WORDS_CHARS)]
Label = Annotated[str, Query(max_length=LABEL)]
Count = Annotated[int, Query(ge=1)]


def add_conversations(router: APIRouter) -> None:
    _add_pages(router)
    _add_list(router)


def _add_pages(router: APIRouter) -> None:
    @router.get("/conversations")
    async def show_conversations(
        request: Request, console: ConsoleHere, q: Words = "", status: Label = "", older: Label = ""
    ) -> Response:
        """The search and the cards, and beside them the first of them."""
        worktree = console.app.served_worktree
        if worktree is None:
            absence: dict[str, Any] = {"title": "No working tree here", "message": NO_FILES}
            absence |= {"advice": ("holdfast serve",), **await console.load_strip()}
            return console.shell.render("no_conversations.html", request, **absence)
        values = await _load_list(console, worktree, q, status, older)
        found = values["found"].cards
        values |= {"preview": None, "selected": "", "is_list": True}
        if found:
            chosen = found[0].conversation.id
            preview = await conversation_view.load_preview(console.app, worktree, chosen)
            values |= {"preview": preview, "selected": chosen}
        strip = await console.load_strip()
        return console.shell.render("conversations.html", request, **values, **strip)

    @router.get("/conversations/{date}/{name}")
    async def show_conversation(
        request: Request,
        console: ConsoleHere,
        date: str,
        name: str,
        q: Words = "",
        status: Label = "",
        older: Label = "",
    ) -> Response:
        worktree = _get_worktree(console)
        chosen = f"{date}/{name}"
        preview = await conversation_view.load_preview(console.app, worktree, chosen)
        values = await _load_list(console, worktree, q, status, older)
        values |= {"preview": preview, "selected": chosen, "is_list": False}
        strip = await console.load_strip()
        return console.shell.render("conversations.html", request, **values, **strip)


def _add_list(router: APIRouter) -> None:
    @router.get("/console/conversations")
    async def show_cards(
        request: Request,
        console: ConsoleHere,
        q: Words = "",
        status: Label = "",
        older: Label = "",
        selected: Label = "",
        at: Literal["list", "detail"] = "list",
        count: Count = conversation_view.CARDS_PER_PAGE,
    ) -> Response:
        """What the search finds, more of the list, or all that is shown of it once more."""
        limit = min(count, conversation_view.MOST_CARDS)
        worktree = _get_worktree(console)
        values = await _load_list(console, worktree, q, status, older, limit)
        answer = console.shell.render("_cards.html", request, selected=selected, **values)
        if not older:
            shown = selected if at == "detail" else None
            address = conversation_link(shown, q.strip(), values["found"].status)
            answer.headers["HX-Replace-Url"] = address
        return answer

    @router.get("/console/conversations/files")
    async def show_files(
        request: Request, console: ConsoleHere, id_: Annotated[str, Query(alias="id")]
    ) -> Response:
        """How many files of one have changed, for its card."""
        worktree = _get_worktree(console)
        files = await conversation_view.count_files(console.app, worktree, id_)
        return console.shell.render("_files.html", request, files=files)


def _get_worktree(console: Console) -> str:
    worktree = console.app.served_worktree
    if worktree is None:
        raise NoWorkingTreeError
    return worktree


async def _load_list(
    console: Console,
    worktree: str,
    words: str,
    status: str,
    older: str,
    limit: int = conversation_view.CARDS_PER_PAGE,
) -> dict[str, Any]:
    if status:
        check_status(status)
    found = await conversation_view.load_cards(
        console.app,
        console.conversations,
        worktree,
        words=words.strip(),
        status=status,
        below=older or None,
        limit=limit,
    )
    return {
        "found": found,
        "statuses": STATUSES,
        "older": older,
        "worktree": worktree,
        "most": conversation_view.MOST_CARDS,
        "per_page": conversation_view.CARDS_PER_PAGE,
    }
