"""Secrets out of what a bundle quotes. Pure.

Whatever comes in by a door is masked when it is stored. But a program may store by a service of its
own, and a table of memories may be another program's. A bundle goes to a model, so what it quotes
of them is masked here, in the one value that all sections are made of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.ground.frozen import is_frozen, replace
from holdfast.ground.redaction import redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.bundles.model import Gathered, LastAnswer, LastRequest, LastSession


def mask_quoted(gathered: Gathered) -> Gathered:
    """After memories were recalled: a mark is not a word that was asked for."""
    key = gathered.fence_key
    notes, last = gathered.notes, gathered.last_session
    return replace(
        gathered,
        request=_mask_request(gathered.request, key),
        question=_mask_answer(gathered.question, key),
        before=_mask_request(gathered.before, key),
        answer=_mask_answer(gathered.answer, key),
        earlier=_mask_requests(gathered.earlier, key),
        unfinished=_mask_requests(gathered.unfinished, key),
        last_session=last and replace(last, **_mask(_get_quoted(last), key)),
        notes=replace(notes, **_mask(vars(notes), key)),
        seen=_mask(gathered.seen, key),
        context_sets=_mask(gathered.context_sets, key),
        recalled=tuple(
            replace(memory, text=_mask(memory.text, key)) for memory in gathered.recalled
        ),
        kept=_mask(gathered.kept, key),
    )


def _get_quoted(last: LastSession) -> dict[str, str]:
    return {"environment": last.environment, "cause": last.cause}


def _mask_request(request: LastRequest | None, key: bytes) -> LastRequest | None:
    if request is None:
        return None
    return replace(request, text=_mask(request.text, key), end=_mask(request.end, key))


def _mask_requests(requests: Sequence[LastRequest], key: bytes) -> tuple[LastRequest, ...]:
    return tuple(replace(request, text=_mask(request.text, key)) for request in requests)


def _mask_answer(answer: LastAnswer | None, key: bytes) -> LastAnswer | None:
    return answer and replace(answer, text=_mask(answer.text, key))


def _mask(value: Any, key: bytes) -> Any:
    if isinstance(value, str):
        return redact(value, key=key).text
    if isinstance(value, Mapping):
        return {name: _mask(item, key) for name, item in value.items()}
    if isinstance(value, Sequence):
        return tuple(_mask(item, key) for item in value)
    if is_frozen(value):
        return replace(value, **_mask(vars(value), key))
    return value
