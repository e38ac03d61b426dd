"""A page for people: what the context files hold, one heading per workstream. Written by us, never read back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.ground.text import cut, term_safe
from holdfast.workstreams.document import Document

TEXT_CHARS = 600
NOTE = "Written by Holdfast from the files in the context folder. Changes made here are overwritten and read by nobody."


def render(documents: Mapping[str, Document]) -> str:
    lines = ["# Context summary", "", NOTE]
    for phase, document in documents.items():
        for key, fields in sorted(document.contexts.items()):
            lines += ["", f"## {_plain(key.workstream_id)} ({phase}, {_plain(key.branch)})", *_body(fields)]
    return "\n".join(lines) + "\n"


def _body(fields: Mapping[str, Any]) -> list[str]:
    summary = fields.get("working_summary") or {}
    lines = [""]
    if summary.get("text"):
        lines += [_plain(summary["text"], TEXT_CHARS), "", f"Saved {_plain(summary.get('updated_at'))}.", ""]
    for decision in fields.get("open_decisions", []):
        because = f" Because: {_plain(decision['because'])}" if decision.get("because") else ""
        lines.append(
            f"- {_plain(decision.get('id'))} {_plain(decision.get('status'))}: {_plain(decision.get('text'))}{because}"
        )
    for entry in fields.get("evidence_ledger", []):
        lines.append(f"- claimed: {_plain(entry.get('claim'))}")
    for item in fields.get("checklist", []):
        lines.append(f"- to do: {_plain(item)}")
    run = fields.get("last_run") or {}
    if run.get("status") == "failed":
        lines.append(f"- failed at {_plain(run.get('failed_step'))}: {_plain(run.get('error'))}")
    return lines


def _plain(value: object, max_chars: int = 200) -> str:
    """One line that no Markdown reader takes for more than text."""
    line = cut(" ".join(term_safe(str(value or "")).split()), max_chars)
    return "".join(f"\\{character}" if character in "\\`*_[]<>#|!" else character for character in line)
