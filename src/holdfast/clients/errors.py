"""What setting up a client raises: a file of the person's that cannot or may not be changed."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.errors import Action, Conflict, NotFound, Refused, Unavailable


class SettingsFileError(Refused):
    code = "settings_file"

    def __init__(self, path: str, problem: str):
        self.path, self.problem = path, problem
        super().__init__(
            f"{path} cannot be changed: {problem}. Nothing was written there. "
            "Correct it, then try again."
        )


class SettingsFileBusyError(Conflict):
    code = "settings_file_busy"

    def __init__(self, path: str):
        self.path = path
        super().__init__(
            f"{path} is being written by another program. Nothing was written there. "
            "Close the client, then try again."
        )


class NoClientError(NotFound):
    code = "no_client"

    def __init__(self, names: Sequence[str]):
        self.names = tuple(names)
        super().__init__(
            f"No such client was found on the PATH: {', '.join(names)}. Nothing was changed. "
            "Install one, or check that it starts from here.",
        )


class ProgramMissingError(Unavailable):
    """The package runs, but there is no command that a client could start."""

    code = "program_missing"

    def __init__(self) -> None:
        super().__init__(
            "The command holdfast was not found, so no client could start it. Nothing was changed.",
            next_actions=[Action("program.install")],
        )
