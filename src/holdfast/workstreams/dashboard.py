"""A page for people: what the context files hold, by workstream. It is never read back."""

from __future__ import annotations

import re
from collections.abc import Mapping

from holdfast.ground.text import cut, term_safe
from holdfast.workstreams.document import Document
from holdfast.workstreams.entries import ContextFields, Decision

TEXT_CHARS = 600
_MARKUP = re.compile(r"[\\`*_\[\]<>#|!]")
NOTE = (
    "Written by Holdfast from the files in the context folder. "
    "Changes made here are overwritten and never read."
)


def render(documents: Mapping[str, Document]) -> str:
    lines = ["# Context summary", "", NOTE]
    for phase, document in documents.items():
        for key, fields in sorted(document.contexts.items()):
            workstream, branch = _escape(key.workstream_id), _escape(key.branch)
            lines += ["", f"## {workstream} ({phase}, {branch})", *_write_body(fields)]
    return "\n".join(lines) + "\n"


def _write_body(fields: ContextFields) -> list[str]:
    summary, run = fields.working_summary, fields.last_run
    lines = [""]
    if summary and summary.text:
        text = _escape(summary.text, TEXT_CHARS)
        lines += [text, "", f"Saved {_escape(summary.updated_at)}.", ""]
    lines += [_write_decision(decision) for decision in fields.open_decisions or ()]
    lines += [f"- claimed: {_escape(claim.claim)}" for claim in fields.evidence_ledger or ()]
    lines += [f"- to do: {_escape(item)}" for item in fields.checklist or ()]
    if run and run.is_failed:
        lines.append(f"- failed at {_escape(run.failed_step)}: {_escape(run.error)}")
    return lines


def _write_decision(decision: Decision) -> str:
    name = _escape(decision.id)
    status = _escape(decision.status)
    line = f"- {name} {status}: {_escape(decision.text)}"
    if decision.because:
        line += f" Because: {_escape(decision.because)}"
    return line


def _escape(value: object, max_chars: int = 200) -> str:
    """One line that every Markdown reader shows as plain text."""
    words = term_safe(str(value or "")).split()
    line = cut(" ".join(words), max_chars)
    return _MARKUP.sub(r"\\\g<0>", line)
