"""What a caller calls a repository and a path, and what they are called in the exchange."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from holdfast.ground import ids
from holdfast.team.freshness import describe_freshness
from holdfast.team.model import Basis, Person, PublishedContext
from holdfast.usecases import exchange_place
from holdfast.usecases.exchange_place import (
    MOST_COMPARED,
    Place,
    compare_with,
    find_here,
    find_place,
    find_typed,
    name_as_here,
)
from tests.ground.repositories import Work, make_filled

ORIGIN, REPO = "git@github.com:acme/Payouts.git", "github.com/acme/Payouts"
APP = "src/app.py"


@pytest.fixture
def work(tmp_path: Path) -> Work:
    filled = make_filled(tmp_path / "work")
    filled.git("remote", "add", "origin", ORIGIN)
    return filled


def place_of(work: Work) -> Place:
    found = find_place(str(work.root))
    assert found
    return found


def make_context(repo: str, minutes: int = 0) -> PublishedContext:
    now = datetime(2026, 11, 16, 12, minutes, tzinfo=UTC)
    return PublishedContext(
        id=ids.new_id(),
        developer=Person(ids.new_id(), "dev-b", "dev-b"),
        title="t",
        summary="s",
        files_touched=(APP,),
        next_actions=(),
        blockers=(),
        task_ids=(),
        repo=repo,
        branch=None,
        session_id=None,
        basis=Basis(None, {APP: "a" * 40}),
        published_at=now,
        expires_at=now + timedelta(hours=24),
        superseded_by=None,
        revoked_at=None,
    )


# --- the repository -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "named", [REPO, ORIGIN, "github.com/acme/payouts", "acme/payouts", "Payouts", "payouts.git"]
)
def test_who_works_in_a_repository_means_it_by_each_of_its_names(work: Work, named: str):
    assert place_of(work).is_meant_by(named)
    assert name_as_here(str(work.root), {"repo": named}) == {"repo": REPO}


@pytest.mark.parametrize(
    "named", ["work", "other", "acme", "other/payouts", "gitlab.com/acme/payouts"]
)
def test_another_repository_keeps_the_name_that_it_was_given(work: Work, named: str):
    assert not place_of(work).is_meant_by(named)
    assert name_as_here(str(work.root), {"repo": named}) == {}


def test_a_repository_without_a_remote_is_meant_by_its_folder(tmp_path: Path):
    work = make_filled(tmp_path / "payouts")

    assert place_of(work).is_meant_by("payouts")
    assert place_of(work).is_meant_by(work.git("rev-list", "--max-parents=0", "HEAD"))
    assert not place_of(work).is_meant_by("other")


def test_what_another_says_by_the_last_part_alone_may_be_another_repository(work: Work):
    assert not place_of(work).is_of("payouts")


def test_contexts_of_this_repository_are_known_by_its_name(work: Work):
    other, first, second = make_context("acme/other"), make_context(REPO), make_context(REPO)

    is_here, is_nowhere = find_here(str(work.root)), find_here(None)
    assert [is_here(each) for each in (other, first, second)] == [False, True, True]
    assert not any(is_nowhere(each) for each in (other, first, second))


def test_contexts_beyond_those_that_are_compared_are_called_not_compared(work: Work):
    contexts = [make_context(REPO) for _ in range(MOST_COMPARED + 11)]

    found = compare_with(str(work.root), contexts)

    said = [describe_freshness(found[context.id]) for context in contexts]
    assert said == ["1 of 1 differs here"] * MOST_COMPARED + ["not compared"] * 11


# --- paths ----------------------------------------------------------------------------------------


@pytest.fixture
def deep(work: Work) -> Path:
    for path in ("c.txt", "src/a.py", "sub/deep/own.txt", "sub/deep/both.txt", "both.txt"):
        work.write(path, "1\n")
    return work.root / "sub/deep"


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        ("own.txt", "sub/deep/own.txt"),
        ("both.txt", "sub/deep/both.txt"),
        ("new.txt", "sub/deep/new.txt"),
        ("./own.txt", "sub/deep/own.txt"),
        ("./c.txt", "sub/deep/c.txt"),
        ("../../src/a.py", "src/a.py"),
        ("../../src/new.py", "src/new.py"),
        ("../..//src/a.py", "../..//src/a.py"),
        ("..", "sub"),
        (".", "sub/deep"),
        ("./", "sub/deep"),
        ("own.txt/", "sub/deep/own.txt"),
        ("*.txt", "sub/deep/*.txt"),
        ("**/*.py", "sub/deep/**/*.py"),
        ("new/**", "sub/deep/new/**"),
        ("../*.txt", "sub/*.txt"),
        ("own.txt#Store.open", "sub/deep/own.txt#Store.open"),
        ("../../src/a.py#name", "src/a.py#name"),
        ("own.txt:12", "sub/deep/own.txt"),
        # of the repository, as people paste them
        ("c.txt", "c.txt"),
        ("c.txt:12-20", "c.txt"),
        ("src/a.py#name", "src/a.py#name"),
        ("src/**", "src/**"),
        ("sub/deep/own.txt", "sub/deep/own.txt"),
    ],
)
def test_a_path_is_read_from_the_folder_that_it_is_typed_in(
    work: Work, deep: Path, typed: str, named: str
):
    assert find_typed(place_of(work), str(deep), typed) == named


@pytest.mark.parametrize(
    "typed",
    [
        *("../../../x.py", "../../..", "../..", "a/../b", "/etc/passwd", "~/x", "$HOME/x", "C:\\x"),
        *("", ".git/config", "https://host/x", "a\\b"),
    ],
)
def test_what_is_no_path_of_the_repository_is_left_to_the_rules(work: Work, deep: Path, typed: str):
    assert find_typed(place_of(work), str(deep), typed) == typed


@pytest.mark.parametrize("typed", ["c.txt", "src/*.py", "src/a.py#name", ".", "new.txt"])
def test_at_the_root_a_path_is_what_it_is(work: Work, deep: Path, typed: str):
    assert find_typed(place_of(work), str(work.root), typed) == typed


def test_through_a_link_it_is_the_folder_that_the_link_leads_to(
    work: Work, deep: Path, tmp_path: Path
):
    (tmp_path / "link").symlink_to(deep)

    assert find_typed(place_of(work), str(tmp_path / "link"), "own.txt") == "sub/deep/own.txt"


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("src/a.py:12", "src/a.py"),
        ("src/a.py:12-20", "src/a.py"),
        ("src/a.py:12:5", "src/a.py"),
        ("src/a.py:L12-L20", "src/a.py"),
        ("Makefile:3", "Makefile"),
        ("src/a.py#name:12", "src/a.py#name:12"),
        ("src/a.py:name", "src/a.py:name"),
        (":12", ":12"),
        ("log/12:30", "log/12:30"),
        ("log/12:31", "log/12"),
    ],
)
def test_lines_behind_a_path_are_left_out_unless_a_file_is_called_so(
    work: Work, given: str, named: str
):
    work.write("log/12:30", "1\n")
    fields = {"repo": REPO, "paths": [given], "files_touched": (given,)}

    found = name_as_here(str(work.root), fields)

    assert (found["paths"], found["files_touched"]) == ([named], [named])


def test_without_a_checkout_the_lines_are_left_out_all_the_same():
    assert name_as_here(None, {"paths": ["log/12:30"]}) == {"paths": ["log/12"]}


@pytest.mark.parametrize("paths", [None, "a:1", [1], ["a:1", None], {"a:1": 1}])
def test_what_is_no_list_of_texts_is_left_to_the_rules(paths: object):
    assert exchange_place.name_paths(None, {"paths": paths}) == {}
