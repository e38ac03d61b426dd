"""What a repository says about sharing is read in every spelling of a no."""

import pytest

from holdfast.workstreams.flag import find_flag_in_config


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("shared_context: false", False),
        ("\ufeffshared_context: false", False),
        ("shared_context: {enabled: false}", False),
        ('{"shared_context": {"enabled": false}}', False),
        ('{\n "shared_context": {\n  "enabled": false\n }\n}', False),
        ("graph:\n  shared_context:\n    enabled: false\n", False),
        ("shared_context:\n  enabled: true\nother:\n  shared_context: off\n", False),
        ("shared_context: true\nother:\n  enabled: false\n", True),
        ("shared_context:\n\n  # off\n  enabled: yes\nother:\n  enabled: false\n", True),
        ('{"note": "issue #4", "shared_context": false}', False),
        ('{"shared_context": {"opts": {"a": 1}, "enabled": false}}', False),
        ('{\n"shared_context":\n{\n"enabled": false\n}\n}', False),
        ('{"shared_context": {\n"enabled": false}}', False),
        ("shared_context: {mode: x,\n  enabled: false}", False),
        ("shared_context:\n  false\n", False),
        ("shared_context: !!bool false", False),
        ("shared_context: &x false", False),
        ("SHARED_CONTEXT_ENABLED: false", False),
        ("shared_context: false  # for now", False),
        ('{"shared_context": true, "other": {"enabled": false}}', True),
        ("description: 'shared_context: false would be bad'", None),
        ("# shared_context: false", None),
        ("shared_context: maybe", None),
        ("unshared_context: false", None),
        ("", None),
    ],
)
def test_the_flag_of_a_repository_is_read_in_every_spelling(text: str, said: bool | None):
    assert find_flag_in_config(text) is said


@pytest.mark.parametrize(
    "text",
    [
        "shared_context: {" * 60_000,
        "shared_context:\n" * 60_000,
        "shared_context: " + "enabled:!" * 100_000,
        "shared_context: " + "! " * 500_000,
        "{" * 500_000 + "shared_context: {" + "}" * 500_000,
    ],
    ids=["flags", "lines", "words", "tags", "braces"],
)
def test_a_file_made_to_be_slow_to_parse_gives_no_flag(text: str):
    """A megabyte each, which would be read a billion times over without a bound."""
    assert find_flag_in_config(text) is None
