"""Which user messages are words of the person. Pure.

A client also sends as a user message what no person wrote to the agent: our own prompts, commands
to the client itself, its notifications, and what a subagent is told. All of it stays in the log;
where the last request or a title is looked for, it does not count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

# In an event's parts: it was said to a subagent, or by a program.
AGENT_ID, ORIGIN = "agent_id", "origin"
REWOUND = "rewound"  # in a session's metadata: the requests that were taken back

# Our prompts as a client names them: by server and prompt, by prompt alone, or as a skill.
_OUR_PROMPT = re.compile(
    r"[/$](?:mcp__\w+?__|[\w-]+:)?workspace[.-](?:stop|resume)(?![\w-])", re.IGNORECASE
)
# Our prompts as they read once a client has put their text in the place of the command.
_OUR_TEXT = re.compile(
    r"We stop here\. Record what the next session will need; it is handed exactly this:"
    r"|Continue earlier work: .{0,400}? \(started [0-9T:.-]+Z, "
    r"|No earlier session of this working tree is known, so there is nothing to go on with\."
    r"|HOLDFAST (?:planning|implementation) · "
)
# Commands that are about the client, not about the work; a command of the project is a request.
_CLIENT_COMMAND = re.compile(
    r"/(?:agents|clear|compact|compress|config|context|cost|diff|doctor|exit|export|feedback|fork"
    r"|help|hooks|ide|login|logout|mcp|memory|model|models|new|permissions|quit|resume|rewind"
    r"|session|sessions|settings|skills|stats|status|theme|tools|undo|usage|vim)(?:\s|$)",
    re.IGNORECASE,
)
_CLIENT_TAG = re.compile(
    r"<(?:task-notification|command-name|command-message|local-command-caveat"
    r"|local-command-stdout|system-reminder|environment_context|turn_aborted"
    r"|subagent_notification)>"
)
_FORMS = (_OUR_PROMPT, _OUR_TEXT, _CLIENT_COMMAND, _CLIENT_TAG)


def is_request(content: str, parts: Mapping[str, object] | None = None) -> bool:
    """Whether a person asks for something with this user message."""
    if parts and (parts.get(AGENT_ID) or parts.get(ORIGIN)):
        return False
    text = content.strip().removeprefix('"')  # a client may send a prompt's text as JSON
    return bool(text) and not any(form.match(text) for form in _FORMS)
