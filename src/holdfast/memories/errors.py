"""What only memories raise."""

from __future__ import annotations

from holdfast.errors import Action, Conflict, NotFound, Refused, shown
from holdfast.ground.text import plural


class MemoryNotFoundError(NotFound):
    code = "memory_not_found"

    def __init__(self, memory_id: object):
        self.memory_id = memory_id
        super().__init__(
            f"Memory {shown(memory_id)} does not exist, or was forgotten.",
            next_actions=[Action("memory.list")],
        )


class ExportRefusedError(Conflict):
    """A file that would lose what only it has."""

    code = "export_refused"

    def __init__(self, path: str, unknown: int):
        self.path, self.unknown = path, unknown
        problem = "something that this store did not write"
        if unknown:
            problem = f"{plural(unknown, 'line')} that this store does not know"
        super().__init__(
            f"File {shown(path)} has {problem}, so it was left as it is. Bring it in first; "
            "where that says that no export replaces it, name another file.",
            next_actions=[Action("memory.import", path=path)],
        )


class MemoryForgottenError(Refused):
    """A text that was forgotten is not stored again."""

    code = "memory_forgotten"

    def __init__(self, memory_id: str):
        self.memory_id = memory_id
        super().__init__(
            f"This text was forgotten (memory {memory_id}), and what was forgotten is not kept "
            "again. Nothing was stored. Use other words if it should be remembered again."
        )


class ForeignTableError(Refused):
    """A row that another program's table does not accept."""

    code = "foreign_table"

    def __init__(self, problem: str):
        self.problem = problem
        super().__init__(
            "The table memori.memories was made by another program and does not take this: "
            f"{problem}. Nothing was stored. Change the text, or change the table."
        )
