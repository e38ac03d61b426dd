"""What is erased is erased in every room, and what stays is named."""

import gc
from typing import Any

import pytest

from holdfast.errors import PartlyDoneError, StoreBusyError
from holdfast.ground.ids import new_id
from holdfast.ground.settings import Owner
from holdfast.scope import Scope
from holdfast.sessions import service
from holdfast.sessions.errors import EventNotFoundError
from holdfast.sessions.model import SessionEvent
from holdfast.storage import journal
from holdfast.storage.journal import Journal
from holdfast.storage.outbox import Outbox
from holdfast.storage.prunings import Prunings
from holdfast.usecases import forget
from holdfast.usecases.forget import Erasable, ToForget, erase, find_erasable

pytestmark = pytest.mark.own_database

SECRET = "key sk-4711"


@pytest.fixture
def scope(database: Any) -> Scope:
    return Scope(database, Owner("local", "ada"))


async def store_everywhere(scope: Scope) -> tuple[str, str, str]:
    """The secret as an event, a memory and a document, each beside a harmless one."""
    session = await scope.sessions.create_session("m", "u1")
    ids = []
    for text in ("harmless", SECRET):
        event = await scope.sessions.append_event(session.id, "user_message", "user", text)
        stored = await scope.memories.remember(text)
        entry = await scope.journal.add("receipt", ["x"], {"text": text})
        ids.append((event.id, stored.memory.id, entry.id))
    return ids[-1]


def list_ids(found: Erasable) -> list[str]:
    return [*found.event_ids, *found.memory_ids, *found.document_ids]


async def test_entries_are_found_by_their_ids_whatever_they_are(scope: Scope):
    ids = await store_everywhere(scope)

    found = await find_erasable(scope, ToForget(ids=ids))

    assert list_ids(found) == [*ids]
    assert found.document_counts == {"receipt": 1}


async def test_a_text_is_found_in_every_room(scope: Scope):
    ids = await store_everywhere(scope)

    assert list_ids(await find_erasable(scope, ToForget(match="sk-4711"))) == [*ids]


async def test_what_was_erased_is_not_found_again_and_the_rest_stays(scope: Scope):
    ids = await store_everywhere(scope)
    by_id, by_text = ToForget(ids=ids), ToForget(match="sk-4711")
    assert (await erase(scope, by_id)).events == 1

    assert (await find_erasable(scope, ToForget(ids=ids[:2]))).is_empty
    assert (await find_erasable(scope, by_text)).is_empty
    assert len(list_ids(await find_erasable(scope, ToForget(match="harmless")))) == 3


async def test_a_session_is_erased_with_its_scratchpad_and_no_other(scope: Scope):
    kept = await scope.sessions.create_session("m", "u1")
    session = await scope.sessions.create_session("m", "u1", name="secret work")
    for each in (kept, session):
        await scope.sessions.append_event(each.id, "user_message", "user", "a")
    wanted = ToForget(session_id=session.id)

    found = await find_erasable(scope, wanted)
    assert (await erase(scope, wanted)).events == 1

    assert [event.session_id for event in found.events] == [session.id]
    assert (await scope.sessions.get_session(session.id)).name != "secret work"
    assert not (await find_erasable(scope, ToForget(session_id=kept.id))).is_empty


@pytest.mark.parametrize(
    "room",
    [{"event_count": 1}, {"memory_count": 1}, {"document_counts": {"x": 1}}, {"session_count": 1}],
)
def test_nothing_is_found_only_where_no_room_holds_anything(room: dict[str, Any]):
    assert Erasable().is_empty
    assert not Erasable(**room).is_empty


async def test_a_text_is_erased_in_scratchpads_names_and_context_sets(scope: Scope):
    sessions = scope.sessions
    session = await sessions.create_session("m", "u1", name="about sk-4711")
    await sessions.update_state(
        session.id, {"key": SECRET, "list": ["a", SECRET], "in": {"sk-4711": 1, "b": 2}, "n": 4711}
    )
    await sessions.set_relevant_context(session.id, "files", ["/a.md", "/sk-4711.md"])
    await sessions.set_relevant_context(session.id, "applet", ["sk-4711", "path=/a.md"])
    await sessions.end_session(session.id)
    untouched = await sessions.create_session("m", "u1", name="other")

    found = await find_erasable(scope, ToForget(match="sk-4711"))
    done = await erase(scope, ToForget(match="sk-4711"))

    assert (found.session_ids, found.session_count, done.sessions) == ((session.id,), 1, 1)
    after = await sessions.get_session(session.id)
    assert (after.name, after.context) == (None, {"files": ["/a.md"]})
    state = await sessions.get_state(session.id)
    assert state.scratchpad == {"list": ["a"], "in": {"b": 2}, "n": 4711}
    assert (await find_erasable(scope, ToForget(match="sk-4711"))).is_empty
    assert await sessions.get_session(untouched.id) == untouched
    notices = await Outbox(scope.database, scope.owner).read()
    assert "sk-4711" not in repr(notices)


async def test_forgetting_holds_one_page_however_much_there_is(
    scope: Scope, monkeypatch: pytest.MonkeyPatch
):
    """Counted in events that are alive whenever the store is asked."""
    count = 1200
    monkeypatch.setattr(service, "PAGE", 100)
    monkeypatch.setattr(forget, "EVENTS_AT_ONCE", 50)
    monkeypatch.setattr(forget, "IDS_SHOWN", 30)
    session = await scope.sessions.create_session("m", "u1")
    event = {"type": "user_message", "role": "user", "content": SECRET}
    for _ in range(count // 400):
        await scope.sessions.append_events(session.id, [event] * 400)
    alive: list[int] = []
    read = scope.database.read

    async def read_and_count(*arguments: Any) -> Any:
        alive.append(sum(isinstance(each, SessionEvent) for each in gc.get_objects()))
        return await read(*arguments)

    gc.collect()
    gc.freeze()  # so that only what is made from here on is looked through
    monkeypatch.setattr(scope.database, "read", read_and_count)
    found = await find_erasable(scope, ToForget(match="sk-4711"))
    done = await erase(scope, ToForget(match="sk-4711"))
    gc.unfreeze()

    assert (found.event_count, len(found.event_ids), done.events) == (count, 30, count)
    assert len(alive) > 2 * count / 100
    assert max(alive) <= 100


async def test_sessions_and_documents_to_forget_are_read_in_pages(
    scope: Scope, monkeypatch: pytest.MonkeyPatch
):
    """Whatever is erased between two pages; and only the first ids are kept."""
    count = 35
    monkeypatch.setattr(service, "PAGE", 10)
    monkeypatch.setattr(journal, "PAGE", 10)
    monkeypatch.setattr(forget, "IDS_SHOWN", 3)
    for number in range(count):
        await scope.sessions.create_session("m", "u1", name=f"{number} {SECRET}")
        await scope.journal.add("receipt", ["x"], {"text": f"{number} {SECRET}"})
    rows: list[int] = []
    read = scope.database.read

    async def read_and_count(*arguments: Any) -> Any:
        found = await read(*arguments)
        rows.append(len(found))
        return found

    monkeypatch.setattr(scope.database, "read", read_and_count)
    found = await find_erasable(scope, ToForget(match=SECRET))
    done = await erase(scope, ToForget(match=SECRET))

    assert (found.session_count, found.document_counts) == (count, {"receipt": count})
    assert (len(found.session_ids), len(found.document_ids)) == (3, 3)
    assert (done.sessions, done.documents) == (count, count)
    assert max(rows) == 10
    assert (await find_erasable(scope, ToForget(match=SECRET))).is_empty


async def test_what_was_erased_before_an_error_is_reported(
    scope: Scope, monkeypatch: pytest.MonkeyPatch
):
    """And the same command, given again, erases the rest."""
    await store_everywhere(scope)

    async def refuse(*_: object) -> bool:
        raise StoreBusyError("the store")

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "erase", refuse)
        with pytest.raises(PartlyDoneError) as stopped:
            await erase(scope, ToForget(match="sk-4711"))

    assert stopped.value.message.startswith("Erased 1 event, 1 memory, and that stays.")
    assert "Nothing was written" not in stopped.value.message
    done = await erase(scope, ToForget(match="sk-4711"))
    assert (done.events, done.memories, done.documents) == (0, 0, 1)


# --- what was published, claimed and handed over --------------------------------------------------

WORDS = 'yakcanary "quoted" \\ déjà'
SHARED = ("context", "claim", "handoff")


async def share(scope: Scope, to: str | None = None) -> dict[str, str]:
    """Its words, active, as a context, a claim and an offer of that claim."""
    context = await scope.team.publish_context(
        title="t", summary=f"say {WORDS}", files_touched=["a.py"]
    )
    claim = await scope.team.claim(["b.py"], f"because {WORDS}")
    handoff = await scope.team.handoff(claim.id, to=to, note=f"note {WORDS}")
    return {"context": context.id, "claim": claim.id, "handoff": handoff.id}


@pytest.fixture
async def bo(database: Any) -> Scope:
    other = Scope(database, Owner("local", "bo"))
    await other.team.enter()
    return other


async def list_shown(scope: Scope) -> tuple[int, int, int]:
    state = await scope.team.get_state()
    return len(state.published_contexts), len(state.claims), len(state.handoffs)


async def test_a_text_is_found_in_what_was_published_claimed_and_handed_over(scope: Scope):
    shared = await share(scope)

    found = await find_erasable(scope, ToForget(match=WORDS))

    assert sorted(found.shared_ids) == sorted(shared.values())
    assert found.shared_counts == dict.fromkeys(SHARED, 1)
    assert not found.is_empty


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("title", WORDS, WORDS),
        ("next_actions", [f"do {WORDS}"], WORDS),
        ("blockers", [WORDS], WORDS),
        ("task_ids", ["yakcanary-1"], "yakcanary"),
        ("files_touched", ["src/yakcanary.py"], "src/yakcanary"),
        ("basis", {"head": "a" * 40, "files": {"yakcanary.py": "b" * 40}}, "yakcanary"),
    ],
)
async def test_every_field_of_a_context_is_looked_at(
    field: str, value: Any, text: str, scope: Scope
):
    fields = {"title": "t", "summary": "s", field: value}
    context = await scope.team.publish_context(**fields)

    assert (await find_erasable(scope, ToForget(match=text))).shared_ids == (context.id,)


async def test_paths_of_a_claim_and_of_a_session_that_is_shown_are_looked_at(scope: Scope):
    claim = await scope.team.claim(["src/yakcanary.py"], "work")
    session_id = new_id()
    await scope.own_team.show_presence(session_id, ["src/yakcanary.py"], branch="b")

    found = await find_erasable(scope, ToForget(match="yakcanary"))
    await erase(scope, ToForget(match="yakcanary"))

    assert sorted(found.shared_ids) == sorted([claim.id, session_id])
    assert (await find_erasable(scope, ToForget(match="yakcanary"))).is_empty
    assert await scope.team.list_claims() == []


async def test_what_is_active_ends_before_it_is_emptied(scope: Scope, bo: Scope):
    shared = await share(scope)
    assert await list_shown(bo) == (1, 1, 1)

    done = await erase(scope, ToForget(match="yakcanary"))

    assert (done.shared, await list_shown(bo)) == (3, (0, 0, 0))
    context = await scope.own_team.get_own_context(shared["context"])
    assert (context.title, context.summary, list(context.files_touched)) == ("", "", [])
    assert context.revoked_at is not None
    claim = await scope.own_team.get_own_claim(shared["claim"])
    assert (claim.reason, list(claim.paths), claim.released_at is None) == ("", [], False)
    handoff = await scope.own_team.get_handoff(shared["handoff"])
    assert (handoff.note, handoff.reason, handoff.status) == ("", "", "cancelled")
    types = {event.type for event in (await bo.team.get_state()).work_events}
    assert {"session.context_revoked", "coordination.released"} <= types
    assert (await find_erasable(scope, ToForget(match="yakcanary"))).is_empty
    assert (await find_erasable(scope, ToForget(ids=tuple(shared.values())))).is_empty


@pytest.mark.parametrize("kind", SHARED)
async def test_one_is_forgotten_by_its_id_and_a_claim_with_its_handoffs(kind: str, scope: Scope):
    shared = await share(scope)
    others = {each for each in SHARED if each != kind}
    if kind == "claim":
        others.discard("handoff")

    done = await erase(scope, ToForget(ids=(shared[kind],)))

    assert done.shared == 1
    left = await find_erasable(scope, ToForget(match="yakcanary"))
    assert set(left.shared_counts) == others


async def test_another_developers_are_neither_found_nor_erased(scope: Scope, bo: Scope):
    shared = await share(scope)
    by_text = ToForget(match="yakcanary")

    assert (await find_erasable(bo, by_text)).is_empty
    assert (await erase(bo, by_text)).shared == 0
    for entry_id in shared.values():
        with pytest.raises(EventNotFoundError):
            await erase(bo, ToForget(ids=(entry_id,)))
        await bo.own_team.store.erase_words(entry_id)
    assert (await find_erasable(scope, by_text)).shared_counts == dict.fromkeys(SHARED, 1)


async def test_a_handoff_that_was_accepted_is_emptied_and_can_be_completed(scope: Scope, bo: Scope):
    shared = await share(scope, to="bo")
    await bo.own_team.accept(shared["handoff"])

    await erase(scope, ToForget(match="yakcanary"))

    assert (await find_erasable(scope, ToForget(match="yakcanary"))).is_empty
    handoff = await bo.own_team.complete(shared["handoff"])
    assert (handoff.status, handoff.note) == ("completed", "")


async def test_an_offer_to_a_developer_who_is_private_by_now_goes_with_its_claim(
    scope: Scope, bo: Scope
):
    """It is hidden from its giver, and is not listed."""
    shared = await share(scope, to="bo")
    await bo.own_team.set_visibility("private")

    found = await find_erasable(scope, ToForget(match="yakcanary"))
    await erase(scope, ToForget(match="yakcanary"))

    assert sorted(found.shared_ids) == sorted([shared["context"], shared["claim"]])
    await bo.own_team.set_visibility("public")
    handoff = await scope.own_team.get_handoff(shared["handoff"])
    assert (handoff.note, handoff.reason, handoff.status) == ("", "", "cancelled")


async def test_an_audit_row_of_one_allows_no_other(scope: Scope):
    shared = await share(scope)
    await scope.own_team.revoke_context(shared["context"])
    await scope.own_team.release(shared["claim"])
    await Prunings(scope.database, scope.owner).allow(new_id(), "context")

    for entry_id in shared.values():
        with pytest.raises(Exception, match=r"append-only|keep|only"):
            await scope.own_team.store.erase_words(entry_id)


async def test_what_is_active_is_not_emptied_by_an_audit_row_alone(scope: Scope):
    shared = await share(scope)

    for entry_id in shared.values():
        await Prunings(scope.database, scope.owner).allow(entry_id, "context")
        with pytest.raises(Exception, match=r"append-only|keep|only"):
            await scope.own_team.store.erase_words(entry_id)
