"""`holdfast prove`: the command's own output and exit code, and a proof that is
bound to the files.
"""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.rig.commands import HOLDFAST, PATIENCE_SECONDS, Call
from tests.workstreams.repos import Repo, with_code


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    monkeypatch.setenv("SHARED_CONTEXT_ENABLED", "true")
    return with_code(tmp_path / "payouts")


@pytest.fixture
def project(repo: Repo) -> Path:
    return repo.folder


def proven(run: Call, *command: str) -> str:
    proof_id: str = run("prove", "--json", "--", *command).document["proof"]["id"]
    return proof_id


# --- output and exit codes ------------------------------------------------------------------------


def test_the_output_and_the_exit_code_of_the_command_are_passed_on(run: Call):
    answer = run("prove", "--", "sh", "-c", "echo out; echo err >&2; exit 3")

    assert (answer.code, answer.out) == (3, "out\nerr\n")
    assert answer.err.startswith("Note: Proof ")
    assert "exit 3" in answer.err


def test_with_json_only_the_proof_is_on_stdout(run: Call):
    answer = run("prove", "--json", "--", "sh", "-c", "echo out; exit 3")

    proof = answer.document["proof"]
    assert (answer.code, proof["exit_code"], proof["passed"], proof["output_tail"]) == (
        3,
        3,
        False,
        "out\n",
    )
    assert answer.err.startswith("out\n")


def test_options_after_the_dashes_are_the_commands_own(run: Call):
    answer = run("prove", "--json", "--", "echo", "--json", "--again", "--", "x")

    assert answer.document["proof"]["command"] == ["echo", "--json", "--again", "--", "x"]
    assert answer.document["proof"]["output_tail"] == "--json --again -- x\n"
    assert run("prove", "--", "echo", "--json").out == "--json\n"


def test_all_words_after_the_command_belong_to_it(run: Call):
    assert (
        run("prove", "echo", "-V", "--json", "--again", "--", "--help").out
        == "-V --json --again -- --help\n"
    )
    answer = run("prove", "--json", "echo", "--json")
    assert (answer.document["proof"]["command"], answer.err.partition("\n")[0]) == (
        ["echo", "--json"],
        "--json",
    )


def test_an_option_of_the_command_does_not_change_the_format_of_our_errors(run: Call):
    refused = run("prove", "echo", "--json", SHARED_CONTEXT_ENABLED="false")

    assert (refused.code, refused.out) == (5, "")
    assert refused.err.startswith("Error: Shared context is off")


def test_without_a_command_it_says_what_to_write(run: Call):
    answer = run("prove")

    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("Error: Say what to run: `holdfast prove -- pytest -q`")


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("./no-such-command",), 127),
        (("no-such-command",), 127),
        (("./README.md",), 126),
        (("./src",), 126),
        (("sh", "-c", "kill -9 $$"), 137),
        (("sh", "-c", "kill -TERM $$"), 143),
        (("sh", "-c", "exit 255"), 255),
        (("true",), 0),
    ],
)
def test_every_end_has_the_code_that_a_shell_gives_it(
    run: Call, command: tuple[str, ...], code: int
):
    answer = run("prove", "--json", "--", *command)

    assert (answer.code, answer.document["proof"]["exit_code"]) == (code, code)


@pytest.mark.parametrize(
    ("words", "code", "name"),
    [
        (("--json",), 2, "usage"),
        (("--json", "--"), 2, "usage"),
        (("--json", "--", "", "x"), 2, "invalid_value"),
        (("--json", "--agian", "x"), 2, "usage"),
        (("--json", "-q", "pytest"), 2, "usage"),
        (("--json", "--again", "nothing"), 3, "proof_not_found"),
        (("--json", "--again", "nothing", "--", "true"), 2, "invalid_value"),
        (("--json", "--again"), 2, "usage"),
    ],
    ids=str,
)
def test_an_invalid_command_is_refused(run: Call, words: tuple[str, ...], code: int, name: str):
    answer = run("prove", *words)

    assert (answer.code, answer.document.get("code")) == (code, name), answer


def test_an_argument_that_is_not_utf8_is_refused_and_not_run(run: Call, repo: Repo):
    answer = run("prove", "--json", "--", b"touch", b"\xff")

    assert (answer.code, answer.document["code"]) == (2, "invalid_value")
    assert repo.git("status", "--porcelain") == ""


def test_ctrl_c_is_the_commands_to_answer(repo: Repo):
    """Both get the signal, as from a terminal; what the command makes of it is kept."""
    script = "trap 'echo stopped; exit 7' INT; echo ready; while :; do sleep 0.1; done"
    process = subprocess.Popen(
        [*HOLDFAST, "prove", "--", "sh", "-c", script],
        cwd=repo.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_SECONDS)

    assert (process.returncode, out) == (7, b"stopped\n")
    assert b"exit 7" in err


def test_a_closed_stdout_does_not_end_the_command(run: Call, repo: Repo):
    process = subprocess.Popen(
        [*HOLDFAST, "prove", "--", "sh", "-c", "yes x | head -c 3000000; exit 9"],
        cwd=repo.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"x\n"
        process.stdout.close()
        assert process.stderr is not None
        err = process.stderr.read()
        assert process.wait(PATIENCE_SECONDS) == 9

    assert err.startswith(b"Note: Proof ")
    assert run("workstream", "show", "--json").document["proofs"][0]["exit_code"] == 9


# --- what it proves -------------------------------------------------------------------------------


def test_a_proof_shows_a_claim_on_its_own_files_only(run: Call, repo: Repo):
    proof_id = proven(run, "true")
    assert run(
        "workstream", "claim", "It works now", "--evidence", f"proof:{proof_id}"
    ).out.startswith("[ok]")

    repo.write("README.md", "edited\n")

    assert "[changed] It works now (unproven)" in run("workstream", "check").out
    shown = run("workstream", "show", "--json").document["proofs"]
    assert [(proof["id"], proof["passed"], proof["is_of_this_tree"]) for proof in shown] == [
        (proof_id, True, False)
    ]
    again = run("prove", "--json", "--again", proof_id).document["proof"]
    assert (again["command"], again["passed"]) == (["true"], True)
    assert again["id"] != proof_id


def test_again_runs_in_the_folder_that_it_ran_in(run: Call, repo: Repo):
    first = run("prove", "--json", "--", "ls", cwd=repo.folder / "src").document["proof"]

    again = run("prove", "--again", first["id"])

    assert (first["folder"], again.out) == ("src", "models.py\nretry.py\n")


def test_a_proof_of_another_repository_is_not_found_here(run: Call, repo: Repo, tmp_path: Path):
    """The same contents elsewhere are still another repository, and its command was never meant for
    this one.
    """
    other = with_code(tmp_path / "other")
    other.git("remote", "add", "origin", "https://github.com/acme/other.git")
    elsewhere = run("prove", "--json", "--", "touch", "made", cwd=other.folder).document["proof"]
    assert elsewhere["repo"] == "github.com/acme/other"

    again = run("prove", "--json", "--again", elsewhere["id"])
    claimed = run(
        "workstream", "claim", "It is done", "--evidence", f"proof:{elsewhere['id']}", "--json"
    )

    assert (again.code, again.document["code"]) == (3, "proof_not_found")
    assert (claimed.code, claimed.document["code"]) == (3, "proof_not_found")
    assert not (repo.folder / "made").exists()


def test_a_command_that_edits_tracked_files_proves_nothing(run: Call, repo: Repo):
    answer = run("prove", "--", "sh", "-c", "echo more >> README.md")

    assert answer.code == 0
    assert "the files changed while it ran: proves nothing" in answer.err
    proof = run("workstream", "show", "--json").document["proofs"][0]
    refused = run(
        "workstream", "claim", "It is done", "--evidence", f"proof:{proof['id']}", "--json"
    )
    assert (proof["passed"], refused.code, refused.document["code"]) == (False, 5, "proof_failed")
    assert "ran while files changed" in refused.document["message"]


def test_secrets_in_the_output_are_not_kept(run: Call, tmp_path: Path):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

    answer = run("prove", "--json", "--", "echo", token)

    assert token in answer.err, "the person sees what the command prints"
    assert token not in json.dumps(answer.document["proof"]["output_tail"])


def test_endless_output_is_passed_on_and_only_its_end_is_kept(run: Call):
    answer = run("prove", "--json", "--", "sh", "-c", "yes x | head -c 5000000; echo end")

    proof = answer.document["proof"]
    assert proof["output_tail"].endswith("end\n")
    assert len(proof["output_tail"]) <= 4_000
    assert len(answer.err) > 5_000_000
