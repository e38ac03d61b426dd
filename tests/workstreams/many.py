"""Context files with very many entries, as only a merge or a person can write them."""

import json
import sys
from collections.abc import Callable
from typing import Any

from tests.workstreams.repos import Repo

FILE = "data/context/implementation_context.json"
REMOTE = "https://github.com/acme/payouts.git"
KEY = {"repo": "github.com/acme/payouts", "branch": "main", "workstream_id": "main"}
CODE = "/holdfast/"


def at(number: int) -> str:
    return f"2026-11-16T09:{number // 60 % 60:02d}:{number % 60:02d}.{number:06d}Z"


def make_claim(number: int, **more: Any) -> dict[str, Any]:
    place = {"path": "src/retry.py", "lines": "L1-L2", "text_hash": "0" * 64, "run_hash": "1" * 16}
    entry = {"id": f"c-{number}", "uid": f"c{number}", "claim": f"function {number} doubles"}
    return {**entry, "kind": "statement", "claimed_at": at(number), "files": [place], **more}


def make_decision(number: int, **more: Any) -> dict[str, Any]:
    entry = {"id": f"D{number}", "uid": f"d{number}", "text": f"decision {number}"}
    return {**entry, "status": "open", "created_at": at(number), "updated_at": at(number), **more}


def make_symbol_claim(number: int, path: str, name: str) -> dict[str, Any]:
    place = {"path": path, "symbol": name, "lines": "L1-L2", "text_hash": "0" * 64}
    return make_claim(number, files=[place])


def make_context(workstream_id: str = "main", **fields: Any) -> dict[str, Any]:
    key = {**KEY, "workstream_id": workstream_id}
    return {"key": key, "updated_at": at(1), **fields}


def make_bytes(*contexts: dict[str, Any]) -> bytes:
    lines = "\n,".join(json.dumps(context, sort_keys=True) for context in contexts)
    return f'{{"contexts": [\n{lines}\n],\n"revision": 1,\n"schema_version": 1\n}}\n'.encode()


def write_contexts(repo: Repo, *contexts: dict[str, Any], phase: str = "implementation") -> None:
    repo.git("remote", "add", "origin", REMOTE, check=False)
    repo.write(FILE.replace("implementation", phase), make_bytes(*contexts))


# Each makes a context with so many of one thing.
SHAPES: dict[str, Callable[[int], list[dict[str, Any]]]] = {
    "claims": lambda n: [make_context(evidence_ledger=[make_claim(i) for i in range(n)])],
    "decisions": lambda n: [make_context(open_decisions=[make_decision(i) for i in range(n)])],
    "decisions with one number": lambda n: [
        make_context(open_decisions=[make_decision(i, id="D5") for i in range(n)])
    ],
    "versions of one decision": lambda n: [
        make_context(open_decisions=[make_decision(i, uid="d") for i in range(n)])
    ],
    "pieces of evidence": lambda n: [
        make_context(evidence_ledger=[make_claim(1, files=make_claim(1)["files"] * n)])
    ],
    "steps": lambda n: [make_context(checklist=[f"step {i}" for i in range(n)])],
    "pointers": lambda n: [make_context(file_pointers=[f"src/retry.py#f{i}" for i in range(n)])],
    "workstreams": lambda n: [
        make_context(f"w{i}", open_decisions=[make_decision(i)]) for i in range(n)
    ],
}


class CallCount:
    """How many calls of functions of our own this thread makes inside the block."""

    def __init__(self) -> None:
        self.calls = 0

    def __enter__(self) -> "CallCount":
        sys.setprofile(self._count)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _count(self, frame: Any, event: str, argument: object) -> None:
        # The comparison of two records has no file: it was made by `dataclass`.
        name = frame.f_code.co_filename
        if event == "call" and (CODE in name or name == "<string>"):
            self.calls += 1


def count_calls(function: Callable[[], object]) -> int:
    with CallCount() as count:
        function()
    return count.calls
