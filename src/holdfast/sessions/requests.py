"""Which user messages are words of the person. Pure.

A client also sends as a user message what no person wrote to the agent: our own prompts, commands
to the client itself, its notifications, and what a subagent is told. All of it stays in the log;
where the last request or a title is looked for, it does not count.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from holdfast.ground.patterns import compile_later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.sessions.model import SessionEvent

# In an event's parts: it was said to a subagent, or by a program.
AGENT_ID, AGENT, ORIGIN = "agent_id", "agent", "origin"
USER_MESSAGE = "user_message"
CLIENT = "client"  # who says what no person has typed
SUBSTANCE_CHARS = 400
FEW_WORDS, FEW_CHARS = 4, 40  # of one that is understood alone only with what was said before
FEW_SIGNS = 6  # the same in a script without spaces
REWOUND = "rewound"  # in a session's metadata: the requests that were taken back

# Our prompts as a client names them: by server and prompt, by prompt alone, or as a skill.
_OUR_PROMPT = compile_later(
    r"[/$](?:mcp__\w+?__|[\w-]+:)?workspace[.-](?:stop(?:-conversation)?|resume)(?![\w-])",
    re.IGNORECASE,
)
# Our prompts as they read once a client has put their text in the place of the command.
_OUR_TEXT = compile_later(
    r"(?:<!-- Written by holdfast init.*?-->\s*)?"
    r"(?:We stop here\. Record what the next session will need[;,] "
    r"|Continue earlier work of this working tree, with the tools of the MCP server "
    r"|Continue earlier work: .{0,400}? \(started [0-9T:.-]+Z, "
    r"|No earlier session of this working tree is known, so there is nothing to go on with\.)"
)
# Of these, what asks to stop.
_STOP = compile_later(
    r"[/$](?:mcp__\w+?__|[\w-]+:)?workspace[.-]stop(?:-conversation)?(?![\w-])"
    r"|(?:<!-- Written by holdfast init.*?-->\s*)?"
    r"We stop here\. Record what the next session will need[;,] ",
    re.IGNORECASE,
)
_STOP_BEGINNINGS = ("/", "$", "We stop here.", "<!-- W")
# With what `holdfast resume` opens a client, as a command of a type or as its text.
_OUR_WORDS = compile_later(
    r"(?:[/$]workspace[.-]\w+ |Conversation of type \w+, kept by Holdfast: )?"
    r"Go on with the conversation that Holdfast has handed over\."
)
# A document to continue from, whose last line names the call for more; what follows is a request.
_OUR_DOCUMENT = compile_later(r"HOLDFAST (?:planning|implementation) · (?:.*\n)*?More: .*\s*\Z")
# Commands that are about the client, not about the work; with words behind it, it is a request.
_CLIENT_COMMAND = compile_later(
    r"/(?:agents|clear|compact|compress|config|context|cost|diff|doctor|exit|export|feedback|fork"
    r"|help|hooks|ide|login|logout|mcp|memory|model|models|new|permissions|quit|resume|rewind"
    r"|session|sessions|settings|skills|stats|status|theme|tools|undo|usage|vim)\s*\Z",
    re.IGNORECASE,
)
# What a client puts between tags; a person may paste it and ask behind it.
_CLIENT_TAG = compile_later(
    r"<(task-notification|command-name|command-message|command-args|local-command-caveat"
    r"|local-command-stdout|system-reminder|environment_context|turn_aborted"
    r"|subagent_notification)>(?:.*?(?:</\1>|\Z))\s*",
    re.DOTALL,
)
_SIGN = compile_later("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
# How each begins: most texts begin otherwise, and so need no pattern.
_FORMS = (
    (("/", "$"), _OUR_PROMPT),
    (("/workspace.", "$workspace-", "Conversation of type ", "Go on with the "), _OUR_WORDS),
    (("We stop here.", "Continue earlier work", "No earlier session ", "<!-- W"), _OUR_TEXT),
    ("HOLDFAST ", _OUR_DOCUMENT),
    ("/", _CLIENT_COMMAND),
)


def is_request(content: str, parts: Mapping[str, object] | None = None) -> bool:
    """Whether a person asks for something with this user message."""
    if parts and (parts.get(AGENT_ID) or parts.get(ORIGIN)):
        return False
    text = _skip_tags(content.strip().removeprefix('"'))  # a client may send a text as JSON
    return bool(text) and not any(
        text.startswith(beginning) and form.match(text) for beginning, form in _FORMS
    )


def is_stop(content: str) -> bool:
    """Whether it is our prompt to stop, typed or as its text."""
    text = content.strip().removeprefix('"')
    return text.startswith(_STOP_BEGINNINGS) and _STOP.match(text) is not None


def has_substance(text: str) -> bool:
    """Whether it can be understood alone, which a few words such as "yes, go on" cannot.

    Chinese and Japanese have no spaces: a few signs are a few words there.
    """
    beginning = text[:SUBSTANCE_CHARS]
    if len(beginning.split()) > FEW_WORDS or len(beginning.strip()) > FEW_CHARS:
        return True
    return len(_SIGN.findall(beginning)) > FEW_SIGNS


def _skip_tags(text: str) -> str:
    while text.startswith("<") and (tagged := _CLIENT_TAG.match(text)):
        text = text[tagged.end() :]
    return text


def name_speaker(
    event_type: str, role: str, parts: Mapping[str, object] | None, *, is_taken_back: bool = False
) -> str:
    """Who says it and to whom, where the role alone would mislead; else empty."""
    parts = parts or {}
    if parts.get(AGENT_ID):
        name = f"agent {parts.get(AGENT) or parts[AGENT_ID]}"
        return f"to {name}" if event_type == USER_MESSAGE else name
    if parts.get(ORIGIN):
        return CLIENT
    return f"{role}, taken back" if is_taken_back else ""


def find_summary(content: str) -> str:
    """What a client has to say in a notification, which is for a program; else all of it."""
    if not content.startswith("<"):
        return content
    _, _, rest = content.partition("<summary>")
    summary, found, _ = rest.partition("</summary>")
    return summary.strip() if found and summary.strip() else content


def list_taken_back(events: Iterable[SessionEvent], rewound: Collection[str]) -> set[str]:
    """The events of the turns that a person took back, given from the oldest on."""
    found = set()
    is_rewound = False
    for event in events:
        if event.type == USER_MESSAGE and not name_speaker(event.type, event.role, event.parts):
            is_rewound = event.id in rewound
        if is_rewound:
            found.add(event.id)
    return found
