"""Which program a command line is about: without what it is wrapped in, and what it can prove.

`CI=1 timeout 60 uv run python -m pytest -q` is about pytest. The same program has the same name
each time, so that one that failed and then worked is seen. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.ground.frozen import dataclass
from holdfast.ground.patterns import compile_later
from holdfast.observations import known
from holdfast.observations.shell import Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Kind = Literal["check", "commit", "other"]

MOST_WRAPPERS = 12

_ASSIGNMENT = compile_later(r"[A-Za-z_]\w*=")
_VERSIONED = compile_later(r"(python|ruby|php|node|perl|clang|gcc|g\+\+)-?\d+(?:\.\d+)*$")
_CMDLET = compile_later(r"[A-Z][a-z]+-[A-Z]\w*")
_ENDING = compile_later(r"\.(?:exe|cmd|bat|ps1)$")
_TELLING = compile_later(
    r"(?:^|[-_:./])(?:tests?|specs?|checks?|lint|build|compile|typecheck|type|types|tsc|verify|ci"
    r"|e2e|unit|integration|validate|coverage|all|assemble|package|vet|clippy|jest|vitest|pytest)"
    r"(?:$|[-_:./\d])"
)
_IDLE_MAKE = compile_later(r"-[a-zA-BD-EG-HJ-NP-VX-Z]*[niqt][a-zA-Z]*")
# Code that is given in the line and starts other programs, whose ends it need not look at.
_STARTS = compile_later(r"\b(?:subprocess|system|popen|spawn|spawnSync|execSync|child_process)\b")
_SCRIPT = compile_later(r"[\w./~-]+\.(?:sh|bash|zsh|py|js|mjs|cjs|ts|rb|pl|php)$")


@dataclass(frozen=True)
class Call:
    """A program as it is run. `script` is what a shell was given to run instead of one."""

    words: tuple[str, ...]
    script: str | None = None
    has_errexit: bool = False
    has_pipefail: bool = False
    is_open: bool = False  # what it runs is not in the line, or nothing waits for its end
    is_loose: bool = False  # it may not have been run, or goes on

    @property
    def name(self) -> str:
        return clean_name(self.words[0])

    @property
    def arguments(self) -> tuple[str, ...]:
        return self.words[1:]


def unwrap(words: Sequence[Word]) -> Call:
    """Without variables, wrappers and shells around it."""
    left = list(words)
    is_loose = False
    for _ in range(MOST_WRAPPERS):
        wrapper = _find_wrapper(left)
        if not wrapper or not left[0].is_fixed:
            break
        inner, is_detached = _strip_wrapper(wrapper, left)
        if not _is_program(wrapper, inner):
            break
        is_loose = is_loose or is_detached or wrapper in known.LOOSE_WRAPPERS
        left = inner
    call = _make_call(left)
    is_hidden = is_loose or call.name in known.DETACHING
    return Call(
        call.words,
        call.script,
        call.has_errexit,
        call.has_pipefail,
        is_open=call.is_open,
        is_loose=is_hidden,
    )


def _find_wrapper(words: Sequence[Word]) -> str:
    names = [word.text for word in words[:3]]
    if names:
        names[0] = clean_name(names[0])
    for count in (3, 2, 1):
        name = " ".join(names[:count])
        if len(names) >= count and name in known.WRAPPERS:
            return name
    return ""


def _strip_wrapper(wrapper: str, words: list[Word]) -> tuple[list[Word], bool]:
    """What it runs, and whether it does not wait for that."""
    valued = known.WRAPPERS[wrapper]
    left = words[len(wrapper.split()) :]
    is_detached = False
    while left and (left[0].text.startswith("-") or _ASSIGNMENT.match(left[0].text)):
        option = left[0].text
        if option in ("-m", "--module") or (wrapper == "command" and option in ("-v", "-V")):
            break
        is_detached = is_detached or (wrapper in known.CONTAINERS and option in known.DETACHED)
        left = left[2:] if option in valued else left[1:]
        if option == "--":
            break
    left = left[known.PLACES.get(wrapper, 0) :]
    if left and left[0].text == "--":
        left = left[1:]
    return left, is_detached


def _is_program(wrapper: str, words: Sequence[Word]) -> bool:
    """`hatch run test` runs a script of that name, not the shell's `test`; `command -v` asks."""
    if not words:
        return False
    is_task = " " in wrapper and words[0].text in known.TRIVIAL
    is_question = wrapper == "command" and words[0].text.startswith("-")
    return not is_task and not is_question


def _make_call(words: Sequence[Word]) -> Call:
    texts = tuple(word.text for word in words)
    if not words[0].is_fixed:
        return Call(texts, is_open=True)
    name = clean_name(texts[0])
    if name in known.SHELLS:
        return _make_shell_call(words[1:], texts)
    if name == "eval":
        return _make_script_call(words[1:], texts)
    if name in known.FOREIGN or (name in known.REMOTE and len(texts) > 2):
        return Call(texts, is_open=True)
    if name in known.INTERPRETERS and any(_STARTS.search(text) for text in texts[1:]):
        return Call(texts, is_open=True)
    if name in ("python", "py") or texts[0] in ("-m", "--module"):
        return _make_module_call(texts)
    return Call(texts)


def _make_script_call(words: Sequence[Word], texts: tuple[str, ...]) -> Call:
    if not all(word.is_fixed for word in words):
        return Call(texts, is_open=True)
    return Call(texts, script=" ".join(word.text for word in words))


def _make_shell_call(words: Sequence[Word], texts: tuple[str, ...]) -> Call:
    """`bash -euo pipefail -c '…'`, a file with a script, or what it reads from elsewhere."""
    has_errexit = has_pipefail = is_given = False
    left = list(words)
    while left and left[0].text.startswith(("-", "+")) and left[0].text != "-":
        option = left.pop(0).text
        is_short = not option.startswith("--")
        has_errexit = has_errexit or (is_short and "e" in option)
        is_given = is_given or (is_short and "c" in option)
        if is_short and option.endswith("n"):
            return Call(texts)
        if is_short and option.endswith("o") and left:
            value = left.pop(0).text
            has_pipefail = has_pipefail or value == "pipefail"
            has_errexit = has_errexit or value == "errexit"
    if not left or left[0].text == "-":
        return Call(texts, is_open=True)
    if not is_given:
        return Call(tuple(word.text for word in left))
    if not left[0].is_fixed:
        return Call(texts, is_open=True)
    return Call(texts, left[0].text, has_errexit, has_pipefail)


def _make_module_call(texts: tuple[str, ...]) -> Call:
    """`python -W error -m pytest` is pytest; `python tool.py` is that script."""
    left = list(texts)
    if clean_name(left[0]) in ("python", "py"):
        left.pop(0)
    while left and left[0].startswith("-") and left[0] not in ("-m", "--module", "-c", "-"):
        option = left.pop(0)
        if option in ("-W", "-X"):
            left = left[1:]
    if left and left[0] in ("-m", "--module") and len(left) > 1:
        return Call(tuple(left[1:]))
    if left and _SCRIPT.fullmatch(left[0]):
        return Call(tuple(left))
    return Call(texts)


def clean_name(word: str) -> str:
    """Without its folder, its ending and its version."""
    path = word.replace("\\", "/")
    base = path.rsplit("/", 1)[-1] or word
    short = _ENDING.sub("", base)
    versioned = _VERSIONED.fullmatch(short)
    if versioned is not None:
        return versioned[1]
    return known.ALIASES.get(short, short)


# --- what it is -----------------------------------------------------------------------------------


def name_call(call: Call) -> str:
    """The program and what it was asked to do, for those that do many things."""
    name = call.name
    rest = _list_subcommands(call)
    if name in known.PACKAGE_MANAGERS:
        return " ".join([name, *_simplify_script(rest)[:1]])
    if name == "docker" and rest[:1] == ["compose"]:
        return " ".join([name, *rest[:2]])
    if name in known.TARGETED:
        return " ".join([name, *rest])
    if name in known.RUNNERS and rest[:1] == ["run"]:
        return " ".join([name, *rest[:2]])
    if (
        name in known.CHECKING
        or name in known.SUBCOMMANDS
        or name in ("ruff", "biome", "playwright")
    ):
        return " ".join([name, *rest[:1]])
    return name


def _list_subcommands(call: Call) -> list[str]:
    """Words that are neither options nor their values, nor settings, nor numbers."""
    valued = known.VALUED.get(call.name, ())
    names: list[str] = []
    left = list(call.arguments)
    while left:
        word = left.pop(0)
        if word == "--":
            break
        if word in valued:
            left = left[1:]
        elif not word.startswith(("-", "+")) and not word.isdecimal() and "=" not in word:
            names.append(word)
    return names


def _simplify_script(names: list[str]) -> list[str]:
    """`npm run test` and `npm t` are `npm test`."""
    if names[:1] in (["run"], ["run-script"]):
        names = names[1:]
    if names[:1] in (["t"], ["tst"]):
        return ["test"]
    return names


def is_check(call: Call) -> bool:
    """Whether it is made to find out if something is right: tests, builds, linters, types."""
    name = call.name
    rest = _list_subcommands(call)
    if name in known.PACKAGE_MANAGERS:
        return _is_telling(_simplify_script(rest)[:1])
    if name in known.TARGETED:
        return _is_telling(rest) or (name == "make" and not rest)
    if name in known.RUNNERS:
        return _is_telling(rest)
    if name in known.CHECKING:
        return _names_check(known.CHECKING[name], call.arguments)
    if name == "node":
        return "--test" in call.arguments or "--check" in call.arguments
    if name in known.SHELLS:
        return "-n" in call.arguments
    if _SCRIPT.fullmatch(call.words[0]) or "/" in call.words[0]:
        return name in known.CHECKS or _is_telling([name])
    return name in known.CHECKS


def _is_telling(names: Sequence[str]) -> bool:
    return any(_TELLING.search(name) for name in names)


def _names_check(wanted: tuple[str, ...], arguments: Sequence[str]) -> bool:
    plain = [word.rpartition(":")[2] for word in arguments[:6]]
    return any(word in wanted for word in (*arguments[:6], *plain))


def is_trivial(call: Call) -> bool:
    return call.name in known.TRIVIAL


def is_reader(call: Call) -> bool:
    """Whether what it prints says nothing about how it ended itself."""
    return call.name in known.READERS or is_trivial(call)


def may_answer(call: Call) -> bool:
    """Whether 1 may be its answer, not a failure."""
    name = call.name
    if name == "git":
        subcommands = _list_subcommands(call)[:1]
        is_asked = "--exit-code" in call.arguments or "--quiet" in call.arguments
        return any(word in known.ANSWERING_GIT for word in subcommands) or is_asked
    if name == "command":
        return True
    if name == "systemctl" or name == "jq":
        return "-e" in call.arguments or "is-active" in call.arguments
    return name in known.ANSWERING


def is_cmdlet(call: Call) -> bool:
    """Whether it is one of PowerShell's, which set no exit code."""
    return bool(_CMDLET.fullmatch(call.words[0]))


def is_watching(call: Call) -> bool:
    """Whether it goes on until it is stopped, so that its exit code says how it was stopped."""
    name = call.name
    rest = _list_subcommands(call)
    if name in known.WATCHERS or name == "watch":
        return True
    if name in known.PACKAGE_MANAGERS and _simplify_script(rest)[:1]:
        script = _simplify_script(rest)[0]
        if script.partition(":")[0] in known.SERVING or script.rpartition(":")[2] in known.SERVING:
            return True
    if name in known.WATCHING_IN and any(
        word in call.arguments for word in known.WATCHING_IN[name]
    ):
        return True
    if name == "docker" and "up" in rest:
        return not known.DETACHED.intersection(call.arguments)
    if name in ("next", "ng", "rails", "make", "vite") and any(
        word in known.SERVING for word in rest
    ):
        return True
    return any(_asks_to_watch(word) for word in call.arguments)


def _asks_to_watch(word: str) -> bool:
    option, _, value = word.partition("=")
    return option in known.WATCHING and value.casefold() not in known.NOT_WATCHING


def is_idle(call: Call) -> bool:
    """Whether it was asked to try nothing, or to count no failure."""
    if any(word.partition("=")[0] in known.IDLE_ANYWHERE for word in call.arguments):
        return True
    if not is_check(call):
        return False
    own = known.IDLE_IN.get(call.name, ())
    if call.name == "make" and any(_IDLE_MAKE.fullmatch(word) for word in call.arguments):
        return True
    return any(word in known.IDLE_IN_CHECKS or word in own for word in call.arguments)


def sets_idle(word: str) -> bool:
    """Whether a variable is set from which a program learns that it is to prove nothing."""
    name, _, value = word.partition("=")
    if name == "SHELL":  # with which make runs its lines
        return True
    if name not in known.OPTION_VARIABLES:
        return False
    is_make = name == "MAKEFLAGS" and any(letter in value.split(" ")[0] for letter in "niqt")
    options = value.split()
    is_named = any(option.partition("=")[0] in known.IDLE_ANYWHERE for option in options)
    return is_make or is_named or any(option in known.IDLE_IN_CHECKS for option in options)
