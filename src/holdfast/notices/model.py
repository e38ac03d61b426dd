"""The types of notices. Light: a hook that an agent waits for loads them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

NOTICE_CHARS = 300  # that a model is told at one prompt or edit
REJECTED, ACCEPTED, RULE, STALE = "rejected", "accepted", "rule", "stale"
OFFER = "offer"  # to save a conversation; it is made elsewhere, and recorded with the others
# What teammates work on or offer. Nothing of theirs is kept with it: they may withdraw it.
OVERLAP, HANDOFF = "overlap", "handoff"
KINDS = (REJECTED, RULE, ACCEPTED, STALE)  # in the order in which they are told
# Why an entry was told: what of it was found, in the order of how exact that is.
FILE, SYMBOL, DEPENDENCY, NEW_DEPENDENCY, COMMAND, WORDS = (
    "file",
    "symbol",
    "dependency",
    "new dependency",
    "command",
    "words",
)
# Lists of dependencies by their names, or by how these begin or end.
LISTS = (
    *("pipfile", "go.mod", "gemfile", "setup.py", "setup.cfg", "pom.xml", "bower.json"),
    *("package.json", "composer.json", "deno.json", "pyproject.toml", "cargo.toml"),
)
LISTS_BEGIN = ("requirements", "constraints", "environment", "build.gradle", "packages.config")
LISTS_END = (".gemspec", ".csproj")
REASONS = (FILE, SYMBOL, DEPENDENCY, COMMAND, WORDS, NEW_DEPENDENCY)


class Edit:
    """A file that is about to change, from the top of its tree: its new text, and what is new.

    `is_first`: there was no text before.
    """

    __slots__ = ("added", "is_first", "path", "removed", "text")

    def __init__(
        self,
        path: str,
        text: str,
        added: frozenset[str],
        removed: str = "",
        *,
        is_first: bool = False,
    ):
        self.path = path
        self.text = text
        self.added = added
        self.removed = removed
        self.is_first = is_first

    @property
    def is_list(self) -> bool:
        """Whether it may be a list of dependencies."""
        name = self.path.rpartition("/")[2].casefold()
        return name in LISTS or name.startswith(LISTS_BEGIN) or name.endswith(LISTS_END)


class Match:
    """An entry that concerns what happens now, and what of it was found there."""

    __slots__ = ("entry", "number", "reason", "term")

    def __init__(self, number: int, entry: Mapping[str, Any], reason: str, term: str):
        self.number = number
        self.entry = entry
        self.reason = reason
        self.term = term

    @property
    def rank(self) -> tuple[int, int, int]:
        kind = KINDS.index(self.entry["kind"])
        return kind, REASONS.index(self.reason), self.number


ANY_DEPENDENCY = "d:*"  # the key of an entry about all of them


def _shorten(key: str) -> str:
    """What all forms of a term begin with: the plural of a word in -y has no y, and what is joined
    by a hyphen here may have another mark there.
    """
    term = key[2:].casefold().removesuffix("y")
    return term.partition("-")[0] if key.startswith("d:") else term


def list_above(path: str) -> Iterator[str]:
    """A path and the folders that it is in."""
    while path:
        yield path
        path = path.rpartition("/")[0]


class NoticeIndex:
    """What is looked up at a prompt or an edit: entries by their terms.

    An entry is read only where one of its terms was found, because there may be thousands.
    """

    def __init__(self, terms: Mapping[str, list[int]], entries: Entries):
        self.terms = terms
        self.entries = entries

    def may_concern(self, text: str) -> bool:
        """A first look without any pattern: most texts have no term in them, in whatever form."""
        folded = text.casefold()
        return any(_shorten(key) in folded for key in self.terms if key != ANY_DEPENDENCY)

    def may_be_about(self, edit: Edit) -> bool:
        """The same for an edit: its file, a folder above it, or what it adds."""
        is_place = any(self.find("p", path) for path in list_above(edit.path))
        return is_place or self.may_concern("\n".join(edit.added))

    def find(self, kind: str, term: str) -> list[int]:
        return self.terms.get(f"{kind}:{term}", [])


class Entries:
    """Each is one line of JSON."""

    def __init__(self, lines: list[bytes]):
        self.lines = lines

    def __getitem__(self, number: int) -> dict[str, Any]:
        import json

        entry: dict[str, Any] = json.loads(self.lines[number])
        return entry

    def __len__(self) -> int:
        return len(self.lines)
