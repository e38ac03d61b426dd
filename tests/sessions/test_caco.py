"""Session meta of another program: comes in once, by our own rules, and what cannot is named."""

import json

import pytest

from holdfast.errors import InvalidValueError
from holdfast.sessions import caco
from tests.sessions.tables import nothing_changes

META = {
    "name": "issue 123",
    "lastObservedAt": "2026-11-16T09:04:00Z",
    "lastIdleAt": "2026-11-16T09:05:00Z",
    "currentIntent": "fix the login",
    "envHint": "nvm use 20",
    "context": {"files": ["/notes/issue-123.md"], "applet": ["git-diff", "path=/repo"]},
}


@pytest.fixture
def caco_folder(tmp_path):
    folder = tmp_path / "caco"
    folder.mkdir()
    return folder


def write_meta(folder, native_id, meta):
    (folder / native_id).mkdir(parents=True)
    (folder / native_id / "meta.json").write_text(meta if isinstance(meta, str) else json.dumps(meta))


async def test_a_session_comes_in_with_its_name_hints_times_and_context(sessions, caco_folder):
    write_meta(caco_folder, "abc", {**META, "unknownField": 1, "model": "x"})

    report = await caco.import_caco(sessions, str(caco_folder))

    assert report == caco.ImportReport(imported=1, known=0, problems=())
    s = await sessions.find_session("issue 123")
    assert s.metadata == META
    assert (s.client, s.native_id, s.chatmode) == ("caco", "abc", "caco")
    assert "Last applet: git-diff" in await sessions.get_resume_text(s.id)


async def test_what_came_in_once_is_known(sessions, caco_folder):
    write_meta(caco_folder, "abc", META)
    await caco.import_caco(sessions, str(caco_folder))
    write_meta(caco_folder, "def", {"name": "another"})

    report = await caco.import_caco(sessions, str(caco_folder))

    assert (report.imported, report.known) == (1, 1)
    async with nothing_changes(sessions):
        report = await caco.import_caco(sessions, str(caco_folder))
    assert report.to_dict() == {"imported": 0, "known": 2, "problems": []}


async def test_what_was_renamed_ended_or_forgotten_is_not_brought_back(sessions, caco_folder):
    for native_id in ("renamed", "ended", "forgotten"):
        write_meta(caco_folder, native_id, {"name": native_id})
    await caco.import_caco(sessions, str(caco_folder))
    await sessions.rename_session((await sessions.find_session("renamed")).id, "other")
    await sessions.end_session((await sessions.find_session("ended")).id)
    forgotten = await sessions.find_session("forgotten")
    await sessions.forget_session(forgotten.id)
    await sessions.end_session(forgotten.id)

    async with nothing_changes(sessions):
        report = await caco.import_caco(sessions, str(caco_folder))

    assert (report.imported, report.known) == (0, 3)


async def test_an_import_that_was_cut_off_is_finished_by_the_next_one(sessions, caco_folder):
    """The session was started, and its metadata had not been written yet."""
    write_meta(caco_folder, "abc", META)
    s = await sessions.create_session("caco", "caco", client="caco", native_id="abc")

    report = await caco.import_caco(sessions, str(caco_folder))

    assert report.imported == 1
    assert (await sessions.get_session(s.id)).name == "issue 123"
    assert len(await sessions.list_sessions()) == 1


async def test_what_cannot_be_read_is_named_and_the_rest_comes_in(sessions, caco_folder):
    write_meta(caco_folder, "a-broken", "{")
    write_meta(caco_folder, "b-list", "[]")
    write_meta(caco_folder, "c-context", {"name": "x", "context": {"files": "not a list"}})
    write_meta(caco_folder, "d-name", {"name": 7})
    write_meta(caco_folder, "e-deep", '{"a":' * 70 + "1" + "}" * 70)
    write_meta(caco_folder, "f-nul", '{"name":"a\\u0000b"}')
    (caco_folder / "g-link").mkdir()
    (caco_folder / "g-link" / "meta.json").symlink_to("/etc/hostname")
    (caco_folder / "h-file").write_text("no folder")
    write_meta(caco_folder, "i-good", {"name": "good"})

    report = await caco.import_caco(sessions, str(caco_folder))

    assert (report.imported, report.known) == (1, 0)
    assert [problem.partition(":")[0] for problem in report.problems] == [
        *("a-broken", "b-list", "c-context", "d-name", "e-deep", "f-nul", "g-link", "h-file")
    ]
    assert [s.name for s in await sessions.list_sessions()] == ["good"]


async def test_a_folder_without_anything_to_import_starts_no_session(sessions, caco_folder):
    (caco_folder / "empty").mkdir()
    write_meta(caco_folder, "blank", {"name": "", "context": {}})

    async with nothing_changes(sessions):
        assert (await caco.import_caco(sessions, str(caco_folder))).imported == 0
        assert await caco.import_caco(sessions, str(caco_folder / "missing")) == caco.ImportReport(0, 0, ())


def test_meta_is_checked_by_our_own_rules():
    assert caco.check_meta({**META, "other": [1]}) == {
        **META,
        "context": {"applet": ["git-diff", "path=/repo"], "files": ["/notes/issue-123.md"]},
    }
    assert caco.check_meta({}) == {}
    for wrong in (None, [], "x", {"name": ["x"]}, {"context": {"files": [1]}}):
        with pytest.raises(InvalidValueError):
            caco.check_meta(wrong)
