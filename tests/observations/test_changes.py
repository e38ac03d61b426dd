"""Which files a session has changed: tools name them, a shell does not, and git wins."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.ground.git_refs import HeadMove
from holdfast.observations.changes import (
    COMMITTED,
    EDITED,
    RAN,
    CheckoutFiles,
    list_changed,
    list_read,
)
from holdfast.observations.commits import MadeCommit
from holdfast.observations.digest import (
    FILES_OF_COMMIT,
    MOST_COMMANDS,
    Digest,
    SeenCommand,
    SeenCommit,
    SeenFile,
    Source,
    add_commit_files,
    fold,
    from_dict,
    list_unread_commits,
    to_dict,
)
from tests.observations.test_digest import START, asked, edit, event, look, run

MINE, OTHER = "a" * 40, "b" * 40


def at(seconds: float) -> float:
    return START.timestamp() + seconds


def source(seconds: float) -> Source:
    return Source(f"e{seconds:g}", int(seconds), START + timedelta(seconds=seconds))


def command(since: float, until: float) -> SeenCommand:
    start, end = source(since).at, source(until).at
    return SeenCommand(start, end, source(until))


def commit(seconds: float, *files: str, is_read: bool = True) -> SeenCommit:
    return SeenCommit(MadeCommit(MINE[:7]), source(seconds), files if is_read else None)


def found(**about) -> CheckoutFiles:
    given = {"uncommitted": (), "tracked": (), "times": {}, "moves": [HeadMove(0, OTHER)], **about}
    return CheckoutFiles(**given)


# --- a shell --------------------------------------------------------------------------------------


def test_a_command_has_its_turn_up_to_its_end_and_the_last_one_the_rest():
    answer = event(6, "model_message", "done")
    seen = look(asked(1, "go"), run(3, "sed -i s/a/b/ a.py", 0), run(5, "ls", 0), answer)

    spans = [(each.since, each.until, each.source.event_id) for each in seen.commands]
    times = {second: source(second).at for second in (1, 3, 5, 6)}
    assert spans == [(times[1], times[3], "e3"), (times[3], times[6], "e5")]


def test_a_turn_ends_with_its_last_work_and_not_with_a_later_note_or_request():
    note = event(50, "system_event", "HEAD is at 1234567")
    seen = look(asked(1, "go"), run(3, "make", 0), note, asked(60, "thanks"), edit(70, "a.py"))

    [command] = seen.commands
    assert command.until == source(3).at


def test_a_denied_command_and_a_turn_that_was_taken_back_change_nothing():
    denied = event(
        2, "tool_result", "", {"tool": "Bash", "input": {"command": "make"}, "denied": "rule"}
    )
    events = [asked(3, "go"), run(4, "make", 0)]

    assert look(asked(1, "go"), denied).commands == ()
    assert fold(Digest(), events, lambda each: True, rewound=["e3"]).commands == ()


def test_the_commands_of_a_subagent_count():
    parts = {"tool": "Bash", "input": {"command": "make"}, "agent_id": "x"}

    assert len(look(asked(1, "go"), event(2, "tool_result", "", parts)).commands) == 1


@pytest.mark.parametrize(
    ("seconds", "event_id"),
    [(9, None), (10, "e20"), (20, "e20"), (20.0004, "e20"), (21, "e30"), (30, "e30"), (31, None)],
)
def test_a_file_is_of_the_command_that_ended_next_and_of_none_between_turns(seconds, event_id):
    times = {"new.py": at(seconds)}
    files = list_changed([], [], [command(10, 20), command(20, 30)], found(times=times))

    expected = [] if event_id is None else [("new.py", RAN, event_id)]
    assert [(file.path, file.how, file.source.event_id) for file in files] == expected


@pytest.mark.parametrize("seconds", [float("inf"), float("nan"), 1e30, -1e30, 9e10])
def test_times_that_no_clock_shows_belong_to_no_command(seconds):
    assert list_changed([], [], [command(10, 20)], found(times={"x": seconds})) == []


def test_a_clock_that_was_set_back_gives_a_file_to_no_other_turn():
    seen = look(asked(100, "go"), event(40, "x"), run(101, "make", 0))
    back = SeenCommand(source(50).at, source(50).at, source(50))

    assert all(each.since <= each.until for each in (*seen.commands, back))
    assert list_changed([], [], [back], found(times={"x": at(70)})) == []


@given(
    st.lists(st.integers(0, 200), max_size=6).map(sorted),
    st.dictionaries(st.sampled_from("abcdef"), st.integers(-10, 210), max_size=6),
)
def test_only_what_changed_inside_a_turn_is_given_to_a_command(bounds, seconds):
    pairs = zip(bounds[::2], bounds[1::2], strict=False)
    commands = [command(since, until) for since, until in pairs]
    times = {path: at(second) for path, second in seconds.items()}

    files = list_changed([], [], commands, found(times=times))

    for path, second in seconds.items():
        inside = [each for each in commands if each.since <= source(second).at <= each.until]
        given_to = [file.source for file in files if file.path == path]
        assert len(given_to) == bool(inside)
        assert all(each in [command.source for command in inside] for each in given_to)


# --- commits, and git wins ------------------------------------------------------------------------


def test_what_a_session_committed_is_of_it_and_an_edit_is_named_as_one():
    edited = [SeenFile("a.py", source(5))]

    files = list_changed(edited, [commit(9, "a.py", "b.py")], [], found())

    assert [(file.path, file.how) for file in files] == [("a.py", EDITED), ("b.py", COMMITTED)]


def test_a_file_that_is_as_in_head_again_is_no_longer_listed():
    edited = [SeenFile("a.py", source(5))]

    assert list_changed(edited, [], [], found(tracked={"a.py"})) == []
    assert len(list_changed(edited, [], [], found(tracked={"a.py"}, uncommitted={"a.py"}))) == 1


@pytest.mark.parametrize(
    "about",
    [
        {},  # git ignores it
        {"tracked": {"a.py"}, "moves": None},
        {"tracked": {"a.py"}, "moves": []},
        {"tracked": {"a.py"}, "moves": [HeadMove(int(at(6)), OTHER)]},  # the log begins later
        {"tracked": {"a.py"}, "moves": [HeadMove(0, OTHER), HeadMove(int(at(6)), OTHER)]},
    ],
)
def test_where_git_does_not_say_that_an_edit_was_undone_it_stays(about):
    assert len(list_changed([SeenFile("a.py", source(5))], [], [], found(**about))) == 1
    assert len(list_changed([SeenFile("a.py", source(5))], [], [], None)) == 1


@pytest.mark.parametrize(
    ("made", "is_listed"),
    [
        (commit(9, "b.py"), False),
        (commit(9, "a.py"), True),
        (commit(9, is_read=False), True),
        (commit(9, *map(str, range(FILES_OF_COMMIT))), True),
    ],
)
def test_a_commit_of_the_session_undoes_nothing_that_it_may_have(made, is_listed):
    moves = [HeadMove(0, OTHER), HeadMove(int(at(9)), MINE)]
    edited = [SeenFile("a.py", source(5))]

    files = list_changed(edited, [made], [], found(tracked={"a.py"}, moves=moves))

    assert ("a.py" in [file.path for file in files]) == is_listed


def test_the_files_of_a_commit_are_asked_for_once_and_kept():
    made = run(2, "git commit -m x", 0, f"[main {MINE[:7]}] x")
    seen = look(asked(1, "go"), made)
    odd = ["a\nb", "\udcff", "x" * 501]

    known = add_commit_files(seen, {MINE: [*odd, *(f"f{n}.py" for n in range(100))]})

    assert list_unread_commits(seen) == [MINE[:7]]
    assert list_unread_commits(known) == []
    assert known.commits[0].files == tuple(f"f{n}.py" for n in range(FILES_OF_COMMIT))
    assert from_dict(to_dict(known)) == known
    gone = add_commit_files(seen, {})
    assert gone.commits[0].files == ()


def test_what_is_kept_of_a_session_is_bounded():
    seen = look(asked(1, "go"), *(run(n, "make", 0) for n in range(2, 500)))

    assert len(seen.commands) == MOST_COMMANDS
    assert seen.commands[0].since >= source(400).at


# --- read -----------------------------------------------------------------------------------------


def test_a_file_counts_that_two_sessions_have_read():
    first = [SeenFile("a.py", source(1)), SeenFile("b.py", source(2)), SeenFile("b.py", source(3))]
    second = [SeenFile("a.py", source(9))]

    [file] = list_read([first, second])

    assert (file.path, file.source.event_id) == ("a.py", "e9")


@pytest.mark.parametrize(
    ("tool", "given", "paths"),
    [
        ("Read", {"file_path": "/w/a.py"}, ["/w/a.py"]),
        ("read", {"filePath": "/w/a.py"}, ["/w/a.py"]),
        ("read_file", {"absolute_path": "/w/a.py"}, ["/w/a.py"]),
        ("read_many_files", {"include": ["a.py", "src/*.py", 3]}, ["a.py"]),
        ("read_many_files", {"paths": ["a.py", "b.py"]}, ["a.py", "b.py"]),
        ("Bash", {"command": "cat a.py", "read": ["a.py"]}, ["a.py"]),
        ("Grep", {"pattern": "x", "path": "a.py"}, []),
        ("Edit", {"file_path": "a.py"}, []),
    ],
)
def test_the_files_that_a_tool_reads(tool, given, paths):
    seen = look(asked(1, "go"), event(2, "tool_result", "", {"tool": tool, "input": given}))

    assert [file.path for file in seen.read] == paths


def test_a_read_that_was_refused_is_none():
    parts = {"tool": "Read", "input": {"file_path": "a.py"}, "is_error": True}

    assert look(event(1, "tool_result", "", parts)).read == ()
