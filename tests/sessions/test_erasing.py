"""What is left of an object or of context sets when a piece of text is forgotten."""

from holdfast.sessions.erasing import remove_from_object, remove_from_sets


def test_whatever_holds_the_text_goes_whole():
    value = {"key": "a secret", "secret": 1, "list": ["x", "secret", {"in": "secret", "out": 2}]}

    assert remove_from_object(value, "secret") == {"list": ["x", {"out": 2}]}


def test_a_text_that_runs_over_several_values_takes_the_whole_object():
    assert remove_from_object({"ports": [80, 443]}, "80,443") == {}


def test_an_applet_without_its_name_is_none():
    sets = {"files": ["/r/a", "/secret"], "applet": ["secret", "path=/r/a"], "secret": ["x"]}

    assert remove_from_sets(sets, "secret") == {"files": ["/r/a"]}
