"""Where OpenCode wants our plugin, our server and our commands."""

from __future__ import annotations

import json
import os

PLUGIN = os.path.join(os.path.dirname(__file__), "plugin.js")


def make_plugin(shim: str) -> str:
    with open(PLUGIN, encoding="utf-8") as opened:
        return opened.read().replace('"@SHIM@"', json.dumps(shim))
