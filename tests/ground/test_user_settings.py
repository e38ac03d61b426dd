"""What a person has chosen for this machine."""

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import InvalidValueError
from holdfast.ground.user_settings import UserSettings, load_user_settings


def load_written(home: Path, value: Any) -> UserSettings:
    (home / "settings.json").write_text(value if isinstance(value, str) else json.dumps(value))
    return load_user_settings(str(home))


def test_without_a_file_nothing_is_chosen(tmp_path: Path):
    settings = load_user_settings(str(tmp_path))

    assert settings == UserSettings()
    assert not settings.shares_anything()
    assert not settings.shares("github.com/acme/payouts")


def test_consent_for_one_repository_is_not_consent_for_others(tmp_path: Path):
    settings = load_written(
        tmp_path, {"repositories": {"github.com/acme/payouts": {"shared_context": True}}}
    )

    assert settings.shares_anything()
    assert settings.shares("github.com/acme/payouts")
    assert not settings.shares("github.com/acme/other")


def test_one_repository_can_be_left_out(tmp_path: Path):
    settings = load_written(
        tmp_path, {"shared_context": True, "repositories": {"secret": {"shared_context": False}}}
    )

    assert settings.shares("any")
    assert not settings.shares("secret")


def test_rules_of_everywhere_come_before_those_of_one_repository(tmp_path: Path):
    settings = load_written(
        tmp_path, {"pinned_rules": ["a"], "repositories": {"r": {"pinned_rules": ["b"]}}}
    )

    assert settings.rules_for("r") == ("a", "b")
    assert settings.rules_for("s") == ("a",)


@pytest.mark.parametrize(
    "value",
    [
        "{",
        "[]",
        {"shared_context": "yes"},
        {"pinned_rules": "a"},
        {"pinned_rules": [1]},
        {"repositories": []},
        {"repositories": {"r": 1}},
        {"repositories": {"r": {"shared_context": 1}}},
        {"repositories": {"r": {"conversations": "yes"}}},
        {"repositories": {"r": {"conversation_messages": 0}}},
        {"context_folder": 5},
        {"context_folder": "/etc"},
        {"pause_words": "eod"},
        {"pause_words": [1]},
        {"pause_words": [" "]},
        {"pause_words": ["x" * 101]},
        {"pause_words": ["x"] * 51},
    ],
)
def test_a_file_that_is_wrong_is_named(tmp_path: Path, value: Any):
    with pytest.raises(InvalidValueError, match=r"settings\.json"):
        load_written(tmp_path, value)


def test_the_words_by_which_a_person_stops_are_kept_in_their_order(tmp_path: Path):
    words = ["eod", "x" * 100, *map(str, range(48))]

    assert load_written(tmp_path, {"pause_words": words}).pause_words == tuple(words)


def test_too_many_or_too_long_pause_words_are_refused_with_the_limit(tmp_path: Path):
    with pytest.raises(InvalidValueError, match="has 51 texts; at most 50"):
        load_written(tmp_path, {"pause_words": ["x"] * 51})
    with pytest.raises(InvalidValueError, match="longer than 100 characters"):
        load_written(tmp_path, {"pause_words": ["x" * 101]})


@pytest.mark.parametrize(
    ("value", "key", "hint"),
    [
        ({"shared_contxt": True}, "'shared_contxt'", "Did you mean 'shared_context'?"),
        (
            {"colour": "red"},
            "'colour'",
            "pause_words, team, server, remotes, repositories.",
        ),
        (
            {"repositories": {"h/x": {"pined_rules": []}}},
            "under 'h/x', has 'pined_rules'",
            "Did you mean 'pinned_rules'?",
        ),
        (
            {"repositories": {"h/x": {"context_folder": "x"}}},
            "'context_folder'",
            "Known: shared_context, conversations, conversation_messages, pinned_rules.",
        ),
        ({"repositories": {"shop": {}}}, "'shop'", "workstream show` prints"),
        ({"repositories": {"/home/dev/shop": {}}}, "'/home/dev/shop'", "workstream show` prints"),
        ({"repositories": {"../shop": {}}}, "'../shop'", "workstream show` prints"),
        (
            {"repositories": {"git@github.com:acme/shop.git": {}}},
            "'git@github.com",
            "mean 'github.com/acme/shop'?",
        ),
        (
            {"repositories": {"GitHub.com/acme/shop.git": {}}},
            "'GitHub.com",
            "mean 'github.com/acme/shop'?",
        ),
    ],
)
def test_an_unknown_setting_is_reported_with_the_likely_intended_one(
    tmp_path: Path, value: Any, key: str, hint: str
):
    settings = load_written(tmp_path, value)

    [note] = settings.ignored
    assert note.startswith(str(tmp_path / "settings.json"))
    assert key in note
    assert hint in note
    assert not settings.shares_anything()


def test_valid_repository_names_are_not_reported(tmp_path: Path):
    names = [
        "github.com/acme/shop",
        "git.local:8022/shop",
        "[::1]/shop",
        "a" * 40,
        "0" * 64,
        "local-0123456789abcdef",
    ]

    assert load_written(tmp_path, {"repositories": {name: {} for name in names}}).ignored == ()


def test_any_number_of_typos_is_a_few_notes(tmp_path: Path):
    assert len(load_written(tmp_path, {f"key{number}": 1 for number in range(1000)}).ignored) == 5


def test_a_file_that_is_not_json_is_refused_with_the_position(tmp_path: Path):
    with pytest.raises(
        InvalidValueError,
        match=r"is not JSON \(Expecting value: line 1 column 20.*fix or remove it",
    ):
        load_written(tmp_path, '{"shared_context": tru}')


def test_a_settings_file_that_is_not_utf8_is_refused(tmp_path: Path):
    (tmp_path / "settings.json").write_bytes(b"\xff")
    with pytest.raises(InvalidValueError, match="cannot be read"):
        load_user_settings(str(tmp_path))


def test_a_switch_is_on_off_or_was_never_asked_for_in_each_repository(tmp_path: Path):
    name = "github.com/acme/payouts"
    chosen = {"conversations": True, "conversation_messages": False}
    settings = load_written(tmp_path, {"repositories": {name: chosen}})

    assert settings.find_switch(name, "conversations") is True
    assert settings.find_switch(name, "conversation_messages") is False
    assert settings.find_switch("github.com/acme/other", "conversations") is None
    assert settings.ignored == ()
