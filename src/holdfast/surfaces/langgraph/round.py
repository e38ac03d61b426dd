"""A role round as a small graph of its own: four roles, one after the other, then the chair."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph

from holdfast.app import App
from holdfast.ground.off_loop import apart
from holdfast.ground.settings import Settings

Speak = Callable[[str, str], tuple[str, list[str]]]
Conclude = Callable[[str], tuple[list[str], list[str]]]


class RoundState(TypedDict, total=False):
    topic: str
    workstream_id: str
    role: str
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
    """`speak(role, instruction)` gives a role's text and sources, `conclude(instruction)` decisions and questions."""

    def opened(verb: Callable[[App, Any], Any]) -> Any:
        return apart(in_app, verb)

    def in_app(verb: Callable[[App, Any], Any]) -> Any:
        with App(settings) as app:
            work = app.workstreams(folder or os.getcwd(), share=share)
            return verb(app, app.rounds(work))

    def begin(state: RoundState) -> RoundState:
        step = opened(lambda app, rounds: app.run(rounds.start(state["topic"], state.get("workstream_id"))))
        return {"role": step.role, "submissions": []}

    def turn(state: RoundState) -> RoundState:
        which = state.get("workstream_id")
        step = opened(lambda app, rounds: app.run(rounds.next(which)))
        text, sources = speak(step.role, step.instruction)
        after = opened(lambda app, rounds: app.run(rounds.submit(step.role, text, sources, which)))
        return {"role": after.role, "submissions": [*state.get("submissions", []), text]}

    def chair(state: RoundState) -> RoundState:
        which = state.get("workstream_id")
        step = opened(lambda app, rounds: app.run(rounds.next(which)))
        decisions, questions = conclude(step.instruction)
        closed = opened(lambda app, rounds: app.run(rounds.close(decisions, questions, which)))
        return {"decisions": list(closed.decisions), "questions": list(closed.questions)}

    def whose_turn(state: RoundState) -> str:
        return "chair" if state["role"] == "Chair" else "turn"

    builder = StateGraph(RoundState)
    builder.add_node("begin", begin)
    builder.add_node("turn", turn)
    builder.add_node("chair", chair)
    builder.add_edge(START, "begin")
    builder.add_edge("begin", "turn")
    builder.add_conditional_edges("turn", whose_turn, ["turn", "chair"])
    builder.add_edge("chair", END)
    return builder.compile()
