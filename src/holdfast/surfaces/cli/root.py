"""The root command: names and one line of help each, so that the list costs no import of the
commands.
"""

from __future__ import annotations

from importlib import import_module

import click

from holdfast import __version__
from holdfast.surfaces.cli.running import Group

COMMANDS = {
    "init": "Set up the agent programs of this machine",
    "demo": "Play a short example on a temporary store",
    "session": "Start, append to, read, resume and verify sessions",
    "context": "Set what the next session is reminded of",
    "workstream": "Keep context in the repository, checked on every read",
    "prove": "Run a command and store its exit code, with the files",
    "conversation": "Keep what was said about a topic as a folder",
    "bundle": "Show what an agent receives, rebuild and compare it",
    "resume": "Go on with earlier work, in any client",
    "handoff": "Show what whoever continues here is handed",
    "team": "Show others what you work on, and see what they do",
    "publish": "Publish what you work on, drafted from git and notes",
    "why": "Explain the last bundle: source, verdict, what was cut",
    "round": "Collect the views of four roles on one topic, in turn",
    "memory": "Remember statements and recall them by a question",
    "check": "Check what the clients remember themselves",
    "forget": "Erase what should never have been stored",
    "status": "Show what is stored, and what each client costs",
    "doctor": "Try whether every client reaches Holdfast",
    "off": "Keep the session that runs here out of everything",
    "on": "Capture the session again that was switched off",
    "uninstall": "Remove Holdfast from every client's settings",
    "import": "Import what another program has stored",
    "serve": "Serve the API and the console on this machine",
    "mcp": "Serve an agent program over stdio",
    "admin": "Migrate the store, let people in, and audit the exchange",
    "hook": "Take an event from an agent program",
    "completion": "Print the completion script of a shell",
    "help": "Show this, or everything with `help all`",
}
# What a person needs; the rest is found by those who look for it.
SHORT = ("init", "resume", "why", "status", "publish", "off", "doctor", "help")
ALSO = "Also: on, uninstall, demo, serve; `holdfast help all` shows every command"
HIDDEN = ("merge-context",)  # what other programs call, and no person types


class Root(Group):
    hidden_commands = HIDDEN

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS and name not in HIDDEN:
            return None
        module = import_module(f"holdfast.surfaces.cli.{name.replace('-', '_')}_command")
        command: click.Command = module.command
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in SHORT])
        formatter.write_paragraph()
        formatter.write_text(ALSO)


@click.command(cls=Root, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="holdfast", help="Show the version")
def root() -> None:
    """Record what agents did and give it to the next session"""
