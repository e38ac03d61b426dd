"""The console in the browser: pages that are written on the server, and a little script where a
page must live.

A page is one address, works without script as far as reading goes, and carries nothing inline: the
policy of the server forbids it, so that a stored text that looks like a page stays a text.
"""

from __future__ import annotations

from holdfast.surfaces.console.here import Consoles
from holdfast.surfaces.console.pages import make_console
from holdfast.surfaces.console.shell import STATIC

__all__ = ["STATIC", "Consoles", "make_console"]
