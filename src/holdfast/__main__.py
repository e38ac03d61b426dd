"""`holdfast …` and `python -m holdfast …`. Hooks and agents go straight to their doors; the rest
pays for the CLI.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress


def main() -> int:
    if sys.argv[1:2] == ["hook"] and not {"--help", "-h"}.intersection(sys.argv):
        from holdfast.surfaces import hook

        os._exit(
            hook.main(sys.argv[2:])
        )  # everything is on disk; taking the interpreter apart would only take time
    if sys.argv[1:] == ["mcp"]:
        with suppress(ModuleNotFoundError):  # the command says which extra is missing
            from holdfast.surfaces.mcp import stdio

            stdio.main()
    from holdfast.surfaces import cli

    return cli.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
