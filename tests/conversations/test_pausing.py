"""What a person says when they stop for now.

`pause_sentences.tsv` is the table by which the rule was made: it errs on none of them. What is
neither a signal nor a false friend is any other thing that people say to an agent.

`pause_sentences.later.tsv` was written after the first version of the rule, which found 4 of its 20
signals. The rule was then made more general, and the table holds the sentences of that work too.

A table by which a rule was made does not say how it does on others. Three further sets were written
by the author of the rule:

- 60 English signals, before the work: 28 were found before it and 55 after it, with no false alarm.
  The author remembered them while writing patterns, so this says too much.
- 40 and 30 more, each measured once against the rule as it was when they were written: 17 and 16
  were found (by the first version 16 and 12), with 1 and 6 false alarms (1 and 1).

What they taught is in the rule: the false alarms are down to 1. What it still gets wrong is in
`pause_sentences.missed.tsv`.

The last 30 of `pause_sentences.later.tsv` were written by another engineer, who had not seen the
word lists, and measured once against the rule as it is: 11 of 15 signals were found, with no false
alarm among 15 false friends. The rule was not changed by them.
"""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.conversations.pausing import MOST_WORDS, PauseSignal, find_pause_signal
from holdfast.ground import prose

HERE = Path(__file__).parent
OTHER_LANGUAGES = ("de", "es", "fr", "zh", "ja")

STILL_MISSED = {
    "lets stp here pls",
    "that's it for me today, thank you",
    "brb, dinner",
    "Can we park this and pick it up next week?",
    "ok enough for now, I'll review the diff in the morning",
}

Row = tuple[str, str, str]


def table(name: str) -> list[Row]:
    """Language, what is expected, and the sentence; `\\n` is a line end."""
    rows = [line.split("\t") for line in (HERE / name).read_text(encoding="utf-8").splitlines()]
    return [(language, kind, text.replace("\\n", "\n")) for language, kind, text in rows]


def wrong(rows: list[Row]) -> set[str]:
    return {text for _, kind, text in rows if (kind == "signal") != bool(find_pause_signal(text))}


KNOWN = table("pause_sentences.tsv")
LATER = table("pause_sentences.later.tsv")
MISSED = table("pause_sentences.missed.tsv")
SIGNALS = [text for _, kind, text in KNOWN if kind == "signal"]
OTHERS = [text for _, kind, text in KNOWN if kind != "signal"]
PLAIN_SIGNALS = [text for text in SIGNALS if "\n" not in text and '"' not in text]
SENTENCES = [text for text in PLAIN_SIGNALS if len(prose.split_sentences(text)) == 1]
# A reason at the end may have any words: "before my bus leaves".
ENDING_WITH_THE_SIGNAL = [text for text in SENTENCES if text.isascii() and " before " not in text]


# --- the table ------------------------------------------------------------------------------------


def test_the_rule_errs_on_none_of_the_known_sentences(record_property):
    record_property("N", len(KNOWN))

    assert wrong(KNOWN) == set()


def test_the_rule_errs_only_on_the_listed_later_sentences(record_property):
    record_property("N", len(LATER))

    assert Counter(kind for _, kind, _ in LATER) == {"signal": 35, "false friend": 35}
    assert wrong(LATER) == STILL_MISSED


def test_the_known_misses_are_still_missed(record_property):
    """One that is found belongs in the table of known sentences."""
    record_property("N", len(MISSED))

    assert wrong(MISSED) == {text for _, _, text in MISSED}
    assert Counter(kind for _, kind, _ in MISSED) == {"signal": 37, "false friend": 1}


def test_the_table_is_large_labelled_and_without_repetition():
    counts = Counter((language, kind) for language, kind, _ in KNOWN)
    texts = [text for _, _, text in KNOWN + LATER + MISSED]

    assert len(set(texts)) == len(texts)
    assert {kind for _, kind, _ in KNOWN} == {"signal", "false friend", "other"}
    assert counts["en", "signal"] >= 60
    assert counts["en", "false friend"] >= 40
    assert counts["en", "false friend"] + counts["en", "other"] >= 60
    assert all(counts[language, "signal"] >= 8 for language in OTHER_LANGUAGES)
    assert all(counts[language, "false friend"] >= 8 for language in OTHER_LANGUAGES)


# --- what is found --------------------------------------------------------------------------------


def test_the_clause_that_decided_is_given_as_it_was_written():
    text = "Great work 🎉 — the parser is fast now. GOTTA run, save this!"

    assert find_pause_signal(text) == PauseSignal("GOTTA run")


@pytest.mark.parametrize("text", PLAIN_SIGNALS)
def test_a_signal_counts_in_capitals_and_beside_thanks(text: str):
    assert find_pause_signal(text.upper())
    assert find_pause_signal(f"Thanks! {text}")


@pytest.mark.parametrize("text", PLAIN_SIGNALS)
def test_a_signal_beside_work_is_none(text: str):
    assert not find_pause_signal(f"Fix the flaky test in the store. {text}")
    assert not find_pause_signal(f"{text}\nBut first explain how the lock works.")


@pytest.mark.parametrize("text", PLAIN_SIGNALS)
def test_a_signal_in_other_words_is_none(text: str):
    assert not find_pause_signal(f'The banner shows "{text}" at the end.')
    assert not find_pause_signal(f"```\n{text}\n```")
    assert not find_pause_signal(f"> {text}")
    assert not find_pause_signal(f"Say this:\n{text}")
    assert not find_pause_signal(f'She wrote "hello.\n{text}\nSo long."')
    assert not find_pause_signal(f"- {text}\n- {text}")


@pytest.mark.parametrize("text", SENTENCES)
def test_a_signal_under_a_condition_is_none(text: str):
    assert not find_pause_signal(f"If the build is red, {text}")
    assert not find_pause_signal(f"When done, {text}")


@pytest.mark.parametrize("text", ENDING_WITH_THE_SIGNAL)
def test_more_words_make_another_clause(text: str):
    """From the first word to the last: what no pattern knows may change what is meant."""
    words = text.rstrip(".!?").split()

    assert not find_pause_signal(" ".join([*words, "zzyzx", "frobnicates"]).replace(",", ""))


@given(st.text(max_size=200))
def test_any_text_has_an_answer(text: str):
    found = find_pause_signal(text)

    assert found is None or found.words


@given(st.lists(st.sampled_from([*SIGNALS, *OTHERS, "if", "not", '"', "\n", ",", "?"]), max_size=5))
def test_any_mixture_has_an_answer_in_its_own_words(parts: list[str]):
    text = " ".join(parts)

    found = find_pause_signal(text)

    shown = " ".join(text.replace("’", "'").split())
    assert found is None or found.words in shown


# --- own words ------------------------------------------------------------------------------------


def test_own_words_are_signals_as_a_whole_clause():
    own = ["EOD", "Ende Gelände", "stop, drop, roll", "撤了"]

    assert find_pause_signal("eod", own) == PauseSignal("eod")
    assert find_pause_signal("Thanks, ende gelände!", own) == PauseSignal("ende gelände!")
    assert find_pause_signal("Stop, drop, roll.", own) == PauseSignal("Stop, drop, roll.")
    assert find_pause_signal("好的，撤了。", own) == PauseSignal("撤了。")


@pytest.mark.parametrize(
    "text",
    ["The EOD job fails.", "eod?", "Fix it, then eod", '"eod"', "if red, eod", "- eod\n- sod"],
)
def test_own_words_are_held_back_like_any_others(text: str):
    assert not find_pause_signal(text, ["eod"])


def test_without_own_words_they_mean_nothing():
    assert find_pause_signal("eod") is None


# --- long texts -----------------------------------------------------------------------------------


def test_more_words_than_a_pause_needs_are_a_report():
    few = "The parser works. " * (MOST_WORDS // 3 - 1)

    assert find_pause_signal(f"{few}Let's stop here.")
    assert find_pause_signal(f"The parser works. {few}Let's stop here.") is None


def test_a_signal_is_found_below_a_long_paste_and_not_inside_it():
    log = "2026-11-18 09:04:11 INFO bye\n" * 40_000

    assert find_pause_signal(f"{log}\nGotta run, see you tomorrow.")
    assert find_pause_signal(f"Gotta run, see you tomorrow.\n{log}")
    assert find_pause_signal(f"{log}\nGotta run.\n{log}") is None
    assert find_pause_signal(f"```\n{log}\nGotta run.\n```") is None


HOSTILE = [
    *(
        "now ",
        "really just ",
        "let's stop now ",
        "here for now ",
        "a",
        "\n",
        "- ",
        '"',
        "a, ",
        "a. ",
    ),
    *(
        "明天",
        "我要先",
        "好",
        "じゃあ",
        "ね",
        "ya por hoy ",
        "là ",
        "hier jetzt ",
        "i'm now just ",
        "? ",
    ),
]


@pytest.mark.unmeasured
@pytest.mark.parametrize("part", HOSTILE)
def test_a_text_without_end_is_read_within_bounds(part: str):
    for size in (1_000_000, prose.LINE_CHARS):
        assert find_pause_signal("x " + part * (size // len(part))) is None
    few = (part * MOST_WORDS).split()[: MOST_WORDS - 5]
    assert find_pause_signal(f"let's stop here {' '.join(few)} frobnicate zz yy") is None


@pytest.mark.parametrize("text", ["", " \n", "\x00", "\ud800", "?", "...", "▯", "'", "-" * 500])
def test_odd_texts_are_no_signals(text: str):
    assert find_pause_signal(text) is None
