"""Secrets out of what a bundle quotes. Pure.

The log, the scratchpad, context sets and memories are stored as they were said, and notes are
masked when they are written. A bundle goes to a model, so what it quotes of the first is masked
here, in the one value that all sections are made of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from holdfast.ground.redaction import redact

if TYPE_CHECKING:
    from holdfast.bundles.model import Gathered, LastRequest


def mask_quoted(gathered: Gathered) -> Gathered:
    """After memories were recalled: a mark is not a word that was asked for."""
    key = gathered.fence_key
    notes, last = gathered.notes, gathered.last_session
    return replace(
        gathered,
        request=_mask_request(gathered.request, key),
        last_session=last and replace(last, environment=_mask(last.environment, key)),
        notes=replace(notes, **_mask(vars(notes), key)),
        context_sets=_mask(gathered.context_sets, key),
        recalled=tuple(
            replace(memory, text=_mask(memory.text, key)) for memory in gathered.recalled
        ),
    )


def _mask_request(request: LastRequest | None, key: bytes) -> LastRequest | None:
    return request and replace(request, text=_mask(request.text, key))


def _mask(value: Any, key: bytes) -> Any:
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        return redact(value, key=key).text
    if isinstance(value, Mapping):
        return {name: _mask(item, key) for name, item in value.items()}
    return tuple(_mask(item, key) for item in value)
