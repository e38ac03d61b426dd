"""Whether a person has begun a conversation by a command of its type. Pure.

Some clients keep what was typed, others the text of the command with the topic in it.
"""

from __future__ import annotations

from holdfast.conversations.rules import TITLE_CHARS
from holdfast.ground.frozen import dataclass
from holdfast.ground.patterns import compile_later
from holdfast.ground.text import cut

# What every such request begins with; most others are told apart by that alone.
BEGINNINGS = ("/workspace.", "$workspace-", "Conversation of type ", "<!-- Written by holdfast")
RESUMED = "Go on with the conversation that Holdfast has handed over."
NO_TYPES = ("resume", "stop")

_TYPED = compile_later(r"[/$]workspace[.-]([a-z0-9_]{1,30})(?![\w-])[ \t]*([^\n]*)")
_EXPANDED = compile_later(
    r"(?:<!-- Written by holdfast init.*?-->\s*)?"
    r"Conversation of type ([a-z0-9_]{1,30}), kept by Holdfast: *([^\n]*)"
)


@dataclass(frozen=True)
class BegunConversation:
    type: str
    title: str


def find_begun(request: str) -> BegunConversation | None:
    """None where it is another request, or goes on with a conversation that there is."""
    if not request.startswith(BEGINNINGS):
        return None
    found = _TYPED.match(request) or _EXPANDED.match(request)
    if found is None or found[1] in NO_TYPES:
        return None
    topic = " ".join(found[2].split())
    if topic.startswith(RESUMED):
        return None
    return BegunConversation(found[1], cut(topic, TITLE_CHARS) or found[1])
