"""The bundle beside the notes: a bar that adds up, and nothing that is left behind by looking."""

from pathlib import Path
from typing import Any

import pytest

from holdfast.app import App
from holdfast.bundles import budget
from holdfast.bundles.service import RECEIPT, BundleService
from holdfast.errors import InvalidValueError
from holdfast.ground.settings import load_settings
from holdfast.sessions.service import SessionService
from holdfast.surfaces.console import bundle_view
from tests.workstreams.repos import service_in, with_code


@pytest.fixture
async def bundles(tmp_path: Path, database: Any) -> BundleService:
    """Of a workstream that says more than a small bundle holds."""
    workstreams = service_in(with_code(tmp_path / "payouts"), database)
    for number in range(8):
        await workstreams.claim(
            f"schedule() doubles the pause, seen {number} times", ["src/retry.py#schedule"]
        )
        await workstreams.decide(f"a decision that takes some room, number {number}")
    await workstreams.save("A summary. " * 100, by_hand=True)
    owner = workstreams.settings.owner
    sessions = SessionService(database, owner=owner)
    return BundleService(workstreams.journal.journal, sessions, load=workstreams.load)


@pytest.mark.parametrize("phase", ["planning", "implementation"])
async def test_the_bar_adds_up_to_the_limit_and_never_beyond(bundles: BundleService, phase: str):
    for limit in range(budget.LEAST, budget.TOTALS[phase] + 1, 50):
        shown = await bundle_view.load_bundle(bundles, phase, None, limit, "/r")

        assert shown.bundle.chars <= shown.limit == limit
        assert sum(part.chars for part in shown.parts) == shown.bundle.chars
        assert sum(piece.count for piece in shown.bar) == limit
        assert [piece.label for piece in shown.bar if piece.kind != "free"] == [
            part.name for part in shown.parts if part.text
        ]
        cuts = [cut for part in shown.parts for cut in part.cut]
        assert sorted(cuts, key=str) == sorted(shown.bundle.cut, key=str)


async def test_a_part_has_its_text_its_sources_and_what_was_cut(bundles: BundleService):
    shown = await bundle_view.load_bundle(bundles, "implementation", None, 500, "/r")
    parts = {part.name: part for part in shown.parts}

    assert shown.bundle.text.startswith(parts["head"].text)
    assert (parts["repo"].about, parts["more"].about) == ("always whole", "always whole")
    assert [item.source for part in shown.parts for item in part.items if not item.source] == []
    assert all(part.text in shown.bundle.text for part in shown.parts)
    assert any(cut.reason.startswith("no room") for part in shown.parts for cut in part.cut)
    absent = [part for part in shown.parts if not part.text]
    assert absent
    assert all(part.cut for part in absent)


async def test_each_context_set_is_a_line_with_its_name(bundles: BundleService):
    """In one part; underlines are ours only in its own name."""
    session = await bundles.sessions.create_session("architect", "u1", worktree="/r")
    await bundles.sessions.set_relevant_context(session.id, "ports", ["8080"])
    await bundles.sessions.set_relevant_context(session.id, "my_files", ["a.py", "b.py"])

    shown = await bundle_view.load_bundle(bundles, "implementation", None, None, "/r")

    [sets] = [part for part in shown.parts if part.name == "context sets"]
    assert sets.text == "SET my_files: a.py · b.py\nSET ports: 8080"
    assert [item.text for item in sets.items] == sets.text.splitlines()
    assert all(session.id in item.source for item in sets.items)
    names = [part.name for part in shown.parts]
    assert len(names) == len(set(names))


async def test_looking_leaves_no_receipt(bundles: BundleService):
    """What an agent was handed last stays what `holdfast why` tells of."""
    kept = bundles.journal
    await bundle_view.load_bundle(bundles, "implementation", None, None, "/r")

    assert await kept.newest_of_kind(RECEIPT, 10) == []


async def test_a_limit_that_nothing_fits_into_is_refused_in_words(bundles: BundleService):
    with pytest.raises(InvalidValueError, match="too small"):
        await bundle_view.load_bundle(bundles, "implementation", None, 10, "/r")


@pytest.mark.parametrize(
    ("limit", "chosen"), [(None, 1_700), (600, 600), (9_500, 1_700), (10, 450)]
)
def test_the_slider_is_limited_to_possible_totals(limit: int | None, chosen: int):
    cap = bundle_view.make_cap("implementation", limit)

    assert (cap.least, cap.most, cap.chosen) == (450, 1_700, chosen)
    assert all((total - cap.least) % cap.step == 0 for total in budget.TOTALS.values())


def test_the_limits_of_clients_are_listed():
    assert "Claude Code 9,500" in bundle_view.list_client_limits()


async def test_the_app_gives_what_the_page_looks_with(tmp_path: Path):
    """The journal is taken from it by name."""
    settings = load_settings({"HOLDFAST_HOME": str(tmp_path / "data"), "HOME": "/"})
    async with App(settings) as app:
        bundles = app.bundles(app.workstreams(str(tmp_path)))
        shown = await bundle_view.load_bundle(bundles, "planning", None, None, str(tmp_path))
        assert shown.bundle.chars <= 2_200
        assert await app.scope.journal.newest_of_kind(RECEIPT, 10) == []
