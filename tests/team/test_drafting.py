"""Drafts of publications: what they are called, what they say, and what never gets into them."""

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from holdfast.ground.frozen import replace
from holdfast.team.drafting import (
    NO_TITLE,
    BranchFacts,
    FailedRun,
    Given,
    Private,
    WorkFacts,
    find_failed_tests,
    find_objection,
    find_task_ids,
    keep,
    keep_paths,
    make_draft,
    name_branch,
)
from holdfast.team.model import Publication
from holdfast.team.publishing_rules import check_publication
from tests.team import forbidden_samples, honest_samples

KEY = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
BRANCH = BranchFacts(
    repo="github.com/acme/payouts",
    folder="payouts",
    name="feat/webhook-retry",
    base="main",
    has_commit=True,
    subjects=("Retry webhooks.", "Add a schedule"),
    uncommitted=2,
    files=("src/retry.py", "tests/test_retry.py"),
)
NOTHING = WorkFacts()


def draft_title(**changes: object) -> str:
    return make_draft(replace(BRANCH, **changes), NOTHING).publication.title


def draft_summary(work: WorkFacts = NOTHING, **changes: object) -> str:
    return make_draft(replace(BRANCH, **changes), work).publication.summary


# --- title and tasks ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("branch", "title"),
    [
        ("feat/webhook-retry", "webhook retry"),
        ("dev-a/feat/webhook_retry", "webhook retry"),
        ("PAY-123-webhook-retry", "PAY-123 webhook retry"),
        ("fix/12", "fix 12"),
        ("wörk/ünïcode-zweig", "ünïcode zweig"),
        ("retry", "retry"),
    ],
)
def test_a_branch_is_the_title_in_words(branch: str, title: str):
    assert name_branch(branch) == title
    assert draft_title(name=branch) == title


def test_on_the_main_branch_the_newest_commit_of_its_own_is_the_title():
    assert draft_title(name="main") == "Retry webhooks."


def test_without_one_it_is_the_newest_commit_of_the_person():
    assert draft_title(name="main", subjects=(), own_subject="Fix the clock") == "Fix the clock"
    assert draft_title(name=None, subjects=(), own_subject="Fix the clock") == "Fix the clock"


def test_with_no_commit_the_work_is_called_after_the_repository():
    assert draft_title(name="main", subjects=(), has_commit=False) == "work on payouts"


def test_a_commit_with_a_secret_is_no_title():
    title = draft_title(name="main", subjects=(f"Use {KEY}",), own_subject=f"Use {KEY}")

    assert title == "work on payouts"


def test_a_branch_with_a_secret_is_not_named():
    draft = make_draft(replace(BRANCH, name=f"feat/{KEY}", repo=KEY), NOTHING)

    assert KEY not in str(draft.publication)
    assert draft.publication.branch is draft.publication.repo is None
    assert draft.notes == (
        "The name of the repository was left out: a secret",
        "The name of the branch was left out: a secret",
    )


def test_without_a_repository_the_title_has_to_be_given():
    draft = make_draft(BranchFacts(), NOTHING)

    assert draft.publication.title == ""
    assert draft.notes == (NO_TITLE,)
    assert draft.publication.repo is draft.publication.branch is None
    assert make_draft(BranchFacts(), NOTHING, Given(title="mine")).notes == ()


def test_a_very_long_branch_is_cut_to_a_title():
    assert len(draft_title(name="feat/" + "long-" * 49)) <= 200


def test_tickets_are_found_in_the_branch_and_its_commits():
    facts = replace(BRANCH, name="PAY-12-retry", subjects=("Fix #7, UTF-8", "See PAY-12 and OPS-3"))

    assert find_task_ids(facts) == ["PAY-12", "#7", "OPS-3"]


def test_a_number_in_an_address_is_no_ticket():
    facts = replace(BRANCH, subjects=("See page/#7 and X-RAY-12b", "a&#39;s"))

    assert find_task_ids(facts) == []


# --- summary --------------------------------------------------------------------------------------


def test_the_summary_says_where_the_work_is():
    assert draft_summary() == (
        "On feat/webhook-retry, 2 commits ahead of main: Retry webhooks; Add a schedule."
        " 2 files uncommitted."
    )


def test_of_many_commits_the_newest_are_named():
    subjects = tuple(f"Step {number}" for number in range(1_200))

    summary = draft_summary(subjects=subjects, has_more=True, uncommitted=0)

    assert summary == (
        "On feat/webhook-retry, more than 1,200 commits ahead of main: Step 0; Step 1; Step 2;"
        " Step 3; Step 4; 1,195 more."
    )


def test_commits_on_the_main_branch_are_ahead_of_what_was_pushed():
    assert draft_summary(name="main", uncommitted=0).startswith(
        "On main, 2 commits ahead of what was pushed: "
    )


def test_without_a_commit_or_a_branch_it_says_so():
    assert draft_summary(has_commit=False, subjects=(), uncommitted=1) == (
        "On feat/webhook-retry, no commit yet. 1 file uncommitted."
    )
    assert draft_summary(name=None, subjects=(), uncommitted=0) == "On no branch."


def test_more_files_than_are_counted_are_not_called_a_number_of_files():
    summary = draft_summary(has_more_uncommitted=True, subjects=(), uncommitted=1_000)

    assert "More than 1,000 files uncommitted." in summary


def test_nothing_at_all_is_still_a_summary():
    assert make_draft(BranchFacts(), NOTHING).publication.summary == "Nothing is noted yet."


def test_a_failed_run_is_named_by_its_tests_and_not_by_its_command():
    failed = FailedRun(("tests/test_retry.py::test_waits", "/srv/payouts/t.py::test_x"))

    summary = draft_summary(WorkFacts(failed=failed, changed_since=1))

    assert "The last test run failed: tests/test_retry.py::test_waits; 1 file changed since." in (
        summary
    )
    assert "/srv" not in summary


def test_a_check_without_tests_has_no_name():
    assert "The last check failed." in draft_summary(WorkFacts(failed=FailedRun(is_test=False)))
    assert "The last check passed." in draft_summary(WorkFacts(has_passed=True))


def test_decisions_stand_by_their_status():
    decisions = [("rejected", "Redis queue"), ("accepted", "Back off by two."), ("open", "Jitter?")]

    summary = draft_summary(WorkFacts(doing="the retry schedule", decisions=decisions))

    assert "Working on: the retry schedule. " in summary
    assert summary.endswith("Accepted: Back off by two. Rejected: Redis queue. Open: Jitter?.")


def test_the_longest_facts_stay_within_the_limits():
    long = "word " * 2_000
    work = WorkFacts(
        doing=long,
        next_actions=[f"{number} {long}" for number in range(50)],
        decisions=[("accepted", f"{number} {long}") for number in range(50)],
        failed=FailedRun([long] * 50),
    )

    drafted = make_draft(replace(BRANCH, subjects=(long,) * 500), work).publication

    assert len(drafted.summary) <= 4_000
    assert len(drafted.next_actions) == 20
    assert all(len(action) <= 500 for action in drafted.next_actions)


# --- failed tests ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("FAILED tests/test_a.py::test_b[token-1] - assert 1", "tests/test_a.py::test_b"),
        ("ERROR tests/test_a.py::test_b", "tests/test_a.py::test_b"),
        ("--- FAIL: TestRetry (0.01s)", "TestRetry"),
        ("test retry::waits ... FAILED", "retry::waits"),
        ("FAIL: test_waits (tests.test_retry.Retry)", "test_waits"),
        ("  ● Retry › waits", "Retry › waits"),
    ],
)
def test_failed_tests_are_named_as_each_program_prints_them(line: str, name: str):
    assert find_failed_tests(["collected 3 items", line], ["tests/other.py"]) == (name,)


def test_where_no_name_was_printed_the_files_stand_for_the_tests():
    assert find_failed_tests(["boom"], ["tests/test_a.py"]) == ("tests/test_a.py",)


# --- what is left out -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "objection"),
    [
        (f"Put {KEY} into the settings", "a secret"),
        ("Use [REDACTED:github:0a1b2c3d] there", "a secret"),
        ("Look at /srv/payouts/x.py", "a path of this machine"),
        ("Copy ~/notes/plan.md", "a path of this machine"),
        ("Add `def retry(n):` there", "code"),
        ("```x = 1```", "code"),
        ("if (a) { go(); }", "code"),
        ("Run pytest -q tests/test_a.py", "a command"),
        ("$ ls", "a command"),
        ("git commit --amend", "a command"),
        ("curl https://example.org/x", "a command"),
        ("build && ship", "a command"),
    ],
)
def test_what_must_not_leave_the_machine_is_named(text: str, objection: str):
    assert find_objection(text) == objection


@pytest.mark.parametrize(
    "text",
    [
        "Add the route /api/contexts and its test",
        "Make the read/write path safe",
        "Go through src/retry.py again",
        "Port the python code to src/clock.py",
        "Import users: the nightly file (CSV)",
        "Keep latency > 5 s out of the alert",
        "Rename `RetryPolicy` and run pytest again",
        "Compare https://example.org/a with the docs",
        "Prüfe die Wörter",
    ],
)
def test_plain_sentences_are_kept(text: str):
    assert find_objection(text) is None


def test_words_of_a_prompt_are_left_out():
    prompt = "Please make the webhook client retry with a backoff, because customers complain."
    said = "Make the webhook client retry with a backoff, because customers complain"

    assert find_objection(said, Private([prompt])) == "words of a prompt"
    assert find_objection("Fix it", Private(["fix it!"])) == "words of a prompt"
    assert find_objection("Retry with a backoff", Private([prompt])) is None


def test_a_folder_of_this_machine_is_known_wherever_it_is():
    private = Private(places=["/x/payouts"])

    assert find_objection("Read /x/payouts/src", private, is_shared=True) == (
        "a path of this machine"
    )
    assert find_objection("Read src", private) is None
    assert find_objection("Read src/x/payouts", private) is None


def test_a_subject_of_a_commit_may_be_like_a_command_but_holds_no_secret():
    kept = keep("commit subject", ["Add git --force to docs", f"Use {KEY}"], is_shared=True)

    assert kept.texts == ("Add git --force to docs",)
    assert kept.note == "1 commit subject left out: a secret"


@pytest.mark.parametrize("around", ["{}", "see {} there", "a {}\n" + "word " * 400])
def test_a_secret_leaves_by_no_part_of_a_draft(around: str):
    text = around.format(KEY)
    branch = BranchFacts(
        repo="payouts",
        folder=text,
        name=text,
        base="main",
        has_commit=True,
        subjects=(text,),
        own_subject=text,
        files=(text, f"src/{KEY}.py"),
    )
    work = WorkFacts(
        doing=text,
        next_actions=(text,),
        blockers=(text,),
        decisions=[(status, text) for status in ("accepted", "rejected", "open")],
        failed=FailedRun((text,)),
    )

    draft = make_draft(branch, work)

    assert KEY not in str(draft)
    assert len(draft.notes) == 10


def test_what_is_left_out_is_counted_by_its_reason():
    kept = keep("next action", ["$ ls", "$ pwd", f"Use {KEY}", "Write\u202e the  docs\n", ""])

    assert kept.texts == ("Write the docs",)
    assert kept.note == "3 next actions left out: 2 × a command, a secret"


def test_paths_are_relative_printable_and_few():
    paths = ["/etc/x", "../x", "a/../b", "a//b", "~/x", "a\x1bb", "\udcff", "x" * 501, f"k/{KEY}"]
    good = [f"src/{number}.py" for number in range(40)]

    kept = keep_paths([*paths, *good])

    assert kept.texts == tuple(good[:30])
    assert kept.note.startswith("9 files left out: 5 × a path outside of the repository")


# --- any draft can be published -------------------------------------------------------------------

BUILD = ("FROM python:3.12 to 3.13", "RUN as non root", "COPY only src", "Write the docs")
TALK = ("Prompt: shorten it", "Response: cache it", "Write the docs")
LINES = sorted(
    {
        line
        for texts in (*forbidden_samples.FORBIDDEN.values(), honest_samples.HONEST)
        for text in texts
        for line in (text, *text.split("\n"))
    }
)
TEXTS = st.one_of(
    st.sampled_from([*BUILD, *TALK]),
    st.sampled_from(LINES),
    st.text(),
    st.lists(st.sampled_from(LINES), max_size=8).map(" ".join),
)
LISTS = st.lists(TEXTS, max_size=8)


@pytest.mark.parametrize(
    ("texts", "kept"), [(BUILD, (*BUILD[:2], BUILD[3])), (TALK, (TALK[0], TALK[2]))]
)
def test_what_reads_as_code_only_beside_the_others_is_left_out_and_counted(
    texts: tuple[str, ...], kept: tuple[str, ...]
):
    work = WorkFacts(next_actions=texts, blockers=texts)

    draft = make_draft(replace(BRANCH, files=texts), work)

    drafted = draft.publication
    assert drafted.next_actions == drafted.blockers == drafted.files_touched == kept
    assert [note.partition(" left out")[0] for note in draft.notes] == [
        "1 next action",
        "1 blocker",
        "1 file",
    ]
    assert all(note.endswith(" beside the others") for note in draft.notes)


def test_a_sentence_that_is_left_out_of_a_summary_is_counted():
    text = ">       assert a == b\nE       assert 1 == 2\nE        +  where 1 = f()"

    draft = make_draft(replace(BRANCH, subjects=(text,)), WorkFacts(doing=text))

    assert "Working on" not in draft.publication.summary
    assert draft.notes == ("1 summary sentence left out: code",)


def check(publication: Publication) -> Publication:
    return check_publication(**publication.__dict__)


@drawn(
    names=st.tuples(TEXTS, TEXTS, TEXTS, TEXTS, TEXTS),
    subjects=LISTS,
    files=LISTS,
    steps=LISTS,
    decisions=st.lists(st.tuples(st.sampled_from(["accepted", "rejected", "open"]), TEXTS)),
    tests=LISTS,
)
def test_any_draft_can_be_published(
    names: tuple[str, ...],
    subjects: list[str],
    files: list[str],
    steps: list[str],
    decisions: list[tuple[str, str]],
    tests: list[str],
):
    repo, folder, name, base, doing = names
    branch = BranchFacts(
        repo=repo or None,
        folder=folder,
        name=name or None,
        base=base or None,
        has_commit=bool(subjects),
        subjects=subjects,
        own_subject=doing,
        uncommitted=len(files),
        files=files,
    )
    work = WorkFacts(
        doing=doing,
        next_actions=steps,
        blockers=steps[::-1],
        decisions=decisions,
        failed=FailedRun(tests) if tests else None,
    )

    drafted = make_draft(branch, work).publication

    checked = check(drafted if drafted.title else replace(drafted, title="Given"))
    assert checked.next_actions == drafted.next_actions


# --- given ----------------------------------------------------------------------------------------


def test_what_was_given_stays_and_nothing_is_said_about_its_draft():
    work = WorkFacts(next_actions=["$ ls"], blockers=["$ ls"])
    given = Given(
        title="Mine",
        summary="My words",
        files_touched=["a.py"],
        next_actions=[],
        blockers=["the schedule"],
        task_ids=["X-1"],
        repo="acme/other",
        branch="b",
        ttl_hours=3,
    )

    draft = make_draft(BRANCH, work, given, "s1")

    drafted = draft.publication
    assert draft.notes == ()
    assert (drafted.title, drafted.summary, drafted.repo) == ("Mine", "My words", "acme/other")
    assert (drafted.branch, drafted.ttl_hours, drafted.session_id) == ("b", 3, "s1")
    assert drafted.next_actions == ()
    assert (drafted.files_touched, drafted.blockers) == (("a.py",), ("the schedule",))
    assert drafted.task_ids == ("X-1",)
