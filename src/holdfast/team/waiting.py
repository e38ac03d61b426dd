"""Changes that wait for the team's server: one file each, in the order in which they were made.

A file is durable before its change is called kept, and goes when the server has acknowledged it.
Each has the key under which the server does it once, so that it may be sent again after a crash
between the two. What is sent is sent by one process at a time. A change of something that waits
itself names its receipt; when that is sent, the receipt is remembered with the id that it got.
"""

from __future__ import annotations

import os
from contextlib import suppress

from holdfast.errors import HoldfastError, KeyReusedError
from holdfast.ground import clock, files, ids
from holdfast.ground import light_json as json
from holdfast.ground.frozen import dataclass, replace
from holdfast.team.errors import TooManyWaitError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

FOLDER, REFUSED, SENT = "team-outbox", "refused", "sent.json"
MOST, MOST_REFUSED, MOST_SENT = 200, 50, 200
ENTRY_BYTES, SENT_BYTES = 1 << 20, 1 << 20
NUMBER_DIGITS = 12
DRAIN, NUMBER = "sending", "numbering"


@dataclass(frozen=True)
class Waiting:
    """`about` is the receipt of what this changes, where that waits or waited itself; `was_tried`:
    the server may have done it; `answered`: how often it answered with an error. `what` is shown
    to the person.
    """

    receipt: str
    server: str
    developer_id: str
    what: str
    method: str
    path: str
    body: dict[str, Any] | None
    key: str
    at: str
    about: str | None = None
    was_tried: bool = False
    answered: int = 0
    reason: str = ""  # why the server refused it
    file: str = ""

    @property
    def operation(self) -> tuple[str, str]:
        """A key means a request within one operation, as it does at the server."""
        return self.method, self.path.split("/")[2]

    @property
    def request(self) -> tuple[str, object]:
        """What has to be the same under one key; what code has seen meanwhile need not be."""
        body = {name: value for name, value in (self.body or {}).items() if name != "basis"}
        return self.path, body

    def to_dict(self) -> dict[str, Any]:
        """For a person or a program that asks what waits."""
        names = ("receipt", "what", "at", "server", "reason")
        return {name: value for name in names if (value := getattr(self, name))}


class Outbox:
    def __init__(self, home: str):
        self.folder = os.path.join(home, FOLDER)
        self.refused_folder = os.path.join(self.folder, REFUSED)

    # --- what waits -------------------------------------------------------------------------------

    def is_empty(self) -> bool:
        """A look at the folder: most have never had one."""
        return not self._list_names(self.folder)

    def list_all(self) -> list[Waiting]:
        return list(self._read_all(self.folder))

    def list_refused(self) -> list[Waiting]:
        """What a person has not been told of yet."""
        return list(self._read_all(self.refused_folder))

    def find(self, receipt: str) -> Waiting | None:
        return next((each for each in self.list_all() if each.receipt == receipt), None)

    def find_sent(self, receipt: str) -> str | None:
        """The id that a change got which waited once."""
        return self._read_sent().get(receipt)

    # --- changes ----------------------------------------------------------------------------------

    def add(self, entry: Waiting) -> Waiting:
        files.private_folder(self.folder)
        with files.Lock(os.path.join(self.folder, NUMBER)):
            for known in self.list_all():
                if known.key != entry.key or known.operation != entry.operation:
                    continue
                if known.request != entry.request:
                    raise KeyReusedError(entry.key)
                return known  # the same request again
            names = self._list_names(self.folder)
            if len(names) >= MOST:
                raise TooManyWaitError(MOST, entry.server)
            last = int(names[-1][:NUMBER_DIGITS]) if names else 0
            name = f"{last + 1:0{NUMBER_DIGITS}}-{entry.receipt}.json"
            kept = replace(entry, file=os.path.join(self.folder, name))
            self._write(kept)
        return kept

    def replace(self, entry: Waiting) -> None:
        self._write(entry)

    def set_damaged_aside(self) -> None:
        """A file that cannot be read is reported like what the server refused, and kept."""
        for name in self._list_names(self.folder):
            path = os.path.join(self.folder, name)
            if self._read(path) is None and os.path.exists(path):
                receipt = name[NUMBER_DIGITS + 1 :].removesuffix(".json")
                os.replace(path, f"{path}.damaged")
                lost = Waiting(receipt, "", "", "A change", "", "", None, "", "", file=path)
                self.refuse(lost, f"Its file is damaged and was renamed to {name}.damaged.")

    def mark_tried(self, entry: Waiting) -> Waiting:
        if entry.was_tried:
            return entry
        tried = replace(entry, was_tried=True)
        self._write(tried)
        return tried

    def finish(self, entry: Waiting, made_id: str | None) -> None:
        if made_id is not None:
            self._remember(entry.receipt, made_id)
        self._remove(entry.file)

    def refuse(self, entry: Waiting, reason: str) -> None:
        """Keep it aside, for the person to look at."""
        files.private_folder(self.refused_folder)
        for old in self._list_names(self.refused_folder)[: -MOST_REFUSED + 1]:
            self._remove(os.path.join(self.refused_folder, old))
        place = os.path.join(self.refused_folder, os.path.basename(entry.file))
        self._write(replace(entry, reason=reason, file=place))
        self._remove(entry.file)

    def forget_refused(self) -> None:
        """They were reported."""
        for name in self._list_names(self.refused_folder):
            self._remove(os.path.join(self.refused_folder, name))

    def take_back(self, receipt: str, *, even_tried: bool = False) -> bool:
        """Remove what waits, where the server has not heard of it."""
        if self.find(receipt) is None:
            return False
        with self.sending():
            entry = self.find(receipt)
            if entry is None or (entry.was_tried and not even_tried):
                return False
            self._remove(entry.file)
            return True

    def sending(self, seconds: float = files.LOCK_SECONDS) -> files.Lock:
        """One process sends at a time."""
        files.private_folder(self.folder)
        return files.Lock(os.path.join(self.folder, DRAIN), seconds)

    # --- files ------------------------------------------------------------------------------------

    def _list_names(self, folder: str) -> list[str]:
        try:
            names = os.listdir(folder)
        except OSError:
            return []
        return sorted(name for name in names if _is_entry(name))

    def _read_all(self, folder: str) -> Iterator[Waiting]:
        """One that was sent meanwhile is passed over; so is one that is damaged."""
        read = (self._read(os.path.join(folder, name)) for name in self._list_names(folder))
        return filter(None, read)

    def _read(self, path: str) -> Waiting | None:
        with suppress(HoldfastError, ValueError, TypeError, RecursionError):
            data = files.find_own_bytes(path, max_bytes=ENTRY_BYTES)
            if data is not None:
                return Waiting(**{**json.loads(data), "file": path})
        return None

    def _write(self, entry: Waiting) -> None:
        data = {name: value for name, value in entry.__dict__.items() if name != "file"}
        files.write_atomic(entry.file, json.dumps(data).encode())

    def _remove(self, path: str) -> None:
        with suppress(FileNotFoundError):
            try:
                os.unlink(path)
            except FileNotFoundError:
                raise
            except OSError as error:
                raise files.translate(error, path) from error

    def _read_sent(self) -> dict[str, str]:
        try:
            path = os.path.join(self.folder, SENT)
            data = files.find_own_bytes(path, max_bytes=SENT_BYTES)
            found = json.loads(data or b"{}")
        except (HoldfastError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _remember(self, receipt: str, made_id: str) -> None:
        known = {**self._read_sent(), receipt: made_id}
        newest = dict(list(known.items())[-MOST_SENT:])
        files.write_atomic(os.path.join(self.folder, SENT), json.dumps(newest).encode())


def make_waiting(
    server: str,
    developer_id: str,
    what: str,
    request: tuple[str, str, dict[str, Any] | None],
    key: str,
    *,
    about: str | None = None,
    was_tried: bool = False,
) -> Waiting:
    method, path, body = request
    return Waiting(
        receipt=ids.new_id(),
        server=server,
        developer_id=developer_id,
        what=what,
        method=method,
        path=path,
        body=body,
        key=key,
        at=clock.to_text(clock.now()),
        about=about,
        was_tried=was_tried,
    )


def _is_entry(name: str) -> bool:
    number, dash, rest = name.partition("-")
    is_number = len(number) == NUMBER_DIGITS and number.isdecimal()
    return is_number and dash == "-" and rest.endswith(".json")
