"""What `deploy/` and `docs/howto/server.md` say, as far as it can be tried on any machine."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import yaml

from tests.house.source import ROOT
from tests.rig import binaries
from tests.rig import postgres as rig
from tests.rig.commands import run_process
from tests.surfaces.http.server import run_server

DEPLOY = ROOT / "deploy"
HOWTO = (ROOT / "docs" / "howto" / "server.md").read_text()
NAME = "holdfast.example.com"


def make_roles(server: rig.Server, folder: Path) -> None:
    """The script, as the superuser of PostgreSQL runs it."""
    parts = urlsplit(server.superuser_url)
    script = folder / "roles.sh"
    shutil.copy(DEPLOY / "roles.sh", script)
    environment = {
        "PATH": f"{server.programs}:{os.environ['PATH']}",
        "PGHOST": parts.hostname or "",
        "PGPORT": str(parts.port),
        "PGPASSWORD": parts.password or "",
        "OWNER_PASSWORD": "owner'1",
        "APP_PASSWORD": "app2",
    }
    subprocess.run(["sh", script], env=environment, check=True, capture_output=True)


def test_a_new_server_is_set_up_as_the_page_says(
    own_postgres: rig.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Roles, migration, a server behind a name, a developer with a token, a backup, a restore."""
    for _ in range(2):
        make_roles(own_postgres, tmp_path)
    place = urlsplit(own_postgres.superuser_url).netloc.rpartition("@")[2]
    owner = f"postgresql://holdfast_owner:owner%271@{place}/holdfast"
    app = f"postgresql://holdfast_app:app2@{place}/holdfast"
    monkeypatch.setenv("HOLDFAST_WORKSPACE", "acme")
    rig.execute(own_postgres.dsn(), "alter role holdfast_owner nocreaterole")

    migrated = run_process("admin", "migrate", HOLDFAST_DATABASE=owner)
    assert migrated.code == 0, migrated
    settings = {"HOLDFAST_SERVER_NAMES": NAME, "HOLDFAST_DEVELOPER": "operator"}
    with run_server(tmp_path / "4790", app, "--host", "0.0.0.0", **settings) as server:
        for words in (
            ("workspace", "add", "acme"),
            ("developer", "add", "ana"),
            ("token", "add", "ana", "--agent", "first-login"),
        ):
            done = run_process("admin", *words, HOLDFAST_DATABASE=app)
            assert done.code == 0, done
        headers = {"Authorization": f"Bearer {done.out.strip()}", "Host": NAME}
        url = f"http://127.0.0.1:{server.port}"
        me = httpx.get(f"{url}/api/me", headers=headers, verify=False)
        metrics = httpx.get(f"{url}/metrics", headers=headers, verify=False)
        elsewhere = httpx.get(
            f"{url}/api/me", headers=headers | {"Host": f"0.0.0.0:{server.port}"}, verify=False
        )

    assert (me.status_code, me.json()["developer"]["handle"]) == (200, "ana")
    assert "holdfast_store_up 1" in metrics.text
    assert elsewhere.status_code == 403
    restored = back_up_and_restore(own_postgres, place, tmp_path)
    assert run_process("session", "verify", HOLDFAST_DATABASE=restored).code == 0
    pruned = run_process(
        "admin", "prune", "--before", "2026-01-01", "--dry-run", HOLDFAST_DATABASE=owner
    )
    assert pruned.code == 0, pruned


def back_up_and_restore(server: rig.Server, place: str, folder: Path) -> str:
    """With the statements of the page; the URL of what was restored."""
    create = find_statement("CREATE ROLE holdfast_backup")
    connect = find_statement("GRANT CONNECT ON DATABASE")
    rig.execute(server.dsn(), create.replace("'...'", "'backup3'"), connect)
    made = run_process(
        *("admin", "backup", str(folder / "backup")),
        HOLDFAST_DATABASE=f"postgresql://holdfast_backup:backup3@{place}/holdfast",
        PATH=f"{server.programs}:{os.environ['PATH']}",
    )
    assert made.code == 0, made
    rig.execute(
        server.dsn(),
        "create database restored owner holdfast_owner encoding 'UTF8' template template0",
    )
    copy = server.folder / "backup"
    shutil.copy(folder / "backup", copy)
    binaries.give(copy)
    target = server.dsn("restored")
    restore = [server.programs / "pg_restore", "--exit-on-error", "--dbname", target, copy]
    binaries.run(restore, server.folder)
    return f"postgresql://holdfast_app:app2@{place}/restored"


def find_statement(beginning: str) -> str:
    [statement] = re.findall(rf"{beginning}[^;]*;", HOWTO)
    return statement


def test_systemd_takes_the_unit(tmp_path: Path):
    """With a program that is there in place of ours."""
    if shutil.which("systemd-analyze") is None:
        assert os.environ.get("CI") != "true", "systemd-analyze is missing"
        pytest.skip("systemd-analyze is missing")
    text = (DEPLOY / "holdfast@.service").read_text()
    assert "/opt/holdfast/bin/holdfast" in text
    unit = tmp_path / "holdfast@4790.service"
    unit.write_text(text.replace("/opt/holdfast/bin/holdfast", "/bin/true"))

    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_the_file_of_docker_names_what_is_there_and_what_the_page_says():
    text = (DEPLOY / "compose.yaml").read_text()
    document: dict[str, Any] = yaml.safe_load(text)
    services = document["services"]
    servers = [services[name] for name in ("server-1", "server-2")]

    asked = set(re.findall(r"\$\{([A-Z_]+):\?\}", text))
    told = set(re.findall(r"^    ([A-Z_]+)=", HOWTO, re.MULTILINE))
    assert asked <= told
    mounted = re.findall(r"\./([\w.]+):", text)
    assert all((DEPLOY / name).exists() for name in mounted)
    for service in services.values():
        used = {volume.partition(":")[0] for volume in service.get("volumes", ())}
        assert {name for name in used if not name.startswith(".")} <= set(document["volumes"])
    assert [server["networks"] for server in servers] == [["inside"], ["inside"]]
    assert all("ports" not in services[name] for name in services if name != "proxy")
    assert services["migrate"]["environment"]["HOLDFAST_DATABASE"].startswith(
        "postgresql://holdfast_owner:"
    )


def test_every_file_of_the_folder_is_on_the_page():
    for path in DEPLOY.iterdir():
        assert path.name in HOWTO or path.name == "Dockerfile"


def test_every_command_of_the_page_exists():
    commands = set(re.findall(r"holdfast (admin \w+(?: (?:add|list|revoke))?)", HOWTO))

    assert commands
    for command in commands:
        assert run_process(*command.split(), "--help").code == 0, command
