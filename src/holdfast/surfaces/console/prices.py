"""What a session pays, per client: the figures of `holdfast status`, on a page."""

from __future__ import annotations

import os
from collections.abc import Sequence

from holdfast.app import App
from holdfast.errors import HoldfastError
from holdfast.ground.frozen import dataclass
from holdfast.surfaces.mcp import offer
from holdfast.usecases import setting_up
from holdfast.usecases.setting_up import ClientUse


@dataclass(frozen=True)
class Prices:
    """Of the clients that are set up; `problem` says why they are not known."""

    uses: Sequence[ClientUse]
    tools_tokens: int
    problem: str = ""

    def find_use(self, client: str | None) -> ClientUse | None:
        """Of a client whose hooks have fired: before that there is nothing to pay for."""
        fired = [use for use in self.uses if use.last_fired_at]
        return next((use for use in fired if use.name == client), None)


def load_prices(app: App) -> Prices | None:
    """None where a team is served: its clients are on other machines."""
    worktree = app.served_worktree
    if worktree is None:
        return None
    place = setting_up.make_place(app.settings, worktree, offer.list_tools(), os.environ)
    try:
        uses = setting_up.list_uses(app.settings.home, place)
    except HoldfastError as error:  # a page is shown without them too
        return Prices((), offer.count_tokens(), error.message)
    return Prices(uses, offer.count_tokens())
