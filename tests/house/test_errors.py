"""The tree of errors: every class is on the page, and what to do next has words at each door.

A message belongs to no door. Commands, tool calls and routes are in the tables of the doors, and
each of them exists.
"""

import importlib
import re
import tempfile

import click
import pytest

from holdfast.app import App
from holdfast.errors import Action, HoldfastError, hide_place
from holdfast.ground.settings import load_settings
from holdfast.surfaces.cli import actions as cli
from holdfast.surfaces.cli.root import root
from holdfast.surfaces.http import actions as http
from holdfast.surfaces.http.app import make_http_app
from holdfast.surfaces.mcp import actions as mcp
from holdfast.surfaces.mcp.server import ROOMS
from tests.house import source
from tests.house.test_docs import run_and_read
from tools.errors import KINDS, find_errors, find_examples

COMMANDS = set(root.list_commands(click.Context(root)))
WORDINGS = {"cli": cli.COMMANDS, "mcp": mcp.CALLS, "http": http.ROUTES}

# Raised by a hook, and before a server answers.
ONLY_HERE = ("event_dropped", "server_running")


def verbs_in_source() -> set[str]:
    """Also of errors that are raised with an action of their own."""
    texts = [path.read_text() for path in (source.ROOT / "src").rglob("*.py")]
    return {
        verb
        for text in texts
        for call in re.findall(r"Action\(([^)]*)", text)
        for verb in find_quoted(call)
    }


def find_quoted(call: str) -> list[str]:
    before_arguments = call.partition(",")[0]
    return re.findall(r'"([a-z_.]+)"', before_arguments)


def test_the_page_draws_the_whole_tree():
    assert (source.ROOT / "docs" / "errors.md").read_text() == run_and_read("-m", "tools.errors")


def test_every_class_has_an_example():
    assert {type(error) for error in find_examples()} == set(find_errors()) - set(KINDS)


def test_a_class_is_defined_in_a_module_for_errors():
    homes = {error.__module__.rpartition(".")[2] for error in find_errors()}

    assert homes == {"errors", "hook"}  # a hook loads as few files as it can


@pytest.mark.parametrize("error", find_examples(), ids=lambda error: type(error).__name__)
def test_a_message_names_no_command(error: HoldfastError):
    """Backquotes mark commands, and a command is worded by its door."""
    called = re.findall(r"holdfast ([a-z-]+)", error.message)

    assert "`" not in error.message
    assert not COMMANDS.intersection(called)


@pytest.mark.parametrize(
    "error",
    [error for error in find_examples() if re.search("/holdfast|PostgreSQL role", error.message)],
    ids=lambda error: type(error).__name__,
)
def test_an_error_that_names_the_store_says_nothing_of_it_elsewhere(error: HoldfastError):
    if error.code in ONLY_HERE:
        return
    hidden = hide_place(error)

    assert (type(hidden), hidden.__dict__.keys()) == (type(error), {"message", "next_actions"})
    assert not re.search(r"app|/home|postgresql|memori", f"{hidden} {hidden.message}")
    assert hidden.next_actions == ()


@pytest.mark.parametrize("door", WORDINGS)
def test_every_action_has_words_at_each_door_or_is_left_out_by_name(door: str):
    verbs = {action.verb for error in find_examples() for action in error.next_actions}

    assert verbs == verbs_in_source()
    assert set(WORDINGS[door]) == verbs


@pytest.mark.parametrize("door", [cli, mcp, http], ids=lambda door: door.__name__.split(".")[-2])
def test_the_words_of_a_door_take_the_arguments_of_every_action(door):
    worded = [text for error in find_examples() for text in door.word_actions(error.next_actions)]

    assert worded
    assert not [text for text in worded if "{" in text]


def test_every_command_of_ours_that_is_advised_exists():
    for command, sentence in cli.COMMANDS.values():
        words = command.removeprefix("SHARED_CONTEXT_ENABLED=true ").split()
        assert sentence.count("{}") == 1
        if words[0] == "holdfast":
            assert find_command(words[1:]) is not None, command


def find_command(words: list[str]) -> click.Command | None:
    found: click.Command | None = root
    for word in words:
        if not isinstance(found, click.Group):
            break
        found = found.get_command(click.Context(found), word)
    return found


def test_every_tool_call_that_is_advised_exists():
    tools = {
        tool.name: tool
        for room in ROOMS
        for tool in importlib.import_module(f"holdfast.surfaces.mcp.{room}").TOOLS
    }
    calls = [call for call in mcp.CALLS.values() if call and call.split()[0] in tools]

    assert calls
    for call in calls:
        tool = tools[call.split()[0]]
        operation = re.search(r"operation=(\w+)", call)
        assert not operation or operation[1] in tool.operations, call
        assert set(re.findall(r"(\w+)=", call)) <= set(tool.input_schema()["properties"]), call


def test_every_route_that_is_advised_exists():
    with tempfile.TemporaryDirectory() as home:
        app = App(load_settings({"HOLDFAST_HOME": home, "HOME": home}))
        paths = make_http_app(app).app.openapi()["paths"]
    offered = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    advised = [route for route in http.ROUTES.values() if route and "/" in route.split()[1]]

    assert advised
    for route in advised:
        method, path = route.split()[:2]
        assert f"{method} {path.replace('/ID', '/{session_id}')}" in offered


def test_a_session_that_ended_is_continued_at_each_door_in_its_own_words():
    actions = [Action("session.resume", session_id="S1")]

    assert cli.word_actions(actions) == ["holdfast session resume S1"]
    assert mcp.word_actions(actions) == ["session operation=start session_id=S1"]
    assert http.word_actions(actions) == ["POST /api/sessions/S1/resume"]


def test_a_person_reads_what_is_wrong_and_then_what_to_do():
    advised = cli.advise("Session S1 ended.", [Action("session.resume", session_id="S1")])

    assert advised == "Session S1 ended. Continue it with `holdfast session resume S1`."


def test_an_argument_is_quoted_as_its_door_needs_it():
    path = Action("memory.import", path="my memories; ls")
    session = Action("session.events", session_id="../x y")

    assert cli.word_actions([path]) == ["holdfast memory import 'my memories; ls'"]
    assert http.word_actions([session]) == ["GET /api/sessions/..%2Fx%20y/events"]


def test_an_action_that_a_door_leaves_out_is_not_in_its_answer():
    assert mcp.word_actions([Action("serve.port")]) == []
    assert http.word_actions([Action("prove"), Action("session.list")]) == ["GET /api/sessions"]


def test_actions_are_equal_by_their_verb_and_arguments():
    action = Action("session.resume", session_id="S1")

    assert action == Action("session.resume", session_id="S1")
    assert len({action, Action("session.resume", session_id="S1")}) == 1
    assert action != Action("session.resume", session_id="S2")
    assert action != "session.resume"
    assert repr(action) == "Action('session.resume', {'session_id': 'S1'})"
