"""One table of ours in a TOML file of somebody else."""

import tomllib

import pytest

from holdfast.clients.toml_file import put_table, remove_table

NAME, MARK = "mcp_servers.holdfast", "ours"
LINES = ('command = "/x/holdfast"', 'args = ["mcp"]')
TOML = [
    "",
    "\n",
    'model = "x"\n',
    'model = "x"',
    '# mine\r\nmodel = "x"\r\n',
    '[mcp_servers.other]\ncommand = "y" # theirs\n\n\n',
    '[mcp_servers]\nother = { command = "y" }\n',
    'text = """\n[mcp_servers.holdfast]\n"""\n',
]


@pytest.mark.parametrize("text", TOML)
def test_a_table_is_appended_and_taken_out_again(text):
    changed = put_table(text, NAME, LINES, MARK)

    value = tomllib.loads(changed)
    assert value["mcp_servers"].pop("holdfast") == {"command": "/x/holdfast", "args": ["mcp"]}
    known = tomllib.loads(text)
    known.setdefault("mcp_servers", {})
    assert value == known
    assert put_table(changed, NAME, LINES, MARK) == changed
    if '"""' not in text:
        assert remove_table(changed, NAME, MARK, text) == text


def test_a_table_in_a_text_of_several_lines_is_not_mistaken_for_one():
    text = TOML[-1]
    changed = put_table(text, NAME, LINES, MARK)
    with pytest.raises(ValueError, match="cannot be changed here"):
        remove_table(changed, NAME, MARK, text)


def test_what_a_client_has_written_behind_our_table_stays():
    text = put_table('model = "x"\n', NAME, LINES, MARK)
    text += '\n# theirs\n[hooks.state."/h.json:stop:0:0"]\ntrusted_hash = "sha256:1"\n'
    text += '\n[projects."/a/[b]"] # brackets\ntrust_level = "trusted"\n'
    text += '\n[mcp_servers.holdfast.tools.session]\napproval_mode = "approve"\n'

    left = remove_table(text, NAME, MARK, 'model = "x"\n')

    state = {"/h.json:stop:0:0": {"trusted_hash": "sha256:1"}}
    projects = {"/a/[b]": {"trust_level": "trusted"}}
    assert tomllib.loads(left) == {"model": "x", "hooks": {"state": state}, "projects": projects}
    assert "# theirs" in left


def test_a_table_that_a_person_has_written_is_replaced():
    text = '[mcp_servers.holdfast]\ncommand = "old"\n\n[other]\na = 1\n'
    value = tomllib.loads(put_table(text, NAME, LINES, MARK))
    assert value["mcp_servers"]["holdfast"]["command"] == "/x/holdfast"
    assert value["other"] == {"a": 1}


@pytest.mark.parametrize("text", ["a = ", '[mcp_servers]\nholdfast = { command = "y" }\n'])
def test_a_toml_file_that_is_broken_or_unusual_is_refused(text):
    with pytest.raises(ValueError, match=r"line 1|cannot be changed here|invalid value"):
        put_table(text, NAME, LINES, MARK)
