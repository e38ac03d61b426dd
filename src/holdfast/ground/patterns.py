"""Regular expressions that are compiled when they are first used.

To compile one takes longer than to use it a hundred times, and a short process uses few of those
that its modules have.
"""

from __future__ import annotations

from holdfast.ground import late_re as re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, AnyStr


class _LatePattern:
    def __init__(self, pattern: object, flags: int):
        self._given = pattern, flags

    def __getattr__(self, name: str) -> Any:
        """A method of the pattern, which is an attribute here from then on."""
        found = getattr(re.compile(*self._given), name)  # type: ignore[call-overload]
        self.__dict__[name] = found
        return found


def compile_later(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    return _LatePattern(pattern, flags)  # type: ignore[return-value]
