"""A repository with notes, and a server that shows them: each test works on a branch of its own."""

import itertools
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from holdfast.app import App
from holdfast.ground.settings import Settings
from holdfast.workstreams.service import WorkstreamService
from tests.surfaces.console.browsing import DEVELOPER
from tests.surfaces.console.story import run_in_own_thread
from tests.surfaces.http.server import Server, run_server
from tests.workstreams.repos import Repo

RETRY = '''"""When a failed webhook is tried again."""

BASE = 30
ATTEMPTS = 8


def schedule(attempt):
    """Seconds to wait after this attempt."""
    return BASE * 2**attempt


def deliver(event):
    return event.post()
'''
_NUMBERS = itertools.count()


def with_code(folder: Path) -> Repo:
    repo = Repo(folder)
    repo.write("src/retry.py", RETRY)
    repo.write("src/models.py", "class Attempt:\n    number: int\n    event: str\n")
    repo.write("docs/adr.md", "# Webhooks\n\nNo Redis.\n")
    repo.write("README.md", "# Payouts\n\nPays each event once.\n")
    repo.commit("begin")
    repo.git("remote", "add", "origin", "https://github.com/acme/payouts.git")
    repo.git("tag", "begin")
    return repo


@contextmanager
def serving(home: Path, root: Path) -> Iterator[Server]:
    """With shared context switched on."""
    on = {"HOLDFAST_DEVELOPER": DEVELOPER, "SHARED_CONTEXT_ENABLED": "true"}
    with run_server(home, None, "--root", str(root), **on) as server:
        yield server


def on_own_branch(repo: Repo, name: str = "feat/webhook-retry") -> Repo:
    """As it was in the beginning, on a branch that nothing is noted about."""
    repo.git("reset", "-q", "--hard")
    repo.git("clean", "-qfdx")
    repo.git("checkout", "-q", "-b", f"{name}-{next(_NUMBERS)}", "begin")
    return repo


def note(
    settings: Settings, repo: Repo, work: Callable[[WorkstreamService], Awaitable[Any]]
) -> Any:
    """Call `work(workstreams)` as another process of the same person would."""

    async def run() -> Any:
        async with App(settings) as app:
            return await work(app.workstreams(str(repo.folder), share=True))

    return run_in_own_thread(run())
