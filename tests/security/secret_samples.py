"""Secrets that never opened anything, made from the formats that their vendors publish, and what
only looks like one.

Apart from the rules on purpose: a sample that is written from a pattern only shows that the pattern
matches itself. Nothing here is a literal, so no scanner of a repository has to be told about this
file.
"""

import base64
import json
import random
import string
from collections.abc import Callable, Iterator
from typing import NamedTuple
from urllib.parse import quote

LETTERS_DIGITS = string.ascii_letters + string.digits
BASE64 = LETTERS_DIGITS + "+/"
BASE64URL = LETTERS_DIGITS + "_-"
HEX = "0123456789abcdef"
PER_FAMILY = 10


class Sample(NamedTuple):
    family: str
    line: str  # as it is met
    secret: str  # the part of it that must not be left


class Planted(NamedTuple):
    """A sample as it stands in a text; `parts` are what would be left of it."""

    sample: Sample
    encoding: str
    text: str
    parts: list[str]

    def is_left_in(self, text: str) -> bool:
        """Whether twelve characters in a row of it, or all of a shorter one, can still be read."""
        return any(
            part[at : at + 12] in text
            for part in self.parts
            for at in range(max(1, len(part) - 11))
        )


Make = Callable[[random.Random, int], tuple[str, str]]


def some(chance: random.Random, alphabet: str, count: int) -> str:
    return "".join(chance.choices(alphabet, k=count))


def password(chance: random.Random) -> str:
    """What a generator of passwords gives that fits into an address: all kinds of characters."""
    core = some(chance, LETTERS_DIGITS + "-_.~!*", chance.randrange(8, 18))
    return chance.choice(string.ascii_letters) + core + some(chance, string.digits, 2)


def alone(prefix: str, alphabet: str, count: int, *lines: str) -> Make:
    """A key of one form, met in one of some lines."""

    def make(chance: random.Random, number: int) -> tuple[str, str]:
        secret = prefix + some(chance, alphabet, count)
        return [*lines, "the key is {}", "{}", "  value: {}, // for now", "curl -H 'X-Key: {}'"][
            number % (4 + len(lines))
        ].format(secret), secret

    return make


def either(*makes: Make) -> Make:
    return lambda chance, number: makes[number % len(makes)](chance, number // len(makes))


def assigned(names: list[str], alphabet: str, count: int) -> Make:
    def make(chance: random.Random, number: int) -> tuple[str, str]:
        secret = some(chance, alphabet, count - 2) + "a7"
        return names[number % len(names)].format(secret), secret

    return make


def pem(chance: random.Random, kind: str) -> str:
    body = some(chance, BASE64, chance.randrange(400, 1600))
    lines = [body[at : at + 64] for at in range(0, len(body), 64)]
    return (
        "\n".join(
            (f"-----BEGIN {kind}PRIVATE KEY-----", *lines, f"-----END {kind}PRIVATE KEY-----")
        )
        + "\n"
    )


def private_key(chance: random.Random, number: int) -> tuple[str, str]:
    text = pem(chance, ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "][number % 5])
    return text, "\n".join(text.split("\n")[1:-2])


def service_account(chance: random.Random, number: int) -> tuple[str, str]:
    key = json.dumps(pem(chance, ""))[1:-1]
    line = json.dumps(
        {
            "type": "service_account",
            "project_id": f"p-{number}",
            "private_key": "KEY",
            "client_id": "1",
        }
    )
    return line.replace("KEY", key), key.split("-----")[2].removeprefix("\\n").removesuffix("\\n")


def web_token(chance: random.Random, number: int) -> tuple[str, str]:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    claims = {
        "sub": some(chance, string.digits, 10),
        "name": f"dev {number}",
        "iat": 1_700_000_000 + number,
    }
    secret = f"{part({'alg': 'HS256', 'typ': 'JWT'})}.{part(claims)}.{some(chance, BASE64URL, 43)}"
    return f"Set-Cookie: session={secret}; Path=/", secret


def dsn(chance: random.Random, number: int) -> tuple[str, str]:
    secret = password(chance)
    scheme = ["postgresql", "postgres", "mysql", "mongodb+srv", "redis", "amqp"][number % 6]
    return f"DATABASE_URL={scheme}://app_{number}:{secret}@db{number}.internal:5432/payouts", secret


def basic_auth(chance: random.Random, number: int) -> tuple[str, str]:
    secret = password(chance)
    return f"git clone https://deploy:{secret}@git.example.org/acme/payouts.git", secret


def hook_address(chance: random.Random, number: int) -> tuple[str, str]:
    places = (
        f"T{some(chance, string.ascii_uppercase, 10)}/B{some(chance, string.ascii_uppercase, 10)}"
    )
    secret = some(chance, LETTERS_DIGITS, 24)
    return f"https://hooks.slack.com/services/{places}/{secret}", secret


def bot_token(chance: random.Random, number: int) -> tuple[str, str]:
    secret = f"{chance.randrange(10**9, 10**10)}:AA{some(chance, BASE64URL, 33)}"
    return f"TELEGRAM={secret}", secret


def discord_bot(chance: random.Random, number: int) -> tuple[str, str]:
    """The bot's id in base64, a time and a signature; ids have grown, and so have signatures."""
    place = base64.b64encode(str(chance.randrange(10**17, 10**19)).encode()).decode().rstrip("=")
    secret = f"{place}.{some(chance, BASE64URL, 6)}.{some(chance, BASE64URL, [27, 38][number % 2])}"
    return ["client.run('{}')", "{}", "Authorization: Bot {}", "bot {}, for now"][
        number % 4
    ].format(secret), secret


def slack_bot(chance: random.Random, number: int) -> tuple[str, str]:
    digits = f"{some(chance, string.digits, 12)}-{some(chance, string.digits, 13)}"
    secret = f"xox{'bpas'[number % 4]}-{digits}-{some(chance, LETTERS_DIGITS, 24)}"
    return f"slack: {secret}", secret


def openai_project(chance: random.Random, number: int) -> tuple[str, str]:
    secret = f"sk-proj-{some(chance, BASE64URL, 74)}T3BlbkFJ{some(chance, BASE64URL, 74)}"
    return f"OPENAI_API_KEY={secret}", secret


def openai_classic(chance: random.Random, number: int) -> tuple[str, str]:
    secret = f"sk-{some(chance, LETTERS_DIGITS, 20)}T3BlbkFJ{some(chance, LETTERS_DIGITS, 20)}"
    return f"openai.api_key = '{secret}'", secret


def github_fine_grained(chance: random.Random, number: int) -> tuple[str, str]:
    secret = f"github_pat_{some(chance, LETTERS_DIGITS, 22)}_{some(chance, LETTERS_DIGITS, 59)}"
    return f"git remote set-url origin https://{secret}@github.com/acme/payouts", secret


def sendgrid(chance: random.Random, number: int) -> tuple[str, str]:
    secret = f"SG.{some(chance, BASE64URL, 22)}.{some(chance, BASE64URL, 43)}"
    return f"mail key {secret} (prod)", secret


def supabase(chance: random.Random, number: int) -> tuple[str, str]:
    secret = f"sb_secret_{some(chance, LETTERS_DIGITS, 22)}_{some(chance, LETTERS_DIGITS, 8)}"
    return f"supabase key {secret}", secret


def account_key(chance: random.Random, number: int) -> tuple[str, str]:
    secret = some(chance, BASE64, 86) + "=="
    return (
        f"DefaultEndpointsProtocol=https;AccountName=acme;AccountKey={secret};EndpointSuffix=core",
        secret,
    )


def azure_client(chance: random.Random, number: int) -> tuple[str, str]:
    secret = (
        some(chance, LETTERS_DIGITS, 3) + "8Q~" + some(chance, LETTERS_DIGITS + "_-.~", 33) + "x"
    )
    return f"azure app: {secret}", secret


def hex_and(*parts: str) -> Make:
    """Parts, of which a number says how many digits of a hash stand there."""

    def make(chance: random.Random, number: int) -> tuple[str, str]:
        secret = "".join(some(chance, HEX, int(p)) if p.isdecimal() else p for p in parts)
        return ["made {} today", "{}", "  value: {}, // for now"][number % 3].format(secret), secret

    return make


def airtable(chance: random.Random, number: int) -> tuple[str, str]:
    secret = f"pat{some(chance, LETTERS_DIGITS, 14)}.{some(chance, HEX, 64)}"
    return f"base {number}: {secret}", secret


def atlassian(chance: random.Random, number: int) -> tuple[str, str]:
    secret = f"ATATT3xFfGF0{some(chance, BASE64URL, 171)}={some(chance, HEX.upper(), 8)}"
    return f"jira -u dev@example.org:{secret}", secret


def circleci(chance: random.Random, number: int) -> tuple[str, str]:
    secret = f"CCIPAT_{some(chance, LETTERS_DIGITS, 22)}_{some(chance, HEX, 40)}"
    return f"circleci setup {secret}", secret


def sentry(chance: random.Random, number: int) -> tuple[str, str]:
    claims = json.dumps({"iat": number, "url": "https://sentry.io", "org": "acme"})
    encoded = base64.b64encode(claims.encode()).decode()
    secret = f"sntrys_{encoded}_{some(chance, BASE64, 43)}"
    return f"sentry {secret}", secret


def tailscale(chance: random.Random, number: int) -> tuple[str, str]:
    kind = ["auth", "api", "client"][number % 3]
    key = some(chance, LETTERS_DIGITS, 12)
    secret = f"tskey-{kind}-{key}CNTRL-{some(chance, LETTERS_DIGITS, 32)}"
    return f"tailscale up --auth-key={secret}", secret


def terraform(chance: random.Random, number: int) -> tuple[str, str]:
    secret = f"{some(chance, LETTERS_DIGITS, 14)}.atlasv1.{some(chance, LETTERS_DIGITS, 67)}"
    return f"cloud: {secret}", secret


def discord_hook(chance: random.Random, number: int) -> tuple[str, str]:
    secret = some(chance, BASE64URL, 68)
    place = some(chance, "123456789", 18)
    return f"https://discord.com/api/webhooks/{place}/{secret}", secret


def registry(chance: random.Random, number: int) -> tuple[str, str]:
    login = f"deploy:{some(chance, LETTERS_DIGITS, 12 + number)}"
    secret = base64.b64encode(login.encode()).decode()
    return json.dumps({"auths": {"ghcr.io": {"auth": secret}}}), secret


def pgpass(chance: random.Random, number: int) -> tuple[str, str]:
    secret = some(chance, LETTERS_DIGITS, 16)
    return f"db{number}.internal:5432:payouts:app:{secret}", secret


def okta(chance: random.Random, number: int) -> tuple[str, str]:
    secret = f"00{some(chance, BASE64URL, 39)}x"
    return f"Authorization: SSWS {secret}", secret


AWS_NAMES = [
    "aws_secret_access_key = {}",
    "AWS_SECRET_ACCESS_KEY={}",
    '"SecretAccessKey": "{}",',
    "<SecretAccessKey>{}</SecretAccessKey>",
]
TWILIO_NAMES = ["TWILIO_AUTH_TOKEN={}", "twilio_auth_token: '{}'", '"authToken": "{}"']
CLIENT_NAMES = [
    "OAUTH_CLIENT_SECRET={}",
    "export STRIPE_WEBHOOK_SECRET='{}'",
    '"client_secret": "{}",',
    "SESSION_SECRET: {}",
    "DB_PASSWORD={}",
    "db.password = {}",
    "X-Api-Key: {}",
    "deploy --token {} --all",
    "docker run -e API_KEY={} app",
    "const apiKey = '{}';",
]

# Known by how they begin or how they are built, wherever they stand.
BY_STRUCTURE: dict[str, Make] = {
    "AWS access key": either(
        alone("AKIA", string.ascii_uppercase + "234567", 16),
        alone("ASIA", string.ascii_uppercase + "234567", 16),
    ),
    "GCP service account": service_account,
    "Azure": either(account_key, azure_client),
    "GitHub classic": either(
        *(
            alone(prefix, LETTERS_DIGITS, 36, "GITHUB_TOKEN={}")
            for prefix in ("ghp_", "gho_", "ghs_", "ghr_")
        )
    ),
    "GitHub fine-grained": github_fine_grained,
    "GitLab": alone("glpat-", BASE64URL, 20),
    "Slack": either(slack_bot, hook_address),
    "Stripe": either(
        *(alone(prefix, LETTERS_DIGITS, 24) for prefix in ("sk_live_", "rk_live_", "sk_test_")),
        alone("sk_live_", LETTERS_DIGITS, 99),
    ),
    "Twilio key": alone("SK", HEX, 32),
    "Telegram": bot_token,
    "Discord": discord_bot,
    "npm": alone("npm_", LETTERS_DIGITS, 36, "//registry.npmjs.org/:_authToken={}"),
    "PyPI": alone("pypi-AgEIcHlwaS5vcmc", BASE64URL, 157, "password = {}"),
    "OpenAI": either(openai_project, openai_classic),
    "Anthropic": alone("sk-ant-api03-", BASE64URL, 95, "ANTHROPIC_API_KEY={}"),
    "OpenRouter": alone("sk-or-v1-", HEX, 64),
    "Supabase": either(supabase, alone("sbp_", HEX, 40)),
    "Hugging Face": alone("hf_", string.ascii_letters, 34),
    "Google": alone("AIza", BASE64URL, 35, "https://maps.example.org/js?key={}"),
    "SendGrid": sendgrid,
    "Holdfast": either(
        alone("hft_", BASE64URL, 43, "HOLDFAST_TOKEN={}"), alone("hfd_", BASE64URL, 43)
    ),
    "JWT": web_token,
    "PEM": private_key,
    "Airtable": airtable,
    "Atlassian": atlassian,
    "Buildkite": hex_and("bkua_", "40"),
    "CircleCI": circleci,
    "Contentful": alone("CFPAT-", BASE64URL, 43),
    "crates.io": alone("cio", LETTERS_DIGITS, 32),
    "Databricks": hex_and("dapi", "32"),
    "Discord webhook": discord_hook,
    "Doppler": alone("dp.pt.", LETTERS_DIGITS, 43),
    "Dropbox": alone("sl.", BASE64URL, 140),
    "Fly": either(alone("FlyV1 fm2_", BASE64, 120), alone("fo1_", BASE64URL, 43)),
    "Mailgun": hex_and("key-", "32"),
    "Netlify": alone("nfp_", LETTERS_DIGITS, 36),
    "New Relic": alone("NRAK-", string.ascii_uppercase + string.digits, 27),
    "PlanetScale": alone("pscale_tkn_", BASE64URL, 43),
    "Pulumi": hex_and("pul-", "40"),
    "Sentry": sentry,
    "Square": either(alone("sq0csp-", BASE64URL, 43), alone("EAAA", BASE64URL, 60)),
    "Tailscale": tailscale,
    "Terraform": terraform,
}
# Known by what stands before them.
BY_NAME: dict[str, Make] = {
    "AWS secret key": assigned(AWS_NAMES, BASE64, 40),
    "Twilio auth token": assigned(TWILIO_NAMES, HEX, 32),
    "DSN password": dsn,
    "basic-auth URL": basic_auth,
    "Okta": okta,
    "registry login": registry,
    ".pgpass": pgpass,
    "client secret": assigned(CLIENT_NAMES, LETTERS_DIGITS + "_-", 32),
}


def samples() -> Iterator[Sample]:
    for family, make in {**BY_STRUCTURE, **BY_NAME}.items():
        chance = random.Random(family)
        for number in range(PER_FAMILY):
            yield Sample(family, *make(chance, number))


def plant(sample: Sample) -> Iterator[Planted]:
    """The sample in every way that it may be written down."""
    line, secret = sample.line, sample.secret
    escaped = json.dumps(json.dumps(secret)[1:-1])[1:-1]
    half = len(secret) // 2
    split = line.replace(secret, f"{secret[:half]}\n{secret[half:]}")
    output = f"$ cat settings\n   41→# old\n   42→{line}\n   43→DEBUG=1\n[exit 0 after 12 ms]\n"
    yield Planted(sample, "plain", line, [secret])
    yield Planted(
        sample, "in JSON in JSON", json.dumps({"stdout": json.dumps({"line": line})}), [escaped]
    )
    yield Planted(
        sample, "URL-encoded", f"q={quote(line, safe='')}&page=2", [quote(secret, safe="")]
    )
    yield Planted(
        sample, "split over lines", f"before\n{split}\nafter all", [secret[:half], secret[half:]]
    )
    yield Planted(sample, "in tool output", output, [secret])


# --- what only looks like a secret ----------------------------------------------------------------


class Benign(NamedTuple):
    kind: str
    field: str
    token: str
    line: str


def benign(count: int) -> Iterator[Benign]:
    """Words of high entropy that every log is full of, each in a line as it is met."""
    for number in range(count):
        kind = list(BENIGN)[number % len(BENIGN)]
        chance = random.Random(f"{kind} {number}")
        field, token, line = BENIGN[kind](chance)
        yield Benign(kind, field, token, line.replace("TOKEN", token))


def _uuid(chance: random.Random) -> str:
    digits = some(chance, HEX, 32)
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _b64(chance: random.Random, count: int) -> str:
    return base64.b64encode(chance.randbytes(count)).decode()


def _camel(chance: random.Random) -> str:
    words = [
        "session",
        "token",
        "secret",
        "key",
        "User",
        "Event",
        "Store",
        "Password",
        "Reader",
        "Cache",
    ]
    return "".join(word.capitalize() for word in chance.choices(words, k=4)) + some(
        chance, LETTERS_DIGITS, 6
    )


def _kebab(chance: random.Random) -> str:
    words = ["task", "sk", "desk", "risk", "npm", "token", "secret", "fix", "web", "hook", "retry"]
    return "-".join(chance.choices(words, k=5)) + f"-{some(chance, HEX, 8)}"


BENIGN: dict[str, Callable[[random.Random], tuple[str, str, str]]] = {
    "uuid": lambda c: ("session_id", _uuid(c), "resumed TOKEN from disk"),
    "sha1": lambda c: ("commit", some(c, HEX, 40), "commit TOKEN (HEAD -> main)"),
    "sha256": lambda c: ("sha256", some(c, HEX, 64), "TOKEN  dist/app.tar.gz"),
    "image digest": lambda c: ("digest", f"sha256:{some(c, HEX, 64)}", "FROM python@TOKEN"),
    "camelCase": lambda c: ("name", _camel(c), "const reader = new TOKEN(store);"),
    "kebab": lambda c: ("slug", _kebab(c), "branch feat/TOKEN is 2 ahead"),
    "picture": lambda c: ("data", _b64(c, 300), "![logo](data:image/png;base64,TOKEN)"),
    "npm integrity": lambda c: (
        "integrity",
        f"sha512-{_b64(c, 64)}",
        '      "integrity": "TOKEN",',
    ),
    "go.sum": lambda c: ("sum", f"h1:{_b64(c, 32)}", "golang.org/x/net v0.30.0 TOKEN"),
    "poetry.lock": lambda c: (
        "hash",
        f"sha256:{some(c, HEX, 64)}",
        '{file = "a-1.0.whl", hash = "TOKEN"},',
    ),
    "Cargo.lock": lambda c: ("checksum", some(c, HEX, 64), 'checksum = "TOKEN"'),
    "git trailer": lambda c: (
        "change",
        f"I{some(c, HEX, 40)}",
        "Change-Id: TOKEN\nSigned-off-by: A Dev <a@example.org>",
    ),
    "tool call": lambda c: (
        "tool_use_id",
        f"toolu_01{some(c, LETTERS_DIGITS, 22)}",
        '"tool_use_id":"TOKEN"',
    ),
    "call id": lambda c: (
        "call_id",
        f"call_{some(c, LETTERS_DIGITS, 24)}",
        '"call_id": "TOKEN", "status": "ok"',
    ),
    "response id": lambda c: ("id", f"resp_{some(c, HEX, 48)}", "response TOKEN completed"),
    "encrypted": lambda c: (
        "encrypted_content",
        f"gAAAAA{some(c, BASE64URL, 400)}",
        '"encrypted_content":"TOKEN"',
    ),
    "signature": lambda c: ("signature", _b64(c, 200), '"signature":"TOKEN"'),
    "trace": lambda c: (
        "traceparent",
        f"00-{some(c, HEX, 32)}-{some(c, HEX, 16)}-01",
        "traceparent: TOKEN",
    ),
    "etag": lambda c: ("etag", f'W/"{some(c, HEX, 32)}"', "ETag: TOKEN"),
    "ulid": lambda c: (
        "event_id",
        some(c, "0123456789ABCDEFGHJKMNPQRSTVWXYZ", 26),
        "event TOKEN stored",
    ),
    "index line": lambda c: (
        "index",
        f"{some(c, HEX, 7)}..{some(c, HEX, 7)}",
        "index TOKEN 100644",
    ),
    "cache key": lambda c: ("cache_key", f"v1-{some(c, HEX, 32)}", "cache key: TOKEN"),
    "page token": lambda c: ("next_page_token", some(c, BASE64URL, 40), 'next_page_token: "TOKEN"'),
    "page name": lambda c: (
        "token",
        f"{c.choice(['next', 'first', 'last'])}_page_{c.randrange(1000)}",
        "token: TOKEN",
    ),
    "public key": lambda c: ("ssh", f"AAAAB3NzaC1yc2E{_b64(c, 200)}", "ssh-rsa TOKEN dev@laptop"),
    "path": lambda c: (
        "path",
        f"/nix/store/{some(c, string.ascii_lowercase + string.digits, 32)}-x",
        "PASSWORD_FILE=TOKEN",
    ),
}
