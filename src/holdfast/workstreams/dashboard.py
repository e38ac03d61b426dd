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
                f"## {_plain(key.workstream_id)} ({phase}, {_plain(key.branch)})",
                *_body(fields),
            ]
    return "\n".join(lines) + "\n"


def _body(fields: ContextFields) -> list[str]:
    summary, run = fields.working_summary, fields.last_run
    lines = [""]
    if summary and summary.text:
        lines += [_plain(summary.text, TEXT_CHARS), "", f"Saved {_plain(summary.updated_at)}.", ""]
    lines += [_decision_line(decision) for decision in fields.open_decisions or ()]
    lines += [f"- claimed: {_plain(claim.claim)}" for claim in fields.evidence_ledger or ()]
    lines += [f"- to do: {_plain(item)}" for item in fields.checklist or ()]
    if run and run.is_failed:
        lines.append(f"- failed at {_plain(run.failed_step)}: {_plain(run.error)}")
    return lines


def _decision_line(decision: Decision) -> str:
    name, status, text = _plain(decision.id), _plain(decision.status), _plain(decision.text)
    line = f"- {name} {status}: {text}"
    return f"{line} Because: {_plain(decision.because)}" if decision.because else line


def _plain(value: object, max_chars: int = 200) -> str:
    """One line that no Markdown reader takes for more than text."""
    line = cut(" ".join(term_safe(str(value or "")).split()), max_chars)
    return "".join(
        f"\\{character}" if character in "\\`*_[]<>#|!" else character for character in line
    )
