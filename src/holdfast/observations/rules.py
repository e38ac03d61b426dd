"""Whether a tool has done anything and a gate was passed, as far as the log shows it."""

from __future__ import annotations

from holdfast.observations import parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.observations.model import Answered, LoggedEvent, Verdict

REFUSED_KEYS = ("is_error", "isError", "denied")
PASSED_KEYS = ("passed", "ok", "success", "valid")
STATUS_KEYS = ("status", "result", "verdict")
PASSED_WORDS = ("passed", "pass", "ok", "success")
ENDED_WORDS = (*PASSED_WORDS, "completed")
FAILED_WORDS = ("failed", "fail", "error", "rejected")


def is_refused(result: LoggedEvent) -> bool:
    """Whether a tool has done nothing, by its client's word: it failed, or was not allowed."""
    return bool(parts.find_value(result.parts, REFUSED_KEYS))


def is_denied(result: Answered) -> bool:
    """Whether a person or a rule of the client kept a tool from being run."""
    return bool(parts.find_value(result.parts, ["denied"]))


def is_cut_off(result: LoggedEvent) -> bool:
    """Whether a tool was stopped, or has not ended, by its client's word."""
    status = parts.find_value(result.parts, ["status"])
    return status is not None and parts.as_text(status).casefold() not in ENDED_WORDS


def grade_gate(event: LoggedEvent) -> Verdict:
    passed = parts.find_value(event.parts, PASSED_KEYS)
    if passed is True:
        return "passed"
    if passed is False:
        return "failed"
    found = parts.find_value(event.parts, STATUS_KEYS)
    status = parts.as_text(found).casefold()
    if status in PASSED_WORDS:
        return "passed"
    if status in FAILED_WORDS:
        return "failed"
    return "unknown"
