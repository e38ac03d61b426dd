"""`holdfast …` and `python -m holdfast …`; hooks and MCP servers do not load the CLI."""

from __future__ import annotations

import os
import sys
from contextlib import suppress


def main() -> int:
    if sys.argv[1:2] == ["hook"] and not {"--help", "-h"}.intersection(sys.argv):
        from holdfast.surfaces import hook

        # Everything is on disk; ending the interpreter properly would only take time.
        os._exit(hook.main(sys.argv[2:]))
    if sys.argv[1:] == ["mcp"]:
        with suppress(ModuleNotFoundError):  # the command says which extra is missing
            from holdfast.surfaces.mcp import front

            front.main()
    from holdfast.surfaces import cli

    return cli.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
