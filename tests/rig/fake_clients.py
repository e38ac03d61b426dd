"""Programs with the names of clients, which answer what the real ones were seen to answer.

For tests of our own commands; the real clients are run elsewhere.
"""

import os
import sys
from pathlib import Path

VERSIONS = {
    "claude": "2.1.325 (Claude Code)",
    "codex": "codex-cli 0.166.0",
    "gemini": "0.61.0",
}
LISTS = {
    "claude": "Checking MCP server health…\\n\\nholdfast: {shim} mcp - ✔ Connected",
    "codex": "",
    "gemini": "Configured MCP servers:\\n\\n✓ holdfast: {shim} mcp (stdio) - Connected",
}
SOURCE = Path(__file__).parents[2] / "src"
MEASURED = "COVERAGE_PROCESS_CONFIG"


class Desk:
    """A person's machine: a HOME, programs on the PATH, and a working tree."""

    def __init__(self, root: Path):
        self.home = root / "home"
        self.bin = root / "bin"
        self.worktree = self.home / "payouts"
        (self.worktree / ".git").mkdir(parents=True)
        self.bin.mkdir()
        self.data = self.home / ".local" / "share" / "holdfast"
        self.shim = self.data / "bin" / "holdfast"
        self.install_program()

    def install_program(self) -> Path:
        """The program as a command of its own; what is on the PATH is someone else's."""
        script = f'PYTHONPATH="{SOURCE}" exec "{sys.executable}" -m holdfast "$@"'
        return self.write_program("holdfast", script)

    def install_client(self, name: str, version: str | None = None, listed: str = "") -> Path:
        shown = version if version is not None else VERSIONS[name]
        listed = listed or LISTS[name].format(shim=self.shim)
        script = (
            f"case $1 in --version) printf '%s\\n' '{shown}';; mcp) printf '{listed}\\n';; esac"
        )
        return self.write_program(name, script)

    def write_program(self, name: str, script: str) -> Path:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    @property
    def environment(self) -> dict[str, str]:
        """What is typed here is measured, where the test's processes are; what that starts with an
        environment of its own is not.
        """
        measured = {name: os.environ[name] for name in [MEASURED] if name in os.environ}
        return {"HOME": str(self.home), "PATH": f"{self.bin}:/usr/bin:/bin", **measured}

    def write(self, path: str, text: str | bytes) -> Path:
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file

    def read_all(self) -> dict[str, bytes]:
        """Every file outside of the data folder, and every folder that is empty."""
        found = {}
        for folder, names, files in os.walk(self.home):
            if folder.startswith(str(self.data)) or "/.git" in folder:
                continue
            for file in files:
                path = Path(folder, file)
                found[str(path.relative_to(self.home))] = path.read_bytes()
            if not (names or files):
                found[str(Path(folder).relative_to(self.home))] = b"(empty folder)"
        found.pop(".local/share", None)
        return found
