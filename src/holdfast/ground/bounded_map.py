"""What was worked out before, by what it follows from; the oldest leaves when there is too much."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

from holdfast.ground.light_typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class BoundedMap(Generic[Key, Value]):
    """Threads may share it."""

    def __init__(self, most: int):
        self.most = most
        self._values: OrderedDict[Key, Value] = OrderedDict()

    def find(self, key: Key) -> Value | None:
        return self._values.get(key)

    def keep(self, key: Key, value: Value) -> None:
        self._values[key] = value
        if len(self._values) > self.most:
            self._values.popitem(last=False)

    def drop(self, key: Key) -> None:
        self._values.pop(key, None)

    def clear(self) -> None:
        self._values.clear()
