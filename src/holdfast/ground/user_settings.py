"""What a person has chosen once, for this machine: `settings.json` in the data folder.

Consent and rules are a person's, so they are never read from a checkout. A repository is named by its key, the same
in every clone of it.

    {"shared_context": true,
     "pinned_rules": ["Money is integer cents, never float."],
     "context_folder": "data/context",
     "repositories": {"github.com/acme/payouts": {"shared_context": false, "pinned_rules": ["..."]}}}
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from holdfast.errors import InvalidValueError
from holdfast.ground import canonical, files

NAME = "settings.json"
MAX_BYTES = 1 << 20
CONTEXT_FOLDER = "data/context"


@dataclass(frozen=True)
class UserSettings:
    shared_context: bool | None = None
    pinned_rules: tuple[str, ...] = ()
    context_folder: str = CONTEXT_FOLDER
    repositories: dict[str, Any] = field(default_factory=dict)

    def shares_anything(self) -> bool:
        """Told without asking which repository this is, which would start git."""
        return bool(self.shared_context) or any(one.get("shared_context") for one in self.repositories.values())

    def shares(self, repo: str) -> bool:
        chosen = self.repositories.get(repo, {}).get("shared_context", self.shared_context)
        return bool(chosen)

    def rules_for(self, repo: str) -> tuple[str, ...]:
        return (*self.pinned_rules, *self.repositories.get(repo, {}).get("pinned_rules", ()))


def load_user_settings(home: str) -> UserSettings:
    path = os.path.join(home, NAME)
    data = files.find_bytes(path, max_bytes=MAX_BYTES)
    if data is None:
        return UserSettings()
    try:
        found = canonical.parse_json(NAME, data.decode())
    except (InvalidValueError, UnicodeDecodeError):
        raise InvalidValueError(NAME, path, "cannot be read as JSON; mend or remove it") from None
    return _checked(found, path)


def _checked(found: Any, path: str) -> UserSettings:
    if not isinstance(found, dict):
        raise InvalidValueError(NAME, path, "holds no JSON object")
    repositories = found.get("repositories", {})
    if not isinstance(repositories, dict) or not all(isinstance(one, dict) for one in repositories.values()):
        raise InvalidValueError(NAME, path, "has `repositories` that are no object of objects")
    for place in (found, *repositories.values()):
        _check_place(place)
    folder = found.get("context_folder", CONTEXT_FOLDER)
    if not isinstance(folder, str) or os.path.isabs(folder):
        raise InvalidValueError("context_folder", folder, f"in {NAME} is no folder of a repository")
    return UserSettings(found.get("shared_context"), tuple(found.get("pinned_rules", ())), folder, repositories)


def _check_place(place: dict[str, Any]) -> None:
    if not isinstance(place.get("shared_context"), bool | None):
        raise InvalidValueError("shared_context", place["shared_context"], f"in {NAME} is neither true nor false")
    rules = place.get("pinned_rules", [])
    if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
        raise InvalidValueError("pinned_rules", rules, f"in {NAME} is no list of texts")
