"""How each client is opened, and what it has before that: sessions, models, servers."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.clients import CLIENTS, commands
from holdfast.clients.opening import get_opening
from holdfast.clients.setup import SetupPlace, find_setup
from tests.rig.opencode_program import Database

ID = "01a1e07f-993c-7001-a325-520ed83b21f8"
SESSION = "ses_e1f8010ceffeWAsB7XQwcdDOnJ"
TRANSCRIPTS = Path(__file__).with_name("transcripts")
BODY = commands.find_command("workspace.debug") or ""


@pytest.fixture
def place(tmp_path: Path) -> SetupPlace:
    return make_place(tmp_path)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    folder = tmp_path / "home" / ".local" / "share" / "opencode"
    folder.mkdir(parents=True)
    opened = Database(folder / "opencode.db")
    opened.add_session(SESSION)
    yield opened
    opened.connection.close()


def make_place(root: Path, **environment: str) -> SetupPlace:
    return SetupPlace(
        user_folder=str(root / "home"),
        environment=environment,
        worktree=str(root / "home" / "payouts"),
        shim="/holdfast",
        tools=("session",),
    )


def write(place: SetupPlace, path: str, content: Any) -> Path:
    """A file below HOME; what is no text is written as JSON, a list as lines of it."""
    file = Path(place.user_folder, path)
    file.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, list):
        content = "".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in content)
    elif not isinstance(content, str):
        content = json.dumps(content)
    file.write_text(content)
    return file


# --- starting -------------------------------------------------------------------------------------

STARTS = {
    "claude": ["claude", "--session-id", ID, "/workspace.debug the parser"],
    "codex": ["codex", "--no-daemon", "$workspace-debug the parser"],
    "gemini": ["gemini", "--session-id", ID, "-i", "/workspace.debug the parser"],
    "opencode": ["opencode", "--prompt", BODY.replace("$ARGUMENTS", "the parser").strip()],
}
WORDS_ALONE = {
    "claude": ["claude", "--session-id", ID, "go on"],
    "codex": ["codex", "--no-daemon", "go on"],
    "gemini": ["gemini", "--session-id", ID, "-i", "go on"],
    "opencode": ["opencode", "--prompt", "go on"],
}
NATIVE = {
    "claude": ["claude", "--resume", ID],
    "codex": ["codex", "--no-daemon", "-C", "/home/dev/payouts", "resume", ID],
    "gemini": ["gemini", "--resume", ID],
    "opencode": ["opencode", "-s", ID],
}


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_is_started_with_a_short_prompt(name: str):
    opening = get_opening(name)

    assert opening.make_start("workspace.debug", BODY, "the parser", ID) == STARTS[name]
    assert opening.make_start("workspace-debug", BODY, "the\n parser", ID) == STARTS[name]
    assert opening.make_start(None, "", "go on", ID) == WORDS_ALONE[name]
    assert opening.make_native(ID, "/home/dev/payouts") == NATIVE[name]


@pytest.mark.parametrize("name", CLIENTS)
def test_words_are_never_an_option(name: str):
    said = get_opening(name).make_start(None, "", " --help\x00 me", ID)

    assert said == [*WORDS_ALONE[name][:-1], "help me"]


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_may_be_opened_without_a_word(name: str):
    alone = get_opening(name).make_start(None, "", "", ID)

    assert alone == [word for word in WORDS_ALONE[name] if word not in ("-i", "--prompt", "go on")]


def test_the_client_that_takes_an_id_has_it_as_an_argument():
    for name in CLIENTS:
        opening = get_opening(name)
        assert (ID in opening.make_start(None, "", "x", ID)) == opening.NAMES_SESSION


@pytest.mark.parametrize(
    ("body", "prompt"),
    [
        ("---\ndescription: x\nagent: plan\n---\nDo it for $ARGUMENTS.\n", "Do it for the parser."),
        ("---\r\ndescription: x\r\n---\r\nDo it.", "Do it.\n\nthe parser"),
        ("Do it.\n---\nNow.\n---\n", "Do it.\n---\nNow.\n---\n\n\nthe parser"),
        ("- Do it.", "Do it.\n\nthe parser"),
        ("", "the parser"),
    ],
)
def test_opencode_gets_the_text_of_a_command_without_its_frame(body: str, prompt: str):
    start = get_opening("opencode").make_start("mine", body, "the parser", "")

    assert start == ["opencode", "--prompt", prompt]


def test_opencode_gets_the_same_text_from_the_installed_file(place: SetupPlace):
    edits = {edit.path: edit.put_in(None) for edit in find_setup("opencode").list_edits(place)}
    text = next(text for path, text in edits.items() if path.endswith("workspace.debug.md"))

    assert get_opening("opencode").make_start("x", text, "the parser", "") == STARTS["opencode"]


# --- sessions -------------------------------------------------------------------------------------


def write_session(place: SetupPlace, name: str) -> Path:
    files = {
        "claude": f".claude/projects/-elsewhere/{ID}.jsonl",
        "codex": f".codex/sessions/2026/11/15/rollout-2026-11-15T18-37-01-{ID}.jsonl",
        "gemini": f".gemini/tmp/payouts/chats/session-2026-11-15T18-37-{ID[:8]}.jsonl",
    }
    write(place, ".gemini/projects.json", {"projects": {place.worktree: "payouts"}})
    return write(place, files[name], [{"sessionId": ID}])


@pytest.mark.parametrize("name", ["claude", "codex", "gemini"])
def test_a_session_is_there_as_long_as_its_file_is(place: SetupPlace, name: str):
    opening = get_opening(name)
    assert not opening.has_session(place, ID, None)

    path = write_session(place, name)

    assert opening.has_session(place, ID, str(path))
    assert opening.has_session(place, ID, None)
    assert not opening.has_session(place, ID.replace("0", "1"), str(path))
    path.unlink()
    assert not opening.has_session(place, ID, str(path))


@pytest.mark.parametrize(
    ("name", "variable"),
    [("claude", "CLAUDE_CONFIG_DIR"), ("codex", "CODEX_HOME"), ("gemini", "GEMINI_CLI_HOME")],
)
def test_a_client_that_looks_elsewhere_now_has_not_the_session(
    tmp_path: Path, place: SetupPlace, name: str, variable: str
):
    path = write_session(place, name)
    moved = make_place(tmp_path, **{variable: str(tmp_path / "moved")})

    assert not get_opening(name).has_session(moved, ID, str(path))


def test_gemini_refuses_a_session_of_another_folder(tmp_path: Path, place: SetupPlace):
    write_session(place, "gemini")
    write(place, ".gemini/projects.json", {"projects": {str(tmp_path / "other"): "payouts"}})

    assert not get_opening("gemini").has_session(place, ID, None)


def test_an_empty_transcript_is_no_session(place: SetupPlace):
    write_session(place, "claude").write_text("")

    assert not get_opening("claude").has_session(place, ID, None)


@pytest.mark.parametrize("native_id", ["", "--help", "../x", "a/b", "a\x00b", "x" * 101])
@pytest.mark.parametrize("name", CLIENTS)
def test_what_is_no_id_is_no_session(place: SetupPlace, name: str, native_id: str):
    write(place, f".claude/projects/-x/{ID}.jsonl", "{}")

    assert not get_opening(name).has_session(place, native_id, None)


def test_a_session_of_opencode_is_a_row(place: SetupPlace, database: Database):
    opening = get_opening("opencode")

    assert opening.has_session(place, SESSION, None)
    assert not opening.has_session(place, "ses_other", str(database.path))


@pytest.mark.parametrize("state", ["missing", "corrupt", "locked", "a folder", "of another make"])
def test_a_database_that_cannot_be_read_has_nothing(place: SetupPlace, state: str):
    path = Path(place.user_folder, ".local", "share", "opencode", "opencode.db")
    path.parent.mkdir(parents=True)
    held = None
    if state == "corrupt":
        path.write_bytes(b"SQLite format 3\x00" + b"x" * 5000)
    elif state == "a folder":
        path.mkdir()
    elif state == "locked":
        held = Database(path)
        held.add_session(SESSION)
        held.run("pragma journal_mode=delete")
        held.run("begin exclusive")
    elif state == "of another make":
        path.write_bytes(b"")
    opening = get_opening("opencode")

    assert not opening.has_session(place, SESSION, str(path))
    assert opening.find_model(SESSION, str(path)) is None
    if held:
        held.connection.close()


# --- the model of a transcript --------------------------------------------------------------------


def answer(model: str, **more: Any) -> dict[str, Any]:
    return {"type": "assistant", "message": {"model": model, "content": []}, **more}


def turn(model: object) -> dict[str, Any]:
    return {"type": "turn_context", "payload": {"turn_id": "t", "model": model}}


MODELS: dict[str, list[Any]] = {
    "claude": [
        answer("claude-opus-4-1"),
        answer("claude-sonnet-4-5"),
        answer("claude-haiku-4-5", isSidechain=True),
        answer("<synthetic>"),
        {"type": "user", "message": {"content": '"assistant"', "model": "x"}},
    ],
    "codex": [
        turn("gpt-5.5"),
        turn("claude-sonnet-4-5"),
        turn(None),
        {"type": "event_msg", "payload": {"turn_context": {}, "model": "x"}},
    ],
    "gemini": [
        {"sessionId": ID, "kind": "main"},
        {"type": "gemini", "model": "gemini-2.5-flash"},
        {"type": "gemini", "model": "claude-sonnet-4-5"},
        {"type": "user", "model": "x"},
        {"$set": {"messages": [{"type": "gemini", "model": "x"}]}},
    ],
}


@pytest.mark.parametrize("name", MODELS)
def test_the_model_is_the_one_that_is_named_last(place: SetupPlace, name: str):
    path = write(place, "t.jsonl", MODELS[name])
    opening = get_opening(name)

    assert opening.find_model(ID, str(path)) == "claude-sonnet-4-5"
    path.write_text(path.read_text() + "\x00\x00{broken assistant turn_context model\n[]\n")
    assert opening.find_model(ID, str(path)) == "claude-sonnet-4-5"


@pytest.mark.parametrize("name", CLIENTS)
def test_a_transcript_that_says_nothing_has_no_model(place: SetupPlace, name: str):
    opening = get_opening(name)
    path = write(place, "t.jsonl", ["", {"type": "x"}])

    assert opening.find_model(ID, None) is None
    assert opening.find_model(ID, "/missing") is None
    assert opening.find_model(ID, place.user_folder) is None
    assert opening.find_model(ID, str(path)) is None


@pytest.mark.parametrize(
    ("path", "model"),
    [("claude/tools.jsonl", "claude-sonnet-4-5"), ("gemini/references.jsonl", "gemini-2.5-pro")],
)
def test_the_model_is_found_in_what_a_client_has_written(path: str, model: str):
    opening = get_opening(path.partition("/")[0])

    assert opening.find_model("another", str(TRANSCRIPTS / path)) == model


def test_only_the_end_of_a_transcript_is_read(place: SetupPlace):
    path = write(place, "t.jsonl", [turn("gpt-5.5"), {"filler": "x" * (5 << 20)}])

    assert get_opening("codex").find_model(ID, str(path)) is None


def test_gemini_is_read_where_the_session_goes_on(place: SetupPlace):
    """At a resume its hook names a new file in which nothing follows."""
    chats = ".gemini/tmp/payouts/chats"
    write(place, f"{chats}/session-2026-11-15T18-37-{ID[:8]}.jsonl", MODELS["gemini"])
    stub = write(place, f"{chats}/session-2026-11-16T10-00-{ID[:8]}.jsonl", [{"sessionId": ID}])

    assert get_opening("gemini").find_model(ID, str(stub)) == "claude-sonnet-4-5"


def test_opencode_names_the_provider_too(database: Database):
    opening = get_opening("opencode")
    assert opening.find_model(SESSION, str(database.path)) is None
    named = {"role": "assistant", "providerID": "anthropic", "modelID": "claude-sonnet-4-5"}
    database.add_message(SESSION, "m1", 1, {**named, "modelID": "older"})
    database.add_message(SESSION, "m2", 2, named)
    database.add_message(SESSION, "m3", 3, {"role": "user", "modelID": "x"})
    database.add_message(SESSION, "m4", 4, {"role": "assistant"})
    database.add_message(SESSION, "m5", 5, "no JSON")

    for path in (str(database.path), f"{database.path}#{SESSION}"):
        assert opening.find_model(SESSION, path) == "anthropic/claude-sonnet-4-5"


# --- settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLIENTS)
def test_without_settings_nothing_is_known(place: SetupPlace, name: str):
    opening = get_opening(name)

    assert opening.find_configured_model(place) is None
    assert opening.list_servers(place) == []
    for path in (".claude.json", ".codex/config.toml", ".gemini/settings.json"):
        write(place, path, "[1, 2")
    assert opening.find_configured_model(place) is None
    assert opening.list_servers(place) == []


# From the weakest to the strongest.
CONFIGURED: dict[str, list[tuple[str, Any]]] = {
    "claude": [
        (".claude/settings.json", {"model": "1"}),
        ("payouts/.claude/settings.json", {"model": "2"}),
        ("payouts/.claude/settings.local.json", {"model": "3"}),
        (".claude/settings.json", {"env": {"ANTHROPIC_MODEL": "4"}}),
    ],
    "codex": [
        (".codex/config.toml", 'model = "1"'),
        ("payouts/.codex/config.toml", 'model = "2"'),
        (".codex/config.toml", 'profile = "p"\n[profiles.p]\nmodel = "3"'),
    ],
    "gemini": [
        (".gemini/settings.json", {"model": {"name": "1"}}),
        ("payouts/.gemini/settings.json", {"model": {"name": "2"}}),
    ],
    "opencode": [
        (".config/opencode/opencode.json", {"model": "1"}),
        (".config/opencode/opencode.jsonc", '{"model": "2", /* mine */}'),
        ("payouts/opencode.json", {"model": "3"}),
        ("payouts/.opencode/opencode.jsonc", {"model": "4"}),
    ],
}


@pytest.mark.parametrize("name", CLIENTS)
def test_the_settings_say_which_model_is_next(place: SetupPlace, name: str):
    for number, (path, content) in enumerate(CONFIGURED[name], start=1):
        write(place, path, content)
        assert get_opening(name).find_configured_model(place) == str(number)


@pytest.mark.parametrize(
    ("name", "environment"),
    [
        ("claude", {"ANTHROPIC_MODEL": "now"}),
        ("gemini", {"GEMINI_MODEL": "now"}),
        ("opencode", {"OPENCODE_CONFIG_CONTENT": '{"model": "now"}'}),
    ],
)
def test_the_environment_is_stronger_than_the_settings(
    tmp_path: Path, place: SetupPlace, name: str, environment: dict[str, str]
):
    for path, content in CONFIGURED[name]:
        write(place, path, content)

    assert get_opening(name).find_configured_model(make_place(tmp_path, **environment)) == "now"


def test_opencode_reads_the_file_that_a_variable_names(tmp_path: Path, place: SetupPlace):
    file = write(place, "mine.json", {"model": "named", "mcp": {"ws": {"enabled": True}}})
    moved = make_place(tmp_path, OPENCODE_CONFIG=str(file), OPENCODE_CONFIG_CONTENT="{broken")

    assert get_opening("opencode").find_configured_model(moved) == "named"
    assert get_opening("opencode").list_servers(moved) == ["ws"]


def test_claude_has_the_servers_of_three_files(place: SetupPlace):
    here = {
        "mcpServers": {"local": {}, "off": {}},
        "disabledMcpServers": ["off"],
        "disabledMcpjsonServers": ["rejected"],
    }
    state = {"mcpServers": {"my server": {}}, "projects": {place.worktree: here, "/other": {}}}
    write(place, ".claude.json", state)
    write(place, "payouts/.mcp.json", {"mcpServers": {"shared": {}, "rejected": {}, "no": {}}})
    write(place, ".claude/settings.json", {"disabledMcpjsonServers": ["no"]})

    assert get_opening("claude").list_servers(place) == ["local", "my_server", "shared"]


def test_codex_has_the_servers_of_two_files(place: SetupPlace):
    write(place, ".codex/config.toml", '[mcp_servers.a]\ncommand = "a"\n[mcp_servers.b]\nurl = "b"')
    off = "[mcp_servers.b]\nenabled = false\n[mcp_servers.c]\nenabled = true"
    write(place, "payouts/.codex/config.toml", off)

    assert get_opening("codex").list_servers(place) == ["a", "c"]


def test_gemini_has_the_servers_that_are_let_in(place: SetupPlace):
    servers = {"mcpServers": {"a": {}, "b": {}, "c": {}}}
    write(place, ".gemini/settings.json", {**servers, "mcp": {"excluded": ["b"]}})
    write(place, "payouts/.gemini/settings.json", {"mcpServers": {"d": {}}})
    assert get_opening("gemini").list_servers(place) == ["a", "c", "d"]

    write(place, "payouts/.gemini/settings.json", {"mcp": {"allowed": ["a", "b"]}})
    assert get_opening("gemini").list_servers(place) == ["a"]


def test_opencode_has_the_servers_that_are_enabled(place: SetupPlace):
    write(place, ".config/opencode/opencode.json", {"mcp": {"a": {"enabled": True}, "b": {}}})
    write(place, "payouts/opencode.json", {"mcp": {"b": {"enabled": False}, "c d": {}}})

    assert get_opening("opencode").list_servers(place) == ["a", "c_d"]


@pytest.mark.parametrize("name", CLIENTS)
def test_our_own_server_is_among_them_after_init(place: SetupPlace, name: str):
    for edit in find_setup(name).list_edits(place):
        write(place, edit.path, edit.put_in(None))

    assert get_opening(name).list_servers(place) == ["holdfast"]


# As the transcripts of each have it.
TOOLS = {
    "claude": ("mcp__ctxdemo__ctx_ping", ["Bash", "mcp__x", "mcp__plugin_a_b__c", "mcp____x"]),
    "codex": ("mcp__ctxdemo__ctx_ping", ["Bash", "apply_patch", "update_plan", "spawn_agent"]),
    "gemini": ("mcp_ctxdemo_ctx_ping", ["run_shell_command", "write_file", "mcp_", "mcp_x"]),
    "opencode": ("ctxdemo_ctx_ping", ["bash", "apply_patch", "todowrite", "x_", ""]),
}


@pytest.mark.parametrize("name", CLIENTS)
def test_a_tool_names_its_server(name: str):
    of_server, built_in = TOOLS[name]
    opening = get_opening(name)

    assert opening.find_server(of_server) == "ctxdemo"
    assert [opening.find_server(tool) for tool in built_in] == [None] * len(built_in)
