"""What a client's file answers, and what all of them have in common.

So far a client says what its hook payloads mean. Three of the four programs share the shape of
those payloads, so the shape is here and each file only names its events.
"""

from __future__ import annotations

from holdfast.errors import InvalidValueError
from holdfast.ground import canonical, ids
from holdfast.ground import light_json as json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any, Protocol

    class Client(Protocol):
        NAME: str
        TITLE: str
        EVENTS: Collection[str]  # the hooks of which something is kept
        TEXT_CHARS: int | None  # how much of ours it hands to its model whole
        COUNTS_BYTES: bool  # for that, so that most scripts but the Latin have less room

        NEWS: Collection[bytes]  # of which one is in every line of a transcript that matters
        NAMES_TOOLS: bool  # its hooks have the id of a tool's run that its transcript has

        # Over MCP: how its own name begins, and where it names its session and its folder.
        INTRODUCED_AS: str
        NATIVE_ID_META: Sequence[Sequence[str]]  # in a request's `_meta`, from the outside in
        CALL_ID_META: str | None  # there too, the id by which the hook before a tool announced it
        CALL_EVENT: str | None  # that hook
        NATIVE_ID_VARIABLE: str | None
        RESUMES_SILENTLY: bool  # another session that is chosen in a menu fires no hook of its own
        PROJECT_VARIABLE: str | None

        EDIT_TOOLS: Collection[str]  # that change files, as its hooks at the moment CALL name them

        # What each hook that `init` wires tells; any other hook is accepted and says less.
        MOMENTS: Mapping[str, str]
        TEXT_EVENT: str  # the hook with whose answer the model is handed our text
        TELLS_OF_COMPACTION: (
            bool  # that hook, too, fires after one; else only the transcript shows it
        )

        def parse(self, event_name: str, payload: Mapping[str, Any]) -> HookEvent | None:
            """What the payload means, or None when it is nothing to keep or not this client's."""

        STOP_COMMAND: str  # our command that saves and stops, as a person types it there

        def reply(self, event_name: str, text: str, notice: str = "", offer: str = "") -> str:
            """What the hook prints so that the model reads the text, and the others after it.

            An offer is about this one prompt; the others stay true.
            """

        def is_headless(self, payload: Mapping[str, Any], environment: Mapping[str, str]) -> bool:
            """Whether no person can answer, as far as the program says so."""


# Together they fit into one line of the spool (4 MiB, 64 levels), where accepted input waits.
CONTENT_BYTES = 2_500_000
# The tools of the team exchange, in whatever way a client names them, how its fences begin, and
# one of what every command has that reads it.
TEAM_TOOLS = ("covibe_session", "covibe_team", "covibe_coordination")
OPENING = "[untrusted text "
SIGNS = ("holdfast", "/api/", "/mcp", "/coordination")
INPUT_BYTES = 500_000
INPUT_DEPTH = 50
KEY_CHARS = 200
PARTS_BYTES = 2 * INPUT_BYTES + 4000  # a name and an input, each with its note where it was cut


STARTED = "SessionStart"
# The moments of a session that a hook tells of.
START, PROMPT, CALL, TURN_END, SUBAGENT_END, END = (
    "start",
    "prompt",
    "call",
    "turn_end",
    "subagent_end",
    "end",
)
# The kind of a key: a prompt of which a hook has the id of its turn only.
TURN = "turn"
# What a client calls the beginning of a window that a compaction left, as the source of a hook.
COMPACTED = "compact"
RESUMED = "resume"  # and that of one that goes on
# The name of a session that `init` and `doctor` make up to see whether an installed hook answers.
CHECK_ID = "holdfast-check"
# In the parts of an event: the keys of the requests that it takes back, or that are not after all.
REWOUND, RESTORED = "rewound", "restored"
# In the parts of an event: how many lines stood here that cannot be read, or what of a record.
LEFT_OUT = "left_out"
# In the place of an event's type, where a hook reports a change of its session and no event.
SESSION_RESUMED, SESSION_ENDED = "session_resumed", "session_ended"


TEAM = "team: "  # how a notice begins that is about teammates


class HookEvent:
    """Something that happened in a client's session, ready to be kept.

    `key` is that of the same event in the transcript; None where the hook has none of its ids.
    """

    __slots__ = (
        "client",
        "content",
        "cwd",
        "event_id",
        "event_type",
        "key",
        "native_id",
        "parts",
        "role",
    )

    def __init__(
        self,
        *,
        client: str,
        native_id: str,
        cwd: str,
        event_id: str,
        event_type: str,
        role: str,
        content: str,
        parts: dict[str, Any] | None = None,
        key: str | None = None,
    ):
        self.client = client
        self.native_id = native_id
        self.cwd = cwd
        self.event_id = event_id
        self.event_type = event_type
        self.role = role
        self.content = content
        self.parts = parts
        self.key = key


class HookOrigin:
    """Which session of a client a hook is about, and the call that it announces, if any."""

    __slots__ = ("call_id", "client", "cwd", "native_id")

    def __init__(self, client: str, native_id: str, cwd: str, call_id: str | None):
        self.client = client
        self.native_id = native_id
        self.cwd = cwd
        self.call_id = call_id


class HookMoment:
    """One hook of a client, as it was called."""

    __slots__ = ("client", "event_name", "origin", "payload")

    def __init__(
        self, client: Client, event_name: str, payload: dict[str, Any], origin: HookOrigin
    ):
        self.client = client
        self.event_name = event_name
        self.payload = payload
        self.origin = origin

    @property
    def kind(self) -> str | None:
        return self.client.MOMENTS.get(self.event_name)


def parse_origin(client: Client, event_name: str, payload: Mapping[str, Any]) -> HookOrigin | None:
    """Of every hook of a client, also of those of which nothing is kept."""
    native_id = payload.get("session_id")
    cwd = payload.get("cwd")
    if payload.get("hook_event_name") != event_name:
        return None
    if not isinstance(native_id, str) or not isinstance(cwd, str):
        return None
    call_id = None
    is_of_mcp = str(payload.get("tool_name")).startswith("mcp__")
    if is_of_mcp and event_name == client.CALL_EVENT:
        call_id = payload.get("tool_use_id")
    if not isinstance(call_id, str):
        call_id = None
    return HookOrigin(client.NAME, make_storable(native_id), cwd, call_id)


def parse_change(
    client: Client, origin: HookOrigin, event_name: str, payload: Mapping[str, Any]
) -> HookEvent | None:
    """That a session has ended, or goes on; None for any other hook."""
    change = None
    if client.MOMENTS.get(event_name) == END:
        change = SESSION_ENDED
    elif event_name == STARTED and payload.get("source") == RESUMED:
        change = SESSION_RESUMED
    if change is None:
        return None
    return make_change(origin, change)


def make_change(origin: HookOrigin, change: str) -> HookEvent:
    return HookEvent(
        client=origin.client,
        native_id=origin.native_id,
        cwd=origin.cwd,
        event_id=ids.new_id(),
        event_type=change,
        role="system",
        content="",
    )


def parse_common(
    client: str,
    event_name: str,
    payload: Mapping[str, Any],
    *,
    messages: Mapping[str, tuple[str, str, str]],
    tools: Mapping[str, str],
    keys: Mapping[str, tuple[str, str]],
) -> HookEvent | None:
    """A message event (type, role, payload key) or one after a tool ran (payload key).

    `keys`: of which kind an event's key is, and where the payload has the id for it.
    """
    native_id = payload.get("session_id")
    cwd = payload.get("cwd")
    if payload.get("hook_event_name") != event_name:
        return None
    if not isinstance(native_id, str) or not isinstance(cwd, str):
        return None
    parts = describe_agent(payload.get("agent_id"), payload.get("agent_type"))
    if event_name in messages:
        event_type, role, field = messages[event_name]
        content = payload.get(field)
        if not isinstance(content, str) or not content:
            return None
        if role == "user":
            event_type, role = describe_prompt(is_to_agent=bool(parts))
    elif event_name in tools:
        event_type, role = "tool_result", "tool"
        content = as_text(payload.get(tools[event_name], ""))
        given = {"tool": payload.get("tool_name"), "input": payload.get("tool_input")}
        parts = {**make_storable_parts(given), **parts}
    else:
        return None
    native_id = make_storable(native_id)
    key = None
    if event_name in keys:
        kind, field = keys[event_name]
        key = _find_key(kind, payload.get(field), content)
    if key is None:
        event_id = _make_event_id(client, native_id, event_name, payload, content, parts)
    else:
        event_id = name_event(client, native_id, key)
    return HookEvent(
        client=client,
        native_id=native_id,
        cwd=cwd,
        event_id=event_id,
        event_type=event_type,
        role=role,
        content=cut_to_fit(make_storable(content), CONTENT_BYTES),
        parts=parts or None,
        key=key,
    )


def _find_key(kind: str, native: object, content: str) -> str | None:
    if kind == TURN:
        return make_key("prompt", name_prompt(native, content))
    return make_key(kind, native)


def make_key(kind: str, native: object) -> str | None:
    """The key of an event by an id of the client's own, where it is one."""
    if not isinstance(native, str) or not 0 < len(native) <= KEY_CHARS:
        return None
    return make_storable(f"{kind}:{native}")


def name_prompt(turn_id: object, text: str) -> str | None:
    """A name for what was said in a turn; its id alone will not do, more may be said in it later.

    White space does not count: a command comes with another one to the transcript.
    """
    if make_key(TURN, turn_id) is None:
        return None
    words = " ".join(text.split())
    return f"{turn_id}:{canonical.sha256(words.encode('utf-8', 'replace')).hex()[:16]}"


def name_event(client: str, native_id: str, key: str) -> str:
    """The id of an event that a hook and the transcript, or two readings of it, have in common."""
    return ids.named_id(client, native_id, key)


def describe_prompt(*, is_to_agent: bool) -> tuple[str, str]:
    """The type and the role of what a model is told: only the person's words begin a turn."""
    return ("system_event", "system") if is_to_agent else ("user_message", "user")


def describe_agent(agent_id: object, agent: object) -> dict[str, Any]:
    """What marks an event of a subagent: what it is told is not said by the person."""
    parts = {}
    if isinstance(agent_id, str) and agent_id:
        parts["agent_id"] = make_storable(agent_id[:KEY_CHARS])
        if isinstance(agent, str) and agent:
            parts["agent"] = make_storable(agent[:KEY_CHARS])
    return parts


def reply_in_common(event_name: str, text: str, notice: str = "", offer: str = "") -> str:
    """Three of the four programs read the same answer; one refuses any key beside these.

    The person is shown one line: nobody should wonder what an agent knows, and from where.
    """
    whole = "\n\n".join(filter(None, (text, notice, offer)))
    output = {"hookEventName": event_name, "additionalContext": whole}
    shown = f"Holdfast handed over {len(whole):,} characters about earlier work (holdfast why)"
    if not text and notice.startswith(TEAM):
        shown = "Holdfast reminded the agent of what others do (holdfast why)"
    elif not text and not notice:
        shown = "Holdfast: all is kept; the conversation's folder is not up to date (holdfast why)"
    elif not text:
        shown = "Holdfast reminded the agent of an earlier decision (holdfast why)"
    return json.dumps({"systemMessage": shown, "hookSpecificOutput": output}, ensure_ascii=False)


def make_storable(text: str) -> str:
    """Characters that no store keeps become visible: a hook never refuses an agent's text."""
    without_zero = text.replace("\x00", "\ufffd")
    return without_zero.encode("utf-8", "replace").decode()


def cut_to_fit(text: str, max_bytes: int) -> str:
    """A text whose JSON has at most so many bytes, with a note where it was cut."""
    kept = text
    while len(kept) > max_bytes // 6:  # a character is at most six bytes of JSON
        size = len(json.dumps(kept, ensure_ascii=False).encode())
        if size <= max_bytes:
            break
        kept = kept[: len(kept) * max_bytes // size]
    if kept is text:
        return text
    return f"{kept}\n[cut here; {len(text):,} characters in all]"


def make_storable_parts(parts: Mapping[str, object]) -> dict[str, Any]:
    return {name: _make_storable_input(value) for name, value in parts.items()}


def _make_storable_input(value: object) -> object:
    """What a tool was given; as a text where it is too deep, too long or not quite JSON."""
    try:
        kept = _make_storable_value(value, INPUT_DEPTH)
        canonical.canonical_json("input", kept, max_bytes=INPUT_BYTES)
    except InvalidValueError:
        text = make_storable(as_text(value))
        return cut_to_fit(text, INPUT_BYTES)
    return kept


def _make_storable_value(value: object, levels: int) -> object:
    if isinstance(value, str):
        return make_storable(value)
    if isinstance(value, dict | list) and not levels:
        raise InvalidValueError("input", "…", f"is nested deeper than {INPUT_DEPTH} levels")
    if isinstance(value, list):
        return [_make_storable_value(item, levels - 1) for item in value]
    if isinstance(value, dict):
        return {
            make_storable(key): _make_storable_value(item, levels - 1)
            for key, item in value.items()
        }
    return value


def as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "[nested too deep to be kept]"


def may_hold_shared(content: str, parts: Mapping[str, Any]) -> bool:
    """Whether what a tool answered is looked at for what teammates share; most is not."""
    tool, given = parts.get("tool"), as_text(parts.get("input"))
    is_of_team = isinstance(tool, str) and tool.endswith(TEAM_TOOLS)
    return is_of_team or OPENING in content or any(sign in given for sign in SIGNS)


def _make_event_id(
    client: str,
    native_id: str,
    event_name: str,
    payload: Mapping[str, Any],
    content: str,
    parts: dict[str, Any],
) -> str:
    """The same id when a client fires a hook twice; a new one where it marks no event.

    Named from all that is kept: two tools may end in the same millisecond with the same answer.
    """
    marks = [payload.get(key) for key in ("prompt_id", "turn_id", "timestamp", "tool_use_id")]
    if not any(marks):
        return ids.new_id()
    kept = canonical.canonical_json("parts", parts, max_bytes=PARTS_BYTES)
    texts = [as_text(mark) for mark in marks]
    names = [client, native_id, event_name, *texts, content, kept]
    storable_names = [make_storable(name) for name in names]
    return ids.named_id(*storable_names)
