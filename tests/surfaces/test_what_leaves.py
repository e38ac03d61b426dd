"""What hooks of a laptop send to a server: files of listed repositories, and of nothing else.

Real hooks, a real server, and every byte between them.
"""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.storage.database import drive
from tests.rig.laptops import OTHER_REPO, Laptop, Office, open_office
from tests.surfaces.team import REPO
from tests.surfaces.test_laptops import CHANGE, EDIT, PUBLISH, enrol
from tests.workstreams.repos import Repo, with_code

pytestmark = pytest.mark.measures_processes

SECOND_REPO = "github.com/acme/second"


@pytest.fixture
def office(tmp_path: Path, postgres_url: str) -> Iterator[Office]:
    with open_office(tmp_path / "server", postgres_url) as found:
        yield found


@pytest.fixture
def laptop(office: Office, tmp_path: Path) -> Laptop:
    made = Laptop(tmp_path / "ana", office, "ana", office.add("ana"))
    drive(made.team.get_me())
    office.proxy.requests.clear()
    return made


@pytest.fixture
def other(office: Office, tmp_path: Path) -> Laptop:
    return Laptop(tmp_path / "bo", office, "bo", office.add("bo"))


@pytest.fixture
def repo(laptop: Laptop) -> Repo:
    repo = laptop.make_repo()
    enrol(laptop, repo.folder)
    return repo


def begin(laptop: Laptop, folder: Path) -> None:
    laptop.hook("UserPromptSubmit", folder, prompt="Retry.", prompt_id="p-0")
    laptop.hook("SessionStart", folder, source="startup")


def edit(
    laptop: Laptop, cwd: Path, path: Path | str, *, is_copy_young: bool = False, env: Any = None
) -> str:
    if not is_copy_young:
        shutil.rmtree(laptop.data / "team-copies", ignore_errors=True)
    given = {**CHANGE, "file_path": str(path)}
    return laptop.hook("PreToolUse", cwd, env=env, **EDIT, tool_input=given).out


def end(laptop: Laptop, folder: Path) -> None:
    laptop.hook("Stop", folder, last_assistant_message="Done.")
    laptop.hook("SessionEnd", folder, reason="exit")


def list_presence(office: Office) -> list[tuple[str, list[str]]]:
    """The repository and the paths of each message about a session, in order."""
    shown = [each for each in office.proxy.requests if each.startswith(b"PUT /api/team/presence")]
    bodies: list[dict[str, Any]] = [json.loads(each.partition(b"\r\n\r\n")[2]) for each in shown]
    return [(body["repo"], body["paths"]) for body in bodies]


def nest(repo: Repo, name: str, remote: str) -> Repo:
    inner = with_code(repo.folder / name)
    inner.git("remote", "add", "origin", remote)
    return inner


@pytest.fixture
def crowded(repo: Repo, tmp_path: Path) -> Repo:
    """With everything in its working tree that is not of the repository."""
    repo.write(".gitignore", "hidden-*\nbuild/\n")
    nest(repo, "hidden", "https://github.com/hidden/client.git")
    repo.git("add", ".gitignore")
    source = with_code(tmp_path / "source")
    for name in ("part", "empty-part"):
        repo.git("submodule", "--quiet", "add", "--force", str(source.folder), f"hidden-{name}")
    repo.commit("parts")
    repo.git("submodule", "--quiet", "deinit", "--force", "hidden-empty-part")
    repo.git("init", "--quiet", "--bare", "hidden.git")
    nest(repo, "deep/er/hidden", "https://github.com/hidden/deep.git")
    fresh = Repo(repo.folder / "fresh-hidden")
    for folder in ("hidden", "hidden-part", "hidden-empty-part", "deep/er/hidden", "build"):
        repo.write(f"{folder}/hidden-file.py", "x = 1\n")
    fresh.write("file.py", "x = 1\n")
    repo.write("hidden-plan.md", "x\n")
    repo.write('hidden-"odd"\n.md', "x\n")
    return repo


NOT_OF_THE_REPOSITORY = (
    "hidden/hidden-file.py",
    "hidden/not/made/yet-hidden.py",
    "hidden-part/hidden-file.py",
    "hidden-empty-part/hidden-file.py",
    "hidden.git/hidden-head",
    "deep/er/hidden/hidden-file.py",
    "fresh-hidden/file.py",
    "build/hidden-file.py",
    "hidden-plan.md",
    'hidden-"odd"\n.md',
    "hidden-not-made-yet.md",
    ".git/hidden",
    ".GIT/hidden",
    "../hidden-outside.py",
    "link-in/hidden-file.py",
    "link-out/hidden-file.py",
)


def test_no_name_of_a_file_that_is_not_of_the_repository_leaves(
    laptop: Laptop, office: Office, crowded: Repo, tmp_path: Path
):
    (crowded.folder / "link-in").symlink_to(crowded.folder / "hidden")
    (crowded.folder / "link-out").symlink_to(tmp_path)
    crowded.write("new.py", "x = 1\n")

    begin(laptop, crowded.folder)
    for path in NOT_OF_THE_REPOSITORY:
        edit(laptop, crowded.folder, crowded.folder / path)
    edit(laptop, crowded.folder, "README.md")
    edit(laptop, crowded.folder, crowded.folder / "deep/not-made-yet.py")
    seen = list_presence(office)[-1]
    end(laptop, crowded.folder)

    assert b"hidden" not in office.proxy.sent
    assert seen[0] == REPO
    assert {"deep/not-made-yet.py", "README.md", "new.py"} <= set(seen[1])
    assert "new.py" in list_presence(office)[-1][1]


def test_a_repository_that_was_added_as_a_part_by_mistake_is_not_named(
    laptop: Laptop, office: Office, repo: Repo
):
    nest(repo, "hidden", "https://github.com/hidden/client.git")
    repo.write("new.py", "x = 1\n")
    repo.git("add", "--all")

    begin(laptop, repo.folder)
    end(laptop, repo.folder)

    assert b"hidden" not in office.proxy.sent
    assert list_presence(office)[-1] == (REPO, ["new.py"])


def test_a_draft_names_no_other_repository(laptop: Laptop, office: Office, crowded: Repo):
    crowded.write("new.py", "x = 1\n")

    assert laptop.run(*PUBLISH, cwd=crowded.folder).code == 0

    assert b"new.py" in office.proxy.sent
    assert b"hidden/" not in office.proxy.sent
    assert b"hidden.git" not in office.proxy.sent


def test_a_file_about_which_git_does_not_answer_waits_for_the_end_of_the_turn(
    laptop: Laptop, other: Laptop, office: Office, repo: Repo, tmp_path: Path
):
    drive(other.team.claim(["new.py"], "WORDS", repo=REPO))
    begin(laptop, repo.folder)
    broken = tmp_path / "broken"
    broken.mkdir()
    real = shutil.which("git")
    (broken / "git").write_text(
        f'#!/bin/sh\ncase "$*" in *check-ignore*) exit 128;; esac\nexec {real} "$@"\n'
    )
    (broken / "git").chmod(0o755)

    told = edit(laptop, repo.folder, "new.py", env={"PATH": f"{broken}:{os.environ['PATH']}"})
    at_the_edit = list_presence(office)
    repo.write("new.py", "x = 1\n")
    end(laptop, repo.folder)

    assert "bo reserved new.py" in told
    assert all("new.py" not in paths for _, paths in at_the_edit)
    assert list_presence(office)[-1] == (REPO, ["new.py"])


# --- which repository it is -----------------------------------------------------------------------


def test_a_young_copy_is_no_proof_of_what_a_repository_is_called(
    laptop: Laptop, other: Laptop, office: Office, repo: Repo
):
    claim = drive(other.team.claim(["hidden.py"], "WORDS", repo=REPO))
    drive(other.team.handoff(claim.id, to="ana"))
    begin(laptop, repo.folder)
    repo.git("remote", "set-url", "origin", f"https://{OTHER_REPO}.git")
    office.proxy.requests.clear()

    told = edit(laptop, repo.folder, "hidden.py", is_copy_young=True)
    begin(laptop, repo.folder)
    laptop.hook("UserPromptSubmit", repo.folder, prompt="Go on.", prompt_id="p-9")
    laptop.hook("Stop", repo.folder, last_assistant_message="Done.")

    assert told == ""
    assert office.proxy.requests == []


def test_an_offer_is_not_asked_for_by_a_copys_word(
    laptop: Laptop, other: Laptop, office: Office, repo: Repo
):
    claim = drive(other.team.claim(["a.py"], "WORDS", repo=REPO))
    begin(laptop, repo.folder)
    drive(other.team.handoff(claim.id, to="ana"))
    edit(laptop, repo.folder, "a.py")  # the copy has the offer
    repo.git("remote", "set-url", "origin", f"https://{OTHER_REPO}.git")
    office.proxy.requests.clear()

    laptop.hook("UserPromptSubmit", repo.folder, prompt="Go on.", prompt_id="p-9")

    assert office.proxy.requests == []


NOT_LISTED = (
    "git@acme:payouts.git",
    "ssh://acme/payouts",
    "evil.example:x@github.com:acme/payouts",
    "https://evil.example#@github.com/acme/payouts",
    "https://github.com/acme/pay outs",
    "https://github.com:8443/acme/payouts.git",
    "/srv/github.com/acme/payouts",
    None,
)


def test_a_remote_that_only_looks_like_a_listed_one_is_told_nothing_of(
    laptop: Laptop, office: Office
):
    for number, remote in enumerate(NOT_LISTED):
        repo = with_code(laptop.home / str(number) / "payouts")
        if remote is not None:
            repo.git("remote", "add", "origin", remote)
        enrol(laptop, repo.folder)
        repo.write("hidden.py", "x = 1\n")
        begin(laptop, repo.folder)
        edit(laptop, repo.folder, "hidden.py")
        end(laptop, repo.folder)
        assert laptop.run(*PUBLISH, cwd=repo.folder).code == 5
        named = laptop.run(*PUBLISH, "--repo", "acme/payouts", cwd=repo.folder)
        assert named.code == 5
        assert office.proxy.requests == [], remote


@pytest.mark.parametrize(
    "remote", ["git@GITHUB.com:Acme/Payouts.git", "ssh://me@github.com:22/acme/payouts/"]
)
def test_a_listed_repository_is_known_in_every_spelling(
    remote: str, laptop: Laptop, office: Office, repo: Repo
):
    repo.git("remote", "set-url", "origin", remote)
    repo.write("new.py", "x = 1\n")

    begin(laptop, repo.folder)
    edit(laptop, repo.folder, "README.md")

    assert list_presence(office)[0] == (REPO, ["new.py"])
    assert list_presence(office)[-1] == (REPO, ["README.md", "new.py"])
    assert laptop.run(*PUBLISH, "--repo", "acme/payouts", cwd=repo.folder).code == 0


# --- where a session is ---------------------------------------------------------------------------


def test_a_session_inside_of_another_repository_is_not_told_of(
    laptop: Laptop, office: Office, repo: Repo
):
    inner = nest(repo, "hidden", "https://github.com/hidden/client.git")
    inner.write("deep/hidden.py", "x = 1\n")
    enrol(laptop, inner.folder)

    begin(laptop, inner.folder / "deep")
    edit(laptop, inner.folder / "deep", "hidden.py")
    edit(laptop, inner.folder / "deep", repo.folder / "README.md")
    end(laptop, inner.folder / "deep")

    assert office.proxy.requests == []


def test_a_listed_repository_inside_of_a_listed_one_is_shown_under_its_own_name(
    laptop: Laptop, office: Office, repo: Repo
):
    settings = json.loads((laptop.data / "settings.json").read_text())
    settings["remotes"].append(SECOND_REPO)
    (laptop.data / "settings.json").write_text(json.dumps(settings))
    inner = nest(repo, "second", f"https://{SECOND_REPO}.git")
    enrol(laptop, inner.folder)
    inner.write("inside.py", "x = 1\n")
    repo.write("outside.py", "x = 1\n")

    begin(laptop, repo.folder)
    edit(laptop, repo.folder, inner.folder / "inside.py")
    edit(laptop, inner.folder, "inside.py")  # the session goes on there
    edit(laptop, repo.folder, "outside.py")

    assert list_presence(office) == [
        (REPO, ["outside.py"]),
        (SECOND_REPO, ["inside.py"]),
        (REPO, ["outside.py"]),
    ]


def test_a_session_that_goes_on_in_another_repository_shows_nothing_of_it_and_is_ended(
    laptop: Laptop, office: Office, repo: Repo
):
    hidden = laptop.make_repo("hidden", OTHER_REPO)
    enrol(laptop, hidden.folder)
    hidden.write("hidden.py", "x = 1\n")

    begin(laptop, repo.folder)
    edit(laptop, hidden.folder, "hidden.py")
    edit(laptop, repo.folder, hidden.folder / "hidden.py")
    end(laptop, hidden.folder)

    assert b"hidden" not in office.proxy.sent
    assert office.proxy.list_lines()[-1].startswith("DELETE /api/team/presence/")


def test_links_and_linked_working_trees_lead_to_their_repository(
    laptop: Laptop, office: Office, repo: Repo
):
    link = laptop.home / "hidden-link"
    link.symlink_to(repo.folder)
    tree = repo.folder / ".trees" / "hidden-tree"
    repo.git("worktree", "add", "--quiet", str(tree))
    enrol(laptop, tree)
    Repo(tree, begin=False).write("of-the-tree.py", "x = 1\n")
    (repo.folder / "alias.py").symlink_to("src/retry.py")

    begin(laptop, link)
    edit(laptop, link, link / "alias.py")
    edit(laptop, link, tree / "of-the-tree.py")
    edit(laptop, tree, "of-the-tree.py")

    assert list_presence(office)[:2] == [
        (REPO, ["alias.py"]),
        (REPO, ["src/retry.py", "alias.py"]),
    ]
    assert "of-the-tree.py" in list_presence(office)[-1][1]
    assert len(list_presence(office)) == 3
    assert b"hidden-link" not in office.proxy.sent
    assert b".trees" not in office.proxy.sent


# --- names and numbers ----------------------------------------------------------------------------


def test_names_that_are_secrets_or_cannot_be_shown_stay_here(
    laptop: Laptop, office: Office, repo: Repo
):
    token = "ghp_" + "a1B2" * 9
    for name in (f"{token}.txt", "hidden\nnew.py", "hidden\x1b[2J.py"):
        repo.write(name, "x = 1\n")
    repo.write("new.py", "x = 1\n")

    begin(laptop, repo.folder)
    for name in (f"{token}.txt", "hidden\nnew.py", "hidden\x1b[2J.py"):
        edit(laptop, repo.folder, repo.folder / name)
    end(laptop, repo.folder)

    assert token.encode() not in office.proxy.sent
    assert b"hidden" not in office.proxy.sent
    assert list_presence(office)[-1] == (REPO, ["new.py"])


def test_of_many_changed_files_and_of_a_moved_one_the_newest_are_shown(
    laptop: Laptop, office: Office, repo: Repo
):
    for number in range(2_000):
        repo.write(f"data/{number}.txt", "1\n")
    repo.commit("data")
    for number in range(2_000):
        repo.write(f"data/{number}.txt", "2\n")
    repo.git("mv", "README.md", "MOVED.md")
    (repo.folder / "MOVED.md").write_text("moved\n")

    begin(laptop, repo.folder)
    edit(laptop, repo.folder, "data/7.txt")

    first, last = list_presence(office)[0][1], list_presence(office)[-1][1]
    assert (first[0], len(first)) == ("MOVED.md", 50)
    assert (last[0], len(last)) == ("data/7.txt", 50)


def test_in_a_sparse_checkout_only_what_is_changed_is_shown(
    laptop: Laptop, office: Office, repo: Repo
):
    repo.git("sparse-checkout", "set", "--cone", "docs")
    repo.write("docs/new.md", "x\n")

    begin(laptop, repo.folder)
    end(laptop, repo.folder)

    assert {tuple(paths) for _, paths in list_presence(office)} == {("docs/new.md",)}
