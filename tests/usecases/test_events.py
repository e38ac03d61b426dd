"""One stream of what a developer may hear: every event once, each source in its order, whatever
happens in between, and of a private developer nothing.
"""

import asyncio
from base64 import urlsafe_b64decode
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.errors import InvalidValueError
from holdfast.ground import ids
from holdfast.ground.settings import owner_of
from holdfast.scope import Scope
from holdfast.storage import tail
from holdfast.storage.tail import Tail
from holdfast.usecases.events import Events

BEGINNING = "o2.bzEuMA.0.0"
READER, *OTHERS = HANDLES = ("dev-a", "dev-b", "dev-c")
STEPS = st.one_of(
    st.just(("rename",)),
    st.tuples(st.just("publish"), st.sampled_from(HANDLES)),
    st.tuples(
        st.just("visibility"),
        st.sampled_from(HANDLES),
        st.sampled_from(["public", "private"]),
    ),
    st.tuples(st.just("read"), st.integers(1, 4), st.integers(0, 3)),
)


class Story:
    """What happened, and how much of it the reader has heard: a model of the stream."""

    def __init__(self, database: Any, workspace: str):
        self.scopes = {handle: Scope(database, owner_of(workspace, handle)) for handle in HANDLES}
        self.events = Events(self.scopes[READER])
        self.visibility = dict.fromkeys(HANDLES, "public")
        self.notices: list[str] = []
        self.team: list[tuple[str, str]] = []
        self.own: list[tuple[str, str]] = []
        self.cursor = ""
        self.session_id = ""

    async def begin(self) -> None:
        for handle in HANDLES:
            await self.publish(handle)
        session = await self.scopes[READER].sessions.create_session("coder", READER)
        self.session_id = session.id
        self.cursor = await self.events.start(None)
        self.notices, self.team, self.own = [], [], []

    async def publish(self, handle: str) -> None:
        team = self.scopes[handle].team
        branch = ids.new_id()
        published = await team.publish_context(title="t", summary="s", repo="r", branch=branch)
        if self.visibility[handle] == "public":
            self.team.append((handle, published.id))
        elif handle == READER:
            self.own.append((handle, published.id))

    async def visibility_of(self, handle: str, visibility: str) -> None:
        developer = await self.scopes[handle].team.set_visibility(visibility)
        if handle == READER and self.visibility[handle] != visibility:
            self.own.append((handle, developer.id))
        self.visibility[handle] = visibility

    async def rename(self) -> None:
        name = ids.new_id()
        await self.scopes[READER].sessions.update_metadata(self.session_id, {"name": name})
        self.notices.append(name)

    def list_visible(self) -> list[tuple[str, str]]:
        return [
            (handle, subject)
            for handle, subject in self.team
            if handle == READER or self.visibility[handle] == "public"
        ]

    async def read(self, limit: int, lost: int) -> int:
        """A page, of which the connection loses the last ones; how many were heard."""
        page = await self.events.read(self.cursor, limit)
        whole = len(page) < limit
        heard = page[: len(page) - lost] if lost < len(page) else page
        notices = [event.data["name"] for event in heard if not event.topic.startswith("team.")]
        work = [
            (event.data["developer"]["handle"], event.data["subject"])
            for event in heard
            if event.topic.startswith("team.")
        ]
        own = [entry for entry in work if entry in self.own]
        team = [entry for entry in work if entry not in self.own]
        visible = self.list_visible()
        assert notices == self.notices[: len(notices)]
        assert own == self.own[: len(own)]
        assert team == visible[: len(team)]
        if whole and heard == page:
            assert (notices, team, own) == (self.notices, visible, self.own)
        assert page or not (self.notices or visible or self.own)
        del self.notices[: len(notices)], self.own[: len(own)]
        if team:  # what was hidden before it stays behind
            del self.team[: self.team.index(team[-1]) + 1]
        if heard:
            self.cursor = heard[-1].cursor
        return len(heard)


def test_every_event_is_heard_once_in_order_whatever_happens_in_between(
    database_url: str, workspace: str, scale: Callable[[int], int]
):
    """Renamed sessions, publications, changes of visibility and lost connections, mixed."""
    with asyncio.Runner() as runner:
        opening = holdfast.open_database(database_url)
        database = runner.run(opening.__aenter__())

        async def tell(steps: list[Any]) -> None:
            story = Story(database, f"{workspace}-{ids.new_id()}")
            await story.begin()
            for name, *arguments in steps:
                verb = {"visibility": story.visibility_of}.get(name) or getattr(story, name)
                await verb(*arguments)
            while await story.read(3, 0):
                pass

        @given(st.lists(STEPS, min_size=4, max_size=25))
        @example([("publish", "dev-b"), ("visibility", "dev-b", "private"), ("publish", "dev-c")])
        @example([("visibility", "dev-a", "private"), ("publish", "dev-a"), ("rename",)])
        @settings(max_examples=scale(400), database=None)
        def holds(steps: list[Any]) -> None:
            runner.run(tell(steps))

        try:
            holds()
        finally:
            runner.run(opening.__aexit__(None, None, None))


@pytest.fixture
async def story(database: Any, workspace: str) -> Story:
    begun = Story(database, workspace)
    await begun.begin()
    return begun


async def test_a_cursor_of_an_older_program_goes_on_in_the_outbox_and_hears_the_team_from_now_on(
    story: Story,
):
    older = await story.events.outbox.end()
    await story.rename()
    await story.publish("dev-b")
    cursor = await story.events.start(older)
    await story.publish("dev-c")

    events = await story.events.read(cursor)

    assert [event.topic for event in events] == ["session.renamed", "team.context_published"]
    assert events[1].data["developer"]["handle"] == "dev-c"


@pytest.mark.parametrize(
    "cursor",
    ["", "x", "bzIuMQ", "bzIuYnpFdU1BLjEuLTE", "bzIuYnpFdU1BLjE", "bzIuLjEuMQ", "b" * 5000],
)
async def test_a_cursor_that_was_never_handed_out_is_refused(story: Story, cursor: str):
    for call in (story.events.start, story.events.read):
        with pytest.raises(InvalidValueError, match="is not one that this store handed out"):
            await call(cursor)


async def test_a_cursor_tells_nothing_of_a_developer_who_became_private(story: Story):
    """It is what it would be if that developer had done nothing: no number counts."""
    before = await story.events.end()
    await story.publish("dev-b")
    await story.publish("dev-b")
    await story.visibility_of("dev-b", "private")
    assert decode(await story.events.end()) <= decode(before)  # of `begin` one may be hidden now

    await story.publish("dev-c")

    [event] = await story.events.read(before)
    assert event.cursor == await story.events.end()
    *_, number, own = decode(event.cursor).split(".")
    seconds = abs(int(number) / 1_000_000 - event.created_at.timestamp())
    assert (seconds < 1, own) == (True, "0")


def decode(cursor: str) -> str:
    return urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()


async def test_a_cursor_of_an_event_that_became_hidden_is_still_good(story: Story):
    cursor = await story.events.end()
    await story.publish("dev-b")
    [event] = await story.events.read(cursor)
    await story.visibility_of("dev-b", "private")

    assert await story.events.read(cursor) == []
    assert await story.events.read(await story.events.start(event.cursor)) == []
    await story.publish("dev-c")
    [later] = await story.events.read(event.cursor)
    assert later.data["developer"]["handle"] == "dev-c"


async def test_a_slow_listener_gets_nothing_of_a_developer_who_became_private_meanwhile(
    story: Story, monkeypatch: pytest.MonkeyPatch
):
    """What was read before the change is read again before it is sent."""
    monkeypatch.setattr(tail, "STALE_SECONDS", -1)
    follower = Tail(story.events).follow(story.cursor, 5)
    for handle in ("dev-c", "dev-b", "dev-b", "dev-c"):
        await story.publish(handle)

    async with asyncio.timeout(30):
        first = await anext(follower)
        await story.visibility_of("dev-b", "private")
        second = await anext(follower)
    await follower.aclose()

    heard = [first, second]
    assert [event.data["developer"]["handle"] for event in heard if event] == ["dev-c"] * 2


async def test_a_listener_wakes_up_for_what_the_team_does(story: Story):
    follower = Tail(story.events).follow(None, 0.01)
    assert await anext(follower) is None
    waiting = Tail(story.events).follow(await story.events.end(), 60)
    listening = asyncio.ensure_future(anext(waiting))
    await asyncio.sleep(0)

    await story.publish("dev-b")

    async with asyncio.timeout(30):
        event = await listening
    assert event is not None
    assert event.topic == "team.context_published"
    assert set(event.data) == {"type", "developer", "subject", "repo", "branch", "created_at"}
    await follower.aclose()
    await waiting.aclose()


async def test_a_change_of_visibility_is_heard_by_oneself_only(story: Story):
    mine, theirs = story.events, Events(story.scopes["dev-b"])
    cursor, other = await mine.end(), await theirs.end()

    await story.visibility_of("dev-a", "private")
    await story.visibility_of("dev-a", "public")

    assert [event.topic for event in await mine.read(cursor)] == ["team.visibility_changed"] * 2
    assert await theirs.read(other) == []
