"""What a compaction has left in the window is not told again, and what it took is."""

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from holdfast.bundles import sections
from holdfast.bundles.model import Gathered, Item, LastAnswer, LastRequest, Section, Seen
from holdfast.bundles.window import (
    STILL_THERE,
    Window,
    leave_out_kept,
    leave_out_lines,
    make_window,
)
from holdfast.observations.digest import SeenRun, SeenSaying, Source
from holdfast.observations.sayings import Saying
from holdfast.observations.tasks import Task

NOW = datetime(2026, 11, 18, 9, tzinfo=UTC)
WORDS = st.text(alphabet="abc xyz", min_size=1, max_size=12).filter(str.strip)


def asked(text: str) -> LastRequest:
    return LastRequest(text, f"event {text}", NOW, event_id=text)


def ran(command: str, *output: str) -> SeenRun:
    return SeenRun(
        command=command,
        program=command,
        words=(command,),
        folder="",
        verdict="failed",
        by="exit",
        because="exit 1",
        output=output,
        source=Source("e1", 1, NOW, "main"),
        is_check=True,
    )


def said(text: str) -> SeenSaying:
    return SeenSaying(Saying("number", text, 1), Source(text, 1, NOW, "main"))


def gather(**fields: object) -> Gathered:
    return replace(Gathered(NOW, "implementation", "b-0000"), **fields)


def list_lost(gathered: Gathered, *kept: str) -> tuple[Gathered, list[tuple[str, str]]]:
    lost, still_there = leave_out_kept(gathered, make_window(kept))
    assert {cut.reason for cut in still_there.gone} <= {STILL_THERE}
    return lost, [(cut.section, cut.text) for cut in still_there.gone]


def test_a_request_that_is_in_the_window_is_left_out_and_its_answer_stands():
    answer = LastAnswer("One check fails.", "event a", NOW)

    lost, gone = list_lost(gather(request=asked("Count it."), answer=answer), "Count it.")

    assert (lost.request, lost.answer) == (None, answer)
    assert gone == [("request", "Count it.")]


def test_white_space_does_not_count():
    lost, _ = list_lost(gather(request=asked("Count\n  it.")), "Please. Count it. Now.")

    assert lost.request is None


def test_a_long_request_of_which_the_window_has_the_beginning_only_is_told():
    request = replace(asked("The beginning"), end="and the end")

    assert list_lost(gather(request=request), "The beginning")[0].request == request
    assert list_lost(gather(request=request), "The beginning, and the end")[0].request is None


def test_a_run_is_there_only_with_its_call_and_its_output():
    seen = Seen(failing=(ran("make test", "assert 9 == 8"),))

    for kept in (["make test"], ["Run make test.", "assert 9 == 8"], ["assert 9 == 8"]):
        assert list_lost(gather(seen=seen), *kept)[0].seen == seen
    assert not list_lost(gather(seen=seen), "make test", "FAILED assert 9 == 8")[0].seen.failing


def test_a_sentence_about_a_file_or_a_step_does_not_show_it():
    task = Task("fix the clock", "pending", 1)
    seen = Seen(files=("retry.py",), tasks=(task,), tasks_source=Source("e", 1, NOW, "main"))

    assert list_lost(gather(seen=seen), "I changed retry.py; next: fix the clock.")[0].seen == seen
    lost, gone = list_lost(gather(seen=seen), "/w/retry.py", "fix the clock")
    assert (lost.seen.files, lost.seen.tasks) == ((), ())
    assert sorted(gone) == [("files", "retry.py"), ("next", "fix the clock")]


@given(st.lists(WORDS, max_size=6), st.lists(WORDS, max_size=6))
def test_what_is_left_is_exactly_what_the_window_has_not(texts: list[str], kept: list[str]):
    requests = tuple(asked(text) for text in texts)
    gathered = gather(earlier=requests, seen=Seen(said=tuple(said(text) for text in texts)))
    window = make_window(kept)

    lost, still_there = leave_out_kept(gathered, window)

    assert not any(window.has_words(each.text) for each in lost.earlier)
    assert not any(window.has_words(each.saying.text) for each in lost.seen.said)
    left = [each.text for each in lost.earlier]
    gone = [cut.text for cut in still_there.gone if cut.section == "earlier"]
    assert sorted([*left, *gone]) == sorted(texts)
    assert leave_out_kept(lost, window) == (lost, Section("window", ""))


@given(st.lists(WORDS, max_size=6))
def test_an_unknown_window_leaves_everything(texts: list[str]):
    gathered = gather(earlier=tuple(asked(text) for text in texts))

    assert leave_out_kept(gathered, Window()) == (gathered, Section("window", ""))


def test_lines_of_a_text_of_ours_that_survived_are_left_out():
    items = (Item("- Use uv [said]", "memory 1"), Item("- No Redis [said]", "memory 2"))
    section = Section("recalled", "RECALLED", items)
    window = make_window(["HOLDFAST implementation\nRECALLED\n- Use uv [said]\n"])

    left = leave_out_lines(section, window)

    assert [item.text for item in left.items] == ["- No Redis [said]"]
    assert [(cut.text, cut.reason) for cut in left.gone] == [("- Use uv [said]", STILL_THERE)]


def test_what_belongs_together_stays_whole():
    """The output of a run says nothing without its command; a client may replace a mark."""
    items = (Item("LAST RUN 09:00 make → exit 1", "e"), Item("  > assert 9 == 8", "e"))
    section = Section("last_run", "", items)

    assert leave_out_lines(section, make_window(["LAST RUN 09:00 make → exit 1"])) == section
    whole = make_window(["LAST RUN 09:00 make → exit 1\n  » assert 9 == 8"])
    assert leave_out_lines(section, whole).items == ()


def test_titles_name_a_request_that_is_not_quoted():
    answer = LastAnswer("One check fails.", "event a", NOW)
    gathered = gather(
        request=asked("Go on."), answer=answer, question=answer, before=asked("Do it.")
    )

    parts = sections.make_sections(replace(gathered, kept=("Go on.",)))

    titles = [part.title.partition(" (")[0] for part in parts if part.items]
    assert titles == ["LAST ANSWER", "THE LAST REQUEST REPLIES TO", "BEFORE THE LAST REQUEST"]
