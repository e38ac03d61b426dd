"""TS13: whatever a repository configures, nothing of it runs when we ask git about it.

Every trap would leave a canary. Each is laid in a repository of its own, with a file that is racily
clean: git has to look into it to know, and would ask a filter first. Then everything that we can
ask is asked. A second test shows that the traps are live: the same questions by plain git do leave
canaries.
"""

import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.errors import HoldfastError
from holdfast.ground import git, git_process
from holdfast.ground.confined import ConfinedRoot
from holdfast.surfaces.console import diff
from tests.ground.repositories import Work, make_filled

HOOKS = (
    *(
        "applypatch-msg",
        "fsmonitor-watchman",
        "post-checkout",
        "post-index-change",
        "post-merge",
        "pre-auto-gc",
    ),
    *(
        "pre-commit",
        "pre-push",
        "query-watchman",
        "reference-transaction",
        "post-rewrite",
        "sendemail-validate",
    ),
)
COMMANDS = (
    "cat-file",
    "config",
    "diff-index",
    "for-each-ref",
    "hash-object",
    "ls-files",
    "merge-base",
    "rev-list",
)
MISSING = "1" * 40
Trap = Callable[["Scene"], None]
TRAPS: dict[str, Trap] = {}


class Scene:
    """A repository that an attacker prepared, and what its traps would leave behind."""

    def __init__(self, folder: Path, template: Path):
        self.canary, self.script = folder / "canary", folder / "trap.sh"
        shutil.copytree(template, folder / "work", symlinks=True)
        self.work = Work(folder / "work")
        self.folder = folder / "work"
        self.environment: dict[str, str] = {}
        self.script.write_text(f"#!/bin/sh\ntouch {self.canary}\nexit 1\n")
        self.script.chmod(0o755)
        self.git_dir = self.work.root / ".git"
        self.make_racy()

    def make_racy(self, path: str = "src/app.py") -> None:
        """Other bytes of the same length, with the times that the index has."""
        self.work.git("config", "core.trustctime", "false")
        self.work.git("add", "--all")
        place, index = self.work.place(path), self.git_dir / "index"
        found = os.stat(place)
        with open(place, "r+b") as file:
            file.write(b"P")
        for each in (place, index):
            os.utime(each, ns=(found.st_mtime_ns, found.st_mtime_ns))

    def configure(self, text: str, file: str = "config") -> None:
        with open(self.git_dir / file, "a") as config:
            config.write(
                text.replace("TRAP", str(self.script)).replace("CANARY", str(self.canary)) + "\n"
            )

    def attribute(self, text: str) -> None:
        (self.git_dir / "info").mkdir(exist_ok=True)
        (self.git_dir / "info" / "attributes").write_text(text + "\n")

    def lose(self, *objects: str) -> None:
        """As in a clone that fetches an object when it is needed."""
        for object_name in objects:
            name = self.work.git("rev-parse", object_name)
            (self.git_dir / "objects" / name[:2] / name[2:]).unlink(missing_ok=True)


def trap(function: Trap) -> Trap:
    TRAPS[function.__name__] = function
    return function


def configured(name: str, text: str, attributes: str = "") -> None:
    def lay(scene: Scene) -> None:
        scene.configure(text)
        if attributes:
            scene.attribute(attributes)

    TRAPS[name] = lay


configured("fsmonitor", "[core]\n\tfsmonitor = TRAP")
configured(
    "fsmonitor of the first version", "[core]\n\tfsmonitor = TRAP\n\tfsmonitorHookVersion = 1"
)
configured("fsmonitor in capitals", "[CORE]\n\tFSMONITOR = TRAP")
configured(
    "pager",
    "[core]\n\tpager = TRAP\n[pager]\n\tdiff-index = TRAP\n\trev-list = TRAP\n\tconfig = TRAP",
)
configured("editors", "[core]\n\teditor = TRAP\n[sequence]\n\teditor = TRAP")
configured("askpass and helpers", "[core]\n\taskPass = TRAP\n[credential]\n\thelper = !TRAP")
configured("proxy", "[core]\n\tgitProxy = TRAP\n[http]\n\tproxy = ext::TRAP")
configured("external diff", "[diff]\n\texternal = TRAP")
configured("diff driver", '[diff "x"]\n\tcommand = TRAP', "* diff=x")
configured("textconv", '[diff "x"]\n\ttextconv = TRAP', "* diff=x")
configured("cached textconv", '[diff "x"]\n\ttextconv = TRAP\n\tcachetextconv = true', "* diff=x")
configured("merge driver", '[merge "x"]\n\tdriver = TRAP %A\n\trecursive = x', "* merge=x")
configured("clean filter", '[filter "x"]\n\tclean = TRAP', "* filter=x")
configured(
    "clean filter that is required", '[filter "x"]\n\tclean = TRAP\n\trequired = true', "* filter=x"
)
configured("smudge filter", '[filter "x"]\n\tsmudge = TRAP\n\tclean = TRAP', "* filter=x")
configured("process filter", '[filter "x"]\n\tprocess = TRAP\n\trequired', "* filter=x")
configured("filter in capitals", '[FILTER "x"]\n\tCLEAN = TRAP', "* filter=x")
configured("filter in the old form", "[filter.x]\n\tclean = TRAP", "* filter=x")
configured("filter called a=b", '[filter "a=b"]\n\tclean = TRAP', "* filter=a=b")
configured("filter called a.b", '[filter "a.b"]\n\tclean = TRAP', "* filter=a.b")
configured("filter with a quote", '[filter "a\\"b"]\n\tclean = TRAP', '* filter=a"b')
configured("filter with a dash", '[filter "-c"]\n\tclean = TRAP', "* filter=-c")
configured("filter without a name", '[filter ""]\n\tclean = TRAP', "* filter=")
configured("filter named like ours", '[filter "x.clean"]\n\tclean = TRAP', "* filter=x.clean")
configured(
    "filter named twice", '[filter "x"]\n\tclean = cat\n[filter "x"]\n\tclean = TRAP', "* filter=x"
)
configured(
    "lfs that is none",
    '[filter "lfs"]\n\tclean = TRAP\n\tprocess = TRAP\n\trequired = true',
    "* filter=lfs",
)
configured(
    "renormalisation",
    '[merge]\n\trenormalize\n[filter "x"]\n\tclean = TRAP',
    "* text=auto eol=crlf filter=x",
)
configured("aliases", "[alias]\n" + "\n".join(f"\t{name} = !TRAP" for name in COMMANDS))
configured(
    "own safe directories",
    "[safe]\n\tdirectory = *\n\tbareRepository = all\n[core]\n\tfsmonitor = TRAP",
)
configured(
    "traces", "[trace2]\n\teventTarget = CANARY\n\tnormalTarget = CANARY\n\tperfTarget = CANARY"
)
configured(
    "collecting garbage",
    "[gc]\n\tauto = 1\n[maintenance]\n\tauto = true\n[gc]\n\trecentObjectsHook = TRAP",
)
configured("hook for packs", "[uploadpack]\n\tpackObjectsHook = TRAP")
configured(
    "submodule update",
    '[submodule "x"]\n\tupdate = !TRAP\n[diff]\n\tsubmodule = log\n\tignoreSubmodules = none',
)
configured(
    "untracked cache and split index",
    "[core]\n\tuntrackedCache = true\n\tsplitIndex = true\n\tfsmonitor = TRAP",
)


@trap
def filter_in_the_tree(scene: Scene) -> None:
    scene.configure('[filter "x"]\n\tclean = TRAP')
    scene.work.write(".gitattributes", "* filter=x\n")


@trap
def filter_by_a_file_of_attributes(scene: Scene) -> None:
    scene.configure(f'[core]\n\tattributesFile = {scene.folder}/a\n[filter "x"]\n\tclean = TRAP')
    scene.work.write("a", "* filter=x\n")


@trap
def filter_with_a_name_that_is_no_text(scene: Scene) -> None:
    with open(scene.git_dir / "config", "ab") as config:
        config.write(b'[filter "\xff\xe9"]\n\tclean = %b\n' % os.fsencode(scene.script))
    (scene.git_dir / "info" / "attributes").write_bytes(b"* filter=\xff\xe9\n")


@trap
def fifty_filters(scene: Scene) -> None:
    scene.configure("\n".join(f'[filter "f{number}"]\n\tclean = TRAP' for number in range(50)))
    scene.attribute("* filter=f49")


def included(condition: str) -> Trap:
    def lay(scene: Scene) -> None:
        scene.configure('[filter "x"]\n\tclean = TRAP\n[core]\n\tfsmonitor = TRAP', "../more")
        scene.configure(f"[{condition}]\n\tpath = ../more")
        scene.attribute("* filter=x")

    return lay


TRAPS["included file"] = included("include")
TRAPS["included for the branch"] = included('includeIf "onbranch:main"')
TRAPS["included for the folder"] = included('includeIf "gitdir:**/work/**"')
TRAPS["included for the remote"] = included('includeIf "hasconfig:remote.*.url:**"')


@trap
def settings_of_the_working_tree(scene: Scene) -> None:
    scene.configure("[extensions]\n\tworktreeConfig = true")
    scene.configure('[filter "x"]\n\tclean = TRAP\n[core]\n\tfsmonitor = TRAP', "config.worktree")
    scene.attribute("* filter=x")


@trap
def hooks(scene: Scene) -> None:
    lay_hooks(scene, scene.git_dir / "hooks")


@trap
def hooks_elsewhere(scene: Scene) -> None:
    lay_hooks(scene, scene.folder / "own-hooks")
    scene.configure(f"[core]\n\thooksPath = {scene.folder}/own-hooks\n\tfsmonitor = true")


def lay_hooks(scene: Scene, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name in HOOKS:
        shutil.copy2(scene.script, folder / name)


@trap
def bare_repository_inside(scene: Scene) -> None:
    """What a clone brings along, because it is only files."""
    inner = scene.folder / "docs" / "inner"
    shutil.copytree(scene.git_dir, inner)
    with open(inner / "config", "a") as config:
        config.write(
            f"[core]\n\tbare = false\n\tworktree = {scene.folder}\n\tfsmonitor = {scene.script}\n"
        )
    scene.folder = inner


@trap
def git_file_to_a_place_inside(scene: Scene) -> None:
    inner = scene.folder / "docs" / "inner"
    shutil.copytree(scene.git_dir, inner)
    with open(inner / "config", "a") as config:
        config.write(
            f'[core]\n\tfsmonitor = {scene.script}\n[filter "x"]\n\tclean = {scene.script}\n'
        )
    (scene.folder / "src" / ".git").write_text("gitdir: ../docs/inner\n")
    scene.folder = scene.folder / "src"


@trap
def working_tree_elsewhere(scene: Scene) -> None:
    scene.configure(
        f'[core]\n\tworktree = {scene.folder.parent}\n\tfsmonitor = TRAP\n[filter "x"]\n'
        "\tclean = TRAP"
    )


@trap
def submodule_with_traps(scene: Scene) -> None:
    part = scene.folder / "lib"
    scene.work.git("clone", "--quiet", str(scene.folder), str(part))
    scene.work.git("add", "lib")
    scene.work.git("commit", "--quiet", "-m", "submodule")
    Work(part).commit("moved")
    with open(part / ".git" / "config", "a") as config:
        config.write(
            f'[core]\n\tfsmonitor = {scene.script}\n[filter "x"]\n\tclean = {scene.script}\n'
        )
    (part / ".git" / "info" / "attributes").write_text("* filter=x\n")
    Path(part / "README.md").write_text("edited\n")
    scene.configure(
        '[submodule "lib"]\n\tpath = lib\n\tignore = none\n[status]\n\tsubmoduleSummary = true'
    )


def promised(url: str, more: str = "") -> Trap:
    """A clone without all objects asks its remote for one that is needed."""

    def lay(scene: Scene) -> None:
        scene.configure(
            f'[remote "origin"]\n\turl = {url}\n\tpromisor = true\n'
            f"\tpartialclonefilter = blob:none\n{more}"
        )
        scene.configure(
            "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = origin"
        )
        scene.configure('[protocol]\n\tallow = always\n[protocol "ext"]\n\tallow = always')
        scene.lose("HEAD:README.md", "HEAD:src/app.py", "HEAD:docs")
        scene.work.write("README.md", "edited\r\n")

    return lay


TRAPS["objects by a program"] = promised("ext::TRAP")
TRAPS["objects by ssh"] = promised("ssh://host/x", "[core]\n\tsshCommand = TRAP")
TRAPS["objects by a helper"] = promised("x", '[remote "origin"]\n\tvcs = ext')
TRAPS["objects by upload-pack"] = promised("..", '[remote "origin"]\n\tuploadpack = TRAP')
TRAPS["objects over a proxy"] = promised("git://host/x", "[core]\n\tgitProxy = TRAP")
TRAPS["objects with a helper for passwords"] = promised(
    "https://localhost:1/x", "[credential]\n\thelper = !TRAP"
)


@trap
def borrowed_objects(scene: Scene) -> None:
    (scene.git_dir / "objects" / "info").mkdir(exist_ok=True)
    (scene.git_dir / "objects" / "info" / "alternates").write_text(f"{scene.folder}/docs\n")
    scene.configure("[core]\n\talternateRefsCommand = TRAP")


@trap
def signed_commit(scene: Scene) -> None:
    scene.configure("[log]\n\tshowSignature = true\n[gpg]\n\tprogram = TRAP\n\tformat = openpgp")
    commit = subprocess.run(
        ["git", "cat-file", "commit", "HEAD"], cwd=scene.folder, capture_output=True, check=True
    ).stdout
    signature = b"gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n"
    signed = scene.folder / "signed"
    signed.write_bytes(commit.replace(b"\n\n", b"\n" + signature, 1))
    made = scene.work.git("hash-object", "-t", "commit", "-w", "--literally", str(signed))
    (scene.git_dir / "refs" / "heads" / "main").write_text(made + "\n")


@trap
def replaced_commit(scene: Scene) -> None:
    (scene.git_dir / "refs" / "replace").mkdir(exist_ok=True)
    head = scene.work.git("rev-parse", "HEAD")
    (scene.git_dir / "refs" / "replace" / head).write_text(
        scene.work.git("rev-parse", "HEAD:README.md") + "\n"
    )


def branch_called(name: str) -> Trap:
    """git makes no such branch; a file does."""

    def lay(scene: Scene) -> None:
        head = scene.work.git("rev-parse", "HEAD")
        place = scene.git_dir / "refs" / "heads" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(head + "\n")
        (scene.git_dir / "HEAD").write_text(f"ref: refs/heads/{name}\n")
        origin = scene.git_dir / "refs" / "remotes" / "origin"
        origin.mkdir(parents=True, exist_ok=True)
        (origin / "HEAD").write_text(f"ref: refs/heads/{name}\n")

    return lay


for branch in (
    *(
        "-c",
        "-ccore.fsmonitor=trap.sh",
        "--upload-pack=touch${IFS}canary",
        "--output=canary",
        "--exec=canary",
        "-",
    ),
    *(
        "$(touch${IFS}canary)",
        "`touch${IFS}canary`",
        ";touch${IFS}canary;",
        "|touch${IFS}canary",
        "--",
        "x" * 250,
    ),
    *("HEAD", "a/../b", "line\nbreak", "@{-1}", "a..b", "é\x1b[2J", "größe", "sp ace"),
):
    TRAPS[f"branch {branch[:30]!r}"] = branch_called(branch)


def file_called(name: str) -> Trap:
    def lay(scene: Scene) -> None:
        scene.work.write(name, "one\r\n")
        scene.work.git("add", "--all")
        scene.work.git(
            "commit", "--quiet", "-m", name.replace("\n", " "), GIT_AUTHOR_NAME="$(touch canary)"
        )
        scene.work.write(name, "two\r\n")

    return lay


for path in (
    "--output=canary",
    "-c",
    "$(touch canary)",
    "`touch canary`",
    ":(exclude)*",
    "x;touch canary",
    "a\nb",
    "HEAD",
):
    TRAPS[f"file {path!r}"] = file_called(path)


def told_by_the_environment(**variables: str) -> Trap:
    def lay(scene: Scene) -> None:
        scene.environment = {
            name: value.replace("TRAP", str(scene.script)).replace("CANARY", str(scene.canary))
            for name, value in variables.items()
        }
        scene.attribute("* diff=x filter=x")

    return lay


TRAPS["environment: programs"] = told_by_the_environment(
    GIT_EXTERNAL_DIFF="TRAP",
    GIT_PAGER="TRAP",
    GIT_EDITOR="TRAP",
    GIT_ASKPASS="TRAP",
    GIT_SSH_COMMAND="TRAP",
)
TRAPS["environment: settings"] = told_by_the_environment(
    GIT_CONFIG_COUNT="2",
    GIT_CONFIG_KEY_0="core.fsmonitor",
    GIT_CONFIG_VALUE_0="TRAP",
    GIT_CONFIG_KEY_1="filter.x.clean",
    GIT_CONFIG_VALUE_1="TRAP",
)
TRAPS["environment: parameters"] = told_by_the_environment(
    GIT_CONFIG_PARAMETERS="'core.fsmonitor'='TRAP'"
)
TRAPS["environment: traces"] = told_by_the_environment(
    GIT_TRACE="CANARY", GIT_TRACE2="CANARY", GIT_TRACE_SETUP="CANARY"
)


# --- everything that we can ask -------------------------------------------------------------------


def questions(scene: Scene, first: str) -> Iterator[tuple[str, Callable[[], object]]]:
    """Every public function, on what it finds there."""
    folder = str(scene.folder)
    yield "find_repository", lambda: git.find_repository(folder)
    try:
        found = git.find_repository(folder)
    except HoldfastError:
        found = None
    if found is None:
        return
    paths = ["src/app.py", "README.md", "docs", "--output=canary"]
    shown = [ConfinedRoot(folder)]
    yield "open_diff of the folder", lambda: diff.open_diff(shown, folder, first)
    yield "open_diff of a file", lambda: diff.open_diff(shown, "src/app.py", first)
    yield "find_default_branch", lambda: git.find_default_branch(found)
    yield "read_state", lambda: git.read_state(found, without=["data/context"])
    yield "read_state since", lambda: git.read_state(found, since=first)
    yield "read_state since nothing", lambda: git.read_state(found, since=MISSING)
    yield "has_commit", lambda: git.has_commit(found, first)
    yield "has_commit that is missing", lambda: git.has_commit(found, MISSING)
    yield "is_ancestor", lambda: git.is_ancestor(found, first)
    yield "count_commits", lambda: git.count_commits(found, first)
    yield "numstat", lambda: git.numstat(found, first, paths)
    for path in paths[::3]:
        yield f"last_change {path}", lambda path=path: git.last_change(found, path)
        yield (
            f"read_blob {path}",
            lambda path=path: git.read_blob(found, first, path, max_bytes=10_000),
        )


@pytest.fixture
def template(tmp_path: Path) -> Path:
    return make_filled(tmp_path / "template").root


def laid(
    tmp_path: Path, template: Path, monkeypatch: pytest.MonkeyPatch, number: int, lay: Trap
) -> Scene:
    folder = tmp_path / f"scene-{number}"
    folder.mkdir()
    scene = Scene(folder, template)
    lay(scene)
    scene.canary.unlink(missing_ok=True)  # preparing may have set it off
    for name, value in scene.environment.items():
        monkeypatch.setenv(name, value)
    return scene


def has_sung(scene: Scene) -> bool:
    """Also where it was named relative to a folder that a command might run in."""
    return any(
        path.name.startswith("canary")
        for path in scene.script.parent.rglob("*")
        if "objects" not in path.parts
    )


def test_nothing_that_a_repository_configures_ever_runs(
    tmp_path: Path,
    template: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
):
    monkeypatch.setattr(git_process, "SECONDS", 20.0)
    first, asked, sung, refused = Work(template).git("rev-parse", "HEAD"), 0, [], []
    for number, (name, lay) in enumerate(TRAPS.items()):
        with monkeypatch.context() as patch:
            scene = laid(tmp_path, template, patch, number, lay)
            for question, ask in questions(scene, first):
                asked += 1
                try:
                    ask()
                except (
                    HoldfastError
                ) as error:  # a repository in this state may be refused, if the error says why
                    refused.append((name, question, error.message))
                if scene.canary.exists():
                    sung.append((name, question))
            if has_sung(scene):
                sung.append((name, "somewhere"))
    record_property("N", asked)
    print(*refused, sep="\n")

    assert len(TRAPS) >= 30
    assert asked > 10 * len(TRAPS)
    assert sung == []
    assert len(refused) < asked / 20, (
        "a repository that is refused shows nothing about the questions"
    )


def test_the_traps_are_live(tmp_path: Path, template: Path, monkeypatch: pytest.MonkeyPatch):
    """Plain git sets off those that a question can set off; the others wait for commands that we
    never run.
    """
    live = set()
    for number, (name, lay) in enumerate(TRAPS.items()):
        if name.startswith(("branch", "file")):
            continue
        with monkeypatch.context() as patch:
            scene = laid(tmp_path, template, patch, number, lay)
            for command in (
                "diff-index --raw HEAD",
                "diff-index -p HEAD",
                "status",
                "diff HEAD",
                "log -1",
                "cat-file -p HEAD:docs",
            ):
                subprocess.run(
                    ["git", *command.split()],
                    cwd=scene.folder,
                    capture_output=True,
                    stdin=subprocess.DEVNULL,
                    timeout=60,
                )
            if has_sung(scene):
                live.add(name)
    print(f"{len(live)} of {len(TRAPS)} traps are live: {sorted(live)}")

    expected = {
        *(
            "fsmonitor",
            "clean filter",
            "process filter",
            "filter called a=b",
            "filter_in_the_tree",
            "textconv",
        ),
        *(
            "external diff",
            "diff driver",
            "included file",
            "included for the branch",
            "settings_of_the_working_tree",
        ),
        *(
            "objects by a program",
            "objects by ssh",
            "signed_commit",
            "bare_repository_inside",
            "fifty_filters",
        ),
        *(
            "submodule_with_traps",
            "environment: programs",
            "environment: settings",
            "environment: traces",
            "hooks",
        ),
    }
    assert expected <= live


def test_a_pipe_where_git_reads_settings_ends_in_time(
    tmp_path: Path, template: Path, monkeypatch: pytest.MonkeyPatch
):
    """Nothing runs, and nothing waits for ever."""
    scene = laid(tmp_path, template, monkeypatch, 0, lambda _: None)
    os.mkfifo(scene.git_dir / "pipe")
    assert stat.S_ISFIFO(os.stat(scene.git_dir / "pipe").st_mode)
    scene.configure("[include]\n\tpath = pipe")
    monkeypatch.setattr(git_process, "SECONDS", 0.5)

    with pytest.raises(HoldfastError, match="no answer came in time"):
        git.find_repository(str(scene.folder))
