"""Which items a context set keeps, what listeners receive, and what the next session reads.

A set is what the next session is reminded of, in the order in which it was put there; an agent that
adds an eleventh file means that file, so the oldest leaves. What is dropped is named in the answer,
because silent loss is how trust is lost. The set `applet` is positional: a slug, then parameters.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

from holdfast.errors import InvalidValueError
from holdfast.ground.text import cut, plural
from holdfast.sessions import rules
from holdfast.sessions.errors import ContextFullError
from holdfast.sessions.model import Session, SetChange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


APPLET = "applet"
SETS_OF_FILES = ("files", APPLET)
KNOWN_SETS = ("files", APPLET, "endpoints", "ports")
MODES = ("replace", "merge")
ITEMS_PER_SET = 10
ITEMS_IN_ALL = 50
ITEM_BYTES = 2000


def change_set(
    context: Mapping[str, Sequence[str]],
    set_name: object,
    items: object,
    mode: object = "replace",
) -> SetChange:
    """The one rule for every door: a set replaced, merged or cleared, within the limits."""
    name = rules.check_label("setName", set_name)
    new = check_items(items)
    if mode not in MODES:
        raise InvalidValueError("mode", mode, "is unknown", known=MODES)
    current = context.get(name, [])
    kept = new
    if mode == "merge":
        merge = merge_applet if name == APPLET else merge_items
        kept = merge(current, new)
    added = [item for item in kept if item not in current]
    removed = [item for item in current if item not in kept]
    return SetChange(
        set_name=name,
        items=tuple(kept),
        added=tuple(added),
        removed=tuple(removed),
        context=put_set(context, name, kept),
        warning=name_warning(name, kept=bool(kept)),
    )


def make_no_change(context: Mapping[str, Sequence[str]], set_name: str) -> SetChange:
    """A set as it is: nothing was added or removed."""
    sets = {name: list(items) for name, items in context.items()}
    return SetChange(
        set_name=set_name,
        items=tuple(sets.get(set_name, ())),
        added=(),
        removed=(),
        context=sets,
        warning=name_warning(set_name, kept=set_name in sets),
    )


def put_set(
    context: Mapping[str, Sequence[str]], name: str, items: Sequence[str]
) -> dict[str, list[str]]:
    """All sets with one of them replaced; an empty one is left out."""
    changed = {**context, name: items}
    total = sum(len(kept) for kept in changed.values())
    if total > ITEMS_IN_ALL:
        raise ContextFullError(total, ITEMS_IN_ALL)
    filled = [key for key in sorted(changed) if changed[key]]
    return {key: list(changed[key]) for key in filled}


def check_context(context: object) -> dict[str, list[str]]:
    """A whole context from outside, by the same limits, set by set."""
    if not isinstance(context, dict):
        raise InvalidValueError("context", context, "is not a JSON object")
    checked: dict[str, list[str]] = {}
    for name, items in context.items():
        label = rules.check_label("setName", name)
        checked = put_set(checked, label, check_items(items))
    return checked


def check_items(items: object) -> list[str]:
    """Up to ten texts, each once."""
    if isinstance(items, str) or not isinstance(items, Sequence):
        raise InvalidValueError("items", items, "is not a list of texts")
    if len(items) > ITEMS_PER_SET:
        problem = f"is more than the {ITEMS_PER_SET} that a set holds"
        raise InvalidValueError("Number of items", len(items), problem)
    checked = [rules.check_label("Item", item, max_bytes=ITEM_BYTES) for item in items]
    return list(dict.fromkeys(checked))


def merge_items(current: Sequence[str], new: Sequence[str]) -> list[str]:
    """What is there keeps its place; past ten the oldest leave, but none that this call names."""
    union = list(dict.fromkeys([*current, *new]))
    surplus = max(0, len(union) - ITEMS_PER_SET)
    unnamed = [item for item in union if item not in new]
    leaving = unnamed[:surplus]
    return [item for item in union if item not in leaving]


def merge_applet(current: Sequence[str], new: Sequence[str]) -> list[str]:
    """The slug stays first; a parameter takes the place of the one with its name."""
    if not current or not new:
        return list(new or current)
    slug = current[0]
    if "=" not in new[0] and new[0] != slug:
        problem = f"is another applet than {slug!r}; replace the set instead of merging"
        raise InvalidValueError("Item", new[0], problem)
    given = {_name_parameter(item): item for item in new if item != slug}
    old = {_name_parameter(item): item for item in current[1:]}
    surplus = max(0, 1 + len(old | given) - ITEMS_PER_SET)
    unnamed = [name for name in old if name not in given]
    leaving = unnamed[:surplus]
    kept = [item for name, item in (old | given).items() if name not in leaving]
    return [slug, *kept]


def _name_parameter(item: str) -> str:
    name, _, _ = item.partition("=")
    return name


def describe_removed(change: SetChange) -> str | None:
    """Of a merge, which only adds: what it removed, and did not replace, had to make room."""
    left = list(change.removed)
    if change.set_name == APPLET:
        names = {_name_parameter(item) for item in change.items}
        left = [item for item in left if _name_parameter(item) not in names]
    if not left:
        return None
    removed = ", ".join(left)
    return f"{change.set_name!r} is full: the oldest left to make room: {removed}."


def name_warning(set_name: str, *, kept: bool = True) -> str | None:
    """A typo such as `fles` works, with a warning; a caller that only reads a set keeps nothing."""
    if set_name in KNOWN_SETS:
        return None
    from difflib import get_close_matches

    warning = f"{set_name!r} is not a known context set"
    if kept:
        warning += "; it was kept as it is"
    nearest = get_close_matches(set_name, KNOWN_SETS, n=1)
    if nearest:
        return f"{warning}. Did you mean {nearest[0]!r}?"
    return f"{warning}. Known sets: {', '.join(KNOWN_SETS)}."


def make_context_event(
    reason: str,
    session: Session,
    context: Mapping[str, Sequence[str]],
    change: SetChange | None = None,
) -> dict[str, Any]:
    """The data of a `caco.context` event."""
    data: dict[str, Any] = {
        "reason": reason,
        "session_id": session.id,
        "context": dict(context),
    }
    files = context.get("files")
    if files:
        data["files"] = list(files)
    applet = context.get("applet")
    if applet:
        data["applet"] = as_applet(applet)
    if change is not None and change.set_name == "files":
        data |= _describe_changed_files("added", change.added)
        data |= _describe_changed_files("removed", change.removed)
    return data


def _describe_changed_files(what: str, paths: Sequence[str]) -> dict[str, Any]:
    if not paths:
        return {}
    if len(paths) == 1:
        return {f"{what}File": paths[0]}
    return {f"{what}Files": list(paths)}


def as_applet(items: Sequence[str]) -> dict[str, Any]:
    """`["git-diff", "path=/repo"]` as a slug and its parameters."""
    slug, *pairs = items
    if not pairs:
        return {"slug": slug}
    params = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        params[name] = value
    return {"slug": slug, "params": params}


def make_resume_text(metadata: Mapping[str, Any], exists: Callable[[str], bool]) -> str:
    """For a resumed session: environment, files that still exist, the last applet, other sets."""
    text, _ = fit_resume_text(metadata, exists)
    return text


def fit_resume_text(
    metadata: Mapping[str, Any], exists: Callable[[str], bool], max_chars: int = sys.maxsize
) -> tuple[str, int]:
    """The same within so many characters, and how many items do not fit.

    The last item of the longest set leaves first, so that a long one does not hide the others.
    """
    context = {name: list(items) for name, items in metadata.get("context", {}).items()}
    files = context.pop("files", [])
    found = [path for path in files if exists(path)]
    missing = len(files) - len(found)
    if found:
        context["files"] = found
    environment = metadata.get("envHint") or ""
    text = _write_resume_text(environment, context, missing)
    left_out = 0
    while context and len(text) > max_chars:
        left_out += _leave_out(context)
        text = _write_resume_text(environment, context, missing)
    return cut(text, max_chars), left_out


def _leave_out(context: dict[str, list[str]]) -> int:
    """How many items left: an applet is only worth something whole."""
    longest = max(context, key=lambda name: sum(map(len, context[name])))
    if longest != APPLET and len(context[longest]) > 1:
        context[longest].pop()
        return 1
    return len(context.pop(longest))


def _write_resume_text(environment: str, context: Mapping[str, list[str]], missing: int) -> str:
    parts: list[str] = []
    if environment:
        parts.append(f"Environment: {environment}")
    files = context.get("files", [])
    if files or missing:
        parts.append(_describe_files(files, missing))
    applet = context.get("applet")
    if applet:
        parts.append(_describe_applet(applet))
    others = sorted(set(context) - {"files", "applet"})
    for name in others:
        items = ", ".join(context[name])
        parts.append(f"{name}: {items}")
    return "\n\n".join(parts)


def _describe_files(files: Sequence[str], missing: int) -> str:
    lines = ["Relevant files:"]
    lines += [f"- {path}" for path in files]
    if missing:
        lines.append(f"({plural(missing, 'file')} not found)")
    return "\n".join(lines)


def _describe_applet(items: Sequence[str]) -> str:
    from urllib.parse import urlencode  # no hook describes an applet

    slug, *arguments = items
    name = slug
    if arguments:
        name += f" ({', '.join(arguments)})"
    params = as_applet(items).get("params", {})
    # First in the link and last in the merge: no parameter opens another applet.
    link = urlencode({"applet": slug} | params | {"applet": slug})
    return f"Last applet: {name}. It can be opened again at /?{link}"
