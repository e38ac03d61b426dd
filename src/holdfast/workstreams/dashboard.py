"""A page for people: what the context files hold, one heading per workstream. Written by us, never
read back.
"""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.ground.text import cut, term_safe
from holdfast.workstreams.document import Document
from holdfast.workstreams.entries import ContextFields, Decision

TEXT_CHARS = 600
NOTE = "Written by Holdfast from the files in the context folder. Changes made here are overwritten and read by nobody."


def render(documents: Mapping[str, Document]) -> str:
    lines = ["# Context summary", "", NOTE]
    for phase, document in documents.items():
        for key, fields in sorted(document.contexts.items()):
            lines += [
                "",
                f"## {_escape(key.workstream_id)} ({phase}, {_escape(key.branch)})",
                *_write_body(fields),
            ]
    return "\n".join(lines) + "\n"


def _write_body(fields: ContextFields) -> list[str]:
    summary, run = fields.working_summary, fields.last_run
    lines = [""]
    if summary and summary.text:
        lines += [
            _escape(summary.text, TEXT_CHARS),
            "",
            f"Saved {_escape(summary.updated_at)}.",
            "",
        ]
    lines += [_write_decision(decision) for decision in fields.open_decisions or ()]
    lines += [f"- claimed: {_escape(claim.claim)}" for claim in fields.evidence_ledger or ()]
    lines += [f"- to do: {_escape(item)}" for item in fields.checklist or ()]
    if run and run.is_failed:
        lines.append(f"- failed at {_escape(run.failed_step)}: {_escape(run.error)}")
    return lines


def _write_decision(decision: Decision) -> str:
    name, status, text = _escape(decision.id), _escape(decision.status), _escape(decision.text)
    line = f"- {name} {status}: {text}"
    return f"{line} Because: {_escape(decision.because)}" if decision.because else line


def _escape(value: object, max_chars: int = 200) -> str:
    """One line that no Markdown reader takes for more than text."""
    line = cut(" ".join(term_safe(str(value or "")).split()), max_chars)
    return "".join(
        f"\\{character}" if character in "\\`*_[]<>#|!" else character for character in line
    )
