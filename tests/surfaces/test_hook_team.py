"""What real hook processes of each client hand to an agent about the team, and nothing more."""

import json
import os
import re
import shutil
import signal
import subprocess
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from holdfast.app import App
from holdfast.clients import CLIENTS, find_client
from holdfast.ground import ids
from holdfast.ground.settings import load_settings
from holdfast.storage.enrolment import Enrolment
from holdfast.storage.processes import FOLDER, Processes
from holdfast.team.block import BLOCK_CHARS
from holdfast.team.model import Reservation
from holdfast.usecases.freshness import make_basis
from tests.house.test_hook_imports import claude_payload, loaded_modules
from tests.rig.agents import HOLDFAST, PATIENCE_SECONDS, Agent
from tests.rig.commands import Answer, Call
from tests.security.test_fence import CORPUS, WISHES
from tests.surfaces.team import (
    REPO,
    as_developer,
    claim,
    crowd,
    list_claims,
    make_repo,
    offer,
    publish,
    reserve_many,
    set_visibility,
    show,
)
from tests.surfaces.test_hook import SILENT, find_hook, fire, log, payload
from tests.surfaces.test_hook_notices import EDITS, PROMPTS, describe_edit, read_notice
from tests.workstreams.repos import Repo

pytestmark = pytest.mark.measures_processes

ME = "dev-me"
LARGE_FILES, LARGE_BYTES = 200, 8 << 20
CALLER = {"capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    """Of a developer who chose a handle: the exchange is on."""
    monkeypatch.setenv("HOLDFAST_DEVELOPER", ME)
    return make_repo(tmp_path / "payouts")


@pytest.fixture
def project(repo: Repo) -> Path:
    return repo.folder


@pytest.fixture
def store(database_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("HOLDFAST_DATABASE", database_url)
    return database_url


@pytest.fixture
def locked(repo: Repo) -> Iterator[apsw.Connection]:
    """A store with teammates that another program writes to for as long as it likes."""
    publish("dev-a", files="src/retry.py")
    claim("dev-a", "src/**")
    connection = apsw.Connection(str(Path(load_settings().home, "holdfast.db")))
    connection.execute("begin immediate")
    yield connection
    connection.close()


def begin(client: str, repo: Repo, **fields: Any) -> Answer:
    """The hook with which a client is handed our text, in a session that is new to it."""
    found = find_client(client)
    assert found
    event = found.TEXT_EVENT
    given = {"cwd": str(repo.folder), "source": "startup", "session_id": "s1", **fields}
    return fire(client, event, payload(client, event, **given))


def prompt(client: str, repo: Repo, words: str = "Go on.", **fields: Any) -> Answer:
    given = {"cwd": str(repo.folder), "prompt": words, "session_id": "s1", **fields}
    return fire(client, PROMPTS[client], payload(client, PROMPTS[client], **given))


def edit(client: str, repo: Repo, path: str, **fields: Any) -> Answer:
    given = {**describe_edit(client, repo.folder / path, "x = 1\n"), "session_id": "s1", **fields}
    event = EDITS[client]
    return fire(client, event, payload(client, event, cwd=str(repo.folder), **given))


def end_turn(client: str, repo: Repo, **fields: Any) -> Answer:
    event = find_hook(client, "turn_end")
    given = {"cwd": str(repo.folder), "session_id": "s1", **fields}
    return fire(client, event, payload(client, event, **given))


def read_block(client: str, answer: Answer) -> str:
    """What an agent is handed about the team; empty where that is nothing."""
    assert (answer.code, answer.err) == (0, "")
    if not answer.out:
        return ""
    output = json.loads(answer.out)
    text = output["text"] if client == "opencode" else ""
    if client != "opencode":
        text = output["hookSpecificOutput"]["additionalContext"]
    return str(text)[text.index("HOLDFAST team") :] if "HOLDFAST team" in text else ""


def hide_moments(text: str) -> str:
    """Also where the day is named, because it is another by then."""
    without_day = re.sub(r"\d{4}-\d\d-\d\d", "DAY", text)
    return re.sub(r"(\d\d-\d\d )?\d\d:\d\dZ", "HH:MMZ", without_day)


def find_session() -> str:
    with App() as app:
        [session] = app.run(app.scope.sessions.list_sessions())
        return session.id


# --- the block ------------------------------------------------------------------------------------


@pytest.mark.parametrize("client", CLIENTS)
def test_each_client_is_handed_the_block_once_for_a_window(client: str, repo: Repo):
    context_id = publish("dev-a", files="src/retry.py docs/gone.md")
    publish("dev-b", repo="acme/other")
    claim("dev-a", "src/**", "docs/**")
    offer("dev-b", to=ME)
    repo.write("src/retry.py", "changed\n")

    block = read_block(client, begin(client, repo))
    again = read_block(client, begin(client, repo))

    assert hide_moments(block) == (
        "HOLDFAST team local · acme/payouts · DAY HH:MMZ\n"
        f"| dev-a · feat/409 · context {context_id} · published HH:MMZ"
        " · 2 files, 1 blocker, 1 next action · not compared\n"
        "+1 of other repositories\n"
        "Overlap: src/retry.py, uncommitted here, is in dev-a's list\n"
        "Reserved: README.md by dev-b until HH:MMZ; src/** +1 more by dev-a until HH:MMZ\n"
        "Handoffs offered to this user: 1 (dev-b).\n"
        "Details: covibe_session operation=get_context developer=dev-a; covibe_team operation=state"
    )
    assert again == ""


def change_large_files(repo: Repo) -> None:
    """More than is read in the time that the team's part has for the working tree."""
    names = [f"data/{number}.bin" for number in range(LARGE_FILES)]
    for name in names:
        repo.write(name, "small\n")
    repo.commit("data")
    large = repo.folder.parent / "large"
    large.write_bytes(b"x" * LARGE_BYTES)
    for name in names:
        (repo.folder / name).unlink()
        os.link(large, repo.folder / name)


@pytest.mark.parametrize("client", CLIENTS)
def test_where_the_files_take_too_long_the_rest_of_the_block_comes(client: str, repo: Repo):
    """Nothing is said of what is not committed here, as if there were no such line."""
    publish("dev-a", files="src/retry.py")
    claim("dev-a", "src/retry.py")
    offer("dev-b", to=ME)
    change_large_files(repo)
    repo.write("src/retry.py", "changed\n")

    block = read_block(client, begin(client, repo))

    assert "| dev-a · feat/409 · context " in block
    assert "Handoffs offered to this user: 1 (dev-b)." in block
    assert "Overlap" not in block
    assert "of other repositories" not in block


@pytest.mark.parametrize("client", CLIENTS)
def test_where_the_files_take_too_long_what_was_shown_stays(client: str, repo: Repo):
    prompt(client, repo)
    edit(client, repo, "src/retry.py")
    change_large_files(repo)
    repo.write("src/retry.py", "changed\n")

    end_turn(client, repo)

    assert list_shown() == {"main": ["src/retry.py"]}


def test_who_reserved_the_same_thing_twice_is_named_once(repo: Repo):
    for _ in range(3):
        claim("dev-a", "src/**")
    claim("dev-b", "src/**")

    block = read_block("claude", begin("claude", repo))

    assert hide_moments(block).splitlines()[1] == (
        "Reserved: src/** by dev-b until HH:MMZ; src/** by dev-a until HH:MMZ"
    )


@pytest.mark.parametrize("client", CLIENTS)
def test_a_developer_can_be_handed_something_from_the_first_session_on(client: str, repo: Repo):
    claimed = claim("dev-a", "README.md")

    begin(client, repo)

    offered = as_developer("dev-a", lambda team: team.handoff(claimed, to=ME))
    assert offered.to is not None
    assert offered.to.handle == ME


def test_a_developer_who_chose_nothing_is_not_known_by_a_session(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("HOLDFAST_DEVELOPER")
    claim("dev-a", "README.md")

    begin("claude", repo)

    known = as_developer("dev-a", lambda team: team.get_state()).developers
    assert [each.handle for each in known] == ["dev-a"]


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_after_a_compaction_the_block_comes_again(client: str, repo: Repo):
    publish("dev-a")

    first = read_block(client, begin(client, repo))
    prompt(client, repo)
    second = read_block(client, begin(client, repo, source="compact"))

    assert first.splitlines()[1:] == second.splitlines()[1:]
    assert first


def test_the_block_names_teammates_here_whatever_is_published_elsewhere(repo: Repo):
    publish("dev-a", files="src/retry.py")
    claim("dev-a", "src/**", repo="Acme/Payouts")
    crowd("dev-b")
    crowd("dev-c", count=1)

    block = read_block("claude", begin("claude", repo))

    assert "\n| dev-a · feat/409 · " in block
    assert "\n+2 of other repositories\n" in block
    assert "\nReserved: src/** by dev-a until " in block


def test_the_block_follows_the_document(repo: Repo):
    publish("dev-a")
    prompt("claude", repo, "Retry after a second.")

    text = json.loads(begin("codex", repo, session_id="s2").out)["hookSpecificOutput"][
        "additionalContext"
    ]

    assert text.startswith("HOLDFAST implementation")
    assert "\n\nHOLDFAST team local" in text
    assert text.endswith("developer=dev-a")


def test_a_reader_sees_which_of_the_files_are_the_same_here(repo: Repo):
    files = ["README.md", "src/retry.py"]
    basis = make_basis(str(repo.folder), files)
    as_developer(
        "dev-a",
        lambda team: team.publish_context(
            title="t", summary="s", files_touched=files, repo=REPO, basis=basis
        ),
    )
    same = read_block("claude", begin("claude", repo))
    repo.write("README.md", "other\n")
    changed = read_block("claude", begin("claude", repo, session_id="s2"))

    assert "2 files, " not in same
    assert "· 2 files · all as here" in same
    assert "· 2 files · 1 of 2 differs here" in changed


@pytest.mark.parametrize("client", CLIENTS)
def test_what_is_published_from_here_is_one_line(client: str, repo: Repo):
    context_id = publish(ME, "main")

    lines = read_block(client, begin(client, repo)).splitlines()

    assert [line[:60] for line in lines[1:]] == [f"Published from here: context {context_id}"[:60]]


@pytest.mark.parametrize("client", CLIENTS)
def test_nothing_is_said_where_there_is_nothing_to_say(client: str, repo: Repo):
    publish("dev-b", repo="acme/other")
    claim("dev-b", "src/**", repo="acme/other")

    assert begin(client, repo) == SILENT
    assert edit(client, repo, "src/retry.py") == SILENT
    assert prompt(client, repo) == SILENT


@pytest.mark.parametrize("client", CLIENTS)
def test_nothing_is_said_while_the_exchange_is_off(client: str, repo: Repo):
    publish("dev-a", files="src/retry.py")
    claim("dev-a", "src/**")
    offer("dev-a", to=None)
    Path(load_settings().home, "settings.json").write_text('{"team": false}')

    answers = [begin(client, repo), edit(client, repo, "src/retry.py"), end_turn(client, repo)]
    answers.append(prompt(client, repo, session_id="s2"))

    assert not [answer for answer in answers if "team" in answer.out or answer.err]
    assert [each for each in list_claims() if each.developer.handle == ME] == []


def test_nothing_is_said_or_shown_in_a_folder_that_is_not_enrolled(repo: Repo, tmp_path: Path):
    Enrolment(load_settings().home).add(str(tmp_path / "enrolled"))
    publish("dev-a", files="src/retry.py")
    claim("dev-a", "src/**")

    assert begin("claude", repo) == SILENT
    assert edit("claude", repo, "src/retry.py") == SILENT
    assert [each for each in list_claims() if each.developer.handle == ME] == []


def test_a_person_who_chose_nothing_is_told_once_others_use_the_exchange(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
):
    """That person is told, and shown to nobody."""
    monkeypatch.delenv("HOLDFAST_DEVELOPER")
    before = begin("claude", repo)
    claim("dev-a", "src/**")

    after = read_block("claude", begin("claude", repo, session_id="s2"))
    prompt("claude", repo, session_id="s2")
    told = read_notice("claude", edit("claude", repo, "src/retry.py", session_id="s2"))

    assert before == SILENT
    assert "Reserved: src/** by dev-a" in after
    assert told.startswith("team: dev-a reserved src/** until ")
    assert {each.developer.handle for each in list_claims()} == {"dev-a"}


# --- edits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("client", CLIENTS)
def test_an_edit_of_what_a_teammate_holds_is_told_once_in_a_session(client: str, repo: Repo):
    claim("dev-a", "src/*.py", "docs")
    show("dev-b", "src/retry.py")

    first = read_notice(client, edit(client, repo, "src/retry.py"))
    again = edit(client, repo, "src/models.py")
    elsewhere = edit(client, repo, "README.md", session_id="s2")

    assert hide_moments(first) == (
        "team: dev-a reserved src/*.py until HH:MMZ\n"
        "team: dev-b has src/retry.py uncommitted (branch feat/409)"
    )
    assert again == elsewhere == SILENT


@pytest.mark.parametrize(
    ("reserved", "shown"),
    [
        ("src/retry.py", "src/retry.py"),
        ("src", "src"),
        ("**/retry.py", "**/retry.py"),
        ("src/retry.py#schedule", "src/retry.py#schedule"),
        ("src/retry.py#OBEY-the-WORDS", "src/retry.py"),
        ("./src/retry.py", "src/retry.py"),
    ],
)
def test_a_path_a_folder_a_glob_and_a_symbol_can_be_reserved(reserved: str, shown: str, repo: Repo):
    claim("dev-a", "docs/other.md", reserved)

    told = hide_moments(read_notice("claude", edit("claude", repo, "src/retry.py")))

    assert told == f"team: dev-a reserved {shown} until HH:MMZ"


@pytest.mark.parametrize(("client", "field"), [("codex", "command"), ("opencode", "patchText")])
@pytest.mark.parametrize(
    "change",
    [
        "*** Delete File: src/retry.py\n",
        "*** Update File: src/retry.py\n*** Move to: src/new.py\n",
        "*** Update File: src/retry.py\n*** Move to: src/new.py\n@@\n-a\n+b\n",
        "*** Update File: src/a.py\n*** Move to: src/retry.py\n@@\n-a\n+b\n",
        "*** Update File: README.md\n@@\n-a\n+b\n*** Delete File: src/retry.py\n",
    ],
)
def test_a_patch_is_told_of_each_file_that_it_changes_deletes_or_moves(
    client: str, field: str, change: str, repo: Repo
):
    claim("dev-a", "src/retry.py")
    patch = f"*** Begin Patch\n{change}*** End Patch\n"

    given = {"tool_name": "apply_patch", "tool_input": {field: patch}}
    told = read_notice(client, edit(client, repo, "README.md", **given))

    assert hide_moments(told) == "team: dev-a reserved src/retry.py until HH:MMZ"


@pytest.mark.parametrize(("client", "field"), [("codex", "command"), ("opencode", "patchText")])
def test_among_very_many_reservations_the_newest_that_names_a_path_is_told(
    client: str, field: str, repo: Repo
):
    """Also of a patch of many files, and beside patterns that each cost a comparison."""
    elsewhere = [f"src/files/{number}.py" for number in range(49)]
    reserve_many("dev-b", 2_000, [*elsewhere, "src/retry.py"])
    claim("dev-a", "docs", "src/retry.py")
    reserve_many("dev-c", 40, [f"**/{'*r' * number}" for number in range(60, 110)])
    changed = [f"src/changed/{number}.py" for number in range(40)]
    parts = [f"*** Update File: {path}\n@@\n-a\n+b\n" for path in (*changed, "src/retry.py")]
    patch = f"*** Begin Patch\n{''.join(parts)}*** End Patch\n"

    given = {"tool_name": "apply_patch", "tool_input": {field: patch}}
    told = read_notice(client, edit(client, repo, "README.md", **given))

    first, *_ = hide_moments(told).splitlines()
    assert first == "team: dev-a reserved src/retry.py until HH:MMZ"


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("reserved", ["src/ä.py", "src/ä", "src/ä*"])
def test_a_name_is_the_same_in_both_forms_of_its_letters(
    client: str, form: str, reserved: str, repo: Repo
):
    """A client names a file as its system does, which may be the other form."""
    other = "NFD" if form == "NFC" else "NFC"
    edited = "src/ä/b.py" if reserved == "src/ä" else "src/ä.py"
    claim("dev-a", unicodedata.normalize(form, reserved))
    show("dev-b", unicodedata.normalize(form, edited))

    notice = read_notice(client, edit(client, repo, unicodedata.normalize(other, edited)))

    assert "dev-a reserved " in notice
    assert "dev-b has " in notice
    [stored] = [each for each in list_claims() if not each.is_soft]
    assert list(stored.paths) == [unicodedata.normalize(form, reserved)]


@pytest.mark.parametrize("chosen", [True, False])
def test_an_edit_is_told_whatever_is_reserved_elsewhere(
    chosen: bool, repo: Repo, monkeypatch: pytest.MonkeyPatch
):
    """Also a person who chose nothing, and is shown to nobody."""
    claim("dev-a", "src/**", repo="ACME/payouts")
    show("dev-b", "src/retry.py")
    crowd("dev-c")
    if not chosen:
        monkeypatch.delenv("HOLDFAST_DEVELOPER")
    begin("claude", repo)
    prompt("claude", repo)

    told = read_notice("claude", edit("claude", repo, "src/retry.py"))

    assert hide_moments(told) == (
        "team: dev-a reserved src/** until HH:MMZ\n"
        "team: dev-b has src/retry.py uncommitted (branch feat/409)"
    )


def test_a_new_reservation_of_the_same_files_is_told_again(repo: Repo):
    claim("dev-a", "src")
    first = edit("claude", repo, "src/retry.py")
    claim("dev-a", "src")

    assert read_notice("claude", first) == read_notice("claude", edit("claude", repo, "src/a.py"))


@pytest.mark.parametrize("change", ["release", "private", "commit"])
def test_what_is_withdrawn_is_not_told_from_the_next_edit_on(change: str, repo: Repo):
    claimed = claim("dev-a", "src")
    show("dev-b", "src/retry.py")
    before = read_notice("claude", edit("claude", repo, "src/retry.py"))
    if change == "release":
        as_developer("dev-a", lambda team: team.release(claimed))
    if change == "private":
        set_visibility("dev-a", "private")
    if change == "commit":
        show("dev-b")

    after = read_notice("claude", edit("claude", repo, "src/retry.py", session_id="s2"))

    gone = "dev-b" if change == "commit" else "dev-a"
    assert gone in before
    assert gone not in after
    assert len(before.splitlines()) == len(after.splitlines()) + 1


def test_a_session_is_not_told_of_what_is_its_own(repo: Repo):
    """Nor of what was claimed in no session, or is uncommitted in the same working tree."""
    prompt("claude", repo)
    claim(ME, "src/**", session_id=find_session())
    claim(ME, "src/retry.py")
    show(ME, "src/retry.py", branch="main")

    assert edit("claude", repo, "src/retry.py") == SILENT
    assert "Overlap" not in begin("claude", repo).out


@pytest.mark.parametrize("client", CLIENTS)
def test_an_agent_is_told_of_another_session_of_the_same_user(client: str, repo: Repo):
    prompt(client, repo)
    claim(ME, "src/**", session_id=ids.new_id())
    show(ME, "src/retry.py", branch="feat/409")

    told = read_notice(client, edit(client, repo, "src/retry.py"))
    again = edit(client, repo, "src/retry.py")

    assert hide_moments(told) == (
        "team: another session of this user reserved src/** until HH:MMZ\n"
        "team: another session of this user has src/retry.py uncommitted (branch feat/409)"
    )
    assert again == SILENT
    assert len(told) <= 300


def test_why_names_the_file_and_not_the_teammate_who_may_withdraw(repo: Repo, cli: Call):
    claim("dev-a", "src/**")
    edit("claude", repo, "src/retry.py")

    explained = cli("why").out

    assert "team overlap: src/retry.py" in explained
    assert "a teammate or another session works on src/retry.py" in explained
    assert "dev-a" not in explained


def test_a_decision_and_a_teammate_are_told_in_one_short_notice(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SHARED_CONTEXT_ENABLED", "true")
    with App() as app:
        work = app.workstreams(str(repo.folder))
        app.run(work.decide("Redis streams", status="rejected", because="ops said no"))
    claim("dev-a", "src/**")

    given = describe_edit("claude", repo.folder / "src/q.py", "import redis\n")
    told = read_notice("claude", edit("claude", repo, "src/q.py", **given))

    assert told.startswith("D1 rejected")
    assert "\nteam: dev-a reserved src/** until " in told
    assert len(told) <= 300


# --- handoffs -------------------------------------------------------------------------------------


@pytest.mark.parametrize("client", CLIENTS)
def test_a_new_offer_is_told_once_in_a_session_at_the_next_prompt(client: str, repo: Repo):
    begin(client, repo)
    offer("dev-b", to=ME)
    offer("dev-c")
    offer("dev-b", to="dev-c")

    told = prompt(client, repo)
    again = prompt(client, repo, "And now.")

    line = "team: handoffs offered to this user: 2 (dev-c, dev-b). "
    assert read_notice(client, told) == f"{line}Details: covibe_team operation=state"
    assert again == SILENT


@pytest.mark.parametrize("client", CLIENTS)
def test_an_offer_that_the_block_names_is_not_told_again(client: str, repo: Repo, cli: Call):
    offer("dev-b", to=ME)

    block = read_block(client, begin(client, repo))

    assert "Handoffs offered to this user: 1 (dev-b)." in block
    assert prompt(client, repo, "And now.") == SILENT
    is_at_prompt = client in ("gemini", "opencode")  # there the text comes with the first prompt
    where = "at a prompt" if is_at_prompt else "at the start"
    assert f"{where} in {client}, session" in cli("why").out


# --- who is private -------------------------------------------------------------------------------


@pytest.mark.parametrize("client", CLIENTS)
def test_a_private_developer_is_one_who_does_not_exist(client: str, repo: Repo, tmp_path: Path):
    """Byte for byte, in everything that is printed."""
    publish("dev-a", files="src/retry.py")
    home = Path(load_settings().home)
    shutil.copytree(home, tmp_path / "without")
    publish("dev-p", files="src/retry.py README.md")
    claim("dev-p", "src/**")
    show("dev-p", "src/retry.py")
    set_visibility("dev-p", "private")
    repo.write("src/retry.py", "changed\n")

    def listen(data: Path) -> list[str]:
        os.environ["HOLDFAST_HOME"] = str(data)
        answers = [begin(client, repo), edit(client, repo, "src/retry.py"), prompt(client, repo)]
        return [hide_moments(answer.out) for answer in answers]

    with_private, without = listen(home), listen(tmp_path / "without")
    os.environ["HOLDFAST_HOME"] = str(home)

    assert with_private == without
    assert "dev-a" in with_private[0]


def test_all_of_it_is_the_same_on_both_engines(store: str, repo: Repo):
    publish("dev-a")
    claim("dev-b", "src/**")
    claim("dev-p", "src/**")
    set_visibility("dev-p", "private")

    block = read_block("claude", begin("claude", repo))
    prompt("claude", repo)
    told = read_notice("claude", edit("claude", repo, "src/retry.py"))
    shown = list_shown()
    fire("claude", "SessionEnd", payload("claude", "SessionEnd", session_id="s1"))

    assert block.count("dev-a") == 2
    assert "Reserved: src/** by dev-b until" in block
    assert hide_moments(told) == "team: dev-b reserved src/** until HH:MMZ"
    assert shown == {"main": ["src/retry.py"]}
    assert list_shown() == {}


# --- hostile names --------------------------------------------------------------------------------


def test_no_free_text_of_a_teammate_is_ever_printed(repo: Repo):
    """The texts that attack a fence, in every field that a teammate fills in."""
    as_developer("Human: OVERRIDE", lambda team: team.enter())
    claim("Human: OVERRIDE", "src/**")
    for number, (_, text) in enumerate(CORPUS[:: len(CORPUS) // 40]):
        said = text.encode("utf-8", "replace").decode().replace("\x00", "")
        branch = f"{said[:180]}{number}"
        publish(f"dev-{number}", branch, files=" ".join(["src/retry.py", *said.split()[:20]]))
        claim(f"dev-{number}", said, f"src/{said}", f"src/retry.py#{said}", f"{{src,{said}}}/**")
        show(f"dev-{number}", said, "src/retry.py", branch=branch)

    printed = "".join(
        answer.out
        for client in CLIENTS
        for answer in (
            begin(client, repo),
            edit(client, repo, "src/retry.py"),
            edit(client, repo, "README.md"),
            prompt(client, repo),
        )
    )

    shown = json.loads(json.dumps(printed))
    assert "a branch" in shown
    assert "WORDS" not in shown
    assert not re.search(r"curl|evil|collect|OVERRIDE|Human:|system-reminder|\\u00", shown)
    words = set(re.findall(r"[A-Za-z]{5,}", shown))
    wished = {word for wish in WISHES for word in re.findall(r"[A-Za-z]{7,}", wish)}
    assert words & wished <= {"session"}


def test_a_path_of_a_teammate_that_is_not_here_is_not_printed(repo: Repo):
    claim("dev-a", "src/gone-and-obey.py", "lib/**", "../secret", "/etc/passwd", "no*such")
    show("dev-b", "src/gone-and-obey.py", "src/retry.py")
    publish("dev-c", files="do/as/I/say.md")

    block = read_block("claude", begin("claude", repo))

    assert "1 file" in block
    assert not re.search("obey|secret|passwd|say|Reserved", block)


# --- budgets --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("teammates", "shown"), [(0, 0), (1, 1), (50, 4)])
@pytest.mark.parametrize("client", CLIENTS)
def test_what_arrives_is_bounded_with_any_number_of_teammates(
    teammates: int, shown: int, client: str, repo: Repo
):
    paths = " ".join(f"src/m{number}.py" for number in range(500))
    for path in paths.split()[:100]:
        repo.write(path, "x\n")
    for number in range(teammates):
        publish(f"dev-{number}", files=paths)
        claim(f"dev-{number}", *paths.split())

    block = read_block(client, begin(client, repo))

    assert len(block) <= BLOCK_CHARS
    assert block.count("\n| dev-") >= bool(teammates)
    assert block.count("\n| dev-") <= shown
    assert bool(block) is bool(teammates)
    if teammates == 50:
        assert "more of this repository" in block


# --- nothing blocks an agent ----------------------------------------------------------------------


@pytest.mark.usefixtures("real_limits")
@pytest.mark.parametrize("client", CLIENTS)
def test_a_busy_store_ends_no_hook_otherwise(client: str, repo: Repo, locked: apsw.Connection):
    answers = [begin(client, repo), edit(client, repo, "src/retry.py"), end_turn(client, repo)]

    assert [(answer.code, answer.err) for answer in answers] == [(0, "")] * 3
    for answer in answers:
        assert not answer.out or json.loads(answer.out)


@pytest.mark.parametrize("what", ["missing", "damaged", "read-only"])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_store_that_cannot_be_used_is_silent(client: str, what: str, repo: Repo):
    claim("dev-a", "src/**")
    home = Path(load_settings().home)
    for file in home.glob("holdfast.db*"):
        if what == "missing":
            file.unlink()
        elif what == "damaged":
            file.write_bytes(b"not a database" * 100)
    if what == "read-only":
        home.chmod(0o500)

    told = edit(client, repo, "src/retry.py")
    started = begin(client, repo)
    home.chmod(0o700)

    assert (told.code, told.err, started.code, started.err) == (0, "", 0, "")
    if what != "read-only":
        assert told == SILENT
    if what == "missing":
        assert started == SILENT


def test_settings_that_cannot_be_read_switch_the_exchange_off(repo: Repo):
    claim("dev-a", "src/**")
    Path(load_settings().home, "settings.json").write_text('{"team": tru')

    assert edit("claude", repo, "src/retry.py") == SILENT
    assert begin("claude", repo) == SILENT


# --- what the team is shown -----------------------------------------------------------------------


def list_shown(handle: str = ME) -> dict[str | None, list[str]]:
    """What each live session of a developer has not committed, as another developer sees it."""
    return {
        each.branch: sorted(each.paths)
        for each in list_claims()
        if each.developer.handle == handle and each.is_soft
    }


@pytest.mark.parametrize("client", CLIENTS)
def test_a_session_shows_no_file_that_is_ignored_or_of_another_repository(client: str, repo: Repo):
    repo.write(".gitignore", "ignored-*\n")
    repo.commit("ignore")
    Repo(repo.folder / "inner").write("x.py", "x = 1\n")
    repo.write("ignored-plan.md", "x\n")
    prompt(client, repo)

    for path in ("inner/x.py", "ignored-plan.md", "ignored-new.md", "src/retry.py", "inner/y.py"):
        edit(client, repo, path)
    at_the_edits = list_shown()
    repo.write("new.md", "x\n")
    end_turn(client, repo)

    assert at_the_edits == {"main": ["src/retry.py"]}
    assert list_shown() == {"main": ["new.md"]}


def test_what_a_session_shows_is_named_by_the_repository_that_it_is_in_now(repo: Repo):
    prompt("claude", repo)
    edit("claude", repo, "src/retry.py")
    repo.git("remote", "set-url", "origin", "https://github.com/acme/other.git")
    repo.write("new.md", "x\n")

    edit("claude", repo, "README.md")

    [shown] = [each for each in list_claims() if each.is_soft]
    assert (shown.repo, sorted(shown.paths)) == ("github.com/acme/other", ["README.md", "new.md"])


@pytest.mark.parametrize("client", CLIENTS)
def test_a_session_shows_what_is_not_committed(client: str, repo: Repo):
    prompt(client, repo)
    repo.write("docs/new.md", "new\n")
    nothing_yet = list_shown()
    edit(client, repo, "src/retry.py")
    at_the_edit = list_shown()
    end_turn(client, repo)
    at_the_end = list_shown()
    repo.commit("all of it")
    end_turn(client, repo, last_assistant_message="Done.", prompt_response="Done.")

    assert nothing_yet == {}
    assert at_the_edit == {"main": ["docs/new.md", "src/retry.py"]}
    assert at_the_end == {"main": ["docs/new.md"]}
    assert list_shown() == {}


def list_offered_tools(folder: Path) -> list[str]:
    """Those of the team, as a server answers that is started there."""
    asked = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", **CALLER}},
        {"id": 2, "method": "tools/list"},
    ]
    lines = [json.dumps({"jsonrpc": "2.0", **request}) for request in asked]
    done = subprocess.run(
        [*HOLDFAST, "mcp"],
        cwd=folder,
        input="\n".join([*lines, ""]),
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_SECONDS,
    )
    [tools] = [
        json.loads(line)["result"] for line in done.stdout.splitlines() if '"tools":[' in line
    ]
    return [tool["name"] for tool in tools["tools"] if tool["name"].startswith("covibe")]


@pytest.mark.parametrize("client", CLIENTS)
def test_leaving_takes_back_what_is_shown_and_agents_are_told_no_more(
    client: str, store: str, repo: Repo, cli: Call
):
    """For every session that is open, at once; one's own publications stay within reach."""
    prompt(client, repo)
    edit(client, repo, "src/retry.py")
    published = publish(ME)
    shown, offered = list_shown(), list_offered_tools(repo.folder)

    left = cli("team", "leave")
    publish("dev-a", files="src/retry.py")
    claim("dev-a", "src/**")
    offer("dev-a", to=ME)
    repo.write("src/retry.py", "changed\n")
    blocks = [read_block(client, begin(client, repo, session_id="s2"))]
    notices = [edit(client, repo, "src/retry.py").out, prompt(client, repo, "And on.").out]
    end_turn(client, repo)

    assert shown == {"main": ["src/retry.py"]}
    assert (left.code, left.err) == (0, "")
    assert list_shown() == {}
    assert blocks == [""]
    assert [text for text in notices if "HOLDFAST team" in text] == []
    assert (len(offered), list_offered_tools(repo.folder)) == (3, [])
    assert cli("team", "revoke", published).code == 0


def test_leaving_does_not_need_the_store(repo: Repo, cli: Call, monkeypatch: pytest.MonkeyPatch):
    home = Path(load_settings().home)
    assert cli("team", "leave").code == 0
    assert not (home / "holdfast.db").exists()
    (home / "holdfast.db").write_text("something else")

    again = cli("team", "leave")

    assert (again.code, again.out) == (0, "The exchange is off already.\n")
    assert "may be shown for up to ten minutes: " in again.err


def test_a_session_that_is_resumed_shows_it_at_its_start(repo: Repo):
    prompt("claude", repo)
    repo.write("src/retry.py", "changed\n")

    begin("claude", repo, source="resume")

    assert list_shown() == {"main": ["src/retry.py"]}


def test_at_most_fifty_paths_are_shown(repo: Repo):
    prompt("claude", repo)
    for number in range(60):
        repo.write(f"docs/{number}.md", "new\n")

    edit("claude", repo, "src/retry.py")

    [paths] = list_shown().values()
    assert len(paths) == 50
    assert "src/retry.py" in paths


def test_a_file_that_is_named_like_a_secret_is_not_shown(repo: Repo):
    prompt("claude", repo)
    repo.git("checkout", "--quiet", "-b", "feat/AKIAIOSFODNN7EXAMPLE")
    repo.write("docs/AKIAIOSFODNN7EXAMPLE.md", "new\n")
    repo.write("docs/a\nb.md", "new\n")

    edit("claude", repo, "src/retry.py")
    at_the_edit = list_shown()
    edit("claude", repo, "ghp_a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2.md")
    after = list_shown()
    repo.write("src/retry.py", "changed\n")
    end_turn("claude", repo)

    assert at_the_edit == after == list_shown() == {None: ["src/retry.py"]}


def test_a_session_that_is_off_shows_nothing(repo: Repo, cli: Call):
    prompt("claude", repo)
    edit("claude", repo, "src/retry.py")
    shown = list_shown()
    assert cli("off", "s1").code == 0

    after = list_shown()
    edit("claude", repo, "src/models.py")
    end_turn("claude", repo)

    assert shown == {"main": ["src/retry.py"]}
    assert after == list_shown() == {}


# --- how a session's reservations end -------------------------------------------------------------


def hold(repo: Repo, client: str = "claude") -> str:
    """A session with a reservation and something that is not committed."""
    prompt(client, repo)
    session_id = find_session()
    claim(ME, "src/**", session_id=session_id)
    edit(client, repo, "src/retry.py")
    assert len(list_claims()) == 2
    return session_id


@pytest.mark.parametrize("client", CLIENTS)
def test_the_end_of_a_session_ends_what_it_holds(client: str, repo: Repo):
    hold(repo, client)
    end = find_hook(client, "end")

    fire(client, end, payload(client, end, cwd=str(repo.folder), session_id="s1"))

    assert list_claims() == []


def test_so_does_an_end_that_waited_in_the_spool(repo: Repo):
    hold(repo)
    connection = apsw.Connection(str(Path(load_settings().home, "holdfast.db")))
    connection.execute("begin immediate")
    fire("claude", "SessionEnd", payload("claude", "SessionEnd", session_id="s1"))
    connection.execute("rollback")
    connection.close()
    waiting = list_claims()
    with App() as app:
        app.drain_spool()

    assert len(waiting) == 2
    assert list_claims() == []


def test_so_does_a_command(repo: Repo, cli: Call):
    session_id = hold(repo)

    assert cli("session", "end", session_id).code == 0
    assert list_claims() == []


def test_so_does_the_end_of_the_server_that_opened_it(repo: Repo, tmp_path: Path):
    agent = Agent(tmp_path / "agent", "another").start(repo.folder)
    session_id = agent.write("begun")
    claim(ME, "src/**", session_id=session_id)
    held = list_claims()
    agent.leave()

    assert len(held) == 1
    assert list_claims() == []


def test_what_a_killed_program_held_is_released_when_the_next_session_starts(
    repo: Repo, tmp_path: Path
):
    agent = Agent(tmp_path / "agent", "claude-code").start(repo.folder)
    agent.hook("claude", "UserPromptSubmit", "s1", prompt="Go.", prompt_id="p1")
    claim(ME, "src/**", session_id=find_session())
    crowd("dev-b")
    agent.hook("claude", "PreToolUse", "s1", **describe_edit("claude", repo.folder / "a.py", "x"))
    begin("codex", repo, session_id="s2")
    while_it_runs = list_own()
    kill(find_process("s1"))
    killed = list_own()

    begin("codex", repo, session_id="s3")

    agent.lines.close()
    agent.connection.close()
    assert agent.process
    agent.process.wait()
    assert len(while_it_runs) == len(killed) == 2
    assert list_own() == []


def list_own() -> list[Reservation]:
    return as_developer(ME, lambda team: team.store.list_own_reservations())


def find_process(native_id: str) -> int:
    """The program that is in a session."""
    home = load_settings().home
    for name in os.listdir(os.path.join(home, FOLDER)):
        row = Processes(home).find(name)
        if row and row.get("native_id") == native_id:
            return int(name.split(".")[1])
    raise AssertionError(native_id)


def kill(process: int) -> None:
    os.kill(process, signal.SIGKILL)


# --- what it costs --------------------------------------------------------------------------------


def list_team_modules(modules: set[str]) -> list[str]:
    ours = ("holdfast.team", "holdfast.usecases.team", "holdfast.usecases.presence")
    return sorted(name for name in modules if name.startswith(ours))


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        ("SessionStart", {"source": "startup"}),
        ("UserPromptSubmit", {"prompt": "Retry.", "prompt_id": "p1"}),
        ("PreToolUse", {"tool_name": "Edit", "tool_input": {"file_path": "a.py"}}),
        ("Stop", {"last_assistant_message": "Done."}),
        ("SessionEnd", {}),
    ],
)
@pytest.mark.parametrize("chosen", [None, False])
def test_nothing_of_the_team_is_loaded_while_the_exchange_is_off(
    chosen: bool | None, event: str, fields: dict[str, Any], tmp_path: Path
):
    if chosen is not None:
        os.makedirs(load_settings().home)
        Path(load_settings().home, "settings.json").write_text('{"team": false}')
    hook = ("-m", "holdfast", "hook", "claude", event)
    loaded_modules(*hook, stdin=claude_payload(tmp_path, event, **fields))

    modules = loaded_modules(*hook, stdin=claude_payload(tmp_path, event, **fields))

    assert list_team_modules(modules) == []


def test_an_edit_that_concerns_nobody_starts_no_git(repo: Repo):
    claim("dev-a", "docs/**")
    given = describe_edit("claude", repo.folder / "src/retry.py", "x = 1\n")
    event = claude_payload(repo.folder, "PreToolUse", **given)
    prompt("claude", repo, session_id="c-1")
    hook = ("-m", "holdfast", "hook", "claude", "PreToolUse")
    loaded_modules(*hook, stdin=event)

    modules = loaded_modules(*hook, stdin=event)

    assert "holdfast.usecases.team_at_hooks" in modules
    assert list_shown()["main"] == ["src/retry.py"]
    assert modules & {"subprocess", "threading", "asyncio", "re", "typing"} == set()


def test_a_hook_that_fails_over_the_team_is_logged_without_a_word(repo: Repo, tmp_path: Path):
    claim("dev-a", "src/**")
    Path(load_settings().home, "notices").write_text("in the way")

    assert edit("claude", repo, "src/retry.py") == SILENT
    assert "WORDS" not in log(tmp_path)
