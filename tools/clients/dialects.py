"""The four ways in which clients talk with a model, each as thin as the clients allow.

`read` turns a request into a conversation. `write` turns an answer into the events of a stream:
pairs of a name and a document. A name is None where the dialect does not name its events.
"""

import json
import uuid
from collections.abc import Iterator
from typing import Any

from tools.clients.conversation import SEARCH_TOOL, Answer, Conversation, Tool

Body = dict[str, Any]
Events = list[tuple[str | None, Any]]

TOKENS_IN, TOKENS_OUT = 100, 20


def count_tokens(answer: Answer) -> int:
    """How long the model says that the request was: a client compacts what is too long."""
    return int(answer.get("tokens", TOKENS_IN))


def new_id(prefix: str) -> str:
    return prefix + uuid.uuid4().hex[:24]


def as_blocks(content: Any) -> list[Body]:
    """A text is short for a list of one block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content or []


def as_text(value: Any) -> str:
    """The words in a result, which may be a text, a block or a list of either."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(map(as_text, value))
    if isinstance(value, dict) and "text" in value:
        return as_text(value["text"])
    return json.dumps(value, ensure_ascii=False)


def list_calls(answer: Answer, conversation: Conversation) -> Iterator[tuple[Tool, Body]]:
    for call in answer.get("calls", []):
        tool = conversation.find_tool(call["tool"])
        assert tool is not None
        yield tool, call.get("arguments", {})


class Anthropic:
    NAME = "anthropic"

    def read(self, body: Body) -> Conversation:
        conversation = Conversation()
        for block in as_blocks(body.get("system")):
            conversation.add("system", block["text"])
        conversation.tools = [Tool(tool["name"]) for tool in body.get("tools", [])]
        for message in body["messages"]:
            blocks = as_blocks(message["content"])
            has_result = any(block["type"] == "tool_result" for block in blocks)
            role = "remark" if has_result else message["role"]
            for block in blocks:
                self.read_block(conversation, role, block)
        return conversation

    def read_block(self, conversation: Conversation, role: str, block: Body) -> None:
        """What stands beside the result of a tool are remarks of the client."""
        if block["type"] == "tool_use":
            conversation.calls.append(block["name"])
        elif block["type"] == "tool_result":
            conversation.add("tool", as_text(block.get("content")))
        elif block["type"] == "text" and role == "user":
            conversation.add_user(block["text"])
        elif block["type"] == "text":
            conversation.add(role, block["text"])

    def write(self, answer: Answer, conversation: Conversation, body: Body) -> Events:
        message = {
            "id": new_id("msg_"),
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": count_tokens(answer), "output_tokens": 1},
        }
        events: list[Body] = [{"type": "message_start", "message": message}]
        blocks = self.make_blocks(answer, conversation)
        for index, (block, delta) in enumerate(blocks):
            events += [
                {"type": "content_block_start", "index": index, "content_block": block},
                {"type": "content_block_delta", "index": index, "delta": delta},
                {"type": "content_block_stop", "index": index},
            ]
        reason = "tool_use" if answer.get("calls") else "end_turn"
        stop = {"stop_reason": reason, "stop_sequence": None}
        usage = {"output_tokens": TOKENS_OUT}
        events.append({"type": "message_delta", "delta": stop, "usage": usage})
        events.append({"type": "message_stop"})
        return [(event["type"], event) for event in events]

    def make_blocks(self, answer: Answer, conversation: Conversation) -> list[tuple[Body, Body]]:
        blocks: list[tuple[Body, Body]] = []
        if "text" in answer:
            delta = {"type": "text_delta", "text": answer["text"]}
            blocks.append(({"type": "text", "text": ""}, delta))
        for tool, arguments in list_calls(answer, conversation):
            block = {"type": "tool_use", "id": new_id("toolu_"), "name": tool.name, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
            blocks.append((block, delta))
        return blocks


class Responses:
    NAME = "responses"

    def read(self, body: Body) -> Conversation:
        conversation = Conversation()
        conversation.add("system", body.get("instructions") or "")
        conversation.tools = list(self.list_tools(body.get("tools", [])))
        for item in body["input"]:
            self.read_item(conversation, item)
        return conversation

    def list_tools(self, tools: list[Body], namespace: str | None = None) -> Iterator[Tool]:
        for tool in tools:
            if tool["type"] == "namespace":
                yield from self.list_tools(tool["tools"], tool["name"])
            elif tool["type"] in ("function", "custom"):
                yield Tool(tool["name"], namespace, takes_text=tool["type"] == "custom")
            elif tool["type"] == SEARCH_TOOL:
                yield Tool(SEARCH_TOOL)

    def read_item(self, conversation: Conversation, item: Body) -> None:
        kind = item.get("type", "message")
        if kind in ("function_call", "custom_tool_call"):
            conversation.calls.append(item["name"])
        elif kind in ("function_call_output", "custom_tool_call_output"):
            conversation.add("tool", as_text(item["output"]))
        elif kind == "tool_search_call":
            conversation.calls.append(SEARCH_TOOL)
        elif kind == "tool_search_output":
            conversation.tools += self.list_tools(item["tools"])
        elif kind == "message":
            for block in item["content"]:
                text = block.get("text", "")
                if item["role"] == "user":
                    conversation.add_user(text)
                else:
                    conversation.add(item["role"], text)

    def write(self, answer: Answer, conversation: Conversation, body: Body) -> Events:
        response = {"id": new_id("resp_"), "object": "response", "model": body["model"]}
        items = self.make_items(answer, conversation)
        events: list[Body] = [
            {"type": "response.created", "response": {**response, "status": "in_progress"}}
        ]
        for index, item in enumerate(items):
            added = {"output_index": index, "item": {**item, "status": "in_progress"}}
            events.append({"type": "response.output_item.added", **added})
            done = {"output_index": index, "item": item}
            events.append({"type": "response.output_item.done", **done})
        tokens = count_tokens(answer)
        usage = {
            "input_tokens": tokens,
            "output_tokens": TOKENS_OUT,
            "total_tokens": tokens + TOKENS_OUT,
        }
        whole = {**response, "status": "completed", "output": items, "usage": usage}
        events.append({"type": "response.completed", "response": whole})
        return [(event["type"], event) for event in events]

    def make_items(self, answer: Answer, conversation: Conversation) -> list[Body]:
        items: list[Body] = []
        if "text" in answer:
            content = [{"type": "output_text", "text": answer["text"], "annotations": []}]
            message = {"type": "message", "role": "assistant", "content": content}
            items.append({**message, "id": new_id("msg_"), "status": "completed"})
        for tool, arguments in list_calls(answer, conversation):
            call = {"type": "function_call", "name": tool.name, "arguments": json.dumps(arguments)}
            if tool.takes_text:
                (text,) = arguments.values()
                call = {"type": "custom_tool_call", "name": tool.name, "input": text}
            if tool.name == SEARCH_TOOL:
                call = {"type": "tool_search_call", "execution": "client", "arguments": arguments}
            if tool.namespace:
                call["namespace"] = tool.namespace
            ids = {"id": new_id("fc_"), "call_id": new_id("call_")}
            items.append({**call, **ids, "status": "completed"})
        return items


class Chat:
    NAME = "chat"

    def read(self, body: Body) -> Conversation:
        conversation = Conversation()
        conversation.tools = [Tool(tool["function"]["name"]) for tool in body.get("tools", [])]
        for message in body["messages"]:
            for call in message.get("tool_calls") or []:
                conversation.calls.append(call["function"]["name"])
            for block in as_blocks(message.get("content")):
                text = block.get("text", "")
                if message["role"] == "user":
                    conversation.add_user(text)
                else:
                    conversation.add(message["role"], text)
        return conversation

    def write(self, answer: Answer, conversation: Conversation, body: Body) -> Events:
        delta: Body = {"role": "assistant", "content": answer.get("text", "")}
        calls = list(list_calls(answer, conversation))
        if calls:
            delta["tool_calls"] = [self.make_call(index, *call) for index, call in enumerate(calls)]
        reason = "tool_calls" if calls else "stop"
        tokens = count_tokens(answer)
        usage = {
            "prompt_tokens": tokens,
            "completion_tokens": TOKENS_OUT,
            "total_tokens": tokens + TOKENS_OUT,
        }
        common = {
            "id": new_id("chatcmpl-"),
            "object": "chat.completion.chunk",
            "created": 0,
            "model": body["model"],
        }
        chunks: list[Body] = [
            {**common, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {**common, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
            {**common, "choices": [], "usage": usage},
        ]
        return [*((None, chunk) for chunk in chunks), (None, "[DONE]")]

    def make_call(self, index: int, tool: Tool, arguments: Body) -> Body:
        function = {"name": tool.name, "arguments": json.dumps(arguments)}
        return {"index": index, "id": new_id("call_"), "type": "function", "function": function}


class Gemini:
    NAME = "gemini"

    def read(self, body: Body) -> Conversation:
        conversation = Conversation()
        for part in body.get("systemInstruction", {}).get("parts", []):
            conversation.add("system", part["text"])
        for group in body.get("tools", []):
            for declared in group.get("functionDeclarations", []):
                conversation.tools.append(Tool(declared["name"]))
        for content in body["contents"]:
            for part in content["parts"]:
                self.read_part(conversation, content["role"], part)
        return conversation

    def read_part(self, conversation: Conversation, role: str, part: Body) -> None:
        if "functionCall" in part:
            conversation.calls.append(part["functionCall"]["name"])
        elif "functionResponse" in part:
            conversation.add("tool", as_text(part["functionResponse"]["response"]))
        elif role == "user":
            conversation.add_user(part.get("text", ""))
        else:
            conversation.add("assistant", part.get("text", ""))

    def write(self, answer: Answer, conversation: Conversation, body: Body) -> Events:
        parts: list[Body] = []
        if "text" in answer:
            parts.append({"text": answer["text"]})
        for tool, arguments in list_calls(answer, conversation):
            call = {"id": new_id("fc_"), "name": tool.name, "args": arguments}
            parts.append({"functionCall": call, "thoughtSignature": "c2NyaXB0ZWQ="})
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
        tokens = count_tokens(answer)
        usage = {
            "promptTokenCount": tokens,
            "candidatesTokenCount": TOKENS_OUT,
            "totalTokenCount": tokens + TOKENS_OUT,
        }
        return [(None, {"candidates": [candidate], "usageMetadata": usage})]


DIALECTS = {
    "/messages": Anthropic(),
    "/responses": Responses(),
    "/chat/completions": Chat(),
    ":streamGenerateContent": Gemini(),
    ":generateContent": Gemini(),
}
COUNTS = {"/count_tokens": "input_tokens", ":countTokens": "totalTokens"}
