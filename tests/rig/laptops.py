"""A team's server on PostgreSQL, and laptops that have joined it: each a home of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from holdfast.app import App
from holdfast.ground.origin import parse_origin
from holdfast.ground.settings import load_settings
from holdfast.identity.model import NewToken
from holdfast.team import joined as places
from holdfast.team.joined import Joined
from holdfast.team.remote import RemoteTeam
from holdfast.usecases import administration, sharing
from tests.conftest import PRIVATE_PREFIXES
from tests.rig.commands import HOLDFAST, PATIENCE_SECONDS, Answer
from tests.rig.http_proxy import Proxy
from tests.rig.proxies import RunningProxy
from tests.surfaces.http.server import Server, run_server
from tests.surfaces.team import REPO
from tests.workstreams.repos import Repo, with_code

OTHER_REPO = "github.com/acme/unlisted"
PATIENT_MAIN = (
    "from holdfast import __main__; from holdfast.surfaces import hook, hook_team;"
    "from holdfast.usecases import remote_at_hooks;"
    "hook.INDEX_SECONDS = hook.TEXT_SECONDS = hook.GIT_SECONDS = 60.0;"
    "hook.LOOK_SECONDS = hook_team.WHOLE_SECONDS = hook_team.BRIEF_SECONDS = 60.0;"
    "remote_at_hooks.START_SECONDS = remote_at_hooks.BRIEF_SECONDS = 60.0;"
    "raise SystemExit(__main__.main())"
)


class Office:
    """The server, who administers it, and where laptops reach it."""

    def __init__(self, server: Server, proxy: Proxy | RunningProxy):
        self.server, self.proxy = server, proxy
        assert server.database_url is not None
        self.settings = load_settings(
            {
                "HOLDFAST_DATABASE": server.database_url,
                "HOLDFAST_WORKSPACE": os.environ.get("HOLDFAST_WORKSPACE", "local"),
                "HOLDFAST_HOME": str(server.home),
                "HOLDFAST_DEVELOPER": "owner",
                "HOME": str(server.home),
            }
        )

    def add(
        self, handle: str, visibility: str = "public", scopes: tuple[str, ...] = ()
    ) -> NewToken:
        with App(self.settings) as app:
            app.run(administration.add_workspace(app, app.settings.workspace))
            app.run(administration.add_developer(app, handle, visibility))
        return self.add_token(handle, *scopes)

    def add_token(self, handle: str, *scopes: str) -> NewToken:
        with App(self.settings) as app:
            return app.run(administration.add_token(app, handle, "agent", scopes))

    def revoke(self, token: NewToken) -> None:
        with App(self.settings) as app:
            app.run(administration.revoke_token(app, token.token.id))


@contextmanager
def open_office(home: Path, database_url: str) -> Iterator[Office]:
    home.mkdir(exist_ok=True)
    with run_server(home, database_url) as server, Proxy(server.port) as proxy:
        yield Office(server, proxy)


class Laptop:
    """A developer's machine. It reaches the server through the proxy alone."""

    def __init__(self, home: Path, office: Office, handle: str, token: NewToken):
        home.mkdir()
        self.home, self.office, self.handle, self.token = home, office, handle, token
        self.data = home / "holdfast"
        self.data.mkdir(mode=0o700)
        places.keep_token(str(self.data), token.text)
        sharing.set_server(str(self.data), office.proxy.url, [REPO])

    def make_repo(self, name: str = "payouts", remote: str = REPO) -> Repo:
        repo = with_code(self.home / name)
        repo.git("remote", "add", "origin", f"https://{remote}.git")
        repo.git("checkout", "--quiet", "-b", "feat/409")
        return repo

    @property
    def team(self) -> RemoteTeam:
        origin = parse_origin("server", self.office.proxy.url)
        return RemoteTeam(Joined(str(self.data), origin, self.token.text, (REPO,)))

    @property
    def environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(PRIVATE_PREFIXES) or name == "XDG_RUNTIME_DIR"
        }
        return {**kept, "HOME": str(self.home), "HOLDFAST_HOME": str(self.data)}

    def run(self, *arguments: str, cwd: Path | None = None, stdin: str = "", **env: str) -> Answer:
        """A real command."""
        return self._run([*HOLDFAST, *arguments], cwd or self.home, stdin, env)

    def hook(
        self,
        event: str,
        repo: Path,
        *,
        is_patient: bool = True,
        env: dict[str, str] | None = None,
        **fields: Any,
    ) -> Answer:
        """A real hook of Claude Code, which nobody stops early unless that is asked for."""
        payload = {"hook_event_name": event, "session_id": "c-1", "cwd": str(repo), **fields}
        start = [sys.executable, "-c", PATIENT_MAIN] if is_patient else list(HOLDFAST)
        return self._run([*start, "hook", "claude", event], repo, json.dumps(payload), env or {})

    def _run(self, words: list[str], cwd: Path, stdin: str, env: dict[str, str]) -> Answer:
        done = subprocess.run(
            words,
            input=stdin,
            capture_output=True,
            text=True,
            cwd=cwd,
            env={**self.environment, **env},
            timeout=PATIENCE_SECONDS,
        )
        return Answer(done.returncode, done.stdout, done.stderr)
