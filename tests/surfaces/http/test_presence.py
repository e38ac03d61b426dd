"""What the hooks of a laptop tell a server, whose store does not have their sessions."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.ground import ids
from tests.surfaces.http.callers import Served, serve_in_process
from tests.surfaces.http.server import is_problem

REPO = "github.com/acme/payouts"
SHOWN = {"client": "claude", "repo": REPO, "branch": "retry", "paths": ["src/queue.py"]}
CONTEXT = {"title": "Retry queue", "summary": "Jobs are retried.", "repo": REPO}
BASIS = {"head": "a" * 40, "files": {"src/queue.py": "b" * 40}}


@pytest.fixture
async def served(database_url: str, workspace: str, tmp_path: Path) -> AsyncIterator[Served]:
    async with serve_in_process(database_url, workspace, tmp_path / "server") as found:
        yield found


async def look(served: Served, handle: str, **asked: str) -> dict[str, Any]:
    client = await served.as_(handle)
    answer = await client.get("/api/team/near", params=asked)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_a_session_that_is_not_stored_is_shown_until_it_ends(served: Served):
    ana, session_id = await served.as_("ana"), ids.new_id()

    shown = await ana.put(f"/api/team/presence/{session_id}", json=SHOWN)
    assert shown.json() == {"session_id": session_id}
    [soft] = (await look(served, "bo", repo=REPO))["claims"]
    assert (soft["developer"]["handle"], soft["paths"]) == ("ana", ["src/queue.py"])
    assert (soft["is_soft"], soft["branch"]) == (True, "retry")

    claimed = await ana.post(
        "/api/claims",
        json={"paths": ["a.py"], "reason": "Retry", "repo": REPO, "session_id": session_id},
    )
    assert (claimed.json()["session_id"], claimed.json()["warnings"]) == (session_id, [])
    assert (await ana.delete(f"/api/team/presence/{session_id}")).status_code == 200
    assert (await look(served, "bo", repo=REPO))["claims"] == []
    assert (await ana.delete(f"/api/team/presence/{session_id}")).status_code == 200


async def test_a_session_that_is_not_shown_is_left_out_with_a_warning(served: Served):
    ana, session_id = await served.as_("ana"), ids.new_id()
    key = {"Idempotency-Key": "k1"}
    body = {**CONTEXT, "session_id": session_id, "basis": BASIS}

    made = (await ana.post("/api/contexts", json=body, headers=key)).json()
    assert (made["session_id"], made["basis"]) == (None, BASIS)
    assert len(made["warnings"]) == 1

    await ana.put(f"/api/team/presence/{session_id}", json=SHOWN)
    again = await ana.post("/api/contexts", json=body, headers=key)
    assert (again.json()["id"], again.headers["Idempotency-Repeated"]) == (made["id"], "true")
    assert (await ana.post("/api/contexts", json=body)).json()["session_id"] == session_id


async def test_a_look_is_about_one_repository_and_what_is_ones_own(served: Served):
    ana, bo = await served.as_("ana"), await served.as_("bo")
    here = (await ana.post("/api/contexts", json=CONTEXT)).json()["id"]
    await ana.post("/api/contexts", json={**CONTEXT, "repo": "github.com/acme/other"})
    theirs = (await bo.post("/api/claims", json={"paths": ["a.py"], "reason": "R"})).json()["id"]

    near = await look(served, "bo", repo="acme/payouts")
    assert [each["id"] for each in near["contexts"]] == [here]
    assert [each["id"] for each in near["own_claims"]] == [theirs]
    assert (near["me"]["handle"], near["own_contexts"], near["claims"]) == ("bo", [], [])
    own = await look(served, "ana")
    assert (len(own["own_contexts"]), own["contexts"], own["elsewhere"]) == (2, [], 0)


async def test_a_private_developer_is_absent_from_a_look(served: Served):
    await served.add("bo")
    before = await look(served, "bo", repo=REPO)
    await served.add("ana", visibility="private")
    ana = await served.as_("ana")
    await ana.put(f"/api/team/presence/{ids.new_id()}", json=SHOWN)
    await ana.post("/api/contexts", json=CONTEXT)

    after = await look(served, "bo", repo=REPO)

    for found in (before, after):
        del found["me"]["seen_at"]
    assert after == before


async def test_the_session_of_another_cannot_be_ended(served: Served):
    ana, bo, session_id = await served.as_("ana"), await served.as_("bo"), ids.new_id()
    await ana.put(f"/api/team/presence/{session_id}", json=SHOWN)

    await bo.delete(f"/api/team/presence/{session_id}")

    assert len((await look(served, "bo", repo=REPO))["claims"]) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"paths": "src/queue.py"},
        {"paths": [1]},
        {"paths": ["a"] * 51},
        {"client": "Claude Code says: hello"},
        {"repo": 7},
        {"repo": "x" * 301},
        {"diff": "+ 1"},
    ],
)
async def test_a_presence_of_another_form_is_refused(wrong: dict[str, Any], served: Served):
    ana = await served.as_("ana")

    answer = await ana.put(f"/api/team/presence/{ids.new_id()}", json={**SHOWN, **wrong})

    assert is_problem(answer, 400)
    assert (await look(served, "ana"))["own_claims"] == []


async def test_names_that_cannot_be_shown_are_left_out(served: Served):
    ana = await served.as_("ana")
    paths = ["/etc/passwd", "a\0b", "ok.py"]
    body = {**SHOWN, "paths": paths, "repo": "a\0b"}

    answer = await ana.put(f"/api/team/presence/{ids.new_id()}", json=body)

    assert answer.status_code == 200
    [soft] = (await look(served, "ana"))["own_claims"]
    assert (soft["paths"], soft["repo"]) == (["ok.py"], None)


async def test_presence_needs_the_scope_of_publishing(served: Served):
    await served.add("ana")
    reader = await served.as_("ana", "context:read")
    path = f"/api/team/presence/{ids.new_id()}"

    for answer in (await reader.put(path, json=SHOWN), await reader.delete(path)):
        assert is_problem(answer, 403, "insufficient_scope")
    ana = await served.as_("ana")
    assert is_problem(await ana.put("/api/team/presence/x", json=SHOWN), 404)
