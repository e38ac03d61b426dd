"""Memories over HTTP, on both engines, through a real server."""

import uuid

import pytest

from tests.surfaces.http.server import is_problem


def test_a_statement_is_remembered_and_recalled(api):
    mark = f"quux{uuid.uuid4().hex}"
    body = {
        "content": f"The {mark} database listens on port 6543",
        "category": "setup",
        "metadata": {"a": 1},
    }

    said = api.post("/api/memories", json={**body, "session_id": "s-1", "ttl_days": 3})
    found = api.get(
        "/api/memories", params={"query": f"which port has {mark}?", "limit": 3}
    ).json()["memories"]

    assert said.status_code == 201
    memory = said.json()
    assert {name: memory[name] for name in body} == body
    assert (memory["lineage"], memory["source_type"], memory["user_id"]) == (
        ["s-1"],
        "explicit",
        "fault-tester",
    )
    assert found[0]["id"] == memory["id"]
    assert found[0]["relevance"] > 0.7
    assert found[0]["use_count"] == 0


def test_a_question_without_an_answer_gets_an_empty_list(api):
    answer = api.get("/api/memories", params={"query": f"zz{uuid.uuid4().hex}", "min_relevance": 0})

    assert (answer.status_code, answer.json()) == (200, {"memories": []})


def test_memories_are_listed_and_recalled_by_namespace_and_category(api):
    category = f"c{uuid.uuid4().hex}"
    body = {"content": f"port of {category}", "category": category}
    said = api.post("/api/memories", json=body).json()
    kind = {"namespace": said["user_id"], "category": category}

    for question in ({}, {"query": "port"}):
        found = api.get("/api/memories", params=question | kind).json()["memories"]
        assert [memory["id"] for memory in found] == [said["id"]]
        params = question | kind | {"namespace": "another"}
        assert api.get("/api/memories", params=params).json() == {"memories": []}


def test_without_a_question_the_newest_are_listed(api):
    ids = [
        api.post("/api/memories", json={"content": f"said {uuid.uuid4().hex}"}).json()["id"]
        for _ in range(3)
    ]

    first = api.get("/api/memories", params={"limit": 2}).json()["memories"]
    rest = api.get("/api/memories", params={"limit": 1, "below": first[-1]["id"]}).json()[
        "memories"
    ]

    assert [memory["id"] for memory in (*first, *rest)] == ids[::-1]
    assert is_problem(
        api.get("/api/memories", params={"below": "nothing"}), 404, "memory_not_found"
    )


def test_the_same_key_remembers_once(api):
    key, text = {"Idempotency-Key": uuid.uuid4().hex}, f"said once {uuid.uuid4().hex}"

    answers = [api.post("/api/memories", json={"content": text}, headers=key) for _ in range(3)]
    without = api.post("/api/memories", json={"content": text})
    other = api.post("/api/memories", json={"content": "something else"}, headers=key)

    assert [answer.status_code for answer in answers] == [201] * 3
    assert {answer.json()["confidence"] for answer in answers} == {0.8}
    assert without.json()["confidence"] == 0.85
    is_problem(other, 409, "idempotency_key_reused")


@pytest.mark.parametrize(
    "params",
    [
        {"query": ""},
        {"query": "a\x00b"},
        {"query": "a", "limit": 0},
        {"query": "a", "limit": -3},
        {"query": "a", "limit": "many"},
        {"query": "a", "min_relevance": 1.1},
        {"query": "a", "min_relevance": "nan"},
        {"query": "a", "unknown": 1},
    ],
)
def test_a_bad_question_is_refused(api, params):
    assert api.get("/api/memories", params=params).status_code == 400


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"content": ""},
        {"content": 7},
        {"content": "a\x00"},
        {"content": "x" * 100_000},
        {"content": "a", "source_type": "rumour"},
        {"content": "a", "ttl_days": 0},
        {"content": "a", "ttl_days": "3"},
        {"content": "a", "unknown": 1},
    ],
)
def test_a_bad_statement_is_refused(api, body):
    assert api.post("/api/memories", json=body).status_code == 400
