"""Who may come in: one token per data folder, also on this machine.

Every program of every user can reach a port on 127.0.0.1; only its owner can read a file of mode
0600. The token is read anew whenever its file changes, so removing the file takes away every right
that was given by it, and running streams end.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import re
import secrets

from holdfast.ground import files

TOKEN_BYTES = 32
FILE_BYTES = 1000
COOKIE_MEANS = b"holdfast console 1"
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")


class Keys:
    """The token of one data folder, and the cookie that follows from it."""

    def __init__(self, home: str):
        self.home = home
        self.path = os.path.join(home, "token")
        self._token, self._seen = "", (0, 0)

    @property
    def token(self) -> str:
        if (seen := self._look()) is None or seen != self._seen:
            self._token = load_or_make(self.home)
            self._seen = seen or (
                0,
                0,
            )  # as it was before: a file that changed meanwhile is read once more
        return self._token

    @property
    def cookie(self) -> str:
        """Survives a restart, ends with the token, and tells nobody what the token is."""
        return hmac.new(self.token.encode(), COOKIE_MEANS, "sha256").hexdigest()

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
    """None when there is no file, or none that could be a token: a new one is made then."""
    data = files.find_bytes(path, max_bytes=FILE_BYTES)
    text = (data or b"").decode("ascii", errors="replace").strip()
    if not _TOKEN.fullmatch(text):
        return None
    with contextlib.suppress(OSError):  # copied here by somebody who did not think of its mode
        if os.stat(path).st_mode & 0o077:
            os.chmod(path, 0o600)
    return text


def _equal(given: str, right: str) -> bool:
    return hmac.compare_digest(given.encode(errors="surrogateescape"), right.encode())
