"""`holdfast serve` as people start and stop it."""

import json
import os
import signal
import socket
import subprocess

import pytest

from holdfast.surfaces.cli import serve_command
from holdfast.surfaces.cli.root import root
from holdfast.surfaces.cli.running import run as run_command
from holdfast.surfaces.http import addresses
from tests.rig.commands import PATIENCE_SECONDS
from tests.surfaces.http.server import SERVE, Server, environment, own_address, run_server


def start(home, *arguments, **env):
    """A server that is expected to refuse."""
    return subprocess.run(
        [*SERVE, *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        env=environment(home, **env),
    )


def test_serve_prints_its_address_and_how_to_stop_it(tmp_path):
    command = [*SERVE, "--port", "0"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(tmp_path),
    )
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(2)]
    finally:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_SECONDS)

    assert lines[0].startswith("Open http://127.0.0.1:")
    assert "/login?code=" in lines[0]
    assert lines[1] == "Stop with Ctrl-C\n"
    assert (process.returncode, out, err) == (0, "", "")


def test_with_json_it_prints_one_document(tmp_path):
    with run_server(tmp_path) as server:
        started = server.started

        assert started.keys() == {"url", "login_url", "pid", "token_file"}
        assert started["pid"] == server.pid
        assert started["token_file"] == str(tmp_path / "token")
        assert started["login_url"].startswith(f"{started['url']}/login?code=")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_well(tmp_path, number):
    with run_server(tmp_path) as server, server.client() as api:
        assert api.get("/api/health").status_code == 200
        server.process.send_signal(number)

        assert server.stop() == 0
    with run_server(tmp_path) as server, server.client() as api:
        assert api.get("/api/health").status_code == 200


def test_half_a_request_does_not_keep_it_from_stopping(tmp_path):
    with (
        run_server(tmp_path) as server,
        socket.create_connection(("127.0.0.1", server.port)) as connection,
    ):
        connection.sendall(b"POST /api/sessions HTTP/1.1\r\nHost: x")
        assert server.stop() == 0


def test_a_second_server_of_the_same_home_is_refused_with_the_first_named(tmp_path):
    with run_server(tmp_path) as server:
        refused = start(tmp_path, "--port", "0", "--json")

        assert refused.returncode == 4
        problem = json.loads(refused.stdout)
        assert problem["code"] == "server_running"
        assert f"process {server.pid} on port {server.port}" in problem["message"]
        assert f"Open {server.url} and log in with the token" in problem["message"]
        assert problem["next_actions"] == [f"kill {server.pid}"]


def test_a_second_server_of_the_same_file_is_refused_with_the_first_named(tmp_path):
    """From another data folder, and by another name of the file."""
    store, other = tmp_path / "store", tmp_path / "other"
    with run_server(tmp_path / "one", f"sqlite:///{store}/x.db") as server:
        other.symlink_to(store)
        for url in (f"sqlite:///{store}/x.db", f"sqlite:///{other}/x.db"):
            refused = start(tmp_path / "two", "--port", "0", "--json", HOLDFAST_DATABASE=url)

            assert (refused.returncode, json.loads(refused.stdout)["code"]) == (4, "server_running")
            assert (
                f"{store}/x.db is served by process {server.pid} on port {server.port}"
                in refused.stdout
            )
        with run_server(tmp_path / "two", f"sqlite:///{store}/y.db"):
            pass


def test_on_postgresql_several_servers_share_a_store(tmp_path, postgres_url):
    with run_server(tmp_path, postgres_url) as one, run_server(tmp_path, postgres_url) as two:
        assert one.port != two.port
        assert one.token == two.token


def test_a_port_that_is_taken_is_named(tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        refused = start(tmp_path, "--port", str(port))

    assert refused.returncode == 4
    assert f"Port {port} of 127.0.0.1 is taken" in refused.stderr
    assert "--port" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--port", "-1"], 2, "--port -1 is not between"),
        (["--port", "65536"], 2, "is not between"),
        (["--port", "x"], 2, "not a valid integer"),
        (["--host", "0.0.0.0"], 2, "means every address"),
        (["--host", "::"], 2, "means every address"),
        (["--host", ""], 2, "means every address"),
        (["--host", "192.0.2.1"], 5, "a store in a file is for one person"),
        (["--host", "team.example"], 5, "a store in a file is for one person"),
        (["--root", "/nowhere/at/all"], 2, "is not a folder"),
    ],
)
def test_invalid_arguments_are_refused_and_create_nothing(
    tmp_path, arguments, code, words, capsys, monkeypatch
):
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "data"))

    assert run_command(root, ["serve", *arguments]) == code
    assert words in capsys.readouterr().err
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("host", ["192.0.2.1", "nowhere.invalid"])
def test_an_address_that_this_machine_does_not_have_is_refused(tmp_path, postgres_url, host):
    refused = start(tmp_path, "--host", host, "--port", "0", HOLDFAST_DATABASE=postgres_url)

    assert refused.returncode == 2
    assert "--host" in refused.stderr


def test_on_postgresql_an_open_address_is_served_with_a_warning(tmp_path, postgres_url):
    host = own_address()
    server = Server(tmp_path, postgres_url, "--host", host)
    try:
        server.wait_until_ready()
        with server.client() as api:
            assert api.get("/api/state").status_code == 200
            assert (
                api.get("/api/state", headers={"Host": f"other.example:{server.port}"}).status_code
                == 403
            )
    finally:
        server.process.send_signal(signal.SIGTERM)
        _, err = server.process.communicate(timeout=PATIENCE_SECONDS)
    assert b"Other machines can reach" in err


def test_another_name_of_loopback_is_fine(tmp_path):
    with run_server(tmp_path, None, "--host", "localhost") as server, server.client() as api:
        assert server.url.startswith("http://localhost:")
        assert api.get("/api/state").status_code == 200


@pytest.mark.parametrize("role", ["owner", "superuser"])
def test_a_role_that_defeats_the_policies_is_refused(
    tmp_path, postgres_owner_url, postgres, postgres_database, role
):
    url = postgres_owner_url if role == "owner" else postgres.dsn(postgres_database)

    refused = start(tmp_path, "--port", "0", "--json", HOLDFAST_DATABASE=url)

    assert (refused.returncode, json.loads(refused.stdout)["code"]) == (5, "unsafe_role")


def test_without_its_libraries_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr(serve_command, "find_spec", lambda name: None)

    assert run_command(root, ["serve"]) == 6
    assert ".[server]" in capsys.readouterr().err


def test_an_unusable_store_is_reported_and_the_lease_is_released(tmp_path):
    (tmp_path / "holdfast.db").write_text("not a database, and long enough to be looked at " * 100)
    for _ in range(2):
        refused = start(tmp_path, "--port", "0", "--json")
        assert (refused.returncode, json.loads(refused.stdout)["code"]) == (2, "not_a_database")


def test_files_are_private_whatever_the_umask(tmp_path):
    """TS22."""
    home = tmp_path / "data"
    before = os.umask(0)
    try:
        with run_server(home) as server, server.client() as api:
            api.get("/api/health")
            modes = {path.name: path.stat().st_mode & 0o777 for path in home.iterdir()}
    finally:
        os.umask(before)

    assert {"token", "holdfast.db.lease", "holdfast.db"} <= modes.keys()
    assert set(modes.values()) == {0o600}
    assert home.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("LOCALHOST", True),
        ("10.0.0.1", False),
    ],
)
def test_loopback_addresses_are_recognised(host, expected):
    assert addresses.is_loopback(host) is expected


def test_an_agent_that_listens_does_not_keep_it_from_stopping(tmp_path):
    """The stream of MCP's older era has no end of its own; the server's patience has."""
    accept = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    }
    with run_server(tmp_path) as server, server.client(**accept) as api:
        first = api.post(
            "/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
        )
        session = {"Mcp-Session-Id": first.headers["mcp-session-id"]}
        with api.stream("GET", "/mcp", headers=session) as stream:
            assert stream.status_code == 200

            assert server.stop() == 0
