"""Which reservations are of others, which files here one is about, and what may be shown. Pure.

What is stored may be older than the rules, so a pattern is looked at again before it is compared.
"""

from __future__ import annotations

from itertools import accumulate, islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime

    from holdfast.team.model import Reservation

WILD = "*?["
PATTERN_CHARS, PATH_CHARS = 500, 4096  # longer ones concern nothing
NAME_CHARS, HANDLE_CHARS = 60, 39
COMPARED = 1_000  # names of files with one glob
COMMIT_CHARS, SHOWN_COMMIT_CHARS = 40, 12
HEXADECIMAL = frozenset("0123456789abcdef")
LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
PLAIN = LETTERS | frozenset("._/#@+-")
SHOWN = PLAIN | frozenset("*?")
A_BRANCH, NO_BRANCH, A_TEAMMATE = "a branch", "no branch", "a teammate"
A_REPOSITORY, A_PATH = "a repository", "PATH"
REPEATED_CHARS = 500


def is_of_another(
    reservation: Reservation, developer_id: str, session_id: str | None, branch: str | None
) -> bool:
    """Whether it is news to a session: another person's, or that of another session of the same.

    What another session of one's own has not committed on the same branch is taken for the same
    working tree, which every session there shows.
    """
    if reservation.developer.id != developer_id:
        return True
    if None in (session_id, reservation.session_id) or reservation.session_id == session_id:
        return False
    return not reservation.is_soft or reservation.branch != branch


def compose(path: str) -> str:
    """A path in the one form in which paths are compared: `ä` is one character or two, as the
    program wrote it that named the file.
    """
    if path.isascii():
        return path
    import unicodedata  # few paths get here

    return unicodedata.normalize("NFC", path)


def covers(pattern: str, path: str) -> bool:
    """Whether a path from the top of the tree is what a pattern names, or lies below it."""
    if len(pattern) > PATTERN_CHARS or len(path) > PATH_CHARS:
        return False
    place, path = compose(find_place(pattern)), compose(path)
    if not place:
        return False
    if not is_glob(place):
        return f"{path}/".startswith(f"{place}/")
    if _find_literal(place) not in path:
        return False
    from holdfast.team import overlap  # few reservations get here

    return overlap.covers(place, path)


def list_above(paths: Iterable[str]) -> dict[str, str]:
    """Each path and each folder above it, with the first path that is the same or below: what names
    one of them is found without comparing all.
    """
    above: dict[str, str] = {}
    for path in paths:
        place = compose(path)
        while place:
            above.setdefault(place, path)
            place = place.rpartition("/")[0]
    return above


def find_named(reservation: Reservation, above: Mapping[str, str]) -> tuple[str, str] | None:
    """The first entry of a reservation that names one of these, and the path that it is about."""
    for entry in filter(above.__contains__, reservation.paths):
        return entry, above[entry]
    if _are_plain(reservation.paths):
        return None
    for entry in reservation.paths:
        path = above.get(compose(find_place(entry)))
        if path is not None and len(entry) <= PATTERN_CHARS:
            return entry, path
    return None


def _are_plain(entries: Iterable[str]) -> bool:
    """Whether each is the text that it is looked up by; asked of all at once: there are many."""
    lines = "\n".join(("", *entries, ""))
    return lines.isascii() and not any(sign in lines for sign in ("#", "\n.", "\n/", "/\n"))


def list_globs(reservation: Reservation) -> list[str]:
    if not is_glob("\n".join(reservation.paths)):
        return []
    return [entry for entry in reservation.paths if is_glob(entry)]


def find_covered(pattern: str, paths: Iterable[str]) -> str | None:
    """The first path that a glob matches, of those that have its longest word in them."""
    literal = _find_literal(compose(find_place(pattern)))
    candidates = (path for path in paths if literal in compose(path))
    return next((path for path in islice(candidates, COMPARED) if covers(pattern, path)), None)


def find_place(pattern: str) -> str:
    """Without the symbol; empty where it leaves the tree."""
    place = pattern.partition("#")[0].removeprefix("./").strip("/")
    is_outside = pattern.startswith("/") or ".." in place.split("/")
    return "" if is_outside else place


def find_symbol(pattern: str) -> str:
    return pattern.partition("#")[2]


def is_glob(place: str) -> bool:
    return any(sign in place for sign in WILD)


def _find_literal(place: str) -> str:
    """What stands in every path that a glob matches; of brackets nothing is known."""
    if "[" in place:
        return ""
    parts = place.replace("?", "*").split("*")
    return max((part.strip("/") for part in parts), key=len)


def find_last_step(repo: str | None) -> str:
    """Names of the same repository have the same one, so few have to be compared in full."""
    name = (repo or "").strip().casefold().rstrip("/")
    return name.rpartition("/")[2].rpartition(":")[2].removesuffix(".git")


# --- what may be shown ----------------------------------------------------------------------------


def is_plain(name: object, most: int = NAME_CHARS) -> bool:
    """Whether a name of another person is short and has nothing in it that reads as a sentence."""
    return isinstance(name, str) and 0 < len(name) <= most and PLAIN.issuperset(name)


def shorten_repo(repo: str) -> str:
    """One without a remote is called by its first commit, of which the beginning is enough."""
    is_commit = len(repo) >= COMMIT_CHARS and HEXADECIMAL.issuperset(repo)
    return repo[:SHOWN_COMMIT_CHARS] if is_commit else repo


def show_branch(branch: str | None) -> str:
    if branch is None:
        return NO_BRANCH
    return branch if is_plain(branch) else A_BRANCH


def show_handle(handle: str) -> str:
    return handle if is_plain(handle, HANDLE_CHARS) else A_TEAMMATE


def show_pattern(pattern: str, has_symbol: Callable[[str], bool]) -> str:
    """A pattern that matches here, so that its letters are those of a path here; without a symbol
    that is not in a file here. Empty where it cannot be shown.
    """
    place, symbol = find_place(pattern), find_symbol(pattern)
    if symbol and has_symbol(symbol):
        place = f"{place}#{symbol}"
    return place if 0 < len(place) <= NAME_CHARS and SHOWN.issuperset(place) else ""


def is_plain_path(path: str) -> bool:
    """The same of a path, a glob or a symbol."""
    return 0 < len(path) <= NAME_CHARS and SHOWN.issuperset(path)


def show_place(repo: str | None, branch: str | None) -> list[str]:
    """Another's repository and branch, as far as there are any."""
    place = []
    if repo:
        short = shorten_repo(repo)
        place.append(short if is_plain(short) else A_REPOSITORY)
    if branch:
        place.append(show_branch(branch))
    return place


def show_paths(paths: Iterable[str], word: str) -> list[str]:
    """Another's paths; one that is not plain is called by its number: `file 3`."""
    return [
        path if is_plain_path(path) else f"{word} {number}" for number, path in enumerate(paths, 1)
    ]


def name_paths(own: Reservation) -> tuple[str, ...]:
    """The paths of one's own reservation, for a call that makes it again; `PATH` stands for those
    that are too long, and for what a giver named: a reservation without a reason was taken over.
    """
    named = [path for path in own.paths if own.reason or is_plain_path(path)]
    totals = accumulate(map(len, named))
    short = tuple(
        path for path, total in zip(named, totals, strict=True) if total <= REPEATED_CHARS
    )
    return short if len(short) == len(own.paths) else (*short, A_PATH)


def list_hidden(
    repo: str | None, branch: str | None, paths: Iterable[str] = (), word: str = "path"
) -> list[str]:
    """What the two above do not show, whole: for a fence."""
    hidden = []
    if repo and not is_plain(shorten_repo(repo)):
        hidden.append(f"repository: {repo}")
    if branch and not is_plain(branch):
        hidden.append(f"branch: {branch}")
    numbered = [(number, path) for number, path in enumerate(paths, 1) if not is_plain_path(path)]
    return [*hidden, *(f"{word} {number}: {path}" for number, path in numbered)]


def format_moment(moment: datetime, now: datetime) -> str:
    """12:51Z, with the day where that is another."""
    form = "%H:%MZ" if moment.date() == now.date() else "%m-%d %H:%MZ"
    return moment.strftime(form)
