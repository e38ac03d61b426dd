"""An example of each error of this folder, for docs/errors.md and the tests of all errors."""

from holdfast.memories import errors

EXAMPLES = (
    errors.ExportRefusedError("memories.jsonl", 2),
    errors.ForeignTableError("value too long"),
    errors.MemoryForgottenError("M3"),
    errors.MemoryNotFoundError("M3"),
)
