"""Where a text names a place on somebody's machine.

`/api/state` is a route and `/home/ana/x` is a path: they differ by the name of the first folder, or
by the ending of the last one. A route that follows its method is a route whatever it is called.
A path reads the same with the escapes of an address or of JSON.
"""

from __future__ import annotations

from holdfast.ground.patterns import compile_later

_ROOTS = (
    r"(?:home|etc|tmp|var|usr|opt|root|srv|mnt|proc|sys|nix|snap|boot|bin|sbin|Users|Volumes"
    r"|Applications|Library|cygdrive)/[\w.]"
    r"|dev/(?!(?:null|zero|u?random|stdin|stdout|stderr|tty)\b)\w"
    r"|private/(?:var|tmp|etc)\b|lib(?:32|64)?/(?:modules|systemd|x86_64|aarch64)"
    r"|run/(?:secrets|user|docker|systemd|lock)\b|[a-z]/(?:Users|home|Windows|Program)\b"
    r"|github/workspace\b|jenkins/workspace\b|gnu/store/|storage/(?:emulated|sdcard)|volume\d{1,2}/\w"
)
# Folders of a machine and routes too: a file in them tells, but for one that is served.
_SHARED_ROOTS = "workspaces?|data|storage|builds|work|jenkins"
_SERVED = "json|geojson|html?|xml|css|js|csv|pdf|png|jpe?g|gif|svg|webp|ico|zip"
# Of programs, and of what a program keeps: a route seldom ends like that.
_ENDINGS = (
    "py|pyi|ipynb|ts|tsx|jsx|mjs|go|rs|java|kt|rb|c|cc|cpp|h|hpp|cs|swift|sh|bash|zsh|sql|toml|lock|log|env|db"
    "|sqlite3?|pem|key|cfg|ini|conf|vue|svelte|scala|exs?|erl|hs|lua|pl|tf|patch|diff|bak"
)
# No letter of another script, and no sign such as emoji, which stand in names of files.
_NOT_BEYOND = r"\x00-\x7f\u0080-\u00bf\u2000-\u206f\u3000-\u3004\u3008-\u3020\uff00-\uffef"
# Of these some are written without spaces, so that a path may follow a word at once: 见/opt/app
_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0003ffff"
)
ABSOLUTE_PATHS = (
    compile_later(
        # not after a name, a dot or a closing bracket: then it is the rest of a longer path
        rf"(?<![A-Za-z0-9_./)\]}}*~])(?<![^{_NOT_BEYOND}{_UNSPACED}])"
        r"(?<!\w>)(?<!GET )(?<!PUT )(?<!POST )(?<!HEAD )"
        r"(?<!PATCH )(?<!DELETE )(?<!GET `)(?<!PUT `)(?<!POST `)"
        rf"/(?:{_ROOTS})"
    ),
    compile_later(
        rf"(?<![A-Za-z0-9_./)\]}}*~>@+-])(?<![^{_NOT_BEYOND}])/(?:[\w.@+-]{{1,64}}/){{1,24}}"
        rf"[\w.@+-]{{1,80}}\.(?:{_ENDINGS})(?![\w/])"
    ),
    compile_later(
        rf"(?<![A-Za-z0-9_./)\]}}*~>@+-])(?<![^{_NOT_BEYOND}])"
        rf"/(?:{_SHARED_ROOTS})/(?:[\w.@+-]{{1,64}}/){{0,24}}[\w@+-]{{1,80}}\.(?!(?:{_SERVED})\b)[a-z]\w{{0,7}}(?![\w/])"
    ),
    # but not a class of characters after a colon: `t:\d+`
    compile_later(
        r"(?<![A-Za-z0-9\\])[A-Za-z]:(?!\\[bBdDsSwWnt](?:[+*?{)\]]|$))[\\/]{1,4}[\w.%$~]"
    ),
    # a folder of a drive, from where the shell stands there: `D:projects\notes`
    compile_later(r"(?<![A-Za-z0-9\\])[A-Z]:[\w.$-]{1,64}\\(?![nrt]\b)\w"),
    compile_later(
        r"(?<![\\\w])\\{2,4}[\w.$-]{2,64}\\{1,2}(?:[A-Za-z]\$|[\w.$-]{2})"
    ),
    compile_later(r"(?<![\w\\])\\{2,4}[?.]\\{1,2}[\w.$-]"),
    # a share: its first name has no dot, as the host of an address has one
    compile_later(r"(?<![\w:/.*\\\"'`])//[A-Za-z][\w-]{0,63}/(?:[\w.$@+-]{1,64}/){1,24}[\w.@+-]"),
    compile_later(r"\b(?:cd|pushd|chdir) [\"']?/\w"),
    compile_later(r"(?<![\w/.~^@])~(?:root)?[/\\][\w.$]"),
    # the folder of another account, by a file in it: `~half/year` is a figure
    compile_later(r"(?<![\w/.~^@])~[a-z][\w-]{0,31}/(?:[\w.@+-]{1,64}/){0,24}[\w@+-]{1,80}\.[a-z]\w{0,7}\b"),
    compile_later(r"\$(?:HOME\b|\{HOME\})[/\\]|(?i:%(?:USERPROFILE|APPDATA|LOCALAPPDATA|TEMP)%)"),
    compile_later(
        r"(?i)\b(?:smb|cifs|nfs|afp)://[\w@]"
        rf"|\b(?:sftp|ssh|scp|vscode-remote)://[\w@.:+-]{{1,128}}/(?:(?-i:{_ROOTS})|data/|storage/)"
    ),
    compile_later(r"(?i)\bfile:/{1,3}[\w.~%]|\b(?:vscode|vscode-insiders|cursor|windsurf|zed)://file/"),
)  # fmt: skip

# A name with more than plain letters, between two slashes and after another name. A word that joins
# two paths is none: `src/和/home/ana`.
_STEP = compile_later(
    rf"(?<=[\w.)\]}}*]/)(?!(?:[和与及或跟と및]|[A-Za-z0-9_.@+-]{{1,64}})/)"
    rf"(?:[^\s{_NOT_BEYOND}]|(?=[{_NOT_BEYOND}])[\w.@+!#?-]){{1,64}}(?=/)"
)
_ESCAPED = compile_later(r"\\/|%(?:25){0,3}(?:2[fF]|3[aA]|5[cC])")
_MEANS = {"/": "/", "f": "/", "a": ":", "c": "\\"}


def read_paths(plain: str) -> str:
    """As the patterns read it: what is a name inside of a path is a name of ASCII letters."""
    return _STEP.sub(lambda step: "x" * len(step[0]), unescape_paths(plain))


def unescape_paths(plain: str) -> str:
    """On as many lines: no line end is read."""
    return _ESCAPED.sub(lambda escape: _MEANS[escape[0][-1].lower()], plain)
