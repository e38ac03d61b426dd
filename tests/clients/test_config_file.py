"""A settings file of somebody else: what is not ours keeps its bytes."""

from __future__ import annotations

import json

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from holdfast.clients import config_file
from holdfast.clients.config_file import (
    append_element,
    parse_json,
    remove_elements,
    remove_handlers,
    remove_member,
    set_member,
)

KEYS = st.sampled_from(["a", "b", "hooks", "mcpServers", 'hold"fast', "ключ", "//"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-99, 99),
    st.sampled_from(["", "x", "// no comment", "/* nor this */", "}", ",", 'quo"te', "\\", "é\n"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)
GAPS = st.sampled_from(
    ["", "", "", " ", "\n", "\n\n  ", "\t", " /* c */ ", " // c\n", "\n// [{\n", " " * 60]
)
PATHS = st.lists(KEYS, min_size=1, max_size=3)


@st.composite
def texts(draw, values=OBJECTS):
    """A JSON text in any of the ways in which people and programs write one."""
    value = draw(values)
    style = draw(st.sampled_from(["plain", "compact", "two", "tab", "wild"]))
    if style == "wild":
        text = f"{draw(GAPS)}{_print_wildly(draw, value)}{draw(GAPS)}"
    else:
        indent = {"plain": None, "compact": None, "two": 2, "tab": "\t"}[style]
        separators = (",", ":") if style == "compact" else None
        text = json.dumps(value, indent=indent, separators=separators)
        text += draw(st.sampled_from(["", "\n"]))
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return draw(st.sampled_from(["", config_file.BOM])) + text


def _print_wildly(draw, value):
    if not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=draw(st.booleans()))
    parts = []
    for item in value:
        body = ""
        if isinstance(value, dict):
            body = f"{json.dumps(item)}{draw(GAPS)}:{draw(GAPS)}"
            item = value[item]
        parts.append(f"{draw(GAPS)}{body}{_print_wildly(draw, item)}{draw(GAPS)}")
    comma = "," + draw(GAPS) if parts and draw(st.booleans()) else ""
    inside = ",".join(parts) + comma + draw(GAPS)
    return f"{{{inside}}}" if isinstance(value, dict) else f"[{inside}]"


def _put(value, keys, new):
    """What an edit means, on values; None where something on the way is not an object."""
    if not isinstance(value, dict):
        return None
    if len(keys) == 1:
        return {**value, keys[0]: new}
    inner = _put(value.get(keys[0], {}), keys[1:], new)
    return None if inner is None else {**value, keys[0]: inner}


def _get(value, keys):
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


@given(texts(), PATHS, VALUES)
@example("{}", ["a"], 1)
@example("{\n}", ["a", "b"], {})
@example('{\n  "a": 1 // why\n}\n', ["b"], [1])
@example('{"a": {"b": 1,},}', ["a", "c"], 2)
def test_a_member_is_put_in_and_everything_else_stays(text, keys, new):
    """parse(edit(text)) is the edited value, and taking it out again gives every byte back."""
    wanted = _put(parse_json(text), keys, new)
    if wanted is None:
        with pytest.raises(ValueError, match="is not an object"):
            set_member(text, keys, new)
        return

    changed = set_member(text, keys, new)

    assert parse_json(changed) == wanted
    assert json.dumps(parse_json(changed)) == json.dumps(wanted)
    assert set_member(changed, keys, new) == changed
    assert remove_member(changed, keys, text) == text


@given(texts(), PATHS, VALUES)
@example("{}", ["a"], 1)
@example('{"a": []}', ["a"], {"x": 1})
@example('{"a": [ // empty\n]}', ["a"], {"x": 1})
@example('{\n\t"a": [\n\t\t1, // first\n\t\t2 // last\n\t]\n}', ["a"], 3)
def test_an_element_is_appended_and_everything_else_stays(text, keys, new):
    value = parse_json(text)
    old = _get(value, keys)
    wanted = _put(value, keys, [*(old if isinstance(old, list) else []), new])
    assume(wanted is not None and isinstance(old, list | None))
    if _get(_put(value, keys, old), keys) is None and _has(value, keys):
        assume(False)  # null where an array is needed

    changed = append_element(text, keys, new)

    if changed == text:
        assert any(json.dumps(item) == json.dumps(new) for item in old)
    else:
        assert json.dumps(parse_json(changed)) == json.dumps(wanted)
    assert append_element(changed, keys, new) == changed
    same = json.dumps(new, sort_keys=True)
    back = remove_elements(
        changed, keys, lambda item: json.dumps(item, sort_keys=True) == same, text
    )
    assert back == text


def _has(value, keys):
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            return False
        value = value[key]
    return True


@given(texts(), PATHS, PATHS, VALUES, VALUES)
def test_several_edits_are_taken_out_in_any_order(text, first, second, left, right):
    assume(first != second[: len(first)] and second != first[: len(second)])
    assume(_put(parse_json(text), first, left) is not None)
    assume(_put(_put(parse_json(text), first, left), second, right) is not None)
    changed = set_member(set_member(text, first, left), second, right)

    without = remove_member(remove_member(changed, first, text), second, text)

    assert parse_json(without) == parse_json(text)


@given(texts(), texts())
def test_what_others_write_meanwhile_stays(text, other):
    """Only ours goes, whatever the file looks like by then."""
    assume("ours" not in parse_json(other))
    changed = set_member(other, ["ours"], {"command": "x"})
    assert parse_json(remove_member(changed, ["ours"], text)) == parse_json(other)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": 1', "line 1: a comma or } is missing"),
        ('{"a": 1}}', "line 1: there is more after the end"),
        ('{\n"a" 1}', "line 2: a colon is missing"),
        ("{\na: 1}", "line 2: a key is missing or cannot be read"),
        ('{"a": [1 2]}', "line 1: a comma or ] is missing"),
        ('{"a": 1, "a": 2}', "line 1: the key 'a' is there twice"),
        ('{"a": {"b": 1, "b": 1}}', "line 1: the key 'b' is there twice"),
        ('{"a": nul}', "line 1: a value is missing or cannot be read"),
        ('{"a": 01}', "line 1: a comma or } is missing"),
        ('{"a": "\\q"}', "line 1: a value cannot be read"),
        ("{,}", "line 1: a key is missing or cannot be read"),
        ('{"a": 1 /* open', "line 1: a comma or } is missing"),
        ("[" * 200, "line 1: it is nested too deep"),
        ("[]", "the whole of it is not an object"),
        ('"text"', "the whole of it is not an object"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(text, problem):
    with pytest.raises(
        ValueError, match="^" + problem.replace("[", r"\[").replace("(", r"\(") + "$"
    ):
        set_member(text, ["x"], 1)


def test_an_array_is_refused_where_an_object_is_needed_and_the_other_way_round():
    with pytest.raises(ValueError, match="hooks is not an object"):
        append_element('{"hooks": []}', ["hooks", "Stop"], 1)
    with pytest.raises(ValueError, match=r"hooks\.Stop is not an array"):
        append_element('{"hooks": {"Stop": {}}}', ["hooks", "Stop"], 1)
    with pytest.raises(ValueError, match="mcpServers is not an object"):
        set_member('{"mcpServers": null}', ["mcpServers", "holdfast"], {})


def test_a_new_member_looks_like_its_neighbours():
    text = '{\r\n\t"theme": "dark", // mine\r\n\t"hooks": {}\r\n}\r\n'

    changed = append_element(text, ["hooks", "Stop"], {"command": "x"})

    assert changed == (
        '{\r\n\t"theme": "dark", // mine\r\n\t"hooks": {\r\n\t\t"Stop": [\r\n\t\t\t{\r\n'
        '\t\t\t\t"command": "x"\r\n\t\t\t}\r\n\t\t]\r\n\t}\r\n}\r\n'
    )


def test_a_file_that_is_empty_becomes_an_object():
    assert set_member("", ["a"], 1) == '{\n  "a": 1\n}\n'


def test_a_handler_that_shares_a_group_goes_alone():
    """A person may have added a command of their own to our group."""
    ours, theirs = {"command": "ours"}, {"command": "theirs"}
    text = json.dumps({"hooks": {"Stop": [{"hooks": [ours, theirs]}, {"hooks": [ours]}, {}, 1]}})

    left = remove_handlers(text, ["hooks", "Stop"], lambda handler: handler == ours, "")

    assert parse_json(left) == {"hooks": {"Stop": [{"hooks": [theirs]}, {}, 1]}}
