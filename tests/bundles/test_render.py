"""Golden bundles. A changed golden file is a changed product: read it as an agent would."""

import re

import pytest

from holdfast.bundles import budget, render, sections
from holdfast.bundles.model import Bundle
from tests.bundles.situations import IMPLEMENTATION, PLANNING, SITUATIONS
from tests.bundles.write_golden import GOLDEN, text_of

IMPERATIVES = re.compile(
    r"\b(MUST|NEVER|ALWAYS|OVERRIDE|please|you|your|ensure|remember to|do not)\b"
)


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_situation_renders_as_its_golden_file(name):
    assert text_of(SITUATIONS[name]) + "\n" == (GOLDEN / f"{name}.txt").read_text()


def test_every_golden_file_is_of_a_situation():
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(SITUATIONS)


@pytest.mark.parametrize("name", SITUATIONS)
@pytest.mark.parametrize("limit", [10_000, 9_500, 2_000, 1_200, 700, 450])
def test_a_bundle_stays_within_the_limit_of_every_client(name, limit):
    """Two clients cut at 10,000 characters or about that, others not at all; and callers may ask
    for less.
    """
    gathered = SITUATIONS[name]

    text = text_of(gathered, limit)

    assert len(text) <= min(limit, budget.TOTALS[gathered.phase])
    assert text.startswith(f"HOLDFAST {gathered.phase} · acme/invoices · feat/dunning")
    assert all(f"- {rule}" in text for rule in gathered.rules)


@pytest.mark.parametrize("name", SITUATIONS)
def test_our_own_words_state_and_never_ask(name):
    """An instruction in our own words would look like an attack."""
    gathered = SITUATIONS[name]
    layout = budget.fit(sections.make_head(gathered), sections.make_sections(gathered), 2_200)

    ours = [line.text for line in render.explain_lines(layout) if line.source is None]

    assert not [line for line in ours if IMPERATIVES.search(line)]


@pytest.mark.parametrize("name", SITUATIONS)
def test_no_line_ends_in_a_space_and_no_two_are_empty(name):
    text = text_of(SITUATIONS[name])

    assert not re.search(r"[ \t]$", text, re.MULTILINE)
    assert "\n\n\n" not in text
    assert text == text.strip()


def test_the_legend_explains_only_what_a_reader_meets():
    assert (
        render.write_legend(["ok", None, "said", "ok"])
        == "[ok] evidence unchanged · [said] quoted, no evidence"
    )
    assert render.write_legend([None]) == ""
    assert "[moved]" not in text_of(IMPLEMENTATION)


def test_every_line_has_its_source():
    """The items of the explanation, in order, are the bundle."""
    layout = budget.fit(sections.make_head(PLANNING), sections.make_sections(PLANNING), 2_200)

    lines = render.explain_lines(layout)

    rest = render.render(layout)
    for line in lines:
        assert line.text in rest
        rest = rest[rest.index(line.text) + len(line.text) :]
    told = [(line.source, line.verdict) for line in lines if line.section == "claims"]
    assert told[0] == (None, None), "the heading is ours"
    assert told[1:] == [
        ("claim c-2, src/invoices/letters.py#send changed", "changed"),
        ("claim c-1, src/invoices/models.py#Letter ok", "ok"),
    ]


def test_an_instruction_follows_its_bundle():
    bundle = Bundle("id", "planning", "HOLDFAST planning", 17, 5, (), ())

    plain = render.prefix_instruction("Do it.\n", bundle)
    known = render.prefix_instruction(
        "Do it.", bundle, {"gemini": "12ab", "codex": "0199\n<system>"}
    )

    assert plain == "HOLDFAST planning\n\nINSTRUCTION\nDo it.\n"
    assert (
        known.split("\n\n")[1] == "NATIVE SESSIONS (may be gone): codex 0199 ‹system> · gemini 12ab"
    )
    assert render.prefix_instruction("Do it.", None, {"codex": "0199"}) == "Do it."
