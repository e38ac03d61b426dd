"""Bundles and rounds through the store, on both engines: receipts, the same bytes again, and one
step at a time.
"""

import asyncio
import itertools
import subprocess
from dataclasses import replace
from datetime import timedelta

import pytest

from holdfast.bundles import errors
from holdfast.bundles.receipts import short_id
from holdfast.bundles.round_service import RoundService
from holdfast.bundles.rounds import ROLES, Round, RoundStep
from holdfast.bundles.service import BundleService
from holdfast.errors import Action, InvalidValueError, StoreBusyError
from holdfast.ground.fence import fence_key
from holdfast.ground.settings import load_settings, owner_of
from holdfast.memories.model import Memory
from holdfast.memories.model import MemoryMatch as Found
from holdfast.sessions.errors import SessionNotFoundError
from holdfast.storage.journal import Journal
from holdfast.workstreams.errors import SharedContextOffError
from holdfast.workstreams.service import WorkstreamService
from tests.bundles.situations import ALL_STALE, IMPLEMENTATION, KEY, NOW, PLANNING

JUDGED = {"planning": PLANNING.judged, "implementation": IMPLEMENTATION.judged}
UNKNOWN = "01890a5d-ac96-774b-bcce-b302099a8057"


async def load(phase: str, workstream_id: str | None = None):
    """What the checkout says; the clones of these tests are all alike."""
    judged = JUDGED[phase]
    key = KEY._replace(workstream_id=workstream_id or KEY.branch)
    return replace(judged, context=replace(judged.context, key=key), rules=PLANNING.rules)


async def refuse(phase: str, workstream_id: str | None = None):
    raise SharedContextOffError


def memory(content: str) -> Found:
    times = (None, 0, None, NOW, NOW)
    return Found(Memory("m-1", "u1", content, None, {}, "explicit", 0.8, (), *times), 0.9, 0.9)


@pytest.fixture
def journal(sessions):
    return Journal(sessions.db, sessions.owner)


@pytest.fixture
def bundles(journal, sessions):
    return BundleService(journal, sessions, load=load, now=lambda: NOW)


@pytest.fixture
def local(journal, sessions):
    """Sharing is off."""
    return BundleService(journal, sessions, load=refuse, rules=["Ask first."], now=lambda: NOW)


# --- building -------------------------------------------------------------------------------------


async def test_a_bundle_has_a_receipt_that_makes_the_same_bytes_again(bundles):
    bundle = await bundles.build("planning")

    again = await bundles.rebuild(bundle.id)

    assert again == bundle
    assert again.text.encode() == bundle.text.encode()
    assert bundle.chars == len(bundle.text) <= 2_200
    assert f"receipt {short_id(bundle.id)}\n" in bundle.text


async def test_a_later_change_does_not_alter_an_existing_bundle(bundles, monkeypatch):
    before = await bundles.build("planning")
    monkeypatch.setitem(JUDGED, "planning", ALL_STALE.judged)

    after = await bundles.build("planning")

    assert (await bundles.rebuild(before.id)).text == before.text
    said = await bundles.diff(before.id, after.id)
    assert said.startswith(f"--- {short_id(before.id)}\n+++ {short_id(after.id)}\n")
    assert " STALE IN PART: 2 of 5 noted files, +137 others.\n" in said
    assert " STALE: 5 of 5 noted files.\n" in said
    assert await bundles.diff(after.id, after.id) == ""


async def test_the_least_of_all_limits_counts(bundles):
    bundles.text_limit = {"small": 1_000, "large": 10_000}.get

    assert (await bundles.build("planning", client="large")).chars > 1_000
    assert (await bundles.build("planning", client="small")).chars <= 1_000
    assert (await bundles.build("planning", client="large", limit=700)).chars <= 700
    with pytest.raises(InvalidValueError, match="limit 300 is too small"):
        await bundles.build("planning", limit=300)


async def test_an_unknown_phase_is_refused(bundles):
    with pytest.raises(InvalidValueError, match="Known: planning, implementation"):
        await bundles.build("testing")


async def test_the_last_request_of_the_session_is_quoted_verbatim(bundles, sessions):
    s = await sessions.create_session("codex", "u1", client="codex", worktree="/w")
    await sessions.append_event(s.id, "user_message", "user", "an older one")
    asked = await sessions.append_event(s.id, "user_message", "user", "stop after 3\nnot 4")
    await sessions.append_event(s.id, "tool_result", "tool", "x" * 100_000)

    bundle = await bundles.build("implementation", session_id=s.id)

    assert "LAST REQUEST (user, " in bundle.text
    assert ")\n> stop after 3\n> not 4\n" in bundle.text
    assert "Last session" not in bundle.text, "it is not over"
    told = next(section for section in bundle.sections if section.section.name == "request")
    assert told.items[0].source == f"event {asked.id}"


async def test_a_new_session_sees_the_last_request_of_the_previous_one(bundles, sessions):
    old = await sessions.create_session(
        "codex", "u1", client="codex", native_id="n1", worktree="/w"
    )
    await sessions.append_event(old.id, "user_message", "user", "stop after 3")
    await sessions.append_event(old.id, "model_message", "assistant", "It does.")
    new = await sessions.create_session(
        "claude", "u1", client="claude", native_id="n2", worktree="/w"
    )

    bundle = await bundles.build("implementation", session_id=new.id)

    assert "> stop after 3\n" in bundle.text
    assert "Last session: codex, answered at " in bundle.text


async def test_a_forgotten_request_is_not_shown(bundles, sessions):
    s = await sessions.create_session("codex", "u1")
    asked = await sessions.append_event(s.id, "user_message", "user", "my secret")
    await sessions.forget_events([asked.id])

    assert "LAST REQUEST" not in (await bundles.build("implementation", session_id=s.id)).text


async def test_memories_are_asked_for_what_the_work_is_about(bundles):
    asked = []

    async def recall(query: str, *, limit: int):
        asked.append((query, limit))
        return [memory("The letter service answers 409")]

    bundles.gatherer = replace(bundles.gatherer, recall=recall)

    bundle = await bundles.build("planning")

    assert asked == [("dunning letters", 20)]
    assert bundle.sections[-2].items[0].source == "memory m-1, relevance 0.90"
    assert "- The letter service answers 409 [said] explicit, 09:04" in bundle.text


async def test_a_memory_that_does_not_pass_by_itself_is_left_out(bundles):
    async def recall(query: str, *, limit: int):
        passing = memory("The letter service answers 409")
        other = replace(memory("Letters are blue").memory, id="m-2")
        return [passing, Found(other, 0.2, 0.2)]

    bundles.gatherer = replace(bundles.gatherer, recall=recall)

    text = (await bundles.build("planning")).text
    assert "answers 409" in text
    assert "Letters are blue" not in text


async def test_a_memory_that_is_recalled_twice_is_shown_once(bundles, sessions):
    async def recall(query: str, *, limit: int):
        return [memory("The letter service answers 409")]

    bundles.gatherer = replace(bundles.gatherer, recall=recall)
    s = await sessions.create_session("codex", "u1")
    await sessions.append_event(s.id, "user_message", "user", "what does 409 mean?")

    assert (await bundles.build("planning", session_id=s.id)).text.count("answers 409") == 1


async def test_without_sharing_the_bundle_is_local(local, sessions):
    s = await sessions.create_session(
        "codex", "u1", git_branch="main", repo="github.com/acme/invoices"
    )
    await sessions.set_relevant_context(s.id, "files", ["src/a.py"])
    await sessions.set_relevant_context(s.id, "applet", ["text-editor", "path=src/a.py"])
    await sessions.append_event(s.id, "user_message", "user", "stop after 3")

    bundle = await local.build("planning", session_id=s.id)

    assert [section.section.name for section in bundle.sections] == [
        "rules",
        "request",
        "files",
        "more",
    ]
    assert "HOLDFAST planning · acme/invoices · main · 2026-11-16 09:04Z" in bundle.text
    assert "Kept on this machine; not checked against any checkout." in bundle.text
    assert "FILES src/a.py" in bundle.text
    assert "applet" not in bundle.text, "an offer to a person"


async def test_native_ids_are_a_best_effort(bundles, local):
    async def known(phase: str, workstream_id: str | None):
        return {"codex": {"id": "0199", "local_path": "/x"}, "gemini": {}, "claude": "12ab"}

    assert await bundles.find_native_ids("planning") == {}
    bundles.native_ids, local.native_ids = known, refuse
    assert await bundles.find_native_ids("planning") == {"codex": "0199", "claude": "12ab"}
    assert await local.find_native_ids("planning") == {}


# --- a real checkout ------------------------------------------------------------------------------


def git(folder, *arguments: str) -> None:
    who = ["-c", "user.name=dev-b", "-c", "user.email=dev-b@example.org"]
    subprocess.run(["git", "-C", folder, *who, *arguments], check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path):
    folder = tmp_path / "invoices"
    folder.mkdir()
    (folder / "letters.py").write_text("def send(letter):\n    post_the_letter_once(letter)\n")
    git(folder, "init", "-b", "feat/dunning")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "one")
    return folder


async def test_an_edit_of_its_evidence_makes_a_claim_stale_in_the_next_bundle(
    journal, sessions, checkout
):
    work = WorkstreamService(
        load_settings(), journal, folder=str(checkout), share=True, environment={}
    )
    bundles = BundleService(journal, sessions, load=work.load, native_ids=work.list_client_sessions)
    await work.claim("send() posts once", ["letters.py#send"], phase="planning")
    await work.save("Goal: overdue invoices are reminded.", phase="planning", by_hand=True)
    fresh = await bundles.build("planning")
    (checkout / "letters.py").write_text("def send(letter):\n    post_the_letter_twice(letter)\n")

    stale = await bundles.build("planning")

    assert "STALE" not in fresh.text
    assert "GOAL overdue invoices are reminded." in fresh.text
    assert "[ok] send() posts once, letters.py\n" in fresh.text
    assert "STALE: 1 of 1 noted file.\nCHANGED letters.py +1 -1\n" in stale.text
    assert '[changed] "send() posts once": letters.py#send edited since' in stale.text
    assert stale.text.index("letters.py +1 -1") < stale.text.index("GOAL [older tree]")
    assert (await bundles.rebuild(fresh.id)).text == fresh.text


async def test_without_sharing_no_git_is_started(journal, sessions, checkout, monkeypatch):
    monkeypatch.setenv("PATH", "")
    work = WorkstreamService(
        load_settings(), journal, folder=str(checkout), share=False, environment={}
    )

    bundle = await BundleService(journal, sessions, load=work.load, rules=["Ask first."]).build(
        "planning"
    )

    assert [section.section.name for section in bundle.sections] == ["rules", "more"]


# --- frozen ---------------------------------------------------------------------------------------


async def test_a_session_gets_the_same_bytes_again(bundles, sessions):
    """The time in its head too: what it says is as true as it was."""
    s = await sessions.create_session("codex", "u1")
    first = await bundles.build("planning", session_id=s.id)
    bundles.now = lambda: NOW.replace(hour=10)

    again = await bundles.build("planning", session_id=s.id)

    assert again == first
    assert (await bundles.build("planning")).text != first.text


async def test_a_frozen_bundle_is_replaced_while_its_verdict_does_not_hold(
    bundles, sessions, monkeypatch
):
    s = await sessions.create_session("codex", "u1")
    first = await bundles.build("planning", session_id=s.id)
    monkeypatch.setitem(JUDGED, "planning", ALL_STALE.judged)

    after = await bundles.build("planning", session_id=s.id)
    monkeypatch.setitem(JUDGED, "planning", PLANNING.judged)
    back = await bundles.build("planning", session_id=s.id)

    assert "STALE: 5 of 5 noted files." in after.text
    assert after.id != first.id
    assert back == first


async def test_an_own_log_that_grows_changes_no_bytes(bundles, sessions):
    """It is in the window of the caller. The request before it is shown, and stays shown."""
    old = await sessions.create_session(
        "codex", "u1", client="codex", native_id="n1", worktree="/w"
    )
    await sessions.append_event(old.id, "user_message", "user", "stop after 3")
    new = await sessions.create_session(
        "claude", "u1", client="claude", native_id="n2", worktree="/w"
    )
    first = await bundles.build("implementation", session_id=new.id)
    await sessions.append_event(new.id, "user_message", "user", "go on")

    again = await bundles.build("implementation", session_id=new.id)

    assert "> stop after 3\n" in first.text
    assert again == first


async def test_own_context_sets_come_before_those_of_the_session_before(bundles, sessions):
    old = await sessions.create_session(
        "codex", "u1", client="codex", native_id="n1", worktree="/w"
    )
    await sessions.set_relevant_context(old.id, "ports", ["5432"])
    new = await sessions.create_session(
        "claude", "u1", client="claude", native_id="n2", worktree="/w"
    )
    first = await bundles.build("planning", session_id=new.id)
    await sessions.set_relevant_context(new.id, "ports", ["8080"])

    assert "SET ports: 5432" in first.text
    assert "SET ports: 8080" in (await bundles.build("planning", session_id=new.id)).text


async def test_another_phase_session_or_limit_has_bytes_of_its_own(bundles, sessions):
    s, t = [await sessions.create_session("codex", "u1") for _ in range(2)]
    built = [
        await bundles.build("planning", session_id=s.id),
        await bundles.build("implementation", session_id=s.id),
        await bundles.build("planning", session_id=s.id, limit=1_000),
        await bundles.build("planning", session_id=t.id),
    ]

    assert len({bundle.id for bundle in built}) == 4
    assert built[2].chars <= 1_000


async def test_concurrent_builds_for_one_session_give_the_same_bytes(bundles, sessions):
    s = await sessions.create_session("codex", "u1")

    built = await asyncio.gather(*(bundles.build("planning", session_id=s.id) for _ in range(5)))

    assert len({bundle.text for bundle in built}) == 1


async def test_forgotten_frozen_bytes_are_built_again(bundles, sessions, journal):
    s = await sessions.create_session("codex", "u1")
    first = await bundles.build("planning", session_id=s.id)
    await journal.erase(first.id)

    again = await bundles.build("planning", session_id=s.id)

    assert again.id != first.id


async def test_bytes_are_frozen_for_a_session_or_not_at_all(bundles):
    assert (await bundles.build("planning")).id != (await bundles.build("planning")).id
    with pytest.raises(SessionNotFoundError):
        await bundles.build("planning", session_id=UNKNOWN)


# --- receipts -------------------------------------------------------------------------------------


async def test_a_receipt_is_found_by_the_short_id_in_the_head(bundles):
    bundle = await bundles.build("planning")
    await bundles.build("implementation")

    receipt = await bundles.get_receipt(short_id(bundle.id))

    assert receipt.id == bundle.id
    assert receipt.head.phase == "planning"


async def test_a_short_id_of_several_asks_for_the_whole_one(bundles, journal):
    bundle = await bundles.build("planning")
    content = (await journal.find("receipt", bundle.id)).content
    other = "01890a5d-ac96-774b-bcce-b302099a" + bundle.id[-4:]
    await journal.add("receipt", ["x"], content, entry_id=other)

    with pytest.raises(InvalidValueError, match="is short for several") as raised:
        await bundles.get_receipt(short_id(bundle.id))
    assert set(raised.value.known) == {bundle.id, other}


@pytest.mark.parametrize("name", [UNKNOWN, "b-0000", "b-7f3", "", "'; drop table journal"])
async def test_an_unknown_receipt_is_not_found(bundles, name):
    with pytest.raises(errors.ReceiptNotFoundError):
        await bundles.get_receipt(name)
    with pytest.raises(errors.ReceiptNotFoundError):
        await bundles.rebuild(name)


async def test_a_forgotten_receipt_says_so(bundles, journal):
    bundle = await bundles.build("planning")
    await journal.erase(bundle.id)

    for verb in (bundles.get_receipt, bundles.rebuild, bundles.explain):
        with pytest.raises(errors.ReceiptForgottenError, match="was forgotten"):
            await verb(bundle.id)
    with pytest.raises(errors.ReceiptNotFoundError):
        await bundles.explain()


async def test_a_receipt_that_this_version_would_write_differently_says_so(bundles, journal):
    bundle = await bundles.build("planning")
    content = (await journal.find("receipt", bundle.id)).content
    other = await journal.add("receipt", ["x"], {**content, "text_hash": "00"})

    with pytest.raises(errors.ReceiptOutdatedError, match="another version"):
        await bundles.rebuild(other.id)


async def test_the_last_bundle_is_explained_line_by_line(bundles, sessions):
    """The last that was made, though a frozen one lies in the journal where its session began."""
    s = await sessions.create_session("codex", "u1")
    await bundles.build("planning")
    last = await bundles.build("implementation", session_id=s.id, limit=1_000)

    why = await bundles.explain()

    assert (why.id, why.phase, why.limit, why.chars) == (
        last.id,
        "implementation",
        1_000,
        last.chars,
    )
    assert [line.text for line in why.lines if line.text not in last.text] == []
    assert ("pinned rule", None) in [(line.source, line.verdict) for line in why.lines]
    assert why.cut
    assert why.to_dict()["cut"][0].keys() == {"section", "text", "source", "reason"}


async def test_the_last_bundle_of_this_checkout_comes_before_those_of_others(
    bundles, sessions, journal
):
    here = await bundles.build("planning", worktree="/w")
    await bundles.build("planning", worktree="/other")
    elsewhere = BundleService(journal, sessions, load=refuse)

    assert (await bundles.explain(worktree="/w")).id == here.id
    about_it = await bundles.build("planning")  # by a program that does not say where it is
    assert (await bundles.explain(worktree="/w")).id == about_it.id
    last = await elsewhere.explain(worktree="/third")
    assert (last.id, last.is_here) == (about_it.id, False)


async def test_a_developer_cannot_read_the_receipts_of_another(bundles, sessions):
    bundle = await bundles.build("planning")
    stranger = BundleService(
        Journal(sessions.db, owner_of(sessions.owner.workspace_id, "eve")), sessions, load=load
    )

    for receipt_id in (bundle.id, short_id(bundle.id)):
        with pytest.raises(errors.ReceiptNotFoundError):
            await stranger.get_receipt(receipt_id)


# --- rounds ---------------------------------------------------------------------------------------


class Decisions:
    """Where the planning context is written, and where it may fail."""

    def __init__(self, fails_at: int | None = None):
        self.kept: list[tuple[str, str, str | None, str]] = []
        self.fails_at = fails_at

    async def decide(
        self, text: str, *, phase: str, workstream_id: str | None, status: str
    ) -> None:
        if len(self.kept) == self.fails_at:
            self.fails_at = None
            raise StoreBusyError("the repository")
        self.kept.append((text, phase, workstream_id, status))


async def submit_views(rounds: RoundService, count: int = 4) -> None:
    for role in list(ROLES)[:count]:
        await rounds.submit(role, f"{role} has a view.", ["repo:src/a.py"])


async def test_a_round_goes_through_its_roles_with_one_bundle(bundles):
    decisions = Decisions()
    rounds = RoundService(bundles, decisions.decide)
    first = await rounds.start("In a table or in the queue?")
    text = (await bundles.rebuild(first.bundle_id)).text
    assert (first.role, first.least_chars, first.most_chars) == ("Product Owner", 400, 700)
    assert first.instruction.startswith(f"{text}\n\nINSTRUCTION\nROUND In a table or in the queue?")

    for role in ROLES:
        step = await RoundService(bundles, decisions.decide).next()  # as after a restart
        assert (step.role, step.bundle_id) == (role, first.bundle_id)
        assert step.instruction.startswith(text)
        await rounds.submit(role, f"{role} has a view.", ["repo:src/a.py"])
    assert (await rounds.next()).role == "Chair"
    closed = await rounds.close(["In a table"], ["Who owns it?"])

    assert closed.status == "closed"
    assert decisions.kept == [
        ("In a table", "planning", "feat/dunning", "accepted"),
        ("Who owns it?", "planning", "feat/dunning", "open"),
    ]


async def test_one_round_is_open_at_a_time_for_each_workstream(bundles):
    rounds = RoundService(bundles, Decisions().decide)
    await rounds.start("first")

    with pytest.raises(errors.RoundOpenError, match="'first'"):
        await rounds.start("second")
    assert (await rounds.start("second", "other")).topic == "second"

    await submit_views(rounds)
    await rounds.close(["done with"])
    assert (await rounds.start("third")).topic == "third"
    assert (await rounds.next()).topic == "third"


async def test_without_an_open_round_there_is_nothing_to_say(bundles):
    rounds = RoundService(bundles, Decisions().decide)

    said = rounds.submit("Architect", "x", ["repo:a"])
    for verb in (rounds.next(), said, rounds.close(["x"]), rounds.abandon()):
        with pytest.raises(errors.RoundNotFoundError, match="has no open round"):
            await verb


async def test_only_one_of_several_concurrent_submissions_for_a_role_is_accepted(bundles):
    rounds = RoundService(bundles, Decisions().decide)
    await rounds.start("topic")

    done = await asyncio.gather(
        *(rounds.submit("Product Owner", f"view {n}", ["repo:a"]) for n in range(4)),
        return_exceptions=True,
    )

    assert sum(not isinstance(outcome, Exception) for outcome in done) == 1
    assert {type(outcome) for outcome in done if isinstance(outcome, Exception)} <= {
        errors.RoundMovedError,
        errors.WrongRoleError,
    }
    assert (await rounds.next()).role == "Architect"


async def test_only_one_of_several_concurrent_round_starts_is_accepted(bundles):
    rounds = RoundService(bundles, Decisions().decide)

    done = await asyncio.gather(
        *(rounds.start(f"topic {n}") for n in range(4)), return_exceptions=True
    )

    assert sum(not isinstance(outcome, Exception) for outcome in done) == 1
    assert {type(outcome) for outcome in done if isinstance(outcome, Exception)} <= {
        errors.RoundMovedError,
        errors.RoundOpenError,
    }


async def test_a_refused_submission_changes_nothing(bundles):
    rounds = RoundService(bundles, Decisions().decide)
    await rounds.start("topic")

    with pytest.raises(errors.SourceMissingError):
        await rounds.submit("Product Owner", "Everybody wants it.")
    assert (await rounds.next()).role == "Product Owner"


async def test_an_interrupted_close_continues_where_it_stopped(bundles):
    decisions = Decisions(fails_at=1)
    rounds = RoundService(bundles, decisions.decide)
    await rounds.start("topic")
    await submit_views(rounds)

    with pytest.raises(StoreBusyError):
        await rounds.close(["one", "two"], ["three"])
    with pytest.raises(errors.RoundOpenError):
        await rounds.start("another")
    closed = await rounds.close()

    assert [kept[0] for kept in decisions.kept] == ["one", "two", "three"]
    assert closed.status == "closed"


async def test_a_result_that_grows_without_its_secrets_is_refused_before_any_is_noted(
    journal, sessions, checkout
):
    work = WorkstreamService(
        load_settings(), journal, folder=str(checkout), share=True, environment={}
    )
    key = fence_key(work.settings.home)
    rounds = RoundService(
        BundleService(journal, sessions, load=work.load, fence_key=key), work.decide
    )
    await rounds.start("topic")
    await submit_views(rounds)
    grows = f"{'AKIA' + 'QZ7X' * 4} and {'ghp_' + 'aB3' * 12} ".ljust(1_000, "x")

    for _ in range(2):
        with pytest.raises(InvalidValueError, match="1,000 are the most"):
            await rounds.close(["fine first", grows])
        assert (await work.load("planning")).context.decisions == []
    closed = await rounds.close(["fine first", grows[:900]])

    assert closed.status == "closed"
    noted = (await work.load("planning")).context.decisions
    assert noted[0].text == "fine first"
    assert noted[1].text.startswith("[REDACTED:")
    assert closed.decisions == tuple(decision.text for decision in noted)


async def test_what_a_role_submits_is_kept_without_its_secrets(bundles):
    rounds = RoundService(bundles, Decisions().decide)
    secret = "ghp_" + "aB3" * 12
    await rounds.start("topic")

    await rounds.submit(next(iter(ROLES)), f"No new fact but {secret}.", [])

    [step, _] = await rounds.journal.newest_of_kind("round", 2)
    assert secret not in str(step.content)
    assert "[REDACTED:" in str(step.content)


async def test_after_a_failed_close_the_chair_can_close_again_or_abandon(bundles):
    for number, ends in enumerate(("close", "close with other words", "abandon")):
        decisions = Decisions(fails_at=1)
        rounds, which = RoundService(bundles, decisions.decide), f"work-{number}"
        await rounds.start("topic", which)
        for role in ROLES:
            await rounds.submit(role, "No new fact.", [], which)
        with pytest.raises(StoreBusyError):
            await rounds.close(["one", "two"], ["three"], which)
        assert (await rounds.next(which)).role == "Chair"

        if ends == "close":
            ended = await rounds.close([], [], which)
            assert [kept[0] for kept in decisions.kept] == ["one", "two", "three"]
        elif ends == "abandon":
            ended = await rounds.abandon(which)
            assert (ended.status, ended.results) == ("abandoned", [("one", "accepted")])
        else:
            ended = await rounds.close(["2"], [], which)
            assert [kept[0] for kept in decisions.kept] == ["one", "2"]
        assert ended.is_over
        assert (await rounds.start("another", which)).role == "Product Owner"


@pytest.mark.parametrize(
    "how", [InvalidValueError("Decision", "x", "is too long"), ZeroDivisionError()]
)
async def test_a_round_that_stopped_while_it_was_closing_has_a_way_out(bundles, how):
    """Stopped from outside, no process could write that down; the next caller finds out whether it
    can be closed.
    """
    stops = [asyncio.CancelledError(), how]

    async def decide(text: str, **about: str) -> None:
        raise stops.pop(0)

    rounds = RoundService(bundles, decide)
    await rounds.start("topic")
    await submit_views(rounds)
    with pytest.raises(asyncio.CancelledError):
        await rounds.close(["one"])

    with pytest.raises(errors.RoundClosingError):
        await rounds.abandon()
    with pytest.raises(type(how)):
        await rounds.close()
    assert (await rounds.abandon()).results == []
    assert (await rounds.start("another")).role == "Product Owner"


async def forget_receipt(journal, round_id, receipt_id):
    await journal.erase(receipt_id)


async def outdate_receipt(journal, round_id, receipt_id):
    """As after an upgrade: the receipt is there, and this version would write something else."""
    receipt, step = await journal.find("receipt", receipt_id), await journal.find("round", round_id)
    other = await journal.add("receipt", ["x"], {**receipt.content, "text_hash": "00"})
    after = f"{round_id[:-12]}{int(round_id[-12:], 16) + 1:012x}"
    await journal.add("round", KEY, {**step.content, "receipt_id": other.id}, entry_id=after)


@pytest.mark.parametrize("lose", [forget_receipt, outdate_receipt])
async def test_a_round_whose_bundle_is_lost_continues_with_a_new_one_for_all_roles(
    bundles, journal, lose
):
    rounds = RoundService(bundles, Decisions().decide)
    lost = await rounds.start("topic")
    [entry] = await journal.newest("round", KEY)
    await lose(journal, entry.id, lost.bundle_id)

    found = await asyncio.gather(*(rounds.next() for _ in range(3)))
    assert len({step.bundle_id for step in found}) == 1
    assert found[0].bundle_id != lost.bundle_id
    assert found[0].instruction.startswith((await bundles.rebuild(found[0].bundle_id)).text)
    for role in ROLES:
        step = await rounds.submit(role, "No new fact.")
        assert step.bundle_id == found[0].bundle_id
    assert (await rounds.close(["A table"])).status == "closed"


@pytest.mark.parametrize("lose", [forget_receipt, outdate_receipt])
async def test_a_role_may_speak_when_the_bundle_was_lost_after_it_was_read(bundles, journal, lose):
    rounds = RoundService(bundles, Decisions().decide)
    lost = await rounds.start("topic")
    [entry] = await journal.newest("round", KEY)
    await lose(journal, entry.id, lost.bundle_id)

    after = await rounds.submit("Product Owner", "No new fact.")

    assert after.bundle_id != lost.bundle_id
    assert (await rounds.next()).bundle_id == after.bundle_id


async def test_an_abandoned_round_keeps_its_submissions_and_no_results(bundles, journal):
    decisions = Decisions()
    rounds = RoundService(bundles, decisions.decide)
    await rounds.start("topic")
    await submit_views(rounds, 2)

    left = await rounds.abandon()

    assert (left.status, left.results, decisions.kept) == ("abandoned", [], [])
    [kept] = await journal.newest("round", KEY)
    assert [submission["role"] for submission in kept.content["submissions"]] == [
        "Product Owner",
        "Architect",
    ]
    with pytest.raises(errors.RoundNotFoundError):
        await rounds.next()
    assert (await rounds.start("another")).role == "Product Owner"


async def test_starting_while_a_round_is_open_is_refused_with_both_ways_to_end_it(bundles):
    rounds = RoundService(bundles, Decisions().decide)
    await rounds.start("topic")

    with pytest.raises(errors.RoundOpenError) as refused:
        await rounds.start("another")

    assert {Action("round.close"), Action("round.abandon")} < set(refused.value.next_actions)


async def test_only_one_of_several_concurrent_abandons_succeeds(bundles):
    ticks = itertools.count()
    bundles.now = lambda: NOW + timedelta(microseconds=next(ticks))
    rounds = RoundService(bundles, Decisions().decide)
    await rounds.start("topic")

    done = await asyncio.gather(*(rounds.abandon() for _ in range(4)), return_exceptions=True)

    lost = {type(outcome) for outcome in done if isinstance(outcome, Exception)}
    assert sum(not isinstance(outcome, Exception) for outcome in done) == 1
    assert lost <= {errors.RoundMovedError, errors.RoundNotFoundError}


@pytest.mark.parametrize("is_first", [True, False])
async def test_a_submission_during_an_abandon_is_stored_or_refused(bundles, is_first):
    rounds = RoundService(bundles, Decisions().decide)
    begun = await rounds.start("topic")
    verbs = [rounds.abandon(), rounds.submit("Product Owner", "No new fact.")]

    done = await asyncio.gather(*(verbs if is_first else reversed(verbs)), return_exceptions=True)

    lost = [type(outcome) for outcome in done if isinstance(outcome, Exception)]
    was_heard, is_left = (
        any(isinstance(outcome, kind) for outcome in done) for kind in (RoundStep, Round)
    )
    assert set(lost) <= {errors.RoundMovedError, errors.RoundNotFoundError}
    assert len(lost) < 2
    ended = await rounds.find_ended(begun.started_at)
    assert (ended is not None) == is_left
    if ended is None:
        assert (await rounds.next()).role == "Architect"
    else:
        assert len(ended.submissions) == was_heard


@pytest.mark.parametrize("is_first", [True, False])
async def test_a_concurrent_close_and_abandon_keep_all_results_or_none(bundles, is_first):
    decisions = Decisions()
    rounds = RoundService(bundles, decisions.decide)
    await rounds.start("topic")
    await submit_views(rounds)
    verbs = [rounds.abandon(), rounds.close(["one", "two"], ["three"])]

    done = await asyncio.gather(*(verbs if is_first else reversed(verbs)), return_exceptions=True)

    [ended] = [outcome for outcome in done if not isinstance(outcome, Exception)]
    [lost] = [type(outcome) for outcome in done if isinstance(outcome, Exception)]
    assert lost in (errors.RoundMovedError, errors.RoundNotFoundError, errors.RoundClosingError)
    assert len(decisions.kept) == {"closed": 3, "abandoned": 0}[ended.status]
    assert await rounds.find_ended(ended.started_at) == ended


async def test_a_round_cannot_be_abandoned_between_two_of_its_results(bundles):
    kept = []

    async def decide(text: str, **about: str) -> None:
        with pytest.raises(errors.RoundClosingError):
            await rounds.abandon()
        kept.append(text)

    rounds = RoundService(bundles, decide)
    await rounds.start("topic")
    await submit_views(rounds)

    assert (await rounds.close(["one", "two"])).status == "closed"
    assert kept == ["one", "two"]


async def test_how_a_round_ended_is_found_after_the_next_one_began(bundles):
    rounds = RoundService(bundles, Decisions().decide)
    first = await rounds.start("first")
    assert await rounds.find_ended(first.started_at) is None
    await submit_views(rounds)
    closed = await rounds.close(["A table"])
    bundles.now = lambda: NOW + timedelta(hours=1)
    second = await rounds.start("second")

    assert await rounds.find_ended(first.started_at) == closed
    assert await rounds.find_ended(second.started_at) is None


async def test_a_submission_that_is_too_short_is_accepted_with_a_note(bundles):
    rounds = RoundService(bundles, Decisions().decide)
    await rounds.start("topic")
    await rounds.submit("Product Owner", "x" * 400, ["repo:a"])

    said = await rounds.submit("Architect", "x" * 490, ["repo:a"])

    assert (said.role, said.notes) == (
        "Developer",
        ("Architect said 490 of the 600 to 900 characters that were asked for.",),
    )
    assert (await rounds.next()).notes == ()


async def test_a_forgotten_round_does_not_count_as_open(bundles, journal):
    rounds = RoundService(bundles, Decisions().decide)
    await rounds.start("secret")
    [entry] = await journal.newest("round", KEY)
    await journal.erase(entry.id)

    with pytest.raises(errors.RoundNotFoundError):
        await rounds.next()
    assert (await rounds.start("another")).topic == "another"


async def test_a_round_needs_sharing(local):
    with pytest.raises(SharedContextOffError):
        await RoundService(local, Decisions().decide).start("topic")
