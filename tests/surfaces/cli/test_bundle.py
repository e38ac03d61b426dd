"""`holdfast bundle …` and `holdfast why`: what an agent is handed, and where each line of it is
from.
"""

from pathlib import Path

import pytest

from tests.rig.commands import Call
from tests.workstreams.repos import RETRY, Repo, with_code


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    monkeypatch.setenv("SHARED_CONTEXT_ENABLED", "true")
    return with_code(tmp_path / "payouts")


@pytest.fixture
def project(repo: Repo) -> Path:
    return repo.folder


@pytest.fixture
def noted(cli: Call) -> None:
    cli("workstream", "decide", "table or queue?")
    cli("workstream", "claim", "It doubles", "--evidence", "src/retry.py#schedule")
    cli("workstream", "save", "--summary", "Goal: failed webhooks are retried.")


@pytest.mark.usefixtures("noted")
def test_a_bundle_has_the_members_of_the_contract(cli: Call):
    data = cli("bundle", "show", "--json").document
    text = cli("bundle", "show").out

    assert set(data) == {"id", "text", "phase", "chars", "tokens", "sections", "cut"}
    assert (data["phase"], data["chars"]) == ("implementation", len(data["text"]))
    for words in ("OPEN D1 table or queue?", "[ok] It doubles", "failed webhooks are retried"):
        assert words in data["text"]
        assert words in text
    assert data["chars"] <= 1_700
    assert cli("bundle", "show", "--phase", "planning", "--json").document["phase"] == "planning"


@pytest.mark.usefixtures("noted")
def test_why_explains_the_last_one_line_by_line(cli: Call):
    bundle = cli("bundle", "show", "--json").document

    told = cli("why")
    data = cli("why", "--json").document

    assert data["id"] == bundle["id"]
    assert "from decision D1" in told.out
    assert "src/retry.py#schedule ok" in told.out
    [decision] = [line for line in data["lines"] if line["source"] == "decision D1"]
    assert (decision["section"], decision["text"]) == ("open", "OPEN D1 table or queue?")
    short = f"b-{bundle['id'][-4:]}"
    assert cli("why", short, "--json").document == data
    assert cli("why", bundle["id"], "--json").document == data


@pytest.mark.usefixtures("noted")
def test_why_prefers_this_checkout_and_says_when_it_is_another_one(
    cli: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    here = cli("bundle", "show", "--json").document
    other = with_code(tmp_path / "refunds")
    monkeypatch.chdir(other.folder)
    elsewhere = cli("why")
    there = cli("bundle", "show", "--json").document
    monkeypatch.chdir(tmp_path / "payouts")

    assert "No bundle was made in this checkout yet" in elsewhere.err
    assert f"b-{here['id'][-4:]}" in elsewhere.out
    assert there["id"] != here["id"]
    assert cli("why", "--json").document["id"] == here["id"]
    assert cli("why").err == ""


@pytest.mark.usefixtures("noted")
def test_rebuild_gives_the_same_bytes_after_everything_changed(cli: Call, repo: Repo):
    before = cli("bundle", "show", "--json").document
    repo.write("src/retry.py", RETRY.replace("30", "60"))
    cli("workstream", "decide", "a queue", "--id", "D1", "--status", "accepted")
    after = cli("bundle", "show", "--json").document

    assert cli("bundle", "rebuild", before["id"], "--json").document == before
    assert cli("bundle", "rebuild", after["id"]).out == after["text"] + "\n"
    diff = cli("bundle", "diff", before["id"], after["id"])
    assert "\n-OPEN D1 table or queue?\n" in diff.out
    assert "\n+DECIDED\n+D1 a queue\n" in diff.out
    assert cli("bundle", "diff", before["id"], before["id"]).out == "They are the same.\n"
    assert cli("bundle", "diff", before["id"], before["id"], "--json").document == {"diff": ""}


@pytest.mark.usefixtures("noted")
def test_a_claim_that_fell_is_not_shown_as_true(cli: Call, repo: Repo):
    repo.write("src/retry.py", RETRY.replace("30", "60"))

    text = cli("bundle", "show").out

    assert "[ok]" not in text
    assert "CLAIMS 1: 1 changed, 0 hold" in text
    assert '\n[changed] "It doubles": retry.py#schedule edited since\n' in text


@pytest.mark.parametrize("limit", ["450", "600", "1000", "100000", str(10**30)])
@pytest.mark.usefixtures("noted")
def test_a_limit_is_kept(cli: Call, limit: str):
    data = cli("bundle", "show", "--limit", limit, "--json").document

    assert data["chars"] <= min(int(limit), 1_700)


@pytest.mark.parametrize(
    ("words", "code", "name"),
    [
        (("show", "--limit", "5"), 2, "invalid_value"),
        (("show", "--limit", "0"), 2, "invalid_value"),
        (("show", "--limit", "-1"), 2, "invalid_value"),
        (("show", "--limit", "many"), 2, "usage"),
        (("show", "--client", "nobody"), 2, "invalid_value"),
        (("show", "--phase", "testing"), 2, "usage"),
        (("show", "--workstream", ""), 2, "invalid_value"),
        (("rebuild", "nothing"), 3, "receipt_not_found"),
        (("rebuild", "b-0000"), 3, "receipt_not_found"),
        (("rebuild",), 2, "usage"),
        (("diff", "nothing", "nothing"), 3, "receipt_not_found"),
        (("diff", "nothing"), 2, "usage"),
    ],
    ids=str,
)
def test_a_refused_bundle_names_its_error_code(
    cli: Call, words: tuple[str, ...], code: int, name: str
):
    answer = cli("bundle", *words, "--json")

    assert (answer.code, answer.document["code"]) == (code, name), answer


def test_why_without_any_bundle_is_not_found(cli: Call):
    answer = cli("why", "--json")

    assert (answer.code, answer.document["code"]) == (3, "receipt_not_found")
    assert cli("why", "nothing").code == 3


@pytest.mark.usefixtures("noted")
def test_each_client_has_its_own_limit(cli: Call):
    for client in ("claude", "codex", "gemini", "opencode"):
        assert cli("bundle", "show", "--client", client).code == 0


def test_a_bundle_outside_of_a_repository_holds_what_is_on_this_machine(
    cli: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)

    assert "not checked against any checkout" in cli("bundle", "show").out
