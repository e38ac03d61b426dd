"""Where a sentence may end early: visibly, after a clause or a word, and never so that it turns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.bundles.clauses import LEAST_CHARS, cut_after_clause, cut_after_word, cut_to_fit
from holdfast.bundles.model import LINE_CHARS
from holdfast.bundles.quoting import write_line
from holdfast.ground.text import ELLIPSIS

MAIN = "Invoices above 500 euros wait for a second pair of eyes"


@pytest.mark.parametrize(
    "rest",
    [
        ", because two of them went out twice last year",
        " because two of them went out twice last year",
        "; the others leave at 08:00",
        ", so that no clerk has to call the bank",
        " so that no clerk has to call the bank",
        ", since the auditors ask for it",
        ", which the clerk gives in the list of the morning",
        ", as the bank does",
        " — the bank does the same",
    ],
)
def test_what_explains_a_clause_is_cut_with_the_mark_before_it(rest):
    assert cut_after_clause(MAIN + rest, 65) == f"{MAIN}…"


def test_a_sentence_keeps_its_stop_and_an_abbreviation_ends_none():
    asked = (
        "Does a letter wait for Ms. Okafor to sign it? She answers on Friday, at the latest then."
    )

    assert cut_after_clause(asked, 70) == "Does a letter wait for Ms. Okafor to sign it?…"
    assert (
        cut_after_clause("The letters are signed by Ms. Okafor or by her deputy in Lyon", 50)
        is None
    )


def test_the_last_clause_that_fits_is_the_end():
    text = f"{MAIN}, as before; the others leave at 08:00, since the bank opens then"

    assert cut_after_clause(text, 75) == f"{MAIN}, as before…"
    assert cut_after_clause(text, 110) == f"{MAIN}, as before; the others leave at 08:00…"


@pytest.mark.parametrize("word", ["not", "only", "never", "even", "partly", "just"])
def test_a_clause_does_not_end_after_a_word_that_turns_it(word):
    text = f"The letters of March are sent again, {word} because a customer asked for it today"

    assert cut_after_clause(text, 75) is None


@pytest.mark.parametrize(
    "rest",
    [", as well as those of new customers", " even though the bank is slower", " since May 2024"],
)
def test_what_belongs_to_a_clause_is_no_end_of_it(rest):
    assert cut_after_clause(MAIN + rest, 65) is None


@pytest.mark.parametrize(
    "condition",
    ["unless it was paid", "except on Fridays", "only if it is late", "until it is paid"],
)
def test_what_a_statement_depends_on_is_part_of_its_clause(condition):
    text = f"Each invoice gets a second letter {condition}, because finance asked for it"

    assert cut_after_clause(text, 75) == f"Each invoice gets a second letter {condition}…"


def test_a_beginning_that_says_too_little_is_no_clause():
    assert (
        cut_after_clause("It works, because the table has an index on the day of the letter", 60)
        is None
    )


@pytest.mark.parametrize("max_chars", [43, 47, 51])
def test_no_word_that_turns_what_follows_it_is_left_at_the_end(max_chars):
    text = "The alarm is raised at the gateway and not in the agent of the host itself"

    assert cut_after_word(text, max_chars) == "The alarm is raised at the gateway…"
    assert cut_after_word(text, 60) == "The alarm is raised at the gateway and not in the agent…"


def test_a_text_that_fits_is_left_as_it_is():
    assert cut_to_fit(MAIN, len(MAIN)) == MAIN
    assert cut_after_word("ends with the", 13) == "ends with the"


def test_a_clause_in_the_first_half_leaves_the_room_to_words():
    text = f"{MAIN}, because two of them went out twice last year and a customer in Lyon complained"

    assert cut_to_fit(text, 90) == f"{MAIN}…"
    assert cut_to_fit(text, 115) == f"{MAIN}, because two of them went out twice last year…"


WORDS = ["it", "not", "and", "the", "because", "so that", "waits", "gateway,", "end.", "Then", "a;"]


@given(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=60).map(" ".join), st.integers(20, 200)
)
def test_a_cut_is_a_visible_beginning_that_ends_after_a_word(text, max_chars):
    shown = cut_to_fit(text, max_chars)

    if shown is None:
        assert "not" in text
        return
    assert len(shown) <= max_chars
    if shown != text:
        begun = shown.removesuffix(ELLIPSIS)
        assert shown.endswith(ELLIPSIS)
        assert text.startswith(begun)
        assert not text[len(begun)].isalnum()
        assert not begun.endswith((" not", " and", " the"))


TURNED = [
    ("Kunden mit offenem Widerspruch dürfen nie gemahnt werden, egal auf welcher Stufe.", "nie"),
    (
        "Customers who have paid twice get their money back at once, except those of the bank.",
        "except",
    ),
    (
        "You may drop the old table of the letters on Friday unless the auditors are still here.",
        "unless",
    ),
    (
        "Rows that were exported to the advisor can be removed, but don't touch those of March.",
        "don't",
    ),
    (
        "Wir schicken die Mahnungen der dritten Stufe an alle Kunden außer an die in der Schweiz.",
        "außer",
    ),
    (
        "Die Rechnungen der Kunden in der Schweiz bekommen auf allen Stufen keine Mahngebühr.",
        "keine",
    ),
    (
        "Los clientes que tienen una queja abierta reciben la carta del banco solo los viernes.",
        "solo",
    ),
    (
        "Les clients qui ont une plainte ouverte chez nous reçoivent la lettre sans les frais.",
        "sans",
    ),
    (
        "客户如果还有没有解决的投诉,我们每个月的第一天会给他们寄信,但是在任何情况下都不要收取费用。",
        "不",
    ),
    (
        "お客様に未解決の苦情がある場合は、毎月の最初の日に手紙を送りますが、手数料は請求しないでください。",
        "ない",
    ),
]


@pytest.mark.parametrize(("text", "word"), TURNED)
def test_a_sentence_never_loses_what_turns_it(text, word):
    for max_chars in range(20, len(text) + 1):
        assert word in (cut_to_fit(text, max_chars) or text)


TURNING = ["never", "not", "don't", "only", "unless", "nie", "keine", "ohne", "nunca", "sans"]
SENTENCES = st.lists(
    st.sampled_from([*WORDS[3:], *TURNING, "mit", "pour", "Stop.", "14"]), min_size=1, max_size=40
).map(" ".join)


@given(SENTENCES, st.integers(10, 200), st.booleans())
def test_what_a_cut_leaves_of_a_sentence_has_all_that_turns_it(text, max_chars, is_line):
    shown = write_line("", text, keep=LINE_CHARS - max_chars) if is_line else None
    shown = shown or cut_to_fit(text, max_chars) or text

    begun = shown.removesuffix(ELLIPSIS)
    lost = text[len(begun) :].split(". ")[0].split(" because")[0].split(" so that")[0]
    is_whole_sentence = begun.endswith(".")
    assert is_whole_sentence or not set(TURNING) & set(lost.split())


def test_a_sentence_before_it_stands_alone():
    text = "The letters of level three go out on Mondays. Customers in Lyon are never sent one."

    assert cut_to_fit(text, 70) == "The letters of level three go out on Mondays.…"
    assert cut_to_fit(text, 44) == "The letters of level three go out…"


def test_a_reason_that_an_and_leads_to_is_no_end():
    text = "the gateway counts each attempt that it makes and because of that it gives up"

    assert cut_to_fit(text, 56) == "the gateway counts each attempt that it makes…"


@given(st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join), st.integers(20, 200))
def test_clauses_are_whole_and_long_enough(text, max_chars):
    shown = cut_after_clause(text, max_chars)

    if shown not in (None, text):
        assert LEAST_CHARS < len(shown) <= max_chars
        assert not shown.removesuffix(ELLIPSIS).endswith((" not", ","))
