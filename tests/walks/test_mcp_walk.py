"""An agent's working day through the MCP door: set context, stop, and another agent
continues with it.
"""

import json
from pathlib import Path

from tests.rig.commands import Call
from tests.surfaces.mcp import doors
from tests.surfaces.mcp.doors import call, data


async def test_a_second_agent_continues_with_the_notes_of_the_first(project: Path, run: Call):
    """Claude Code with its hooks notes a file and stops; Codex resumes it; a person sees both on
    the command line.
    """
    spec = project / "spec.md"
    spec.write_text("# Login")
    claude = {"CLAUDE_CODE_SESSION_ID": "n-1", "CLAUDE_PROJECT_DIR": str(project)}
    prompt = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": "n-1",
        "cwd": str(project),
        "prompt": "Write it",
    }
    assert run("hook", "claude", "UserPromptSubmit", stdin=json.dumps(prompt)).code == 0

    async with doors.over_stdio(
        project, era=doors.STATELESS, name="claude-code", **claude
    ) as client:
        noted = await data(client, "set_relevant_context", setName="files", items=[str(spec)])
        recent = await data(client, "session", operation="recent")
        await call(
            client, "session", operation="update_state", scratchpad={"current_task": "login"}
        )
        await call(client, "session", operation="end")
    assert [event["content"] for event in recent["events"]] == ["Write it"]

    async with doors.over_stdio(project, era=doors.HANDSHAKE, name="codex-mcp-client") as client:
        handed = (await client.get_prompt("workspace-resume")).messages[0].content.text
        resumed = await data(client, "session", operation="start", session_id=noted["session_id"])
        state = await data(
            client, "session", operation="state", session_id=resumed["session"]["id"]
        )
    assert f"- {spec}" in handed
    assert resumed["resume_text"].startswith("HOLDFAST implementation")
    assert resumed["resume_text"].endswith(f"\n\nRelevant files:\n- {spec}")
    for text in (handed, resumed["resume_text"]):
        assert "\n> Write it\n" in text
        assert "\nNEXT now: login\n" in text
    assert state["state"]["scratchpad"] == {"current_task": "login"}

    shown = run("context", "show", "--session", resumed["session"]["id"], "--json").document
    assert shown["context"] == {"files": [str(spec)]}
    thread = run("session", "thread", resumed["session"]["id"], "--json")
    assert noted["session_id"] in thread.out
