"""The agent's own list of tasks, by the tools of the four clients and by what is wrong with it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.clients.opencode.transcript import StoredPart, _describe_call
from holdfast.observations.tasks import (
    LIST_TOOLS,
    MOST_KEPT,
    NO_TASKS,
    TASK_CHARS,
    TaskList,
    apply_task_event,
)
from tests.observations.logged import NOW, VALUES, make_call, make_event, read_events

# As OpenCode 1.18.33 has stored it.
OPENCODE_PART = {
    "type": "tool",
    "tool": "todowrite",
    "callID": "call_2fbddc4ffd7d44f39bc4494a",
    "state": {
        "status": "completed",
        "input": {
            "todos": [
                {"content": "first", "status": "in_progress", "priority": "high"},
                {"content": "second", "status": "pending", "priority": "low"},
            ]
        },
        "output": "[...]",
        "title": "2 todos",
        "time": {"start": 1794770335806, "end": 1794770335810},
    },
}


def fold(events: list[Any]) -> TaskList:
    tasks = NO_TASKS
    for event in events:
        tasks = apply_task_event(tasks, event)
    return tasks


def describe(tasks: TaskList) -> list[tuple[str, str]]:
    return [(task.text, task.status) for task in tasks.tasks]


def create(subject: str, task_id: object, sequence: int) -> Any:
    answer = json.dumps({"task": {"id": task_id, "subject": subject}})
    return make_call("TaskCreate", {"subject": subject, "description": "d"}, answer, sequence)


def update(task_id: object, sequence: int, **fields: Any) -> Any:
    answer = json.dumps({"success": True, "taskId": task_id})
    return make_call("TaskUpdate", {"taskId": task_id, **fields}, answer, sequence)


# --- real sessions --------------------------------------------------------------------------------


def test_claude_makes_and_changes_tasks_by_id():
    tasks = fold(read_events("claude/plan-1"))

    assert describe(tasks) == [("second task", "pending"), ("first task", "completed")]
    assert [(task.id, task.sequence) for task in tasks.tasks] == [("2", 4), ("1", 6)]
    assert (tasks.sequence, tasks.done) == (6, 1)


@pytest.mark.parametrize("name", ["claude/plan-3", "codex/update-plan", "gemini/tools"])
def test_a_client_writes_its_list_whole(name: str):
    tasks = fold(read_events(name))

    assert describe(tasks) == [("first", "in_progress"), ("second", "pending")]


def test_opencode_writes_its_list_whole():
    content, parts = _describe_call(StoredPart("prt_1", OPENCODE_PART))

    tasks = fold([make_event(content, parts)])

    assert describe(tasks) == [("first", "in_progress"), ("second", "pending")]


@pytest.mark.parametrize("name", ["claude/tools", "codex/tools", "gemini/plan"])
def test_a_session_without_a_list_has_none(name: str):
    assert fold(read_events(name)) is NO_TASKS


# --- changes --------------------------------------------------------------------------------------


def todos(*entries: Any, sequence: int = 1, **outcome: Any) -> Any:
    return make_call("TodoWrite", {"todos": list(entries)}, sequence=sequence, **outcome)


def test_a_list_that_is_written_again_replaces_the_one_before_it():
    first = todos({"content": "a", "status": "pending"}, {"content": "b", "status": "pending"})
    second = todos({"content": "b", "status": "completed"}, sequence=9)

    tasks = fold([first, second])

    assert describe(tasks) == [("b", "completed")]
    assert (tasks.open, tasks.sequence) == ((), 9)
    assert tasks.changed_at == second.happened_at


def test_an_empty_list_is_one_too():
    tasks = fold([todos({"content": "a", "status": "pending"}), todos(sequence=2)])

    assert (tasks.tasks, tasks.sequence) == ((), 2)


@pytest.mark.parametrize("status", ["cancelled", "canceled", "deleted", " Cancelled "])
def test_what_was_cancelled_leaves(status: str):
    assert fold([todos({"content": "a", "status": status})]).tasks == ()
    assert fold([create("a", "1", 1), update("1", 2, status=status)]).tasks == ()


def test_open_tasks_come_first_in_their_order():
    entries = [
        {"content": "done", "status": "completed"},
        {"content": "later", "status": "pending"},
        {"content": "now", "status": "in_progress"},
        {"content": "waits", "status": "blocked"},
        {"content": "odd", "status": "who knows"},
    ]

    texts = [task.text for task in fold([todos(*entries)]).tasks]

    assert texts == ["later", "now", "waits", "odd", "done"]


def test_a_task_is_renamed_and_may_be_opened_again():
    tasks = fold(
        [
            create("a", "1", 1),
            update("1", 2, status="completed"),
            update("1", 3, status="in_progress", subject="b"),
            update("1", 4, description="more about it"),
        ]
    )

    assert describe(tasks) == [("b", "in_progress")]


def test_a_number_is_an_id_as_well():
    tasks = fold([create("a", 1, 1), update(1, 2, status="completed")])

    assert describe(tasks) == [("a", "completed")]


def test_an_id_is_found_in_the_words_of_an_answer():
    created = make_call("TaskCreate", {"subject": "a"}, "Task #7 created successfully: a")

    assert fold([created]).tasks[0].id == "7"


def test_a_task_without_an_id_is_shown():
    created = make_call("TaskCreate", {"subject": "a"}, "made")

    assert describe(fold([created, update("1", 2, status="completed")])) == [("a", "pending")]


def test_the_same_task_is_made_once():
    assert len(fold([create("a", "1", 1), create("a", "1", 2)]).tasks) == 1


# --- what changes nothing -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "outcome",
    [
        {"is_error": True},
        {"denied": "user-rejected"},
        {"status": "stopped"},
        {"agent_id": "a1"},
        {"agent_id": "a1", "agent": "Explore"},
    ],
)
def test_a_call_that_failed_or_is_of_a_subagent_changes_nothing(outcome: dict[str, Any]):
    assert fold([todos({"content": "a"}, **outcome)]) is NO_TASKS


def test_a_call_without_a_result_changes_nothing():
    call = make_event("", {"tool": "TodoWrite", "input": {"todos": ["a"]}}, kind="tool_call")

    assert fold([call]) is NO_TASKS


@pytest.mark.parametrize(
    "event",
    [
        update("9", 5, status="completed"),
        update("", 5, status="completed"),
        make_call("TaskUpdate", {"taskId": "1", "status": "deleted"}, '{"success": false}', 5),
        make_call("TaskUpdate", None, "", 5),
        make_call("TaskCreate", {"subject": "  "}, "", 5),
        make_call("TaskCreate", 7, "", 5),
        make_call("TodoWrite", {"todos": "a, b"}, "", 5),
        make_call("TodoWrite", {"todos": [7, None, {}]}, "", 5),
        make_call("TodoWrite", "{not json", "", 5),
        make_call("Bash", {"command": "ls"}, "", 5),
    ],
)
def test_what_cannot_be_read_changes_nothing(event: Any):
    before = fold([create("a", "1", 1)])

    assert apply_task_event(before, event) is before


# --- too much -------------------------------------------------------------------------------------


def test_of_a_long_list_the_open_ones_are_kept_and_the_rest_is_counted():
    entries = [{"content": f"t{i}", "status": "completed"} for i in range(500)]
    entries += [{"content": f"t{i}", "status": "pending"} for i in range(500, 1200)]

    tasks = fold([todos(*entries)])

    assert [task.text for task in tasks.tasks] == [f"t{i}" for i in range(500, 500 + MOST_KEPT)]
    assert (tasks.more_open, tasks.more_done, tasks.done) == (600, 500, 500)


def test_tasks_that_are_made_one_by_one_are_bounded_too():
    events = [create(f"t{i}", str(i), i + 1) for i in range(300)]
    events += [update(str(i), 400 + i, status="completed") for i in range(50)]

    tasks = fold(events)

    assert (len(tasks.tasks), len(tasks.open), tasks.more_open) == (MOST_KEPT, 50, 200)


def test_the_last_of_those_that_are_done_are_kept():
    entries = [{"content": f"t{i}", "status": "completed"} for i in range(150)]

    tasks = fold([todos(*entries)])

    assert (tasks.tasks[0].text, tasks.tasks[-1].text) == ("t50", "t149")
    assert (tasks.more_done, tasks.done) == (50, 150)


def test_a_long_text_is_shortened():
    (task,) = fold([todos({"content": "word " * 5000})]).tasks

    assert len(task.text) <= TASK_CHARS
    assert task.text.endswith("…")


def test_duplicates_are_kept_as_the_client_has_them():
    assert len(fold([todos({"content": "a"}, {"content": "a"}, "a")]).tasks) == 3


TOOLS = st.sampled_from([*LIST_TOOLS, "TaskCreate", "TaskUpdate", "Bash", None])


@given(data=st.data())
def test_no_input_is_too_odd(data: st.DataObject):
    tasks = fold([create("a", "1", 1)])
    for number in range(data.draw(st.integers(1, 6))):
        tool, value = data.draw(TOOLS), data.draw(VALUES)
        content = data.draw(st.one_of(VALUES, VALUES.map(json.dumps)))
        parts = data.draw(st.one_of(VALUES, st.just({"tool": tool, "input": value})))
        tasks = apply_task_event(tasks, make_event(content, parts, number + 2))

    assert len(tasks.tasks) <= MOST_KEPT
    assert tasks.changed_at is not None
    assert tasks.changed_at >= NOW
    assert all(task.text and task.status for task in tasks.tasks)


@given(statuses=st.lists(st.sampled_from(["pending", "in_progress", "completed"]), max_size=8))
def test_the_last_status_counts(statuses: list[str]):
    changes = [update("1", i + 2, status=status) for i, status in enumerate(statuses)]

    (task,) = fold([create("a", "1", 1), *changes]).tasks

    assert task.status == ["pending", *statuses][-1]
