"""Changes to a settings file that somebody else owns: what is not ours keeps its bytes.

A client's settings are written by a person and by the client itself, with comments, an indentation
and keys that are unknown here. So a file is never printed anew from what was read: a text is parsed
only to find out where something goes, and that place alone changes. What cannot be parsed, or could
mean two things, is refused: a ValueError says what is wrong, and nothing was changed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from holdfast.ground.patterns import compile_later

BOM = "\ufeff"
DEPTH = 100
INDENT = "  "

Keys = Sequence[str | int]  # an int is a place in an array

_SPACE = " \t\r\n"
_TRIVIA = compile_later(r"(?:[ \t\r\n]|//[^\r\n]*+|/\*.*?\*/)*", re.DOTALL)
_REST_OF_LINE = compile_later(r"(?:[ \t]|/\*[^\r\n]*?\*/)*(?://[^\r\n]*)?(?=\r?\n)")
_SCALAR = compile_later(
    r'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*"'
    r"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
    r"|true|false|null"
)


@dataclass(frozen=True)
class JsonNode:
    """A value and where it stands in the text."""

    start: int
    end: int
    value: Any
    items: tuple[JsonItem, ...] = ()
    opens: str = ""  # the bracket of an object or an array

    def find(self, key: str | int) -> JsonNode | None:
        if isinstance(key, int):
            return self.items[key].node if key < len(self.items) else None
        return next((item.node for item in self.items if item.key == key), None)


@dataclass(frozen=True)
class JsonItem:
    """A member of an object or an element of an array."""

    start: int
    node: JsonNode
    comma: int | None  # where the comma behind it stands
    key: str | None = None

    @property
    def end(self) -> int:
        return self.node.end


# --- reading --------------------------------------------------------------------------------------


@dataclass
class _Parser:
    text: str
    at: int = 0

    def parse_document(self) -> JsonNode:
        self.at = 1 if self.text.startswith(BOM) else 0
        self._skip()
        root = self._parse_value(0)
        self._skip()
        if self.at < len(self.text):
            raise self._make_error("there is more after the end")
        return root

    def _parse_value(self, depth: int) -> JsonNode:
        if depth > DEPTH:
            raise self._make_error("it is nested too deep")
        if self.text.startswith(("{", "["), self.at):
            return self._parse_container(depth)
        match = _SCALAR.match(self.text, self.at)
        if match is None:
            raise self._make_error("a value is missing or cannot be read")
        self.at = match.end()
        return JsonNode(match.start(), match.end(), self._read_scalar(match))

    def _read_scalar(self, match: re.Match[str]) -> Any:
        try:
            return json.loads(match[0])
        except ValueError:  # an escape that means nothing, a number of too many digits
            self.at = match.start()
            raise self._make_error("a value cannot be read") from None

    def _parse_container(self, depth: int) -> JsonNode:
        start, opens = self.at, self.text[self.at]
        closes = "}" if opens == "{" else "]"
        items: list[JsonItem] = []
        self.at += 1
        self._skip()
        while not self.text.startswith(closes, self.at):
            if items and items[-1].comma is None:
                raise self._make_error(f"a comma or {closes} is missing")
            items.append(self._parse_item(opens, depth))
        self.at += 1
        value: Any = [item.node.value for item in items]
        if opens == "{":
            value = self._join_members(items)
        return JsonNode(start, self.at, value, tuple(items), opens)

    def _join_members(self, items: list[JsonItem]) -> dict[str, Any]:
        value: dict[str, Any] = {}
        for item in items:
            assert item.key is not None
            if item.key in value:
                self.at = item.start
                raise self._make_error(f"the key {item.key!r} is there twice")
            value[item.key] = item.node.value
        return value

    def _parse_item(self, opens: str, depth: int) -> JsonItem:
        start, key = self.at, None
        if opens == "{":
            key = self._parse_key()
        node = self._parse_value(depth + 1)
        self._skip()
        comma = None
        if self.text.startswith(",", self.at):
            comma = self.at
            self.at += 1
            self._skip()
        return JsonItem(start, node, comma, key)

    def _parse_key(self) -> str:
        match = _SCALAR.match(self.text, self.at)
        if match is None or not match[0].startswith('"'):
            raise self._make_error("a key is missing or cannot be read")
        key: str = self._read_scalar(match)
        self.at = match.end()
        self._skip()
        if not self.text.startswith(":", self.at):
            raise self._make_error("a colon is missing")
        self.at += 1
        self._skip()
        return key

    def _skip(self) -> None:
        match = _TRIVIA.match(self.text, self.at)
        assert match is not None
        self.at = match.end()

    def _make_error(self, problem: str) -> ValueError:
        line = self.text.count("\n", 0, self.at) + 1
        return ValueError(f"line {line}: {problem}")


def parse_json(text: str) -> Any:
    """The value of a JSON text in which comments and commas at an end are allowed."""
    return _Parser(text).parse_document().value  # the caller's own: it may be changed


def is_blank(text: str) -> bool:
    return not text.removeprefix(BOM).strip(_SPACE)


@lru_cache(maxsize=4)
def _parse(text: str) -> JsonNode:
    """Kept for a moment: one edit asks several times, and a client's file may have megabytes."""
    return _Parser(text).parse_document()


# --- JSON: putting in -----------------------------------------------------------------------------


def set_member(text: str, keys: Keys, value: Any) -> str:
    """The text in which an object has that value; objects on the way are made where needed."""
    if is_blank(text):
        text = _make_document(text)
    root = _parse(text)
    node, missing = _descend(root, keys)
    if not missing:
        return text if _is_equal(node.value, value) else _replace(text, node, value)
    for key in reversed(missing[1:]):
        value = {key: value}
    return _append(text, node, missing[0], value)


def append_element(text: str, keys: Keys, value: Any) -> str:
    """The text in which an array has that value: at its end, unless it is there already."""
    if is_blank(text):
        text = _make_document(text)
    node, missing = _descend(_parse(text), keys, "[")
    if missing:
        return set_member(text, keys, [value])
    if any(_is_equal(item.node.value, value) for item in node.items):
        return text
    return _append(text, node, None, value)


def _is_equal(left: Any, right: Any) -> bool:
    """As JSON: to Python, true is 1."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


def _make_document(text: str) -> str:
    bom = BOM if text.startswith(BOM) else ""
    newline = find_newline(text)
    return f"{bom}{{{newline}}}{newline}"


def _descend(root: JsonNode, keys: Keys, last: str = "") -> tuple[JsonNode, list[str]]:
    """As far as there is something: the node, and the keys that are missing below it.

    `last` is the bracket that what the keys end at must begin with, where that matters.
    """
    node = root
    for depth, key in enumerate(keys):
        _require(node, "[" if isinstance(key, int) else "{", keys[:depth])
        inner = node.find(key)
        if inner is None:
            return node, [str(missing) for missing in keys[depth:]]
        node = inner
    if last:
        _require(node, last, keys)
    return node, []


def _require(node: JsonNode, opens: str, keys: Keys) -> None:
    if node.opens != opens:
        name = ".".join(map(str, keys)) or "the whole of it"
        raise ValueError(f"{name} is not {'an array' if opens == '[' else 'an object'}")


def _append(text: str, container: JsonNode, key: str | None, value: Any) -> str:
    if not container.items:
        return _fill(text, container, key, value)
    last = container.items[-1]
    lead = _find_lead(text, last.start)
    if lead is None:
        body = _print(key, value)
        return _splice(text, last, f" {body}", last.end if last.comma is None else last.comma + 1)
    newline = find_newline(text)
    unit = _find_unit(text, container, lead)
    body = _print(key, value, newline=newline, lead=lead, unit=unit)
    behind = last.end if last.comma is None else last.comma + 1
    match = _REST_OF_LINE.match(text, behind)  # a comment on that line belongs to that item
    at = match.end() if match else behind
    return _splice(text, last, f"{newline}{lead}{body}", at)


def _splice(text: str, last: JsonItem, addition: str, at: int) -> str:
    """After the last item; a comma goes where the file's own style wants one."""
    if last.comma is None:
        return f"{text[: last.end]},{text[last.end : at]}{addition}{text[at:]}"
    return f"{text[:at]}{addition},{text[at:]}"


def _fill(text: str, container: JsonNode, key: str | None, value: Any) -> str:
    """The first item: behind the comments that stand there, on a line of its own."""
    inside = text[container.start + 1 : container.end - 1]
    kept = inside.rstrip(_SPACE)
    at = container.start + 1 + len(kept)
    if "\n" not in text:
        return f"{text[:at]}{_print(key, value)}{text[at:]}"
    newline = find_newline(text)
    outer = _find_line_indent(text, container.start)
    lead = outer + _find_file_unit(text)
    body = _print(key, value, newline=newline, lead=lead, unit=_find_file_unit(text))
    rest = text[at:]
    if "\n" not in inside[len(kept) :]:
        rest = f"{newline}{outer}{text[container.end - 1 :]}"
    return f"{text[:at]}{newline}{lead}{body}{rest}"


def _replace(text: str, node: JsonNode, value: Any) -> str:
    lead = _find_line_indent(text, node.start)
    body = json.dumps(value, ensure_ascii=False)
    if "\n" in text:
        body = _print(
            None, value, newline=find_newline(text), lead=lead, unit=_find_file_unit(text)
        )
    return f"{text[: node.start]}{body}{text[node.end :]}"


def _print(
    key: str | None, value: Any, *, newline: str = "", lead: str = "", unit: str = ""
) -> str:
    name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    indent = unit if newline else None
    body = json.dumps(value, ensure_ascii=False, indent=indent)
    return name + body.replace("\n", f"{newline}{lead}")


def find_newline(text: str) -> str:
    at = text.find("\n")
    is_windows = at > 0 and text[at - 1] == "\r"
    return "\r\n" if is_windows else "\n"


def _find_lead(text: str, start: int) -> str | None:
    """What stands before an item on its line; None where that is not white space alone."""
    line = text[text.rfind("\n", 0, start) + 1 : start]
    is_first = "\n" in text[:start] and not line.strip(" \t")
    return line if is_first else None


def _find_line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at].removeprefix(BOM)
    return line[: len(line) - len(line.lstrip(" \t"))]


def _find_unit(text: str, container: JsonNode, lead: str) -> str:
    outer = _find_line_indent(text, container.start)
    if lead.startswith(outer) and lead != outer:
        return lead[len(outer) :]
    return INDENT


def _find_file_unit(text: str) -> str:
    match = re.search(r"\n([ \t]+)\S", text)
    return match[1] if match else INDENT


# --- JSON: taking out -----------------------------------------------------------------------------


def remove_member(text: str, keys: Keys, before: str) -> str:
    """The text without a member; one that was there before has its old value again.

    An object that becomes empty goes too, unless it was there before.
    """
    if is_blank(text):
        return text
    node, missing = _descend(_parse(text), keys)
    if missing:
        return text
    old = _find_node(before, keys)
    if old is not None:
        return f"{text[: node.start]}{before[old.start : old.end]}{text[node.end :]}"
    return _remove_at(text, keys, lambda item: item.key == keys[-1], before)


def remove_elements(text: str, keys: Keys, is_ours: Callable[[Any], bool], before: str) -> str:
    """The text without the elements that are ours; those that were there before stay."""
    if is_blank(text):
        return text
    node, missing = _descend(_parse(text), keys, "[")
    if missing:
        return text
    old = _find_node(before, keys)
    known = old.value if old is not None and old.opens == "[" else []
    own = [*keys, ""]
    while any(_is_new(item, is_ours, known) for item in node.items):
        text = _remove_at(text, own, lambda item: _is_new(item, is_ours, known), before)
        node, missing = _descend(_parse(text), keys, "[")
        if missing:
            break
    return text


def _is_new(item: JsonItem, is_ours: Callable[[Any], bool], known: list[Any]) -> bool:
    value = item.node.value
    return is_ours(value) and not any(_is_equal(value, other) for other in known)


def _remove_at(text: str, keys: Keys, is_meant: Callable[[JsonItem], bool], before: str) -> str:
    """Remove the first item that is meant from the container above the last key."""
    above = list(keys[:-1])
    container, _ = _descend(_parse(text), above)
    index = next(i for i, item in enumerate(container.items) if is_meant(item))
    text = _cut(text, container, index)
    if len(container.items) > 1:
        return text
    old = _find_node(before, above)
    if old is None and above:
        return _remove_at(text, above, lambda item: item.key == above[-1], before)
    return _restore_inside(text, above, before, old)


def _cut(text: str, container: JsonNode, index: int) -> str:
    item = container.items[index]
    start = _find_cut_start(text, item.start)
    end = item.end
    if item.comma is not None:
        end = item.comma + 1
    elif index:
        comma = container.items[index - 1].comma
        assert comma is not None
        return f"{text[:comma]}{text[comma + 1 : start]}{text[end:]}"
    return text[:start] + text[end:]


def _find_cut_start(text: str, start: int) -> int:
    """With the line break and the indentation, or the blank, that were put before it."""
    lead = _find_lead(text, start)
    if lead is None:
        return start - 1 if text[start - 1] == " " else start
    at = start - len(lead) - 1
    return at - 1 if text[at - 1] == "\r" else at


def _restore_inside(text: str, keys: Keys, before: str, old: JsonNode | None) -> str:
    """An object or array that is empty again looks as it did, if nobody has written into it."""
    node, _ = _descend(_parse(text), keys)
    if old is None or old.items:
        return text
    inside = before[old.start + 1 : old.end - 1]
    left = text[node.start + 1 : node.end - 1]
    if inside.split() != left.split():
        return text
    return f"{text[: node.start + 1]}{inside}{text[node.end - 1 :]}"


def _find_node(text: str, keys: Keys) -> JsonNode | None:
    if is_blank(text):
        return None
    node: JsonNode | None = _parse(text)
    for key in keys:
        opens = "[" if isinstance(key, int) else "{"
        if node is None or node.opens != opens:
            return None
        node = node.find(key)
    return node


# --- JSON: groups of hooks ------------------------------------------------------------------------


def find_handler(text: str, keys: Keys, command: str) -> tuple[int, int] | None:
    """Which group of a hook runs a command, and as which of its handlers.

    Groups are [{"matcher": …, "hooks": [{"command": …}]}].
    """
    node = _find_node(text, keys)
    groups = node.value if node is not None and node.opens == "[" else []
    for group_index, group in enumerate(groups):
        for index, handler in enumerate(_list_handlers_of(group)):
            if handler.get("command") == command:
                return group_index, index
    return None


def remove_handlers(
    text: str, keys: Keys, is_ours: Callable[[dict[str, Any]], bool], before: str
) -> str:
    """The text without our handlers; a group goes with its last one."""

    def is_ours_alone(group: Any) -> bool:
        handlers = _list_handlers_of(group)
        return bool(handlers) and all(map(is_ours, handlers))

    def is_handler_of_ours(handler: Any) -> bool:
        return isinstance(handler, dict) and is_ours(handler)

    text = remove_elements(text, keys, is_ours_alone, before)
    node = _find_node(text, keys)
    for index, group in enumerate(node.value if node else []):
        if any(map(is_ours, _list_handlers_of(group))) and not is_ours_alone(group):
            text = remove_elements(text, (*keys, index, "hooks"), is_handler_of_ours, "")
    return text


def _list_handlers_of(group: Any) -> list[dict[str, Any]]:
    handlers = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(handlers, list):
        return []
    return [handler for handler in handlers if isinstance(handler, dict)]
