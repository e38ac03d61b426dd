"""`/openapi.json` is true: schemathesis asks what it allows and what it forbids, and looks at each
answer.
"""

import re
import zlib
from collections import Counter
from typing import Any

import httpx
import hypothesis
import pytest
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from tests.surfaces.http.server import append, create_session

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
    unsupported_method,
]
# Each with a body that is certainly accepted: whether a drawn one is accepted would be luck.
OPERATIONS: dict[str, dict[str, Any] | None] = {
    "GET /api/health": None,
    "GET /api/state": None,
    "GET /api/me": None,
    "POST /api/logins": {"agent": "claude", "machine": "laptop"},
    "GET /api/sessions": None,
    "POST /api/sessions": {"chatmode": "coder"},
    "GET /api/sessions/{session_id}": None,
    "PATCH /api/sessions/{session_id}": {"name": "Renamed"},
    "POST /api/sessions/{session_id}/end": {},
    "POST /api/sessions/{session_id}/resume": {},
    "GET /api/sessions/{session_id}/events": None,
    "POST /api/sessions/{session_id}/events": {
        "type": "user_message",
        "role": "user",
        "content": "hi",
    },
    "GET /api/sessions/{session_id}/state": None,
    "PATCH /api/sessions/{session_id}/state": {"scratchpad": {"current_task": "retry"}},
    "GET /api/memories": None,
    "POST /api/memories": {"content": "The port of staging is 6543"},
    "GET /api/contexts": None,
    "POST /api/contexts": {"title": "Retry queue", "summary": "Jobs are retried with a delay."},
    "DELETE /api/contexts/{context_id}": None,
    "GET /api/claims": None,
    "POST /api/claims": {"paths": ["src/queue/**"], "reason": "The queue gets a delay"},
    "DELETE /api/claims/{claim_id}": None,
    "GET /api/handoffs": None,
    "POST /api/handoffs": {},
    "POST /api/handoffs/{handoff_id}/cancel": {},
    "PUT /api/team/visibility": {"visibility": "public"},
    "GET /api/team/near": None,
    "PUT /api/team/presence/{session_id}": {"client": "codex", "paths": ["a.py"]},
    "DELETE /api/team/presence/{session_id}": None,
}
# Only another developer can take these steps, and here is one: every answer is a problem. So it is
# for a code that nobody has approved, and for the end of the token of this machine.
REFUSED = [
    *(f"POST /api/handoffs/{{handoff_id}}/{step}" for step in ("accept", "decline", "complete")),
    *("POST /api/logins/token", "DELETE /api/me/token"),
]
IN_A_CHECKOUT = [
    "GET /api/workstreams",
    "GET /api/bundle",
    "GET /api/conversations",
]  # asked in test_workstreams, where there is one
EXAMPLES = 400
ENDLESS = "GET /api/events"


def test_every_route_is_described_and_nothing_else(api):
    document = api.get("/openapi.json").json()
    described = [
        f"{method.upper()} {path}"
        for path, methods in document["paths"].items()
        for method in methods
    ]

    assert sorted(described) == sorted([*OPERATIONS, *REFUSED, *IN_A_CHECKOUT, ENDLESS])
    assert document["security"] == [{"token": []}]
    assert "422" not in str(document["paths"])
    assert "HTTPValidationError" not in document["components"]["schemas"]


@pytest.mark.parametrize("operation", [*OPERATIONS, *REFUSED])
def test_no_generated_request_breaks_it(api, server, scale, operation):
    """Most of them meet a session that is there. The seed follows from the name, so that a finding
    comes again.
    """
    session = create_session(api)
    append(api, session["id"])
    method, path = operation.split(" ")
    schema: Any = schemathesis.openapi.from_dict(api.get("/openapi.json").json())
    modes = schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE
    described = schema[path][method]
    strategy = hypothesis.strategies.one_of(
        [described.as_strategy(generation_mode=mode) for mode in modes]
    )
    accepted = described.Case(path_parameters={}, headers={})
    body = OPERATIONS.get(operation)
    if operation == "POST /api/handoffs":
        body = {"claim_id": create_claim(api)}
    if body is not None:
        accepted.body, accepted.media_type = body, "application/json"
    known_ids = create_ids(api, session["id"])

    statuses = Counter[int]()

    @hypothesis.example(case=accepted, known=True)
    @hypothesis.seed(zlib.crc32(operation.encode()))
    @hypothesis.settings(
        max_examples=scale(EXAMPLES),
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(
        case=strategy, known=hypothesis.strategies.sampled_from([True, True, True, False])
    )
    def ask(case: Any, known: bool) -> None:
        if known:
            for name in re.findall(r"{(\w+)}", path):
                case.path_parameters[name] = known_ids[name]
            case.headers.pop(
                "If-Match", None
            )  # a made-up tag never fits, and nothing behind it would be reached
        answer = case.call(base_url=server.url, headers=server.bearer)
        statuses[answer.status_code] += 1
        case.validate_response(answer, checks=CHECKS)

    ask()
    print(f"{operation}: {dict(statuses)}")
    is_accepted = any(status < 300 for status in statuses)
    assert is_accepted == (operation in OPERATIONS), "not even the plain request was accepted"
    assert api.get("/api/health").status_code == 200


def create_claim(api: httpx.Client) -> str:
    claim: dict[str, Any] = api.post("/api/claims", json=OPERATIONS["POST /api/claims"]).json()
    claim_id: str = claim["id"]
    return claim_id


def create_ids(api: httpx.Client, session_id: str) -> dict[str, str]:
    """One of everything that a path can name; a private developer could not hand off."""
    api.put("/api/team/visibility", json={"visibility": "public"})
    context = api.post("/api/contexts", json=OPERATIONS["POST /api/contexts"]).json()
    handoff = api.post("/api/handoffs", json={"claim_id": create_claim(api)}).json()
    return {
        "session_id": session_id,
        "context_id": context["id"],
        "claim_id": create_claim(api),
        "handoff_id": handoff["id"],
    }
