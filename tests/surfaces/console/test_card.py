"""The context card as values: what is linked, what is marked, what stays text."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from holdfast.ground.confined import ConfinedRoot
from holdfast.sessions.model import Session
from holdfast.surfaces.console import links
from holdfast.surfaces.console.card import make_card

AT = datetime(2026, 11, 16, 9, tzinfo=UTC)
ROOTS = [ConfinedRoot("/r")]


def session(worktree: str | None = "/r", **context: list[str]) -> Session:
    return Session(
        "s1", "u1", "architect", None, None, None, AT, None, {"context": context}, worktree=worktree
    )


def test_files_open_in_the_editor_and_say_when_they_are_gone_or_out_of_reach():
    card = make_card(
        session(files=["src/a.py", "/r/gone.py", "/etc/passwd"]),
        ROOTS,
        exists=lambda path: "gone" not in path,
    )

    assert [(file.text, file.title, file.note) for file in card.files] == [
        ("src/a.py", "/r/src/a.py", ""),
        ("gone.py", "/r/gone.py", "missing"),
        ("/etc/passwd", "/etc/passwd", "outside the folders shown here"),
    ]
    assert card.files[0].link == "/?applet=text-editor&path=%2Fr%2Fsrc%2Fa.py&session=s1"


def test_a_file_outside_the_root_looks_the_same_whether_it_exists_or_not(tmp_path: Path):
    """Whether it is there or not, named straight, upwards, or through a link inside: the same
    words.
    """
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "there").write_text("x")
    (root / "link").symlink_to(tmp_path)
    (root / "own").mkdir()
    told = {}
    for path in ("there", "absent"):
        files = [
            f"{tmp_path}/{path}",
            f"{root}/../{path}",
            f"../{path}",
            f"{root}/link/{path}",
            f"link/{path}",
        ]
        card = make_card(session(worktree=str(root), files=files), [ConfinedRoot(str(root))])
        told[path] = [file.note for file in card.files]

    assert told["there"] == told["absent"] == ["outside the folders shown here"] * 5
    inside = make_card(
        session(worktree=str(root), files=["own", "gone"]), [ConfinedRoot(str(root))]
    )
    assert [file.note for file in inside.files] == ["", "missing"]


def test_a_file_named_through_a_link_opens_by_its_own_name(tmp_path: Path):
    """The editor follows no link: what the card calls shown has to be what it opens."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.txt").write_text("x")
    (tmp_path / "other").symlink_to(root)
    roots = [ConfinedRoot(str(root))]

    (file,) = make_card(session(worktree=None, files=[f"{tmp_path}/other/a.txt"]), roots).files

    assert (file.title, file.note) == (f"{tmp_path}/other/a.txt", "")
    assert file.link == links.editor_link(str(root / "a.txt"), "s1")


def test_endpoints_are_links_only_where_a_click_is_harmless():
    card = make_card(session(endpoints=["http://localhost:1", "javascript:alert(1)"]), ROOTS)

    assert [endpoint.link for endpoint in card.endpoints] == ["http://localhost:1", None]


def test_the_last_applet_is_offered():
    card = make_card(session(applet=["text-editor", "path=/r/a.py", "line=3"]), ROOTS)

    assert card.applet is not None
    assert (card.applet.text, card.applet.title) == (
        "Open again: a.py in the text editor",
        "a.py, line 3",
    )
    assert card.applet.link == "/?applet=text-editor&path=%2Fr%2Fa.py&session=s1&line=3#L3"
    other = make_card(session(applet=["board", "zoom=2"]), ROOTS).applet
    assert other is not None
    assert (other.text, other.title) == ("Open again: board", "zoom=2")


@pytest.mark.parametrize(
    ("items", "words"),
    [
        (["git-diff", "path=/r/src/a.py"], "Open again: the changes of a.py"),
        (["git-diff", "path=/r/"], "Open again: the changes of r"),
        (["git-diff"], "Open again: git-diff"),
        (["text-editor", "path=/r/{x}.py"], "Open again: {x}.py in the text editor"),
        (["{name}", "path=/r/a.py"], "Open again: {name}"),
    ],
)
def test_an_applet_is_offered_in_words(items: list[str], words: str):
    offered = make_card(session(applet=items), ROOTS).applet

    assert offered is not None
    assert offered.text == words


def test_every_set_is_on_the_card_and_counted():
    card = make_card(
        session(files=["a"], ports=["80", "81"], tickets=["X-1"], applet=["git-diff"]), ROOTS
    )

    assert card.ports == ("80", "81")
    assert card.others == (("tickets", ("X-1",)),)
    assert card.count == 5
    assert make_card(session(), ROOTS).count == 0
