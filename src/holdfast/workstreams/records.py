"""JSON objects of a file as frozen types that lose nothing.

A file is edited by people, by merges and by later versions of this program. So a type reads what it
knows and keeps the rest in `extra`: names that it does not know, and values that do not have the
form it expects. A field that is None is not in the file. Reading an object and writing it again
gives the same object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from holdfast.ground.frozen import dataclass, field, fields
from holdfast.ground.light_typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self


class Form(NamedTuple):
    """How a field is read from JSON (None: it does not have the form) and written again."""

    read: Callable[[Any], Any]
    write: Callable[[Any], Any]
    # Whether another form makes the whole file unreadable. A single value may be null, a list not.
    is_required: bool = True
    is_list: bool = False


@dataclass(frozen=True)
class Record:
    extra: Mapping[str, Any] = field(default_factory=dict, kw_only=True)

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Self:
        known = {}
        for name, form in _list_forms(cls).items():
            found = form.read(value.get(name))
            if found is not None:
                known[name] = found
        extra = {name: other for name, other in value.items() if name not in known}
        return cls(**known, extra=extra)

    def to_dict(self) -> dict[str, Any]:
        written = dict(self.extra)
        for name, form in _list_forms(type(self)).items():
            value = getattr(self, name)
            if value is not None:
                written[name] = form.write(value)
        return written

    def has_right_form(self) -> bool:
        """Whether every field that we rely on has its form; what we do not know may be anything."""
        forms = _list_forms(type(self))
        return all(self._is_right(name, form) for name, form in forms.items())

    def _is_right(self, name: str, form: Form) -> bool:
        """A value in `extra` does not have its form; one that was read may hold records."""
        if name in self.extra and form.is_required:
            return self.extra[name] is None and not form.is_list
        value = getattr(self, name)
        parts = value if isinstance(value, tuple) else (value,)
        records = [part for part in parts if hasattr(part, "has_right_form")]
        return all(record.has_right_form() for record in records)


# --- fields ---------------------------------------------------------------------------------------


def text_field(*, required: bool = True) -> Any:
    return _field(Form(_read_kind(str), _keep_value, is_required=required))


def number_field(*, required: bool = True) -> Any:
    return _field(Form(_read_kind(int), _keep_value, is_required=required))


def flag_field() -> Any:
    return _field(Form(_read_kind(bool), _keep_value, is_required=False))


def object_field() -> Any:
    """A JSON object whose names are not ours."""
    return _field(Form(_read_kind(dict), dict, is_required=False))


def texts_field() -> Any:
    return _field(Form(read_texts, list, is_list=True))


def record_field(read_record: Callable[[Mapping[str, Any]], Record]) -> Any:
    def read(value: Any) -> Record | None:
        if not isinstance(value, Mapping):
            return None
        return read_record(value)

    def write(record: Record) -> dict[str, Any]:
        return record.to_dict()

    return _field(Form(read, write))


def records_field(read_item: Callable[[Mapping[str, Any]], Any]) -> Any:
    def read(value: Any) -> tuple[Any, ...] | None:
        if not isinstance(value, list):
            return None
        if not all(isinstance(item, Mapping) for item in value):
            return None
        return tuple(read_item(item) for item in value)

    def write(records: tuple[Any, ...]) -> list[dict[str, Any]]:
        return [record.to_dict() for record in records]

    return _field(Form(read, write, is_list=True))


def custom_field(
    read: Callable[[Any], Any], write: Callable[[Any], Any], *, is_list: bool = False
) -> Any:
    return _field(Form(read, write, is_required=is_list, is_list=is_list))


def _field(form: Form) -> Any:
    return field(default=None, metadata={"form": form})


_FORMS: dict[type, dict[str, Form]] = {}


def _list_forms(kind: type[Record]) -> dict[str, Form]:
    """Looked up once for each type: a file may hold very many records."""
    if kind not in _FORMS:
        _FORMS[kind] = _find_forms(kind)
    return _FORMS[kind]


def _find_forms(kind: type[Record]) -> dict[str, Form]:
    forms = {}
    for each in fields(kind):
        if "form" in each.metadata:
            forms[each.name] = each.metadata["form"]
    return forms


def _keep_value(value: Any) -> Any:
    return value


def _read_kind(kind: type) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if not isinstance(value, kind):
            return None
        return value

    return read


def read_texts(value: Any) -> tuple[str, ...] | None:
    if not isinstance(value, list):
        return None
    if not all(isinstance(item, str) for item in value):
        return None
    return tuple(value)
