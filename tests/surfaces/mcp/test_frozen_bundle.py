"""Bytes that stay the same for a session, by the tool and by address, until the repository says
something else.
"""

from pathlib import Path

import pytest

from tests.rig.commands import run_process
from tests.surfaces.mcp import doors
from tests.surfaces.mcp.doors import data
from tests.workstreams.repos import RETRY, Repo, with_code

ADDRESS = "holdfast://bundle/implementation"


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    monkeypatch.setenv("SHARED_CONTEXT_ENABLED", "true")
    return with_code(tmp_path / "payouts")


async def bundle(client: doors.Client) -> str:
    return (await data(client, "repo_context", operation="bundle"))["bundle"]["text"]


async def by_address(client: doors.Client) -> str:
    return (await client.read_resource(ADDRESS)).contents[0].text


async def test_a_session_is_handed_the_same_bytes_until_a_claim_falls(repo: Repo):
    async with doors.inside(repo.folder) as client:
        await data(client, "session", operation="start", chatmode="architect")
        await data(
            client,
            "repo_context",
            operation="claim",
            text="It doubles",
            evidence=["src/retry.py#schedule"],
        )
        first = await bundle(client)

        assert [await bundle(client), await by_address(client)] == [first, first]
        repo.write("src/retry.py", RETRY.replace("30", "60"))
        fallen = await bundle(client)

    assert "[ok] It doubles" in first
    assert "[ok] It doubles" not in fallen
    assert fallen.partition("\n")[0] != first.partition("\n")[0], "a receipt of its own"


async def test_a_caller_without_a_session_gets_a_new_bundle_each_time(repo: Repo):
    async with doors.inside(repo.folder) as client:
        texts = [await bundle(client), await bundle(client), await by_address(client)]

    assert len({text.partition("\n")[0] for text in texts}) == 3


async def test_a_failed_run_is_still_shown_after_another_command_passed(repo: Repo):
    async with doors.inside(repo.folder) as client:
        await data(
            client,
            "repo_context",
            operation="fail",
            step="migrate",
            error="no table",
            next_action="make one",
        )
        run_process("prove", "--", "true", cwd=repo.folder)
        text = await bundle(client)

    failed = text.index(" failed at: migrate\n  > no table\n  then: make one\n")
    assert text.rindex("LAST RUN ", 0, failed) < text.index("LAST PASS ")
