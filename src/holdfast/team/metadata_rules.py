"""What is metadata: words about work, and neither the work itself nor how it was talked about.

Diffs, code, the contents of files, what programs print, transcripts, places on a machine and
secrets are found by their form. A developer's prose is full of signs and names, so one sign alone
decides only where prose never has it. What a reader does not see, a pattern does not see either.
"""

from __future__ import annotations

import itertools

from holdfast.ground.frozen import dataclass
from holdfast.ground.patterns import compile_later
from holdfast.team.code_lines import find_code, find_contents, mask_inline
from holdfast.team.errors import NotMetadataError, SecretFoundError
from holdfast.team.margins import remove_margins
from holdfast.team.path_patterns import ABSOLUTE_PATHS, read_paths
from holdfast.team.plain import read_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern

EXCERPT_CHARS = 40

_MARGIN = r"[ \t>*•-]{0,12}(?:\d{1,2}[.)] )?"
_FENCES = (
    compile_later(rf"(?m)^{_MARGIN}(?:`{{3,}}|~{{3,}})"),
    compile_later(r"`{3}[^`\n]+`{3}"),
)
_DIFFS = (
    compile_later(rf"diff --(?:git|cc|combined) \"?[\w.]+/|(?m:^{_MARGIN}diff (?:--git|-\w+) \S)"),
    compile_later(r"@@+ {0,2}-\d+(?:,\d+)? \+\d+(?:,\d+)? {0,2}@@"),
    compile_later(rf"(?m)^{_MARGIN}(?:---|\*\*\*) \S[^\n]*\n{_MARGIN}(?:\+\+\+|---) \S"),
    compile_later(rf"(?m)^{_MARGIN}\*\*\* (?:Begin Patch|(?:Update|Add|Delete) File:|\d+,\d+ \*)"),
    compile_later(rf"(?m)^{_MARGIN}(?:index [0-9a-f]{{7,40}}\.\.[0-9a-f]|Index: \S+\n={{10}})"),
    compile_later(
        rf"(?m)^{_MARGIN}(?:similarity index \d{{1,3}}%$|rename from \S+\n{_MARGIN}rename to )"
    ),
    compile_later(rf"(?m)^{_MARGIN}(?:new file|deleted file|old|new) mode \d{{6}}"),
    compile_later(r"(?m)^[ \t]{0,8}(?:<{7}|>{7}) \S"),
    compile_later(r"(?m)^\d+(?:,\d+)?[acd]\d+(?:,\d+)?\n[<>] "),
)
_PEOPLE = r"user|human|me|you|benutzer|nutzer|usuario|utilisateur|ユーザー|用户|사용자|пользователь"
_MACHINES = (
    r"assistant|ai|claude|chatgpt|gpt[\w.-]{0,8}|codex|gemini|copilot|bot|agent|llm|assistent|asistente"
    r"|アシスタント|助手|어시스턴트|ассистент"
)


def _speaker(names: str) -> Pattern[str]:
    """A line that begins with who speaks: `User:`, `**User**:`, `## User`, `[user]`, `<user>`."""
    return compile_later(
        rf"(?im)^[ \t>#*_•-]{{0,12}}(?:{names})(?: said)?[ \t*_]{{0,4}}[:>]"
        rf"|^[ \t>-]{{0,8}}#{{1,6}} [*_]{{0,2}}(?:{names})[*_]{{0,2}}[ \t]*$"
        rf"|^[ \t>-]{{0,8}}[\[<](?:{names})[\]>]|^[ \t]*>+ ?(?:{names})[ \t]*$"
    )


# Who speaks is any name, if the other is a machine and they speak to each other.
_TURN = compile_later(
    r"(?m)^[ \t>*_•-]{0,12}(\w[\w. -]{0,30})[*_]{0,3}: *[*_]{0,3} *(\S[^\n]{0,400})"
)
_MACHINE_NAME = compile_later(rf"(?i)(?:the )?(?:{_MACHINES}|opencode|model)(?: [\w.-]{{1,12}})?$")
_FIELD_NAME = compile_later(
    r"(?i)(?:next|notes?|open|done|todo|block(?:ed|ers?)|status|results?|decisions?|questions?|risks?|summary"
    r"|title|branch|repo|owner|reviewer|cause|reason|fix|why|what|how|when)\b"
)
_TO_ANOTHER = compile_later(
    r"(?i)\?|\b(?:i|i'm|i'll|i've|you|your|please|thanks|thank|sure|yes|okay|can you|let me"
    r"|ich|du|bitte|danke|ja)\b"
)

_PERSON, _MACHINE = _speaker(_PEOPLE), _speaker(_MACHINES)
_PROMPT, _RESPONSE = _speaker("prompt"), _speaker("response|completion|reply")
_TALKS = (
    compile_later(r"(?im)^[ \t>*_-]{0,12}(?:human|assistant)[*_]{0,3}: *[*_]{0,3} *\S"),
    compile_later(r"<\|(?:im_start|im_end|user|assistant|system|eot_id|start_header_id)\|>"),
    compile_later(r"\[INST\]|<<SYS>>|</?(?:system-reminder|function_calls|invoke|command-name)\b"),
    compile_later(r"(?i)</(?:user|human)>\s{0,8}<(?:assistant|ai)>"),
    compile_later(r"(?m)^[ \t>-]{0,8}[⏺⎿]"),
    compile_later(r"(?im)^\W{0,4}role: (?:user|assistant|system)[ \t]*\n[ \t-]{0,8}content:"),
    compile_later(
        r"(?im)(?:^|prompt: |system: )\W{0,4}you are (?:an? |the )?[\w ,/-]{0,60}"
        r"\b(?:assistant|agent|engineer|expert|model|ai|reviewer|developer|programmer)\b"
    ),
    compile_later(r"(?:^\[\d{1,2}:\d\d(?::\d\d)?\] [^\n:]{1,40}: [^\n]*(?:\n|\Z)){3}", 8),
    compile_later(r"(?m)^<[\w.-]{1,30}> \S[^\n]*\n<[\w.-]{1,30}> \S"),
)
_ROLE = compile_later(
    r"[\"'](?:role|type)\\{0,4}[\"']\s{0,8}:\s{0,8}\\{0,4}[\"']"
    r"(?:user|assistant|system|tool|developer|human|model|tool_use|tool_result)\\{0,4}[\"']"
)
_SAID = compile_later(r"[\"'](?:content|parts|text|message|input|tool_calls)\\{0,4}[\"']\s{0,8}:")
_SHELL = compile_later(
    r"[ \t]{0,4}(?:\$ [a-zA-Z./]|[❯➜] +\S|[\w.-]+@[\w.-]+[:~ ][^\n$#]{0,80}[$#] ?\S"
    r"|PS [^>\n]{0,80}> ?\S|(?:>>>|\.\.\.) \S|(?:In|Out) ?\[\d+\]:"
    r"|(?:mysql|sqlite|node|redis[^>\n]{0,40})> ?\S|\w+[=-][#>] \S)"
)
_PRINTED = compile_later(r">|[ \t]+\d+ \w|\d+ (?:passed|failed|tests?)\b|(?i:ok|pass|fail)\b")
_NEW_PART = compile_later(r"[ \t]*(?:$|[-*+•] |#|\d{1,2}[.)] )")


@dataclass(frozen=True)
class Problem:
    reason: str
    line: int  # from 1
    excerpt: str


def check_metadata(field: str, text: str) -> None:
    """Refuse a text that is more than metadata, and one with a secret, whatever it is a part of."""
    plain = read_plain(text)
    check_secrets(field, text, plain)
    if problem := find_problem(plain):
        raise NotMetadataError(field, problem.reason, problem.line, problem.excerpt)


def check_secrets(field: str, text: str, plain: str) -> None:
    """As it was sent and as it reads: a secret with an invisible character in it is one too."""
    from holdfast.ground.redaction import find_secrets  # patterns of fifty providers

    for version in dict.fromkeys((text, plain)):
        for secret in find_secrets(version):
            line = version.count("\n", 0, secret.start) + 1
            raise SecretFoundError(field, secret.rule, line)


def find_problem(plain: str) -> Problem | None:
    """The first kind of content in a text as a reader sees it, also behind the margin of a listing.

    A margin hides no path, and `GET` before a route is not one.
    """
    lines = plain.split("\n")
    found = _find_content(lines, ABSOLUTE_PATHS)
    if found is None:
        bare = remove_margins(lines)
        found = _find_content(bare, ()) if bare != lines else None
    return _make_problem(found[0], lines, found[1]) if found else None


def _find_content(lines: list[str], paths: tuple[Pattern[str], ...]) -> tuple[str, int] | None:
    """The reason and the number of the line, from 0, in the order of what tells most."""
    plain = "\n".join(lines)
    masked = "\n".join(map(mask_inline, lines))
    for reason, patterns, where in (
        ("a diff", _DIFFS, masked),
        ("code", _FENCES, plain),
        ("a transcript", _TALKS, masked),
        ("an absolute path", paths, read_paths(plain)),
    ):
        at = _search(patterns, where)
        if at is not None:
            return reason, where.count("\n", 0, at)
    number = _find_talk(masked)
    if number is not None:
        return "a transcript", number
    return find_contents(masked, lines) or find_code(lines)


def find_absolute_path(plain: str) -> bool:
    return _search(ABSOLUTE_PATHS, read_paths(plain)) is not None


def _search(patterns: tuple[Pattern[str], ...], text: str) -> int | None:
    """Where the first that is found begins; one that begins a line counts from its line."""
    for pattern in patterns:
        if found := pattern.search(text):
            return found.start()
    return None


def _find_talk(text: str) -> int | None:
    """The line, from 0, of a conversation: two who speak, messages of an API, a shell."""
    for one, other in ((_PERSON, _MACHINE), (_PROMPT, _RESPONSE)):
        first = one.search(text)
        if first and other.search(text):
            return text.count("\n", 0, first.start())
    turn = _find_turn(text)
    if turn is not None:
        return turn
    role = _ROLE.search(text)
    if role and _SAID.search(text):
        return text.count("\n", 0, role.start())
    return _find_shell(text.split("\n"))


def _find_turn(text: str) -> int | None:
    """The line, from 0, where a person and an agent of any names speak to each other."""
    turns = [turn for turn in _TURN.finditer(text) if not _FIELD_NAME.match(turn[1])]
    for one, other in itertools.pairwise(turns):
        machines = [_MACHINE_NAME.match(turn[1]) is not None for turn in (one, other)]
        is_talk = _TO_ANOTHER.search(one[2]) and _TO_ANOTHER.search(other[2])
        if any(machines) and not all(machines) and is_talk:
            return text.count("\n", 0, one.start())
    return None


def _find_shell(lines: list[str]) -> int | None:
    """A command with what it printed, or two commands; one alone says how to do something."""
    prompts = [number for number, line in enumerate(lines) if _SHELL.match(line)]
    if len(prompts) > 1:
        return prompts[0]
    for number in prompts:
        after = lines[number + 1 : number + 2]
        if after and not _NEW_PART.match(after[0]):
            return number
        beyond = lines[number + 2 : number + 3]
        if beyond and _PRINTED.match(beyond[0]):
            return number
    return None


def _make_problem(reason: str, lines: list[str], number: int) -> Problem:
    text = " ".join(lines[number].split())
    beginning = text[:EXCERPT_CHARS].replace("`", "'")
    return Problem(
        reason, number + 1, ascii(beginning) if not beginning.isprintable() else beginning
    )
