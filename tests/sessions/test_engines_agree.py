"""Two engines, one behaviour: whatever is called, with whatever values, has the same outcome on
both.
"""

import uuid
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.errors import HoldfastError
from holdfast.ground import canonical
from holdfast.sessions import model, rules
from tests.sessions.generated import OBJECTS, TEXT, VALUES

CALLS_PER_EXAMPLE = 12

# --- calls, most of them valid, many of them not --------------------------------------------------

ODD = st.sampled_from(
    [
        *(
            None,
            True,
            -1,
            0,
            7,
            2**31,
            2**63,
            1.5,
            float("nan"),
            "",
            " ",
            "x",
            "a\x00b",
            "\ud800",
            "a\nb",
            "x" * 500,
        ),
        *([], ["x"], {}, {"a": 1}, {"a": float("inf")}, {"\x00": 1}, {1: 1}, b"x"),
    ]
)


def mostly(good: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """One in twelve is something else, so that whole calls are valid often enough."""
    return st.sampled_from([good] * 11 + [ODD]).flatmap(lambda drawn: drawn)


LABELS = mostly(st.sampled_from(["architect", "größe", "用户", "x y"]) | TEXT.filter(str.strip))
SESSIONS = st.sampled_from(["own"] * 8 + ["ended", "unknown", "nonsense"])
SOME_IDS = st.none() | st.sampled_from(["id 1", "id 2", "id 3"])
EVENT_IDS = mostly(SOME_IDS)
TYPES = mostly(st.sampled_from(rules.EVENT_TYPES))
ROLES = mostly(st.sampled_from(rules.ROLES))
CONTENTS = mostly(TEXT)
PARTS = mostly(st.none() | OBJECTS)
EVENTS = st.fixed_dictionaries(
    {"type": TYPES, "role": ROLES, "content": CONTENTS},
    optional={"parts": PARTS, "event_id": EVENT_IDS},
)
GOOD_EVENTS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(rules.EVENT_TYPES),
        "role": st.sampled_from(rules.ROLES),
        "content": TEXT,
    },
    optional={"parts": st.none() | OBJECTS, "event_id": SOME_IDS},
)
COUNTS = mostly(st.integers(0, 6))
EXPECTED = mostly(st.none() | st.integers(0, 6))
SETS = mostly(st.sampled_from(["files", "applet", "ports", "fles"]))
ITEMS = mostly(st.lists(st.sampled_from([f"/{number}" for number in range(15)]), max_size=11))
FIELDS = st.dictionaries(st.sampled_from(rules.META_FIELDS), st.none() | LABELS, max_size=3)
META = mostly(FIELDS | st.just({"title": "unknown"}))


def call(
    verb: str, *arguments: st.SearchStrategy[Any], **named: st.SearchStrategy[Any]
) -> st.SearchStrategy[Any]:
    return st.tuples(st.just(verb), st.tuples(*arguments), st.fixed_dictionaries(named))


APPENDS = st.one_of(
    call(
        "append_event",
        SESSIONS,
        TYPES,
        ROLES,
        CONTENTS,
        PARTS,
        event_id=EVENT_IDS,
        expected_sequence=EXPECTED,
    ),
    call(
        "append_event",
        SESSIONS,
        st.just("user_message"),
        st.just("user"),
        TEXT,
        st.none(),
        event_id=EVENT_IDS,
    ),
    call(
        "append_events",
        SESSIONS,
        st.lists(GOOD_EVENTS, max_size=4),
        expected_sequence=st.none() | st.integers(0, 4),
    ),
    call("append_events", SESSIONS, mostly(st.lists(EVENTS, max_size=3))),
)
CALLS = st.one_of(
    APPENDS,
    APPENDS,
    call("get_recent_events", SESSIONS, COUNTS, st.none() | COUNTS),
    call("update_state", SESSIONS, mostly(OBJECTS)),
    call("get_state", SESSIONS),
    call(
        "set_relevant_context",
        SESSIONS,
        SETS,
        ITEMS,
        mode=st.sampled_from(["replace", "merge", "merge", "x"]),
    ),
    call("get_relevant_context", SESSIONS, st.none() | SETS),
    call(
        "update_metadata", SESSIONS, META, expected_revision=mostly(st.none() | st.integers(0, 4))
    ),
    call("rename_session", SESSIONS, LABELS),
    call("get_session", SESSIONS),
    call("end_session", st.sampled_from(["ended", "ended", "own", "unknown"])),
    call("create_session", LABELS, LABELS, name=st.none() | LABELS, worktree=st.none() | LABELS),
    call("find_current_sessions", LABELS),
    call("find_newest_sessions", LABELS),
    call("get_active_session", mostly(st.just("only here")), LABELS),
    call("verify_session", SESSIONS),
    call("get_resume_text", SESSIONS),
    call("forget_events", st.lists(EVENT_IDS, max_size=3), reason=LABELS),
    call("forget_session", SESSIONS),
    call("list_thread", SESSIONS),
    call("resume_session", SESSIONS),
    call("find_session", SESSIONS | LABELS),
    call("list_sessions", COUNTS, st.none() | SESSIONS),
)

# What is drawn may leave out a verb; this has each of them, with values that all of them take.
EVERY_VERB: list[Any] = [
    (
        "append_event",
        ("own", "user_message", "user", "first", {"a": [1.5, None]}),
        {"event_id": "id 1"},
    ),
    (
        "append_events",
        ("own", [{"type": "tool_call", "role": "tool", "content": "ü"}]),
        {"expected_sequence": 1},
    ),
    ("get_recent_events", ("own", 3, 100), {}),
    ("update_state", ("own", {"a": {"b": 1}}), {}),
    ("get_state", ("own",), {}),
    ("set_relevant_context", ("own", "files", ["/1", "/2"]), {"mode": "merge"}),
    ("get_relevant_context", ("own", "files"), {}),
    ("update_metadata", ("own", {"envHint": "x"}), {"expected_revision": None}),
    ("rename_session", ("own", "login"), {}),
    ("get_session", ("own",), {}),
    ("end_session", ("ended",), {}),
    ("create_session", ("architect", "u2"), {"name": None, "worktree": "/w"}),
    ("find_current_sessions", ("/w",), {}),
    ("find_newest_sessions", ("/w",), {}),
    ("get_active_session", ("only here", "u1"), {}),
    ("verify_session", ("own",), {}),
    ("get_resume_text", ("own",), {}),
    ("forget_events", (["id 1"],), {"reason": "x"}),
    ("forget_session", ("ended",), {}),
    ("list_thread", ("own",), {}),
    ("resume_session", ("ended",), {}),
    ("find_session", ("own",), {}),
    ("list_sessions", (0, "own"), {}),
]


# --- one example on one engine --------------------------------------------------------------------


class Example:
    """Names for what differs by nature: ids are other ones on each engine, and moments and links
    with them.
    """

    def __init__(self, session_ids: dict[str, str], nonce: str):
        self.real = {
            **session_ids,
            **{name: str(uuid.uuid5(uuid.UUID(nonce), name)) for name in ("id 1", "id 2", "id 3")},
        }
        self.names = {real: name for name, real in self.real.items()}

    def as_real(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self.as_real(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.as_real(item) for item in value)
        return self.real.get(value, value) if isinstance(value, str) else value

    def named(self, real: Any) -> Any:
        return self.names.get(real, "another") if isinstance(real, str) else real

    def outcome(self, answer: Any) -> Any:
        match answer:
            case list():
                return [self.outcome(item) for item in answer]
            case model.Session():
                kept = {
                    key: value for key, value in answer.metadata.items() if key != "lastObservedAt"
                }
                times = {
                    "started_at": None,
                    "ended_at": bool(answer.ended_at),
                    "head_hash": None,
                    "metadata": kept,
                }
                origin = {
                    "id": self.named(answer.id),
                    "resumed_from": answer.resumed_from and "another",
                }
                return {**answer.__dict__, **times, **origin}
            case model.SessionEvent():
                times = {
                    "created_at": None,
                    "erased_at": bool(answer.erased_at),
                    "chain_hash": None,
                }
                ids = {"id": self.named(answer.id), "session_id": self.named(answer.session_id)}
                return {**answer.__dict__, **times, **ids}
            case model.SessionState():
                return self.named(answer.session_id), answer.scratchpad
            case model.SetChange():
                return {**answer.__dict__, "session_id": self.named(answer.session_id)}
            case model.Verification():
                return answer.checked, answer.erased, answer.damage
        return answer

    def refusal(self, error: HoldfastError) -> Any:
        facts = {
            name: value
            for name, value in vars(error).items()
            if name in ("field", "expected", "actual", "total")
        }
        ids = {name: self.named(vars(error).get(name)) for name in ("session_id", "event_id")}
        return type(error), error.code, repr({**facts, **ids})


async def play(sessions: Any, calls: list[Any], nonce: str) -> list[Any]:
    own, ended = [await sessions.create_session("architect", "u1") for _ in range(2)]
    await sessions.append_event(ended.id, "user_message", "user", "before")
    await sessions.end_session(ended.id)
    unknown = str(uuid.uuid5(uuid.UUID(nonce), "unknown"))
    example = Example({"own": own.id, "ended": ended.id, "unknown": unknown}, nonce)
    outcomes = []
    for verb, arguments, named in calls:
        try:
            answer = await getattr(sessions, verb)(
                *example.as_real(arguments), **example.as_real(named)
            )
            outcomes.append((verb, example.outcome(answer)))
        except HoldfastError as error:  # anything else is a bug, and ends the test
            outcomes.append((verb, example.refusal(error)))
    for session in (own, ended):
        outcomes.append(
            example.outcome([event async for event in sessions.read_events(session.id)])
        )
        outcomes.append(example.outcome(await sessions.get_session(session.id)))
        outcomes.append(example.outcome(await sessions.verify_session(session.id)))
    return outcomes


def test_generated_calls_have_the_same_outcome_on_both_engines(both, scale):
    """The same value, or the same error with the same code; never an error of an engine."""

    @settings(max_examples=max(1, scale(10_000) // CALLS_PER_EXAMPLE))
    @given(st.lists(CALLS, min_size=CALLS_PER_EXAMPLE, max_size=CALLS_PER_EXAMPLE))
    @example(EVERY_VERB)
    def holds(calls):
        nonce = str(uuid.uuid4())
        sqlite, postgres = (both.run(play(sessions, calls, nonce)) for sessions in both.services)
        assert sqlite == postgres

    holds()


def test_parts_come_back_equal_from_both_engines_and_hash_the_same(both, scale):
    """What goes in comes out, to the last digit, and both engines stored the very same text."""

    @settings(max_examples=scale(1000))
    @given(st.lists(OBJECTS | st.dictionaries(TEXT, VALUES, max_size=3), min_size=1, max_size=4))
    def holds(several):
        async def stored(sessions):
            s = await sessions.create_session("architect", "u1")
            events = [
                {"type": "tool_call", "role": "tool", "content": "", "parts": parts}
                for parts in several
            ]
            await sessions.append_events(s.id, events)
            found = [event async for event in sessions.read_events(s.id)]
            assert [event.parts for event in found] == several
            assert (await sessions.verify_session(s.id)).ok
            rows = await sessions.store.list_events_after(s.id, 0, 10)
            return [(event.content_hash, row[6]) for event, row in zip(found, rows, strict=True)]

        sqlite, postgres = (both.run(stored(sessions)) for sessions in both.services)
        assert sqlite == postgres
        assert [text for _, text in sqlite] == [
            canonical.canonical_object("parts", parts, max_bytes=rules.CONTENT_BYTES)
            for parts in several
        ]

    holds()


def test_postgresql_s_jsonb_equals_the_text_that_was_hashed(both, scale):
    """The column that the seed's readers query holds the same value as the text in the chain."""

    @settings(max_examples=scale(1000))
    @given(OBJECTS)
    def holds(parts):
        async def check(sessions):
            s = await sessions.create_session("architect", "u1")
            await sessions.append_event(s.id, "tool_call", "tool", "", parts)
            async with sessions.db.pool.acquire() as connection, connection.transaction():
                await connection.fetch("select holdfast.act_for($1, $2)", *sessions.store.owner)
                return await connection.fetchval(
                    "select parts = parts_text::jsonb and parts = $2::text::jsonb from "
                    "context.session_events"
                    " where session_id = $1",
                    s.id,
                    canonical.canonical_object("parts", parts, max_bytes=rules.CONTENT_BYTES),
                )

        assert both.run(check(both.postgres)) is True

    holds()
