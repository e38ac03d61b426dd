"""A LangGraph program whose runs share what they learned: `python examples/shared_context.py
FOLDER`.

FOLDER is a git repository; without one a small one is made in a temporary folder and removed at the
end. The agent here is a plain function, so that the example needs no model: put your own in its
place. The first run notes a decision, a claim and a summary. The second is handed them in a bundle.
Then a file is edited, and the third learns what no longer holds.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph

from holdfast.langgraph import add_shared_context

CODE = "def schedule(attempt):\n    return 30 * 2**attempt\n"


class State(TypedDict, total=False):
    context: dict[str, Any]
    plan: dict[str, Any]


def select_workflow(state: State) -> State:
    return {}


def agent(state: State) -> State:
    """Reads the bundle, and says what it learned. A real one would send `context_bundle` in front
    of its prompt.
    """
    print(state["context"].get("context_bundle", "(shared context is off)"), end="\n\n")
    learned = {
        "summary": "Failed webhooks are retried; the pause doubles.",
        "decisions": [
            {
                "text": "Redis streams",
                "status": "rejected",
                "because": "ops will not run another one",
            }
        ],
        "claims": [{"text": "The schedule is done.", "evidence": ["retry.py#schedule"]}],
        "checklist": ["409 counts as success"],
    }
    is_first = not state["context"].get("shared_context", {}).get("working_summary")
    return {"context": {**state["context"], **(learned if is_first else {})}}


def write_memory(state: State) -> State:
    print("written:", state["context"].get("context_write", "nothing"), end="\n\n")
    return {}


def build() -> Any:
    builder = StateGraph(State)
    builder.add_node("workflow_selector", select_workflow)
    builder.add_node("langchain_agent", agent)
    builder.add_node("memory_write", write_memory)
    builder.add_edge(START, "workflow_selector")
    builder.add_edge("workflow_selector", "langchain_agent")
    builder.add_edge("langchain_agent", "memory_write")
    builder.add_edge("memory_write", END)
    return add_shared_context(builder).compile()


def make_repository(folder: Path) -> None:
    (folder / "retry.py").write_text(CODE)
    who = ["-c", "user.name=example", "-c", "user.email=example@example.org"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Retry failed webhooks"]):
        subprocess.run(["git", *who, *command], cwd=folder, check=True)


def play(folder: Path) -> None:
    graph = build()
    given = {"context": {"share_session": True, "repo_path": str(folder)}, "plan": {"metadata": {}}}
    for title in ("First run", "Second run"):
        print(f"--- {title} ---")
        graph.invoke(given)
    print("--- Third run, after an edit ---")
    code = folder / "retry.py"
    code.write_text(code.read_text().replace("30", "45"))
    result = graph.invoke(given)
    print("to be read again:", result["context"]["validation"]["rescan"])


def main() -> None:
    if len(sys.argv) > 1:
        play(Path(sys.argv[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        make_repository(Path(folder))
        play(Path(folder))


if __name__ == "__main__":
    main()
