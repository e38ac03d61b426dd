"""What a person has chosen once, for this machine: `settings.json` in the data folder.

Consent and rules are a person's, so they are never read from a checkout. A repository is named by
its key, the same in every clone of it.

    {"shared_context": true,
     "pinned_rules": ["Money is integer cents, never float."],
     "context_folder": "data/context",
     "pause_words": ["eod", "Feierabend"],
     "team": true,
     "server": "https://team.example", "remotes": ["github.com/acme/payouts"],
     "repositories": {
         "github.com/acme/payouts": {"shared_context": false, "pinned_rules": ["..."],
                                     "conversations": true, "conversation_messages": false}}}

`conversations`: those of this repository are kept in it, as files for git; `conversation_messages`:
with everything that was said in them. `pause_words`: by which this person says that they stop
for now, beyond the words that are known. `team`: whether the exchange with others, or among the
person's own agents, is offered to agents. `server`: of the team that this machine has joined;
`remotes`: the repositories that it may be told of, and no others.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice

from holdfast.errors import InvalidValueError, shown
from holdfast.ground import canonical, files
from holdfast.ground.frozen import dataclass, field
from holdfast.ground.git_remote import normalise_remote
from holdfast.ground.patterns import compile_later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


NAME = "settings.json"
MAX_BYTES = 1 << 20
READABLE = 0o055  # a person writes this file, and the folder is closed to others
CONTEXT_FOLDER = "data/context"
SWITCHES = ("shared_context", "conversations", "conversation_messages")
REPOSITORY_KEYS = (*SWITCHES, "pinned_rules")
OWN_KEYS = ("shared_context", "pinned_rules", "context_folder", "pause_words")
KEYS = (*OWN_KEYS, "team", "server", "remotes", "repositories")
MOST_PAUSE_WORDS = 50
PAUSE_WORD_CHARS = 100
MOST_IGNORED = 5  # are reported at once; the next ones after these are fixed

_NAME_WITHOUT_REMOTE = compile_later(r"[0-9a-f]{40}|[0-9a-f]{64}|local-[0-9a-f]{16}")


@dataclass(frozen=True)
class UserSettings:
    shared_context: bool | None = None
    pinned_rules: tuple[str, ...] = ()
    context_folder: str = CONTEXT_FOLDER
    pause_words: tuple[str, ...] = ()
    team: bool | None = None
    server: str | None = None
    remotes: tuple[str, ...] = ()
    repositories: dict[str, Any] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()  # what is written there and means nothing, each in a sentence

    def shares_anything(self) -> bool:
        """Without finding out which repository this is, which would start git."""
        if self.shared_context:
            return True
        return any(repository.get("shared_context") for repository in self.repositories.values())

    def shares(self, repo: str) -> bool:
        own = self.repositories.get(repo, {})
        return bool(own.get("shared_context", self.shared_context))

    def find_switch(self, repo: str, name: str) -> bool | None:
        """What the person has chosen for one repository; None where they were never asked."""
        chosen: bool | None = self.repositories.get(repo, {}).get(name)
        return chosen

    def rules_for(self, repo: str) -> tuple[str, ...]:
        own = self.repositories.get(repo, {})
        return (*self.pinned_rules, *own.get("pinned_rules", ()))


def load_user_settings(home: str) -> UserSettings:
    path = os.path.join(home, NAME)
    data = files.find_own_bytes(path, max_bytes=MAX_BYTES, others_may=READABLE)
    if data is None:
        return UserSettings()
    try:
        found = canonical.parse_json(NAME, data.decode())
    except InvalidValueError as wrong:
        raise InvalidValueError(NAME, path, f"{wrong.problem}; fix or remove it") from None
    except UnicodeDecodeError:
        raise InvalidValueError(NAME, path, "cannot be read as text; fix or remove it") from None
    return _check_settings(found, path)


def _check_settings(found: Any, path: str) -> UserSettings:
    if not isinstance(found, dict):
        raise InvalidValueError(NAME, path, "holds no JSON object")
    repositories = found.get("repositories", {})
    if not _is_object_of_objects(repositories):
        raise InvalidValueError(NAME, path, "has `repositories` that are no object of objects")
    for place in (found, *repositories.values()):
        _check_place(place, path)
    folder = found.get("context_folder", CONTEXT_FOLDER)
    if not isinstance(folder, str) or os.path.isabs(folder):
        raise InvalidValueError(
            "context_folder", folder, f"in {path} is not a folder of a repository"
        )
    team = found.get("team")
    if not isinstance(team, bool | None):
        raise InvalidValueError("team", team, f"in {path} is neither true nor false")
    server = found.get("server")
    if not isinstance(server, str | None):
        raise InvalidValueError("server", server, f"in {path} is not an address")
    ignored = islice(_describe_ignored(found, path), MOST_IGNORED)
    return UserSettings(
        shared_context=found.get("shared_context"),
        pinned_rules=tuple(found.get("pinned_rules", ())),
        context_folder=folder,
        pause_words=_check_pause_words(found.get("pause_words", []), path),
        team=team,
        server=server,
        remotes=tuple(_check_texts("remotes", found.get("remotes", []), path)),
        repositories=repositories,
        ignored=tuple(ignored),
    )


def _is_object_of_objects(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    return all(isinstance(item, dict) for item in value.values())


def _check_place(place: dict[str, Any], path: str) -> None:
    for name in SWITCHES:
        chosen = place.get(name)
        if not isinstance(chosen, bool | None):
            raise InvalidValueError(name, chosen, f"in {path} is neither true nor false")
    _check_texts("pinned_rules", place.get("pinned_rules", []), path)


def _check_texts(name: str, value: Any, path: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise InvalidValueError(name, value, f"in {path} is not a list of texts")
    return value


def _check_pause_words(value: Any, path: str) -> tuple[str, ...]:
    """Few and short: each of them is compared with everything that the person says."""
    words = _check_texts("pause_words", value, path)
    if len(words) > MOST_PAUSE_WORDS:
        problem = f"in {path} has {len(words)} texts; at most {MOST_PAUSE_WORDS} are compared"
        raise InvalidValueError("pause_words", words, problem)
    for text in words:
        if not text.strip() or len(text) > PAUSE_WORD_CHARS:
            problem = f"in {path} is empty or longer than {PAUSE_WORD_CHARS} characters"
            raise InvalidValueError("pause_words", text, problem)
    return tuple(words)


# --- what means nothing ---------------------------------------------------------------------------


def _describe_ignored(found: dict[str, Any], path: str) -> Iterator[str]:
    """A typo looks like a valid choice, so it is reported; a later version may know the key."""
    yield from _describe_unknown(found, KEYS, path)
    for name, repository in found.get("repositories", {}).items():
        if not _is_name(name):
            problem = f"{path} names a repository {shown(name)}, and none is called so."
            yield f"{problem} {_make_name_hint(name)}"
        where = f"{path}, under {shown(name)},"
        yield from _describe_unknown(repository, REPOSITORY_KEYS, where)


def _describe_unknown(place: Iterable[str], known: tuple[str, ...], where: str) -> Iterator[str]:
    for key in place:
        if key not in known:
            hint = _make_key_hint(key, known)
            yield f"{where} has {shown(key)}, which is not a known setting. {hint}"


def _make_key_hint(key: str, known: tuple[str, ...]) -> str:
    from difflib import get_close_matches  # only a typo pays for it

    nearest = get_close_matches(key, known, n=1)
    if nearest:
        return f"Did you mean {nearest[0]!r}?"
    return f"Known: {', '.join(known)}."


def _is_name(name: str) -> bool:
    """Whether a repository can be called so; a path cannot, since it depends on the machine."""
    if _NAME_WITHOUT_REMOTE.fullmatch(name):
        return True
    return not name.startswith(".") and name == normalise_remote(f"ssh://{name}")


def _make_name_hint(name: str) -> str:
    meant = normalise_remote(name) or normalise_remote(f"ssh://{name}")
    if meant and _is_name(meant):
        return f"Did you mean {meant!r}?"
    return (
        "`SHARED_CONTEXT_ENABLED=true holdfast workstream show` "
        "prints what the one you are in is called."
    )
