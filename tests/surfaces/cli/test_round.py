"""`holdfast round …`: the whole story of a round, and everything that is out of turn."""

from pathlib import Path

import pytest

from tests.rig.commands import Call
from tests.workstreams.repos import Repo, with_code

ROLES = ("Product Owner", "Architect", "Developer", "Validator")


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    monkeypatch.setenv("SHARED_CONTEXT_ENABLED", "true")
    return with_code(tmp_path / "payouts")


@pytest.fixture
def project(repo: Repo) -> Path:
    return repo.folder


def submit(cli: Call, role: str, text: str = "No new fact.") -> None:
    assert cli("round", "submit", "--role", role, "--text", text).code == 0


def test_four_roles_speak_and_the_chair_closes(cli: Call, repo: Repo):
    cli("workstream", "decide", "integer cents", "--phase", "planning", "--status", "accepted")
    begun = cli("round", "start", "--topic", "Where are retries kept?", "--json").document["round"]
    assert (begun["role"], begun["most_chars"]) == ("Product Owner", 700)
    assert "integer cents" in begun["instruction"]

    said = cli(
        "round",
        "submit",
        "--role",
        "product_owner",
        "--text",
        "Payouts wait.",
        "--source",
        "repo:README.md",
    )
    assert said.out.startswith("Next: Architect, 600 to 900 characters\n")
    assert "Product Owner said (sources: repo:README.md)\n| Payouts wait." in said.out
    for role in ROLES[1:]:
        submit(cli, role)
    asked = cli("round", "next", "--json").document["round"]
    assert (asked["role"], asked["most_chars"]) == ("Chair", None)
    assert asked["bundle_id"] == begun["bundle_id"], "all of them see the same bundle"

    closed = cli("round", "close", "--decision", "A table", "--question", "How many attempts?")

    assert closed.out == "Decided: A table\nOpen: How many attempts?\n"
    noted = cli("workstream", "show", "--phase", "planning", "--json").document["open_decisions"]
    assert [(decision["text"], decision["status"]) for decision in noted] == [
        ("integer cents", "accepted"),
        ("A table", "accepted"),
        ("How many attempts?", "open"),
    ]
    assert not (repo.folder / "data/context/implementation_context.json").exists()
    assert cli("round", "start", "--topic", "The next one").code == 0


def test_a_round_belongs_to_its_workstream(cli: Call):
    cli("round", "start", "--topic", "one", "--workstream", "a")

    assert cli("round", "next").code == 3
    assert cli("round", "next", "--workstream", "a").code == 0
    assert cli("round", "start", "--topic", "two").code == 0


REFUSED = [
    (("start", "--topic", "another"), 4, "round_open"),
    (("submit", "--role", "Developer", "--text", "No new fact."), 4, "wrong_role"),
    (("submit", "--role", "Chair", "--text", "No new fact."), 4, "wrong_role"),
    (("submit", "--role", "Boss", "--text", "No new fact."), 2, "invalid_value"),
    (("submit", "--role", "Product Owner", "--text", "Payouts wait."), 5, "source_missing"),
    (
        ("submit", "--role", "Product Owner", "--text", "Payouts wait.", "--source", "I know"),
        2,
        "invalid_value",
    ),
    (
        ("submit", "--role", "Product Owner", "--text", "Payouts wait.", "--source", "repo:"),
        2,
        "invalid_value",
    ),
    (("submit", "--role", "Product Owner", "--text", ""), 2, "invalid_value"),
    (
        ("submit", "--role", "Product Owner", "--text", "No new fact." + "x" * 700),
        2,
        "invalid_value",
    ),
    (("submit", "--role", "Product Owner"), 2, "usage"),
    (("close", "--decision", "early"), 4, "wrong_role"),
    (("close",), 4, "wrong_role"),
    (("start", "--topic", ""), 4, "round_open"),
    (("next", "--workstream", ""), 2, "invalid_value"),
]


@pytest.mark.parametrize(("words", "code", "name"), REFUSED, ids=lambda value: str(value)[:70])
def test_out_of_turn_is_refused_and_nothing_is_written(
    cli: Call, words: tuple[str, ...], code: int, name: str
):
    cli("round", "start", "--topic", "Where?")
    before = cli("round", "next", "--json").document

    answer = cli("round", *words, "--json")

    assert (answer.code, answer.document["code"]) == (code, name), answer
    assert cli("round", "next", "--json").document == before


def test_a_round_is_abandoned_and_another_begins(cli: Call):
    cli("round", "start", "--topic", "Where?")
    submit(cli, "Product Owner")

    left = cli("round", "abandon")

    assert (left.code, left.out) == (0, "Abandoned: Where?\n")
    assert cli("round", "abandon", "--json").document["code"] == "round_not_found"
    assert (
        cli("workstream", "show", "--phase", "planning", "--json").document["open_decisions"] == []
    )
    assert cli("round", "start", "--topic", "When?").code == 0
    assert cli("round", "abandon", "--json").document["round"]["status"] == "abandoned"


def test_a_result_that_cannot_be_noted_leaves_no_half_of_a_close(cli: Call):
    cli("round", "start", "--topic", "Where?")
    for role in ROLES:
        submit(cli, role)
    grows = f"{'AKIA' + 'QZ7X' * 4} and {'ghp_' + 'aB3' * 12} ".ljust(1_000, "x")

    refused = cli("round", "close", "--decision", "fine first", "--decision", grows)

    assert refused.code == 2
    assert (
        cli("workstream", "show", "--phase", "planning", "--json").document["open_decisions"] == []
    )
    assert cli("round", "next", "--json").document["round"]["role"] == "Chair"
    assert cli("round", "close", "--decision", "fine first").code == 0


def test_a_round_outlives_what_was_forgotten_of_its_bundle(cli: Call):
    cli("memory", "remember", "webhook retries wait for the provider Kumquat")
    cli(
        "workstream",
        "save",
        "--summary",
        "Plan.",
        "--feature-request",
        "webhook retries",
        "--phase",
        "planning",
    )
    begun = cli("round", "start", "--topic", "Where?", "--json").document["round"]
    assert "Kumquat" in begun["instruction"]
    assert cli("forget", "--match", "Kumquat", "--yes").code == 0

    asked = cli("round", "next", "--json").document["round"]
    for role in ROLES:
        submit(cli, role)

    assert "Kumquat" not in asked["instruction"]
    assert (
        cli("round", "next", "--json").document["round"]["bundle_id"]
        == asked["bundle_id"]
        != begun["bundle_id"]
    )
    assert cli("round", "close", "--decision", "A table").code == 0


def test_a_submission_that_is_too_short_is_accepted_with_a_note(cli: Call):
    cli("round", "start", "--topic", "Where?")
    words = ("--role", "Product Owner", "--source", "repo:README.md")

    said = cli("round", "submit", *words, "--text", "x" * 399)

    assert said.out.startswith("Next: Architect")
    assert (
        said.err
        == "Note: Product Owner said 399 of the 400 to 700 characters that were asked for.\n"
    )
    assert cli("round", "next").err == ""


def test_an_end_without_a_result_is_refused(cli: Call):
    cli("round", "start", "--topic", "Where?")
    for role in ROLES:
        submit(cli, role)

    assert cli("round", "close", "--json").document["code"] == "invalid_value"
    assert cli("round", "close", "--decision", "").code == 2
    assert cli("round", "close", *("--decision", "x") * 21).code == 2
    assert cli("round", "close", "--question", "Why?").code == 0
    assert cli("round", "next", "--json").document["code"] == "round_not_found"
