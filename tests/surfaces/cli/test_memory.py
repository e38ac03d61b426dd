"""`holdfast memory …`, and what `holdfast forget` does with memories."""

import json
from pathlib import Path

import pytest

from tests.rig.commands import Answer, Call

TEXT = "The staging database listens on port 6543"


@pytest.fixture(autouse=True)
def store(database_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """On both engines."""
    monkeypatch.setenv("HOLDFAST_DATABASE", database_url)
    monkeypatch.setenv("HOLDFAST_DEVELOPER", "ana")
    return database_url


def remember(cli: Call, text: str = TEXT, *options: str) -> str:
    answer: Answer = cli("memory", "remember", text, *options, "--json")
    assert answer.code == 0, answer
    found: str = answer.document["id"]
    return found


def test_a_statement_is_remembered_and_recalled(cli: Call):
    said = cli(
        "memory", "remember", TEXT, "--category", "setup", "--ttl-days", "30", "--json"
    ).document
    found = cli("memory", "recall", "which", "port", "does", "staging", "use?", "--json").document[
        "memories"
    ]

    assert (said["content"], said["category"], said["source_type"], said["user_id"]) == (
        TEXT,
        "setup",
        "explicit",
        "ana",
    )
    assert said["is_new"] is True
    assert [memory["id"] for memory in found] == [said["id"]]
    assert found[0]["relevance"] > 0.7
    text = cli("memory", "recall", "staging port")
    assert text.out == f"{said['id']}  0.80  {TEXT}  (100%)\n"


def test_memories_are_listed_and_recalled_by_category_and_namespace(cli: Call):
    setup, rule = remember(cli, "port 1", "--category", "setup"), remember(cli, "port 2")

    def ask(*arguments: str) -> set[str]:
        document = cli("memory", *arguments, "--json").document
        return {memory["id"] for memory in document["memories"]}

    for command in (("list",), ("recall", "port")):
        assert ask(*command) == {setup, rule}
        assert ask(*command, "--category", "setup") == {setup}
        assert ask(*command, "--namespace", "ana") == {setup, rule}
        assert ask(*command, "--namespace", "another") == set()


def test_nothing_that_fits_is_an_answer_too(cli: Call):
    remember(cli)

    assert (
        cli("memory", "recall", "who owns the cafeteria?").out
        == "Nothing that answers this is remembered.\n"
    )
    assert cli("memory", "recall", "who owns the cafeteria?", "--json").document == {"memories": []}


def test_the_same_words_are_believed_more_and_not_kept_twice(cli: Call):
    first = remember(cli)
    again = cli("memory", "remember", TEXT.upper())

    assert again.out == f"Known already:\n{first}  0.85  {TEXT}\n"


def test_belief_moves_and_a_memory_expires(cli: Call):
    memory = remember(cli)

    assert cli("memory", "corroborate", memory, "--json").document["confidence"] == 0.85
    assert cli("memory", "contradict", memory, "--json").document["confidence"] == 0.42
    assert cli("memory", "expire", memory, "--json").document["expires_at"]
    assert cli("memory", "recall", "staging port", "--json").document == {"memories": []}


def test_memories_are_listed_newest_first_and_marked_when_expired(cli: Call):
    assert cli("memory", "list").out.startswith("Nothing is remembered yet. ")
    filtered = cli("memory", "list", "--namespace", "zzz", "--category", "rule").out.strip()
    assert filtered == "Nothing is remembered in namespace zzz and category rule."
    old, new, forgotten = (
        remember(cli, text) for text in (TEXT, "Icons come from Lucide", "The key is sk-4711")
    )
    cli("memory", "expire", old)
    cli("forget", forgotten, "--yes")

    text, document = cli("memory", "list"), cli("memory", "list", "--json").document

    assert text.out == f"{new}  0.80  Icons come from Lucide\n{old}  0.80  {TEXT}  (expired)\n"
    assert [(memory["id"], memory["expired"]) for memory in document["memories"]] == [
        (new, False),
        (old, True),
    ]
    assert [
        memory["id"]
        for memory in cli("memory", "list", "--limit", "1", "--json").document["memories"]
    ] == [new]
    assert [
        memory["id"]
        for memory in cli("memory", "list", "--below", new, "--json").document["memories"]
    ] == [old]


def test_memories_go_out_and_come_in(cli: Call, tmp_path: Path):
    remember(cli)
    file = tmp_path / "memories.jsonl"

    out = cli("memory", "export", str(file), "--json")
    into = cli("memory", "import", str(file), "--json")
    with file.open("a") as lines:
        lines.write('{"content": "Icons come from Lucide", "x": 1}\nbroken\n')
    more = cli("memory", "import", str(file))

    assert out.document == {"exported": 1, "file": str(file)}
    assert [path.name for path in tmp_path.glob("memories*")] == ["memories.jsonl"]
    assert into.document == {"imported": 0, "known": 1, "forgotten": 0, "problems": []}
    assert more.out == "Imported 1; 1 known already, 0 stay forgotten.\n"
    assert more.err.startswith("Note: Line 3: not_json\nNote: 1 of 2 lines have other keys")


@pytest.mark.parametrize(
    ("arguments", "code", "name"),
    [
        (("remember", ""), 2, "invalid_value"),
        (("remember", "a", "--source", "rumour"), 2, "invalid_value"),
        (("remember", "a", "--ttl-days", "0"), 2, "invalid_value"),
        (("recall", "a", "--limit", "-1"), 2, "invalid_value"),
        (("recall", "a", "--min-relevance", "1.5"), 2, "invalid_value"),
        (("recall", "a", "--min-relevance", "much"), 2, "usage"),
        (("recall",), 2, "usage"),
        (("list", "--limit", "0"), 2, "invalid_value"),
        (("list", "--below", "nothing"), 3, "memory_not_found"),
        (("corroborate", "nothing"), 3, "memory_not_found"),
        (("contradict", "nothing"), 3, "memory_not_found"),
        (("expire", "nothing"), 3, "memory_not_found"),
        (("import", "missing.jsonl"), 3, "file_not_found"),
    ],
)
def test_bad_input_has_a_clear_answer(cli: Call, arguments: tuple[str, ...], code: int, name: str):
    answer = cli("memory", *arguments, "--json")

    assert (answer.code, answer.document["code"]) == (code, name)
    assert cli("memory", "recall", "a", "--min-relevance", "0", "--json").document == {
        "memories": []
    }


# --- forgetting -----------------------------------------------------------------------------------


def test_a_memory_is_forgotten_by_its_id_and_does_not_come_back(cli: Call):
    memory = remember(cli)

    answer = cli("forget", memory, "--yes")
    again = cli("forget", memory, "--yes", "--json")
    refused = cli("memory", "remember", TEXT, "--json")

    assert answer.out == "Erased 1 memory.\nBackups that you made yourself still hold it.\n"
    assert (again.code, again.document["memory_ids"]) == (0, [])
    assert (refused.code, refused.document["code"]) == (5, "memory_forgotten")
    assert "6543" not in json.dumps(refused.document)


def test_a_text_is_forgotten_in_events_and_memories_alike(cli: Call):
    session = cli("session", "start", "--chatmode", "coder", "--json").document["id"]
    said = (
        "session",
        "append",
        session,
        "--type",
        "user_message",
        "--role",
        "user",
        "--content",
        "key sk-4711",
    )
    event = cli(*said, "--json").document["id"]
    memory = remember(cli, "The key is sk-4711")
    kept = remember(cli)

    look = cli("forget", "--match", "sk-4711", "--dry-run")
    done = cli("forget", "--match", "sk-4711", "--yes", "--json").document

    assert f"1 memory:\n{memory}  0.80  The key is sk-4711" in look.out
    assert (done["erased"], done["event_ids"], done["memory_ids"]) == (1, [event], [memory])
    assert [
        kept_memory["id"]
        for kept_memory in cli("memory", "recall", "staging port", "--json").document["memories"]
    ] == [kept]
    assert cli("memory", "recall", "key", "--min-relevance", "0", "--json").document == {
        "memories": []
    }


def test_ids_of_events_and_memories_go_together(cli: Call):
    session = cli("session", "start", "--chatmode", "coder", "--json").document["id"]
    said = (
        "session",
        "append",
        session,
        "--type",
        "user_message",
        "--role",
        "user",
        "--content",
        "key sk-4711",
    )
    event = cli(*said, "--json").document["id"]
    memory = remember(cli)

    assert cli("forget", event, memory, "--yes").out.startswith("Erased 1 event and 1 memory.\n")
    unknown = cli("forget", memory, "nothing", "--yes", "--json")
    assert (unknown.code, unknown.document["code"]) in {
        (2, "invalid_value"),
        (3, "event_not_found"),
    }
