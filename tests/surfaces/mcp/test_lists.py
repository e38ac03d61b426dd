"""What a client gets before it calls anything."""

import json
import re
from pathlib import Path

import jsonschema
import pytest
from mcp import MCPError

from holdfast.conversations.model import STATUSES
from holdfast.memories.rules import SOURCE_TYPES
from holdfast.sessions import context_sets, rules
from holdfast.surfaces.mcp import prose, server
from tests.surfaces.mcp import doors

ARGUMENTS = {
    "session": "operation chatmode user_id workflow skill git_branch name event_type role content "
    "parts event_id expected_sequence max_turns max_tokens scratchpad detail session_id "
    "idempotency_key",
    "set_relevant_context": "setName items mode detail session_id idempotency_key",
    "get_relevant_context": "setName detail session_id",
    "memory": "operation content category source_type ttl_days query namespace limit "
    "min_relevance memory_id below "
    "detail session_id idempotency_key",
    "repo_context": "operation phase workstream_id text id decision_status because evidence items "
    "paths summary step error next_action cursor kind feature_request expected_revision detail "
    "topic role sources decisions questions session_id idempotency_key",
    "conversation": "operation status query conversation_id cursor summary detail session_id "
    "idempotency_key",
}
TEAM_ARGUMENTS = {
    "covibe_session": "operation title summary files_touched next_actions blockers task_ids repo "
    "branch ttl_hours developer context_id detail cursor session_id idempotency_key",
    "covibe_team": "operation detail cursor",
    "covibe_coordination": "operation repo branch paths reason ttl_minutes claim_id to note "
    "handoff_id idempotency_key",
}
# Of all tools and the instructions: every request of most clients carries them.
TOKENS, TOKENS_WITH_TEAM = 2_500, 3_000


async def test_the_lists_are_the_same_on_every_way_in(connect: doors.Connect):
    """Tools, prompts, and the bundles as resources."""
    async with connect() as client:
        tools = (await client.list_tools()).tools
        resources = await client.list_resources()
        templates = await client.list_resource_templates()
        with pytest.raises(MCPError, match="is unknown"):
            await client.read_resource("holdfast://contexts")
        text = (await client.read_resource("holdfast://bundle/planning")).contents[0].text
        instructions = client.instructions

    assert [tool.name for tool in tools] == list(ARGUMENTS)
    phases = ["holdfast://bundle/planning", "holdfast://bundle/implementation"]
    assert [str(resource.uri) for resource in resources.resources] == phases
    assert [template.uri_template for template in templates.resource_templates] == [
        "holdfast://bundle/{phase}",
        "holdfast://conversations/{id}",
    ]
    assert text.startswith("HOLDFAST planning")
    assert (resources.cache_scope, resources.ttl_ms) == ("private", 0)
    assert instructions is None or "set_relevant_context" in instructions


async def test_the_server_introduces_itself_in_both_eras(project: Path):
    """The instructions say when to use it."""
    for era in ("legacy", "auto"):
        async with doors.over_stdio(project, era=era) as client:
            assert client.server_info.name == "holdfast"
            assert client.instructions == prose.prose("instructions")
            assert client.server_capabilities.tools is not None
            assert client.server_capabilities.prompts is not None
            assert (
                client.session.protocol_version
                == {"legacy": "2025-11-25", "auto": "2026-07-28"}[era]
            )


def test_arguments_are_those_of_the_contract_and_no_others():
    known = {**ARGUMENTS, **TEAM_ARGUMENTS}
    assert [tool.name for tool in server._describe_tools(True)] == list(known)
    for tool in server._describe_tools(True):
        assert " ".join(tool.input_schema["properties"]) == known[tool.name]
        assert tool.input_schema["additionalProperties"] is False
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        assert tool.output_schema is None, "it would cost tokens and change no answer"


def test_a_document_that_a_hook_has_handed_over_is_not_asked_for_again():
    for name in ("instructions", "repo_context"):
        words = prose.prose(name).split()
        assert "begin without a Holdfast document" in " ".join(words)


@pytest.mark.parametrize(("with_team", "most"), [(False, TOKENS), (True, TOKENS_WITH_TEAM)])
def test_all_tools_and_the_instructions_cost_what_was_agreed(with_team: bool, most: int):
    """As a client sends them with every request: names, descriptions, schemas, in JSON."""
    offered = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
        for tool in server._describe_tools(with_team)
    ]
    sent = json.dumps(offered, ensure_ascii=False)
    instructions = server.write_instructions(with_team=with_team)

    assert (len(sent) + len(instructions)) / 4 <= most


def test_known_values_are_those_of_the_rules():
    session, set_, _, memory, _, conversation = server._describe_tools(False)

    assert session.input_schema["properties"]["event_type"]["enum"] == list(rules.EVENT_TYPES)
    assert session.input_schema["properties"]["role"]["enum"] == list(rules.ROLES)
    assert set_.input_schema["properties"]["mode"]["enum"] == list(context_sets.MODES)
    assert memory.input_schema["properties"]["source_type"]["enum"] == list(SOURCE_TYPES)
    assert conversation.input_schema["properties"]["status"]["enum"] == list(STATUSES)


def test_every_argument_of_an_operation_is_in_the_schema():
    """The tables that are checked and the schema that is shown agree."""
    for tool in server._load_tools().values():
        properties = set(tool.input_schema()["properties"]) - {"operation"}
        assert properties == {
            name for operation in tool.operations.values() for name in operation.known
        }


def test_hints_are_honest():
    """A client that trusts them lets through what only reads, and asks before something is
    replaced.
    """
    hints = {tool.name: tool.annotations for tool in server._describe_tools(True)}

    reading = ["get_relevant_context", "covibe_team"]
    assert [name for name, hint in hints.items() if hint.read_only_hint] == reading
    assert [name for name, hint in hints.items() if hint.destructive_hint] == [
        "session",
        "set_relevant_context",
        "memory",
        "repo_context",
        "conversation",
    ]
    assert [name for name, hint in hints.items() if hint.idempotent_hint] == [
        "set_relevant_context",
        "get_relevant_context",
        "covibe_team",
    ]
    assert [name for name, hint in hints.items() if hint.open_world_hint] == list(TEAM_ARGUMENTS)


def test_descriptions_say_when_to_call_and_when_not():
    for tool in server._describe_tools(True):
        assert re.search(r"\bCall (it|`)", tool.description)
        assert "Do not" in tool.description
        assert len(tool.description) < 2000
