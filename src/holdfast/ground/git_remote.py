"""One name for a repository, whichever way it was cloned.

`git@GitHub.com:acme/payouts.git` and `https://me:secret@github.com/acme/payouts` are the same
repository, so they become the same text: host and path. What is between the two, and in front of
the host, says how it is reached, and may be a password. An address inside this machine has no such
name: it would mean another repository on the next machine.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from holdfast.ground.patterns import compile_later

LONGEST = 500

_URL = compile_later(
    r"(https?|ssh|git|git\+ssh|ssh\+git|ftps?)://(?:([^/?#\\]*)@)?([^/@]+)/([^?#]*)",
    re.IGNORECASE | re.ASCII,
)
_SHORT = compile_later(
    r"(?:([^/@]*)@)?([^/:@\[\]]{2,}|\[[^/@\]]+\]):(?!:)(.+)"
)  # one letter is a drive
_HOST = compile_later(r"([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?")
_DEFAULT_PORTS = {"https": "443", "http": "80", "git": "9418", "ftp": "21", "ftps": "990"}
_SSH_PORT = "22"


def normalise_remote(url: str) -> str | None:
    """`host/path`, or None for an address inside this machine, or one that is not understood."""
    if not url.isprintable() or len(url) > LONGEST:
        return None
    if found := _URL.match(url):
        scheme, user, place, path = found.groups()
        # A slash in a password, written plainly, ends the host too early.
        if user and ":" in user and "@" in path:
            return None
        return _join(scheme, place, path)
    if "://" not in url and (found := _SHORT.fullmatch(url)):
        user, place, path = found.groups()
        # To git, what is in front of the first colon is the host.
        if user and ":" in user:
            return None
        return _join("ssh", place, path)
    return None


def rewrite(url: str, rules: Sequence[tuple[str, str]]) -> str:
    """Apply a person's `url.BASE.insteadOf = SHORT`; the longest one that fits counts."""
    longest, replacement = "", ""
    for base, short in rules:
        if url.startswith(short) and len(short) > len(longest):
            longest, replacement = short, base
    return replacement + url.removeprefix(longest)


def _join(scheme: str, place: str, path: str) -> str | None:
    found = _HOST.fullmatch(place.lower()) if place.isascii() else None
    steps = [step for step in path.split("/") if step]
    is_relative = "." in steps or ".." in steps
    if not found or not steps or is_relative:
        return None
    host, port = found.groups()
    name = "/".join(steps).removesuffix(".git")
    default_port = _DEFAULT_PORTS.get(scheme.lower(), _SSH_PORT)
    if port and port != default_port:
        return f"{host}:{port}/{name}"
    return f"{host}/{name}"
