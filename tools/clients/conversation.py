"""What a client sends to its model, and what the script answers, in no vendor's form.

A script is a list of rules. The first rule whose `when` is in the newest words of the person (or
that has no `when`) is played; its answers follow each other:

    {"when": "ping", "answers": [
        {"calls": [{"tool": "holdfast_session", "arguments": {"operation": "start"}}]},
        {"text": "Done."}]}

Which answer comes next is read from the request itself, from the calls since those words. So one
script serves subagents beside their parent, repeated requests and resumed sessions. An answer with
`hold` names a pipe: the model writes to it, to show that the client waits, and answers when
something is written back; with nothing to answer it waits until the client is gone. An answer with
`cut` is sent by half, and then the model waits so for good. An argument that begins with `find: `
is a pattern, and means what its group matches in the newest result of a tool that has it.
"""

import re
from dataclasses import dataclass, field
from typing import Any

Answer = dict[str, Any]
Script = list[dict[str, Any]]

FIND = "find: "
AT_THE_END: Answer = {"text": "That is all."}
# A title, or a summary as any client takes it.
AUXILIARY: Answer = {"text": "<state_snapshot><summary>Talk.</summary></state_snapshot>"}
SUMMARY_ORDER = "CRITICAL: Respond with TEXT ONLY"  # the only one that offers tools
# Clients that name tools at first, and load them when their model asks; each in its own form.
SELECT_TOOL, SEARCH_TOOL = "ToolSearch", "tool_search"
SEARCHES = (SELECT_TOOL, SEARCH_TOOL)


@dataclass(frozen=True)
class Tool:
    """A tool as it is offered: some clients put the name of a server beside it."""

    name: str
    namespace: str | None = None
    takes_text: bool = False  # one text, and no arguments

    @property
    def full_name(self) -> str:
        return f"{self.namespace}__{self.name}" if self.namespace else self.name

    @property
    def common_name(self) -> str:
        """The same in every client: `holdfast_session` for `mcp__holdfast__session`."""
        joined = re.sub(r"\W+|_+", "_", self.full_name)
        return joined.removeprefix("mcp_")


@dataclass
class Conversation:
    """A request to the model: the texts in their order, each with its role, and the tools."""

    texts: list[tuple[str, str]] = field(default_factory=list)
    tools: list[Tool] = field(default_factory=list)
    words: str = ""  # the newest of the person, or of the parent in a subagent
    calls: list[str] = field(default_factory=list)  # since those words

    def add(self, role: str, text: str) -> None:
        self.texts.append((role, text))

    def add_user(self, text: str) -> None:
        """The client's own remarks come as the user's, too: they begin with a tag."""
        self.add("user", text)
        if not text.lstrip().startswith(("<", "# AGENTS.md")):
            self.words = text
            self.calls = []

    @property
    def is_auxiliary(self) -> bool:
        """Titles and summaries are no part of a script."""
        return not self.tools or self.words.startswith(SUMMARY_ORDER)

    def find_tool(self, name: str) -> Tool | None:
        named = [tool for tool in self.tools if name in (tool.name, tool.common_name)]
        return next(iter(named), None)


def choose_answer(script: Script, conversation: Conversation) -> Answer:
    """By the script; a tool that has to be searched for first is searched for."""
    if conversation.is_auxiliary:
        return AUXILIARY
    answers = find_answers(script, conversation)
    answer = find_answer(answers, conversation)
    missing = list_missing([answer], conversation)
    if not missing:
        return fill_in(answer, conversation)
    search = next(filter(conversation.find_tool, SEARCHES), None)
    if search is not None and search not in conversation.calls:
        return {"calls": [make_search(search, list_missing(answers, conversation))]}
    offered = ", ".join(tool.full_name for tool in conversation.tools)
    return {"text": f"No tool {missing} among {offered}"}


def fill_in(answer: Answer, conversation: Conversation) -> Answer:
    """With ids that only the results of earlier calls say."""
    results = [text for role, text in conversation.texts if role == "tool"]

    def find(value: Any) -> Any:
        if not isinstance(value, str) or not value.startswith(FIND):
            return value
        pattern = value.removeprefix(FIND)
        found = [match for match in (re.search(pattern, text) for text in results) if match]
        return found[-1][1] if found else value

    def fill(call: dict[str, Any]) -> dict[str, Any]:
        given = call.get("arguments", {})
        return {**call, "arguments": {name: find(value) for name, value in given.items()}}

    if "calls" not in answer:
        return answer
    return {**answer, "calls": [fill(call) for call in answer["calls"]]}


def list_missing(answers: list[Answer], conversation: Conversation) -> list[str]:
    calls = [call["tool"] for answer in answers for call in answer.get("calls", [])]
    return [name for name in dict.fromkeys(calls) if conversation.find_tool(name) is None]


def find_answers(script: Script, conversation: Conversation) -> list[Answer]:
    rules = [rule for rule in script if rule.get("when", "") in conversation.words]
    answers: list[Answer] = rules[0]["answers"] if rules else []
    return answers


def find_answer(answers: list[Answer], conversation: Conversation) -> Answer:
    made = len([name for name in conversation.calls if name not in SEARCHES])
    for answer in answers:
        wanted = len(answer.get("calls", []))
        if made < wanted or not wanted:
            return answer
        made -= wanted
    return AT_THE_END


def make_search(search: str, names: list[str]) -> dict[str, Any]:
    """For all that the script will call; by exact names where a client takes them."""
    parted = [name.partition("_") for name in names]
    if search == SELECT_TOOL:
        found = ",".join(f"mcp__{server}__{tool}" for server, _, tool in parted)
        return {"tool": search, "arguments": {"query": f"select:{found}"}}
    found = " ".join(f"{server} {tool}" for server, _, tool in parted)
    return {"tool": search, "arguments": {"query": found}}
