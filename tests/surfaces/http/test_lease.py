"""One server per store; the kernel gives the lease back."""

import json
import os

import pytest

from holdfast.errors import InvalidValueError
from holdfast.surfaces.http import lease as lease_module
from holdfast.surfaces.http.errors import ServerRunningError
from holdfast.surfaces.http.lease import Lease


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(lease_module, "LOOK_SECONDS", 0.001)


def test_a_second_lease_is_refused_with_the_holder_named(tmp_path):
    with Lease(str(tmp_path / "x.db")) as lease:
        lease.tell(4790, "http://127.0.0.1:4790")
        with pytest.raises(ServerRunningError) as refused, Lease(str(tmp_path / "x.db")):
            pass

    assert (refused.value.pid, refused.value.port) == (os.getpid(), 4790)
    assert f"process {os.getpid()} on port 4790" in refused.value.message
    assert "Open http://127.0.0.1:4790 and log in with the token" in refused.value.message
    assert refused.value.exit_code == 4


def test_a_released_lease_can_be_taken_again(tmp_path):
    for _ in range(2):
        with Lease(str(tmp_path / "x.db")):
            pass


@pytest.mark.parametrize(
    "left", [b'{"pid": 1, "port": 2}', b"", b"{", b"[]", b"\xff", b'{"pid": "x"}']
)
def test_the_lease_of_a_killed_server_is_taken_over(tmp_path, left):
    (tmp_path / "x.db.lease").write_bytes(left)

    with Lease(str(tmp_path / "x.db")) as lease:
        lease.tell(1, "http://[::1]:1")
        told = {"pid": os.getpid(), "port": 1, "url": "http://[::1]:1"}
        assert json.loads((tmp_path / "x.db.lease").read_bytes()) == told


@pytest.mark.parametrize("written", [b"", b"{", b"[]", b"\xff", b'{"pid": "x", "url": 7}'])
def test_a_lease_without_valid_holder_data_still_holds(tmp_path, written):
    with Lease(str(tmp_path / "x.db")):
        (tmp_path / "x.db.lease").write_bytes(written)
        with (
            pytest.raises(ServerRunningError, match="another process") as refused,
            Lease(str(tmp_path / "x.db")),
        ):
            pass

    assert (refused.value.pid, refused.value.url) == (None, None)
    assert "Open " not in refused.value.message


def test_a_link_in_its_place_is_not_followed(tmp_path):
    (tmp_path / "x.db.lease").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(InvalidValueError, match="symbolic link"), Lease(str(tmp_path / "x.db")):
        pass
    assert not (tmp_path / "elsewhere").exists()
