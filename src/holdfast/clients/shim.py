"""The command that clients start: a few lines of shell in the data folder.

What is written into a client's settings must stay the same for ever, and must find the program
wherever the client was started from. So the settings name this file, and only this file knows where
the program is; `init` writes it again when that changes. Where there is no program any more it says
nothing and succeeds; to a client that wants its tools it is a server that has none, because every
client reports a server that does not answer.

A program may also be there and not start, because its interpreter or its package is gone. After
`exec` it is too late to try another one, and the shell must not stay above the program, because
hooks register the process above them. So the interpreter is looked for before (also the one that
pip names in a second line, where its path is long), and a server is first asked for its version.

A hook is what an agent waits for. The program that pip writes loads `re` before it calls ours, so a
hook is started by the interpreter itself, where that is known to find the same package.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping

import holdfast
from holdfast.clients.setup import MARK, quote_for_shell
from holdfast.ground import files

PROGRAM = "holdfast"
SHIM_BYTES = 64 << 10
# What decides whose data it is and where.
# Not the token of a team's server: it stands in no file but its own.
CARRIED = (
    "HOLDFAST_DATABASE",
    "HOLDFAST_DEVELOPER",
    "HOLDFAST_HOME",
    "HOLDFAST_SERVER",
    "HOLDFAST_WORKSPACE",
)
_SETTING = """\
[ -n "${name}" ] || {name}={value}
export {name}
"""
# `-P`: nothing is imported from the folder that a client was started in.
_START = "import sys; from holdfast.__main__ import main; sys.exit(main())"
_DIRECT = """\
[ "$verb" = hook ] && [ -x {python} ] && [ -f {package} ] && exec {python} -P -c {start} "$@"
"""
_TEXT = """\
#!/bin/sh
# {mark}. Clients start this file; it finds the program.
{settings}verb=$1
{direct}\
program=
try() {{
  [ -z "$program" ] && [ -f "$1" ] && [ -x "$1" ] || return
  [ "$1" -ef "$0" ] && return
  first= second=
  {{ IFS= read -r first && IFS= read -r second; }} 2>/dev/null <"$1"
  case $first in '#!'*) can_start "${{first#??}}" || return ;; esac
  case $second in "'''exec' "*) can_start "${{second#*' '}}" || return ;; esac
  if [ "$verb" = mcp ]; then "$1" --version </dev/null >/dev/null 2>&1 || return; fi
  program=$1
}}
can_start() {{
  path=${{1#"${{1%%[! ]*}}"}}
  case $path in
    '"'*) path=${{path#?}}; path=${{path%%'"'*}} ;;
    "'"*) path=${{path#?}}; path=${{path%%"'"*}} ;;
    *) path=${{path%%[[:space:]]*}} ;;
  esac
  [ -x "$path" ]
}}
try {program}
set -f
IFS=:
for folder in $PATH; do
  case $folder in /*) try "$folder/{name}" ;; esac
done
unset IFS
[ -n "$program" ] && exec "$program" "$@"
[ "$verb" = mcp ] || exit 0
{server}"""
# No command but those of the shell: nothing else is sure to be there. It has a prompt, which no
# model is told of, because a server that has nothing at all is an error to some clients.
_SERVER_WITHOUT_TOOLS = """\
while IFS= read -r line; do
  case $line in *'"id":'*) ;; *) continue ;; esac
  id=${line##*'"id":'}
  id=${id%%[,\\}]*}
  version=${line#*'"protocolVersion":"'}
  case $line in
    *'"initialize"'*) result='"protocolVersion":"'${version%%'"'*}'",'
      result=$result'"capabilities":{"tools":{},"prompts":{}},'
      result=$result'"serverInfo":{"name":"holdfast","version":"0"}' ;;
    *'"tools/list"'*) result='"tools":[]' ;;
    *'"prompts/list"'*) result='"prompts":[{"name":"holdfast","description":"not installed"}]' ;;
    *'"prompts/get"'*) result='"messages":[]' ;;
    *) result= ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":{%s}}\\n' "$id" "$result"
done
exit 0
"""


def find_shim(home: str) -> str:
    return os.path.join(home, "bin", PROGRAM)


def write_shim(
    home: str, program: str, settings: Mapping[str, str], python: str | None = None
) -> bool:
    """Whether it had to be written.

    `settings` are ours of the environment of `init`: some clients start a program without them.
    `python`: the interpreter that starts hooks.
    """
    path = find_shim(home)
    text = make_shim(program, settings, python).encode()
    if files.find_bytes(path, max_bytes=SHIM_BYTES) == text and os.access(path, os.X_OK):
        return False
    files.private_folder(os.path.dirname(path))
    files.write_atomic(path, text, mode=0o700)
    return True


def make_shim(program: str, settings: Mapping[str, str], python: str | None = None) -> str:
    lines = [
        _SETTING.format(name=name, value=quote_for_shell(settings[name]))
        for name in CARRIED
        if settings.get(name)
    ]
    return _TEXT.format(
        mark=MARK,
        settings="".join(lines),
        direct=_make_direct(python) if python else "",
        program=quote_for_shell(program),
        name=PROGRAM,
        server=_SERVER_WITHOUT_TOOLS,
    )


def _make_direct(python: str) -> str:
    return _DIRECT.format(
        python=quote_for_shell(python),
        package=quote_for_shell(holdfast.__file__),
        start=quote_for_shell(_START),
    )


def remove_shim(home: str) -> None:
    path = find_shim(home)
    for remove, what in ((os.unlink, path), (os.rmdir, os.path.dirname(path))):
        try:
            remove(what)
        except OSError:
            return


def find_program(home: str, search_path: str | None) -> str | None:
    """The program that is running, by the name that an upgrade keeps."""
    typed = os.path.abspath(sys.argv[0])
    beside_python = os.path.join(os.path.dirname(sys.executable), PROGRAM)
    candidates = [typed, shutil.which(PROGRAM, path=search_path), beside_python]
    shim = find_shim(home)
    for candidate in candidates:
        if candidate and _is_program(candidate) and not _is_same(candidate, shim):
            return os.path.abspath(candidate)
    return None


def find_python(program: str) -> str | None:
    """The one that is running, if it is beside the program and finds this package on its own.

    It does not where the package is inside of the program, or is named by a variable.
    """
    python = sys.executable
    folder = os.path.dirname(os.path.realpath(program))
    if not python or not _is_same(os.path.dirname(python), folder):
        return None
    ask = [python, "-P", "-c", "import holdfast; print(holdfast.__file__, end='')"]
    environment = {name: os.environ[name] for name in os.environ if not name.startswith("PYTHON")}
    try:
        done = subprocess.run(
            ask, cwd="/", env=environment, capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return python if done.stdout == holdfast.__file__ else None


def _is_program(path: str) -> bool:
    is_named_so = os.path.basename(path) == PROGRAM
    return is_named_so and os.path.isfile(path) and os.access(path, os.X_OK)


def _is_same(path: str, other: str) -> bool:
    return os.path.exists(other) and os.path.samefile(path, other)
