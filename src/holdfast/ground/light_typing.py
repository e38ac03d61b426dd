"""What classes are made with of `typing`, without `typing`.

To a type checker these names are those of the standard library. At run time a named tuple is made
without compiling code, and a type variable is nothing: to load `typing` and to make ten named
tuples takes as long as starting git.
"""

from __future__ import annotations

from operator import itemgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Generic, NamedTuple, TypedDict, TypeVar
else:

    class Generic:
        __slots__ = ()

        def __class_getitem__(cls, _variables: Any) -> type:
            return cls

    def TypeVar(name: str, *_kinds: type, **_bounds: type) -> str:  # noqa: N802
        return name

    class TypedDict(dict):
        def __init_subclass__(cls, *, total: bool = True) -> None:
            """Any dictionary, as it is with `typing`."""

    class NamedTuple(tuple):
        __slots__ = ()
        _fields = ()

        def __init_subclass__(cls) -> None:
            if "__annotations__" not in cls.__dict__:  # a class that only adds methods
                return
            cls._fields = tuple(cls.__annotations__)
            cls._field_defaults = {}
            for index, name in enumerate(cls._fields):
                if name in cls.__dict__:
                    cls._field_defaults[name] = cls.__dict__[name]
                setattr(cls, name, property(itemgetter(index)))

        def __new__(cls, *given: Any, **named: Any) -> Any:
            if len(given) == len(cls._fields) and not named:
                return tuple.__new__(cls, given)
            passed = dict(zip(cls._fields, given, strict=False), **named)
            values = {**cls._field_defaults, **passed}
            is_right = len(passed) == len(given) + len(named) and values.keys() == {*cls._fields}
            if not is_right:
                raise TypeError(f"{cls.__name__} takes {', '.join(cls._fields)}")
            return tuple.__new__(cls, [values[name] for name in cls._fields])

        def __getnewargs__(self) -> tuple[Any, ...]:
            return tuple(self)

        def __repr__(self) -> str:
            shown = [f"{name}={value!r}" for name, value in self._asdict().items()]
            return f"{type(self).__name__}({', '.join(shown)})"

        def _asdict(self) -> dict[str, Any]:
            return dict(zip(self._fields, self, strict=True))

        def _replace(self, **changes: Any) -> Any:
            return type(self)(**{**self._asdict(), **changes})


__all__ = ["Generic", "NamedTuple", "TypeVar", "TypedDict"]
