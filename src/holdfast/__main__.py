"""`holdfast …` and `python -m holdfast …`; hooks and MCP servers do not load the CLI."""

from __future__ import annotations

import gc
import os
import sys


def main() -> int:
    if sys.argv[1:2] == ["hook"] and not {"--help", "-h"}.intersection(sys.argv):
        gc.disable()  # before the imports: the process ends before any garbage matters
        from holdfast.surfaces import hook

        # Everything is on disk; ending the interpreter properly would only take time.
        os._exit(hook.main(sys.argv[2:]))
    if sys.argv[1:] == ["mcp"]:
        _serve_stdio()
    if sys.argv[1:] == ["--version"]:  # the installed command asks before it starts a server
        from holdfast import __version__

        sys.stdout.write(f"holdfast, version {__version__}\n")
        return 0
    from holdfast.surfaces import cli

    return cli.main(sys.argv[1:])


def _serve_stdio() -> None:
    """Where its library is missing, it returns: the command says which extra to install."""
    try:
        from holdfast.surfaces.mcp import front

        front.main()
    except ModuleNotFoundError:
        return


if __name__ == "__main__":
    sys.exit(main())
