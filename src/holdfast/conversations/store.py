"""The folders of conversations: in the repository after a person's yes, else in the data folder.

    <folder>/2026-11-18/001-debug-webhook-retry/debug.md
                                               /.session/session.json, messages.jsonl

Folders are opened step by step and never through a link, because anyone who may write into a
repository chooses what is there. What is in `.session` is for this user alone on this machine, and
ignored by git unless the person has asked for it. It can be removed, and the conversation is still
there.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime

from holdfast.conversations import document, rules
from holdfast.conversations.errors import ConversationNotFoundError, ReadOnlyConversationError
from holdfast.conversations.model import Conversation, History, Message, Saved
from holdfast.errors import InvalidValueError, StoreUnreachableError
from holdfast.ground import canonical, clock, files, jsonl
from holdfast.ground.errors import PathOutsideError
from holdfast.ground.folder import Folder, open_folder
from holdfast.ground.frozen import dataclass, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    Change = Callable[[Conversation, History], tuple[Conversation, Sequence[Message]]]

Stamp = tuple[int, int, int] | None  # of a file: which it is, how long, and when it was written

FOLDER, ARCHIVE, SESSION = "conversations", "archive", ".session"
METADATA, MESSAGES = "session.json", "messages.jsonl"
METADATA_BYTES = 1 << 20
MESSAGES_BYTES = 256 << 20
SEARCHED_BYTES = 256 << 20  # of all histories together
HEADING_BYTES = 1_000
TEMPORARY = ".holdfast-*.tmp"
RECOVERED = jsonl.RECOVERED_FOLDER
IGNORED = f"{SESSION}/\n{TEMPORARY}\n"
TRACKED = f"{RECOVERED}/\n{TEMPORARY}\n"
ATTRIBUTES = f"{MESSAGES} text eol=lf merge=union\n"


@dataclass(frozen=True)
class ConversationPlace:
    """A folder that holds conversations, by days."""

    root: str
    folder: str
    is_shared: bool

    @property
    def archived(self) -> ConversationPlace:
        return replace(self, folder=f"{self.folder}/{ARCHIVE}")

    def open(self, *steps: str, create: bool = False) -> Folder | None:
        is_private = not self.is_shared or SESSION in steps
        path = "/".join((self.folder, *steps))
        return open_folder(self.root, path, create=create, is_private=is_private)

    def find_path(self, *steps: str) -> str:
        return os.path.join(self.root, self.folder, *steps)


class ConversationFiles:
    """The conversations of one repository, wherever they are kept.

    `places`: where they are looked for; new ones are made in the first. `tracks_messages`: git
    keeps the histories of those in the repository as well.
    """

    def __init__(self, places: Sequence[ConversationPlace], *, tracks_messages: bool = False):
        self.places, self.tracks_messages = tuple(places), tracks_messages

    def create(self, conversation: Conversation, text: str) -> Conversation:
        """A new folder with its document; two at once get two numbers."""
        place = self.places[0]
        date = f"{conversation.created_at:%Y-%m-%d}"
        files.private_folder(place.root)
        if place.is_shared:
            self._prepare(place)
        with _opened(place.open(date, create=True)) as day, day.locked():
            # No id is given twice, in whichever place, archived or not: sessions name them.
            places = [*self.places, *(each.archived for each in self.places)]
            known = [name for each in places for name in _list_names(each, date)]
            name = rules.make_name(known, conversation.type, conversation.title)
            day.make_folder(name)
        made = replace(conversation, id=f"{date}/{name}", is_shared=place.is_shared)
        with _opened(place.open(date, name)) as folder:
            folder.replace(made.document, text.encode())
        with _opened(place.open(date, name, SESSION, create=True)) as session:
            session.replace(METADATA, document.to_bytes(made))
        return made

    def list_ids(self) -> list[tuple[ConversationPlace, str]]:
        """The newest first, by their names alone."""
        found = [(place, id_) for place in self.places for id_ in _list_ids(place)]
        return sorted(found, key=lambda each: rules.order_id(each[1]), reverse=True)

    def read(self, id_: str) -> Conversation:
        place = self._find_place(id_)
        return _read(place, id_)

    def read_at(self, place: ConversationPlace, id_: str) -> Conversation:
        return _read(place, id_)

    def read_history(self, id_: str) -> History:
        """Something else in the place of the file is damage, and nothing else of a search fails."""
        place = self._find_place(id_)
        try:
            data = _read_file(place, id_, MESSAGES, MESSAGES_BYTES)
        except (PathOutsideError, InvalidValueError):
            return History(damaged_lines=(1,))
        return document.read_history(data)

    def read_newest(self, id_: str, max_bytes: int) -> History:
        place = self._find_place(id_)
        return self.read_newest_at(place, id_, max_bytes)

    def read_newest_at(self, place: ConversationPlace, id_: str, max_bytes: int) -> History:
        """The messages at the end of a history, however long it is."""
        try:
            with _opened_if(place.open(*id_.split("/"), SESSION)) as session:
                data = session and session.find_end(MESSAGES, max_bytes=max_bytes)
        except PathOutsideError:
            return History(damaged_lines=(1,))
        return document.read_history(data or None)

    def find_stamps(self, place: ConversationPlace, id_: str) -> tuple[Stamp, Stamp]:
        """Of its two files; other ones as soon as one of them is replaced. Nothing is opened."""
        folder = place.find_path(id_, SESSION)
        return _find_stamp(folder, METADATA), _find_stamp(folder, MESSAGES)

    def find_said(self, words: Sequence[str]) -> tuple[dict[str, list[str]], int]:
        """Which of the words were said in which conversation, and how many were not looked at.

        The newest are, as far as the room reaches: what is searched must not grow without end.
        """
        said: dict[str, list[str]] = {}
        room, left_out = SEARCHED_BYTES, 0
        for place, id_ in self.list_ids() if words else ():
            try:
                data = _read_file(place, id_, MESSAGES, min(room, MESSAGES_BYTES)) or b""
            except PathOutsideError:
                continue
            except InvalidValueError:
                left_out += 1
                continue
            room -= len(data)
            said[id_] = document.find_words(data, words)
        return said, left_out

    def has_history(self, id_: str) -> bool:
        place = self._find_place(id_)
        return MESSAGES in _list_names(place, *id_.split("/"), SESSION)

    def update(self, id_: str, change: Change) -> Saved:
        """Compare and replace in one step: `change` gets what is there now, under the lock."""
        place = self._find_place(id_)
        # Only `.session` is made: a folder that was archived meanwhile is not begun again.
        with (
            _opened(place.open(*id_.split("/"))) as folder,
            _opened(folder.open(SESSION, create=True, is_private=True)) as session,
            session.locked(),
        ):
            known = session.find(MESSAGES, max_bytes=MESSAGES_BYTES)
            before = _read(place, id_)
            if before.problem:
                raise ReadOnlyConversationError(id_, before.problem)
            after, messages = change(before, document.read_history(known))
            new = rules.leave_out_known(document.list_ids(known), messages)
            if new:
                session.replace(MESSAGES, document.add_messages(known, new))
            kept = _keep_sides(session) if before.conflict else None
            session.replace(METADATA, document.to_bytes(replace(after, conflict=None)))
        return Saved(after, len(new), self._list_paths(place, after), kept)

    def erase(self, message_ids: Collection[str], now: datetime) -> list[str]:
        """The contents of some messages, wherever they were saved; that they were there stays.

        Returns the files in a repository that held them, because git may keep what they were.
        """
        wanted = frozenset(message_ids)
        places = [*self.places, *(place.archived for place in self.places)]
        known = [(place, id_) for place in places for id_ in _list_ids(place)]
        held = [each for each in known if _erase(*each, wanted, now)]
        return [
            os.path.join(place.find_path(id_), SESSION, MESSAGES)
            for place, id_ in held
            if place.is_shared
        ]

    def archive(self, id_: str) -> str:
        """Move a folder out of the lists; returns where it is now."""
        place = self._find_place(id_)
        date, name = id_.split("/")
        with (
            _opened(place.open(date)) as day,
            _opened(place.open(ARCHIVE, date, create=True)) as archive,
        ):
            day.move(name, archive)
        return place.find_path(ARCHIVE, date, name)

    def prune(self, id_: str) -> None:
        """Remove the history of a conversation; its document and its summary stay."""
        place = self._find_place(id_)
        with _opened_if(place.open(*id_.split("/"), SESSION)) as session:
            if session is not None:
                with session.locked():
                    session.remove(MESSAGES)

    def find_folder(self, id_: str) -> str:
        place = self._find_place(id_)
        return place.find_path(id_)

    # --- inside -----------------------------------------------------------------------------------

    def _find_place(self, id_: str) -> ConversationPlace:
        date, _, name = id_.partition("/")
        if not (rules.is_date(date) and rules.split_name(name)):
            raise ConversationNotFoundError(id_)
        for place in self.places:
            if name in _list_names(place, date):
                return place
        raise ConversationNotFoundError(id_)

    def _prepare(self, place: ConversationPlace) -> None:
        """Git's settings for the folder; a file that somebody else wrote stays as it is."""
        with _opened(place.open(create=True)) as top:
            wanted = TRACKED if self.tracks_messages else IGNORED
            known = top.find(".gitignore", max_bytes=METADATA_BYTES)
            if known in (None, IGNORED.encode(), TRACKED.encode()) and known != wanted.encode():
                top.replace(".gitignore", wanted.encode())
            if top.find(".gitattributes", max_bytes=METADATA_BYTES) is None:
                top.replace(".gitattributes", ATTRIBUTES.encode())

    def _list_paths(self, place: ConversationPlace, conversation: Conversation) -> tuple[str, ...]:
        """What belongs into one commit; none for one that is not in the repository."""
        if not place.is_shared:
            return ()
        folder = f"{place.folder}/{conversation.id}"
        paths = [f"{place.folder}/.gitignore", f"{place.folder}/.gitattributes", folder]
        return tuple(paths)


def _list_names(place: ConversationPlace, *steps: str) -> list[str]:
    """A link or a file in the place of a folder has none."""
    try:
        with _opened_if(place.open(*steps)) as folder:
            return folder.list_names() if folder else []
    except PathOutsideError:
        return []


def _find_stamp(folder: str, name: str) -> Stamp:
    try:
        found = os.lstat(os.path.join(folder, name))
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _list_ids(place: ConversationPlace) -> list[str]:
    found = []
    for date in filter(rules.is_date, _list_names(place)):
        found += [f"{date}/{name}" for name in filter(rules.split_name, _list_names(place, date))]
    return found


def _keep_sides(session: Folder) -> str | None:
    """What git could not merge, as it is, beside the file that is written in its place."""
    data = session.find(METADATA, max_bytes=METADATA_BYTES)
    if data is None:
        return None
    name = f"{METADATA}.{canonical.sha256(data).hex()[:16]}"
    with _opened(session.open(RECOVERED, create=True)) as recovered:
        recovered.replace(name, data)
    return os.path.join(session.path, RECOVERED, name)


def _erase(place: ConversationPlace, id_: str, message_ids: frozenset[str], now: datetime) -> bool:
    """Also from the summary that was made of them. A link leads to nothing that we wrote."""
    try:
        opened = place.open(*id_.split("/"), SESSION)
    except PathOutsideError:
        return False
    with _opened_if(opened) as session:
        if session is None:
            return False
        with session.locked():
            return _erase_in(session, place, id_, message_ids, now)


def _erase_in(
    session: Folder, place: ConversationPlace, id_: str, message_ids: frozenset[str], now: datetime
) -> bool:
    known = session.find(MESSAGES, max_bytes=MESSAGES_BYTES) or b""
    if not message_ids & document.list_ids(known):
        return False
    rest = document.erase_messages(known, message_ids, now)
    session.replace(MESSAGES, rest)
    before = _read(place, id_)
    if not before.problem:
        said = document.read_history(rest).messages
        session.replace(METADATA, document.to_bytes(rules.update(before, said, summary=None)))
    with _opened_if(session.open(RECOVERED)) as recovered:
        if recovered is not None:
            for name in recovered.list_names():
                recovered.remove(name)
    return True


def _read(place: ConversationPlace, id_: str) -> Conversation:
    """A `.session` that is missing, or something else in its place, leaves what the folder says."""
    problem = None
    data = None
    try:
        data = _read_file(place, id_, METADATA, METADATA_BYTES)
    except (PathOutsideError, InvalidValueError) as error:
        problem = error.message.rstrip(".")
    title, changed_at = _read_heading(place, id_)
    found = document.from_bytes(
        data, id_, title=title, changed_at=changed_at, is_shared=place.is_shared
    )
    return replace(found, problem=problem) if problem else found


def _read_file(place: ConversationPlace, id_: str, name: str, max_bytes: int) -> bytes | None:
    with _opened_if(place.open(*id_.split("/"), SESSION)) as session:
        return session.find(name, max_bytes=max_bytes) if session else None


def _read_heading(place: ConversationPlace, id_: str) -> tuple[str, datetime]:
    """The title that the document begins with, else the words of the folder's name; and its day."""
    date, name = id_.split("/")
    split = rules.split_name(name)
    type_, slug = split if split else ("", name)
    words = slug.replace("-", " ")
    made_at = _parse_day(date)
    try:
        with _opened_if(place.open(date, name)) as folder:
            data = folder and folder.find_beginning(f"{type_}.md", max_bytes=HEADING_BYTES)
    except (PathOutsideError, InvalidValueError):
        data = None
    first = (data or b"").decode("utf-8", "replace").partition("\n")[0]
    heading = first.removeprefix("# ") if first.startswith("# ") else ""
    return rules.clean_title(heading) or words, made_at


def _parse_day(date: str) -> datetime:
    """A folder may be called like a day that no calendar has."""
    try:
        return datetime.fromisoformat(date).replace(tzinfo=UTC)
    except ValueError:
        return clock.EPOCH


@contextlib.contextmanager
def _opened(folder: Folder | None) -> Iterator[Folder]:
    if folder is None:
        cause = "another program has removed or moved a folder of it meanwhile"
        raise StoreUnreachableError(FOLDER, cause, "Try again.")
    with folder:
        yield folder


@contextlib.contextmanager
def _opened_if(folder: Folder | None) -> Iterator[Folder | None]:
    if folder is None:
        yield None
        return
    with folder:
        yield folder
