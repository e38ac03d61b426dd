"""An example of each error of this folder, for docs/errors.md and the tests of all errors."""

from holdfast.surfaces.hook import UnreadableError

EXAMPLES = (UnreadableError("payload", "{", "is not JSON"),)
