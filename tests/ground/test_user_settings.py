"""What a person has chosen for this machine."""

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import InvalidValueError
from holdfast.ground.user_settings import UserSettings, load_user_settings


def chosen(home: Path, value: Any) -> UserSettings:
    (home / "settings.json").write_text(value if isinstance(value, str) else json.dumps(value))
    return load_user_settings(str(home))


def test_without_a_file_nothing_is_chosen(tmp_path: Path):
    settings = load_user_settings(str(tmp_path))

    assert settings == UserSettings()
    assert not settings.shares_anything()
    assert not settings.shares("github.com/acme/payouts")


def test_consent_for_one_repository_is_not_consent_for_others(tmp_path: Path):
    settings = chosen(tmp_path, {"repositories": {"github.com/acme/payouts": {"shared_context": True}}})

    assert settings.shares_anything()
    assert settings.shares("github.com/acme/payouts")
    assert not settings.shares("github.com/acme/other")


def test_one_repository_can_be_left_out(tmp_path: Path):
    settings = chosen(tmp_path, {"shared_context": True, "repositories": {"secret": {"shared_context": False}}})

    assert settings.shares("any")
    assert not settings.shares("secret")


def test_rules_of_everywhere_come_before_those_of_one_repository(tmp_path: Path):
    settings = chosen(tmp_path, {"pinned_rules": ["a"], "repositories": {"r": {"pinned_rules": ["b"]}}})

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
        {"context_folder": 5},
        {"context_folder": "/etc"},
    ],
)
def test_a_file_that_is_wrong_is_named(tmp_path: Path, value: Any):
    with pytest.raises(InvalidValueError, match=r"settings\.json"):
        chosen(tmp_path, value)


def test_bytes_that_are_no_text_are_named(tmp_path: Path):
    (tmp_path / "settings.json").write_bytes(b"\xff")
    with pytest.raises(InvalidValueError, match="cannot be read"):
        load_user_settings(str(tmp_path))
