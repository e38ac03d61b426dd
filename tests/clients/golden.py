"""The transcripts that real sessions left, and what was checked to be in them.

`python -m tests.clients.golden` writes the expected records anew; look at each change of them.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast import clients
from holdfast.clients.transcript import Batch, Record

if TYPE_CHECKING:
    from holdfast.clients.transcript import TranscriptReader

FOLDER = Path(__file__).with_name("transcripts")
CLIENTS = tuple(sorted(path.name for path in FOLDER.iterdir()))  # those that write lines of JSON
MOST_BYTES = 1 << 20
HOOKS = ".hooks"


def list_transcripts() -> list[Path]:
    """Each transcript, also those of subagents."""
    return sorted(FOLDER.rglob("*.jsonl"))


def get_reader_of(path: Path) -> "TranscriptReader":
    client = clients.find_client(path.relative_to(FOLDER).parts[0])
    assert client is not None
    return clients.get_reader(client)


def read_all(
    reader: "TranscriptReader", path: Path, cursor: dict[str, Any], most_bytes: int = MOST_BYTES
) -> tuple[list[Record], Batch]:
    """Everything that there is now, and the last batch of it."""
    records: list[Record] = []
    while True:
        batch = reader.read(str(path), cursor, most_bytes)
        records += batch.records
        cursor = json.loads(json.dumps(batch.cursor))
        if not batch.has_more:
            return records, batch


def describe(record: Record) -> dict[str, Any]:
    return {
        "key": record.key,
        "type": record.event_type,
        "role": record.role,
        "content": record.content,
        "parts": record.parts,
    }


def find_expected(path: Path) -> Path:
    return path.with_suffix(".json")


def main() -> None:
    for path in list_transcripts():
        records, _ = read_all(get_reader_of(path), path, {})
        text = json.dumps([describe(record) for record in records], indent=1, ensure_ascii=False)
        find_expected(path).write_text(text + "\n")


if __name__ == "__main__":
    main()
