"""What a person chooses for one repository: a line of their settings."""

from __future__ import annotations

import os

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
    """Whether the file had to be changed; everything else in it stays as it is."""
    files.private_folder(home)
    path = os.path.join(home, NAME)
    with files.Lock(path):
        load_user_settings(home)  # one that cannot be used is refused as everywhere
        data = files.find_own_bytes(path, max_bytes=MAX_BYTES, others_may=READABLE)
        text = (data or b"").decode()
        keys = ("repositories", repository, name)
        try:
            changed = config_file.set_member(text, keys, is_on)
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
