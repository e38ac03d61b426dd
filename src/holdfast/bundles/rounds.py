"""Role rounds: four roles speak in turn about one topic, with one bundle; the chair closes. Pure.

A round exists to decide, so every new fact in it must be verifiable. The rule is simple enough for
a machine: each submission names at least one source, as `repo:PATH`, `tool:COMMAND` or
`user:WORDS`, or begins with "No new fact". What the roles submit stays in the round; only the
chair's decisions and questions become context. A round that is not needed any more is abandoned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.bundles import errors
from holdfast.errors import InvalidValueError
from holdfast.ground import canonical
from holdfast.ground.fence import clean
from holdfast.ground.frozen import asdict, dataclass, replace
from holdfast.workstreams import rules

if TYPE_CHECKING:
    from holdfast.workstreams.model import RepoContext

# How long a submission of each role is, in characters: the maximum is enforced, the minimum is not.
ROLES = {
    "Product Owner": (400, 700),
    "Architect": (600, 900),
    "Developer": (700, 1000),
    "Validator": (300, 500),
}
QUESTIONS = {
    "Product Owner": "what is needed and by whom, what it is worth, and what is out of scope",
    "Architect": (
        "where it belongs, which shape it takes, and which alternatives were rejected and why"
    ),
    "Developer": "the steps, the files they touch, and what could go wrong",
    "Validator": "how it will be shown to work, and what the others left open",
}
CHAIR = "Chair"
SPEAKERS = (*ROLES, CHAIR)  # in the order in which they speak
SOURCES = ("repo:", "tool:", "user:")
NO_NEW_FACT = "no new fact"
TOPIC_CHARS, RESULT_CHARS, SOURCE_CHARS = 300, 1_000, 300
RESULTS, SOURCES_EACH = 20, 20
MAX_BYTES = 1 << 20  # of any text, before its characters are counted


@dataclass(frozen=True)
class Submission:
    role: str
    text: str
    sources: tuple[str, ...]
    submitted_at: str

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "sources": list(self.sources)}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Submission:
        return cls(**{**value, "sources": tuple(value["sources"])})


class RoundResult(NamedTuple):
    """A decision or a question of the chair, and the status that it is noted with."""

    text: str
    status: str


@dataclass(frozen=True)
class Round:
    topic: str
    receipt_id: str  # of the bundle that every role sees
    started_at: str
    submissions: tuple[Submission, ...] = ()
    status: str = "open"  # then closing, while results are noted, then closed; or abandoned
    decisions: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    persisted: int = 0  # how many results are noted
    abandoned_at: str | None = None

    @property
    def is_over(self) -> bool:
        return self.status in ("closed", "abandoned")

    @property
    def role(self) -> str:
        """Whose turn it is."""
        return SPEAKERS[len(self.submissions)]

    @property
    def results(self) -> list[RoundResult]:
        """What becomes planning context: decisions as accepted, questions as open."""
        decided = [RoundResult(text, "accepted") for text in self.decisions]
        asked = [RoundResult(text, "open") for text in self.questions]
        return [*decided, *asked]

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.__dict__,
            "submissions": [submission.to_dict() for submission in self.submissions],
            "decisions": list(self.decisions),
            "questions": list(self.questions),
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Round:
        known = {
            "submissions": tuple(map(Submission.from_dict, value["submissions"])),
            "decisions": tuple(value["decisions"]),
            "questions": tuple(value["questions"]),
        }
        return cls(**{**value, **known})


@dataclass(frozen=True)
class RoundStep:
    """Whose turn it is, and the whole text for it."""

    role: str
    topic: str
    least_chars: int | None
    most_chars: int | None
    instruction: str
    bundle_id: str
    started_at: str
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def start(topic: str, *, receipt_id: str, now: str) -> Round:
    checked = _check_line("topic", topic, TOPIC_CHARS)
    return Round(checked, receipt_id, started_at=now)


def write_instruction(current: Round) -> str:
    """The task of the next role, with what the others submitted quoted: it may be another chat."""
    parts = [f"ROUND {clean(current.topic)}"]
    for submission in current.submissions:
        parts.append(_quote_submission(submission))
    parts.append(_write_question(current.role))
    return "\n\n".join(parts)


def submit(current: Round, role: str, text: str, sources: Sequence[str], *, now: str) -> Round:
    """A submission; refused out of turn, where it is too long, or where it names no source."""
    known = _parse_role(role)
    is_its_turn = current.status == "open" and known == current.role
    if not is_its_turn or known == CHAIR:
        raise errors.WrongRoleError(role, current.role)
    text = _check_submission(known, text)
    checked = _check_sources(sources)
    if not checked and not text.casefold().startswith(NO_NEW_FACT):
        raise errors.SourceMissingError(known)
    submission = Submission(known, text, checked, submitted_at=now)
    return replace(current, submissions=(*current.submissions, submission))


def _check_submission(role: str, given: str) -> str:
    _, most = ROLES[role]
    text = canonical.check_text("text", given, max_bytes=MAX_BYTES).strip()
    if not text:
        raise InvalidValueError("text", text, "is empty")
    if len(text) > most:
        problem = f"has {len(text):,} characters; {role} has {most:,} at most"
        raise InvalidValueError("text", text, problem)
    return text


def list_notes(submitted: Round) -> tuple[str, ...]:
    """A submission that is too short is accepted, with a note."""
    last = submitted.submissions[-1]
    least, most = ROLES[last.role]
    length = len(last.text)
    if length >= least:
        return ()
    wanted = f"{least} to {most:,} characters that were asked for"
    note = f"{last.role} said {length} of the {wanted}."
    return (note,)


def close(current: Round, decisions: Sequence[str], questions: Sequence[str]) -> Round:
    """The chair's results, after every role has spoken; none where an earlier close continues."""
    if current.status != "open" or current.role != CHAIR:
        problem = "The round is closed after all roles have spoken"
        raise errors.WrongRoleError(CHAIR, current.role, problem)
    _check_number("decisions", decisions)
    _check_number("questions", questions)
    if not decisions and not questions:
        return _continue_closing(current)
    return replace(
        current,
        status="closing",
        decisions=_check_result_texts(decisions),
        questions=_check_result_texts(questions),
        persisted=0,
    )


def _check_result_texts(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(_check_line("decision", text, RESULT_CHARS) for text in texts)


def _check_number(name: str, texts: Sequence[str]) -> None:
    number = len(texts)
    if number > RESULTS:
        raise InvalidValueError(name, number, f"are more than {RESULTS}")


def _continue_closing(current: Round) -> Round:
    if not current.results:
        problem = "are missing: a round ends with a decision or an open question"
        raise InvalidValueError("decisions", [], problem)
    return replace(current, status="closing")


def check_results(closing: Round, context: RepoContext) -> None:
    """By the rule that will note them, because a later refusal would leave it half closed."""
    stamp = rules.Stamp(CHAIR, closing.receipt_id, closing.started_at)
    for result in closing.results:
        rules.decide(
            context, result.text, decision_id=None, status=result.status, because=None, stamp=stamp
        )


def persist_one(current: Round) -> Round:
    """One more result is noted; with the last one the round is closed."""
    number = current.persisted + 1
    status = "closing"
    if number == len(current.results):
        status = "closed"
    return replace(current, persisted=number, status=status)


def reopen(closing: Round) -> Round:
    """A result could not be noted: the chair may continue, change its results, or abandon."""
    return replace(closing, status="open")


def abandon(current: Round, *, now: str) -> Round:
    """End without a result. What an interrupted close has noted stays, and only that is named.

    Refused while the round is being closed: it must not end in two ways.
    """
    if current.status == "closing":
        raise errors.RoundClosingError(current.topic)
    questions_noted = max(0, current.persisted - len(current.decisions))
    return replace(
        current,
        status="abandoned",
        decisions=current.decisions[: current.persisted],
        questions=current.questions[:questions_noted],
        abandoned_at=now,
    )


def _parse_role(role: object) -> str:
    """`product_owner` and `Product Owner` are the same role."""
    spaced = str(role).replace("_", " ").replace("-", " ")
    plain = spaced.casefold()
    for name in SPEAKERS:
        if name.casefold() == plain:
            return name
    raise InvalidValueError("role", role, "is unknown", known=SPEAKERS)


def _check_sources(sources: Sequence[str]) -> tuple[str, ...]:
    number = len(sources)
    if number > SOURCES_EACH:
        raise InvalidValueError("sources", number, f"are more than {SOURCES_EACH}")
    return tuple(_check_source(source) for source in sources)


def _check_source(source: str) -> str:
    line = _check_line("source", source, SOURCE_CHARS)
    _, _, name = line.partition(":")
    names_a_source = line.startswith(SOURCES) and name.strip()
    if not names_a_source:
        known = ("repo:PATH", "tool:COMMAND", "user:WORDS")
        raise InvalidValueError("source", line, "names no source", known=known)
    return line


def _write_question(role: str) -> str:
    if role == CHAIR:
        end = "the round ends with the decisions and the open questions, one sentence each"
        return f"{CHAIR}: {end}."
    least, most = ROLES[role]
    number = list(ROLES).index(role) + 1
    turn = f"{role} ({number} of {len(ROLES)})"
    return (
        f"{turn}: {QUESTIONS[role]}, in {least} to {most:,} characters. "
        "Each new fact needs a source, as repo:PATH, tool:COMMAND or user:WORDS; "
        'without any, begin with "No new fact".'
    )


def _quote_submission(submission: Submission) -> str:
    heading = f"{submission.role} said"
    sources = ", ".join(submission.sources)
    if sources:
        heading += f" (sources: {sources})"
    lines = clean(submission.text).splitlines()
    quoted = [f"| {line}" for line in lines if line.strip()]
    return "\n".join([clean(heading), *quoted])


def _check_line(name: str, value: object, max_chars: int) -> str:
    given = canonical.check_text(name, value, max_bytes=MAX_BYTES)
    text = " ".join(given.split())
    if not text:
        raise InvalidValueError(name, value, "is empty")
    if len(text) > max_chars:
        problem = f"has {len(text):,} characters; {max_chars:,} are the most"
        raise InvalidValueError(name, text, problem)
    return text
