"""A role round as a small graph of its own: four roles, one after the other, then the chair.

Where sharing is off no role is called and nothing is decided. When the role whose turn it is fails,
the round is abandoned, so that the next one can begin.
"""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypedDict

from langgraph._internal._runnable import RunnableCallable  # the one kind that is called both ways
from langgraph.errors import GraphBubbleUp
from langgraph.graph import END, START, StateGraph

from holdfast.app import App
from holdfast.bundles.round_service import RoundService
from holdfast.bundles.rounds import CHAIR, RoundStep
from holdfast.errors import Conflict, HoldfastError, InvalidValueError
from holdfast.ground.off_loop import off_loop, run_in_thread
from holdfast.ground.settings import Settings
from holdfast.surfaces.langgraph.sharing import open_work, parse_share
from holdfast.surfaces.langgraph.state import to_list

RoleAnswer = tuple[str, list[str]]
ChairAnswer = tuple[list[str], list[str]]
Speak = Callable[[str, str], RoleAnswer | Awaitable[RoleAnswer]]
Conclude = Callable[[str], ChairAnswer | Awaitable[ChairAnswer]]


class RoundState(TypedDict, total=False):
    topic: str
    workstream_id: str
    role: str | None  # whose turn it is; None when the round is over
    submissions: list[str]
    decisions: list[str]
    questions: list[str]


def role_round(
    speak: Speak,
    conclude: Conclude,
    *,
    folder: str | None = None,
    share: bool | None = None,
    settings: Settings | None = None,
) -> Any:
    """A graph that calls `speak(role, instruction)` for each role and `conclude(instruction)` last.

    `speak` returns a text and its sources, `conclude` decisions and questions. Both may be
    coroutine functions.
    """
    nodes = _Nodes(speak, conclude, folder, parse_share(share), settings)
    builder = StateGraph(RoundState)
    builder.add_node("begin", nodes.begin)
    builder.add_node("turn", RunnableCallable(nodes.turn, nodes.aturn, name="turn", trace=False))
    builder.add_edge(START, "begin")
    builder.add_conditional_edges("begin", _choose_next_node, ["turn", END])
    builder.add_conditional_edges("turn", _choose_next_node, ["turn", END])
    return builder.compile()


def _choose_next_node(state: RoundState) -> str:
    if state.get("role"):
        return "turn"
    return END


class _Nodes:
    def __init__(
        self,
        speak: Speak,
        conclude: Conclude,
        folder: str | None,
        share: bool | None,
        settings: Settings | None,
    ):
        self.speak = speak
        self.conclude = conclude
        self.folder = folder
        self.share = share
        self.settings = settings

    def begin(self, state: RoundState) -> RoundState:
        step = run_in_thread(self._start, state)
        if step is None:
            return {}
        return {"role": step.role, "submissions": []}

    def turn(self, state: RoundState) -> RoundState:
        with self._abandon_on_failure(state):
            step = run_in_thread(self._next, state)
            answer = self._ask(step)
            if inspect.isawaitable(answer):
                answer = run_in_thread(asyncio.run, _wait_for(answer))
            changed = run_in_thread(self._keep, state, step, answer)
        return changed  # noqa: RET504

    async def aturn(self, state: RoundState) -> RoundState:
        with self._abandon_on_failure(state):
            step = await off_loop(self._next, state)
            answer = await off_loop(self._ask, step)
            if inspect.isawaitable(answer):
                answer = await answer
            changed = await off_loop(self._keep, state, step, answer)
        return changed  # noqa: RET504

    def _start(self, state: RoundState) -> RoundStep | None:
        with open_work(self.folder, self.share, self.settings) as place:
            if place is None:
                return None
            app, work = place
            rounds = app.rounds(work)
            return app.run(rounds.start(state["topic"], state.get("workstream_id")))

    def _next(self, state: RoundState) -> RoundStep:
        with self._open_rounds() as (app, rounds):
            return app.run(rounds.next(state.get("workstream_id")))

    def _ask(self, step: RoundStep) -> Any:
        if step.role == CHAIR:
            return self.conclude(step.instruction)
        return self.speak(step.role, step.instruction)

    def _keep(self, state: RoundState, step: RoundStep, answer: Any) -> RoundState:
        which = state.get("workstream_id")
        first, rest = _check_pair(step.role, answer)
        second = to_list("Answer", rest)
        with self._open_rounds() as (app, rounds):
            if step.role == CHAIR:
                closed = app.run(rounds.close(to_list("decisions", first), second, which))
                return {
                    "role": None,
                    "decisions": list(closed.decisions),
                    "questions": list(closed.questions),
                }
            after = app.run(rounds.submit(step.role, first, second, which))
            submissions = state.get("submissions", [])
            return {"role": after.role, "submissions": [*submissions, first]}

    def _abandon(self, state: RoundState) -> None:
        with suppress(HoldfastError), self._open_rounds() as (app, rounds):
            app.run(rounds.abandon(state.get("workstream_id")))

    @contextmanager
    def _abandon_on_failure(self, state: RoundState) -> Iterator[None]:
        try:
            yield
        except (GraphBubbleUp, Conflict):  # an interrupt continues later, another process now
            raise
        except BaseException:
            run_in_thread(self._abandon, state)
            raise

    @contextmanager
    def _open_rounds(self) -> Iterator[tuple[App, RoundService]]:
        with App(self.settings) as app:
            folder = self.folder or os.getcwd()
            work = app.workstreams(folder, share=self.share)
            yield app, app.rounds(work)


def _check_pair(role: str, answer: Any) -> tuple[Any, Any]:
    if isinstance(answer, list | tuple) and len(answer) == 2:
        first, second = answer
        return first, second
    parts = "a text and its sources"
    if role == CHAIR:
        parts = "decisions and questions"
    raise InvalidValueError(f"Answer of {role}", answer, f"is not a pair of {parts}")


async def _wait_for(answer: Awaitable[Any]) -> Any:
    return await answer
