"""What a secret looks like: a provider's prefix or a fixed structure first, then a name that says
what its value is.

A high entropy alone is not a rule: hashes, ids and pictures have it as well. Each pattern starts at
a literal, bounds what follows or takes it once and for all, and so costs a hostile text no more
than a long one.
"""

from __future__ import annotations

from holdfast.ground import late_re as re

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` costs a hook five milliseconds
    from collections.abc import Callable

COMMAND_CHARS = 300  # how far before an option its program is looked for

# Where a line may end inside of it: nowhere, within a known length, or within any.
WHOLE, EXACT, OPEN = "whole", "exact", "open"

# The first letter alone, then the rest: five times as fast as a list of words in either case.
_REST = "(?:(?<=s)ecret|(?<=t)oken|(?<=p)(?:assw(?:or)?d|assphrase|wd)|(?<=c)redentials?|(?<=k)ey)"
_STAGE = "[_-]?(?:prod(?:uction)?|live|dev|test|staging|base|old|new|[0-9]{1,3})"
_NAME = rf"[sStTpPcCkK](?i:{_REST}(?![a-z])(?:{_STAGE}(?![a-z0-9]))?)"
_NAME_IN_CAPITALS = rf"[STPCK]{_REST.upper()}(?![A-Za-z])(?:{_STAGE.upper()}(?![A-Za-z0-9]))?"
_NOT_THE_SECRET = r"(?i)(?:next|page|continuation|sync|cancellation|delta|max|num|per)[_-]?$"
_OPENERS = (
    "api|access|secret|private|account|auth|encryption|signing|master|shared|admin|deploy|webhook"
    "|storage"
)
_CHOSEN = "pPsScC"  # how the names begin whose values people choose: password, secret, credentials
_KEY_THAT_OPENS = rf"(?i)(?:{_OPENERS})[_-]?$"
_HINTS = "secret token passw passphrase pwd credential key"
_GIVEN = r"[\"'`]?[ \t]{0,4}(?:=>|:=|[=:])[ \t]{0,4}"
_QUOTED = r"\"([^\"\s\\\x00]{6,4096}+)\"|'([^'\s\\\x00]{6,4096}+)'|`([^`\s\\\x00]{6,4096}+)`"
_BARE = r"([^\s\"'`,;&<>(){}\[\]|\\\x00]{8,4096}+)"
_IN_QUOTES = r"\"([^\"\n\\\x00]{3,256}+)\"|'([^'\n\\\x00]{3,256}+)'"
_USER = r"[^\s\"'`:;|&<>()\\\x00]{1,64}+:"
_UNQUOTED = r"([^\s\"'`;|&<>()\\\x00]{3,256}+)"
_BASE64_LINES = r"(?:\s{1,12}+[A-Za-z0-9+/=]{16,}+)++"

# What is written in place of a secret: a reference, a word for it, an example.
_PLACEHOLDER = (
    r"(?i)\$[{(]|\$\w+$|%\w+%$|[<{\[*(]|x{4,}|\.{3}|…|(.)\1*$"
    r"|(?:\w*(?:example|placeholder|change_?me|your[_-]|dummy|redacted|insert|replace|fake_))"
    r"|(?:null|none|true|false|undefined|string|required|optional|pass|passwd|password|secret|token|test)$"
    r"|(?:process\.env|os\.environ|os\.getenv|getenv|import\.meta|secrets?\.|vault:|env:|file:|op://|arn:)"
)
_PATH_OR_CODE = (
    r"[~.]{0,2}/[\w.@-]+(?:/|$)|[a-z][a-z0-9+.-]{1,20}://|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$"
)
_SAYS_WHAT_IT_IS = r"(?i)(?=.*(?:secret|token|passw|key))[a-z_]+[0-9]{0,3}$"
# A token is random; a few plain words with a number at their end name something: `next_page_2`.
_PLAIN_WORDS = r"[a-z]{1,12}(?:[_-][a-z]{1,12})++[_-]?[0-9]{0,3}$"
# What is written where a password goes and speaks about passwords: a label, a rule, a hint.
_SPEAKS = (
    r"(?i)passw|passphrase|secret|token|credential|\b(?:a|an|and|are|as|at|be|by|can|cannot|characters?|chars|choose"
    r"|confirm|do|enter|field|for|forgot|from|has|have|here|if|in|incorrect|invalid|is|it|least|length|max|min|missing|must"
    r"|new|not|of|on|only|optional|or|please|required|reset|see|set|should|stored|the|this|to|too|type|use|user|with|wrong"
    r"|you|your)\b"
)
_LABEL = r"[A-Z][a-z]*+(?: [a-z]++)++[.!?:…]?$"
_FLAG = r"(?:^|[\s\"'`])--[a-z-]{0,30}$"


# A sentence that says what a password is: the name, for what, and the word after "is".
_SPOKEN_NAME = (
    r"(?i:\b(?:pass ?word|passwd|passphrase|pass ?code|pwd?|token|secret|credential"
    r"|(?:api|access)[ _-]key)s?\b)"
)
_FOR_WHAT = r"(?:[ \t]{1,4}(?i:for|of|on|in)(?:[ \t]{1,4}[\w.'@/-]{1,40}+){1,5}?)?"
_SET = r"(?:set|changed|reset|rotated|updated)"
_STATES = (
    rf"(?:[ \t]{{1,4}}(?i:(?:is|was|to)(?:[ \t]{{1,4}}(?:now|still|currently|just|{_SET} to))?"
    r"|(?:has|have|had|will|must|should)[ \t]{1,4}(?:now[ \t]{1,4})?be(?:en)?[ \t]{1,4}"
    rf"{_SET} to):?|:)[ \t]{{1,4}}"
)
_SPOKEN_VALUE = (
    r"(?:\"([^\"\s\x00]{4,128}+)\"|'([^'\s\x00]{4,128}+)'|`([^`\s\x00]{4,128}+)`"
    r"|([^\s\"'`,;<>(){}\[\]|\\\x00]{4,127}[^\s\"'`,;<>(){}\[\]|\\\x00.?:]))"
)
_SET_TO = r"(?i)\b(?:set|sets|chang\w{1,4}|reset|resets)\b[^\n]{0,60}$"
# How something is kept or how long it is, and names: words that hold a digit and no secret.
_NOT_SPOKEN = (
    r"(?i)(?:base|sha|md|rs|hs|es|ps|aes|rsa|argon|pbkdf|bcrypt|oauth|utf|x\.?509|ed255|blake|http|ipv|v[0-9]|s3|k8s"
    r"|e2e|min|max|len|phase|step|part|option|line|issue|user|http|port|row|test)[-_]?[0-9]|v[0-9]+[^a-z0-9]"
    r"|#?[0-9]+[-_]?(?:(?:char|byte|bit|day|hour|min|sec|week|month|time|digit|letter|word)\w*|x|k|ms|s|st|nd|rd|th)$"
    r"|[^\s]+'s$|[0-9]{4}-[0-9]{2}-|[0-9:.]+z?$"
)
_PASSWORD = r"[pP](?i:assw(?:or)?d|assphrase|asscode|wd|(?<![A-Za-z].)w)(?![A-Za-z])"
_SHORT_VALUE = (
    r"(?:\"([^\"\s\\\x00]{6,64}+)\"|'([^'\s\\\x00]{6,64}+)'|`([^`\s\\\x00]{6,64}+)`"
    r"|([^\s\"'`,;&<>(){}\[\]|\\\x00]{6,64}+))"
)
# "Use the staging password …", "log in with password …".
_USED_WITH = r"(?i)\b(?:us(?:e|es|ed|ing)|with|via|enter|type|try)[ \t]+(?:[\w-]{1,20}[ \t]+){0,2}$"
# What stands beside "password" and names something: `password reset2`, `password RFC6238`.
_NAMES_SOMETHING = (
    r"(?i)(?:auth|case|check|column|field|flow|form|hash|hasher|input|item|login|manager|module|page|policy|reset|rule"
    r"|screen|server|table|task|ticket|view|cve|iso|nist|owasp|pci|rfc)[-_]?[0-9]"
)
_STATE_WORD = r"(?i)[a-z]+(?:ed|ing|able|ible|en|ly)$"
_MIXED = r"\w[@#$%^&*!~+]\w"
# A password of letters alone is longer than most words, and does not end or sound like one.
_LETTERS = r"([A-Za-z][a-z]{11,63}+)(?![\w(\[=/@-]|[.:][\w/])(?![ \t]{0,4}[})\]=|?&+])"
_IS_WORD = (
    r"(?i).*(?:ed|ing|able|ible|en|ly|[ts]ions?|ments?|ness|it(?:y|ies)|ic(?:s|al)?|[ae]n[ct]e?s?|ful|less"
    r"|ships?|wards?|wise|ism|ists?|ives?|ous|ures?|[ts]or|ers?|lich|keit|heit|ung|iert|i?[ao]d[ao]|oire|ori[ao])$"
    r"|.*(?:passw|passphrase|secret|token|credential|key|user|login|auth|admin|string|field|input|value"
    r"|hash|text|name|type|length|param|config|default|variable|database|crypt)"
)
_IS_LETTERS = (
    r"(?:[ \t]{0,4}:|[ \t]{1,4}(?i:is|was)(?:[ \t]{1,4}(?i:now|still|currently))?:?)[ \t]{1,4}"
)
# The same sentence in German, Spanish and French: for whom or what, and what it is.
_FOREIGN_NAME = (
    r"(?i:\b(?:passwort|kennwort|contrase(?:\u00f1|n\u0303|n)a|mot[ \u00a0]de[ \u00a0]passe)\b)"
)
_FOREIGN_FOR = (
    r"(?:[ \t]{1,4}(?i:f(?:\u00fc|ue)r|von|vom|zum|zur|auf|im|de|del|du|des|para|pour|en)"
    r"(?:[ \t]{1,4}[\w.'@/-]{1,40}+){1,5}?)?"
)
_FOREIGN_STATES = (
    r"(?:[\"'`]?[ \t\u00a0]{0,4}[=:]|[ \t]{1,4}(?i:ist|war|lautet|es|era|est|\u00e9tait)"
    r"(?:[ \t]{1,4}(?i:jetzt|nun|noch|ahora|a\u00fan|maintenant|encore))?:?[ \t])[ \t\u00a0]{0,4}"
)
# What stands between the two halves of a key of AWS: a sign, a space, or a few words.
_BETWEEN_HALVES = (
    r"[\"'`]?(?:[ \t]{0,4}[,;:|/=][ \t]{0,4}|[ \t]{1,8}|[ \t]{0,4},?\r?\n[ \t]{0,8})"
    r"(?i:(?:and|with|its|the|aws|secret|access|key|is)[ \t_:=]{1,4}){0,6}[\"'`]?"
)


class Rule:
    """A name, hints (lower case, between spaces or as a tuple) of which a text must hold one, a
    pattern, and a last check.

    The secret is the pattern's last group, or all of it. What is in `start` may not stand before
    it, what is in `end` not after it. Where a hint says little, a text must have a word of as many
    characters as `word_chars` too.
    """

    __slots__ = ("check", "end", "hints", "lines", "name", "pattern", "start", "word_chars")

    def __init__(
        self,
        name: str,
        hints: str | tuple[str, ...],
        pattern: str,
        lines: str = EXACT,
        *,
        start: str = "",
        end: str = "",
        word_chars: int = 0,
        check: Callable[[re.Match[str], str], bool] | None = None,
    ):
        self.name = name
        self.hints = hints.split() if isinstance(hints, str) else list(hints)
        self.pattern = pattern
        self.lines = lines
        self.start, self.end = start, end
        self.word_chars = word_chars
        self.check = check

    def has_word(self, text: str) -> bool:
        """Asked first: to compile a pattern costs a hook more than to look at the words."""
        return not self.word_chars or _count_longest_word(text) >= self.word_chars

    def spans(self, text: str) -> list[tuple[int, int]]:
        """A pattern is compiled on first use: a process without secrets pays for none."""
        start = f"(?<![{self.start}])" if self.start else ""
        end = f"(?![{self.end}])" if self.end else ""
        matches = re.finditer(f"{start}{self.pattern}{end}", text)
        spans = [self._span(match) for match in matches]
        return [span for span in spans if span]

    def spans_over_lines(self, text: str) -> list[tuple[int, int]]:
        """In a text without line ends, where the neighbours of a key say nothing."""
        pattern = self.pattern
        if self.lines != OPEN:  # then of its shortest length only
            pattern = re.sub(r"\{(\d\d),\d+\}", r"{\1}", pattern)
        return [match.span(match.lastindex or 0) for match in re.finditer(pattern, text)]

    def _span(self, match: re.Match[str]) -> tuple[int, int] | None:
        start, end = match.span(match.lastindex or 0)
        if self.check is None:
            return start, end
        value = match.string[start:end].rstrip(",;)]}>")
        if not self.check(match, value):
            return None
        return start, start + len(value)


def _count_longest_word(text: str) -> int:
    return max(map(len, text.split()), default=0)


def is_secret_field(name: str, value: str) -> bool:
    """Whether a field of this name with this value holds a secret."""
    found = re.search(rf"{_NAME}$", name)
    if found is None:
        return False
    return _holds_secret(found, value) or _is_passphrase(found, value)


def is_secret_value(value: str) -> bool:
    """Letters and digits that are neither a placeholder, a path nor a word."""
    return (
        len(value) >= 8
        and not re.match(_PLACEHOLDER, value)
        and not re.match(_PATH_OR_CODE, value)
        and any(character.isdigit() for character in value)
        and any(character.isalpha() for character in value)
    )


def _is_name(match: re.Match[str]) -> bool:
    """`api_key` and not `primary_key`; `access_token` and not `next_token`, which turns a page."""
    start = match.start()
    before = match.string[max(0, start - 20) : start]
    if re.search(_NOT_THE_SECRET, before):
        return False
    if match[0][0] not in "kK":
        return True
    return re.search(_KEY_THAT_OPENS, before) is not None


def _holds_secret(match: re.Match[str], value: str) -> bool:
    if not _is_name(match) or not is_secret_value(value):
        return False
    is_chosen = match[0][0] in _CHOSEN
    return is_chosen or not re.match(_PLAIN_WORDS, value)


def _is_named_secret(match: re.Match[str], value: str) -> bool:
    """Code reads a token as well as it holds one: `token = next_token2(…)` is not a secret."""
    if not _holds_secret(match, value):
        return False
    start = match.start(match.lastindex or 0)
    is_quoted = match.string[start - 1] in "\"'`"
    if is_quoted:
        return True
    end = match.end()
    is_called = match.string[end : end + 1] in ("(", "[")
    return not is_called and not re.match(_SAYS_WHAT_IT_IS, value)


def _is_passphrase(match: re.Match[str], value: str) -> bool:
    """Three words or more that say nothing about passwords, in a field for what a person chose."""
    if not _is_name(match) or match[0][0] not in _CHOSEN:
        return False
    words = value.split()
    is_enough = len(words) > 2 or (len(words) == 2 and is_secret_value(value))
    if not is_enough or re.match(_PLACEHOLDER, value):
        return False
    return not re.search(_SPEAKS, value) and not re.match(_LABEL, value)


def _is_environment_secret(match: re.Match[str], value: str) -> bool:
    """`NAME=value` in capitals is meant as a value, so any word will do; a path is not one."""
    return (
        _is_name(match)
        and len(value) >= 6
        and not re.match(_PLACEHOLDER, value)
        and value[0] not in "/~"
    )


def _is_flag(match: re.Match[str], value: str) -> bool:
    start = match.start()
    before = match.string[max(0, start - 40) : start]
    if not re.search(_FLAG, before):
        return False
    return _holds_secret(match, value)


def _is_password(match: re.Match[str], value: str) -> bool:
    return len(value) >= 3 and not re.match(_PLACEHOLDER, value)


def _is_log_in(match: re.Match[str], value: str) -> bool:
    """A name and a password in base64, as a registry of images takes them."""
    from binascii import Error, a2b_base64

    try:
        return b":" in a2b_base64(value)
    except Error:
        return False


def _is_spoken(match: re.Match[str], value: str) -> bool:
    """A word that is no word of a language: "is hunter2", and not "is required"."""
    if not _is_spoken_value(value):
        return False
    is_chosen = match[0][0] in "pP"
    is_called = _is_called(match)
    stated = match.string[match.start() : match.start(match.lastindex or 0)].lower()
    if re.search(r"\bto[ \t]+[\"'`]?$", stated) and not _is_set_to(match, stated):
        return False
    if not is_chosen:
        return is_secret_value(value) and not is_called and not re.match(_PLAIN_WORDS, value)
    is_quoted = match.lastindex != 4
    if is_quoted and not re.search(_SPEAKS, value) and not re.match(_STATE_WORD, value):
        return True
    return not is_called and _is_mixed(value)


def _is_set_to(match: re.Match[str], stated: str) -> bool:
    """ "Set the password to X" states it; "send the password to X" does not."""
    start = match.start()
    before = match.string[max(0, start - 60) : start]
    is_named = re.search(rf"{_SET} to", stated) is not None
    return is_named or re.search(_SET_TO, before) is not None


def _is_short_password(match: re.Match[str], value: str) -> bool:
    """ "password=hunter2": shorter than a token, but with a digit or a sign among its letters."""
    if not _is_spoken_value(value) or _is_called(match):
        return False
    says_what_it_is = re.match(_SAYS_WHAT_IT_IS, value)
    return len(value) >= 6 and _is_mixed(value) and not says_what_it_is


def _is_used(match: re.Match[str], value: str) -> bool:
    """ "Use password S3cr3t1", "rotate password S3cr3t1"; not "use password hashing"."""
    if not _is_short_password(match, value):
        return False
    start = match.start()
    before = match.string[max(0, start - 60) : start]
    if re.search(_USED_WITH, before):
        return True
    is_part_of_name = re.search(r"[\w-]$", before)
    names_something = re.match(_PLAIN_WORDS, value) or re.match(_NAMES_SOMETHING, value)
    return not is_part_of_name and not names_something


def _is_run_of_letters(match: re.Match[str], value: str) -> bool:
    """ "password: correcthorsebattery"; neither a word of a language nor an argument in code."""
    if re.match(_PLACEHOLDER, value) or re.match(_IS_WORD, value):
        return False
    start = match.start()
    before = match.string[max(0, start - COMMAND_CHARS) : start]
    line = before.rpartition("\n")[2]
    return line.count("(") <= line.count(")") and line.count("{") <= line.count("}")


def _is_foreign(match: re.Match[str], value: str) -> bool:
    return _is_spoken_value(value) and not _is_called(match) and _is_mixed(value)


def _is_aws_secret(match: re.Match[str], value: str) -> bool:
    """Random, so with letters of both cases and a digit; a hash has one case."""
    is_of_both_cases = not value.islower() and not value.isupper()
    return is_of_both_cases and any(character.isdigit() for character in value)


def _is_spoken_value(value: str) -> bool:
    is_known = re.match(_PLACEHOLDER, value) or re.match(_NOT_SPOKEN, value)
    return not is_known and not _is_reference(value)


def _is_called(match: re.Match[str]) -> bool:
    end = match.end()
    return match.string[end : end + 1] in ("(", "[")


def _is_mixed(value: str) -> bool:
    has_letter = any(character.isalpha() for character in value)
    has_digit = any(character.isdigit() for character in value)
    return has_letter and (has_digit or bool(re.search(_MIXED, value)))


def _is_reference(value: str) -> bool:
    """A path, an address, a name in code or in a shell."""
    is_mail = "@" in value and "." in value.rpartition("@")[2]
    is_variable = "_" in value and re.match(_SAYS_WHAT_IT_IS, value)
    return is_mail or bool(is_variable or re.match(_PATH_OR_CODE, value))


def _is_credential(match: re.Match[str], value: str) -> bool:
    """Dots between names are code, but for a token of three parts."""
    return is_secret_value(value) or re.match(r"eyJ[\w-]{6}", value) is not None


def _option(
    hints: str, programs: str, option: str, value: str = rf"{_IN_QUOTES}|{_UNQUOTED}"
) -> Rule:
    """A password as an option of these programs; to others the letter means something else."""

    def is_for_program(match: re.Match[str], value: str) -> bool:
        if not _is_password(match, value):
            return False
        start = match.start()
        before = match.string[max(0, start - COMMAND_CHARS) : start]
        command = re.split(r"(?<!\\)\n|\\n|[;|&][ \t|&]", before)[-1]
        return re.search(rf"(?<![\w-])(?:{programs})[ \t]", command) is not None

    return Rule(
        "command_password", hints, rf"-(?<=[ \t]-){option}(?:{value})", WHOLE, check=is_for_program
    )


_WORD = "A-Za-z0-9"
_URL_WORD = "A-Za-z0-9_-"


def _exact(name: str, hints: str, pattern: str, end: str = _WORD) -> Rule:
    return Rule(name, hints, pattern, EXACT, start=_WORD, end=end)


def _open(name: str, hints: str, pattern: str, word_chars: int = 0) -> Rule:
    return Rule(name, hints, pattern, OPEN, start=_WORD, word_chars=word_chars)


RULES = (
    Rule(
        "private_key",
        "private",
        r"-----BEGIN[ +](?:[A-Z0-9]{1,12}[ +]){0,3}PRIVATE[ +]KEY(?:[ +]BLOCK)?-----"
        rf"(?:(?:[^-\x00]|-(?!----))*+-----END[ +][A-Z0-9 +]{{0,40}}-----|{_BASE64_LINES})",
        WHOLE,
    ),
    _exact("age_key", "age-secret-key-1", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    _exact("aws_access_key", "akia asia abia acca", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    Rule(
        "aws_secret_key",
        "secret",
        rf"(?i:secret_?access_?key|aws_?secret(?:_?key)?|secret_?key)(?:{_GIVEN}|>)[\"']?([A-Za-z0-9/+]{{40}})",
        end="A-Za-z0-9/+=",
    ),
    Rule(
        "aws_secret_key",
        "akia asia",
        rf"(?:AKIA|ASIA)[A-Z0-9]{{16}}{_BETWEEN_HALVES}([A-Za-z0-9/+]{{40}})",
        WHOLE,
        start=_WORD,
        end="A-Za-z0-9/+=",
        check=_is_aws_secret,
    ),
    Rule(
        "azure_key",
        "accountkey sharedaccesskey sharedsecret",
        r"(?i:AccountKey|SharedAccessKey|SharedSecret)[ \t]{0,2}[=:][ \t]{0,2}[\"']?"
        r"([A-Za-z0-9+/]{86}==|[A-Za-z0-9+/]{43}=)",
    ),
    Rule("azure_signature", "sig=", r"[?&]sig=([A-Za-z0-9+/]{43}=?)", end="A-Za-z0-9+/"),
    Rule(
        "azure_client_secret",
        "7q~ 8q~",
        r"[A-Za-z0-9_~.-]{3}[78]Q~[A-Za-z0-9_~.-]{34}",
        start="A-Za-z0-9_~.-",
        end="A-Za-z0-9_~-",
    ),
    _exact("holdfast_token", "hft_ hfd_", r"hf[td]_[A-Za-z0-9_-]{43}", _URL_WORD),
    _exact("github_fine_grained", "github_pat_", r"github_pat_[A-Za-z0-9_]{82,255}"),
    _exact("github_token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    _open(
        "gitlab_token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glimt- glagent-",
        r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|imt|agent)-[A-Za-z0-9_-]{20,300}(?:\.[0-9a-z]{2}\.[0-9a-z]{7,9})?",
    ),
    _open("slack_token", "xox xapp-", r"(?:xox[a-z](?:\.xox[a-z])?|xapp)-[A-Za-z0-9-]{10,400}"),
    Rule(
        "slack_webhook",
        "hooks.slack.com",
        r"(?:(?<=hooks\.slack\.com/services/)|(?<=hooks\.slack\.com/workflows/)|(?<=hooks\.slack\.com/triggers/))"
        r"[A-Za-z0-9/_+-]{20,200}",
        OPEN,
    ),
    _open(
        "stripe_key",
        "sk_live_ sk_test_ rk_live_ rk_test_ whsec_",
        r"(?:(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,250}|whsec_[A-Za-z0-9+/]{24,100}=?)",
    ),
    _exact("twilio_key", "sk", r"SK[0-9a-f]{32}"),
    Rule("twilio_token", "token", rf"(?i:auth_?token){_GIVEN}[\"']?([0-9a-f]{{32}})", end=_WORD),
    _exact("telegram_token", ":aa", r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}", _URL_WORD),
    # Digits of an id in base64, so that each letter is one of a few.
    _open(
        "discord_token",
        ".",
        r"(?:[MNO][DTjz][AEIMQUYcgk][w-z0-5]){5,6}[A-Za-z0-9]{0,3}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}",
        word_chars=55,
    ),
    _exact("npm_token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _open("pypi_token", "pypi-age", r"pypi-AgE[A-Za-z0-9_-]{50,1000}"),
    _open("anthropic_key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{20,300}"),
    _exact("openrouter_key", "sk-or-", r"sk-or-(?:v[0-9]-)?[A-Za-z0-9]{64,128}"),
    _open(
        "openai_key",
        "sk-",
        r"sk-(?:(?:proj|svcacct|admin|service|None)-[A-Za-z0-9_-]{20,300}|[A-Za-z0-9]{32,128})",
    ),
    _exact(
        "supabase_key",
        "sb_secret_ sbp_",
        r"(?:sb_secret_[A-Za-z0-9_-]{31,100}|sbp_[A-Za-z0-9_]{40,80})",
    ),
    _exact("huggingface_token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{34,40}"),
    _exact("google_key", "aiza", r"AIza[A-Za-z0-9_-]{35}", _URL_WORD),
    _open(
        "google_secret",
        "gocspx- ya29.",
        r"(?:GOCSPX-[A-Za-z0-9_-]{28}|ya29\.[A-Za-z0-9_-]{20,2000})",
    ),
    _exact("sendgrid_key", "sg.", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}", _URL_WORD),
    _open(
        "provider_token",
        "dop_v1_ doo_v1_ shpat_ shpss_ lin_api_ ntn_ hvs. glsa_ pmak- xai- gsk_ r8_ pplx- figd_ "
        "rubygems_ dckr_pat_ nfp_ fo1_ bkua_ tskey- cfpat- ccipat_ cciprj_ sntryu_",
        r"(?:do[op]_v1_|shp(?:at|ss)_|lin_api_|ntn_|hvs\.|glsa_|PMAK-|xai-|gsk_|r8_|pplx-|figd_"
        r"|rubygems_|dckr_pat_|nfp_|fo1_|bkua_|tskey-[a-z]{3,10}-|CFPAT-|CCI(?:PAT|PRJ)_|sntryu_)"
        r"[A-Za-z0-9_-]{24,200}",
    ),
    # Their prefixes alone say little, so the rest has exactly its length.
    Rule(
        "provider_token",
        "dapi key- pul- nrak- eaaa",
        r"(?:(?:dapi|key-)[0-9a-f]{32}|pul-[0-9a-f]{40}|NRAK-[A-Z0-9]{27}|EAAA[A-Za-z0-9_-]{60})",
        start=_URL_WORD,
        end=_WORD,
    ),
    Rule("provider_token", "cio", r"cio[A-Za-z0-9]{32}", start=_URL_WORD, end=_WORD, word_chars=35),
    Rule(
        "provider_token",
        "pat",
        r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}",
        start=_WORD,
        end=_WORD,
        word_chars=82,
    ),
    _open("provider_token", "sl.", r"sl\.(?:u\.)?[A-Za-z0-9_-]{130,2000}", word_chars=133),
    _open("provider_token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}"),
    _open(
        "provider_token",
        "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit. atatt3 atctt3 sntrys_ pscale_ fm1 fm2 sq0",
        r"(?:dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}"
        r"|AT[AC]TT3[A-Za-z0-9_-]{60,300}(?:=[0-9A-F]{8})?|sntrys_[A-Za-z0-9+/=_-]{60,400}"
        r"|pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_=.-]{32,64}|fm[12][ar]?_[A-Za-z0-9+/]{60,2000}={0,2}"
        r"|sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,43})",
    ),
    Rule(
        "discord_webhook",
        "/webhooks/",
        r"(?<=/webhooks/)[0-9]{17,20}/[A-Za-z0-9_-]{60,100}",
        OPEN,
    ),
    Rule("provider_token", "ssws", r"(?i:SSWS)[ \t]{1,4}(00[A-Za-z0-9_-]{40})", end=_URL_WORD),
    Rule(
        "registry_login",
        '"auth"',
        r"\"auth\"[ \t]{0,4}:[ \t]{0,4}\"([A-Za-z0-9+/]{8,2000}+={0,2})\"",
        WHOLE,
        check=_is_log_in,
    ),
    # A line of `.pgpass`: host, port, database, user, password.
    Rule(
        "url_password",
        ":5432: :5433: :6432:",
        r":(?:5432|5433|6432):[\w*-]{1,63}:[\w.@*-]{1,63}:([^\s:\"'`,;\x00]{4,256}+)",
        WHOLE,
        check=_is_password,
    ),
    Rule(
        "jwt",
        "eyj",
        r"eyJ[A-Za-z0-9_-]{10,600}+\.eyJ[A-Za-z0-9_-]{8,8000}+\.[A-Za-z0-9_-]{6,2000}+",
        OPEN,
        start=_URL_WORD,
    ),
    Rule(
        "url_password",
        "://",
        r"://[^\s:/@\"'<>\x00]{0,128}:([^\s/@\"'<>\\\x00]{1,256}+)@",
        WHOLE,
        check=_is_password,
    ),
    Rule(
        "authorization",
        "bearer basic",
        r"(?i:bearer|basic)[ \t]{1,4}([A-Za-z0-9._~+/-]{16,4096}+={0,2})",
        WHOLE,
        start=_WORD,
        check=_is_credential,
    ),
    Rule(
        "assigned_secret",
        _HINTS,
        rf"{_NAME_IN_CAPITALS}=(?:\"([^\"\n\x00]{{6,4096}}+)\"|'([^'\n\x00]{{6,4096}}+)'"
        r"|((?:[^\s\"'\\&\x00]|&(?![\w.-]{1,40}=)){6,4096}+))",
        WHOLE,
        check=_is_environment_secret,
    ),
    Rule(
        "assigned_secret",
        _HINTS,
        rf"{_NAME}{_GIVEN}(?:{_QUOTED}|{_BARE})",
        WHOLE,
        check=_is_named_secret,
    ),
    Rule(
        "assigned_secret", _HINTS, rf"{_NAME}{_GIVEN}(?:{_IN_QUOTES})", WHOLE, check=_is_passphrase
    ),
    _option(
        "curl",
        "curl",
        r"(?:u|-user)(?:=|[ \t]{0,4})",
        _IN_QUOTES.replace("(", f"{_USER}(") + f"|{_USER}{_UNQUOTED}",
    ),
    # Attached, unless it is a word of small letters: `-print` and `-pthread` are not passwords.
    _option(
        "mysql mariadb sshpass 7z",
        r"mysql\w{0,20}|mariadb(?:-dump)?|sshpass|7za?",
        r"p(?![a-z]{1,20}+(?:[\s;|&)]|$))",
    ),
    _option(
        "sshpass mongo login",
        r"sshpass|mongo\w{0,20}|(?:docker|podman|az|registry) login",
        r"p[ \t]{1,4}",
    ),
    _option("redis-cli", "redis-cli", r"a[ \t]{1,4}"),
    _option("ldap", r"ldap\w{1,20}", r"w[ \t]{1,4}"),
    Rule(
        "assigned_secret",
        _HINTS,
        rf"(?<=-){_NAME}[ \t]{{1,4}}(?:{_QUOTED}|{_BARE})",
        WHOLE,
        check=_is_flag,
    ),
    Rule(
        "stated_secret",
        "passw passphrase passcode pw token secret credential key pass",
        _SPOKEN_NAME + _FOR_WHAT + _STATES + _SPOKEN_VALUE,
        WHOLE,
        check=_is_spoken,
    ),
    Rule(
        "stated_secret",
        "passw passphrase passcode pw secret credential",
        rf"{_SPOKEN_NAME}{_FOR_WHAT}{_STATES}(?:{_IN_QUOTES})",
        WHOLE,
        check=_is_passphrase,
    ),
    Rule(
        "assigned_secret",
        "passw passphrase passcode pw",
        _PASSWORD + _GIVEN + _SHORT_VALUE,
        WHOLE,
        check=_is_short_password,
    ),
    Rule(
        "stated_secret",
        "passw passphrase passcode pw",
        rf"{_PASSWORD}[ \t]{{1,4}}{_SPOKEN_VALUE}",
        WHOLE,
        check=_is_used,
    ),
    Rule(
        "stated_secret",
        "passw passphrase passcode",
        _PASSWORD + _IS_LETTERS + _LETTERS,
        WHOLE,
        check=_is_run_of_letters,
    ),
    Rule(
        "stated_secret",
        ("passwort", "kennwort", "contrase", "mot de passe", "mot\u00a0de\u00a0passe"),
        _FOREIGN_NAME + _FOREIGN_FOR + _FOREIGN_STATES + _SPOKEN_VALUE,
        WHOLE,
        check=_is_foreign,
    ),
)
