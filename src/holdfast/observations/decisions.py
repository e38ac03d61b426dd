"""What a transcript shows to be decided by the person: plans, questions, denied permissions.

Only what a client really writes down is read: two ask before they leave plan mode, three have a
tool that asks the person questions, and one writes none of these where it is read. Some forms look
like a decision and are none: without a person at the terminal a client approves or denies by
itself, and one writes the same for a key that stops the agent as for a denial. The first are left
out, the second are named as what they may be.

Pure: an event in, frozen values out. Each decision names the event that it was seen in.
"""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.ground.frozen import dataclass
from holdfast.ground.patterns import compile_later
from holdfast.ground.text import cut
from holdfast.observations import parts, rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Literal

    from holdfast.observations.model import LoggedEvent

    Kind = Literal["plan approved", "plan rejected", "answered", "denied", "stopped or denied"]

LINE_CHARS = 300
PLAN_CHARS = 20_000
MOST_ANSWERS = 10

PLAN_TOOLS = ("ExitPlanMode", "exit_plan_mode")
QUESTION_TOOLS = ("AskUserQuestion", "ask_user", "question")
DENIED = "denied"
PLAN_KEYS = ("plan", "plan_filename", "plan_path")
# How a client says that a plan was approved; one has an object with the plan instead.
APPROVED = ("User has approved", "Plan approved.")
PLAN_REJECTED = "Plan rejected."
FEEDBACK = "User feedback:"
# Without a terminal a client approves by itself and goes on in this mode.
BY_ITSELF = "Switching to YOLO mode"
# By a person; other denials are of the client's rules, of hooks, or for the lack of a terminal.
REFUSED_BY_PERSON = "The user doesn't want to proceed with this tool use."
REASON = "the user said:"
NOTE = "\n\nNote: The user's next message"
CLARIFIES = "The user wants to clarify"
# What clients write as `denied`; the second also for what was stopped, the third also where no
# person was there.
USER_REJECTED, CANCELLED, REJECTED = "user-rejected", "cancelled", "rejected"
DENIED_BY_PERSON = "User denied execution"

_ANSWER = compile_later(r'"((?:[^"\\]|\\.){1,2000}?)"="((?:[^"\\]|\\.){1,2000}?)"(?=[,. ]|$)')
_ANSWERED = "User has answered your questions: "
UNANSWERED = "Unanswered"


@dataclass(frozen=True)
class SeenDecision:
    """What was decided, what it was about, and the event that shows it."""

    kind: Kind
    about: str  # the plan, the question, or the tool and what it was given
    answer: str  # in the person's words or choice; empty where none was given
    sequence: int
    happened_at: datetime


def find_decisions(event: LoggedEvent) -> list[SeenDecision]:
    """Those that an event shows; what happens in a subagent is not decided by the person."""
    if event.type != "tool_result" or parts.get_agent(event.parts):
        return []
    tool = parts.get_tool(event.parts)
    content = parts.as_text(event.content)
    if parts.find_value(event.parts, [DENIED]):
        return _find_denial(event, tool, content)
    if rules.is_refused(event) or rules.is_cut_off(event):
        return []
    if tool in PLAN_TOOLS:
        return _find_plan(event, content)
    if tool in QUESTION_TOOLS:
        return _find_answers(event, content)
    return []


# --- plans ----------------------------------------------------------------------------------------


def _find_plan(event: LoggedEvent, content: str) -> list[SeenDecision]:
    """A plan that was written to a file is in the answer, not in what the tool was given."""
    about = _describe_plan(event, content)
    if content.startswith(PLAN_REJECTED):
        _, _, feedback = content.partition(FEEDBACK)
        words = feedback.partition("\n\nThe plan is stored at")[0]
        return [_decide(event, "plan rejected", about, words)]
    answer = parts.parse_object(content)
    is_by_person = content.startswith(APPROVED) and BY_ITSELF not in content[:LINE_CHARS]
    is_in_object = "plan" in (answer or {}) and not parts.find_value(answer, ["isAgent"])
    if is_by_person or is_in_object:
        return [_decide(event, "plan approved", about, "")]
    return []


def _describe_plan(event: LoggedEvent, content: str) -> str:
    answer = parts.parse_object(content)
    given = parts.get_input(event.parts)
    plan = parts.as_text(parts.find_value(given, PLAN_KEYS))
    return plan or parts.as_text(parts.find_value(answer, ["plan", "filePath"]))


# --- questions ------------------------------------------------------------------------------------


def _find_answers(event: LoggedEvent, content: str) -> list[SeenDecision]:
    """Each question with the answer that was chosen or typed."""
    pairs = _list_answers(event, content)
    given = [(asked, chosen) for asked, chosen in pairs if asked and _is_chosen(chosen)]
    return [_decide(event, "answered", asked, chosen) for asked, chosen in given[:MOST_ANSWERS]]


def _list_answers(event: LoggedEvent, content: str) -> list[tuple[str, str]]:
    """From an object, or from a sentence that has each question and its answer in quotes."""
    answers = parts.find_value(parts.parse_object(content), ["answers"])
    if isinstance(answers, Mapping):
        return [(_find_question(event, key), _join(value)) for key, value in answers.items()]
    if not content.startswith(_ANSWERED):
        return []
    found = _ANSWER.findall(content[:PLAN_CHARS], len(_ANSWERED))
    return [(asked, chosen) for asked, chosen in found]


def _is_chosen(answer: str) -> bool:
    return bool(answer.strip()) and answer != UNANSWERED


def _find_question(event: LoggedEvent, key: object) -> str:
    """Answers have the question as their name, or its place in the list that was asked."""
    name = parts.as_text(key)
    if not name.isdecimal():
        return name
    asked = parts.find_value(parts.get_input(event.parts), ["questions"])
    place = int(name[:4])
    if not isinstance(asked, list) or place >= len(asked):
        return ""
    return parts.as_text(parts.find_value(asked[place], ["question"]))


def _join(value: object) -> str:
    """More than one may be chosen."""
    if isinstance(value, list):
        return ", ".join(parts.as_text(item) for item in value[:MOST_ANSWERS])
    return parts.as_text(value)


# --- permissions ----------------------------------------------------------------------------------


def _find_denial(event: LoggedEvent, tool: str, content: str) -> list[SeenDecision]:
    if tool in QUESTION_TOOLS:
        return []  # the person wants to say something else first
    denied = parts.find_value(event.parts, [DENIED])
    if denied == USER_REJECTED:
        return _find_rejection(event, tool, content)
    if denied == CANCELLED and DENIED_BY_PERSON in content[:LINE_CHARS]:
        return [_deny(event, "denied", tool)]
    if denied == REJECTED:
        return [_deny(event, "stopped or denied", tool)]
    return []


def _find_rejection(event: LoggedEvent, tool: str, content: str) -> list[SeenDecision]:
    """With a reason a person has denied it; without one a key may have stopped the agent."""
    if not content.startswith(REFUSED_BY_PERSON):
        return []
    words = content.partition(REASON)[2].partition(NOTE)[0].strip()
    if words.startswith(CLARIFIES):
        return []
    if tool in PLAN_TOOLS and words:
        return [_decide(event, "plan rejected", _describe_plan(event, content), words)]
    return [_deny(event, "denied" if words else "stopped or denied", tool, words)]


def _deny(event: LoggedEvent, kind: Kind, tool: str, words: str = "") -> SeenDecision:
    return _decide(event, kind, _describe_use(tool, parts.get_input(event.parts)), words)


def _describe_use(tool: str, given: object) -> str:
    """The tool with its command or its file; where the log has neither, what it has."""
    name = tool or "a tool"
    target = parts.get_command(given) or parts.get_path(given) or parts.get_first_text(given)
    return f"{name} {target}".strip()


def _decide(event: LoggedEvent, kind: Kind, about: str, answer: str) -> SeenDecision:
    return SeenDecision(
        kind=kind,
        about=cut(parts.as_line(about), LINE_CHARS),
        answer=cut(parts.as_line(answer), LINE_CHARS),
        sequence=event.sequence,
        happened_at=event.happened_at,
    )
