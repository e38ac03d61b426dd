"""A mark tells stores apart without naming them."""

from pathlib import Path

import pytest

from holdfast.storage.mark import mark_store


@pytest.mark.parametrize(
    ("url", "same"),
    [
        (
            "postgresql://ana:secret@db:5432/x",
            "postgres://ana:other@db:5432/x?sslmode=require&password=third",
        ),
        ("postgresql://ana@/x?host=/run", "postgresql://ana:b@/x?sslmode=disable&host=/run"),
        ("postgresql://ana:secret@db:5432/x", "postgresql://bo@db:5432/x"),
        ("postgresql://ana@db/x", "postgresql://db/x?user=bo&password=other"),
        (
            "postgresql://ana@db",
            "postgresql://db/?user=ana",
        ),  # a database without a name is called like the role
        ("sqlite:////tmp/a/../b.db", "sqlite:////tmp/b.db"),
    ],
)
def test_a_mark_differs_between_stores_and_not_between_logins(url: str, same: str):
    others = [
        "postgresql://ana@db:5432/y",
        "postgresql://ana@/x?host=/tmp",
        "postgresql://bo@db",
        "sqlite:////tmp/c.db",
    ]

    assert mark_store(url, "/home/x") == mark_store(same, "/home/x")
    assert mark_store(url, "/home/x") not in [mark_store(other, "/home/x") for other in others]


def test_a_store_in_the_data_folder_keeps_its_mark_when_the_folder_moves(tmp_path: Path):
    """And only there: a store elsewhere is identified by its own path, also where the names begin
    alike.
    """
    (tmp_path / "link").symlink_to(tmp_path / "new")
    homes = [str(tmp_path / name) for name in ("old", "new", "link")]

    inside = {mark_store(f"sqlite:///{home}/stores/a.db", home) for home in homes}
    others = {
        mark_store(f"sqlite:///{home}{name}", home)
        for home in homes[:2]
        for name in ("/b.db", "2/a.db")
    }

    assert len(inside) == 1
    assert (len(others), inside & others) == (3, set())
