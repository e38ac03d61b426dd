"""Secrets out of text: found in every reading, marked so that they are known again, and nothing
else touched.
"""

import json
import random
import re
import string
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InvalidValueError
from holdfast.ground import redaction as module
from holdfast.ground.redaction import (
    find_secrets,
    find_suspicious,
    is_opaque_field,
    redact,
    redact_value,
)
from holdfast.ground.redaction_rules import RULES


def make_secret(
    prefix: str, count: int, alphabet: str = string.ascii_letters + string.digits
) -> str:
    """Never a literal, so that no scanner finds a secret in this file."""
    return prefix + "".join(random.Random(prefix).choices(alphabet, k=count))


GITHUB, ANTHROPIC, AWS = (
    make_secret("ghp_", 36),
    make_secret("sk-ant-api03-", 95),
    make_secret("AKIA", 16, string.ascii_uppercase),
)
VALUE = make_secret("v", 20) + "7"
AWS_SECRET = make_secret("k9Z", 37, string.ascii_letters + string.digits + "/+")


# --- finding --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rule", "secret"),
    [
        (f"push with {GITHUB}.", "github_token", GITHUB),
        (f"{AWS}\n", "aws_access_key", AWS),
        (f"export API_KEY={VALUE}", "assigned_secret", VALUE),
        ("DB_PASSWORD=it's; or not", "assigned_secret", ""),
        ("DB_PASSWORD=kittens", "assigned_secret", "kittens"),
        ('MY_SECRET="two words & more"', "assigned_secret", "two words & more"),
        (f"token: '{VALUE}'", "assigned_secret", VALUE),
        (f"url?access_token={VALUE}&page=2", "assigned_secret", VALUE),
        (f"tool --api-key {VALUE} --fast", "assigned_secret", VALUE),
        ("token: hunterpass123", "assigned_secret", "hunterpass123"),
        (f"Authorization: Bearer {VALUE}", "authorization", VALUE),
        ("redis://:p4ss@cache:6379/0", "url_password", "p4ss"),
        (f"SECRET_KEY_BASE={VALUE}, then", "assigned_secret", VALUE),
        ('"password": "correct horse battery"', "assigned_secret", "correct horse battery"),
        ("db_passphrase = 'Correct Horse Battery'", "assigned_secret", "Correct Horse Battery"),
        (
            '{\\"password\\": \\"correct horse battery\\"}',
            "assigned_secret",
            "correct horse battery",
        ),
        ("curl -u admin:S3cretPw99 https://host/", "command_password", "S3cretPw99"),
        ('curl -s --user "admin:two words 9" https://host/', "command_password", "two words 9"),
        ("curl 'https://host/?a=1&b=2' \\\n  -uadmin:kittens", "command_password", "kittens"),
        ("mysql -pS3cretPw99", "command_password", "S3cretPw99"),
        ("mysqldump -h db -u app -p'S3 cret' payouts | gzip", "command_password", "S3 cret"),
        ("sshpass -p kittens ssh host", "command_password", "kittens"),
        ("redis-cli -h cache -a kittens ping", "command_password", "kittens"),
        ("docker login -u ana -p kittens host", "command_password", "kittens"),
        ("ldapsearch -x -D cn=a -w kittens", "command_password", "kittens"),
    ],
)
def test_a_secret_is_found_where_it_stands(text: str, rule: str, secret: str) -> None:
    found = find_secrets(text)

    assert [(f.rule, text[f.start : f.end]) for f in found] == ([(rule, secret)] if secret else [])


@pytest.mark.parametrize(
    "between",
    [
        *(",", '","', ":", " ", "\t", " / ", " | ", "; ", "\n", "\r\n"),
        *(" secret ", " and secret key ", " with its secret access key: ", " = "),
    ],
)
def test_a_secret_key_is_found_beside_the_id_of_its_key(between: str) -> None:
    text = f'user,"{AWS}{between}{AWS_SECRET}" more'

    found = find_secrets(text)

    assert [(f.rule, text[f.start : f.end]) for f in found] == [
        ("aws_access_key", AWS),
        ("aws_secret_key", AWS_SECRET),
    ]


def test_a_hash_beside_the_id_of_a_key_stays() -> None:
    sha = "da39a3ee5e6b4b0d3255bfef95601890afd80709"
    for other in (sha, sha.upper(), AWS_SECRET + "x", AWS_SECRET[:-1]):
        assert redact(f"{AWS} {other}").text.endswith(f" {other}")


@pytest.mark.parametrize(
    "text",
    [
        (
            "API_KEY=your_key_here DB_PASSWORD=changeme TOKEN=${TOKEN} SECRET=<secret> "
            "PASSWORD=********"
        ),
        "postgres://user:password@localhost/db and https://example.org:8080/a@b",
        "token = next_token2(text)\npassword = self.config.password1\nsecret: Optional[str]",
        "max_tokens=200000 tokens: 12345678 token_count=99999999 token_id=abc12345678",
        "PWD=/home/ana/project1 OLDPWD=/tmp/x1",
        "primary_key: 'user_id_2' cache_key=abc123def456 keyboard: qwerty12345",
        "api_key = os.environ['API_KEY_2'] apiKey: process.env.API_KEY_2",
        "the password must be at least 12 characters, the token of page 2 expires",
        "password_file=/run/secrets/db1 tokenizer: cl100k_base2",
        "task-1234567890abcdef1234567890abcdef risk-ant-hill",
        "git@github.com:acme/payouts.git ssh://git@host/x",
        (
            "token: next_page_2 session_token: 'page_cursor_3' api_key: main-menu-1 tool "
            "--token next_page_2"
        ),
        (
            'password: \'Enter your password\' "password": "must be at least 12 characters" '
            "'password': 'Mot de passe'"
        ),
        '"token": "New York City" "password": "see below"',
        (
            "docker run -u 1000:1000 -p 8080:80 image; ssh -l login -p 2222 host; python -u "
            "main:app1234"
        ),
        (
            'mysql -p payouts; mysql -p$DB_PASSWORD; mysql -p"$PW"; curl -u admin:$PW x; curl '
            "-u user:password x"
        ),
        (
            "find . -name mysql -print; gcc -o mysql -pthread x.c; mysql -e q | tar -pxzf1 a; "
            "curl x\nsudo -u a:S3cretPw9"
        ),
    ],
)
def test_placeholders_and_mentions_of_secrets_are_left_unchanged(text: str) -> None:
    assert redact(text) == (text, [])


def test_a_secret_is_found_behind_every_kind_of_escape() -> None:
    for text in (
        json.dumps({"a": json.dumps({"b": f"x\n{GITHUB}\ty"})}),
        f"q%3D{GITHUB}%26p",
        f"q%253D{GITHUB}%2526p",
        f"\\u0022{GITHUB}\\u0022 \\x3d",
        f"'a\\n{GITHUB}\\n'",
    ):
        assert [text[f.start : f.end] for f in find_secrets(text)] == [GITHUB]


@pytest.mark.parametrize(
    "between", ["\n", "\r\n", "\\\n", "\n    ", "\n| ", "\n> ", '" +\n  "', "\n  42→", "\\n"]
)
def test_a_secret_is_found_over_a_line_end(between: str) -> None:
    for secret in (GITHUB, ANTHROPIC, AWS):
        text = f"before\n{secret[:12]}{between}{secret[12:]}\nafter that"

        assert redact(text).text.startswith("before\n[REDACTED:")
        assert redact(text).text.endswith("]\nafter that")


@pytest.mark.parametrize(
    "after", ["done", "2026-11-16T12:51:03Z ok", "DEBUG=1", "next-step: x", "user_id: 7", "x1"]
)
def test_the_line_after_a_secret_is_not_taken_for_the_rest_of_it(after: str) -> None:
    for secret in (GITHUB, ANTHROPIC):
        assert redact(f"{secret}\n{after}").text.endswith(f"]\n{after}")


def test_a_hash_on_the_line_after_a_whole_key_stays() -> None:
    checksum = make_secret("", 40, "0123456789abcdef")

    assert redact(f"{GITHUB}\n{checksum}").text.endswith(f"]\n{checksum}")


def test_a_private_key_is_found_without_its_end() -> None:
    """A listing may be cut off: what is there of the key is still a key."""
    lines = "\n".join(make_secret(str(number), 64) for number in range(5))
    text = f"-----BEGIN RSA PRIVATE KEY-----\n{lines}\n[cut]"

    assert redact(text).text.partition(":")[0] == "[REDACTED"
    assert redact(text).text.endswith("]\n[cut]")


def test_words_that_only_name_a_private_key_are_left() -> None:
    text = "It starts with -----BEGIN PRIVATE KEY----- and is never committed."

    assert redact(text).text == text


def test_each_secret_of_a_text_is_found_once_and_in_order() -> None:
    text = f"{GITHUB} {AWS} GITHUB_TOKEN={GITHUB} url=https://x:{VALUE}@h/"

    found = find_secrets(text)

    assert [f.rule for f in found] == [
        "github_token",
        "aws_access_key",
        "github_token",
        "url_password",
    ]
    assert all(a.end <= b.start for a, b in pairwise(found))


# --- marks ----------------------------------------------------------------------------------------


def test_equal_secrets_have_equal_marks_and_others_do_not() -> None:
    other = make_secret("gho_", 36)

    first, again, third = redact(f"{GITHUB} {GITHUB} {other}").text.split(" ")

    assert first == again != third
    assert first.startswith("[REDACTED:github_token:")


def test_marks_depend_on_the_key_so_that_a_guess_cannot_be_checked() -> None:
    text = f"https://x:{VALUE}@h/"

    assert redact(text, key=b"a").text != redact(text, key=b"b").text != redact(text).text
    assert redact(text, key=b"a").text == redact(text, key=b"a").text


QUOTES = ['"', "'", "\\n", "\n", "\\", "%3D", "%", "://", ":", "@", "&", " ", ".", "--", "\0"]
STARTS = [
    "PASSWORD=",
    "token: ",
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "eyJ",
    "[REDACTED:",
    "]",
]
FRAGMENTS = st.sampled_from([GITHUB, ANTHROPIC, AWS, VALUE, "a1b2c3d4e5", *QUOTES, *STARTS])


@given(st.lists(FRAGMENTS | st.text(max_size=4), max_size=14).map("".join))
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = redact(text).text

    assert redact(once) == (once, [])


@given(st.text(st.characters()))
def test_any_text_is_taken(text: str) -> None:
    redacted, found = redact(text)

    assert (redacted == text) == (found == [])


# --- values ---------------------------------------------------------------------------------------


def test_only_the_texts_of_a_value_are_changed() -> None:
    value = {"a" * 40: 1, "a": [f"x {GITHUB}", 2.5, None, True, {"b": ""}], "c": {}}

    cleaned, found = redact_value(value)

    assert cleaned == {
        "a" * 40: 1,
        "a": [f"x {redact(GITHUB).text}", 2.5, None, True, {"b": ""}],
        "c": {},
    }
    assert [f.rule for f in found] == ["github_token"]


def test_a_key_that_is_a_secret_is_redacted() -> None:
    cleaned, found = redact_value({"headers": {GITHUB: 1}})

    assert cleaned == {"headers": {redact(GITHUB).text: 1}}
    assert [secret.rule for secret in found] == ["github_token"]
    assert redact_value(cleaned) == (cleaned, [])


NAMED = [
    {"name": "DB_PASSWORD", "value": VALUE},
    {"value": VALUE, "name": "DB_PASSWORD"},
    {"key": "AWS_SECRET_ACCESS_KEY", "val": VALUE},
    {"env": [{"name": "DB_PASSWORD", "value": VALUE}]},
    {"env": [["DB_PASSWORD", VALUE]]},
    {"args": ["login", "--password", VALUE]},
    {"password": ["-x", VALUE]},
]


@pytest.mark.parametrize("value", NAMED, ids=json.dumps)
def test_a_value_is_a_secret_by_the_name_beside_it(value: dict[str, object]) -> None:
    cleaned, found = redact_value(value)

    assert [secret.rule for secret in found] == ["assigned_secret"]
    assert VALUE not in json.dumps(cleaned)
    assert redact_value(cleaned) == (cleaned, [])


@pytest.mark.parametrize(
    "text",
    [
        *(json.dumps(value) for value in NAMED[:4]),
        json.dumps(json.dumps(NAMED[0], indent=2)),
        f"env:\n  - name: DB_PASSWORD\n    value: {VALUE}\n",
        f'<input name="password" value="{VALUE}">',
    ],
)
def test_a_value_in_a_text_is_a_secret_by_the_name_beside_it(text: str) -> None:
    redacted, found = redact(text)

    assert [secret.rule for secret in found] == ["assigned_secret"]
    assert VALUE not in redacted
    assert redact(redacted) == (redacted, [])


@pytest.mark.parametrize(
    "value",
    [
        {"name": "REGION", "value": VALUE},
        {"name": "next_token", "value": VALUE},
        {"columns": ["token", "user_id2x"]},
        {"args": ["--path", VALUE]},
    ],
    ids=json.dumps,
)
def test_a_value_beside_another_name_stays(value: dict[str, object]) -> None:
    assert redact_value(value) == (value, [])
    assert redact(json.dumps(value)).found == []


@pytest.mark.parametrize(
    "field", ["password", "clientSecret", "api_key", "X-Api-Key", "accessToken", "DB_PASSWORD_PROD"]
)
def test_a_field_that_is_called_a_secret_holds_one(field: str) -> None:
    cleaned, _ = redact_value({field: VALUE, "other": VALUE})

    assert cleaned[field].startswith("[REDACTED:assigned_secret:")
    assert cleaned["other"] == VALUE
    assert redact_value(cleaned) == (cleaned, [])


def test_words_in_a_field_are_a_passphrase_or_a_name_by_what_the_field_is_called() -> None:
    value = {
        "passphrase": "correct horse battery",
        "token": "next_page_2",
        "password": "Mot de passe",
    }

    cleaned, found = redact_value(value)

    assert [secret.rule for secret in found] == ["assigned_secret"]
    assert {name for name in value if cleaned[name] != value[name]} == {"passphrase"}


@pytest.mark.parametrize(
    "field", ["nextToken", "tokens", "primary_key", "secretary", "token_id", "password_hash"]
)
def test_a_field_that_only_sounds_like_it_does_not(field: str) -> None:
    assert redact_value({field: VALUE}) == ({field: VALUE}, [])


@pytest.mark.parametrize(
    "field",
    ["id", "session_id", "toolUseId", "sha256", "content_hash", "encrypted_content", "etag"],
)
def test_ids_hashes_and_what_is_encrypted_stay_as_they_are(field: str) -> None:
    value = {field: GITHUB, "list": {field: [GITHUB]}}

    assert is_opaque_field(field)
    assert redact_value(value) == (value, [])


def test_a_secret_in_a_sentence_is_redacted_even_in_an_id_field() -> None:
    assert redact_value({"id": f"made with {GITHUB}"})[1]


def test_an_access_key_id_is_redacted_although_its_field_is_an_id() -> None:
    assert redact_value({"AccessKeyId": AWS})[1]


def test_a_value_too_deep_is_refused() -> None:
    deep: object = "x"
    for _ in range(5000):
        deep = [deep]

    with pytest.raises(InvalidValueError, match="nested deeper than 64"):
        redact_value(deep)


# --- entropy --------------------------------------------------------------------------------------


def test_a_random_word_is_a_warning_and_never_redacted() -> None:
    word = make_secret("", 48)

    assert [(f.rule, f.start, f.end) for f in find_suspicious(f"see {word} there")] == [
        ("high_entropy", 4, 52)
    ]
    assert redact(f"see {word} there").found == []


@pytest.mark.parametrize(
    "text",
    [
        make_secret("", 64, "0123456789abcdef"),
        make_secret("", 64, "0123456789ABCDEF"),
        make_secret("sha512-", 86),
        "a_very_long_name_of_a_function_that_somebody_wrote",
        "a/path/that/is/long/enough/to/be/looked/at/by/this",
        "=" * 80,
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1A",
    ],
)
def test_hashes_names_and_paths_give_no_warning(text: str) -> None:
    assert find_suspicious(text) == []


# --- cost -----------------------------------------------------------------------------------------

WORST = [
    *(
        "a",
        "\\",
        "%25",
        "\n",
        "a\n",
        "aB3\n",
        "token=",
        'token="',
        "TOKEN='",
        "secret_key=",
        "api_key ",
        "--token ",
    ),
    *(
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\n" + "A" * 24 + "\n",
        "eyJ",
        "eyJaaaaaaaaaaa.eyJ",
    ),
    *(
        "eyJ\n",
        "://",
        "://a:",
        "://a:b",
        "sk-",
        "sk-ant-",
        "xoxb-\n",
        "aaa8Q~",
        "AKIA",
        "SK0",
        "12345678:AA",
        "Bearer a1",
    ),
    *(
        " -p",
        "mysql ",
        "mysql -p",
        " -pa1b",
        "curl -u a:",
        "curl -u a:b1! ",
        " -u a:b1",
        "login -p ",
        "find mysql -pa1;",
    ),
    *(
        'password: "a b ',
        "password='a b c' ",
        "MTIz",
        "MTIzNDU2Nzg5MDEyMzQ1Njc4.",
        "xoxb-AAAAAAAAAAAA\n" + "A-" * 99 + "a1\n",
    ),
    *(
        "\\u0041",
        "%41",
        '"\n"',
        'a"+\n"',
        "token=a1b2c3d4 ",
        f"{GITHUB} ",
        f"{GITHUB}\n",
        "[REDACTED:",
        "password is ",
        "password for a b ",
        "password has been set to ",
        "use password a1b2c3 ",
        "password=a1b2c3 ",
        "password: correcthorsebattery ",
        "password: correcthorsebattery" + "-" * 99,
        "mot de passe de a b ",
        "Passwort ist Sommer2026! ",
        f"{AWS} secret ",
        "the token is a1",
        "a-",
        "A&",
    ),
]


@pytest.mark.parametrize("piece", WORST)
def test_a_megabyte_of_the_worst_returns(piece: str, scale: Callable[[int], int]) -> None:
    """TS18: the guard against hanging is the measure; a pattern that is not linear would need
    hours, and minutes for a tenth.
    """
    text = piece * (scale(1 << 20) // len(piece))

    find_secrets(text)
    find_suspicious(text)


def test_every_pattern_is_bounded_or_takes_what_it_takes_for_good() -> None:
    """`*`, `+` and `{n,}` may only stand with a `+` behind them: then the engine
    never backtracks.
    """
    loose = [
        (rule.name, found[0])
        for rule in RULES
        for found in re.finditer(
            r"(?<!\\)(?:\*|\+|\{\d+,\})(?!\+)",
            re.sub(r"\[(?:\\.|[^\]])*\]|\+\+|\*\+|\}\+", "", rule.pattern),
        )
    ]

    assert loose == []


def test_a_hook_that_imports_it_pays_for_no_heavy_module() -> None:
    source = str(Path(module.__file__).parents[2])
    code = (
        "import sys; import holdfast.ground.redaction as r; r.redact_value({'a': 'b'}); "
        "print(*sys.modules)"
    )

    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": source},
    )

    assert not {"typing", "dataclasses", "hashlib", "random", "datetime", "urllib"} & set(
        done.stdout.split()
    )
