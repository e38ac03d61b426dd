"""The exchange of a real server through a real proxy, as a laptop meets it."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import HoldfastError, KeyReusedError
from holdfast.ground import clock, ids
from holdfast.ground.frozen import replace
from holdfast.storage.database import drive
from holdfast.team.errors import (
    ChangeTakenBackError,
    ChangeWaitsError,
    RepositoryNotListedError,
    SecretFoundError,
    ServerUnreachableError,
    ServerVersionError,
    TokenRefusedError,
)
from holdfast.team.remote import RemoteTeam
from tests.rig import http_proxy as network
from tests.rig.laptops import OTHER_REPO, Laptop, Office, open_office
from tests.surfaces.team import REPO

CONTEXT = {"title": "Retry queue", "summary": "Jobs are retried.", "repo": REPO, "branch": "b"}
Verb = Callable[[RemoteTeam], Any]


@pytest.fixture
def office(tmp_path: Path, postgres_url: str) -> Iterator[Office]:
    with open_office(tmp_path / "server", postgres_url) as found:
        yield found


@pytest.fixture
def laptop(office: Office, tmp_path: Path) -> Laptop:
    return Laptop(tmp_path / "ana", office, "ana", office.add("ana"))


@pytest.fixture
def other(office: Office, tmp_path: Path) -> Laptop:
    return Laptop(tmp_path / "bo", office, "bo", office.add("bo"))


def publish(laptop: Laptop, key: str | None = None, **fields: Any) -> Any:
    return drive(laptop.team.with_key(key).publish_context(**{**CONTEXT, **fields}))


def list_titles(laptop: Laptop) -> list[str]:
    return [each.title for each in drive(laptop.team.get_contexts())]


def test_two_laptops_share_what_they_publish_claim_and_hand_over(laptop: Laptop, other: Laptop):
    published = publish(laptop)
    claim = drive(laptop.team.claim(["src/queue/**"], "The queue gets a delay", repo=REPO))
    offered = drive(laptop.team.handoff(claim.id, to="bo", note="The tests are missing"))

    assert list_titles(other) == ["Retry queue"]
    state = drive(other.team.get_state())
    assert [each.id for each in state.claims] == [claim.id]
    accepted = drive(other.team.accept(offered.id))
    assert (accepted.status, accepted.to and accepted.to.handle) == ("accepted", "bo")
    assert drive(other.team.complete(offered.id)).status == "completed"
    drive(laptop.team.revoke_context(published.id))
    assert list_titles(other) == []
    assert [each.id for each in drive(laptop.team.list_own_contexts())] == [published.id]
    with pytest.raises(HoldfastError) as refused:
        drive(other.team.revoke_context(published.id))
    assert (refused.value.code, refused.value.exit_code) == ("context_not_found", 3)


def test_who_this_machine_is_is_known_from_the_server(laptop: Laptop, office: Office):
    owner = laptop.team.owner

    assert (owner.handle, owner.workspace_id) == ("ana", office.settings.workspace)
    assert owner.developer_id == drive(laptop.team.get_me()).id


# --- what never leaves ----------------------------------------------------------------------------


def test_what_the_rules_refuse_is_not_sent(laptop: Laptop, office: Office):
    secret = "ghp_" + "a1B2" * 9

    with pytest.raises(SecretFoundError):
        publish(laptop, summary=f"The token is {secret}")

    assert office.proxy.requests == []


@pytest.mark.parametrize("repo", [OTHER_REPO, None, "payouts-internal"])
def test_a_repository_that_is_not_listed_is_not_named(
    repo: str | None, laptop: Laptop, office: Office
):
    team = laptop.team
    verbs: list[Verb] = [
        lambda team: team.publish_context(**{**CONTEXT, "repo": repo}),
        lambda team: team.claim(["a.py"], "Because", repo=repo),
        lambda team: team.show_presence(ids.new_id(), ["a.py"], repo=repo),
    ]

    for verb in verbs:
        with pytest.raises(RepositoryNotListedError):
            drive(verb(team))

    assert office.proxy.requests == []
    drive(team.look_near(repo))
    assert b"unlisted" not in office.proxy.sent


def test_a_short_name_is_sent_as_it_is_listed(laptop: Laptop):
    assert publish(laptop, repo="Acme/Payouts").repo == REPO


def test_the_token_is_in_one_header_of_a_request_and_in_no_error(laptop: Laptop, office: Office):
    publish(laptop)
    office.proxy.behave = network.answer_with(laptop.token.text.encode(), kind="text/html")

    with pytest.raises(HoldfastError) as error:
        drive(laptop.team.get_state())

    secret = laptop.token.text.encode()
    for request in office.proxy.requests:
        head, _, body = request.partition(b"\r\n\r\n")
        assert head.count(secret) == 1
        assert secret not in body
    assert laptop.token.text not in error.value.message
    kept = [path for path in laptop.data.rglob("*") if path.is_file()]
    assert [path.name for path in kept if secret in path.read_bytes()] == ["team-token"]


# --- a server that cannot be reached --------------------------------------------------------------

PAGE = b"<html>Please log in to the network</html>"
UNUSABLE = {
    "nothing": network.cut_before,
    "500": network.answer_with(b"oh", "500 Internal Server Error", "text/plain"),
    "502": network.answer_with(PAGE, "502 Bad Gateway", "text/html"),
    "a page": network.answer_with(PAGE, kind="text/html"),
    "a redirect": network.answer_with(b"", "302 Found", Location="https://evil.example/"),
    "a permanent redirect": network.answer_with(b"{}", "308 Permanent Redirect", Location="/x"),
    "too much": network.answer_with(b"[" * (17 << 20)),
    "garbage": network.answer_raw(b"\x00\xff\x16\x03 not HTTP at all\r\n\r\n"),
    "half of JSON": network.answer_with(b'{"contexts": ['),
    "another JSON": network.answer_with(b'["contexts"]'),
    "deep JSON": network.answer_with(b"[" * 200_000),
    "no length": network.answer_raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{"),
    "an endless head": network.answer_raw(b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 5_000),
}
SPOOLED: dict[str, Verb] = {
    "publish": lambda team: team.publish_context(**CONTEXT),
    "revoke": lambda team: team.revoke_context(ids.new_id()),
    "claim": lambda team: team.claim(["a.py"], "Because", repo=REPO),
    "release": lambda team: team.release(ids.new_id()),
}
REFUSED: dict[str, Verb] = {
    "contexts": lambda team: team.get_contexts(),
    "state": lambda team: team.get_state(),
    "claims": lambda team: team.list_claims(),
    "near": lambda team: team.look_near(REPO),
    "handoff": lambda team: team.handoff(ids.new_id()),
    "accept": lambda team: team.accept(ids.new_id()),
    "decline": lambda team: team.decline(ids.new_id()),
    "complete": lambda team: team.complete(ids.new_id()),
    "cancel": lambda team: team.cancel(ids.new_id()),
    "visibility": lambda team: team.set_visibility("private"),
}


@pytest.mark.parametrize("how", UNUSABLE)
def test_what_is_no_answer_is_a_server_that_cannot_be_reached(
    how: str, laptop: Laptop, office: Office
):
    drive(laptop.team.get_me())
    office.proxy.behave = UNUSABLE[how]

    for verb in REFUSED.values():
        with pytest.raises(ServerUnreachableError) as error:
            drive(verb(laptop.team))
        assert error.value.exit_code == 6
        assert "evil" not in error.value.message
    for verb in SPOOLED.values():
        with pytest.raises(ChangeWaitsError):
            drive(verb(laptop.team))
    office.proxy.behave = network.pass_on
    assert list_titles(laptop) == ["Retry queue"]
    assert laptop.team.outbox.is_empty()


def test_a_machine_that_never_reached_its_server_keeps_nothing(laptop: Laptop, office: Office):
    office.proxy.close()

    with pytest.raises(ServerUnreachableError, match="nothing listens"):
        publish(laptop)

    assert laptop.team.outbox.is_empty()


def test_a_slow_server_is_waited_for_by_a_person_and_not_for_ever(
    laptop: Laptop, office: Office, monkeypatch: pytest.MonkeyPatch
):
    drive(laptop.team.get_me())
    office.proxy.then = [network.delay(0.3)]
    assert list_titles(laptop) == []

    office.proxy.behave = network.delay(60)
    monkeypatch.setattr("holdfast.team.remote.SECONDS", 0.1)
    with pytest.raises(ServerUnreachableError, match=r"within 0.1 s"):
        list_titles(laptop)


@pytest.mark.parametrize("how", [network.cut_after, network.cut_inside, network.repeat])
def test_a_change_whose_answer_is_lost_is_made_once(
    how: network.Behaviour, laptop: Laptop, office: Office
):
    drive(laptop.team.get_me())
    for number in range(3):
        office.proxy.then = [how]
        publish(laptop, branch=f"b{number}")
    office.proxy.then = [how]
    claim = drive(laptop.team.claim(["a.py"], "Because", repo=REPO))
    office.proxy.then = [how]
    drive(laptop.team.handoff(claim.id))

    assert len(drive(laptop.team.list_own_contexts())) == 3
    state = drive(laptop.team.get_state())
    assert (len(state.claims), len(state.handoffs)) == (1, 1)


def test_a_server_that_closes_each_time_makes_a_publication_wait_and_has_it_once(
    laptop: Laptop, office: Office
):
    drive(laptop.team.get_me())
    office.proxy.behave = network.cut_after
    with pytest.raises(ChangeWaitsError) as kept:
        publish(laptop)
    [entry] = laptop.team.outbox.list_all()
    assert (entry.receipt, entry.was_tried) == (kept.value.receipt, True)

    office.proxy.behave = network.pass_on
    laptop.team.send_waiting()

    assert len(drive(laptop.team.list_own_contexts())) == 1
    assert laptop.team.outbox.is_empty()


# --- what waits -----------------------------------------------------------------------------------


def go_offline(laptop: Laptop) -> None:
    drive(laptop.team.get_me())
    laptop.office.proxy.behave = network.cut_before


def go_online(laptop: Laptop) -> None:
    laptop.office.proxy.behave = network.pass_on


def test_what_was_made_offline_is_sent_in_order_before_anything_else(laptop: Laptop):
    go_offline(laptop)
    for number in range(3):
        with pytest.raises(ChangeWaitsError):
            publish(laptop, title=f"Part {number}", branch=f"b{number}")
    go_online(laptop)

    publish(laptop, title="Online", branch="b9")

    assert list_titles(laptop) == ["Online", "Part 2", "Part 1", "Part 0"]


def test_what_waits_is_found_by_its_receipt_when_it_was_sent(laptop: Laptop):
    go_offline(laptop)
    with pytest.raises(ChangeWaitsError) as kept:
        publish(laptop)
    with pytest.raises(ChangeWaitsError) as claimed:
        drive(laptop.team.claim(["a.py"], "Because", repo=REPO))
    go_online(laptop)
    assert list_titles(laptop) == ["Retry queue"]

    revoked = drive(laptop.team.revoke_context(kept.value.receipt))
    released = drive(laptop.team.release(claimed.value.receipt))

    assert revoked.revoked_at is not None
    assert released.released_at is not None
    assert list_titles(laptop) == []


def test_what_the_server_never_heard_of_is_taken_back(laptop: Laptop, office: Office):
    drive(laptop.team.get_me())
    listener, port = office.proxy, office.proxy.port
    listener.close()
    with pytest.raises(ChangeWaitsError) as kept:
        publish(laptop)

    with pytest.raises(ChangeTakenBackError):
        drive(laptop.team.revoke_context(kept.value.receipt))

    assert laptop.team.outbox.is_empty()
    assert port


def test_what_may_have_been_done_is_revoked_behind_it(laptop: Laptop, office: Office):
    drive(laptop.team.get_me())
    office.proxy.behave = network.cut_after
    with pytest.raises(ChangeWaitsError) as kept:
        publish(laptop)
    with pytest.raises(ChangeWaitsError):
        drive(laptop.team.revoke_context(kept.value.receipt))
    go_online(laptop)

    assert list_titles(laptop) == []

    [context] = drive(laptop.team.list_own_contexts())
    assert context.revoked_at is not None
    assert laptop.team.outbox.is_empty()


def test_what_the_server_refuses_is_kept_aside_with_the_reason(laptop: Laptop):
    go_offline(laptop)
    with pytest.raises(ChangeWaitsError):
        drive(laptop.team.revoke_context(ids.new_id()))
    with pytest.raises(ChangeWaitsError):
        publish(laptop)
    go_online(laptop)

    assert list_titles(laptop) == ["Retry queue"]

    [refused] = laptop.team.outbox.list_refused()
    assert "has the id" in refused.reason
    assert laptop.team.outbox.is_empty()


def test_the_same_request_waits_once(laptop: Laptop):
    go_offline(laptop)
    receipts = set()
    for _ in range(2):
        with pytest.raises(ChangeWaitsError) as kept:
            publish(laptop, key="k1")
        receipts.add(kept.value.receipt)

    assert len(receipts) == len(laptop.team.outbox.list_all()) == 1


def test_what_waits_for_one_developer_is_not_sent_for_another(
    laptop: Laptop, other: Laptop, office: Office
):
    go_offline(laptop)
    with pytest.raises(ChangeWaitsError):
        publish(laptop)
    go_online(laptop)
    laptop.token = other.token

    assert list_titles(laptop) == []

    [refused] = laptop.team.outbox.list_refused()
    assert "another developer" in refused.reason


def test_what_waits_is_private_and_survives_a_token_that_ended(laptop: Laptop, office: Office):
    go_offline(laptop)
    with pytest.raises(ChangeWaitsError):
        publish(laptop)
    go_online(laptop)
    office.revoke(laptop.token)

    for verb in (*REFUSED.values(), *SPOOLED.values()):
        with pytest.raises(TokenRefusedError) as error:
            drive(verb(laptop.team))
        assert error.value.exit_code == 5

    [entry] = laptop.team.outbox.list_all()
    assert Path(entry.file).stat().st_mode & 0o777 == 0o600
    assert Path(entry.file).parent.stat().st_mode & 0o777 == 0o700


CAPTIVE = network.answer_with(b'{"ok": true}')
BROKEN = network.answer_with(
    b'{"type": "about:blank", "code": "bug", "detail": "x"}', "500 Internal Server Error"
)


def break_changes(behave: network.Behaviour) -> network.Behaviour:
    """What answers a POST by itself, and passes everything else on."""

    def run(upstream: network.Upstream, request: bytes) -> bytes | None:
        is_change = request.startswith(b"POST ")
        return behave(upstream, request) if is_change else network.pass_on(upstream, request)

    return run


def keep_one(laptop: Laptop, **fields: Any) -> None:
    go_offline(laptop)
    with pytest.raises(ChangeWaitsError):
        publish(laptop, **fields)
    go_online(laptop)


def test_an_answer_that_says_nothing_of_it_acknowledges_nothing(laptop: Laptop, office: Office):
    keep_one(laptop)
    office.proxy.behave = CAPTIVE
    with pytest.raises(ServerUnreachableError, match="form that is unknown"):
        list_titles(laptop)
    with pytest.raises(ChangeWaitsError):
        publish(laptop, title="Later", branch="c")

    office.proxy.behave = network.pass_on

    assert list_titles(laptop) == ["Later", "Retry queue"]
    assert laptop.team.outbox.is_empty()


def test_a_key_means_one_request_of_one_operation(laptop: Laptop):
    go_offline(laptop)
    with pytest.raises(ChangeWaitsError) as published:
        publish(laptop, key="1")
    with pytest.raises(ChangeWaitsError) as claimed:
        drive(laptop.team.with_key("1").claim(["k.py"], "Because", repo=REPO))
    with pytest.raises(KeyReusedError):
        publish(laptop, key="1", title="Another")
    go_online(laptop)

    assert published.value.receipt != claimed.value.receipt
    assert list_titles(laptop) == ["Retry queue"]
    assert [each.paths for each in drive(laptop.team.list_claims())] == [("k.py",)]


def test_what_the_server_does_not_take_stops_no_read_and_no_order(laptop: Laptop, office: Office):
    keep_one(laptop)
    office.proxy.behave = break_changes(BROKEN)

    assert list_titles(laptop) == []
    with pytest.raises(ChangeWaitsError, match="what waits first: it answered 500"):
        publish(laptop, title="Later", branch="c")
    go_online(laptop)

    assert list_titles(laptop) == ["Later", "Retry queue"]


@pytest.mark.parametrize(
    "between",
    [CAPTIVE, network.answer_with(b"<h1>502</h1>", "502 Bad Gateway", "text/html")],
    ids=["captive", "proxy"],
)
def test_what_something_in_between_answers_never_sets_a_change_aside(
    between: network.Behaviour, laptop: Laptop, office: Office
):
    keep_one(laptop)
    office.proxy.behave = break_changes(between)
    for _ in range(7):
        assert list_titles(laptop) == []
    go_online(laptop)

    assert list_titles(laptop) == ["Retry queue"]
    assert laptop.team.outbox.list_refused() == []


def test_what_the_server_never_takes_is_set_aside_and_reported(laptop: Laptop, office: Office):
    keep_one(laptop)
    office.proxy.behave = break_changes(BROKEN)
    for _ in range(5):
        assert list_titles(laptop) == []
    go_online(laptop)

    publish(laptop, title="Later", branch="c")

    [refused] = laptop.team.outbox.list_refused()
    assert refused.reason == "The server did not take it 5 times: it answered 500."
    assert list_titles(laptop) == ["Later"]


def test_a_change_without_the_right_to_it_is_set_aside_and_stops_no_read(
    laptop: Laptop, office: Office
):
    keep_one(laptop)
    laptop.token = office.add_token("ana", "context:read")

    assert list_titles(laptop) == []

    [refused] = laptop.team.outbox.list_refused()
    assert "context:publish" in refused.reason


def test_a_damaged_change_is_reported_and_the_others_are_sent(laptop: Laptop):
    keep_one(laptop, title="Damaged")
    keep_one(laptop, title="Whole", branch="c")
    first, _ = laptop.team.outbox.list_all()
    Path(first.file).write_bytes(b"{")

    assert list_titles(laptop) == ["Whole"]

    [refused] = laptop.team.outbox.list_refused()
    assert refused.receipt == first.receipt
    assert "is damaged" in refused.reason
    assert Path(f"{first.file}.damaged").exists()


def test_a_call_of_an_agent_is_bounded_with_all_that_is_sent_before_it(
    laptop: Laptop, office: Office, monkeypatch: pytest.MonkeyPatch
):
    for branch in ("a", "b", "c"):
        keep_one(laptop, branch=branch)
    monkeypatch.setattr("holdfast.team.remote.AGENT_SECONDS", 0.5)
    office.proxy.behave = network.delay(60)
    team = RemoteTeam(laptop.team.joined, is_for_agent=True)
    asked = len(office.proxy.requests)

    with pytest.raises(ServerUnreachableError):
        drive(team.get_state())
    with pytest.raises(ChangeWaitsError):
        drive(team.with_key(None).publish_context(**CONTEXT))

    assert len(office.proxy.requests) <= asked + 2  # one for each, not one for each that waits
    assert len(laptop.team.outbox.list_all()) == 4


# --- another version, another clock ---------------------------------------------------------------


def test_what_a_newer_server_adds_is_passed_over(laptop: Laptop, office: Office):
    publish(laptop)
    office.proxy.behave = network.change_body(lambda body: body.replace(b'{"', b'{"new": [1], "'))

    assert list_titles(laptop) == ["Retry queue"]


MISSING = (
    b'{"type": "about:blank", "status": 404, "code": "not_found",'
    b' "detail": "There is nothing at this path."}'
)


def test_a_server_that_lacks_a_route_is_named_with_both_versions(laptop: Laptop, office: Office):
    drive(laptop.team.get_me())
    joined = laptop.team.joined
    assert joined.known is not None
    joined.keep_known(replace(joined.known, version="0.0.9"))
    office.proxy.behave = network.answer_with(MISSING, "404 Not Found", "application/problem+json")

    with pytest.raises(ServerVersionError, match=r"GET /api/team/near: it runs Holdfast 0\.0\.9"):
        drive(laptop.team.look_near(REPO))


def test_a_route_that_this_version_has_is_missing_in_something_in_between(
    laptop: Laptop, office: Office
):
    drive(laptop.team.get_me())
    office.proxy.behave = network.answer_with(MISSING, "404 Not Found", "application/problem+json")

    with pytest.raises(ServerUnreachableError, match="it answered 404 to GET /api/team/near"):
        drive(laptop.team.look_near(REPO))


def test_a_401_of_something_in_between_says_nothing_about_the_token(laptop: Laptop, office: Office):
    drive(laptop.team.get_me())
    office.proxy.behave = network.answer_with(b'{"error": "log in"}', "401 Unauthorized")

    with pytest.raises(ServerUnreachableError, match="it answered 401"):
        drive(laptop.team.get_state())


def test_a_clock_that_is_days_off_says_nothing_wrong_about_times(
    laptop: Laptop, other: Laptop, monkeypatch: pytest.MonkeyPatch
):
    published = publish(other, ttl_hours=24)
    true_now = clock.now
    for days in (-2, 2):
        monkeypatch.setattr(clock, "now", lambda days=days: true_now() + timedelta(days=days))
        team = laptop.team
        [context] = drive(team.get_contexts())
        left = context.expires_at - team.now()
        assert timedelta(hours=23) < left < timedelta(hours=25)
        assert context.id == published.id
        assert not laptop.team.joined.is_paused


# --- privacy --------------------------------------------------------------------------------------


def test_a_private_developer_is_absent_byte_for_byte(
    laptop: Laptop, office: Office, tmp_path: Path
):
    drive(laptop.team.get_me())
    heard: list[bytes] = []

    def record(upstream: network.Upstream, request: bytes) -> bytes:
        answer = upstream.ask(request)
        heard.append(b"\r\n".join(sorted(answer.split(b"\r\n"))))
        return answer

    def ask() -> list[bytes]:
        heard.clear()
        drive(laptop.team.get_contexts())
        drive(laptop.team.look_near(REPO))
        for who in ("zoe", "nobody"):
            with pytest.raises(HoldfastError):
                drive(laptop.team.get_contexts(who))
        answers = [line for answer in heard for line in answer.split(b"\r\n")]
        return [line for line in answers if not line.lower().startswith(b"date:")]

    office.proxy.behave = record
    before = ask()
    zoe = Laptop(tmp_path / "zoe", office, "zoe", office.add("zoe", "private"))
    office.proxy.behave = network.pass_on
    publish(zoe)
    drive(zoe.team.show_presence(ids.new_id(), ["src/queue.py"], repo=REPO))
    office.proxy.behave = record

    assert ask() == before
    assert b"zoe" not in b"".join(line for line in before if b"No developer" not in line)
