"""The names that other programs call do not change unseen: commands, tools, routes, error codes,
public Python names.

Wording is left out, so a help text or a description may change. A change that is intended is
written to the golden file by `make contract`, and is then visible in its diff.
"""

import pytest

from tests.house import source
from tests.house.test_docs import run_and_read
from tools import contract

GOLDEN = source.ROOT / "tests" / "house" / "contract.txt"


def test_the_contract_is_the_one_that_was_agreed():
    agreed = contract.parse_facts(GOLDEN.read_text())
    offered = contract.parse_facts(run_and_read("-m", "tools.contract"))

    differences = contract.compare(agreed, offered)

    hint = "The contract changed. If that is intended, run `make contract` and commit the file."
    assert not differences, "\n".join([hint, *differences])


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("cli › holdfast session append › options › --content › spellings", '["--content"]'),
        ("cli › holdfast merge-context › options › --help › is_flag", "true"),
        (
            "mcp › tools › set_relevant_context › inputSchema › properties › setName › type",
            '"string"',
        ),
        ("mcp › operations › repo_context claim › needs", '["text"]'),
        ("answers › session append › data › event › sequence", '""'),
        ("http › routes › POST /login", '"offered"'),
        ("errors › SessionEndedError › code", '"session_ended"'),
        ("python › holdfast.SessionService › methods › get_session", '"(self, session_id)"'),
    ],
)
def test_the_contract_has_every_part(path: str, value: str):
    """A golden file that has lost a part would compare equal for ever."""
    assert contract.parse_facts(GOLDEN.read_text())[path] == value


@pytest.mark.parametrize(
    ("after", "line"),
    [
        ({}, 'removed  tool › name = "x"'),
        ({"tool › name": '"x"', "tool › more": "1"}, "added    tool › more = 1"),
        ({"tool › name": '"y"'}, 'changed  tool › name: "x" → "y"'),
    ],
)
def test_a_difference_is_named_by_its_path(after: dict[str, str], line: str):
    assert contract.compare({"tool › name": '"x"'}, after) == [line]


def test_wording_is_left_out_and_a_property_of_that_name_is_not():
    schema = {
        "title": "Words",
        "properties": {"title": {"type": "string", "description": "More words"}},
    }

    assert contract.without_wording(schema) == {"properties": {"title": {"type": "string"}}}
