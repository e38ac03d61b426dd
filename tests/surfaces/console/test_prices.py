"""What a session pays, on the sessions screen."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from holdfast.clients.installation import Installation
from holdfast.clients.setup import SetupPlace, find_setup
from holdfast.clients.shim import find_shim
from holdfast.storage.hook_marks import HookMarks
from holdfast.surfaces.console.prices import load_prices
from holdfast.surfaces.mcp import offer
from holdfast.usecases.setting_up import ClientUse
from tests.surfaces.console.test_pages import Pages, database_url, pages

__all__ = ["database_url", "pages"]  # fixtures


def install(home: Path | str, user_folder: Path | str, *names: str) -> None:
    """What `holdfast init` puts into the files of clients, in the folder of a person's own."""
    place = SetupPlace(
        user_folder=str(user_folder),
        environment={},
        worktree=str(user_folder),
        shim=find_shim(str(home)),
        tools=tuple(offer.list_tools()),
    )
    for name in names:
        Installation(str(home)).install(name, find_setup(name).list_edits(place))


def fire(home: Path | str, client: str = "claude") -> None:
    """Three hooks of 90 ms together in a turn; the first handed something over."""
    marks = HookMarks(str(home))
    marks.record(client, "SessionStart", milliseconds=41.0, chars=1_699)
    marks.record(client, "UserPromptSubmit", milliseconds=30.0, chars=0)
    marks.record(client, "Stop", milliseconds=19.0, chars=0)


def load_uses(pages: Pages) -> Sequence[ClientUse]:
    prices = load_prices(pages.app)
    assert prices is not None
    return prices.uses


@pytest.fixture
def user_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "user"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


async def test_each_client_has_its_price_and_the_session_that_of_its_own(
    pages: Pages, user_folder: Path
):
    home = pages.app.settings.home
    install(home, user_folder, "claude", "codex")
    fire(home)
    session = await pages.sessions.create_session("architect", "u1", client="claude")

    page = await pages.get(f"/sessions/{session.id}")

    assert "What a session pays: 90 ms a turn, about 425 tokens at the start" in page
    assert "3 hooks so far, 30 ms each; 1 turn, 90 ms each;" in page
    assert "handed over 1 time: 1,699 characters each, about 425 tokens." in page
    assert "<dt>Codex</dt><dd>Hooks not seen yet.</dd>" in page
    assert f"About {offer.count_tokens():,} tokens a session, where a client loads" in page
    assert "Its settings changed since" not in page


async def test_hooks_that_were_wired_by_hand_have_a_price_too(pages: Pages, user_folder: Path):
    fire(pages.app.settings.home)
    await pages.sessions.create_session("architect", "u1", client="claude")

    page = await pages.get("/sessions")

    assert "What a session pays: 90 ms a turn" in page
    assert "Not set up by <code>holdfast init</code>." in page


async def test_what_is_handed_over_once_is_not_spread_over_the_prompts(
    pages: Pages, user_folder: Path
):
    """A client that takes a text with a prompt fires that hook with every other prompt too."""
    marks = HookMarks(pages.app.settings.home)
    marks.record("gemini", "BeforeAgent", milliseconds=50.0, chars=1_200)
    for _ in range(9):
        marks.record("gemini", "BeforeAgent", milliseconds=50.0, chars=0)

    [use] = load_uses(pages)

    assert (use.turn_count, use.handed_count, use.mean_chars) == (10, 1, 1_200)


async def test_an_end_without_a_session_costs_no_session_anything(pages: Pages, user_folder: Path):
    """A client that is asked for its servers reports an end, and nothing else."""
    home = pages.app.settings.home
    HookMarks(home).record("claude", "SessionEnd", milliseconds=5_000.0, chars=0)
    assert load_uses(pages) == []

    fire(home)

    [use] = load_uses(pages)
    assert (use.hook_count, use.mean_milliseconds) == (3, 30.0)


async def test_a_session_of_a_client_without_hooks_has_no_price_of_its_own(
    pages: Pages, user_folder: Path
):
    install(pages.app.settings.home, user_folder, "codex")
    await pages.started()

    assert "<summary>What a session pays</summary>" in await pages.get("/sessions")


async def test_settings_that_have_lost_a_part_are_reported(pages: Pages, user_folder: Path):
    install(pages.app.settings.home, user_folder, "claude")
    (user_folder / ".claude" / "settings.json").write_text("{}")
    await pages.started()

    assert "Its settings changed since, see <code>holdfast doctor</code>." in (
        await pages.get("/sessions")
    )


async def test_where_no_client_is_set_up_the_command_is_named(pages: Pages, user_folder: Path):
    assert "No client is set up. <code>holdfast init</code> does it." in await pages.get("/")


async def test_a_record_that_cannot_be_read_does_not_hide_the_sessions(
    pages: Pages, user_folder: Path
):
    session = await pages.started()
    Path(pages.app.settings.home, "installed.json").symlink_to("elsewhere")

    page = await pages.get(f"/sessions/{session.id}")

    assert "request 0" in page
    assert "is a symbolic link" in page


async def test_a_server_of_a_team_shows_no_price(pages: Pages):
    pages.app.folder = None

    assert load_prices(pages.app) is None
    assert "What a session pays" not in await pages.get("/")
