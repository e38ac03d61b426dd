"""What setting up a client raises: a file of the person's that cannot or may not be changed."""

from __future__ import annotations

from holdfast.errors import Conflict, Refused


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
