"""Where data goes and whose it is, from the environment alone."""

import os
import pwd
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InvalidValueError
from holdfast.ground import settings
from holdfast.ground.settings import (
    check_database_url,
    has_password,
    hide_password,
    load_settings,
    owner_of,
    sqlite_path,
)

# --- where ----------------------------------------------------------------------------------------


def test_without_any_setting_data_lies_in_the_users_data_folder(home: Path):
    found = load_settings({})

    assert found.home == str(home / ".local/share/holdfast")
    assert found.database == f"sqlite:///{home}/.local/share/holdfast/holdfast.db"
    assert found.workspace == "local"


def test_the_platform_says_where_data_folders_are(home: Path, monkeypatch: pytest.MonkeyPatch):
    assert load_settings({"XDG_DATA_HOME": "/data"}).home == "/data/holdfast"

    monkeypatch.setattr(settings.sys, "platform", "darwin")
    assert load_settings({}).home == f"{home}/Library/Application Support/holdfast"

    monkeypatch.setattr(settings.sys, "platform", "win32")
    assert load_settings({"LOCALAPPDATA": "/local"}).home == "/local/holdfast"
    assert load_settings({}).home == str(home / "holdfast")


def test_the_home_setting_moves_everything(home: Path):
    """Two programs with the same folder share a store; an empty setting counts as unset."""
    assert load_settings({"HOLDFAST_HOME": "/a/b"}).database == "sqlite:////a/b/holdfast.db"
    assert load_settings({"HOLDFAST_HOME": "~/mine"}).home == str(home / "mine")
    assert load_settings({"HOLDFAST_HOME": ""}).home == str(home / ".local/share/holdfast")


@pytest.mark.parametrize(
    ("home", "problem"),
    [
        ("file", "is not a folder"),
        ("file/a/b", "lies below .*file, which is not a folder"),
        ("link", "is not a folder"),
    ],
)
def test_a_home_that_is_not_a_folder_is_refused_by_name(tmp_path: Path, home: str, problem: str):
    """Where the store lies elsewhere it is not needed for that, so it must not stand in the way
    either.
    """
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    env = {"HOLDFAST_HOME": str(tmp_path / home)}

    with pytest.raises(InvalidValueError, match=f"{problem}; set it to one") as refused:
        load_settings(env)

    assert refused.value.field == "HOLDFAST_HOME"
    assert load_settings(env | {"HOLDFAST_DATABASE": "postgresql://h/d"}).home == str(
        tmp_path / home
    )


def test_a_missing_user_folder_is_refused_and_not_created(tmp_path: Path):
    """A folder of one's own is there, or HOME is mistyped; where data lies elsewhere it is not
    needed.
    """
    env = {"HOME": str(tmp_path / "nonexist")}

    for wish in (
        {},
        {"HOLDFAST_HOME": "~/data"},
        {"XDG_DATA_HOME": str(tmp_path / "nonexist" / "data")},
    ):
        with pytest.raises(InvalidValueError, match="HOLDFAST_HOME to a folder") as refused:
            load_settings(env | wish)
        assert (refused.value.field, refused.value.value) == ("HOME", env["HOME"])
    assert load_settings(env | {"HOLDFAST_HOME": str(tmp_path / "new")}).home == str(
        tmp_path / "new"
    )
    assert load_settings(env | {"HOLDFAST_DATABASE": "postgresql://h/d"}).home.startswith(
        env["HOME"]
    )


def test_an_empty_home_is_the_one_that_the_system_knows():
    """As a hook asks whose HOME is wrong: what an agent said must go somewhere."""
    assert (
        load_settings({"HOME": ""}).home
        == f"{pwd.getpwuid(os.getuid()).pw_dir}/.local/share/holdfast"
    )


@pytest.mark.parametrize("wish", [{}, {"HOLDFAST_HOME": "~/data"}, {"HOME": "~"}])
def test_without_a_folder_of_ones_own_nothing_is_read_or_kept_in_the_current_one(
    wish: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A user without a passwd entry and without HOME; a checkout may have a folder named `~`."""
    (tmp_path / "~").mkdir()
    (tmp_path / "~" / ".gitconfig").write_text("[user]\nemail = ada@x.org\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(os, "getuid", lambda: 4_123_456)

    with pytest.raises(InvalidValueError, match="is not set, and the system has no entry"):
        load_settings({**wish, "HOLDFAST_DATABASE": "postgresql://h/d"})
    found = load_settings({"HOLDFAST_HOME": "/data", "LOGNAME": "bo"})
    assert (found.home, found.developer) == ("/data", "bo")


def test_the_environment_of_the_process_is_the_default(tmp_path: Path):
    assert load_settings().home == str(tmp_path / "holdfast")


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:////var/lib/x.db", "/var/lib/x.db"),
        ("sqlite:///x.db", f"{os.getcwd()}/x.db"),
        ("sqlite:///a/../x.db", f"{os.getcwd()}/x.db"),
        ("sqlite:////with space/ü?.db", "/with space/ü?.db"),
        ("postgresql://app@db.example.org/holdfast", None),
        ("postgres://db.example.org", None),
    ],
)
def test_a_database_is_named_by_its_url(url: str, path: str | None):
    assert sqlite_path(url) == path
    assert load_settings({"HOLDFAST_DATABASE": url}).database == url


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("sqlite:////srv/a:b@c.db", False),
        ("postgresql://db.example.org:5432/d", False),
        ("postgresql://app@db.example.org:5432/d?passfile=/srv/pgpass", False),
        ("postgresql:///d?host=/run/postgresql&user=app", False),
        ("postgresql://app:hush@h/d", True),
        ("postgresql://app@h/d?password=hush", True),
        ("postgresql:///d?password=h@sh", True),
    ],
)
def test_a_url_with_a_password_is_known(url: str, expected: bool):
    check_database_url(url)
    assert has_password(url) is expected


def test_a_file_in_ones_own_folder_is_found_by_tilde(home: Path):
    assert sqlite_path("sqlite:///~/x.db") == str(home / "x.db")


@pytest.mark.parametrize(
    "url",
    [
        "mysql://u:secret@h/d",
        "sqlite:x.db",
        "sqlite://x.db",
        "sqlite:///",
        "sqlite:///a\x00b",
        "x.db",
        "POSTGRESQL://h/d",
        " ",
    ],
)
def test_a_url_that_names_no_store_is_refused_with_the_accepted_forms(url: str):
    with pytest.raises(InvalidValueError) as refused:
        check_database_url(url)

    assert "sqlite:///PATH" in refused.value.message
    assert "secret" not in refused.value.message


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://app:secret",
        "postgresql://app:s?ecret@h/d",
        "postgresql://app:secret@h:1:2/d",
        "postgresql://app:secret@[::1/d",
        "postgresql://app:secret@h/d\x00",
        "postgresql://app:secret@h:port/d",
    ],
)
def test_a_postgres_url_that_cannot_be_read_is_refused_unseen(url: str):
    with pytest.raises(InvalidValueError, match=r"'postgresql://\.\.\.' cannot be read") as refused:
        check_database_url(url)

    assert "ecret" not in refused.value.message


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://",
        "postgresql:///d?host=/var/run",
        "postgres://a:b%3Fc@h1:1,h2:2/d?sslmode=require",
        "postgresql://a@[::1]:5/d",
    ],
)
def test_a_postgres_url_may_leave_out_what_has_a_default(url: str):
    check_database_url(url)


# --- what may be shown ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (
            "postgresql://app:secret@db.example.org:5432/holdfast",
            "postgresql://app:…@db.example.org:5432/holdfast",
        ),
        ("postgresql://app@db.example.org/holdfast", "postgresql://app@db.example.org/holdfast"),
        ("postgresql://db.example.org:5432/holdfast", "postgresql://db.example.org:5432/holdfast"),
        (
            "postgresql://db.example.org/holdfast?user=app&password=secret",
            "postgresql://db.example.org/holdfast",
        ),
        (
            "postgresql://app:se:c@r/et@db.example.org/holdfast",
            "postgresql://app:…@db.example.org/holdfast",
        ),
        ("postgresql://app:se?cret@db.example.org/holdfast", "postgresql://app:…"),
        (
            "postgresql://db.example.org/holdfast?password=se@cret",
            "postgresql://db.example.org/holdfast",
        ),
        ("postgres:app:secret@db.example.org/holdfast", "postgres:app:…@db.example.org/holdfast"),
        ("sqlite:////var/lib/x.db", "sqlite:////var/lib/x.db"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, shown: str):
    assert hide_password(url) == shown


@given(
    st.text(min_size=6).filter(
        lambda text: "…" not in text and text not in "postgresql://app:…@host/name"
    )
)
def test_no_password_is_ever_shown(password: str):
    """Whatever characters it has, also those that a URL should have had escaped."""
    assert password not in hide_password(f"postgresql://app:{password}@host/name")
    assert password not in hide_password(f"postgresql://host/name?password={password}")


# --- whose ----------------------------------------------------------------------------------------


def test_the_developer_comes_from_the_setting():
    assert load_settings({"HOLDFAST_DEVELOPER": " Ada.Lovelace "}).developer == "ada.lovelace"


def test_the_developer_comes_from_the_git_email_address(home: Path):
    """The local part of the e-mail address that commits are made with, without starting git."""
    (home / ".gitconfig").write_text(
        '[core]\n\temail = no@x.org\n[User]\n\tname = A\n\tEmail = "Ada+git@x.org"\n'
    )

    assert load_settings({"HOME": str(home), "LOGNAME": "root"}).developer == "ada-git"


@pytest.mark.parametrize(
    "config",
    [
        "",
        "[user]\n\tname = A\n",
        '[user "other"]\n\temail = b@x.org\n',
        "[core]\nemail = b@x.org\n[alias]\n",
        "[user]\n[core]\nemail=b@x.org",
        "\x00\xff[",
    ],
)
def test_without_a_git_email_the_developer_comes_from_the_login_name(home: Path, config: str):
    (home / ".gitconfig").write_text(config)

    assert load_settings({"HOME": str(home), "LOGNAME": "Ada"}).developer == "ada"


def test_git_settings_in_the_other_place_are_found(home: Path):
    folder = home / ".config" / "git"
    folder.mkdir(parents=True)
    (folder / "config").write_text("[user]\nemail = ada@x.org\n")

    assert load_settings({"HOME": str(home)}).developer == "ada"
    assert (
        load_settings({"HOME": str(home), "XDG_CONFIG_HOME": "/nowhere", "USER": "bo"}).developer
        == "bo"
    )


@pytest.mark.parametrize(
    ("names", "developer"),
    [
        ({"LOGNAME": "a", "USER": "b"}, "a"),
        ({"USERNAME": "Łukasz K"}, "ukasz-k"),
        ({"USER": "+++"}, "me"),
    ],
)
def test_a_developer_name_is_derived_from_any_login_name(
    home: Path, names: dict[str, str], developer: str
):
    assert load_settings({"HOME": str(home), **names}).developer == developer


def test_without_any_name_in_the_environment_the_system_s_own_list_has_one(home: Path):
    login = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()

    assert load_settings({"HOME": str(home)}).developer == login.casefold()


def test_a_user_without_a_passwd_entry_gets_a_default_name(
    home: Path, monkeypatch: pytest.MonkeyPatch
):
    """As in a container that runs under a number of its own."""
    monkeypatch.setattr(os, "getuid", lambda: 4_123_456)

    assert load_settings({"HOME": str(home)}).developer == "me"


@pytest.mark.parametrize("handle", ["a b", "ada@x", "a" * 40, "/etc", "~ada", "ä", "a\nb", "  "])
def test_a_handle_with_other_characters_is_refused(handle: str):
    with pytest.raises(InvalidValueError, match="HOLDFAST_DEVELOPER"):
        load_settings({"HOLDFAST_DEVELOPER": handle})


@pytest.mark.parametrize("slug", ["North", "-north", ".north", "a" * 64, "a b", "ä", "north\n"])
def test_a_workspace_with_other_characters_is_refused(slug: str):
    with pytest.raises(InvalidValueError, match="HOLDFAST_WORKSPACE"):
        load_settings({"HOLDFAST_WORKSPACE": slug})


def test_an_owner_follows_from_workspace_and_handle():
    """The same on every machine, another in every workspace, and no handle can be made to look like
    another.
    """
    first = owner_of("north", "ana")

    assert (first.workspace_id, first.developer_id) == (
        "north",
        owner_of("north", "ana").developer_id,
    )
    assert (
        len(
            {
                owner_of(w, h).developer_id
                for w, h in [("north", "ana"), ("south", "ana"), ("north", "bo"), ("nort", "hana")]
            }
        )
        == 4
    )
    assert (
        load_settings(
            {"HOLDFAST_WORKSPACE": "north", "HOLDFAST_DEVELOPER": "ana"}
        ).owner.developer_id
        == first.developer_id
    )


# --- names of a server ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("", ()),
        (" , ", ()),
        ("holdfast.example.com", ("holdfast.example.com",)),
        ("Holdfast.Example.com:443 , b-1:8443", ("holdfast.example.com", "b-1:8443")),
    ],
)
def test_the_names_of_a_proxy_are_a_list(given: str, names: tuple[str, ...]):
    assert settings.load_server_names({"HOLDFAST_SERVER_NAMES": given}) == names


@pytest.mark.parametrize(
    "given",
    [
        *(
            "https://a.example",
            "a.example/",
            "*.example",
            "a b",
            "a..b",
            "-a.example",
            "a_b",
            ":443",
        ),
        *("a.example:0", "a.example:99999", "a.example:x", "[::1]", "user@a.example", "é.example"),
        *("a" * 64, ".".join(["a" * 60] * 5)),
    ],
)
def test_what_is_no_name_is_refused(given: str):
    with pytest.raises(InvalidValueError, match="HOLDFAST_SERVER_NAMES"):
        settings.load_server_names({"HOLDFAST_SERVER_NAMES": given})
