"""The file of one phase: how its bytes are read and written.

One context per line, sorted, keys sorted, so that git shows what changed and merges most of it
alone. What git could not merge, or merged by keeping both lines, is resolved by the ids of entries
(`merging`): nothing that one side wrote is dropped. A file that cannot be read whole is never
written again, only shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.errors import InvalidValueError
from holdfast.ground import canonical
from holdfast.ground import light_json as json
from holdfast.ground.frozen import dataclass, field, replace
from holdfast.ground.light_typing import NamedTuple
from holdfast.workstreams.entries import ContextFields
from holdfast.workstreams.merging import merge_all, merge_contexts, to_line
from holdfast.workstreams.model import Key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeGuard


SCHEMA_VERSION = 1
MARKERS = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")
TOP_NAMES = ("contexts", "revision", "schema_version")
EMPTY_LINES = ("", "{", "}", "]", '{"contexts": [')

CONFLICT = (
    "has conflict markers. Both sides are shown merged. Delete the marker lines and keep the lines "
    "of both sides: they are merged by id when it is read next"
)
BROKEN = (
    "cannot be read as JSON (line {line}). Fix it, or restore an older one: git log -p -- {path}"
)
NEWER = (
    "was written by a newer version (schema {version}, this program knows {known}). "
    "Install that version to change it"
)
NOT_OURS = "is not a context file: {problem}. Move it away to begin a new one"


@dataclass(frozen=True)
class Document:
    """All contexts of one phase in one repository."""

    revision: int = 0
    contexts: Mapping[Key, ContextFields] = field(default_factory=dict)
    others: Mapping[str, Any] = field(default_factory=dict)  # top-level fields that we do not know
    problem: str | None = None  # why it may only be read

    def with_context(self, key: Key, fields: ContextFields) -> Document:
        keyed = replace(fields, key=key.to_dict())
        contexts = {**self.contexts, key: keyed}
        return Document(self.revision + 1, contexts, self.others)


class ParsedFile(NamedTuple):
    """The top of a file as JSON, with its contexts read, or why it cannot be used."""

    top: dict[str, Any]
    problem: str | None = None


# --- bytes ----------------------------------------------------------------------------------------


def to_bytes(document: Document) -> bytes:
    contexts = _write_contexts(document)
    others = _write_others(document)
    return f'{{"contexts": [\n{contexts}],\n{others}\n}}\n'.encode()


def _write_contexts(document: Document) -> str:
    if not document.contexts:
        return ""
    by_key = [document.contexts[key] for key in sorted(document.contexts)]
    lines = [to_line(fields.to_dict()) for fields in by_key]
    # The comma leads, so that a new last line leaves the one before it as it was.
    return "\n,".join(lines) + "\n"


def _write_others(document: Document) -> str:
    """The top-level fields beside the contexts, one per line."""
    top = {**document.others, "revision": document.revision, "schema_version": SCHEMA_VERSION}
    lines = []
    for name in sorted(top):
        quoted = json.dumps(name)
        lines.append(f"{quoted}: {to_line(top[name])}")
    return ",\n".join(lines)


def from_bytes(data: bytes, path: str) -> Document:
    """Never raises; the document has a `problem` where the file must not be written again."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return Document(problem=f"{path} {NOT_OURS.format(problem='it is not UTF-8')}.")
    sides = _split_sides(text)
    parsed = [_parse(side, path) for side in sides or [text]]
    problems = [each.problem for each in parsed if each.problem]
    if problems:
        return Document(problem=f"{path} {problems[0]}.")
    if not sides:
        return _to_document(parsed[0].top)
    merged = _merge_tops([each.top for each in parsed])
    return _to_document(merged, problem=f"{path} {CONFLICT}.")


def merge_bytes(ours: bytes, theirs: bytes, path: str) -> bytes | None:
    """What a merge driver writes: both sides by id, or None where one of them cannot be read."""
    own = from_bytes(ours, path)
    other = from_bytes(theirs, path)
    if own.problem or other.problem:
        return None
    contexts = dict(own.contexts)
    for key, fields in other.contexts.items():
        if key in contexts:
            fields = merge_contexts(contexts[key], fields)
        contexts[key] = fields
    revision = max(own.revision, other.revision) + 1
    others = {**other.others, **own.others}
    return to_bytes(Document(revision, contexts, others))


def _to_document(top: Mapping[str, Any], problem: str | None = None) -> Document:
    """Lines with the same key were kept from two sides of a merge, so they are merged here."""
    versions: dict[Key, list[ContextFields]] = {}
    for fields in top["contexts"]:
        versions.setdefault(_read_key(fields), []).append(fields)
    contexts = {key: merge_all(of_key) for key, of_key in versions.items()}
    others = {name: value for name, value in top.items() if name not in TOP_NAMES}
    return Document(revision=top["revision"], contexts=contexts, others=others, problem=problem)


def _read_key(fields: ContextFields) -> Key:
    """A context without a name of its own is the branch's."""
    key = fields.key or {}
    repo = str(key.get("repo") or "")
    branch = str(key.get("branch") or "")
    workstream_id = str(key.get("workstream_id") or branch)
    return Key(repo, branch, workstream_id)


# --- is it ours -----------------------------------------------------------------------------------


def _parse(text: str, path: str) -> ParsedFile:
    try:
        top = canonical.parse_json("file", text)
    except Exception:  # whatever the problem, the lines are read one by one
        return _parse_lines(text, path)
    return _check_top(top)


def _check_top(top: object) -> ParsedFile:
    if not isinstance(top, dict):
        return _make_not_ours("it holds no object")
    version = top.get("schema_version")
    if not _is_number(version) or version < 1:
        return _make_not_ours("it has no schema_version")
    if version > SCHEMA_VERSION:
        return ParsedFile({}, NEWER.format(version=version, known=SCHEMA_VERSION))
    return _check_contexts(_convert_draft(top))


def _check_contexts(top: dict[str, Any]) -> ParsedFile:
    contexts = _read_contexts(top.get("contexts"))
    revision = top.get("revision", 0)
    if contexts is None:
        return _make_not_ours("`contexts` is not a list of contexts")
    if not _is_number(revision) or revision < 0:
        return _make_not_ours("`revision` is not a number")
    problem = _find_unwritable(top)
    if problem:
        return _make_not_ours(problem)
    return ParsedFile({**top, "contexts": contexts, "revision": revision})


def _convert_draft(top: dict[str, Any]) -> dict[str, Any]:
    """An earlier draft of the format had one context alone."""
    if "contexts" in top or "key" not in top:
        return top
    context = {name: value for name, value in top.items() if name != "schema_version"}
    return {"contexts": [context]}


def _find_unwritable(top: dict[str, Any]) -> str | None:
    """Python reads JSON that cannot be written again: lone surrogates, NaN, endless nesting."""
    try:
        canonical.check_json("file", top)
    except InvalidValueError as error:
        return f"something in it {error.problem}"
    return None


def _read_contexts(values: object) -> list[ContextFields] | None:
    """None where one of them is not a context."""
    if not isinstance(values, list):
        return None
    contexts = []
    for value in values:
        if not isinstance(value, dict):
            return None
        fields = ContextFields.from_dict(value)
        if fields.key is None or not fields.has_right_form():
            return None
        contexts.append(fields)
    return contexts


def _is_number(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _make_not_ours(problem: str) -> ParsedFile:
    return ParsedFile({}, NOT_OURS.format(problem=problem))


# --- lines that git put together ------------------------------------------------------------------


def _split_sides(text: str) -> list[str]:
    """Both sides of a file with conflict markers, each whole; empty where there are no markers."""
    lines = text.split("\n")
    if not any(line.startswith(MARKERS[0]) for line in lines):
        return []
    ours: list[str] = []
    theirs: list[str] = []
    into = [ours, theirs]
    for line in lines:
        if line.startswith(MARKERS):
            into = {"<": [ours], "|": [], "=": [theirs], ">": [ours, theirs]}[line[0]]
            continue
        for side in into:
            side.append(line)
    return ["\n".join(ours), "\n".join(theirs)]


def _parse_lines(text: str, path: str) -> ParsedFile:
    """A file whose lines were kept from two sides: each line is known, or the whole is broken."""
    contexts: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip().strip(",").strip()
        if bare in EMPTY_LINES:
            continue
        value = _parse_line(bare)
        if value is None:
            return ParsedFile({}, BROKEN.format(line=number, path=path))
        into = contexts if "key" in value else others
        into.append(value)
    return _check_top(_merge_tops([{"contexts": contexts}, *others]))


def _parse_line(line: str) -> dict[str, Any] | None:
    """A context, or a name with its value."""
    if not line.startswith("{"):
        line = "{" + line + "}"
    try:
        value: dict[str, Any] = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value.get("contexts", []), list):
        return None
    return value


def _merge_tops(tops: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """All contexts of all of them, the highest numbers, and of other fields the last value."""
    merged: dict[str, Any] = {}
    contexts: list[Any] = []
    for top in tops:
        contexts += top.get("contexts", [])
        highest = _find_highest(top, merged)
        merged |= {**top, **highest}
    return {**merged, "contexts": contexts}


def _find_highest(top: Mapping[str, Any], merged: Mapping[str, Any]) -> dict[str, int]:
    highest = {}
    for name in ("revision", "schema_version"):
        number = top.get(name)
        if isinstance(number, int):
            highest[name] = max(number, merged.get(name, 0))
    return highest
