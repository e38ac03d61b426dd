"""Every input has a clear answer: which field, which value, what is wrong. And a refusal changes
not one row.
"""

import math

import pytest

from holdfast.errors import Action, InvalidValueError
from holdfast.sessions import rules
from holdfast.sessions.errors import SessionNotFoundError
from tests.sessions.tables import nothing_changes

MESSAGE = {"type": "user_message", "role": "user", "content": "hi"}
UNKNOWN = "01890a5d-ac96-774b-bcce-b302099a8057"
NOT_IDS = (
    "",
    "nonsense",
    UNKNOWN.replace("-", ""),
    "{" + UNKNOWN + "}",
    UNKNOWN[:-1] + "g",
    UNKNOWN + "\n",
    "\x00" * 36,
    "\ud800" * 36,
    "٣" * 36,
    "' or 1=1; drop table sessions; --",
    "x" * 100_000,
    7,
    True,
    b"x" * 36,
    [UNKNOWN],
    {"id": UNKNOWN},
)
UNSTORABLE = {
    "\x00": "a NUL character",
    "a\x00b": "a NUL character",
    "\ud800": "half of a surrogate pair",
    "x\udfff": "half",
}
NOT_COUNTS = (-1, -(10**30), True, False, 1.0, 0.5, math.nan, math.inf, "3", "", [3], 2**31, 10**30)
TEN_MEGABYTES = "x" * 10_000_000


def nest(levels):
    value = 1
    for _ in range(levels):
        value = {"a": value}
    return value


async def drain(events):
    return [event async for event in events]


async def check_refused(sessions, call, field=None, words=""):
    """The call raises a clear refusal and changes nothing."""
    async with nothing_changes(sessions):
        with pytest.raises(InvalidValueError) as refusal:
            await call
    assert (refusal.value.code, refusal.value.exit_code, refusal.value.http_status) == (
        "invalid_value",
        2,
        400,
    )
    assert field is None or refusal.value.field == field
    assert words in str(refusal.value)
    assert len(str(refusal.value)) < 400


# --- sessions that do not exist -------------------------------------------------------------------


async def test_a_session_that_does_not_exist_is_not_found_by_any_verb(sessions):
    verbs = (
        sessions.get_session,
        sessions.end_session,
        sessions.resume_session,
        sessions.list_thread,
        sessions.get_state,
        sessions.get_recent_events,
        sessions.verify_session,
        sessions.forget_session,
        sessions.get_relevant_context,
        sessions.get_resume_text,
        lambda session_id: drain(sessions.read_events(session_id)),
        lambda session_id: drain(sessions.read_thread(session_id)),
        lambda session_id: sessions.list_sessions(below=session_id),
        lambda session_id: sessions.find_events_to_forget(session_id=session_id),
        lambda session_id: sessions.get_recent_events(session_id, 5, 100),
        lambda session_id: sessions.append_event(session_id, "user_message", "user", "hi"),
        lambda session_id: sessions.append_event(
            session_id, "user_message", "user", "hi", expected_sequence=0
        ),
        lambda session_id: sessions.append_events(session_id, [MESSAGE, MESSAGE]),
        lambda session_id: sessions.append_events(session_id, []),
        lambda session_id: sessions.update_state(session_id, {"a": 1}),
        lambda session_id: sessions.set_relevant_context(session_id, "files", ["/a"]),
        lambda session_id: sessions.update_metadata(session_id, {"name": "x"}),
        lambda session_id: sessions.rename_session(session_id, "x"),
        lambda session_id: sessions.replace_metadata(session_id, {}),
    )

    async with nothing_changes(sessions):
        for verb in verbs:
            for session_id in (UNKNOWN, UNKNOWN.upper(), *NOT_IDS):
                with pytest.raises(SessionNotFoundError) as refusal:
                    await verb(session_id)
                assert str(refusal.value.session_id).lower() == str(session_id).lower()
                assert len(str(refusal.value)) < 250

    assert (refusal.value.code, refusal.value.exit_code, refusal.value.http_status) == (
        "session_not_found",
        3,
        404,
    )
    assert refusal.value.next_actions == (Action("session.list"),)


async def test_a_session_is_looked_for_by_a_text(sessions):
    for wrong in (None, 7, b"x", "a\x00", "\ud800", "x" * 401):
        await check_refused(sessions, sessions.find_session(wrong), "Session")


# --- events ---------------------------------------------------------------------------------------


async def test_an_unknown_type_or_role_is_refused_with_the_known_ones(sessions):
    s = await sessions.create_session("architect", "u1")

    for unknown in ("note", "User_Message", "", None, 7, ["user_message"]):
        call = sessions.append_event(s.id, unknown, "user", "hi")
        await check_refused(sessions, call, "Event type", f"Known: {', '.join(rules.EVENT_TYPES)}.")
        call = sessions.append_events(s.id, [MESSAGE, {**MESSAGE, "type": unknown}])
        await check_refused(sessions, call, "Event type", f"Known: {', '.join(rules.EVENT_TYPES)}.")
    for unknown in ("bot", "USER", "", None, 7):
        call = sessions.append_event(s.id, "user_message", unknown, "hi")
        await check_refused(sessions, call, "Role", "Known: user, assistant, tool, system.")


async def test_a_content_is_a_text_of_four_megabytes_at_most(sessions):
    s = await sessions.create_session("architect", "u1")
    contents = (
        None,
        7,
        b"hi",
        ["hi"],
        {"a": 1},
        TEN_MEGABYTES,
        "é" * (rules.CONTENT_BYTES // 2) + "x",
    )

    for content in contents:
        await check_refused(
            sessions, sessions.append_event(s.id, "user_message", "user", content), "content"
        )
        await check_refused(
            sessions,
            sessions.append_events(s.id, [MESSAGE, {**MESSAGE, "content": content}]),
            "content",
        )
    await check_refused(
        sessions,
        sessions.append_event(s.id, "user_message", "user", TEN_MEGABYTES),
        "content",
        "is longer than 4,194,304 bytes",
    )


async def test_parts_are_a_json_object_that_both_engines_can_keep(sessions):
    s = await sessions.create_session("architect", "u1")
    wrong = (
        *(
            [],
            "{}",
            7,
            True,
            {1: 2},
            {None: 1},
            {"a": {2: 3}},
            {"a": {1, 2}},
            {"a": b"x"},
            {"a": object()},
        ),
        *(
            {"a": math.nan},
            {"a": [math.inf]},
            {"a": {"b": -math.inf}},
            {"a": 10**400},
            {"a": TEN_MEGABYTES},
        ),
        *(nest(65), nest(5000), {"a": [nest(63)]}),
        *({"a": {"b": ["x", unstorable]}} for unstorable in UNSTORABLE),
        *({"a": [{unstorable: 1}]} for unstorable in UNSTORABLE),
    )

    for parts in wrong:
        await check_refused(
            sessions, sessions.append_event(s.id, "tool_call", "tool", "x", parts), "parts"
        )
    deepest = await sessions.append_event(s.id, "tool_call", "tool", "x", nest(64))
    assert deepest.parts == nest(64)


async def test_an_event_id_is_a_uuid(sessions):
    s = await sessions.create_session("architect", "u1")

    for event_id in NOT_IDS:
        call = sessions.append_event(s.id, "user_message", "user", "hi", event_id=event_id)
        await check_refused(sessions, call, "event_id", "is not a UUID")


async def test_several_events_are_a_list_of_objects_with_known_fields(sessions):
    s = await sessions.create_session("architect", "u1")
    wrong = (
        *(
            None,
            7,
            "events",
            MESSAGE,
            {1, 2},
            iter([MESSAGE]),
            [MESSAGE, None],
            [["type"]],
            [MESSAGE] * 1001,
        ),
        *(
            [{"type": "user_message"}],
            [{**MESSAGE, "event": 1}],
            [{**MESSAGE, 7: 1}],
            [{**MESSAGE, "parts": []}],
        ),
    )

    for events in wrong:
        await check_refused(sessions, sessions.append_events(s.id, events))


async def test_an_expected_sequence_and_every_limit_is_a_whole_number(sessions):
    s = await sessions.create_session("architect", "u1")
    await sessions.append_event(s.id, "user_message", "user", "hi")

    for wrong in NOT_COUNTS:
        await check_refused(sessions, sessions.get_recent_events(s.id, wrong), "max_turns")
        await check_refused(sessions, sessions.get_recent_events(s.id, 30, wrong), "max_tokens")
        await check_refused(sessions, sessions.list_sessions(wrong), "limit")
        await check_refused(sessions, sessions.list_events(s.id, limit=wrong), "limit")
        await check_refused(sessions, sessions.get_recent_thread_events(s.id, wrong), "limit")
        await check_refused(sessions, drain(sessions.read_events(s.id, wrong)), "after")
        call = sessions.append_event(s.id, "user_message", "user", "hi", expected_sequence=wrong)
        await check_refused(sessions, call, "expected_sequence")
        call = sessions.append_events(s.id, [MESSAGE], expected_sequence=wrong)
        await check_refused(sessions, call, "expected_sequence")
        await check_refused(
            sessions,
            sessions.update_metadata(s.id, {"name": "x"}, expected_revision=wrong),
            "expected_revision",
        )
    for wrong in (None, 0):
        await check_refused(sessions, sessions.list_sessions(wrong), "limit")
        await check_refused(sessions, sessions.list_events(s.id, limit=wrong), "limit")
    await check_refused(sessions, sessions.get_recent_events(s.id, None), "max_turns")


# --- texts ----------------------------------------------------------------------------------------


async def test_text_that_an_engine_cannot_store_is_refused_in_every_field(sessions):
    """PostgreSQL takes neither NUL nor half a surrogate pair, so SQLite does not either."""
    s = await sessions.create_session("architect", "u1")
    event = await sessions.append_event(s.id, "user_message", "user", "hi")
    optional = ("workflow", "skill", "git_branch", "name", "client", "native_id", "repo")

    for text, name in UNSTORABLE.items():
        for call in (
            sessions.create_session(text, "u1"),
            sessions.create_session("architect", text),
            *(sessions.create_session("architect", "u1", **{field: text}) for field in optional),
            sessions.get_active_session(text, "u1"),
            sessions.get_active_session("architect", text),
            sessions.find_session(text),
            sessions.find_current_sessions(text),
            sessions.find_newest_sessions(text),
            sessions.append_event(s.id, "user_message", "user", text),
            sessions.append_event(s.id, "user_message", "user", "hi", {"a": text}),
            sessions.append_event(s.id, "user_message", "user", "hi", {"a": [{text: 1}]}),
            sessions.append_events(s.id, [MESSAGE, {**MESSAGE, "content": text}]),
            sessions.update_state(s.id, {"a": {"b": [text]}}),
            sessions.update_state(s.id, {"a": {text: None}}),
            sessions.set_relevant_context(s.id, text, ["/a"]),
            sessions.set_relevant_context(s.id, "files", ["/a", text]),
            sessions.get_relevant_context(s.id, text),
            *(sessions.update_metadata(s.id, {field: text}) for field in rules.META_FIELDS),
            sessions.rename_session(s.id, text),
            sessions.replace_metadata(s.id, {"name": text}),
            sessions.find_events_to_forget(match=text),
            sessions.forget_events([event.id], reason=text),
            sessions.forget_session(s.id, reason=text),
        ):
            await check_refused(sessions, call, words=f"contains {name}")


async def test_a_label_is_one_short_line_in_every_field(sessions):
    s = await sessions.create_session("architect", "u1")
    optional = ("workflow", "skill", "git_branch", "name", "client", "native_id", "repo")

    for label in (
        "",
        " ",
        "two\nlines",
        "\x1b]0;title\x07",
        "a\u2028b",
        "x" * 401,
        TEN_MEGABYTES,
        7,
        b"x",
        ["x"],
    ):
        for field in optional:
            await check_refused(
                sessions, sessions.create_session("architect", "u1", **{field: label}), field
            )
        await check_refused(sessions, sessions.create_session(label, "u1"), "chatmode")
        await check_refused(sessions, sessions.create_session("architect", label), "user_id")
        await check_refused(sessions, sessions.rename_session(s.id, label), "name")
        await check_refused(sessions, sessions.update_metadata(s.id, {"envHint": label}), "envHint")
        await check_refused(sessions, sessions.set_relevant_context(s.id, label, ["/a"]), "setName")
        await check_refused(sessions, sessions.get_relevant_context(s.id, label), "setName")
    for folder in (
        "",
        "two\nlines",
        "/" * 2001,
        7,
    ):  # a folder's name may be longer, but not without end
        await check_refused(
            sessions, sessions.create_session("architect", "u1", worktree=folder), "worktree"
        )
    await check_refused(sessions, sessions.create_session(None, "u1"), "chatmode")
    await check_refused(sessions, sessions.create_session("architect", None), "user_id")
    await check_refused(sessions, sessions.rename_session(s.id, None), "name")


# --- scratchpad, context, metadata ----------------------------------------------------------------


async def test_a_scratchpad_that_is_not_an_object_is_refused(sessions):
    s = await sessions.create_session("architect", "u1")
    await sessions.update_state(s.id, {"kept": 1})
    wrong = (
        *(
            None,
            [],
            [{}],
            "{}",
            "x",
            7,
            True,
            math.nan,
            {1: 2},
            {"a": math.nan},
            {"a": {"b": math.inf}},
            {"a": {1, 2}},
        ),
        *(nest(65), nest(5000), {"a": TEN_MEGABYTES}, {"a": -(10**400)}),
    )

    for scratchpad in wrong:
        await check_refused(sessions, sessions.update_state(s.id, scratchpad), "scratchpad")
    assert (await sessions.get_state(s.id)).scratchpad == {"kept": 1}
    assert (await sessions.update_state(s.id, nest(64))).scratchpad == {"kept": 1, **nest(64)}


async def test_a_context_set_is_a_list_of_up_to_ten_single_lines(sessions):
    s = await sessions.create_session("architect", "u1")
    await sessions.set_relevant_context(s.id, "files", ["/kept"])

    for items in (
        None,
        "/a",
        {"/a"},
        {"/a": 1},
        7,
        ["/a"] * 11,
        ["/a", None],
        [["/a"]],
        ["a\nb"],
        ["x" * 2001],
        [""],
    ):
        await check_refused(sessions, sessions.set_relevant_context(s.id, "files", items))
    for mode in ("append", "", None, 7, "MERGE"):
        await check_refused(
            sessions,
            sessions.set_relevant_context(s.id, "files", ["/a"], mode=mode),
            "mode",
            "replace, merge",
        )
    assert await sessions.get_relevant_context(s.id) == {"files": ["/kept"]}


async def test_metadata_is_an_object_of_known_fields(sessions):
    s = await sessions.create_session("architect", "u1")

    for changes in (None, [], ["name"], "name", 7):
        await check_refused(
            sessions, sessions.update_metadata(s.id, changes), "metadata", "is not a JSON object"
        )
    for changes in ({"title": "x"}, {"context": {}}, {7: "x"}, {"name": "x", "nam": "y"}):
        await check_refused(
            sessions, sessions.update_metadata(s.id, changes), "Metadata field", "Known: name, "
        )
    await check_refused(sessions, sessions.replace_metadata(s.id, {"name": math.nan}), "metadata")
    await check_refused(
        sessions, sessions.replace_metadata(s.id, {"name": TEN_MEGABYTES}), "metadata"
    )


async def test_a_value_that_cannot_even_be_shown_is_refused_like_any_other(sessions):
    """Lists in lists as deep as JSON from outside can be, and an integer of more digits than Python
    writes.
    """
    s = await sessions.create_session("architect", "u1")
    deep = []
    for _ in range(5000):
        deep = [deep]

    for value in (deep, {"a": deep}, [10**5000], 10**5000):
        await check_refused(sessions, sessions.update_state(s.id, value), "scratchpad")
        await check_refused(
            sessions, sessions.append_event(s.id, "user_message", "user", value), "content"
        )
        await check_refused(
            sessions, sessions.append_event(s.id, value, "user", "hi"), "Event type"
        )
        await check_refused(
            sessions, sessions.append_event(s.id, "user_message", "user", "hi", value), "parts"
        )
        await check_refused(sessions, sessions.set_relevant_context(s.id, "files", value))
        await check_refused(sessions, sessions.get_recent_events(s.id, value), "max_turns")
        with pytest.raises(SessionNotFoundError):
            await sessions.get_session(value)
