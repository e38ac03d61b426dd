"""What a repository says about sharing is read as off, unless it is plainly on."""

import pytest

from holdfast.workstreams.flag import GraphConfig, find_flag

MANY_LINES = "".join(f"  option_{number}: 1\n" for number in range(200))


def read(text: str) -> bool | None:
    return find_flag(GraphConfig(text)).is_on


@pytest.mark.parametrize(
    "text",
    [
        "shared_context: false",
        "\ufeffshared_context: false",
        "shared_context: {enabled: false}",
        '{"shared_context": {"enabled": false}}',
        '{\n "shared_context": {\n  "enabled": false\n }\n}',
        "graph:\n  shared_context:\n    enabled: false\n",
        "shared_context:\n  enabled: true\nother:\n  shared_context: off\n",
        '{"note": "issue #4", "shared_context": false}',
        '{"shared_context": {"opts": {"a": 1}, "enabled": false}}',
        '{\n"shared_context":\n{\n"enabled": false\n}\n}',
        '{"shared_context"\n: false}',
        '{"shared_context": {\n"enabled": false}}',
        "shared_context: {mode: x,\n  enabled: false}",
        'shared_context: {note: "}", enabled: false}',
        'shared_context: {enabled: true, note: "}", enabled: false}',
        "shared_context: {enabled: true # }\n  , enabled: false}",
        "shared_context:\n  false\n",
        "shared_context: !!bool false",
        "shared_context: &x false",
        "SHARED_CONTEXT_ENABLED: false",
        "shared_context.enabled: false",
        "shared_context: false  # for now",
        "shared_context:  # repository policy\n  enabled: false\n",
        "shared_context: &policy\n  enabled: false\n",
        "shared_context: !!map\n  enabled: false\n",
        "shared_context:\n  enabled: # for now\n    false\n",
        "shared_context:\n  enabled: >-\n    false\n",
        "shared_context: >-\n  false\n",
        "shared_context: |\n  false\n",
        "? shared_context\n: false\n",
        "? shared_context  # the flag\n# of the team\n: false\n",
        "? a\n: shared_context: false\n",
        "- shared_context: false\n",
        f"shared_context:\n{MANY_LINES}  enabled: false\n",
        "policy: &policy false\nshared_context: *policy\n",
        "defaults: &defaults\n  enabled: false\nshared_context:\n  <<: *defaults\n",
        "shared_context:\r\n  enabled: false\r\n",
        "shared_context:\n\tenabled: false\n",
    ],
)
def test_every_spelling_of_off_is_off(text: str):
    assert read(text) is False


@pytest.mark.parametrize(
    "text",
    [
        "shared_context: maybe",
        "shared_context:",
        "shared_context: true\n  and more\n",
        "shared_context:\n  mode: x\n",
        "shared_context:\n  options:\n    enabled: true\n",
        "shared_context:\n  enabled: true\n  retry:\n    enabled: false\n",
        "shared_context:\n  - enabled: true\n",
        "shared_context: {enabled: true, options: {a: 1}}",
        "policy: &policy true\nshared_context: *policy\n",
    ],
)
def test_a_value_that_is_not_plainly_on_counts_as_off(text: str):
    assert read(text) is False


@pytest.mark.parametrize(
    "text",
    [
        "shared_context: true",
        "shared_context: 'yes'  # don't change\n",
        "shared_context: true\nother:\n  enabled: false\n",
        "shared_context:\n\n  # off\n  enabled: yes\nother:\n  enabled: false\n",
        "shared_context:  # since May\n  mode: x\n  enabled: true  # enabled for all\n",
        "- shared_context: true\n  enabled: false\n",
        '{"shared_context": true, "other": {"enabled": false}}',
        '{"shared_context": true\n  }',
        '{\n "shared_context": {\n  "mode": "x",\n  "enabled": true\n }\n}',
        "shared_context: {mode: x, enabled: ON}  # for all\n",
    ],
)
def test_a_value_that_is_plainly_on_is_on(text: str):
    assert read(text) is True


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# shared_context: false",
        "description: 'shared_context: false would be bad'",
        "features: [shared_context, rounds]  # default: none\n",
        "- shared_context  # see: the manual\n",
        "unshared_context: false",
        "shared_contexts: false",
    ],
)
def test_a_text_that_only_mentions_the_flag_says_nothing(text: str):
    assert read(text) is None


def test_the_reason_names_the_line():
    flag = find_flag(GraphConfig("# policy\ngraph:\n  shared_context: maybe\n"))

    assert "line 3" in flag.reason


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("shared_context: {" * 60_000, False),
        ("shared_context:\n" * 60_000, False),
        ("shared_context: " + "enabled:!" * 100_000, False),
        ("shared_context: " + "! " * 500_000, False),
        ("{" * 500_000 + "shared_context: {" + "}" * 500_000, False),
        ("shared_context " * 60_000, None),
        ("shared_context" + " " * 1_000_000, None),
        ("shared_context: true\n" * 50_000, True),
        ("shared_context: true, " * 20_000 + "\n" + " x\n" * 200_000, True),
        ("shared_context: {enabled: true}," * 30_000 + "\n" + " x\n" * 20_000, True),
        ("shared_context:\n enabled: true\n" + "\n" * 900_000, True),
    ],
    ids=[
        "flags",
        "lines",
        "words",
        "tags",
        "braces",
        "mentions",
        "a gap",
        "on",
        "on in a line",
        "on in braces",
        "blank lines",
    ],
)
def test_a_file_made_to_be_slow_to_parse_is_read_once(text: str, says: bool | None):
    """A megabyte each, which would be read a billion times over without a bound."""
    assert read(text) is says
