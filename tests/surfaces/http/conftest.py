"""One server per engine: each test has sessions of its own, and a start costs a second."""

from collections.abc import Iterator

import httpx
import pytest

from tests.rig import postgres as rig
from tests.surfaces.http.server import Server, run_server


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("served")
    (home / "shown").mkdir()
    root = "--root", str(home / "shown")  # the only folder of which it says which files are gone
    if request.param == "sqlite":
        with run_server(home, None, *root) as running:
            yield running
        return
    cluster: rig.Cluster = request.getfixturevalue("postgres")
    name = cluster.create_database(request.getfixturevalue("postgres_template"))
    try:
        with run_server(home, cluster.dsn(name, rig.APP), *root) as running:
            yield running
    finally:
        cluster.drop_database(name)


@pytest.fixture
def api(server: Server) -> Iterator[httpx.Client]:
    """A client with the token."""
    with server.client() as client:
        yield client
