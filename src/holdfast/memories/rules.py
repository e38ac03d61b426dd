"""What may be remembered, how belief in it moves, and what answers a question.

Each word of a question is weighted by how rare it is among all memories and by how much it can
mean. A memory is relevant by the share of this weight that it has, where a word that no memory has
weighs most, so that a question about something else is declined; and by the weight alone, where it
has words that tell more than one that stands in no other memory, so that a question in other words
is not. Relevance decides about the answer as a whole: where one memory is relevant enough, all that
have words of the question are ranked, as a plain search would rank them. How new, believed and used
a memory is decides between those that are about equal.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from holdfast.errors import InvalidValueError
from holdfast.ground import canonical, clock
from holdfast.ground import light_json as json
from holdfast.ground.frozen import dataclass, replace
from holdfast.ground.patterns import compile_later
from holdfast.memories.model import Memory, MemoryMatch
from holdfast.memories.words import extract_words, measure_meaning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


SOURCE_TYPES = ("explicit", "implicit", "bootstrap", "tool_output")

CONTENT_BYTES = 64 << 10
QUERY_BYTES = 16 << 10
MATCH_BYTES = 4 << 20
METADATA_BYTES = 64 << 10
LABEL_BYTES = 400
MOST_TTL_DAYS = 36_500
MOST_LINEAGE = 200
LARGEST_LIMIT = 1000
LARGEST_COUNT = (1 << 31) - 1

CONFIDENCE = 0.80
WITNESS = 0.25  # of the doubt that is left goes with each session that says the same
DOUBT = 0.5  # of the belief stays after each session that says otherwise

LIMIT = 5
MIN_RELEVANCE = 0.25
TELLING = 1.02  # the weight that makes a memory relevant: one word of its own may be chance
CANDIDATES = 300  # memories that are looked at for one question
MOST_COUNTED = 1000  # a word in more memories than that weighs next to nothing
LEAST_TOTAL = 100
MOST_COMMON = 32  # common words that together lead to a memory that none of them leads to
BEGINNING_CHARS, MOST_BEGINNINGS = 3, 16  # of unknown words, which may be cut short
BEGINNING = 0.7  # of a word's weight counts where a memory only has a longer word
LENGTH_SHARE, SATURATION = 0.75, 1.2  # b and k1 of bm25
HALF_LIFE_DAYS = 90.0
FULL_USE = 100  # being used more often than that adds nothing
RECENCY, BELIEF, USE = 0.02, 0.02, 0.01  # how much each can add to an answer's score

# A namespace and a category that memories are to have; None for any.
Kind = tuple[str | None, str | None]

_WORD = compile_later(r"\w+")


@dataclass(frozen=True)
class Statement:
    """What is to be stored, checked; the same for what is remembered now and what is imported."""

    content: str
    content_hash: bytes
    words: tuple[str, ...]
    category: str | None
    metadata: str
    source_type: str
    confidence: float = CONFIDENCE
    lineage: tuple[str, ...] = ()
    user_id: str | None = None
    use_count: int = 0
    last_used_at: datetime | None = None
    expires_at: datetime | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None


# --- what may be remembered -----------------------------------------------------------------------


def check_statement(
    content: object,
    category: object,
    source_type: object,
    ttl_days: object,
    metadata: object,
    now: datetime,
) -> Statement:
    if not isinstance(source_type, str) or source_type not in SOURCE_TYPES:
        raise InvalidValueError("source_type", source_type, "is unknown", known=SOURCE_TYPES)
    text = _check_filled("content", content, CONTENT_BYTES)
    return Statement(
        content=text,
        content_hash=hash_content(text),
        words=tuple(sorted(extract_words(text))),
        category=check_optional_label("category", category),
        metadata=_format_metadata(metadata),
        source_type=source_type,
        expires_at=_find_end(now, ttl_days),
    )


def _format_metadata(metadata: object) -> str:
    if metadata is None:
        metadata = {}
    return canonical.canonical_object("metadata", metadata, max_bytes=METADATA_BYTES)


def _find_end(now: datetime, ttl_days: object) -> datetime | None:
    if ttl_days is None:
        return None
    days = _check_count("ttl_days", ttl_days, 1, MOST_TTL_DAYS)
    return now + timedelta(days=days)


def with_texts(statement: Statement, content: str, metadata: object) -> Statement:
    """The same with these texts, of which secrets were taken out."""
    kept = _format_metadata(metadata)
    if (content, kept) == (statement.content, statement.metadata):
        return statement
    words = tuple(sorted(extract_words(content)))
    return replace(
        statement,
        content=content,
        content_hash=hash_content(content),
        words=words,
        metadata=kept,
    )


def with_source(statement: Statement, user_id: object, session_id: str | None) -> Statement:
    """With its namespace, if another than the developer's own is given, and its first witness."""
    namespace = check_optional_label("user_id", user_id)
    if session_id is None:
        return replace(statement, user_id=namespace, lineage=())
    return replace(statement, user_id=namespace, lineage=(session_id,))


def hash_content(content: str) -> bytes:
    """The same for texts that differ only in case, in spaces or in how a letter is encoded."""
    folded = unicodedata.normalize("NFC", content).casefold()
    text = " ".join(folded.split())
    return canonical.sha256(text.encode())


def check_query(query: object) -> list[str]:
    """All words that are asked for; of a very long text those at its beginning."""
    text = _check_filled("query", query, MATCH_BYTES).strip()
    beginning = text.encode()[:QUERY_BYTES].decode(errors="ignore")
    return sorted(extract_words(beginning))


def check_kind(namespace: object, category: object) -> Kind:
    return (
        check_optional_label("namespace", namespace),
        check_optional_label("category", category),
    )


def check_match(match: object) -> str:
    """As long as an event may be, because events are searched as well."""
    return _check_filled("match", match, MATCH_BYTES)


def check_limit(limit: object) -> int:
    return _check_count("limit", limit, 1, LARGEST_LIMIT)


def check_share(field: str, value: object) -> float:
    problem = "is not a number between 0 and 1"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidValueError(field, value, problem)
    if not 0 <= value <= 1:
        raise InvalidValueError(field, value, problem)
    return float(value)


def check_id(memory_id: object) -> str | None:
    """The id, or None for what cannot be an id of a memory."""
    try:
        return check_label("memory_id", memory_id)
    except InvalidValueError:
        return None


def check_label(field: str, value: object) -> str:
    checked = _check_filled(field, value, LABEL_BYTES)
    if not checked.isprintable():
        raise InvalidValueError(
            field, checked, "contains a line break or another control character"
        )
    return checked


def check_optional_label(field: str, value: object) -> str | None:
    if value is None:
        return None
    return check_label(field, value)


def _check_filled(field: str, value: object, max_bytes: int) -> str:
    checked = canonical.check_text(field, value, max_bytes=max_bytes)
    if not checked.strip():
        raise InvalidValueError(field, checked, "is empty")
    return checked


def _check_count(field: str, value: object, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidValueError(field, value, "is not a whole number")
    if not least <= value <= most:
        raise InvalidValueError(field, value, f"is not between {least} and {most}")
    return value


# --- belief ---------------------------------------------------------------------------------------


def corroborate(memory: Memory, session_id: str | None) -> Memory:
    """A quarter nearer to 1; a session counts as a witness only once."""
    if session_id is not None and session_id in memory.lineage:
        return memory
    doubt = 1 - memory.confidence
    return _with_confidence(memory, memory.confidence + WITNESS * doubt, session_id)


def contradict(memory: Memory, session_id: str | None) -> Memory:
    """Half of the belief, also by a session that stated it: a session may correct itself."""
    return _with_confidence(memory, DOUBT * memory.confidence, session_id)


def _with_confidence(memory: Memory, confidence: float, session_id: str | None) -> Memory:
    witnesses = memory.lineage
    if session_id is not None:
        witnesses = tuple(dict.fromkeys([*witnesses, session_id]))
    rounded = round(confidence, 2)
    bounded = min(1.0, max(0.0, rounded))
    return replace(memory, confidence=bounded, lineage=witnesses[-MOST_LINEAGE:])


def repeat(memory: Memory, expires_at: datetime | None, session_id: str | None) -> Memory:
    """Corroborated, and kept until the later of both ends: an expired one is valid again."""
    end = None
    if memory.expires_at is not None and expires_at is not None:
        end = max(memory.expires_at, expires_at)
    corroborated = corroborate(memory, session_id)
    return replace(corroborated, expires_at=end)


# --- what answers a question ----------------------------------------------------------------------


def weigh(asked: Iterable[str], counts: Mapping[str, int], total: int) -> dict[str, float]:
    """The rarer a word is among the memories, the more; in a small number no word is common.

    One that a single memory has weighs 1.
    """
    population = max(total, LEAST_TOTAL)
    unit = _weigh_word(1, population)
    weights = {}
    for word in asked:
        count = counts.get(word, 0)
        weights[word] = measure_meaning(word) * _weigh_word(count, population) / unit
    return weights


def _weigh_word(count: int, population: int) -> float:
    others = max(population - count, 0)
    rarity = (others + 0.5) / (count + 0.5)
    return math.log(1 + rarity)


def list_beginnings(counts: Mapping[str, int]) -> list[str]:
    """The unknown words, each as the beginning of a longer one: `kuber*`."""
    unknown = [word for word in counts if not counts[word] and len(word) >= BEGINNING_CHARS]
    telling = [word for word in unknown if measure_meaning(word) == 1]
    return [f"{word}*" for word in telling[:MOST_BEGINNINGS]]


def with_beginnings(counts: Mapping[str, int], begun: Mapping[str, int]) -> dict[str, int]:
    """The same words, each unknown one replaced by its beginning where that is known."""
    known = {word for word in begun if begun[word]}
    rest = {word: count for word, count in counts.items() if f"{word}*" not in known}
    return rest | {word: begun[word] for word in known}


def choose_words(counts: Mapping[str, int]) -> list[str]:
    """The words to look memories up by: the rarest first, until they lead to enough of them."""
    chosen: list[str] = []
    found = 0
    for word in _list_known(counts):
        count = counts[word]
        if not chosen or found + count <= CANDIDATES:
            chosen.append(word)
            found += count
    return chosen


def choose_common_words(counts: Mapping[str, int]) -> list[str]:
    """Where even the rarest word leads to too many: those that the best memories have together."""
    known = _list_known(counts)
    if not known or counts[known[0]] <= CANDIDATES:
        return []
    return known[:MOST_COMMON]


def _list_known(counts: Mapping[str, int]) -> list[str]:
    known = [word for word in counts if counts[word]]
    return sorted(known, key=lambda word: (counts[word], word))


def rank(
    candidates: Iterable[tuple[Memory, Iterable[str]]],
    weights: Mapping[str, float],
    *,
    now: datetime,
    limit: int,
    min_relevance: float,
    query: str = "",
) -> list[MemoryMatch]:
    """All that have a word in common, best first, if the most relevant one is relevant enough.

    A memory is found by its own words, however many others have the same: the text itself comes
    first, then those of the same words, of these the ones with more of them in the same order.
    """
    rated = []
    for memory, words in candidates:
        has = frozenset(words)
        share = measure_share(has, weights)
        if share > 0:
            rated.append((memory, has, share))
    relevances = [measure_relevance(has, weights) for _, has, _ in rated]
    if max(relevances, default=0.0) < min_relevance:
        return []
    mean = sum(len(has) for _, has, _ in rated) / max(len(rated), 1)
    digest, pairs = hash_content(query), _list_pairs(query)
    matches = []
    for (memory, has, share), relevance in zip(rated, relevances, strict=True):
        match = _rate(memory, relevance, share * _measure_brevity(len(has), mean), now)
        is_other = share < 1 or hash_content(memory.content) != digest
        has_other_words = has != weights.keys()
        in_order = 0
        if not has_other_words:
            in_order = len(pairs & _list_pairs(memory.content))
        matches.append((is_other, has_other_words, -in_order, *_order(match), match))
    return [match for *_, match in sorted(matches, key=lambda entry: entry[:-1])[:limit]]


def _list_pairs(text: str) -> set[tuple[str, str]]:
    """Words that follow each other."""
    words = _WORD.findall(text.casefold())
    return set(pairwise(words))


def _order(match: MemoryMatch) -> tuple[float, int, str]:
    """The best first; of equal ones the newest, then by id."""
    updated = clock.microseconds(match.memory.updated_at)
    return -match.score, -updated, match.memory.id


def _measure_brevity(length: int, mean: float) -> float:
    """As in bm25: a word says more in a short text than in a long one."""
    share = 1 - LENGTH_SHARE + LENGTH_SHARE * length / mean
    return (SATURATION + 1) / (1 + SATURATION * share)


def measure_relevance(has: Iterable[str], weights: Mapping[str, float]) -> float:
    """The share of what was asked for; telling words are enough by themselves."""
    words = frozenset(has)
    telling = min(1.0, _weigh_met(words, weights) / TELLING)
    return round(max(measure_share(words, weights), MIN_RELEVANCE * telling), 4)


def measure_share(has: Iterable[str], weights: Mapping[str, float]) -> float:
    """The weight of the words that a memory has, as a share of all that were asked for."""
    total = math.fsum(weights.values())
    if not total:
        return 0.0
    return round(_weigh_met(frozenset(has), weights) / total, 4)


def _weigh_met(has: frozenset[str], weights: Mapping[str, float]) -> float:
    return math.fsum(weight * _measure_presence(word, has) for word, weight in weights.items())


def _measure_presence(word: str, has: frozenset[str]) -> float:
    """1 for a word that is there, less for the beginning of another word."""
    if word in has:
        return 1.0
    if word.endswith("*") and any(known.startswith(word[:-1]) for known in has):
        return BEGINNING
    return 0.0


def _rate(memory: Memory, relevance: float, strength: float, now: datetime) -> MemoryMatch:
    bonus = RECENCY * _measure_recency(memory, now)
    bonus += BELIEF * memory.confidence
    bonus += USE * _measure_use(memory)
    score = strength * (1 + bonus)
    return MemoryMatch(memory, relevance, round(score, 6))


def _measure_use(memory: Memory) -> float:
    """0 for what never answered a question, 1 for what did so often."""
    share = math.log1p(memory.use_count) / math.log1p(FULL_USE)
    return min(1.0, share)


def _measure_recency(memory: Memory, now: datetime) -> float:
    """1 for what was stated now, and half of that after each half-life."""
    age_days = (now - memory.updated_at) / timedelta(days=1)
    half_lives = max(age_days, 0.0) / HALF_LIFE_DAYS
    recency: float = 0.5**half_lives
    return recency


# --- what other programs have kept ----------------------------------------------------------------

CONTENT_KEYS = ("content", "text", "memory")


def check_record(record: Mapping[str, Any], now: datetime) -> Statement:
    """One line of a JSONL store; unknown keys are ignored."""
    given = {key: value for key, value in record.items() if value is not None}
    contents = [given[key] for key in CONTENT_KEYS if key in given]
    checked = check_statement(
        next(iter(contents), None),
        given.get("category"),
        given.get("source_type", "bootstrap"),
        ttl_days=None,
        metadata=given.get("metadata", {}),
        now=now,
    )
    times: dict[str, Any] = {}
    for name in RECORD_TIMES:
        if name in given:
            times[name] = _check_time(name, given[name])
    confidence = check_share("confidence", given.get("confidence", CONFIDENCE))
    return replace(
        checked,
        confidence=round(confidence, 2),
        lineage=_check_lineage(given.get("lineage", ())),
        user_id=_check_namespace(given.get("user_id", "")),
        use_count=_check_count("use_count", given.get("use_count", 0), 0, LARGEST_COUNT),
        **times,
    )


RECORD_TIMES = ("last_used_at", "expires_at", "created_at", "updated_at")


def _check_namespace(user_id: object) -> str | None:
    """None for a line without any: it belongs to the developer's own."""
    if user_id == "":
        return None
    return check_label("user_id", user_id)


def _check_lineage(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise InvalidValueError("lineage", value, "is not a list of session ids")
    checked = [check_label("lineage", session_id) for session_id in value]
    distinct = tuple(dict.fromkeys(checked))
    return distinct[-MOST_LINEAGE:]


def _check_time(field: str, value: object) -> datetime:
    try:
        moment = clock.from_text(value)  # type: ignore[arg-type]  # of any type
    except (ValueError, OverflowError, TypeError):
        moment = clock.EPOCH.replace(year=1)
    if moment.year < 1970:  # a text of a year before 1000 would not sort
        raise InvalidValueError(field, value, "is not a time such as 2026-11-16T09:04:00Z")
    return moment


def make_unstored_memory(statement: Statement, memory_id: str, now: datetime) -> Memory:
    """The memory of a line that is not in a store."""
    return Memory(
        id=memory_id,
        user_id=statement.user_id or "",
        content=statement.content,
        category=statement.category,
        metadata=json.loads(statement.metadata),
        source_type=statement.source_type,
        confidence=statement.confidence,
        lineage=statement.lineage,
        last_used_at=statement.last_used_at,
        use_count=statement.use_count,
        expires_at=statement.expires_at,
        created_at=statement.created_at or now,
        updated_at=statement.updated_at or statement.created_at or now,
    )


def as_record(memory: Memory) -> dict[str, Any]:
    """The line of a memory in an export."""
    record = memory.to_dict()
    del record["erased_at"]
    return record


OWN_JUDGEMENT = {"confidence", "lineage", "last_used_at", "use_count", "expires_at", "updated_at"}


def is_whole(record: Mapping[str, Any], statement: Statement, kept: Memory) -> bool:
    """Whether an export writes all of a line, except how the memory is judged and used."""
    unstored = make_unstored_memory(statement, kept.id, kept.created_at)
    given, ours = as_record(unstored), as_record(kept)
    filled = {key for key, value in record.items() if value is not None}
    if "id" in filled and record["id"] != kept.id:
        return False
    compared = filled - OWN_JUDGEMENT
    return all(key in ours and given[key] == ours[key] for key in compared)


def get_words(memory: Memory, stored: str | None) -> Sequence[str] | frozenset[str]:
    """As our index has them, or from the text where another program made the index."""
    if stored is None:
        return extract_words(memory.content)
    return stored.split()
