"""One contract for every client, held against payloads in the shape that its
program really sends.
"""

import copy
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import clients
from holdfast.clients import contract
from holdfast.clients.commands import RESUME, STOP, list_commands
from holdfast.clients.contract import HookEvent, cut_to_fit, make_storable
from holdfast.clients.setup import OWN_MARK
from holdfast.ground import canonical, ids
from holdfast.sessions.requests import is_request

PAYLOADS = Path(__file__).with_name("payloads")
MARKS = ("prompt_id", "turn_id", "timestamp", "tool_use_id")


def payloads(name: str) -> dict[str, dict[str, Any]]:
    """Each hook of a client by the name of its event."""
    files = [path for path in sorted((PAYLOADS / name).iterdir()) if path.name != "expected.json"]
    return {path.stem: json.loads(path.read_text()) for path in files}


def load_expected(name: str) -> dict[str, dict[str, Any]]:
    """What is kept; every other hook of the client is not."""
    kept: dict[str, dict[str, Any]] = json.loads((PAYLOADS / name / "expected.json").read_text())
    return kept


def get_client(name: str) -> Any:
    client = clients.find_client(name)
    assert client is not None
    return client


def fields(event: HookEvent) -> dict[str, Any]:
    return {slot: getattr(event, slot) for slot in HookEvent.__slots__}


@pytest.fixture(params=clients.CLIENTS)
def name(request: pytest.FixtureRequest) -> str:
    value: str = request.param
    return value


# --- the contract ---------------------------------------------------------------------------------


def test_a_client_has_a_name_a_title_and_payloads(name: str):
    client = get_client(name)

    assert name == client.NAME
    assert client.TITLE
    assert (PAYLOADS / name).is_dir(), f"payloads of {name} belong into {PAYLOADS / name}"


def test_a_client_has_payloads_of_its_whole_life(name: str):
    """From the start of a session to its end, with a request, a tool and an answer."""
    moments = get_client(name).MOMENTS
    told = {moments.get(event_name) for event_name in payloads(name)}
    assert {contract.START, contract.END} <= told
    kept = [kept["event_type"] for kept in load_expected(name).values()]
    assert list(dict.fromkeys(kept)) == ["user_message", "tool_result", "model_message"]


def test_each_hook_means_what_was_recorded(name: str):
    for event_name, payload in payloads(name).items():
        event = get_client(name).parse(event_name, payload)

        if event_name not in load_expected(name):
            assert event is None, event_name
            continue
        assert event is not None
        kept = fields(event)
        assert (kept.pop("client"), kept.pop("native_id"), kept.pop("cwd")) == (
            name,
            payload["session_id"],
            "/home/dev/project",
        )
        assert ids.parse_id(kept.pop("event_id"))
        assert kept == load_expected(name)[event_name]


def test_what_a_subagent_is_told_is_kept_with_its_id(name: str):
    """The person did not say it, though the payload looks the same."""
    event_name = next(iter(load_expected(name)))
    event = get_client(name).parse(
        event_name, {**payloads(name)[event_name], "agent_id": "a\x001", "agent_type": "explorer"}
    )

    assert event.event_type == "system_event"
    assert event.parts == {"agent_id": "a\ufffd1", "agent": "explorer"}
    assert not is_request(event.content, event.parts)


@pytest.mark.parametrize("arguments", ["", "the parser"])
def test_to_resume_or_stop_is_no_request(arguments: str):
    """As it is typed, as its model is sent it, and with the first line of its file."""
    for name, _, text in list_commands(arguments):
        if name not in (RESUME, STOP):
            continue
        assert not is_request(f"/{name} {arguments}".strip())
        assert not is_request(text)
        assert not is_request(f"<!-- {OWN_MARK} -->\n{text}")


def test_the_same_hook_twice_is_the_same_event(name: str):
    for event_name in load_expected(name):
        payload = payloads(name)[event_name]
        first, again = (
            get_client(name).parse(event_name, payload),
            get_client(name).parse(event_name, copy.deepcopy(payload)),
        )
        assert first is not None
        assert again is not None
        assert fields(first) == fields(again)


def test_another_turn_session_or_text_is_another_event(name: str):
    """Where the transcript has no id in common with the hook."""
    for event_name, kept in load_expected(name).items():
        payload = payloads(name)[event_name]
        if kept["key"]:
            continue
        marks = [mark for mark in MARKS if mark in payload]
        changed = [{**payload, key: f"{payload[key]}-2"} for key in (*marks, "session_id")]
        text = kept["content"]
        changed += [
            {**payload, key: "another text"} for key, value in payload.items() if value == text
        ]

        events = [get_client(name).parse(event_name, given) for given in (payload, *changed)]

        assert marks
        assert len({event.event_id for event in events if event}) == len(events)


def test_an_event_with_a_key_is_named_by_its_session_and_its_key_alone(name: str):
    """The transcript tells of the same event in slightly different words."""
    for event_name, kept in load_expected(name).items():
        if not kept["key"]:
            continue
        payload = payloads(name)[event_name]
        given_id = kept["key"].split(":")[1]
        field = next(key for key, value in payload.items() if value == given_id)
        prompt = f" {payload.get('prompt')}\n"
        rewritten = {**payload, "prompt": prompt, "tool_response": "", "error": "?"}
        parse = get_client(name).parse

        event_id = parse(event_name, payload).event_id

        assert event_id == contract.name_event(name, payload["session_id"], kept["key"])
        assert parse(event_name, rewritten).event_id == event_id
        for other in (field, "session_id"):
            changed = {**payload, other: f"{payload[other]}-2"}
            assert parse(event_name, changed).event_id != event_id


def names_prompts_by_turn(name: str) -> bool:
    """And not each prompt by an id of its own."""
    kept = next(iter(load_expected(name).values()))
    return not kept["key"] or len(kept["key"].split(":")) > 2


@pytest.mark.parametrize("name", list(filter(names_prompts_by_turn, clients.CLIENTS)))
def test_a_second_prompt_in_the_same_turn_is_another_event(name: str):
    """Said while the model was at work, and reported with the id of the turn that it is in."""
    event_name = next(iter(load_expected(name)))
    payload = payloads(name)[event_name]
    first, second = (
        get_client(name).parse(event_name, {**payload, "prompt": text})
        for text in ("do it", "and this as well")
    )

    assert first.event_id != second.event_id


def test_another_tool_or_input_is_another_event(name: str):
    """Two tools may end in the same millisecond with the same answer. The order of the keys tells
    nothing.
    """
    event_name = next(
        e for e, kept in load_expected(name).items() if kept["event_type"] == "tool_result"
    )
    bare = {key: value for key, value in payloads(name)[event_name].items() if key not in MARKS}
    inputs: list[Any] = [
        {"path": "/a.py", "n": 1},
        {"path": "/b.py", "n": 1},
        {"n": 1, "path": "/a.py"},
    ]

    first, other, again, tool = (
        get_client(name)
        .parse(event_name, {**bare, "timestamp": "now", "tool_name": tool, "tool_input": given})
        .event_id
        for tool, given in (*(("Read", given) for given in inputs), ("Edit", inputs[0]))
    )

    assert first == again
    assert len({first, other, tool}) == 3


def test_a_client_names_the_hooks_of_which_it_keeps_something(name: str):
    assert sorted(get_client(name).EVENTS) == sorted(load_expected(name))


def test_hooks_without_distinguishing_fields_are_separate_events(name: str):
    """Two times "yes" are two requests."""
    for event_name in load_expected(name):
        bare = {key: value for key, value in payloads(name)[event_name].items() if key not in MARKS}
        first, second = (
            get_client(name).parse(event_name, bare),
            get_client(name).parse(event_name, bare),
        )
        assert first is not None
        assert second is not None
        assert first.event_id != second.event_id


def test_a_payload_of_another_event_or_shape_is_ignored(name: str):
    """Another event than the one that was installed, and payloads of other shapes."""
    for event_name in load_expected(name):
        payload = payloads(name)[event_name]
        others = [other_name for other_name in payloads(name) if other_name != event_name]
        for other in others:
            assert get_client(name).parse(other, payload) is None
        assert get_client(name).parse(event_name, {}) is None
        assert (
            get_client(name).parse(
                event_name, {"type": event_name, "sessionID": "x", "directory": "/"}
            )
            is None
        )
        assert (
            get_client(name).parse("NoSuchEvent", {**payload, "hook_event_name": "NoSuchEvent"})
            is None
        )


def test_missing_and_wrong_keys_never_raise(name: str):
    for event_name, payload in payloads(name).items():
        for key in payload:
            without = {other: value for other, value in payload.items() if other != key}
            get_client(name).parse(event_name, without)
            for wrong in (None, 7, True, [], {}, "", "\x00\ud800", math.nan, 10**400):
                event = get_client(name).parse(event_name, {**payload, key: wrong})
                if event is not None:
                    check_storable(event)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.text(st.characters()), inner, max_size=3)
        ),
        max_leaves=10,
    )
)
def test_any_tool_input_or_response_can_be_stored(value: Any):
    """As data where it is JSON that both engines keep, as a text where it is not."""
    for name in clients.CLIENTS:
        event_name = next(
            e for e, kept in load_expected(name).items() if kept["event_type"] == "tool_result"
        )
        payload = {
            **payloads(name)[event_name],
            "tool_input": value,
            "tool_response": value,
            "tool_name": value,
        }
        event = get_client(name).parse(event_name, payload)
        assert event is not None
        check_storable(event)


def check_storable(event: HookEvent) -> None:
    record = {
        slot: value for slot, value in fields(event).items() if slot != "cwd"
    }  # looked at, not stored
    canonical.canonical_object("record", {"a": {"b": record}}, max_bytes=4 << 20)


def test_a_quotation_reaches_every_model_as_it_is_read(name: str):
    """Gemini hands each angle bracket on as an entity, so none of ours may be one."""
    text = "LAST REQUEST (user, 13:19)\n> give up if a > 8\n  > FAILED\nMore: x"
    client = get_client(name)

    answer = json.loads(client.reply(client.TEXT_EVENT, text))

    output = answer.get("hookSpecificOutput", {"additionalContext": answer.get("text")})
    arrived = output["additionalContext"]
    if name == "gemini":
        assert arrived == text.replace("\n>", "\n»").replace("  >", "  »")
    else:
        assert arrived == text


def test_the_person_is_shown_one_line_about_what_was_handed_over(name: str):
    client = get_client(name)

    answer = json.loads(client.reply(client.TEXT_EVENT, "x" * 1_234))

    if name == "opencode":  # its plugin has no place for it
        assert list(answer) == ["text"]
    else:
        line = "Holdfast handed over 1,234 characters about earlier work (holdfast why)"
        assert answer["systemMessage"] == line


def test_an_unknown_client_is_not_found():
    assert [
        clients.find_client(name) for name in ("", "cursor", "../claude", "contract", "claude.py")
    ] == [None] * 5


# --- what every client shares ---------------------------------------------------------------------


def tool_event(**payload: Any) -> HookEvent:
    name = clients.CLIENTS[0]
    event_name = next(
        e for e, kept in load_expected(name).items() if kept["event_type"] == "tool_result"
    )
    event = get_client(name).parse(event_name, {**payloads(name)[event_name], **payload})
    assert event is not None
    return event


def test_a_tool_that_printed_nothing_was_still_run():
    """Otherwise a `touch` would never have happened."""
    event = tool_event(tool_response="")

    assert event.parts is not None
    assert (event.content, event.parts["tool"]) == ("", "Bash")


def test_source_code_about_odd_characters_is_kept_to_the_letter():
    """A backslash and `u0000` is not NUL: agents write such programs every day."""
    code = r"text.replace('\u0000', '\\ud800')"

    event = tool_event(tool_input={"code": code}, tool_response=code)

    assert event.parts is not None
    assert (event.content, event.parts["input"]) == (code, {"code": code})


def test_characters_that_no_store_keeps_become_visible():
    event = tool_event(
        tool_input={"a\x00": ["b\ud800"]}, tool_response="c\x00d\udfff", session_id="n\x00\ud800"
    )

    assert event.parts is not None
    assert (event.content, event.parts["input"], event.native_id) == ("c�d?", {"a�": ["b?"]}, "n�?")
    assert make_storable("a\x00b") == "a�b"


@pytest.mark.parametrize("value", [math.nan, math.inf, 10**400, {"deep": None}])
def test_a_tool_input_that_is_not_storable_json_is_kept_as_text(value: Any):
    if isinstance(value, dict):
        for _ in range(80):
            value = {"deep": value}

    event = tool_event(tool_input=value)

    assert event.parts is not None
    assert event.parts["input"] == json.dumps(value)


def test_something_too_deep_for_any_text_is_named():
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]

    event = tool_event(tool_input=value, tool_response=value)

    assert event.parts is not None
    assert event.content == event.parts["input"] == "[nested too deep to be kept]"


@pytest.mark.parametrize("character", ["a", "\x01", '"', "東", "\U0001f600"])
def test_a_long_text_is_cut_and_says_so(character: str):
    text = character * 4_000_000

    event = tool_event(tool_response=text, tool_input=text)

    assert event.parts is not None
    for kept in (event.content, event.parts["input"]):
        assert kept.endswith("\n[cut here; 4,000,000 characters in all]")
        assert kept.startswith(character * 50_000)
    check_storable(event)


def test_a_text_that_fits_is_not_touched():
    text = "a" * (contract.CONTENT_BYTES - 2)

    assert cut_to_fit(text, contract.CONTENT_BYTES) == text
    assert cut_to_fit(text + "aa", contract.CONTENT_BYTES) != text + "aa"
