"""Frozen dataclasses that are cheap to define.

The standard decorator writes the source of six methods for each class and compiles it, and loads
`inspect` to do so: for a hook that makes a bundle that was a third of its time. Here the methods
are closures over the names of the fields. Whoever asks for more, `dataclasses.fields` or a library
that builds on it, gets what the standard decorator would have made, at that moment.

To a type checker these names are those of the standard library. Only what this package uses is
here: `@dataclass(frozen=True)`, without `__post_init__`, class variables and slots.
"""

from __future__ import annotations

from operator import attrgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, NoReturn

_FIELDS = "__holdfast_fields__"
_REQUIRED = object()  # the default of a field that has none


class _Field:
    __slots__ = ("compare", "default", "default_factory", "kw_only", "metadata", "name", "type")

    def __init__(
        self,
        *,
        default: Any = _REQUIRED,
        default_factory: Callable[[], Any] | None = None,
        kw_only: bool = False,
        compare: bool = True,
        metadata: Mapping[str, Any] | None = None,
    ):
        self.name = self.type = ""
        self.default = default
        self.default_factory = default_factory
        self.kw_only = kw_only
        self.compare = compare
        self.metadata = metadata or {}


class _AsStandard:
    """An attribute as the standard decorator would have made it, once something asks for it."""

    def __init__(self, name: str, owner: type):
        self.name = name
        self.owner = owner

    def __get__(self, thing: object, kind: type) -> Any:
        value = getattr(_make_standard(self.owner), self.name)
        setattr(self.owner, self.name, value)
        return value


def _dataclass(*, frozen: bool) -> Callable[[type], type]:
    if not frozen:
        raise TypeError("A class that changes is one for the standard decorator.")
    return _freeze


def _freeze(cls: type) -> type:
    found = _collect_fields(cls)
    compared = [name for name, each in found.items() if each.compare]
    methods = {
        "__init__": _make_init(cls, found),
        "__repr__": _show,
        "__setattr__": _refuse_change,
        "__delattr__": _refuse_change,
        **_make_comparison(cls, compared),
    }
    for name, method in methods.items():
        if name not in cls.__dict__:
            setattr(cls, name, method)
    setattr(cls, _FIELDS, found)
    for name in ("__dataclass_fields__", "__dataclass_params__", "__signature__"):
        setattr(cls, name, _AsStandard(name, cls))
    return cls


def _collect_fields(cls: type) -> dict[str, _Field]:
    """Those of the classes it derives from come first."""
    found: dict[str, _Field] = {}
    for parent in reversed(cls.__mro__[1:]):
        found |= parent.__dict__.get(_FIELDS, {})
    for name, kind in cls.__annotations__.items():
        given = cls.__dict__.get(name, _REQUIRED)
        found[name] = each = given if isinstance(given, _Field) else _Field(default=given)
        each.name, each.type = name, kind
        _set_default(cls, each)
    return found


def _set_default(cls: type, each: _Field) -> None:
    """Readable on the class, as that of any other attribute."""
    if each.default is not _REQUIRED:
        setattr(cls, each.name, each.default)
    elif each.name in cls.__dict__:
        delattr(cls, each.name)


def _make_init(cls: type, found: dict[str, _Field]) -> Callable[..., None]:
    in_order = tuple(name for name, each in found.items() if not each.kw_only)
    # All names, so that the attributes of every instance are in the order of the fields.
    start = {name: each.default for name, each in found.items()}
    factories = {name: each.default_factory for name, each in found.items() if each.default_factory}
    undefined = {name for name, default in start.items() if default is _REQUIRED}
    required = undefined - factories.keys()

    def fill(self: Any, /, *given: Any, **named: Any) -> None:
        passed = dict(zip(in_order, given, strict=False), **named)
        values = {**start, **passed}
        is_whole = len(passed) == len(start) or required.issubset(passed)
        if not is_whole or len(values) > len(start) or len(passed) < len(given) + len(named):
            _make_standard(cls)(*given, **named)  # it says what is wrong
        for name, make in factories.items():
            if name not in passed:
                values[name] = make()
        self.__dict__.update(values)

    return fill


def _make_comparison(cls: type, names: list[str]) -> dict[str, Any]:
    if "__eq__" in cls.__dict__ or not names:
        return {}
    # Also of a single field it makes a tuple.
    get_values = attrgetter(*names, names[0])

    def is_equal(self: object, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return bool(get_values(self) == get_values(other))

    def make_hash(self: object) -> int:
        return hash(get_values(self))

    return {"__eq__": is_equal, "__hash__": make_hash}


def _show(self: object) -> str:
    shown = [f"{name}={getattr(self, name)!r}" for name in getattr(self, _FIELDS)]
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_change(self: object, name: str, *value: object) -> NoReturn:
    from dataclasses import FrozenInstanceError

    verb = "assign to" if value else "delete"
    raise FrozenInstanceError(f"cannot {verb} field {name!r}")


def _make_standard(cls: type) -> type:
    import dataclasses
    import inspect

    described = []
    for each in getattr(cls, _FIELDS).values():
        options = {"kw_only": each.kw_only, "compare": each.compare, "metadata": each.metadata}
        if each.default_factory:
            options["default_factory"] = each.default_factory
        elif each.default is not _REQUIRED:
            options["default"] = each.default
        described.append((each.name, each.type, dataclasses.field(**options)))
    standard = dataclasses.make_dataclass(cls.__name__, described, frozen=True)
    standard.__signature__ = inspect.signature(standard)  # type: ignore[attr-defined]
    return standard


def _fields(thing: Any) -> tuple[_Field, ...]:
    return tuple(getattr(thing, _FIELDS).values())


def _replace(thing: Any, /, **changes: Any) -> Any:
    """A copy of its attributes: their defaults and factories were asked when it was made."""
    cls = type(thing)
    if not changes.keys() <= getattr(cls, _FIELDS).keys():
        cls(**{**_read_fields(thing), **changes})  # it says what is wrong
    changed = object.__new__(cls)
    changed.__dict__.update(thing.__dict__, **changes)
    return changed


def _asdict(thing: Any) -> dict[str, Any]:
    return {name: _to_plain(value) for name, value in _read_fields(thing).items()}


def _read_fields(thing: Any) -> dict[str, Any]:
    return {name: getattr(thing, name) for name in getattr(thing, _FIELDS)}


def is_frozen(value: object) -> bool:
    return hasattr(value, _FIELDS)


def _to_plain(value: Any) -> Any:
    if is_frozen(value):
        return _asdict(value)
    if isinstance(value, list | tuple):
        return type(value)([_to_plain(item) for item in value])
    if isinstance(value, dict):
        return {key: _to_plain(item) for key, item in value.items()}
    return value


if TYPE_CHECKING:
    from dataclasses import asdict, dataclass, field, fields, replace
else:
    asdict, dataclass, field, fields, replace = _asdict, _dataclass, _Field, _fields, _replace

__all__ = ["asdict", "dataclass", "field", "fields", "is_frozen", "replace"]
