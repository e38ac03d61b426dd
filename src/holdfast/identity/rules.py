"""What tokens, codes and names look like; pure decisions.

A token is random and says nothing but its workspace, so that one of another workspace is refused
without a look at the store.
"""

from __future__ import annotations

import secrets

from holdfast.errors import InvalidValueError
from holdfast.ground import canonical
from holdfast.ground.patterns import compile_later

PREFIX = "hft_"
DEVICE_PREFIX = "hfd_"
SECRET_BYTES = 32
_TOKEN = compile_later(r"hft_[A-Za-z0-9_-]{43}\.([a-z0-9._-]{1,63})")
_DEVICE_CODE = compile_later(r"hfd_[A-Za-z0-9_-]{43}")

# No vowels, so that no code is a word; no digits, so that none looks like a letter.
USER_CODE_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
USER_CODE_CHARS = 8
TYPED_CHARS = 40  # with what a person types between them
LABEL_CHARS = 60

BROWSER = "browser"
LAPTOP = "holdfast"  # the agent that a machine which joins names itself
BROWSER_SECONDS = 90 * 24 * 3600
LOGIN_SECONDS = 600
POLL_SECONDS = 5
MOST_OPEN_LOGINS = 200


# --- tokens and codes -----------------------------------------------------------------------------


def make_token(workspace: str) -> str:
    return f"{PREFIX}{secrets.token_urlsafe(SECRET_BYTES)}.{workspace}"


def make_device_code() -> str:
    return DEVICE_PREFIX + secrets.token_urlsafe(SECRET_BYTES)


def make_user_code() -> str:
    letters = [secrets.choice(USER_CODE_LETTERS) for _ in range(USER_CODE_CHARS)]
    return "".join(letters)


def show_user_code(code: str) -> str:
    """As a person compares it: `BCDF-GHJK`."""
    half = USER_CODE_CHARS // 2
    return f"{code[:half]}-{code[half:]}"


def parse_user_code(typed: object) -> str | None:
    """However it is typed; None for what cannot be one."""
    if not isinstance(typed, str) or len(typed) > TYPED_CHARS:
        return None
    code = "".join(letter for letter in typed.upper() if letter not in "- \t")
    if len(code) != USER_CODE_CHARS or not set(code) <= set(USER_CODE_LETTERS):
        return None
    return code


def hash_secret(text: str) -> bytes:
    return canonical.sha256(text.encode())


def is_token_of(text: str, workspace: str) -> bool:
    """Whether it can be a token of this workspace."""
    found = _TOKEN.fullmatch(text)
    return found is not None and found[1] == workspace


def is_device_code(text: object) -> bool:
    return isinstance(text, str) and _DEVICE_CODE.fullmatch(text) is not None


# --- names ----------------------------------------------------------------------------------------


def check_label(field: str, text: object) -> str:
    """The name of an agent or a machine: one short line, as a person reads it before saying yes."""
    if not isinstance(text, str) or not text.isprintable() or not text.strip():
        raise InvalidValueError(field, text, "is not a line of text")
    label = text.strip()
    if len(label) > LABEL_CHARS:
        raise InvalidValueError(field, text, f"has more than {LABEL_CHARS} characters")
    return label


def check_agent(text: object) -> str:
    agent = check_label("agent", text)
    if agent.casefold() == BROWSER:
        raise InvalidValueError("agent", text, "is kept for browsers that log in")
    return agent


def is_laptop(agent: str) -> bool:
    """Whether a token is that of a machine which joined."""
    return agent == LAPTOP or agent.startswith(f"{LAPTOP} on ")
