"""Role rounds: four roles speak in turn about one topic, each with the same bundle, and the chair closes. Pure.

A round is there to decide, so nobody may bring in what nobody can check. The rule is simple enough for a machine: each
submission names at least one source, as `repo:PATH`, `tool:COMMAND` or `user:WORDS`, or begins with "No new fact".
What the roles say stays in the round; only the chair's decisions and questions become context. Whoever does not want
to decide any more abandons it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from holdfast.bundles import errors
from holdfast.errors import InvalidValueError
from holdfast.ground import canonical, redaction
from holdfast.ground.fence import clean
from holdfast.workstreams import rules

if TYPE_CHECKING:
    from holdfast.workstreams.model import RepoContext

# How much each role says, in characters: the upper end is held, the lower one is a target.
ROLES = {
    "Product Owner": (400, 700),
    "Architect": (600, 900),
    "Developer": (700, 1000),
    "Validator": (300, 500),
}
ASKED = {
    "Product Owner": "what is needed and by whom, what it is worth, and what is out of scope",
    "Architect": "where it belongs, which shape it takes, and which alternatives were rejected and why",
    "Developer": "the steps, the files they touch, and what could go wrong",
    "Validator": "how it will be shown to work, and what the others left open",
}
CHAIR = "Chair"
SOURCES = ("repo:", "tool:", "user:")
NO_NEW_FACT = "no new fact"
TOPIC_CHARS, RESULT_CHARS, SOURCE_CHARS = 300, 1_000, 300
RESULTS, SOURCES_EACH = 20, 20


@dataclass(frozen=True)
class Submission:
    role: str
    text: str
    sources: tuple[str, ...]
    submitted_at: str


@dataclass(frozen=True)
class Round:
    topic: str
    receipt_id: str  # of the bundle that every role sees
    started_at: str
    submissions: tuple[Submission, ...] = ()
    status: str = "open"  # then closing, while its results are written down, then closed; or abandoned
    decisions: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    persisted: int = 0  # how many results are context by now
    abandoned_at: str | None = None

    @property
    def is_over(self) -> bool:
        return self.status in ("closed", "abandoned")

    @property
    def role(self) -> str:
        """Whose turn it is."""
        return [*ROLES, CHAIR][len(self.submissions)]

    @property
    def results(self) -> list[tuple[str, str]]:
        """What becomes planning context: decisions as accepted, questions as open."""
        return [*((text, "accepted") for text in self.decisions), *((text, "open") for text in self.questions)]

    def to_dict(self) -> dict[str, Any]:
        lists = {name: list(getattr(self, name)) for name in ("decisions", "questions")}
        said = [{**asdict(one), "sources": list(one.sources)} for one in self.submissions]
        return {**self.__dict__, "submissions": said, **lists}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Round:
        said = (Submission(**{**one, "sources": tuple(one["sources"])}) for one in value["submissions"])
        lists = {name: tuple(value[name]) for name in ("decisions", "questions")}
        return cls(**{**value, "submissions": tuple(said), **lists})


@dataclass(frozen=True)
class Step:
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
    return Round(_line("topic", topic, TOPIC_CHARS), receipt_id, now)


def ask(current: Round) -> str:
    """What the next role is asked for; what the others said is quoted, because it may be another chat."""
    role = current.role
    said = [_quoted(one) for one in current.submissions]
    return "\n\n".join([f"ROUND {clean(current.topic)}", *said, _asked(role)])


def submit(current: Round, role: str, text: str, sources: Sequence[str], *, now: str) -> Round:
    """One role's words, refused where it is not its turn, where it says too much, or where nothing backs it."""
    known = _known_role(role)
    if current.status != "open" or known != current.role or known == CHAIR:
        raise errors.WrongRoleError(role, current.role)
    most = ROLES[known][1]
    text = canonical.check_text("text", text, max_bytes=1 << 20).strip()
    if not text:
        raise InvalidValueError("text", text, "is empty")
    if len(text) > most:
        raise InvalidValueError("text", text, f"has {len(text):,} characters; {known} has {most:,} at most")
    checked = _checked_sources(sources)
    if not checked and not text.casefold().startswith(NO_NEW_FACT):
        raise errors.SourceMissingError(known)
    return replace(current, submissions=(*current.submissions, Submission(known, text, checked, now)))


def notes_on(said: Round) -> tuple[str, ...]:
    """Whoever says less than was asked for is heard, and told so."""
    last = said.submissions[-1]
    least, most = ROLES[last.role]
    if len(last.text) >= least:
        return ()
    return (f"{last.role} said {len(last.text)} of the {least} to {most:,} characters that were asked for.",)


def close(current: Round, decisions: Sequence[str], questions: Sequence[str]) -> Round:
    """The chair's word, after everybody spoke. Without a new one, the one that was interrupted goes on."""
    if current.status != "open" or current.role != CHAIR:
        raise errors.WrongRoleError(CHAIR, current.role)
    for name, texts in (("decisions", decisions), ("questions", questions)):
        if len(texts) > RESULTS:
            raise InvalidValueError(name, len(texts), f"are more than {RESULTS}")
    if not decisions and not questions:
        if current.results:
            return replace(current, status="closing")
        raise InvalidValueError("decisions", [], "are missing: a round ends with a decision or an open question")
    decided, asked = (tuple(_line("decision", one, RESULT_CHARS) for one in texts) for texts in (decisions, questions))
    return replace(current, status="closing", decisions=decided, questions=asked, persisted=0)


def check_results(closing: Round, context: RepoContext) -> None:
    """By the rule that will note them, with secrets marked as it marks them: a refusal later would be half a close."""
    stamp = {"by": CHAIR, "uid": closing.receipt_id, "now": closing.started_at}
    for text, status in closing.results:
        rules.decide(context, redaction.redact(text).text, decision_id=None, status=status, because=None, **stamp)


def persist_one(current: Round) -> Round:
    """One result more is context; with the last one the round is closed."""
    number = current.persisted + 1
    return replace(current, persisted=number, status="closed" if number == len(current.results) else "closing")


def reopen(closing: Round) -> Round:
    """A result could not be noted: the chair goes on, says something else, or gives up."""
    return replace(closing, status="open")


def abandon(current: Round, *, now: str) -> Round:
    """The end without a result. What a close had noted before it was interrupted stays noted, and only that is named.

    While it is being closed the chair has spoken, and two ends of one round would be none.
    """
    if current.status == "closing":
        raise errors.RoundClosingError(current.topic)
    noted = current.persisted
    decided, asked = current.decisions[:noted], current.questions[: max(0, noted - len(current.decisions))]
    return replace(current, status="abandoned", decisions=decided, questions=asked, abandoned_at=now)


def _known_role(role: object) -> str:
    """`product_owner` and `Product Owner` are one role."""
    plain = str(role).replace("_", " ").replace("-", " ").casefold()
    if found := next((one for one in (*ROLES, CHAIR) if one.casefold() == plain), None):
        return found
    raise InvalidValueError("role", role, "is unknown", known=(*ROLES, CHAIR))


def _checked_sources(sources: Sequence[str]) -> tuple[str, ...]:
    if len(sources) > SOURCES_EACH:
        raise InvalidValueError("sources", len(sources), f"are more than {SOURCES_EACH}")
    checked = tuple(_line("source", one, SOURCE_CHARS) for one in sources)
    for one in checked:
        if not one.startswith(SOURCES) or not one.partition(":")[2].strip():
            raise InvalidValueError("source", one, "names no source", known=("repo:PATH", "tool:COMMAND", "user:WORDS"))
    return checked


def _asked(role: str) -> str:
    if role == CHAIR:
        return f"{CHAIR}: the round ends with the decisions and the open questions, one sentence each."
    least, most = ROLES[role]
    return (
        f"{role} ({list(ROLES).index(role) + 1} of {len(ROLES)}): {ASKED[role]}, in {least} to {most:,} characters. "
        'Each new fact needs a source, as repo:PATH, tool:COMMAND or user:WORDS; without any, begin with "No new fact".'
    )


def _quoted(one: Submission) -> str:
    backed = f" (sources: {', '.join(one.sources)})" if one.sources else ""
    lines = [f"| {line}" for line in clean(one.text).splitlines() if line.strip()]
    return "\n".join([clean(f"{one.role} said{backed}"), *lines])


def _line(name: str, value: object, max_chars: int) -> str:
    text = " ".join(canonical.check_text(name, value, max_bytes=1 << 20).split())
    if not text:
        raise InvalidValueError(name, value, "is empty")
    if len(text) > max_chars:
        raise InvalidValueError(name, text, f"has {len(text):,} characters; {max_chars:,} are the most")
    return text
