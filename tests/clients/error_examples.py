"""An example of each error of this folder, for docs/errors.md and the tests of all errors."""

from holdfast.clients import errors

PATH = "/home/ana/.claude/settings.json"
EXAMPLES = (
    errors.NoClientError(("claude", "codex", "gemini")),
    errors.ProgramMissingError(),
    errors.SettingsFileBusyError(PATH),
    errors.SettingsFileError(PATH, "line 3: a comma or } is missing"),
)
