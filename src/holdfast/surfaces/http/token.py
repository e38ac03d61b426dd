"""Who may come in: one token per data folder, also on this machine.

Every program of every user can reach a port on 127.0.0.1; only its owner can read a file of mode
0600. The token is read anew whenever its file changes, so removing the file takes away every right
that was given by it, and running streams end.
"""

from __future__ import annotations

import hmac
import os
import secrets

from holdfast.ground import files
from holdfast.ground.patterns import compile_later

TOKEN_BYTES = 32
FILE_BYTES = 1000
COOKIE_MEANS = b"holdfast console 1"
NOT_SEEN = (0, 0)
_TOKEN = compile_later(r"[A-Za-z0-9_-]{43}")


class Keys:
    """The token of one data folder, and the cookie that follows from it."""

    def __init__(self, home: str):
        self.home = home
        self.path = os.path.join(home, "token")
        self._token = ""
        self._seen = NOT_SEEN

    @property
    def token(self) -> str:
        seen = self._look()
        if seen is None or seen != self._seen:
            self._token = load_or_make(self.home)
            # As it was before: a file that changed meanwhile is read once more.
            self._seen = seen or NOT_SEEN
        return self._token

    @property
    def cookie(self) -> str:
        """Survives a restart, ends with the token, and does not reveal the token."""
        digest = hmac.new(self.token.encode(), COOKIE_MEANS, "sha256")
        return digest.hexdigest()

    def is_token(self, given: str) -> bool:
        return _equal(given, self.token)

    def is_cookie(self, given: str) -> bool:
        return _equal(given, self.cookie)

    def _look(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self.path, follow_symlinks=False)
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_mtime_ns


def load_or_make(home: str) -> str:
    """The token in its file; two who make it at the same moment get the same one."""
    files.private_folder(home)
    path = os.path.join(home, "token")
    if token := _read(path):
        return token
    with files.Lock(path):
        if token := _read(path):
            return token
        token = secrets.token_urlsafe(TOKEN_BYTES)
        files.write_atomic(path, token.encode() + b"\n")
    return token


def _read(path: str) -> str | None:
    """None where the file is missing or holds something else: a new token is made then.

    A file of another user, or one that other users can read, is refused: they know what it holds.
    """
    data = files.find_own_bytes(path, max_bytes=FILE_BYTES) or b""
    text = data.decode("ascii", errors="replace").strip()
    if not _TOKEN.fullmatch(text):
        return None
    return text


def _equal(given: str, right: str) -> bool:
    return hmac.compare_digest(given.encode(errors="surrogateescape"), right.encode())
