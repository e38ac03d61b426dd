"""The addresses of the workstreams screen: what was noted, the bundle beside it, a proof that is
run again, and the switch of the notes.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse

from holdfast.bundles.model import PHASES
from holdfast.errors import HoldfastError, InvalidValueError, NoWorkingTreeError
from holdfast.ground.masking import Mask
from holdfast.surfaces import memory_wording
from holdfast.surfaces.console import bundle_view, work_view
from holdfast.surfaces.console.here import Console, ConsoleHere
from holdfast.surfaces.console.notes_switch import NotesSwitch, find_switch, find_switch_where_off
from holdfast.surfaces.http import bodies
from holdfast.usecases import sharing
from holdfast.usecases.client_memory import check_memory, mask_check
from holdfast.workstreams.errors import NoRepositoryError, ProofNotFoundError, SharedContextOffError
from holdfast.workstreams.service import WorkstreamService

if TYPE_CHECKING:
    from holdfast.workstreams.model import Proof

NAME_CHARS = 1_000  # beyond what a workstream may be called; only to stop reading
OTHERS_SHOWN = 20
MEMORY_SHOWN = 10
BODY_BYTES = 1_000
Name = Annotated[str, Query(max_length=NAME_CHARS)]
Phase = Literal["planning", "implementation"]
Limit = Annotated[int | None, Query(ge=1, lt=1 << 31)]

NO_FILES = (
    "Notes stay in the repositories on your laptops, and are checked against the files there. "
    "In such a repository, this shows them:"
)
# What there is instead of the screen: a title, words of our own where the error's are for a
# program, what to do.
ABSENT: dict[type[HoldfastError], tuple[str, str | None, tuple[str, ...]]] = {
    NoWorkingTreeError: (
        "No working tree here",
        NO_FILES,
        ("holdfast serve",),
    ),
    SharedContextOffError: (
        "Notes in this repository are off",
        None,
        ("SHARED_CONTEXT_ENABLED=true holdfast serve",),
    ),
    NoRepositoryError: ("No repository here", None, ("git init", "holdfast serve --root FOLDER")),
}


def add_work(router: APIRouter) -> None:
    _add_screen(router)
    _add_pieces(router)
    _add_proofs(router)
    _add_switch(router)
    _add_memory(router)


# --- the screen -----------------------------------------------------------------------------------


def _add_screen(router: APIRouter) -> None:
    @router.get("/workstreams")
    async def show_workstreams(
        request: Request,
        console: ConsoleHere,
        workstream: Name = "",
        phase: Phase | None = None,
        limit: Limit = None,
    ) -> Response:
        """The notes about the work in this checkout, judged now, and what an agent would get."""
        try:
            workstreams = console.app.served_work()
            choices = work_view.list_choices(await workstreams.list_contexts())
            name, of_phase = work_view.choose(choices, workstream or None, phase)
            work, shown = await asyncio.gather(
                _load_work(console, workstreams, of_phase, name),
                _load_bundle(console, workstreams, of_phase, name, limit),
            )
        except tuple(ABSENT) as error:
            words = _describe_absence(console, error)
            strip = await console.load_strip()
            return console.shell.render("no_work.html", request, **words, **strip)
        picker = _make_picker(workstreams, choices)
        strip = await console.load_strip()
        values = {**picker, **work, **shown, **strip, "proving": console.prover.last}
        values["switch"] = find_switch(console.app.settings.home, is_on=True)
        return await asyncio.to_thread(console.shell.render, "workstreams.html", request, **values)


def _make_picker(
    workstreams: WorkstreamService, choices: list[work_view.WorkChoice]
) -> dict[str, Any]:
    names = {choice.name for choice in choices if choice.is_here}
    elsewhere = [choice for choice in choices if not choice.is_here]
    return {
        "folder": workstreams.folder,
        "phases": PHASES,
        "names": sorted(names),
        "elsewhere": elsewhere[:OTHERS_SHOWN],
        "clients": bundle_view.list_client_limits(),
    }


def _add_pieces(router: APIRouter) -> None:
    @router.get("/console/workstreams")
    async def show_work(
        request: Request,
        console: ConsoleHere,
        phase: Phase,
        workstream: Name = "",
        seen: Annotated[str, Query(max_length=20)] = "",
    ) -> Response:
        """What was noted, judged once more; nothing at all where nothing has changed."""
        workstreams = console.app.served_work()
        values = await _load_work(console, workstreams, phase, workstream or None)
        if await asyncio.to_thread(lambda: values["work"].mark) == seen:
            return Response(status_code=204)
        return await asyncio.to_thread(console.shell.render, "_work.html", request, **values)

    @router.get("/console/workstreams/bundle")
    async def show_bundle(
        request: Request,
        console: ConsoleHere,
        phase: Phase,
        workstream: Name = "",
        limit: Limit = None,
    ) -> Response:
        workstreams = console.app.served_work()
        values = await _load_bundle(console, workstreams, phase, workstream or None, limit)
        return await asyncio.to_thread(console.shell.render, "_bundle.html", request, **values)


async def _load_work(
    console: Console, workstreams: WorkstreamService, phase: str, name: str | None
) -> dict[str, Any]:
    judged = await workstreams.load(phase, name)
    proofs = await work_view.find_proofs(workstreams, judged)
    work = await asyncio.to_thread(
        work_view.make_work, judged, console.roots, workstreams.folder, proofs
    )
    return {
        "work": work,
        "verdicts": work_view.VERDICTS,
        "name": judged.context.key.workstream_id,
        # A branch may be called what no address can say, so its own work is asked for without one.
        "workstream": name or "",
        "phase": phase,
    }


async def _load_bundle(
    console: Console,
    workstreams: WorkstreamService,
    phase: str,
    name: str | None,
    limit: int | None,
) -> dict[str, Any]:
    """What an agent would get within a client's limit, or why the limit is too small."""
    bundles = console.app.bundles(workstreams)
    values = {"cap": bundle_view.make_cap(phase, limit), "verdicts": work_view.VERDICTS}
    try:
        shown = await bundle_view.load_bundle(bundles, phase, name, limit, workstreams.folder)
    except InvalidValueError as error:
        return {**values, "bundle": None, "problem": error.message}
    return {**values, "bundle": shown, "problem": ""}


def _describe_absence(console: Console, error: HoldfastError) -> dict[str, Any]:
    title, own_message, advice = ABSENT[type(error)]
    message = own_message or error.message
    switch: NotesSwitch | None = None
    if isinstance(error, SharedContextOffError):
        switch = find_switch_where_off(console.app.settings.home, error)
        if switch and not error.refused:  # the button says what a program is told in words
            message, advice = error.says, ()
    words = {"title": title, "message": message, "advice": advice}
    return {**words, "switch": switch, "folder": console.app.served_worktree or ""}


# --- proofs ---------------------------------------------------------------------------------------


def _add_proofs(router: APIRouter) -> None:
    @router.get("/console/workstreams/proof")
    async def show_proving(
        request: Request,
        console: ConsoleHere,
        seen: Annotated[str | None, Query(max_length=100)] = None,
    ) -> Response:
        """The state of the run that was started here, on any page; nothing if it was seen."""
        last = console.prover.last
        mark = last.mark if last else ""
        if mark == seen:
            return Response(status_code=204)
        return console.shell.render("_proving.html", request, proving=last)

    @router.post("/console/workstreams/proof")
    async def run_proof(request: Request, console: ConsoleHere) -> Response:
        """Run a proof of this machine again: the command of the journal, not that of a file."""
        proof_id = await _parse_proof(request)
        workstreams = console.app.served_work()
        proof = await _get_own_proof(workstreams, proof_id)
        console.prover.start(workstreams.folder, proof)
        started = {"proof_id": proof.id, "command": list(proof.command)}
        return JSONResponse(started, 202)


async def _get_own_proof(workstreams: WorkstreamService, proof_id: str) -> Proof:
    """One of this repository: what was run in another one may mean something else here."""
    judged = await workstreams.load("implementation")
    proof = await workstreams.get_proof(proof_id)
    if proof.repo != judged.context.key.repo:
        raise ProofNotFoundError(proof_id)
    return proof


async def _parse_proof(request: Request) -> str:
    proof_id = await _read_field(request, "proof_id")
    if not isinstance(proof_id, str):
        raise InvalidValueError("proof_id", proof_id, "is not a text")
    return proof_id


async def _read_field(request: Request, name: str) -> Any:
    """From a JSON object, sent as JSON: a foreign form cannot send that."""
    bodies.check_media_type(request.headers.getlist("content-type"))
    raw = await bodies.read_body(request, BODY_BYTES)
    body = bodies.parse(raw)
    if not isinstance(body, dict):
        return None
    return body.get(name)


# --- the switch -----------------------------------------------------------------------------------


def _add_switch(router: APIRouter) -> None:
    @router.post("/console/workstreams/sharing")
    async def switch_notes(request: Request, console: ConsoleHere) -> Response:
        """Switch the notes of the served repository on or off, in the person's own settings."""
        is_on = await _read_field(request, "shared_context")
        if not isinstance(is_on, bool):
            raise InvalidValueError("shared_context", is_on, "is neither true nor false")
        folder = console.app.served_work().folder
        repository = await asyncio.to_thread(_find_repository_name, folder)
        home = console.app.settings.home
        await asyncio.to_thread(sharing.set_sharing, home, repository, is_on=is_on)
        return JSONResponse({"repository": repository, "shared_context": is_on})


def _find_repository_name(folder: str) -> str:
    name = sharing.find_repository_name(folder)
    if name is None:
        raise NoRepositoryError(folder)
    return name


# --- the clients' own memory ----------------------------------------------------------------------


def _add_memory(router: APIRouter) -> None:
    @router.get("/console/workstreams/memory")
    async def show_memory(request: Request, console: ConsoleHere) -> Response:
        """What the clients remember themselves about this checkout; also where notes are off."""
        folder = console.app.served_worktree
        if folder is None:
            return Response(status_code=204)
        try:
            found = await asyncio.to_thread(check_memory, folder, os.environ)
        except NoRepositoryError:
            return Response(status_code=204)
        check = mask_check(found, Mask(console.app.settings.home))
        values: dict[str, Any] = {
            "check": check,
            "summary": memory_wording.describe_counts(check.counts),
            "extent": memory_wording.describe_extent(check),
            "stale": memory_wording.list_shown(check, folder)[:MEMORY_SHOWN],
            "problems": memory_wording.list_problems(check, folder),
            "verdicts": work_view.VERDICTS,
        }
        return await asyncio.to_thread(console.shell.render, "_memory.html", request, **values)
