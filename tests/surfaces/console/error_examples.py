"""An example of each error of this folder, for docs/errors.md and the tests of all errors."""

from holdfast.surfaces.console import errors

EXAMPLES = (errors.ProofRunningError(["pytest", "-q"]),)
