"""The text of one file of a checkout, with everything that evidence is compared with.

Any number of claims may name one file, so whatever is worked out about it is worked out once. All
of it is paid for (`effort`) before it is done.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cached_property

from holdfast.workstreams import line_runs
from holdfast.workstreams.effort import LINE, SEARCHED_LINE, Effort
from holdfast.workstreams.places import Lines, Symbol, UnreadableSource

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.workstreams.symbols import Source


def decode_text(data: bytes) -> str:
    """A file's bytes as a text that no other bytes give: what is not UTF-8 becomes surrogates."""
    return data.decode("utf-8", "surrogateescape")


class FileText:
    def __init__(self, path: str, text: str, effort: Effort):
        self.path, self.text, self.effort = path, text, effort
        effort.spend(LINE * text.count("\n"))
        self.lines = line_runs.split_lines(text)
        self._hashes: dict[Lines, str] = {}
        self._rolled: dict[int, bytes] = {}

    @cached_property
    def hash(self) -> str:
        """Of all lines."""
        return line_runs.hash_lines(self.lines)

    def cut_run(self, place: Lines) -> Sequence[str]:
        run = self.lines[place.first - 1 : place.last]
        self.effort.spend(sum(map(len, run)))
        return run

    def hash_run(self, place: Lines) -> str:
        if place not in self._hashes:
            self._hashes[place] = line_runs.hash_lines(self.cut_run(place))
        return self._hashes[place]

    def find_runs(self, count: int, run_hash: str | None) -> list[Lines]:
        """Where so many lines with this cheap hash are."""
        if run_hash is None or count > len(self.lines):  # also a count that was edited by hand
            return []
        rolled = self._roll(count)
        self.effort.spend(len(rolled) // line_runs.HASH_BYTES)
        firsts = line_runs.find_hash(rolled, run_hash)
        self.effort.spend(SEARCHED_LINE * len(firsts))
        return [Lines(first, first + count - 1) for first in firsts]

    def read_symbol(self, name: str) -> Symbol | UnreadableSource | None:
        """None where the text is readable and does not have it."""
        source = self._source
        if isinstance(source, UnreadableSource):
            return source
        return source.read_symbol(name)

    def list_namesakes(self, name: str) -> list[str]:
        source = self._source
        if isinstance(source, UnreadableSource):
            return []
        return source.list_namesakes(name)

    @cached_property
    def _source(self) -> Source | UnreadableSource:
        from holdfast.workstreams import symbols  # a parser, which most evidence does not need

        return symbols.read_source(self.text, self.path, self.effort)

    @cached_property
    def _line_hashes(self) -> array[int]:
        return line_runs.list_line_hashes(self.lines)

    def _roll(self, count: int) -> bytes:
        if count not in self._rolled:
            self.effort.spend(SEARCHED_LINE * len(self.lines))
            self._rolled[count] = line_runs.roll_hashes(self._line_hashes, count)
        return self._rolled[count]
