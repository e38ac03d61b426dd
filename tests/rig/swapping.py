"""Another process that swaps a folder for a link while it is used."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def swapping(folder: Path, target: Path) -> Iterator[None]:
    """A folder and a link of its name, exchanged as fast as it goes."""
    link, parked = folder.parent / "link", folder.parent / "parked"
    link.symlink_to(target)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            os.rename(folder, parked)
            os.rename(link, folder)
            os.rename(folder, link)
            os.rename(parked, folder)

    attacker = threading.Thread(target=swap)
    attacker.start()
    try:
        yield
    finally:
        stop.set()
        attacker.join()
