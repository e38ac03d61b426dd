"""The context file as a commit has it. What a commit holds does not change, so it is kept."""

from __future__ import annotations

from holdfast.ground import git
from holdfast.ground.bounded_map import BoundedMap
from holdfast.workstreams.checkout import FILE_BYTES, Checkout
from holdfast.workstreams.document import Document, from_bytes
from holdfast.workstreams.store import name_context_file

# By repository, commit and path.
DOCUMENTS: BoundedMap[tuple[str, str, str], Document] = BoundedMap(20)


def load_committed(checkout: Checkout, commit: str, phase: str) -> Document:
    """An empty one where the commit has no such file."""
    path = f"{checkout.files.folder}/{name_context_file(phase)}"
    key = (checkout.repository.common_dir, commit, path)
    known = DOCUMENTS.find(key)
    if known is not None:
        return known
    data = git.read_blob(checkout.repository, commit, path, max_bytes=FILE_BYTES)
    found = from_bytes(data, path) if data else Document()
    if data or checkout.repository.has_plain_refs:  # else the file may only be not fetched yet
        DOCUMENTS.keep(key, found)
    return found
