"""What a person chooses, for one repository or for all: a line of their settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from holdfast.clients import config_file
from holdfast.errors import InvalidValueError
from holdfast.ground import files
from holdfast.ground.git_repository import find_repository
from holdfast.ground.user_settings import MAX_BYTES, NAME, READABLE, load_user_settings


def find_repository_name(worktree: str) -> str | None:
    """What a repository is called in the settings; None where the folder is in none."""
    repository = find_repository(worktree)
    return repository.repo if repository else None


def set_sharing(home: str, repository: str, *, is_on: bool) -> bool:
    """Switch its notes on or off."""
    return set_switch(home, repository, "shared_context", is_on=is_on)


def set_switch(home: str, repository: str, name: str, *, is_on: bool) -> bool:
    """Whether the file had to be changed."""
    return _set_member(home, ("repositories", repository, name), is_on)


def set_exchange(home: str, *, is_on: bool) -> bool:
    """Offer the exchange with others to agents, or do not; whether the file had to be changed."""
    return _set_member(home, ("team",), is_on)


def set_server(home: str, server: str, remotes: Sequence[str]) -> None:
    """Of which server this machine is, and what it may be told of; the exchange is on then."""

    def change(text: str) -> str:
        text = config_file.set_member(text, ("server",), server)
        text = config_file.set_member(text, ("remotes",), list(remotes))
        return config_file.set_member(text, ("team",), True)

    _change(home, change)


def remove_server(home: str) -> None:
    def change(text: str) -> str:
        for name in ("server", "remotes"):
            text = config_file.remove_member(text, (name,), "")
        return config_file.set_member(text, ("team",), False)

    _change(home, change)


def _set_member(home: str, keys: tuple[str, ...], value: bool) -> bool:
    return _change(home, lambda text: config_file.set_member(text, keys, value))


def _change(home: str, change: Callable[[str], str]) -> bool:
    """Everything else in the file stays as it is."""
    files.private_folder(home)
    path = os.path.join(home, NAME)
    with files.Lock(path):
        load_user_settings(home)  # one that cannot be used is refused as everywhere
        data = files.find_own_bytes(path, max_bytes=MAX_BYTES, others_may=READABLE)
        text = (data or b"").decode()
        try:
            changed = change(text)
        except ValueError as error:
            raise InvalidValueError(NAME, path, f"{error}; fix or remove it") from None
        if changed == text:
            return False
        files.write_atomic(path, changed.encode())
    return True


def is_shared(home: str, repository: str) -> bool:
    return load_user_settings(home).shares(repository)


def find_switch(home: str, repository: str, name: str) -> bool | None:
    """None where the person was never asked."""
    return load_user_settings(home).find_switch(repository, name)
