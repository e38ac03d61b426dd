"""The list of tasks that an agent keeps with its client's own tool, as it stands now.

Most clients write the whole list each time; one has tools that make and change single tasks by id.
Either way a list is folded from events one by one, so that each turn costs only its new events.

What is kept is bounded: those that are not done first, in their order; the rest is counted. A list
of a subagent is not the session's, and a call that failed changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from holdfast.ground.frozen import dataclass, replace
from holdfast.ground.text import cut
from holdfast.observations import parts, rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from holdfast.observations.model import LoggedEvent

    Status = Literal["pending", "in_progress", "blocked", "completed"]

MOST_READ = 1000
MOST_KEPT = 100
TASK_CHARS = 200
ID_CHARS = 100

# Each tool that writes a list whole, with the name of the list in what it is given.
LIST_TOOLS = {
    "TodoWrite": "todos",
    "update_plan": "plan",
    "write_todos": "todos",
    "todowrite": "todos",
}
CREATE_TOOL, UPDATE_TOOL = "TaskCreate", "TaskUpdate"
TEXT_KEYS = ("content", "step", "description", "subject", "title", "text")
ID_KEYS = ("taskId", "task_id", "id")
DONE = "completed"
STATUSES: dict[str, Status] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "blocked": "blocked",
    "completed": "completed",
    "done": "completed",
}
GONE = ("deleted", "cancelled", "canceled")


@dataclass(frozen=True)
class Task:
    """One entry of a list, and the event that wrote it last."""

    text: str
    status: Status
    sequence: int
    id: str = ""


@dataclass(frozen=True)
class TaskList:
    """What is kept of a list, how many of it are not, and when it was last changed."""

    tasks: tuple[Task, ...] = ()
    more_open: int = 0
    more_done: int = 0
    changed_at: datetime | None = None
    sequence: int = 0  # of the event that changed it last

    @property
    def open(self) -> tuple[Task, ...]:
        return tuple(task for task in self.tasks if task.status != DONE)

    @property
    def done(self) -> int:
        return self.more_done + len(self.tasks) - len(self.open)


NO_TASKS = TaskList()


def apply_task_event(tasks: TaskList, event: LoggedEvent) -> TaskList:
    """The list after an event; the same one if that did not change it."""
    tool = parts.get_tool(event.parts)
    is_own = event.type == "tool_result" and not parts.get_agent(event.parts)
    if not is_own or rules.is_refused(event) or rules.is_cut_off(event):
        return tasks
    given = parts.get_input(event.parts)
    if tool in LIST_TOOLS:
        return _write_list(tasks, parts.find_value(given, [LIST_TOOLS[tool]]), event)
    if tool == CREATE_TOOL:
        return _create_task(tasks, given, event)
    if tool == UPDATE_TOOL:
        return _update_task(tasks, given, event)
    return tasks


def _write_list(tasks: TaskList, entries: object, event: LoggedEvent) -> TaskList:
    """An empty list is one too; what is no list changes nothing."""
    if not isinstance(entries, list | tuple):
        return tasks
    read = [_read_entry(entry, event) for entry in entries[:MOST_READ]]
    written = [task for task in read if task is not None]
    if entries and not written and not _are_gone(entries):
        return tasks
    unread = len(entries) - MOST_READ
    return _keep(replace(NO_TASKS, more_open=max(0, unread)), written, event)


def _are_gone(entries: Iterable[object]) -> bool:
    return any(_read_status(entry) in GONE for entry in entries)


def _read_entry(entry: object, event: LoggedEvent) -> Task | None:
    text = _read_text(entry)
    status = _read_status(entry)
    if not text or status in GONE:
        return None
    return Task(text, STATUSES.get(status, "pending"), event.sequence, _read_id(entry))


def _create_task(tasks: TaskList, given: object, event: LoggedEvent) -> TaskList:
    """Its id is in the answer: without one it can be shown, but not be changed later."""
    subject = parts.as_text(parts.find_value(given, ["subject"]))
    text = _shorten(subject) or _read_text(given)
    task_id = _find_created_id(event.content)
    known = {task.id for task in tasks.tasks if task.id}
    if not text or task_id in known:
        return tasks
    task = Task(text, "pending", event.sequence, task_id)
    return _keep(tasks, [*tasks.tasks, task], event)


def _find_created_id(content: object) -> str:
    answer = parts.parse_object(parts.as_text(content))
    task = parts.find_value(answer, ["task"])
    if isinstance(task, Mapping):
        return _read_id(task)
    words = parts.as_text(content)[:ID_CHARS].split()
    if words[:1] == ["Task"] and len(words) > 1 and words[1].startswith("#"):
        return words[1].removeprefix("#")
    return ""


def _update_task(tasks: TaskList, given: object, event: LoggedEvent) -> TaskList:
    """A task that is not kept was done or one of too many: its change is not seen here."""
    task_id = _read_id(given)
    answer = parts.parse_object(parts.as_text(event.content))
    if not task_id or parts.find_value(answer, ["success"]) is False:
        return tasks
    entries: list[Task] = []
    is_known = False
    for task in tasks.tasks:
        changed: Task | None = task
        if task.id == task_id:
            is_known = True
            changed = _change(task, given, event)
        if changed is not None:
            entries.append(changed)
    return _keep(tasks, entries, event) if is_known else tasks


def _change(task: Task, given: object, event: LoggedEvent) -> Task | None:
    status = _read_status(given)
    if status in GONE:
        return None
    text = parts.as_text(parts.find_value(given, ["subject"])).strip()
    return replace(
        task,
        text=_shorten(text) or task.text,
        status=STATUSES.get(status, task.status),
        sequence=event.sequence,
    )


def _keep(tasks: TaskList, entries: list[Task], event: LoggedEvent) -> TaskList:
    """The open ones first, each group in its order, no more than are kept."""
    still_open = [task for task in entries if task.status != DONE]
    done = [task for task in entries if task.status == DONE]
    kept_open = still_open[:MOST_KEPT]
    kept_done = done[len(done) - min(len(done), MOST_KEPT - len(kept_open)) :]
    return TaskList(
        tasks=(*kept_open, *kept_done),
        more_open=tasks.more_open + len(still_open) - len(kept_open),
        more_done=tasks.more_done + len(done) - len(kept_done),
        changed_at=event.happened_at,
        sequence=event.sequence,
    )


# --- values of any type ---------------------------------------------------------------------------


def _read_text(entry: object) -> str:
    """Each client has another name for it; a bare text is taken as one, too."""
    if isinstance(entry, str):
        return _shorten(entry)
    return _shorten(parts.as_text(parts.find_value(entry, TEXT_KEYS)))


def _read_status(entry: object) -> str:
    return parts.as_text(parts.find_value(entry, ["status"])).strip().casefold()[:ID_CHARS]


def _read_id(entry: object) -> str:
    """A number is one as well."""
    value = parts.find_value(entry, ID_KEYS)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)[:ID_CHARS]
    return parts.as_text(value).strip()[:ID_CHARS]


def _shorten(text: str) -> str:
    return cut(parts.as_line(text), TASK_CHARS)
