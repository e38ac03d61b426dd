"""What files and git raise: a path that is missing, changed or outside, a git that fails."""

from __future__ import annotations

from holdfast.errors import Action, Conflict, NotFound, Refused, Unavailable, shown


class FileMissingError(NotFound):
    code = "file_not_found"

    def __init__(self, path: str):
        self.path = path
        super().__init__(f"File {shown(path)} does not exist, or is not a file. Check its path.")


class FileChangedError(Conflict):
    code = "file_changed"

    def __init__(self, path: str):
        self.path = path
        super().__init__(
            f"File {shown(path)} was changed after it was read. "
            "Nothing was written. Read it again, or overwrite it knowingly."
        )


class PathOutsideError(Refused):
    """A path that leads, or might lead, out of the folders that may be shown."""

    code = "path_outside"

    def __init__(self, path: object, problem: str, advice: str = ""):
        self.path, self.problem = path, problem
        message = f"Path {shown(path)} {problem}."
        next_actions = [Action("serve.root")]
        if advice:
            message += f" {advice}"
            next_actions = []
        super().__init__(message, next_actions=next_actions)


class GitMissingError(Unavailable):
    code = "git_missing"

    def __init__(self, problem: str):
        self.problem = problem
        super().__init__(f"git {problem}. Install git 2.31 or newer, then try again.")


class GitFailedError(Unavailable):
    code = "git_failed"

    def __init__(self, folder: str, complaint: str):
        self.folder, self.complaint = folder, complaint
        super().__init__(
            f"git does not answer about {shown(folder)}: {shown(complaint)}.",
            next_actions=[Action("git.status")],
        )


class CommitFailedError(Refused):
    """What git, or a hook of the person's own, says to a commit that was asked for."""

    code = "commit_failed"

    def __init__(self, complaint: str):
        self.complaint = complaint
        super().__init__(
            f"git made no commit: {shown(complaint)}. The files are written; commit them yourself.",
            next_actions=[Action("git.commit")],
        )
