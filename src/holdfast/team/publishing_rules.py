"""What a developer may publish: a title, words, names of files and tasks, all of it checked.

Publishing is a way out for what an agent has read. So every text is looked at, also the name of a
branch, and a text with a secret is refused rather than masked: what was masked would be published
with a hole, and the agent would not know that it holds a secret.
"""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.ground import ids
from holdfast.ground.frozen import dataclass
from holdfast.ground.git_refs import find_forbidden_part
from holdfast.ground.git_remote import normalise_remote
from holdfast.ground.patterns import compile_later
from holdfast.team.errors import InvalidFieldError
from holdfast.team.fields import (
    check_line,
    check_lines,
    check_list,
    check_name,
    check_number,
    check_optional_name,
)
from holdfast.team.freshness import name_repo
from holdfast.team.model import Basis, Publication
from holdfast.team.path_rules import PATH_CHARS, check_path

TITLE_CHARS = 200
SUMMARY_CHARS = 4_000
MOST_FILES = 100
MOST_ACTIONS = 20
ACTION_CHARS = 500
MOST_TASKS = 20
TASK_CHARS = 100
REPO_CHARS = 300
BRANCH_CHARS = 250
HEADS = "refs/heads/"
LEAST_TTL_HOURS, MOST_TTL_HOURS, TTL_HOURS = 1, 168, 24

_LOG_IN = compile_later(r"(?:[a-z][a-z0-9+.-]{0,20}://)?([^/\s]*)@", 2)
_OBJECT_ID = compile_later(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True)
class Place:
    repo: str | None
    branch: str | None
    session_id: str | None


def check_publication(
    title: object,
    summary: object,
    files_touched: object = None,
    next_actions: object = None,
    blockers: object = None,
    task_ids: object = None,
    repo: object = None,
    branch: object = None,
    session_id: object = None,
    ttl_hours: object = None,
    basis: object = None,
) -> Publication:
    """What is to be published, or the first reason against it."""
    place = check_place(repo, branch, session_id)
    files = check_files(files_touched)
    return Publication(
        title=check_line("title", title, TITLE_CHARS),
        summary=check_lines("summary", summary, SUMMARY_CHARS),
        files_touched=files,
        next_actions=check_list(
            "next_actions", next_actions, MOST_ACTIONS, ACTION_CHARS, check_line
        ),
        blockers=check_list("blockers", blockers, MOST_ACTIONS, ACTION_CHARS, check_line),
        task_ids=check_list("task_ids", task_ids, MOST_TASKS, TASK_CHARS, check_name),
        repo=place.repo,
        branch=place.branch,
        session_id=place.session_id,
        ttl_hours=check_ttl_hours(ttl_hours),
        basis=check_basis(basis, files),
    )


def check_place(repo: object, branch: object, session_id: object) -> Place:
    """Where a reservation or a handoff belongs to; each part may be left out."""
    return Place(
        repo=check_repo(repo),
        branch=check_branch(branch),
        session_id=check_session_id(session_id),
    )


def check_files(files: object) -> tuple[str, ...]:
    return check_list("files_touched", files, MOST_FILES, PATH_CHARS, check_path)


def check_ttl_hours(value: object) -> int:
    return check_number("ttl_hours", value, LEAST_TTL_HOURS, MOST_TTL_HOURS, TTL_HOURS)


def check_branch(value: object) -> str | None:
    """Its short name, with its case, as git has it: others read it beside our own words, so it is
    not a sentence.
    """
    given = check_optional_name("branch", value, BRANCH_CHARS)
    branch = (given or "").removeprefix(HEADS)
    part = find_forbidden_part(branch)
    if part:
        shown = "a space" if part == " " else f"`{part}`"
        raise InvalidFieldError("branch", f"contains {shown}, which git does not allow there")
    return branch or None


def check_repo(value: object) -> str | None:
    """A short name; an address becomes host and path, whichever way the repository was cloned.

    In lower case: hosts of repositories ignore it, and a developer has one context for each.
    """
    repo = check_optional_name("repo", value, REPO_CHARS)
    if repo is None:
        return None
    if " " in repo:
        raise InvalidFieldError("repo", "contains a space; name it such as acme/payouts")
    log_in = _LOG_IN.match(repo)
    if log_in and log_in[1] != "git":
        raise InvalidFieldError(
            "repo", "contains a log-in; name it by host and path, such as github.com/acme/payouts"
        )
    if log_in or "://" in repo:
        return _normalise_address(repo)
    if "\\" in repo or ".." in repo.split("/"):
        raise InvalidFieldError("repo", "is not a name such as acme/payouts")
    name = name_repo(repo)
    if not name:
        raise InvalidFieldError("repo", "is not a name such as acme/payouts")
    return name


def _normalise_address(repo: str) -> str:
    name = normalise_remote(repo)
    if name is None:
        raise InvalidFieldError("repo", "is an address that cannot be read as host and path")
    return name_repo(name)


def check_session_id(value: object) -> str | None:
    if value is None or value == "":
        return None
    session_id = ids.parse_id(value)
    if session_id is None:
        raise InvalidFieldError("session_id", "is not a UUID")
    return session_id


def check_basis(value: object, checked: tuple[str, ...] = ()) -> Basis | None:
    """Of the checkout: ids of git and paths, and nothing else.

    Most are of the files that were touched, and those were `checked` just now.
    """
    if value is None:
        return None
    given = value.to_dict() if isinstance(value, Basis) else value
    if not isinstance(given, Mapping) or not {"head", "files"}.issuperset(given):
        raise InvalidFieldError("basis", "is not an object of head and files")
    files = given.get("files") or {}
    if not isinstance(files, Mapping):
        raise InvalidFieldError("basis.files", "is not an object of paths and ids")
    paths = tuple(files)
    if paths != checked:  # in the same order: what is spread over entries depends on it
        paths = check_list("basis.files", paths, MOST_FILES, PATH_CHARS, check_path)
    hashes = [_check_object_id("basis.files", object_id) for object_id in files.values()]
    if len(paths) != len(hashes):
        raise InvalidFieldError("basis.files", "names a file twice")
    head = _check_object_id("basis.head", given.get("head"))
    return Basis(head=head, files=dict(zip(paths, hashes, strict=True)))


def _check_object_id(field: str, value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not _OBJECT_ID.fullmatch(value):
        raise InvalidFieldError(field, "is not an id of git in full")
    return value
