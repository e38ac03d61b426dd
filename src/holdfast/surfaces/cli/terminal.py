"""Whether somebody sits at a terminal; a program may be started with its streams closed."""

from __future__ import annotations

from typing import TextIO


def is_terminal(*streams: TextIO | None) -> bool:
    return all(stream is not None and stream.isatty() for stream in streams)
