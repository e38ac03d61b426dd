"""Session meta of another program: comes in once, by our own rules, and what cannot is named."""

import errno
import json
import os

import apsw
import pytest

from holdfast import SessionService
from holdfast.errors import InvalidValueError, StoreBusyError
from holdfast.sessions import caco
from holdfast.storage.sqlite import open_sqlite
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
    (folder / native_id / "meta.json").write_text(
        meta if isinstance(meta, str) else json.dumps(meta)
    )


async def test_a_session_comes_in_with_its_name_hints_times_and_context(sessions, caco_folder):
    write_meta(caco_folder, "abc", {**META, "unknownField": 1, "model": "x"})

    report = await caco.import_caco(sessions, str(caco_folder))

    assert report == caco.SessionImportReport(imported=1, known=0, problems=())
    s = await sessions.find_session("issue 123")
    assert s.metadata == META
    assert (s.client, s.native_id, s.chatmode) == ("caco", "abc", "caco")
    assert "Last applet: git-diff" in await sessions.get_resume_text(s.id)


async def test_a_session_that_was_imported_before_is_not_imported_again(sessions, caco_folder):
    write_meta(caco_folder, "abc", META)
    await caco.import_caco(sessions, str(caco_folder))
    write_meta(caco_folder, "def", {"name": "another"})

    report = await caco.import_caco(sessions, str(caco_folder))

    assert (report.imported, report.known) == (1, 1)
    async with nothing_changes(sessions):
        report = await caco.import_caco(sessions, str(caco_folder))
    assert report.to_dict() == {"imported": 0, "known": 2, "problems": []}


async def test_a_renamed_ended_or_forgotten_session_is_not_imported_again(sessions, caco_folder):
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


async def test_unreadable_files_are_named_and_the_rest_is_imported(sessions, caco_folder):
    write_meta(caco_folder, "a-broken", "{")
    write_meta(caco_folder, "b-list", "[]")
    write_meta(caco_folder, "d-name", {"name": 7})
    write_meta(caco_folder, "e-deep", '{"name":' + '{"a":' * 70 + "1" + "}" * 71)
    write_meta(caco_folder, "f-nul", '{"name":"a\\u0000b"}')
    (caco_folder / "g-link").mkdir()
    (caco_folder / "g-link" / "meta.json").symlink_to("/etc/hostname")
    write_meta(caco_folder, "i-good", {"name": "good"})
    write_meta(caco_folder, "j-number", '{"name":' + "1" * 5000 + "}")
    (caco_folder / "k-folder" / "meta.json").mkdir(parents=True)

    report = await caco.import_caco(sessions, str(caco_folder))

    assert (report.imported, report.known) == (1, 0)
    assert [problem.partition(":")[0] for problem in report.problems] == [
        *("a-broken", "b-list", "d-name", "e-deep", "f-nul", "g-link", "j-number", "k-folder")
    ]
    assert [s.name for s in await sessions.list_sessions()] == ["good"]


async def test_an_invalid_field_is_named_and_the_other_fields_are_imported(sessions, caco_folder):
    write_meta(
        caco_folder, "abc", {"name": "work", "envHint": 7, "context": {"files": "not a list"}}
    )

    report = await caco.import_caco(sessions, str(caco_folder))

    assert (await sessions.find_session("work")).metadata == {"name": "work"}
    assert report.imported == 1
    assert report.problems == (
        "abc: envHint 7 is not a text. The rest came in.",
        "abc: items 'not a list' is not a list of texts. The rest came in.",
    )


async def test_a_folder_without_anything_to_import_is_named_and_starts_no_session(
    sessions, caco_folder
):
    (caco_folder / "empty").mkdir()
    for name, meta in (
        ("none", {"other": 1}),
        ("blank", {"name": "", "context": {}}),
        ("sets", {"context": {"a": []}}),
    ):
        write_meta(caco_folder, name, meta)

    async with nothing_changes(sessions):
        report = await caco.import_caco(sessions, str(caco_folder))

    assert (report.imported, report.known) == (0, 0)
    assert [problem.partition(":")[0] for problem in report.problems] == [
        "blank",
        "empty",
        "none",
        "sets",
    ]
    assert "holds no meta.json, so there is nothing to import" in report.problems[1]
    assert "meta.json ['other'] has nothing to import. Known: name, " in report.problems[2]


async def test_no_folder_of_that_program_is_nothing_to_import(sessions, caco_folder):
    assert await caco.import_caco(
        sessions, str(caco_folder / "missing")
    ) == caco.SessionImportReport(0, 0, ())


async def test_a_file_in_the_place_of_a_folder_is_named(sessions, caco_folder):
    """And the error does not advise a setting of ours, which has nothing to do with it."""
    (caco_folder / "notes.txt").write_text("no folder")

    report = await caco.import_caco(sessions, str(caco_folder))
    with pytest.raises(InvalidValueError, match="is not a folder, so there is nothing to import"):
        await caco.import_caco(sessions, str(caco_folder / "notes.txt"))

    assert len(report.problems) == 1
    assert "is not a session's folder; it was left as it is" in report.problems[0]
    assert "HOLDFAST" not in report.problems[0]


async def test_a_file_that_is_not_utf8_is_named_and_not_imported(sessions, caco_folder):
    (caco_folder / "abc").mkdir()
    (caco_folder / "abc" / "meta.json").write_bytes(b'{"name": "M\xfcller"}')

    async with nothing_changes(sessions):
        report = await caco.import_caco(sessions, str(caco_folder))

    assert report.problems == ("abc: file 'meta.json' is not UTF-8 at byte 11.",)


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[2Jb", "a\udcffb"])
async def test_a_folder_may_be_called_anything_and_a_problem_is_one_line(
    sessions, caco_folder, name
):
    write_meta(caco_folder, name, META)

    report = await caco.import_caco(sessions, str(caco_folder))

    assert report.imported == 0
    assert [problem.isprintable() for problem in report.problems] == [True]
    assert report.problems[0].startswith(f"{name!a}: native_id ")


async def test_a_store_that_cannot_be_written_ends_the_import(tmp_path, caco_folder):
    """Otherwise every folder would be blamed for it, and the whole would count as done."""
    write_meta(caco_folder, "abc", META)
    database = open_sqlite(str(tmp_path / "test.db"), patience_seconds=0.05)
    holder = apsw.Connection(database.path)
    holder.execute("begin immediate")

    with pytest.raises(StoreBusyError):
        await caco.import_caco(SessionService(database), str(caco_folder))

    holder.close()
    assert (await caco.import_caco(SessionService(database), str(caco_folder))).imported == 1
    await database.close()


def test_meta_is_checked_by_our_own_rules():
    assert caco.check_meta({**META, "other": [1]}) == (
        {
            **META,
            "context": {"applet": ["git-diff", "path=/repo"], "files": ["/notes/issue-123.md"]},
        },
        [],
    )
    assert caco.check_meta({"name": 0, "envHint": None}) == ({}, ["name 0 is not a text."])
    for wrong in (None, [], "x", {}):
        with pytest.raises(InvalidValueError):
            caco.check_meta(wrong)


async def test_a_file_that_the_system_does_not_open_is_named(sessions, caco_folder, monkeypatch):
    write_meta(caco_folder, "n1", {"name": "x"})
    real = os.open

    def refuse(path, *args, **kwargs):
        if str(path).endswith("meta.json"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", refuse)
    report = await caco.import_caco(sessions, str(caco_folder))

    assert report.problems == ("n1: file 'meta.json' cannot be read: permission denied.",)
