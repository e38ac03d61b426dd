"""Write the golden bundles anew: `python -m tests.bundles.write_golden`, then look at what git
shows.
"""

from pathlib import Path

from holdfast.bundles import budget, render, sections
from holdfast.bundles.model import Gathered
from tests.bundles.situations import SITUATIONS

GOLDEN = Path(__file__).parent / "golden"


def text_of(gathered: Gathered, limit: int | None = None) -> str:
    total = budget.total_for(gathered.phase, limit)
    return render.render(
        budget.fit(sections.make_head(gathered), sections.make_sections(gathered), total)
    )


if __name__ == "__main__":
    for name, gathered in SITUATIONS.items():
        (GOLDEN / f"{name}.txt").write_text(text_of(gathered) + "\n")
