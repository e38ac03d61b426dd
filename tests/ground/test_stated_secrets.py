"""Sentences that state a secret, and sentences that only speak about one.

A word of a language after "is" is left alone, because "the password is required" is far more
frequent than a password that is such a word; in quotation marks it is masked.
"""

import pytest

from holdfast.ground.redaction import describe_masked, redact

STATED = [
    "the admin password is hunter2",
    "The root password is Tr0ub4dor&3.",
    "password: hunter2",
    "Password: s3cret!",
    "my token is 9f8c2b7a1e4d",
    "my token is abcd1234efgh",
    "the password for staging is xK9mmpq2",
    "the password for the admin user is hunter2, do not share it",
    "the password of the test database was letme1n",
    "the password on prod is now P@ssw0rd",
    "The passphrase is 'correct-horse'",
    'the password is "swordfish"',
    "its password is `opensesame`",
    "we set the password to hunter2",
    "I changed the admin password to Winter2026!",
    "reset the password for bob to qwerty12",
    "the API key is 7d9f21aa04bb",
    "api key: 7d9f21aa04bb99",
    "The secret is a8f5f167f44f4964",
    "pwd is monkey123",
    "pwd: monkey123",
    "passcode is 4711abc",
    "the wifi password is gu3st-network",
    "login with user admin, the password is admin123",
    "The password is p@ssword",
    "the pass word is dragon99",
    "access key is AB12CD34EF56",
    "the credential is zx81qq55vv",
    "note that the DB password was changed to r00tr00t",
    "the password is still hunter2 on the old box",
    "The token for CI is 1b2c3d4e5f6a",
    "admin password is: hunter2",
    "the password is hunter2; the user is admin",
    "Use hunter2? no: the password is now Sommer!2026",
    '"the admin password is hunter2"',
    "the password was reset to Blue42sky",
    "passwd: toor1234",
    "password=hunter2",
    "db_password=hunter2&page=2",
    "password = 'hunter2'",
    '{"password": "hunter2"}',
    "the db password has been set to S3cr3t!x",
    "the password will be set to S3cr3t9x tomorrow",
    "use password S3cr3tS4uce for staging",
    "log in with the staging password Tr0ub4dor.",
    "password hunter2",
    "rotate password Tr0ub4dor&3x",
    "Old password Xk9-mmpq2, replaced today",
    "the root pw: Xy7!kk22zz",
    "pw Xy7!kk22zz works on the box",
    "pw=Xy7kk22",
    'my passphrase is "correct horse battery staple"',
    "the passphrase for the vault is 'lamp river seven stone'",
    "Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcDEF123456",
    "curl -H 'Authorization: Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.aaaaaa'",
]
ONLY_MENTIONED = [
    "the password is required",
    "password is hashed with bcrypt",
    "the token is expired",
    "the password is wrong",
    "The password is stored in the vault",
    "the password is 12 characters long",
    "the password is 8-16 chars",
    "the password is argon2id-hashed",
    "the password is base64 encoded",
    "the token is a JWT with RS256",
    "the token is RS256-signed",
    "token is base64url encoded",
    "The secret is prod-db-1",
    "the secret is mounted at /run/secrets/db1",
    "the token is valid for 24h",
    "the token is refreshed every 30min",
    'the password is "required"',
    "the password is 'expired'",
    "the password is in config2.yaml",
    "password: config2.yaml",
    "password: string",
    "password: str",
    "password: {type: string}",
    "send the password to user1",
    "migrate the token to oauth2",
    "pass the secret to lambda1",
    "the password was rotated on 2026-11-16",
    "the token is user1's",
    "the password is never logged",
    "The password is $DB_PASSWORD",
    "the password is <password>",
    "the password is the one from 1Password",
    "the api key is read from API_KEY_2",
    "the token is sha256(secret)",
    "token = next_token2(page)",
    "the password of user2 is not known",
    "password: min8 characters",
    "the password is checked by check_password2(user)",
    "the secret is phase2 of the plan",
    "the password is v2 of the old scheme",
    "tokens: 1234 input, 567 output",
    "the token is 32bytes of randomness",
    "The access key is rotated by rotate_key2.py",
    "The password is ana@example.org's problem",
    "the token is at line12",
    "secret: see issue-12",
    "the password is test2",
    "the token is API_TOKEN2",
    "the password is correct for admin2",
    "Password is masked as ****",
    "the token is missing in test_login2",
    "The password is sent to hunter2's inbox",
    "the password reset is part2 of the epic",
    "secrets: 3 found in src/a.py",
    "the token is T-shirt",
    "key is primary1",
    "password must have 12 characters",
    "the password field",
    "password reset",
    "use password hashing",
    "use password v2-based login",
    "log in with password argon2id",
    "with password user1@example.com",
    "enter password twice",
    "password=None",
    "password=password1",
    "password=config.pw2",
    "password=get_pw2()",
    "connect(password=pw1)",
    "the password has been set",
    "the password has been set to expire in 30d",
    "the password has been rotated twice",
    "password required",
    "rotate password every 90days",
    "password reset2 is the newer form",
    "password RFC6238 support",
    "password step-by-step2",
    "password Sha256Hasher",
    "check_password user22",
    "the user_password column12",
    "Bearer token.value.name",
    "the pw is required",
    "power: pw2 and pw3",
    'the password is "too short for the policy"',
]


@pytest.mark.parametrize("sentence", STATED)
def test_a_stated_secret_is_masked(sentence: str) -> None:
    masked = redact(sentence)

    assert [found.rule for found in masked.found] != []
    assert redact(masked.text).text == masked.text, "once is enough"
    for secret in masked.found:
        assert sentence[secret.start : secret.end] not in masked.text.replace("REDACTED", "")


@pytest.mark.parametrize("sentence", ONLY_MENTIONED)
def test_a_sentence_about_secrets_stays_as_it_is(sentence: str) -> None:
    assert redact(sentence).text == sentence


def test_a_password_beside_its_name_is_masked_to_its_end() -> None:
    assert redact("rotate password Tr0ub4dor&3x.").text.endswith("]."), "with all of its signs"


def test_the_note_names_the_fields_and_never_the_secret() -> None:
    fields = {"text": "the admin password is hunter2", "because": "it is needed", "items": ["a"]}

    assert describe_masked(fields) == ("What looks like a secret was masked in: text.",)
    assert describe_masked({"items": ["plain", "pwd: monkey123"], "id": None}) == (
        "What looks like a secret was masked in: items.",
    )
    assert describe_masked({"because": "the password is required"}) == ()
