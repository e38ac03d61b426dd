"""How clients, their files and their checks are worded, for every command that is about them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from holdfast.clients.installation import ConfigChange
from holdfast.clients.probing import ClientCheck, FoundClient
from holdfast.ground.text import cut
from holdfast.sessions.model import Session
from holdfast.usecases import setting_up
from holdfast.usecases.setting_up import ClientUse

DIFF_CHARS = 160  # a settings file may be one line, with secrets of its owner in it
NOT_SEEN = "not seen yet"


def shorten_path(path: str) -> str:
    """As a person writes it: `~` for the folder of one's own."""
    own = os.path.join(os.path.expanduser("~"), "")
    return f"~/{path.removeprefix(own)}" if path.startswith(own) else path


def format_diff(changes: Iterable[ConfigChange]) -> str:
    lines = []
    for change in changes:
        lines += _format_change(change.make_diff().splitlines())
    return "\n".join(lines)


def _format_change(lines: Sequence[str]) -> list[str]:
    """What is added is shown whole, as it will be run; what is the person's own may be cut."""
    has_long_line = any(line.startswith("-") and len(line) > DIFF_CHARS for line in lines)
    shown = []
    for line in lines:
        is_ours = line.startswith("+") and not has_long_line
        shown.append(line if is_ours else cut(line, DIFF_CHARS))
    return shown


def describe_use(use: ClientUse) -> list[str]:
    """Lines of `status`: what works, and what a session pays."""
    parts = [
        f"{use.title}: hooks last fired: {describe_time(use.last_fired_at)}",
        "tools set up" if use.is_complete else "settings changed since, see `holdfast doctor`",
        "commands there" if use.has_commands else "commands missing",
    ]
    lines = [" · ".join(parts)]
    if use.last_fired_at:
        handed = f"{use.mean_chars:,.0f} characters handed over"
        price = f"{use.mean_milliseconds:,.0f} ms a hook · {handed}"
        lines.append(f"  {price}, about {use.mean_tokens:,} tokens")
    return lines


def describe_found(found: Sequence[FoundClient]) -> str:
    names = ", ".join(client.describe() for client in found)
    return f"Found {names}"


def describe_check(check: ClientCheck) -> str:
    parts = [_describe_hooks(check), _describe_server(check), _describe_commands(check)]
    return f"  {check.title:<12} {' · '.join(parts)}"


def _describe_hooks(check: ClientCheck) -> str:
    silent = check.silent_hooks
    fired = describe_time(check.last_fired_at)
    if not silent:
        return f"hooks answer, last fired: {fired}"
    if len(silent) == len(check.hooks):
        return "hooks do not answer"
    return f"hooks do not answer: {', '.join(silent)}"


def _describe_server(check: ClientCheck) -> str:
    if check.reaches_server:
        return "tools connected"
    if check.reaches_server is None:
        return "tools unknown, it did not say"
    return "tools not connected"


def _describe_commands(check: ClientCheck) -> str:
    return "commands there" if check.has_commands else "commands missing"


def describe_time(seconds: float | None) -> str:
    if seconds is None:
        return NOT_SEEN
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%MZ}"


def describe_left(checks: Iterable[ClientCheck]) -> list[str]:
    sentences = [sentence for check in checks for sentence in check.left]
    return [f"Left for you: {sentence}" for sentence in sentences]


def check_to_dict(check: ClientCheck) -> dict[str, Any]:
    return {
        "client": check.name,
        "tools_connected": check.reaches_server,
        "hooks": [asdict(hook) for hook in check.hooks],
        "commands": check.has_commands,
        "left": list(check.left),
    }


def describe_removal(change: ConfigChange) -> str:
    path = shorten_path(change.path)
    return f"Removed {path}" if change.after is None else f"Took Holdfast out of {path}"


def describe_session(session: Session) -> str:
    begun = f"begun {session.started_at:%Y-%m-%d %H:%MZ}"
    title = setting_up.find_title(session.client or "")
    return f"{session.name or session.id} ({title}, {begun})"


def change_to_dict(change: ConfigChange) -> dict[str, Any]:
    return {
        "path": change.path,
        "is_new": change.before is None,
        "is_removed": change.after is None,
    }
