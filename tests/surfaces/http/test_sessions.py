"""Sessions over HTTP: parse, one verb, format; on both engines, through a real server."""

import json
import os
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest

from holdfast.surfaces.http.here import SeenRoots
from holdfast.surfaces.http.token import Keys
from tests.faults.audit import with_sessions
from tests.surfaces.http.server import append, create_session, is_problem

LIVE = {"status": "live", "idle_since": None}


def test_a_session_is_started_and_read_again(api):
    started = api.post(
        "/api/sessions", json={"chatmode": "architect", "name": "Ticket 7", "git_branch": "main"}
    )

    assert started.status_code == 201
    session = started.json()
    assert started.headers["location"] == f"/api/sessions/{session['id']}"
    assert started.headers["etag"] == f'"{session["revision"]}"'
    found = api.get(started.headers["location"])
    assert found.headers["etag"] == started.headers["etag"]
    assert found.json() == {**session, **LIVE, "resume": ""}
    assert (session["name"], session["user_id"], session["context"]) == (
        "Ticket 7",
        "fault-tester",
        {},
    )


def test_an_id_in_capitals_means_the_same_session(api):
    session = create_session(api)

    assert api.get(f"/api/sessions/{session['id'].upper()}").json()["id"] == session["id"]


def test_sessions_are_listed_page_by_page_newest_first(api):
    ids = [create_session(api, name=f"page {number}")["id"] for number in range(5)]

    pages, below = [], None
    for _ in range(3):
        answer = api.get(
            "/api/sessions", params={"limit": 2} | ({"below": below} if below else {})
        ).json()
        pages += [session["id"] for session in answer["sessions"]]
        below = answer["below"]
        assert answer["more"] == (below is not None)

    assert pages[:5] == ids[::-1]


def test_events_are_appended_numbered_and_read_page_by_page(api):
    session = create_session(api)

    numbers = [
        append(api, session["id"], f"event {number}").json()["sequence"] for number in range(1, 6)
    ]
    first = api.get(f"/api/sessions/{session['id']}/events", params={"limit": 3}).json()
    rest = api.get(
        f"/api/sessions/{session['id']}/events", params={"after": first["after"], "limit": 3}
    ).json()

    assert numbers == [1, 2, 3, 4, 5]
    assert [event["content"] for event in first["events"]] == ["event 1", "event 2", "event 3"]
    assert (first["more"], first["after"]) == (True, 3)
    assert [event["content"] for event in rest["events"]] == ["event 4", "event 5"]
    assert (rest["more"], rest["after"]) == (False, 5)


def test_the_end_of_a_log_is_read_by_turns_and_by_tokens(api):
    session = create_session(api)
    for number in range(4):
        append(api, session["id"], f"{number} " * 100)

    path = f"/api/sessions/{session['id']}/events"
    assert [event["sequence"] for event in api.get(path, params={"turns": 2}).json()["events"]] == [
        3,
        4,
    ]
    assert [
        event["sequence"] for event in api.get(path, params={"tokens": 60}).json()["events"]
    ] == [4]
    # About 600 characters each, with every field.
    few = api.get(path, params={"tokens": 400}).json()
    assert [event["sequence"] for event in few["events"]] == [3, 4]
    assert few["warnings"] == []
    assert is_problem(api.get(path, params={"turns": 2, "after": 1}), 400)


@pytest.mark.parametrize("character", ["x", '"'])
def test_one_long_event_does_not_break_the_limit(api, character):
    session = create_session(api)
    append(api, session["id"], character * 400_000)

    answer = api.get(f"/api/sessions/{session['id']}/events", params={"tokens": 500})

    [event] = answer.json()["events"]
    assert len(json.dumps(event, ensure_ascii=False)) <= 2_000
    assert event["content"].startswith(character * 400)
    assert answer.json()["warnings"] == [
        "Event 1 is cut to the limit: it has 400,000 characters. Without a limit it comes whole."
    ]


def test_a_turn_too_long_for_one_answer_is_cut_and_the_answer_says_so(api, server):
    session = create_session(api)
    append(api, session["id"], "Fix the login.")
    step = {"type": "tool_call", "role": "assistant", "content": "x"}
    url = server.database_url or f"sqlite:///{server.home / 'holdfast.db'}"
    for _ in range(2):
        with_sessions(url, lambda sessions: sessions.append_events(session["id"], [step] * 501))

    cut = api.get(f"/api/sessions/{session['id']}/events", params={"turns": 1}).json()

    assert [event["sequence"] for event in cut["events"]] == [1, *range(5, 1004)]
    assert cut["warnings"] == [
        "One call returns 1,000 events: older ones are left out, and of the first turn 2 to 4."
    ]


def test_an_event_may_bring_its_parts_its_id_and_the_number_it_expects(api):
    session = create_session(api)
    event = {
        "type": "tool_call",
        "role": "tool",
        "content": "ls",
        "parts": {"exit": 0},
        "event_id": str(uuid.uuid4()),
    }

    first = api.post(
        f"/api/sessions/{session['id']}/events", json={**event, "expected_sequence": 0}
    )
    again = api.post(
        f"/api/sessions/{session['id']}/events", json={**event, "expected_sequence": 0}
    )
    late = api.post(
        f"/api/sessions/{session['id']}/events",
        json={**event, "event_id": None, "expected_sequence": 0},
    )

    assert first.json() == again.json()
    assert first.json()["parts"] == {"exit": 0}
    assert is_problem(late, 409, "sequence_conflict")


def test_an_ended_session_refuses_events_and_continues_in_a_new_one(api, server):
    root = server.home / "shown"
    (root / "spec.md").touch()
    session = create_session(api, name="Long")
    context = {
        "files": [f"{root}/spec.md", f"{root}/gone.md"],
        "applet": ["git-diff", "path=/repo"],
    }
    api.patch(f"/api/sessions/{session['id']}", json={"context": context, "envHint": "staging"})
    for _ in range(2):
        ended = api.post(f"/api/sessions/{session['id']}/end", json={})
        assert (ended.status_code, ended.json()["ended_at"] is not None) == (200, True)

    refused = append(api, session["id"])
    resumed = api.post(f"/api/sessions/{session['id']}/resume", json={})

    assert is_problem(refused, 409, "session_ended")
    assert refused.json()["next_actions"] == [f"POST /api/sessions/{session['id']}/resume"]
    assert resumed.status_code == 201
    new = resumed.json()
    assert resumed.headers["location"] == f"/api/sessions/{new['id']}"
    assert (new["resumed_from"], new["name"], new["context"]) == (session["id"], "Long", context)
    assert new["resume"] == (
        f"Environment: staging\n\nRelevant files:\n- {root}/spec.md\n(1 file not found)\n\n"
        "Last applet: git-diff (path=/repo). It can be opened again at "
        "/?applet=git-diff&path=%2Frepo"
    )


def test_a_new_session_is_handed_what_to_continue_from(api):
    first = create_session(api, worktree="/r/payouts")
    event = {"type": "user_message", "role": "user", "content": "Stop after three letters"}
    api.post(f"/api/sessions/{first['id']}/events", json=event)

    second = create_session(api, worktree="/r/payouts")
    elsewhere = create_session(api, worktree="/r/invoices")

    assert "> Stop after three letters" in second["resume"]
    assert first["resume"] == elsewhere["resume"] == ""


def test_an_open_session_is_resumed_as_it_is(api):
    session = create_session(api)

    resumed = api.post(
        f"/api/sessions/{session['id']}/resume",
        content=b"",
        headers={"content-type": "application/json"},
    )

    assert (resumed.status_code, resumed.json()["id"]) == (200, session["id"])
    assert "location" not in resumed.headers


@pytest.mark.parametrize("step", ["end", "resume"])
def test_a_step_without_a_body_works_and_a_form_is_refused(api, step):
    path = f"/api/sessions/{create_session(api)['id']}/{step}"
    form = {"content-type": "application/x-www-form-urlencoded"}

    assert is_problem(api.post(path, content=b"x=1", headers=form), 415)
    assert is_problem(api.post(path, content=b"", headers=form), 415)
    assert is_problem(api.post(path, content=b"{}"), 415)
    assert api.post(path).status_code == 200
    assert is_problem(api.post(path, json={"more": 1}), 400)


def test_a_write_that_needs_a_body_says_what_is_missing(api):
    assert is_problem(api.post("/api/sessions"), 400)


def test_the_tag_changes_when_a_session_ends(api):
    session = create_session(api)
    path = f"/api/sessions/{session['id']}"
    before = api.get(path).headers["etag"]

    ended = api.post(f"{path}/end").headers["etag"]

    assert ended == api.get(path).headers["etag"] != before
    assert is_problem(api.patch(path, json={"name": "x"}, headers={"If-Match": before}), 412)
    renamed = api.patch(path, json={"name": "x"}, headers={"If-Match": ended})
    assert (renamed.status_code, renamed.headers["etag"] == ended) == (200, False)


def test_missing_files_are_counted_wherever_they_are(api, server):
    """As on the command line: this server answers the developer of this machine alone."""
    root = server.home / "shown"
    if not (root / "link").is_symlink():
        (root / "link").symlink_to("/etc/no-such-file")
    there = ["/etc/passwd", "../token", "/"]
    names = [*there, "/etc/no-such-file", "../no-such-file", f"{root}/../no-such-file"]
    names += [f"{root}/link", f"{root}/link/x", f"{root}/gone.md", "gone.md"]
    session = create_session(api, worktree=str(root))
    path = f"/api/sessions/{session['id']}"

    api.patch(path, json={"setContext": {"setName": "files", "items": names}})

    shown = "\n".join(f"- {name}" for name in there)
    resume = f"Relevant files:\n{shown}\n(7 files not found)"
    assert api.get(path).json()["resume"] == resume
    assert api.post(f"{path}/resume", json={}).json()["resume"] == resume


def test_a_server_for_other_machines_looks_only_into_the_folders_that_may_be_shown(tmp_path):
    """Whatever a path looks like: no caller can ask that server which files its disk has."""
    root = tmp_path / "shown"
    root.mkdir()
    (root / "link").symlink_to("/etc/no-such-file")
    (root / "spec.md").touch()
    seen = SeenRoots([str(root)], looks_everywhere=False)
    hidden = ["/etc/no-such-file", "no-such-file", f"{root}/../no-such-file", "/", f"{root}/link/x"]

    assert [path for path in hidden if not seen.exists(path)] == []
    assert (seen.exists(f"{root}/spec.md"), seen.exists(f"{root}/gone.md")) == (True, False)


def test_the_scratchpad_is_merged(api):
    session = create_session(api)
    path = f"/api/sessions/{session['id']}/state"
    api.patch(path, json={"scratchpad": {"task": {"id": 1, "note": "x"}, "gone": 1}})

    changed = api.patch(path, json={"scratchpad": {"task": {"note": None}, "gone": None}})

    assert changed.json()["scratchpad"] == {"task": {"id": 1}}
    assert api.get(path).json() == changed.json()


# --- PATCH and If-Match ---------------------------------------------------------------------------


def test_context_sets_are_replaced_set_and_united(api):
    session = create_session(api)
    path = f"/api/sessions/{session['id']}"

    api.patch(path, json={"context": {"files": ["/a"], "ports": ["80"]}})
    api.patch(path, json={"setContext": {"setName": "ports", "items": []}})
    changed = api.patch(path, json={"unionContext": {"setName": "files", "items": ["/b", "/a"]}})

    assert changed.json()["context"] == {"files": ["/a", "/b"]}
    assert changed.json()["warnings"] == []


def test_name_hint_and_sets_change_together_or_not_at_all(api):
    session = create_session(api)
    path = f"/api/sessions/{session['id']}"

    full = {"setName": "files", "items": [f"/{number}" for number in range(11)]}
    refused = api.patch(path, json={"name": "New", "setContext": full})
    assert is_problem(refused, 400, "invalid_value")
    assert api.get(path).json()["name"] is None

    changed = api.patch(
        path,
        json={
            "name": "New",
            "currentIntent": "mend",
            "setContext": {"setName": "fles", "items": ["/a"]},
        },
    )
    assert changed.json()["name"] == "New"
    assert changed.json()["metadata"]["currentIntent"] == "mend"
    assert changed.json()["warnings"] == [
        "'fles' is not a known context set; it was kept as it is. Did you mean 'files'?"
    ]
    assert api.patch(path, json={"currentIntent": None}).json()["metadata"].keys() == {
        "name",
        "context",
    }


def test_the_fifty_first_item_is_refused_by_a_rule(api):
    session = create_session(api)
    path = f"/api/sessions/{session['id']}"
    api.patch(
        path, json={"context": {f"set{n}": [str(item) for item in range(10)] for n in range(5)}}
    )

    assert is_problem(
        api.patch(path, json={"setContext": {"setName": "more", "items": ["1"]}}),
        422,
        "context_full",
    )


def test_a_change_with_an_outdated_tag_is_refused(api):
    session = create_session(api)
    path, tag = f"/api/sessions/{session['id']}", f'"{session["revision"]}"'

    first = api.patch(path, json={"name": "one"}, headers={"If-Match": tag})
    second = api.patch(path, json={"name": "two"}, headers={"If-Match": tag})

    assert first.status_code == 200
    assert is_problem(second, 412, "revision_conflict")
    assert api.get(path).json()["name"] == "one"
    assert (
        api.patch(
            path, json={"name": "two"}, headers={"If-Match": first.headers["etag"]}
        ).status_code
        == 200
    )
    assert api.patch(path, json={"name": "three"}, headers={"If-Match": "*"}).status_code == 200


@pytest.mark.parametrize(
    "tag", ['"abc"', 'W/"1"', '"999"', '"7", "8"', '"٣"'.encode(), f'"{10**30}"']
)
def test_a_tag_that_fits_no_revision_changes_nothing(api, tag):
    session = create_session(api)

    answer = api.patch(
        f"/api/sessions/{session['id']}", json={"name": "x"}, headers={"If-Match": tag}
    )

    assert is_problem(answer, 412, "revision_conflict")


def test_one_of_several_tags_is_enough(api):
    session = create_session(api)

    answer = api.patch(
        f"/api/sessions/{session['id']}",
        json={"name": "x"},
        headers={"If-Match": '"900", "1", W/"2"'},
    )

    assert answer.status_code == 200


@pytest.mark.parametrize("tag", ["1", "", '"1', "W/1", '"1" "2"', "*, *", '"1",'])
def test_a_malformed_tag_is_named(api, tag):
    session = create_session(api)

    answer = api.patch(
        f"/api/sessions/{session['id']}", json={"name": "x"}, headers={"If-Match": tag}
    )

    assert is_problem(answer, 400, "invalid_value")
    assert "If-Match" in answer.json()["detail"]


CHANGES = [
    ("PATCH", "", {"name": "x"}),
    ("PATCH", "/state", {"scratchpad": {"a": 1}}),
    ("POST", "/events", {"type": "user_message", "role": "user", "content": "x"}),
    ("POST", "/end", {}),
    ("POST", "/resume", {}),
]


@pytest.mark.parametrize(("method", "route", "body"), CHANGES)
@pytest.mark.parametrize("keyed", [False, True])
def test_every_change_of_a_session_looks_at_the_tag(api, method, route, body, keyed):
    """A stale one changes nothing, with a key and without; one that fits, a list and `*` do."""
    path = f"/api/sessions/{create_session(api)['id']}"
    stale = api.get(path).headers["etag"]
    fresh = api.patch(path, json={"name": "seen"}).headers["etag"]

    def change(tag):
        headers = {"If-Match": tag} | ({"Idempotency-Key": f"k-{uuid.uuid4()}"} if keyed else {})
        return api.request(method, path + route, json=body, headers=headers)

    before = api.get(path).json(), api.get(f"{path}/state").json()
    for tag in (stale, f"W/{fresh}", '"900", "abc"', '"1,2"', '""'):
        assert is_problem(change(tag), 412, "revision_conflict")
    for tag in ("2", "", '"2', '"2" "2"', "*, *", '*, "2"'):
        assert is_problem(change(tag), 400, "invalid_value")
    assert (api.get(path).json(), api.get(f"{path}/state").json()) == before
    assert change(f'"a,b", {stale} ,{fresh}').status_code in (200, 201)
    assert change("*").status_code in (200, 201)


def test_several_lines_of_tags_are_one_list(api):
    session = create_session(api)
    path = f"/api/sessions/{session['id']}"

    answer = api.patch(
        path, json={"name": "x"}, headers=[("If-Match", '"900"'), ("If-Match", '"1"')]
    )

    assert answer.status_code == 200
    assert is_problem(
        api.patch(path, json={}, headers=[("If-Match", '"2"'), ("If-Match", "x")]), 400
    )


def test_a_scratchpad_has_a_tag_of_its_own(api):
    """It changes without the session, so two who saw the same cannot both write."""
    path = f"/api/sessions/{create_session(api)['id']}/state"
    seen = api.get(path).headers["etag"]

    first = api.patch(path, json={"scratchpad": {"a": 1}}, headers={"If-Match": seen})
    second = api.patch(path, json={"scratchpad": {"a": 2}}, headers={"If-Match": seen})

    assert first.status_code == 200
    assert first.headers["etag"] == api.get(path).headers["etag"] != seen
    assert is_problem(second, 412, "revision_conflict")
    assert api.get(path).json()["scratchpad"] == {"a": 1}
    third = api.patch(
        path, json={"scratchpad": {"a": 3}}, headers={"If-Match": first.headers["etag"]}
    )
    assert third.json()["scratchpad"] == {"a": 3}


def test_only_one_of_many_writers_with_the_same_tag_succeeds(api, server, scale):
    """The check and the change are one: no other write comes between."""
    with server.client() as other, ThreadPoolExecutor(4) as pool:
        for number in range(scale(50)):
            path = f"/api/sessions/{create_session(api)['id']}/state"
            seen = {"If-Match": api.get(path).headers["etag"]}
            bodies = [{"scratchpad": {"n": f"{number} {who}"}} for who in range(4)]
            writes = [
                pool.submit((api, other)[who % 2].patch, path, json=body, headers=seen)
                for who, body in enumerate(bodies)
            ]
            assert sorted(write.result().status_code for write in writes) == [200, 412, 412, 412]


@pytest.mark.parametrize("body", [{}, {"setContext": None}])
def test_a_patch_of_nothing_changes_nothing(api, body):
    session = create_session(api)
    path = f"/api/sessions/{session['id']}"

    answer = api.patch(path, json=body)

    assert (answer.status_code, answer.headers["etag"]) == (200, '"1"')
    session.pop("resume")
    assert answer.json() == {**session, "warnings": []}
    assert is_problem(api.patch(path, json=body, headers={"If-Match": '"2"'}), 412)
    assert is_problem(api.patch(f"/api/sessions/{uuid.uuid4()}", json=body), 404)


# --- requests that come twice ---------------------------------------------------------------------


def writes_of(session_id):
    event = {"type": "user_message", "role": "user", "content": "once"}
    return [
        ("POST", "/api/sessions", {"chatmode": "coder"}, {"chatmode": "other"}),
        ("POST", f"/api/sessions/{session_id}/events", event, {**event, "content": "other"}),
        ("PATCH", f"/api/sessions/{session_id}", {"name": "once"}, {"name": "other"}),
        (
            "PATCH",
            f"/api/sessions/{session_id}/state",
            {"scratchpad": {"a": 1}},
            {"scratchpad": {"a": 2}},
        ),
    ]


@pytest.mark.parametrize("number", range(4))
def test_the_same_key_answers_the_same_and_with_another_body_is_a_conflict(api, number):
    session = create_session(api)
    method, path, body, other = writes_of(session["id"])[number]
    key = {"Idempotency-Key": f"k-{uuid.uuid4()}"}

    first, again = [api.request(method, path, json=body, headers=key) for _ in range(2)]
    reused = api.request(method, path, json=other, headers=key)

    assert (first.status_code, first.json()) == (again.status_code, again.json())
    assert first.status_code in (200, 201)
    assert is_problem(reused, 409, "idempotency_key_reused")
    assert api.request(method, path, json=body, headers=key).json() == first.json()


@pytest.mark.parametrize("verb", ["end", "resume"])
def test_ending_and_resuming_take_a_key_as_well(api, verb):
    session = create_session(api)
    if verb == "resume":
        api.post(f"/api/sessions/{session['id']}/end", json={})
    key = {"Idempotency-Key": f"k-{uuid.uuid4()}"}

    first, again = [
        api.post(f"/api/sessions/{session['id']}/{verb}", json={}, headers=key) for _ in range(2)
    ]

    assert (first.status_code, first.json()) == (again.status_code, again.json())
    assert first.headers["etag"] == again.headers["etag"]


def test_a_key_counts_for_one_operation_of_one_session(api):
    first, second = create_session(api), create_session(api)
    key = {"Idempotency-Key": f"k-{uuid.uuid4()}"}

    answers = [append(api, session["id"], "hi", **key).json() for session in (first, second)]

    assert [answer["session_id"] for answer in answers] == [first["id"], second["id"]]


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "deep"}], ids=["plain", "keyed"])
def test_a_key_costs_no_level_of_depth(api, headers):
    session = create_session(api)
    scratchpad: dict[str, Any] = {}
    for _ in range(62):
        scratchpad = {"a": scratchpad}

    answer = api.patch(
        f"/api/sessions/{session['id']}/state", json={"scratchpad": scratchpad}, headers=headers
    )

    assert answer.status_code == 200, answer.text


def test_a_repeated_change_does_not_conflict_with_itself(api):
    """The tag fitted the first time; the answer was lost, and the request comes again with the tag
    of then.
    """
    session = create_session(api)
    headers = {"Idempotency-Key": f"k-{uuid.uuid4()}", "If-Match": '"1"'}

    first, again = [
        api.patch(f"/api/sessions/{session['id']}", json={"name": "x"}, headers=headers)
        for _ in range(2)
    ]
    other = api.patch(
        f"/api/sessions/{session['id']}", json={"name": "x"}, headers={**headers, "If-Match": '"2"'}
    )

    assert (first.status_code, again.status_code) == (200, 200)
    assert is_problem(other, 409, "idempotency_key_reused")


def test_a_refused_request_does_not_use_up_its_key(api):
    session = create_session(api)
    key = {"Idempotency-Key": f"k-{uuid.uuid4()}"}
    path = f"/api/sessions/{session['id']}/events"

    refused = api.post(
        path, json={"type": "user_message", "role": "nobody", "content": "x"}, headers=key
    )

    assert is_problem(refused, 400)
    assert append(api, session["id"], "x", **key).status_code == 201


@pytest.mark.parametrize("key", ["", "a" * 201, b"\xc3\xa9", "a\tb"])
def test_a_malformed_key_is_refused(api, key):
    session = create_session(api)

    answer = api.post(
        f"/api/sessions/{session['id']}/end", json={}, headers={"Idempotency-Key": key}
    )

    assert is_problem(answer, 400, "invalid_value")
    assert api.get(f"/api/sessions/{session['id']}").json()["ended_at"] is None


def test_two_keys_of_one_request_are_refused(api):
    session = create_session(api)
    keys = [("Idempotency-Key", "one"), ("Idempotency-Key", "two")]

    for method, path, body, _ in writes_of(session["id"]):
        answer = api.request(method, path, json=body, headers=keys)
        assert is_problem(answer, 400, "invalid_value")
        assert "Idempotency-Key" in answer.json()["detail"]
    assert api.get(f"/api/sessions/{session['id']}").json() == {**session, **LIVE, "resume": ""}


def test_two_concurrent_requests_with_one_key_have_one_effect(api, server, scale):
    session = create_session(api)
    count = scale(100)
    with server.client() as other, ThreadPoolExecutor(2) as pool:
        for number in range(count):
            key = {"Idempotency-Key": f"{session['id']}-{number}"}
            both = list(
                pool.map(
                    lambda client, key=key: append(client, session["id"], "x", **key), (api, other)
                )
            )
            assert [answer.status_code for answer in both] == [201, 201]
            assert both[0].json() == both[1].json()

    assert api.get(f"/api/sessions/{session['id']}").json()["last_sequence"] == count


# --- state, health, what does not exist -----------------------------------------------------------


def test_the_state_names_the_developer_and_the_sessions(api):
    session = create_session(api)

    state = api.get("/api/state").json()

    assert state.keys() == {
        "workspace",
        "me",
        "developers",
        "sessions",
        "sessionContexts",
        "claims",
        "handoffs",
        "workEvents",
    }
    me = state["me"]
    assert (state["workspace"], me["workspace"], me["handle"]) == (
        "local",
        "local",
        "fault-tester",
    )
    assert state["sessions"][0]["id"] == session["id"]


def test_health_counts_what_was_accepted(api):
    append(api, create_session(api)["id"])

    health = api.get("/api/health")

    counts = health.json()
    assert (health.status_code, counts["status"], counts["lost"]) == (200, "ok", 0)
    assert counts["accepted"] == counts["stored"] + counts["spooled"] + counts["rejected"] > 0
    assert health.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "path",
    [
        "/api/sessions/nobody",
        "/api/sessions/00000000-0000-7000-8000-000000000000",
        "/api/sessions/%00",
        "/api/sessions/%ff%fe",
    ],
)
@pytest.mark.parametrize("rest", ["", "/events", "/state"])
def test_an_unknown_session_is_not_found(api, path, rest):
    assert is_problem(api.get(path + rest), 404, "session_not_found")
    if rest != "/events":
        body = {"scratchpad": {}} if rest else {"name": "x"}
        headers = {"Idempotency-Key": "k1"}
        assert is_problem(
            api.patch(path + rest, json=body, headers=headers), 404, "session_not_found"
        )


@pytest.mark.parametrize(
    "path", ["/api", "/api/", "/api/sessions/", "/nothing", "/api/sessions/a/b/c", "/docs"]
)
def test_an_unknown_path_is_a_problem_document(api, path):
    assert is_problem(api.get(path), 404, "not_found")


@pytest.mark.parametrize(
    ("method", "path", "taken"),
    [
        ("DELETE", "/api/sessions", "GET, POST"),
        ("PUT", "/api/state", "GET"),
        ("OPTIONS", "/api/state", "GET"),
        ("DELETE", "/api/sessions/x", "GET, PATCH"),
    ],
)
def test_a_method_that_a_path_does_not_take_is_refused_with_those_that_it_takes(
    api, method, path, taken
):
    answer = api.request(method, path)

    assert is_problem(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == taken
    assert "access-control-allow-origin" not in answer.headers


def test_secrets_are_in_no_answer(api, server):
    """TS22: neither the token nor the cookie that follows from it, nor the password
    of the store.
    """
    session = create_session(api)
    password = urlsplit(server.database_url or "").password
    secrets = [server.token, Keys(str(server.home)).cookie, *([password] if password else [])]
    paths = [
        "/api/state",
        "/api/health",
        "/api/sessions",
        "/openapi.json",
        "/login",
        "/",
        "/nothing",
        "/api/nothing",
    ]
    paths += [
        f"/api/sessions/{session['id']}{rest}"
        for rest in ("", "/state", "/events", "/events?limit=x")
    ]
    answers = [api.get(path) for path in paths]

    assert (password is None) == (server.database_url is None)
    for answer in answers:
        assert not [
            secret for secret in secrets if secret in answer.text or secret in str(answer.headers)
        ]
    assert os.stat(server.home / "token").st_mode & 0o777 == 0o600
