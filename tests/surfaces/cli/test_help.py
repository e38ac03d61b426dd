"""What a person reads before typing: help, completion, version."""

from collections.abc import Iterator

import click
import pytest

from holdfast.surfaces.cli.root import COMMANDS, SHORT, root
from tests.rig.commands import Call

ENOUGH = 60


def walk(
    context: click.Context, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Context]]:
    yield path, context
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            found = context.command.get_command(context, name)
            assert found is not None
            yield from walk(click.Context(found, parent=context, info_name=name), (*path, name))


ALL = dict(walk(click.Context(root, info_name="holdfast", **root.context_settings)))
LEAVES = [path for path, context in ALL.items() if not isinstance(context.command, click.Group)]

# What the contract promises of this part of Holdfast.
PROMISED = {
    *(("init",), ("uninstall",), ("doctor",), ("off",), ("on",)),
    *(
        ("demo",),
        ("forget",),
        ("status",),
        ("import",),
        ("serve",),
        ("mcp",),
        ("hook",),
        ("help",),
        ("completion",),
    ),
    *(("session", verb) for verb in ("start", "append", "show", "events", "state", "end")),
    *(("session", verb) for verb in ("list", "rename", "resume", "thread", "verify")),
    *(("context", "set"), ("context", "show"), ("admin", "migrate")),
    *(
        ("workstream", verb)
        for verb in ("show", "check", "decide", "claim", "checklist", "point", "save", "fail")
    ),
    *(("bundle", verb) for verb in ("show", "rebuild", "diff")),
    *(("round", verb) for verb in ("start", "next", "submit", "close")),
    *(("prove",), ("why",)),
    *(
        ("memory", verb)
        for verb in ("remember", "recall", "list", "corroborate", "contradict", "expire")
    ),
    *(("memory", verb) for verb in ("import", "export")),
}


def test_every_promised_command_is_there():
    """What there is beside them is in `tests/house/contract.txt`."""
    assert set(LEAVES) >= PROMISED


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_line_of_help_is_short_imperative_and_without_a_period(path: tuple[str, ...]):
    first = (ALL[path].command.help or "").splitlines()[0]
    options = [
        option
        for option in ALL[path].command.get_params(ALL[path])
        if isinstance(option, click.Option)
    ]
    lines = [
        first,
        *(option.help or "" for option in options if option.metavar not in ("TYPE", "ROLE")),
    ]

    for line in lines:
        assert line, f"{path} has an option without help"
        assert len(line) <= ENOUGH, line
        assert not line.endswith("."), line
    assert first.split()[0].rstrip(",") not in {
        "Starts",
        "Shows",
        "Appends",
        "Prints",
        "A",
        "The",
        "This",
    }


def test_the_short_help_is_the_first_line_of_each_command():
    for name, line in COMMANDS.items():
        first = (ALL[(name,)].command.help or "").splitlines()[0]
        assert len(line) <= ENOUGH
        assert first.startswith(line) or name == "help"


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_command_explains_itself(cli: Call, path: tuple[str, ...]):
    answer = cli(*path, "--help")

    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith(f"Usage: {' '.join(('holdfast', *path))} ")
    assert cli(*path, "-h").out == answer.out
    assert max(map(len, answer.out.splitlines())) <= 80


def test_help_is_the_list_of_commands(cli: Call):
    assert cli("help").out == cli("--help").out
    assert cli("help", "--json").document["commands"][0] == {
        "command": "holdfast init",
        "help": COMMANDS["init"],
    }


def test_the_first_help_names_what_a_person_needs_and_where_the_rest_is(cli: Call):
    listed = cli("--help").out.partition("Commands:\n")[2]
    *lines, blank, last = listed.splitlines()

    assert [line.split()[0] for line in lines] == list(SHORT)
    assert len(SHORT) <= 9
    assert "`help all`" in lines[-1]
    assert blank == ""
    others, _, everything = last.removeprefix("Also: ").partition("; ")
    assert set(others.split(", ")) <= set(COMMANDS) - set(SHORT)
    assert "`holdfast help all`" in everything


def test_help_all_wraps_at_the_width_of_the_terminal(cli: Call, monkeypatch: pytest.MonkeyPatch):
    whole = " ".join(cli("help", "all").out.split())
    monkeypatch.setenv("COLUMNS", "60")
    wrapped = cli("help", "all").out
    assert max(map(len, wrapped.splitlines())) <= 60
    assert " ".join(wrapped.split()) == whole


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("session strat", "session start"), ("version", "--version"), ("statsu", "status")],
)
def test_a_mistyped_command_is_understood(cli: Call, typed: str, meant: str):
    assert f"Did you mean '{meant}'?" in cli(*typed.split()).err


def test_help_all_has_a_line_for_every_command(cli: Call):
    lines = cli("help", "all").out.splitlines()
    document = cli("help", "all", "--json").document["commands"]

    assert [entry["command"] for entry in document] == [
        f"holdfast {' '.join(path)}" for path in LEAVES
    ]
    width = max(len(" ".join(path)) for path in LEAVES)
    assert [line[:width].rstrip() for line in lines] == [" ".join(path) for path in LEAVES]
    assert [line[width + 1 :] for line in lines] == [entry["help"] for entry in document]
    assert max(map(len, lines)) <= 80
    assert not [entry for entry in document if entry["help"].endswith("...")]


def test_commands_are_listed_in_the_order_in_which_they_are_used(cli: Call):
    listed = [
        line.split()[0]
        for line in cli("session", "--help").out.partition("Commands:\n")[2].splitlines()
    ]

    assert (listed[0], listed[-1], len(listed)) == ("start", "verify", 11)


def test_help_about_a_command_is_what_the_command_says(cli: Call):
    assert cli("help", "session").out == cli("session", "--help").out
    assert cli("help", "session", "start").out == cli("session", "start", "--help").out
    assert cli("help", "forget", "--json").document["commands"] == [
        {"command": "holdfast forget", "help": "Erase what should never have been stored"}
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sesion",), "There is no command 'sesion'. Did you mean 'session'?"),
        (("help", "statsu"), "There is no command 'statsu'. Did you mean 'status'?"),
        (("xyz",), "There is no command 'xyz'."),
        (("session", "lsit"), "There is no command 'session lsit'. Did you mean 'session list'?"),
        (
            ("help", "context", "shwo"),
            "There is no command 'context shwo'. Did you mean 'context show'?",
        ),
        (
            ("workstream", "load"),
            "There is no command 'workstream load'. Did you mean 'workstream show'?",
        ),
        (
            ("session", "recent"),
            "There is no command 'session recent'. Did you mean 'session events'?",
        ),
        (("admin", "xyz"), "There is no command 'admin xyz'."),
        (("completion",), "Missing argument 'SHELL'. Choose from: bash, zsh, fish."),
        (("help", "status", "now"), "'holdfast status' has no commands of its own."),
        (("status", "--jsno"), "No such option '--jsno'. Did you mean '--json'?"),
        (("serve", "--prt"), "No such option '--prt'. Did you mean '--port'? See `"),
        (("status", "--xyz"), "No such option '--xyz'. See `"),
    ],
)
def test_a_mistyped_command_says_where_to_look(run: Call, arguments: tuple[str, ...], message: str):
    answer = run(*arguments)

    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert answer.err.startswith(f"Error: {message}")
    assert answer.err.endswith(" --help`.\n")


@pytest.mark.parametrize("arguments", [(), ("session",), ("context",), ("admin",)])
def test_a_group_alone_shows_its_help(cli: Call, arguments: tuple[str, ...]):
    answer = cli(*arguments)

    assert (answer.code, answer.out) == (2, cli(*arguments, "--help").out)


def test_an_unknown_command_is_not_found():
    assert root.get_command(ALL[()], "sesion") is None


def test_the_version_is_the_packages(cli: Call):
    import holdfast

    assert cli("--version").out == f"holdfast, version {holdfast.__version__}\n"


def test_hook_help_names_the_clients(run: Call):
    answer = run("hook", "--help")

    assert (answer.code, answer.err) == (0, "")
    assert "Clients: claude, codex, gemini" in answer.out


def test_json_is_taken_everywhere_and_listed_where_it_changes_something(run: Call):
    """`hook` and `mcp` speak to programs only."""
    silent = [("hook",), ("mcp",)]
    for path, context in ALL.items():
        assert ("--json" in context.get_help()) == (path not in silent), path

    fired = run("hook", "claude", "Stop", "--json", stdin='{"hook_event_name": "SessionStart"}')
    served = run("mcp", "--json")

    assert (fired.code, fired.out, fired.err) == (0, "", "")
    assert (served.code, served.out, served.err) == (0, "", "")
    assert run("status", "--json").document["last_hook_failure"] is None


# --- completion -----------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(cli: Call, shell: str):
    script = cli("completion", shell)
    document = cli("completion", shell, "--json").document

    assert script.code == 0
    assert "_HOLDFAST_COMPLETE" in script.out
    assert document["shell"] == shell
    assert document["script"].strip() == script.out.strip()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_says_where_the_script_of_each_shell_belongs(run: Call, shell: str):
    lines = [line.strip() for line in run("completion", "--help").out.splitlines()]

    [line] = [line for line in lines if line.startswith(f"holdfast completion {shell} >")]
    assert {"bash": ".bashrc", "zsh": ".zshrc", "fish": "completions/holdfast.fish"}[shell] in line


def test_completion_of_another_shell_is_refused(cli: Call):
    answer = cli("completion", "tcsh", "--json")

    assert (answer.code, answer.document["code"]) == (2, "usage")


def test_the_tab_key_finds_commands_and_options(run: Call):
    """What the script calls while a person types."""
    commands = run(_HOLDFAST_COMPLETE="bash_complete", COMP_WORDS="holdfast ses", COMP_CWORD="1")
    options = run(
        _HOLDFAST_COMPLETE="bash_complete", COMP_WORDS="holdfast forget --ma", COMP_CWORD="2"
    )

    assert (commands.out.split(), options.out.split()) == (["plain,session"], ["plain,--match"])
    assert (commands.code, options.code, commands.err, options.err) == (0, 0, "", "")


def test_completion_after_an_unknown_command_prints_nothing(run: Call):
    answer = run(_HOLDFAST_COMPLETE="bash_complete", COMP_WORDS="holdfast sesion l", COMP_CWORD="2")

    assert (answer.code, answer.out.strip(), answer.err) == (0, "", "")
