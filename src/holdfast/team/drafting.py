"""What code drafts of a publication, from facts that it was given. Pure.

A publication leaves this machine, so a draft has names and short statements only: no prompts, no
code, no commands, no paths of this machine, no secrets. A fact that has any of these is left out
whole, and the draft says so: a person who misses it can still say it in their own words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import islice

from holdfast.errors import HoldfastError
from holdfast.ground.frozen import dataclass, replace
from holdfast.ground.patterns import compile_later
from holdfast.ground.redaction import find_secrets
from holdfast.ground.text import UNSEEN, cut, plural
from holdfast.team.model import Publication
from holdfast.team.path_rules import find_name_objection
from holdfast.team.publishing_rules import check_publication

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")

READ_CHARS = 2_000  # of a text, for what is in the part of it that is shown
TITLE_CHARS, SUMMARY_CHARS, ENTRY_CHARS = 200, 4_000, 500
MOST_FILES, MOST_ENTRIES, MOST_TASK_IDS = 30, 20, 20
PATHS_LOOKED_AT = 300
SUBJECTS, SUBJECT_CHARS = 5, 120
DECISIONS, DECISION_CHARS = 4, 240
TESTS, TEST_CHARS = 5, 120
SHARED_WORDS = 8  # in a row with a request; fewer are the same by chance
MAIN_BRANCHES = ("main", "master", "trunk", "develop")
DECIDED = (("accepted", "Accepted"), ("rejected", "Rejected"), ("open", "Open"))
NO_TITLE = "Nothing here names the work: a title has to be given."

_MASKED = "[REDACTED:"
_TICKET = compile_later(
    r"(?<![A-Za-z0-9-])([A-Z][A-Z0-9]{1,9}-[0-9]{1,7})(?![A-Za-z0-9])"
    r"|(?<![\w&/])(#[0-9]{1,7})(?!\w)"
)
# They look like tickets, and are standards.
_STANDARDS = ("AES", "CVE", "CWE", "HTTP", "ISO", "PEP", "RFC", "SHA", "TLS", "UTF")
_LOCAL_PATH = compile_later(
    r"(?:^|[\s\"'`(=:,\[])(?:~[\w.-]*/|[A-Za-z]:\\|file:/|/(?:Users|Volumes|data|etc|home|mnt|opt"
    r"|dev|private|proc|root|srv|tmp|usr|var|work|workspaces?)/)"
)
_CODE = compile_later(
    r"```|[;{]\s*$|\)\s*(?:\{|=>)|^(?:@@|\+\+\+|---) "
    r"|\b(?:def|fn|func|function)\s+\w+\s*[(<]|^\s*class\s+\w+\s*[(:{]"
    r"|\b(?:const|let|var)\s+\w+\s*=|\bfrom\s+\S+\s+import\s+\S"
)
# Some programs are called like English verbs: of those only a line with options is a command.
_COMMAND = compile_later(
    r"^\s*[$>] \S|&&|\|\||\$\(|\s\|\s|\s2>|\s>{1,2}[\w&/]"
    r"|\b(?:bash|cargo|curl|docker|git|gradle|kubectl|mvn|mypy|npm|npx|pip|pnpm|poetry|psql|pytest"
    r"|python3?|ruff|sh|ssh|uv|wget|yarn)\s+(?:\w+\s+)?(?:--?[A-Za-z]|[\w.-]*[/:][\w/]|\w+\.\w+)"
    r"|\b(?:go|make|node)\s+(?:\w+\s+)?--?[A-Za-z]"
)
_FAILED_TEST = compile_later(
    r"(?m)(?:^|\s)(?:FAILED|ERROR) (\S+::\S+)"
    r"|--- FAIL: (\S+)"
    r"|^test (\S+) \.\.\. FAILED"
    r"|^(?:FAIL|ERROR): (\w+) \("
    r"|^\s*● (.+)"
)
_WORD = compile_later(r"\w+")
_BETWEEN = compile_later(r"[_\s-]+")


@dataclass(frozen=True)
class Given:
    """What the person has said; what is None is drafted."""

    title: str | None = None
    summary: str | None = None
    files_touched: Sequence[str] | None = None
    next_actions: Sequence[str] | None = None
    blockers: Sequence[str] | None = None
    task_ids: Sequence[str] | None = None
    repo: str | None = None
    branch: str | None = None
    ttl_hours: int | None = None


@dataclass(frozen=True)
class BranchFacts:
    """A checkout, as git describes it. `name` is None where no branch is checked out."""

    repo: str | None = None
    folder: str = ""
    name: str | None = None
    base: str | None = None
    has_commit: bool = False
    subjects: Sequence[str] = ()  # of its own commits, the newest first
    has_more: bool = False
    own_subject: str = ""  # of the person's newest commit, where the branch has none
    uncommitted: int = 0
    has_more_uncommitted: bool = False
    files: Sequence[str] = ()  # that were changed, the newest first

    @property
    def has_more_files(self) -> bool:
        return self.has_more or self.has_more_uncommitted


@dataclass(frozen=True)
class Private:
    """What a text is compared with, so that none of it is published."""

    requests: Sequence[str] = ()
    places: Sequence[str] = ()  # folders of this machine

    @cached_property
    def prompts(self) -> list[str]:
        """The words of each request, once for all texts."""
        return [_join_words(_list_words(request)) for request in self.requests]


NOTHING_PRIVATE = Private()


@dataclass(frozen=True)
class FailedRun:
    """Of the checks that were run last; `is_test` where it was one of tests."""

    tests: Sequence[str] = ()
    is_test: bool = True


@dataclass(frozen=True)
class WorkFacts:
    """What sessions and notes know."""

    doing: str = ""
    next_actions: Sequence[str] = ()
    blockers: Sequence[str] = ()
    decisions: Sequence[tuple[str, str]] = ()  # status, text
    failed: FailedRun | None = None
    has_passed: bool = False  # the last check
    changed_since: int = 0  # files, after that check
    private: Private = NOTHING_PRIVATE


@dataclass(frozen=True)
class Draft:
    """What would be published; an empty title has to be given. `notes` are for its owner only."""

    publication: Publication
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Kept:
    """Of some texts those that may be published, and what is said about the others."""

    texts: tuple[str, ...]
    note: str = ""


NOTHING_GIVEN = Given()


def make_draft(
    branch: BranchFacts,
    work: WorkFacts,
    given: Given = NOTHING_GIVEN,
    session_id: str | None = None,
) -> Draft:
    """Every part that was given stays as it is."""
    branch, nameless = _leave_out_names(branch)
    subjects = keep("commit subject", branch.subjects, work.private, is_shared=True, most=SUBJECTS)
    actions = keep("next action", work.next_actions, work.private)
    actions = keep_together("next action", "next_actions", actions)
    blockers = keep("blocker", work.blockers, work.private)
    blockers = keep_together("blocker", "blockers", blockers)
    files = keep_together(
        "file", "files_touched", keep_paths(branch.files, has_more=branch.has_more_files)
    )
    tasks = keep_together("task", "task_ids", Kept(tuple(find_task_ids(branch))))
    summary, said = make_summary(branch, work, subjects.texts)
    title = _choose(given.title, make_title(branch, subjects.texts, work.private))
    notes = [
        "" if title else NO_TITLE,
        *nameless,
        *(said if given.summary is None else ()),
        subjects.note if given.summary is None else "",
        actions.note if given.next_actions is None else "",
        blockers.note if given.blockers is None else "",
        files.note if given.files_touched is None else "",
        tasks.note if given.task_ids is None else "",
    ]
    publication = Publication(
        title=title,
        summary=_choose(given.summary, summary),
        files_touched=tuple(_choose(given.files_touched, files.texts)),
        next_actions=tuple(_choose(given.next_actions, actions.texts)),
        blockers=tuple(_choose(given.blockers, blockers.texts)),
        task_ids=tuple(_choose(given.task_ids, tasks.texts)),
        repo=_choose(given.repo, branch.repo),
        branch=_choose(given.branch, branch.name),
        session_id=session_id,
        ttl_hours=_choose(given.ttl_hours, Publication.ttl_hours),
    )
    return Draft(publication, tuple(note for note in notes if note))


def _choose(given: T | None, drafted: T) -> T:
    return drafted if given is None else given


# --- title and tasks ------------------------------------------------------------------------------


def make_title(
    branch: BranchFacts, subjects: Sequence[str], private: Private = NOTHING_PRIVATE
) -> str:
    """From the branch, else from the newest commit of the person, else after the repository."""
    is_main = branch.name is None or branch.name in (*MAIN_BRANCHES, branch.base)
    candidates = [
        "" if is_main else name_branch(branch.name or ""),
        next(iter(subjects), branch.own_subject),
        f"work on {branch.folder}" if branch.folder else "",
    ]
    titles = [_clean(text) for text in candidates]
    fit = [text for text in titles if text and not find_objection(text, private, is_shared=True)]
    return cut(next(iter(fit), ""), TITLE_CHARS)


def name_branch(name: str) -> str:
    """`feat/webhook-retry` → `webhook retry`; a ticket keeps its dash, a mere number its folder."""
    last = name.rpartition("/")[2]
    if not any(character.isalpha() for character in last):
        last = name.replace("/", " ")
    tickets = _TICKET.split(last)
    return "".join(
        part if index % 3 else _BETWEEN.sub(" ", part) for index, part in enumerate(tickets) if part
    ).strip()


def find_task_ids(branch: BranchFacts) -> list[str]:
    """Tickets that the branch and its commits name, in that order."""
    found: dict[str, None] = {}
    for text in (branch.name or "", *branch.subjects):
        for match in _TICKET.finditer(text):
            ticket = match[0]
            if ticket.partition("-")[0] not in _STANDARDS:
                found[ticket] = None
    return list(found)[:MOST_TASK_IDS]


# --- summary --------------------------------------------------------------------------------------


def make_summary(
    branch: BranchFacts, work: WorkFacts, subjects: Sequence[str]
) -> tuple[str, list[str]]:
    """And what was left out of it."""
    doing = keep("current task", [work.doing] if work.doing else [], work.private)
    decided, notes = _describe_decisions(work)
    sentences = [
        _describe_branch(branch, subjects),
        _count_uncommitted(branch),
        *(f"Working on: {text}." for text in doing.texts),
        _describe_checks(work),
        *decided,
    ]
    said = [sentence for sentence in sentences if sentence]
    reasons = []
    while said and (refusal := _find_refusal(summary=_join(said))):
        reasons.append(refusal)
        said.pop()
    left_out = _describe_left_out("summary sentence", reasons)
    return _join(said) or "Nothing is noted yet.", [doing.note, *notes, left_out]


def _join(sentences: Sequence[str]) -> str:
    return cut(" ".join(sentences), SUMMARY_CHARS)


def _count_uncommitted(branch: BranchFacts) -> str:
    if not branch.uncommitted:
        return ""
    more = "More than " if branch.has_more_uncommitted else ""
    return f"{more}{plural(branch.uncommitted, 'file')} uncommitted."


def _describe_branch(branch: BranchFacts, subjects: Sequence[str]) -> str:
    where = f"On {_clean(branch.name)}" if branch.name else "On no branch"
    if branch.repo is None and not branch.has_commit and not branch.name:
        return ""
    if not branch.has_commit:
        return f"{where}, no commit yet."
    count = len(branch.subjects)
    if not count:
        return f"{where}."
    base = "what was pushed" if branch.base == branch.name else _clean(branch.base or "")
    number = f"more than {plural(count, 'commit')}" if branch.has_more else plural(count, "commit")
    shown = [cut(subject, SUBJECT_CHARS).rstrip(".") for subject in subjects[:SUBJECTS]]
    more = [f"{count - len(shown):,} more"] if count > len(shown) else []
    return f"{where}, {number} ahead of {base}: {'; '.join([*shown, *more])}."


def _describe_checks(work: WorkFacts) -> str:
    """Names of tests only: neither how they were run nor what they printed."""
    since = f"; {plural(work.changed_since, 'file')} changed since" if work.changed_since else ""
    if work.failed is None:
        return f"The last check passed{since}." if work.has_passed else ""
    what = "test run" if work.failed.is_test else "check"
    tests = [name for name in work.failed.tests if not find_objection(name, work.private)][:TESTS]
    named = f": {', '.join(tests)}" if tests else ""
    return f"The last {what} failed{named}{since}."


def _describe_decisions(work: WorkFacts) -> tuple[list[str], list[str]]:
    sentences, notes = [], []
    for status, word in DECIDED:
        texts = [text for of, text in work.decisions if of == status]
        kept = keep(f"{status} decision", texts, work.private, most=DECISIONS)
        notes.append(kept.note)
        shown = [cut(text, DECISION_CHARS).rstrip(".") for text in kept.texts]
        if shown:
            sentences.append(f"{word}: {'; '.join(shown)}.")
    return sentences, notes


def find_failed_tests(output: Iterable[str], words: Iterable[str]) -> tuple[str, ...]:
    """Their names, from what a run printed; else the files that it was given.

    What stands in brackets behind a name is a value that was tried.
    """
    matches = _FAILED_TEST.finditer("\n".join(output))
    names = [next(filter(None, match.groups())) for match in matches]
    short = [cut(_clean(name.partition("[")[0]), TEST_CHARS) for name in names]
    return tuple(dict.fromkeys(short or words))[:TESTS]


# --- what may be published ------------------------------------------------------------------------


def keep(
    name: str,
    texts: Iterable[str],
    private: Private = NOTHING_PRIVATE,
    *,
    is_shared: bool = False,
    most: int = MOST_ENTRIES,
) -> Kept:
    """The first ones. `is_shared`: they are in commits, which a team reads anyway."""
    kept: dict[str, None] = {}
    reasons: list[str] = []
    for whole in texts:
        text = whole[:READ_CHARS]
        short = cut(_clean(text), ENTRY_CHARS)
        objection = find_objection(text, private, is_shared=is_shared) if short else None
        if objection:
            reasons.append(objection)
        elif short:
            kept[short] = None
        if len(kept) == most:
            break
    return Kept(tuple(kept), _describe_left_out(name, reasons))


def keep_paths(paths: Sequence[str], *, has_more: bool = False) -> Kept:
    """Those of a longer list that are not named were not looked at, and are counted only; there
    may be more than are known.
    """
    kept, reasons = [], []
    for path in islice(paths, PATHS_LOOKED_AT):
        objection = _find_path_objection(path)
        if objection:
            reasons.append(objection)
        else:
            kept.append(path)
        if len(kept) == MOST_FILES:
            break
    more = len(paths) - len(kept) - len(reasons)
    beyond = "more than " if has_more else ""
    not_named = f"{beyond}{more:,} more files not named" if more else ""
    notes = (_describe_left_out("file", reasons), not_named)
    return Kept(tuple(kept), "; ".join(note for note in notes if note))


def keep_together(name: str, field: str, kept: Kept) -> Kept:
    """Those that pass as one list: what is harmless alone may read as code beside the others."""
    if not kept.texts or not _find_refusal(**{field: kept.texts}):
        return kept
    texts: list[str] = []
    reasons = []
    for text in kept.texts:
        refusal = _find_refusal(**{field: [*texts, text]})
        if refusal:
            reasons.append(f"{refusal} beside the others")
        else:
            texts.append(text)
    notes = (kept.note, _describe_left_out(name, reasons))
    return Kept(tuple(texts), "; ".join(note for note in notes if note))


def _find_path_objection(path: str) -> str | None:
    return find_name_objection(path) or _find_refusal(files_touched=[path])


def _leave_out_names(branch: BranchFacts) -> tuple[BranchFacts, list[str]]:
    """Without a name of the repository or the branch that may not be published."""
    repo, name = branch.repo or "", branch.name or ""
    objections = {
        "repository": "a secret" if find_secrets(repo) else _find_refusal(repo=repo),
        "branch": "a secret" if find_secrets(name) else _find_refusal(branch=name),
    }
    left_out = {what: objection for what, objection in objections.items() if objection}
    kept = replace(
        branch,
        repo=None if "repository" in left_out else branch.repo,
        name=None if "branch" in left_out else branch.name,
    )
    return kept, [f"The name of the {what} was left out: {why}" for what, why in left_out.items()]


def _describe_left_out(name: str, reasons: Sequence[str]) -> str:
    if not reasons:
        return ""
    counted = [reason if n == 1 else f"{n} × {reason}" for reason, n in Counter(reasons).items()]
    return f"{plural(len(reasons), name)} left out: {', '.join(counted)}"


def find_objection(
    text: str, private: Private = NOTHING_PRIVATE, *, is_shared: bool = False
) -> str | None:
    """Why a text is not published; None where nothing is against it."""
    if _MASKED in text or find_secrets(text):
        return "a secret"
    if _LOCAL_PATH.search(text):
        return "a path of this machine"
    if any(_names_place(text, place) for place in private.places):
        return "a path of this machine"
    if _CODE.search(text):
        return "code"
    if not is_shared and _COMMAND.search(text):
        return "a command"
    words = _list_words(text)
    if not is_shared and any(_repeats(words, prompt) for prompt in private.prompts):
        return "words of a prompt"
    return _find_refusal(next_actions=[cut(_clean(text), ENTRY_CHARS)])


def _find_refusal(**part: object) -> str | None:
    """What the rules say that a publication has to pass in the end."""
    try:
        check_publication(**{"title": "draft", "summary": "draft", **part})
    except HoldfastError as error:
        return getattr(error, "reason", None) or "not what may be published"
    return None


def _names_place(text: str, place: str) -> bool:
    """Where it begins: not inside of another path."""
    return any(not before[-1:].isalnum() for before in text.split(place)[:-1])


def _repeats(words: list[str], prompt: str) -> bool:
    """Whether a text is a whole prompt, or has so many words in a row with it."""
    if words and _join_words(words) == prompt:
        return True
    starts = range(len(words) - SHARED_WORDS + 1)
    return any(_join_words(words[at : at + SHARED_WORDS]) in prompt for at in starts)


def _join_words(words: list[str]) -> str:
    """With a space around each, so that a part of a word is none."""
    return f" {' '.join(words)} "


def _list_words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _clean(text: str) -> str:
    """On one line, without what a reader would not see."""
    return " ".join(UNSEEN.sub("", text).split())
