"""Secrets out of what is stored, the same at every door.

Hooks, tools, commands and requests all bring what passed by in an agent's work. What they bring is
looked at where it comes in, and what is found is replaced by a mark. The key of the data folder is
part of a mark, so that it confirms no guess elsewhere; a text without a secret needs no key.
"""

from __future__ import annotations

import os

from holdfast.errors import HoldfastError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Mask:
    """What replaces secrets in the texts of one data folder."""

    __slots__ = ("home",)

    def __init__(self, home: str):
        self.home = home

    def mask_text(self, text: str) -> str:
        from holdfast.ground.redaction import find_secrets, redact

        if not find_secrets(text):
            return text
        return redact(text, key=self._find_key()).text

    def mask_value(self, value: Any) -> Any:
        """A JSON value; its ids and hashes stay as they are, and so do keys that are no secrets."""
        from holdfast.ground.redaction import redact_value

        copied, found = redact_value(value)
        if not found:
            return copied
        masked, _ = redact_value(value, key=self._find_key())
        return masked

    def _find_key(self) -> bytes:
        """Of the data folder, so that the same secret is known again; a random one without it."""
        from holdfast.ground.fence import fence_key

        try:
            return fence_key(self.home)
        except (OSError, HoldfastError):
            return os.urandom(16)
