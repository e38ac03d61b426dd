"""What an edit adds: lines of code, the names in them, and the packages they bring. Pure.

Comments, documentation strings and prose are left out: a comment that names a package adds none.
No language is parsed; the few forms of an import and of a list of dependencies are enough.
"""

from __future__ import annotations

import re

from holdfast.ground.patterns import compile_later
from holdfast.notices.words import make_set, normalise_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.notices.model import Edit

LINES = 5_000  # of one edit that are looked at
LINE_CHARS = 500
PROSE = ("md", "markdown", "rst", "txt", "adoc", "org", "tex", "csv", "log", "svg", "ipynb")
HASH = make_set(
    "py pyi rb sh bash zsh yaml yml toml cfg ini mk tf dockerfile makefile gemfile conf r pl ex exs"
    " nix jl in"
)
RUST_OWN = ("crate", "self", "super", "std", "core")
DASHES = ("sql", "lua", "hs", "elm")
SCRIPTS = ("sh", "bash", "zsh", "yml", "yaml", "dockerfile", "makefile", "mk")
LISTS = ("requirements", "constraints", "pipfile", "environment")  # how their names begin
PARTS = 12

_BLOCKS = {"/*": "*/", "<!--": "-->", '"""': '"""', "'''": "'''"}
_OPENS = compile_later(r"/\*|<!--|\"\"\"|'''")
_STRING = compile_later(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'")
_NAME = compile_later(r"[A-Za-z_]\w*")
_DEFINES = compile_later(
    r"\b(?:def|class|function|func|fn|struct|enum|trait|interface|type|const|let|var|val|module)"
    r"\s+(?:\([^)]*\)\s*)?\*?([A-Za-z_]\w*)|^\s*(?:async\s+|static\s+|public\s+|private\s+)*"
    r"([A-Za-z_]\w*)\s*(?:\([^)]*\)\s*\{|=(?!=))"
)
_PYTHON = compile_later(r"^\s*(?:from\s+([A-Za-z_]\w*)[\w.]*\s+import\b|import\s+(.+))")
_SCRIPT = compile_later(
    r"^\s*(?:import|export)\b[^'\"]*['\"]([^'\"]+)['\"]|\bfrom\s+['\"]([^'\"]+)['\"]"
    r"|\b(?:require|import)\(\s*['\"]([^'\"]+)['\"]\s*\)"
)
_GO = compile_later(r"^\s*(?:import\s+)?(?:[\w.]+\s+)?\"([\w.-]+(?:/[\w.-]+)+)\"\s*$")
_RUST = compile_later(r"^\s*(?:pub\s+)?(?:use|extern\s+crate)\s+([a-z_]\w*)")
_JVM = compile_later(r"^\s*import\s+(?:static\s+)?([a-z]\w*(?:\.\w+)+)")
_RUBY = compile_later(r"^\s*(?:require|gem)\s+['\"]([\w./-]+)['\"]")
_SHARP = compile_later(r"^\s*using\s+(?:static\s+)?([A-Z]\w*(?:\.\w+)*)\s*;")
_PHP = compile_later(r"^\s*use\s+([A-Z]\w*(?:\\\w+)+)")
_INCLUDE = compile_later(r"^\s*#\s*include\s*[<\"]([\w./-]+)[>\"]")
_INSTALL = compile_later(
    r"\b(?:pip3?|uv|poetry|npm|pnpm|yarn|bun|cargo|gem|go|apt-get|apt|apk|brew|composer)"
    r"\s+(?:pip\s+)?(?:install|add|get|i|require)\s+(.+)"
)
_IMAGE = compile_later(r"^\s*(?:-\s*)?(?:image:|FROM)\s+['\"]?([\w./-]+)")
_JSON_PAIR = compile_later(
    r"\"(@?[\w./-]+)\"\s*:\s*\"(?:[\^~<>=*v]|\d|workspace:|npm:|latest|git|file:|https?:)[^\"]*\""
)
_REQUIREMENT = compile_later(r"^\s*([A-Za-z][\w.-]*)(?:\[[\w, -]*\])?\s*(?:[<>=!~;@]|$)")
_QUOTED_REQUIREMENT = compile_later(
    r"['\"]([A-Za-z][\w.-]*)(?:\[[\w, -]*\])?\s*(?:(?:[<>=!~;@]=?)[^'\"]*)?['\"]"
)
_TOML_KEY = compile_later(
    r"^\s*['\"]?([A-Za-z][\w-]*)['\"]?(?:\.version)?\s*=\s*(?:['\"][\^~<>=*\d]|\{)"
)
_GO_MOD = compile_later(r"^\s*(?:require\s+)?([\w.-]+\.[\w.-]+/[\w./-]+)\s+v\d")
_XML = compile_later(
    r"<artifactId>\s*([\w.-]+)\s*</artifactId>|<PackageReference\s+Include=\"([\w.]+)\""
)
_GRADLE = compile_later(r"['\"]([\w.-]+):([\w.-]+):[^'\"]+['\"]")
_AFFIX = compile_later(
    r"^(?:aio|io|py|node|go|lib|async|django|flask)-?(?=\w{3})|(?<=\w{3})-?(?:js|py|rs|lib)$"
)
IMPORTS = {
    **dict.fromkeys(make_set("js jsx ts tsx mjs cjs mts cts vue svelte"), _SCRIPT),
    **dict.fromkeys(("java", "kt", "kts", "scala", "groovy"), _JVM),
    **dict.fromkeys(("c", "h", "cc", "cpp", "hpp"), _INCLUDE),
    **dict.fromkeys(("rb", "rake"), _RUBY),
    "go": _GO,
    "rs": _RUST,
    "cs": _SHARP,
    "php": _PHP,
}
# Keys of these files that are not dependencies.
_NOT_PACKAGES = make_set(
    "name version edition description license readme python requires node npm engines build"
    " test start dev lint path package"
)


class AddedCode:
    """What is new in one file."""

    __slots__ = ("declared", "defined", "lines", "names", "packages", "touched")

    def __init__(self, edit: Edit):
        kind = find_kind(edit.path)
        code = list(_list_code(edit.text, kind))
        self.lines = [line for whole, line in code if whole in edit.added and line.strip()]
        bare = [_STRING.sub('""', line) for line in self.lines]
        self.names = {name for line in bare for name in _NAME.findall(line)}
        self.defined = _list_defined([line for _, line in code])
        self.touched = self.names | set(_NAME.findall(edit.removed))
        before = [line for _, line in _list_code(edit.removed, kind)]
        known = {*_list_packages(edit.path, before), *_list_declared(edit.path, before)}
        declared = _list_declared(edit.path, self.lines)
        # Another version of what was there is not new.
        self.declared = [each for each in dict.fromkeys(declared) if each not in known]
        imported = dict.fromkeys(_list_packages(edit.path, self.lines))
        self.packages = [each for each in imported if each not in known] + self.declared


def find_kind(path: str) -> str:
    """By its ending, or by its name where it has none."""
    name = path.rpartition("/")[2].casefold()
    return name.rpartition(".")[2]


def is_prose(path: str) -> bool:
    return find_kind(path) in PROSE and not _is_list(path)


def list_forms(package: str) -> list[str]:
    """What a package may be known as: "github.com/redis/go-redis/v9" is redis."""
    whole = normalise_name(package.lstrip("@"))
    parts = [part for part in re.split(r"[-/.:@\\]", whole) if part][:PARTS]
    forms = [whole, *parts]
    forms += [_AFFIX.sub("", part) for part in [whole, *parts]]
    return [form for form in dict.fromkeys(forms) if len(form) > 1]


def find_declared(name: str, text: str) -> set[str]:
    """What a list of dependencies has, in every form of its names."""
    lines = [line for _, line in _list_code(text, find_kind(name))]
    return {form for package in _list_declared(name, lines) for form in list_forms(package)}


# --- lines ----------------------------------------------------------------------------------------


def _list_code(text: str, kind: str) -> Iterator[tuple[str, str]]:
    """Each line as it is, and without what is no code in it."""
    if kind in PROSE and kind != "txt":
        return
    closing = None
    for number, whole in enumerate(text.split("\n")):
        if number == LINES:
            return
        line, closing = _leave_out_blocks(whole[:LINE_CHARS], closing)
        yield whole, _leave_out_comment(line, kind)


def _leave_out_blocks(line: str, closing: str | None) -> tuple[str, str | None]:
    """Comments and texts over several lines."""
    kept = ""
    while line:
        if closing is not None:
            _, found, line = line.partition(closing)
            closing = None if found else closing
            continue
        opens = _OPENS.search(line)
        if opens is None:
            break
        kept += line[: opens.start()] + " "
        closing, line = _BLOCKS[opens.group()], line[opens.end() :]
    return kept + line, closing


def _leave_out_comment(line: str, kind: str) -> str:
    if kind in HASH:
        mark = "#"
    elif kind in DASHES:
        mark = "--"
    else:
        mark = "//"
    if mark not in line:
        return line
    # A mark inside a text is none: the texts are blanked to find it.
    blanked = _STRING.sub(lambda found: " " * len(found.group()), line)
    at = blanked.find(mark)
    return line if at < 0 else line[:at]


def _list_defined(lines: list[str]) -> set[str]:
    found = [match.groups() for line in lines for match in _DEFINES.finditer(line)]
    return {name for names in found for name in names if name}


# --- packages -------------------------------------------------------------------------------------


def _list_packages(path: str, lines: list[str]) -> Iterator[str]:
    """What is imported, installed or run as an image."""
    kind = find_kind(path)
    is_script = kind in SCRIPTS
    for line in lines:
        yield from _list_imported(kind, line)
        if is_script:
            yield from _list_of_image(line)


def _list_declared(path: str, lines: list[str]) -> Iterator[str]:
    """What a list of dependencies names."""
    name = path.rpartition("/")[2].casefold()
    kind = find_kind(path)
    for line in lines:
        for package in _find_declared(name, kind, line):
            if normalise_name(package) not in _NOT_PACKAGES:
                yield package


def _list_imported(kind: str, line: str) -> Iterator[str]:
    if kind in ("py", "pyi"):
        yield from _list_python(line)
        return
    pattern = IMPORTS.get(kind)
    for name in _keep_foreign(pattern, line) if pattern else ():
        if kind != "rs" or name not in RUST_OWN:
            yield name


def _list_python(line: str) -> Iterator[str]:
    found = _PYTHON.match(line)
    if found is None:
        return
    if found[1]:
        yield found[1]
        return
    for part in found[2].split(","):
        name = part.strip().partition(" ")[0].partition(".")[0]
        if name.isidentifier():
            yield name


def _keep_foreign(pattern: re.Pattern[str], line: str) -> Iterator[str]:
    """What is imported by a relative path belongs to the repository."""
    for found in pattern.finditer(line):
        name = next((group for group in found.groups() if group), "")
        if name and not name.startswith((".", "/", "~/", "@/", "#")):
            yield name


def _is_list(path: str) -> bool:
    return path.rpartition("/")[2].casefold().startswith(LISTS)


def _find_declared(name: str, kind: str, line: str) -> Iterator[str]:
    found: Iterator[str] = iter(())
    if name in ("package.json", "composer.json", "deno.json", "bower.json"):
        found = _keep_foreign(_JSON_PAIR, line)
    elif name.startswith(LISTS) and kind in ("txt", "in", "pip"):
        found = _keep_foreign(_REQUIREMENT, line)
    elif name in ("pyproject.toml", "pipfile", "cargo.toml", "setup.py", "setup.cfg"):
        found = _list_of_project(name, line)
    elif name == "go.mod":
        found = _keep_foreign(_GO_MOD, line)
    elif name == "gemfile" or kind == "gemspec":
        found = _keep_foreign(_RUBY, line)
    elif name in ("pom.xml", "packages.config") or kind == "csproj":
        found = _keep_foreign(_XML, line)
    elif name.startswith("build.gradle"):
        found = (f"{group}.{artifact}" for group, artifact in _GRADLE.findall(line))
    return found


def _list_of_project(name: str, line: str) -> Iterator[str]:
    yield from _keep_foreign(_TOML_KEY, line)
    if name == "setup.cfg":
        yield from _keep_foreign(_REQUIREMENT, line)
    elif name != "cargo.toml" and not re.match(r"\s*[\w-]+\s*=\s*['\"]", line):
        yield from _keep_foreign(_QUOTED_REQUIREMENT, line)


def _list_of_image(line: str) -> Iterator[str]:
    yield from _keep_foreign(_IMAGE, line)
    for found in _INSTALL.finditer(line):
        words = [word for word in found[1].split() if not word.startswith("-")]
        for word in words[:PARTS]:
            if word in ("&&", "||", ";", "\\", "|"):
                break
            yield re.split(r"[=<>@\[]", word.lstrip("@"), maxsplit=1)[0]
