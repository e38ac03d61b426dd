"""Print `surfaces/mcp/answers.txt`: what the SDK's server says before its first call.

One answer a line: the era, the request, a tab, and the bytes that follow the id of the request.
"""

from __future__ import annotations

import io
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import anyio
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_MODERN_VERSION

from holdfast.surfaces.mcp import front, stdio

LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
CLIENT = {"name": "docs", "version": "1"}
ENVELOPE = {
    front.VERSION_KEY: LATEST_MODERN_VERSION,
    front.CLIENT_KEY: CLIENT,
    front.CAPABILITIES_KEY: {},
}

Request = tuple[str, Mapping[str, Any]]


def list_lines() -> Iterator[str]:
    yield f"{front.SDK}\t{find_release()}"
    alone = record()
    for name, answer in alone.items():
        yield f"{name}\t{answer}"
    for name, answer in record(HOLDFAST_DEVELOPER="docs").items():
        if answer != alone[name]:
            yield f"{front.TEAM}{name}\t{answer}"


def record(**environment: str) -> dict[str, str]:
    """As a new home has it; a chosen handle switches the exchange on."""
    for name in [name for name in os.environ if name.startswith("HOLDFAST_")]:
        del os.environ[name]
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(environment, HOLDFAST_HOME=home)
        return {**record_handshake(), **record_stateless()}


def find_release() -> str:
    return version("mcp").rpartition(".")[0]


def record_handshake() -> dict[str, str]:
    """The lists are recorded once: they are the same in all versions of this era."""
    recorded: dict[str, str] = {}
    for protocol in HANDSHAKE_PROTOCOL_VERSIONS:
        plain: list[Request] = [(method, {}) for method in ("ping", *LISTS)]
        introduction, *others = ask([introduce(protocol), *plain])
        recorded[f"{front.HANDSHAKE} initialize {protocol}"] = introduction
        for (method, _), answer in zip(plain, others, strict=True):
            known = recorded.setdefault(f"{front.HANDSHAKE} {method}", answer)
            assert known == answer, f"{method} is answered differently in {protocol}"
    return recorded


def record_stateless() -> dict[str, str]:
    """And how the handshake is refused there."""
    enveloped: list[Request] = [
        (method, {"_meta": ENVELOPE}) for method in ("server/discover", *LISTS)
    ]
    names = [method for method, _ in enveloped]
    names += [f"initialize {protocol}" for protocol in HANDSHAKE_PROTOCOL_VERSIONS]
    introductions = [introduce(protocol) for protocol in HANDSHAKE_PROTOCOL_VERSIONS]
    answers = ask([*enveloped, *introductions])
    return {
        f"{front.STATELESS} {name}": answer for name, answer in zip(names, answers, strict=True)
    }


def introduce(protocol: str) -> Request:
    params = {"protocolVersion": protocol, "capabilities": {}, "clientInfo": CLIENT}
    return "initialize", params


def ask(requests: Sequence[Request]) -> list[str]:
    """Each answer without its id, in the order of the requests."""
    frames = [
        {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        for number, (method, params) in enumerate(requests)
    ]
    sent = "".join(json.dumps(frame) + "\n" for frame in frames)
    received = io.BytesIO()
    anyio.run(stdio.serve, front.Handover(io.BytesIO(sent.encode()), received))
    answers = received.getvalue().decode().split("\n")[:-1]
    by_id = {json.loads(answer)["id"]: answer for answer in answers}
    return [
        by_id[number].removeprefix(f'{{"jsonrpc":"2.0","id":{number},')
        for number in range(len(requests))
    ]


if __name__ == "__main__":
    for line in list_lines():
        print(line)
