"""Two people, two clones: what one noted the other sees judged on their own checkout, and no
decision is lost.
"""

from pathlib import Path
from typing import Any

from tests.rig.commands import Answer, run_process
from tests.workstreams.repos import RETRY, Repo, with_code

FILE = "data/context/implementation_context.json"
MARKS = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")


class Person:
    """A person with their own clone and data folder."""

    def __init__(self, name: str, clone: Repo, home: Path):
        self.name, self.clone, self.home = name, clone, home

    def types(self, *words: str) -> Answer:
        answer = run_process(
            *words,
            cwd=self.clone.folder,
            HOLDFAST_HOME=str(self.home),
            HOLDFAST_DEVELOPER=self.name,
            SHARED_CONTEXT_ENABLED="true",
        )
        assert answer.code == 0, answer
        return answer

    def reads(self, *words: str) -> Any:
        return self.types(*words, "--json").document

    def decisions(self) -> list[str]:
        return sorted(
            decision["text"] for decision in self.reads("workstream", "show")["open_decisions"]
        )


def join(tmp_path: Path, name: str) -> Person:
    clone = Repo(tmp_path / name / "payouts", begin=False)
    clone.folder.parent.mkdir()
    Repo(tmp_path, begin=False).git("clone", "-q", str(tmp_path / "shared.git"), str(clone.folder))
    return Person(name, clone, tmp_path / name / "holdfast")


def two_people(tmp_path: Path) -> tuple[Person, Person]:
    seed = with_code(tmp_path / "seed")
    seed.git("clone", "-q", "--bare", str(seed.folder), str(tmp_path / "shared.git"))
    return join(tmp_path, "ana"), join(tmp_path, "ben")


def test_a_colleague_sees_notes_as_fresh_and_after_an_edit_which_claims_changed(tmp_path: Path):
    ana, ben = two_people(tmp_path)
    ana.types(
        "workstream",
        "decide",
        "Retries are rows in a table",
        "--phase",
        "planning",
        "--status",
        "accepted",
    )
    ana.types(
        "workstream", "decide", "Redis", "--status", "rejected", "--because", "nobody runs it"
    )
    ana.types("workstream", "claim", "The pause doubles", "--evidence", "src/retry.py#schedule")
    ana.types("workstream", "claim", "Attempts are numbered", "--evidence", "src/models.py:1-2")
    proof = ana.types("prove", "--json", "--", "true").document["proof"]
    ana.types("workstream", "claim", "All tests pass", "--evidence", f"proof:{proof['id']}")
    ana.types(
        "workstream",
        "save",
        "--summary",
        "Failed webhooks are retried.",
        "--feature-request",
        "Retries",
    )
    ana.clone.commit("Note where retries stand")
    ana.clone.git("push", "-q", "origin", "main")
    assert ana.reads("workstream", "check")["stale"] is False

    ben.clone.git("pull", "-q", "--ff-only")
    shown = ben.reads("workstream", "show")
    assert shown["key"] == ana.reads("workstream", "show")["key"]
    assert (shown["stale"], [claim["verdict"] for claim in shown["claims"]]) == (
        False,
        ["ok", "ok", "ok"],
    )
    assert shown["working_summary"]["by"] == "ana"
    bundle = ben.types("bundle", "show").out
    for words in ("Failed webhooks are retried.", "[ok] The pause doubles", "Redis"):
        assert words in bundle
    planned = ben.reads("workstream", "show", "--phase", "planning")["open_decisions"]
    assert [decision["text"] for decision in planned] == ["Retries are rows in a table"]

    ben.clone.write("src/retry.py", RETRY.replace("30", "60"))
    checked = ben.reads("workstream", "check")
    assert {claim["claim"]: claim["verdict"] for claim in checked["claims"]} == {
        "The pause doubles": "changed",
        "Attempts are numbered": "ok",
        "All tests pass": "changed",
    }
    assert [change["path"] for change in checked["staleness"]["changed"]] == ["src/retry.py"]
    assert "[ok] The pause doubles" not in ben.types("bundle", "show").out
    assert ana.reads("workstream", "check")["stale"] is False, "her checkout is as it was"


def test_two_developers_who_decide_at_the_same_time_lose_nothing(tmp_path: Path):
    """Without a merge driver: git may leave markers, and both sides stay readable until they are
    gone.
    """
    ana, ben = two_people(tmp_path)
    ana.types("workstream", "decide", "before")
    ana.clone.commit("before")
    ana.clone.git("push", "-q", "origin", "main")
    ben.clone.git("pull", "-q", "--ff-only")

    ana.types("workstream", "decide", "ana's")
    ana.types("workstream", "claim", "Attempts are numbered", "--evidence", "src/models.py")
    ana.clone.commit("ana's")
    ana.clone.git("push", "-q", "origin", "main")
    ben.types("workstream", "decide", "ben's")
    ben.types("workstream", "save", "--summary", "ben was here")
    ben.clone.commit("ben's")
    ben.clone.git("pull", "-q", "--no-rebase", "--no-edit", check=False)

    assert ben.decisions() == ["ana's", "before", "ben's"], "also while the markers are there"
    text = (ben.clone.folder / FILE).read_text()
    ben.clone.write(
        FILE, "".join(line for line in text.splitlines(True) if not line.startswith(MARKS))
    )
    ben.types("workstream", "decide", "after the merge")
    ben.clone.commit("merged")
    ben.clone.git("push", "-q", "origin", "main")
    ana.clone.git("pull", "-q", "--ff-only")

    for person in (ana, ben):
        shown = person.reads("workstream", "show")
        assert person.decisions() == ["after the merge", "ana's", "before", "ben's"]
        assert sorted(decision["id"] for decision in shown["open_decisions"]) == [
            "D1",
            "D2",
            "D3",
            "D4",
        ]
        assert [claim["claim"] for claim in shown["claims"]] == ["Attempts are numbered"]
        assert shown["working_summary"]["text"] == "ben was here"
        assert shown["read_only"] is None
