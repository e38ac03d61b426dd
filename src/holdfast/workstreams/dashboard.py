"""A page for people: what the context files hold, by workstream. It is never read back."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.ground.patterns import compile_later
from holdfast.ground.text import cut, term_safe
from holdfast.workstreams.document import Document
from holdfast.workstreams.entries import ContextFields, Decision, Summary
from holdfast.workstreams.model import Key

TEXT_CHARS = 600
_MARKUP = compile_later(r"[\\`*_\[\]<>#|!]")
NOTE = (
    "Written by Holdfast from the files in the context folder. "
    "Changes made here are overwritten and never read."
)


def render(documents: Mapping[str, Document]) -> str:
    lines = ["# Context summary", "", NOTE]
    for phase, document in documents.items():
        for key in sorted(document.contexts):
            heading = _write_heading(key, phase)
            lines += ["", heading, *_write_body(document.contexts[key])]
    return "\n".join(lines) + "\n"


def _write_heading(key: Key, phase: str) -> str:
    workstream = escape_line(key.workstream_id)
    branch = escape_line(key.branch)
    return f"## {workstream} ({phase}, {branch})"


def _write_body(fields: ContextFields) -> list[str]:
    lines = [""]
    summary = fields.working_summary
    if summary and summary.text:
        lines += _write_summary(summary)
    for decision in fields.open_decisions or ():
        lines.append(_write_decision(decision))
    for claim in fields.evidence_ledger or ():
        lines.append(f"- claimed: {escape_line(claim.claim)}")
    for item in fields.checklist or ():
        lines.append(f"- to do: {escape_line(item)}")
    run = fields.last_run
    if run and run.is_failed:
        step = escape_line(run.failed_step)
        lines.append(f"- failed at {step}: {escape_line(run.error)}")
    return lines


def _write_summary(summary: Summary) -> list[str]:
    text = escape_line(summary.text, TEXT_CHARS)
    saved_at = escape_line(summary.updated_at)
    return [text, "", f"Saved {saved_at}.", ""]


def _write_decision(decision: Decision) -> str:
    name = escape_line(decision.id)
    status = escape_line(decision.status)
    text = escape_line(decision.text)
    line = f"- {name} {status}: {text}"
    if decision.because:
        line += f" Because: {escape_line(decision.because)}"
    return line


def escape_line(value: object, max_chars: int = 200) -> str:
    """One line that every Markdown reader shows as plain text."""
    text = term_safe(str(value or ""))
    words = text.split()
    line = cut(" ".join(words), max_chars)
    return _MARKUP.sub(r"\\\g<0>", line)
