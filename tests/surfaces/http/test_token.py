"""One token per data folder: made once, private, and gone when its file is."""

import fcntl
import multiprocessing
import os
import stat

import pytest

from holdfast.surfaces.http.token import Keys, load_or_make


def test_the_token_has_256_bits_and_is_private_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        token = load_or_make(str(tmp_path / "new" / "home"))
    finally:
        os.umask(before)

    path = tmp_path / "new" / "home" / "token"
    assert len(token) == 43
    assert path.read_text() == f"{token}\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_token_stays_the_same(tmp_path):
    assert load_or_make(str(tmp_path)) == load_or_make(str(tmp_path)) == Keys(str(tmp_path)).token


def test_processes_that_make_the_token_at_once_get_the_same_token(tmp_path, scale):
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        for number in range(scale(100)):
            tokens = pool.map(load_or_make, [str(tmp_path / str(number))] * 8, chunksize=1)
            assert len(set(tokens)) == 1


def test_a_token_that_another_process_made_before_the_lock_is_used(tmp_path, monkeypatch):
    other, real = "x" * 43, fcntl.flock

    def flock_after_another_process(fd, operation):
        (tmp_path / "token").write_text(f"{other}\n")
        (tmp_path / "token").chmod(0o600)
        real(fd, operation)

    monkeypatch.setattr(fcntl, "flock", flock_after_another_process)

    assert load_or_make(str(tmp_path)) == other


@pytest.mark.parametrize("content", [b"", b"short", b"\xff" * 43, b"x" * 44, b"x" * 42])
def test_a_file_that_does_not_hold_a_valid_token_is_replaced(tmp_path, content):
    (tmp_path / "token").write_bytes(content)
    (tmp_path / "token").chmod(0o600)

    assert len(load_or_make(str(tmp_path))) == 43


def test_removing_the_file_takes_the_rights_away(tmp_path):
    keys = Keys(str(tmp_path))
    token, cookie = keys.token, keys.cookie
    assert keys.is_token(token)
    assert keys.is_cookie(cookie)

    (tmp_path / "token").unlink()

    assert not keys.is_token(token)
    assert not keys.is_cookie(cookie)
    assert keys.is_token(load_or_make(str(tmp_path)))


def test_the_cookie_does_not_reveal_the_token(tmp_path):
    keys = Keys(str(tmp_path))

    assert keys.token not in keys.cookie
    assert not keys.is_token(keys.cookie)
    assert not keys.is_cookie(keys.token)
    assert Keys(str(tmp_path)).cookie == keys.cookie


@pytest.mark.parametrize("given", ["", "é", "\udcff", "x" * 10_000])
def test_anything_may_be_compared(tmp_path, given):
    assert not Keys(str(tmp_path)).is_token(given)
