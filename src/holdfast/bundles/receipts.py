"""Make a receipt of a bundle, and the same bytes from a receipt again. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from holdfast.bundles import budget, errors, render, sections
from holdfast.bundles.model import (
    Bundle,
    BundleExplanation,
    Gathered,
    Head,
    Layout,
    Receipt,
    Section,
)
from holdfast.ground import canonical
from holdfast.ground.tokens import tokens
from holdfast.storage.journal import JournalEntry


def short_id(receipt_id: str) -> str:
    return f"b-{receipt_id[-4:]}"


def make_receipt(
    receipt_id: str,
    created_at: datetime,
    gathered: Gathered,
    parts: Sequence[Section],
    total: int,
    *,
    session_id: str | None = None,
    worktree: str | None = None,
) -> Receipt:
    """Everything that the same bytes can be made from again, and where it was made."""
    head = sections.make_head(gathered)
    layout = budget.fit(head, parts, total)
    return Receipt(
        id=receipt_id,
        created_at=created_at,
        head=head,
        sections=tuple(parts),
        total=total,
        text_hash=_hash(render.render(layout)),
        client=gathered.client,
        session_id=session_id,
        worktree=worktree,
    )


def read_receipt(entry: JournalEntry) -> Receipt:
    if entry.content is None:
        raise errors.ReceiptForgottenError(entry.id)
    return Receipt.from_dict(entry.id, entry.created_at, entry.content)


def find_bundle(entry: JournalEntry) -> Bundle | None:
    """None where it was forgotten, or was made by another version of this program."""
    if not entry.content:
        return None
    return _make_same_bundle(read_receipt(entry))


def rebuild(receipt: Receipt) -> Bundle:
    bundle = _make_same_bundle(receipt)
    if bundle is None:
        raise errors.ReceiptOutdatedError(receipt.id)
    return bundle


def explain(receipt: Receipt, *, is_here: bool) -> BundleExplanation:
    bundle = rebuild(receipt)
    return BundleExplanation(
        id=receipt.id,
        short_id=short_id(receipt.id),
        phase=bundle.phase,
        created_at=receipt.created_at,
        chars=bundle.chars,
        tokens=bundle.tokens,
        limit=receipt.total,
        lines=tuple(render.explain_lines(_fit(receipt))),
        cut=bundle.cut,
        is_here=is_here,
    )


def hash_body(head: Head, parts: Sequence[Section], total: int) -> str:
    """Of the head's first line, which holds the time and the id, only the place."""
    layout = budget.fit(head, parts, total)
    text = render.render(layout)
    _, _, body = text.partition("\n")
    return _hash("\n".join([head.repo, head.branch, body]))


def _make_same_bundle(receipt: Receipt) -> Bundle | None:
    layout = _fit(receipt)
    text = render.render(layout)
    if _hash(text) != receipt.text_hash:
        return None
    return Bundle(
        id=receipt.id,
        phase=receipt.head.phase,
        text=text,
        chars=len(text),
        tokens=tokens(text),
        sections=tuple(shown for shown in layout.shown if shown.text),
        cut=layout.cut,
    )


def _fit(receipt: Receipt) -> Layout:
    return budget.fit(receipt.head, receipt.sections, receipt.total)


def _hash(text: str) -> str:
    return canonical.sha256(text.encode()).hex()
