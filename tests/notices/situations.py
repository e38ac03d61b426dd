"""Sixty moments: at half of them an agent is told of an entry, at the other half it is not.

All are about one repository with the entries below. A situation names what happens and the entry
that is told, or None; where it is an edit, the old text is that of the place that is edited.
"""

from typing import Any, NamedTuple

REJECTED, ACCEPTED, RULE = "rejected", "accepted", "rule"


def entry(kind: str, name: str, text: str, because: str = "") -> dict[str, Any]:
    return {
        "identity": f"{name} {kind}",
        "id": name,
        "kind": kind,
        "text": text,
        "because": because,
        "at": "2026-11-14T16:02:00Z",
    }


ENTRIES = [
    entry(REJECTED, "D1", "Redis streams", "ops won't run another Redis"),
    entry(REJECTED, "D2", "Use Kafka for the event log", "one more cluster to run"),
    entry(REJECTED, "D3", "GraphQL instead of REST for the public API", "clients want curl"),
    entry(REJECTED, "D4", "pytest -n auto", "hung 3 of 3"),
    entry(REJECTED, "D5", "moment.js for dates", "heavy, and Temporal is enough"),
    entry(REJECTED, "D6", "Optimistic locking for the ledger", "retries starve under load"),
    entry(REJECTED, "D7", "the `requests` library", "no timeouts by default"),
    entry(REJECTED, "D8", "A separate service for exports", "two deployments for one table"),
    entry(REJECTED, "D9", "retrying inside `deliver_now()`", "a replay paid twice"),
    entry(REJECTED, "D10", "Celery or RabbitMQ", "the queue is a table"),
    entry(REJECTED, "D11", "Terraform modules in infra/modules/queue.tf", "nobody reads them"),
    entry(ACCEPTED, "D12", "src/payouts/webhooks.py answers within 2 s", "the provider gives up"),
    entry(ACCEPTED, "D13", "`Ledger.post_entry` never updates a row", "auditors want appends"),
    entry(ACCEPTED, "D14", "8 attempts over 24 h, base 30 s", "the provider's own limits"),
    entry(ACCEPTED, "D15", "httpx instead of aiohttp", "one client for sync and async"),
    entry(ACCEPTED, "D16", "PostgreSQL for everything that is stored", "one backup"),
    entry(REJECTED, "D17", "PostgreSQL LISTEN/NOTIFY to wake workers", "lost on failover"),
    entry(ACCEPTED, "D18", "retry.py has no sleep", "tests took minutes"),
    entry(RULE, "R1", "No new runtime dependency without asking."),
    entry(RULE, "R2", "Money is integer cents, never float."),
    entry(RULE, "R3", "Never import pandas in src/, it doubles the image."),
    entry(REJECTED, "D19", "Sentry for error tracking", "data leaves the region"),
]
DECLARED = {"httpx", "sqlalchemy", "fastapi"}
TRACKED = [
    "pyproject.toml",
    "Makefile",
    "src/payouts/webhooks.py",
    "src/payouts/ledger.py",
    "src/payouts/retry.py",
    "src/admin/webhooks.py",
    "tests/test_webhooks.py",
    "web/package.json",
    "infra/modules/queue.tf",
]


class Situation(NamedTuple):
    what: str
    told: str | None
    prompt: str | None = None
    path: str = ""
    old: str = ""
    new: str = ""


def says(what: str, prompt: str, told: str | None) -> Situation:
    return Situation(what, told, prompt)


def edits(what: str, path: str, new: str, told: str | None, old: str = "") -> Situation:
    return Situation(what, told, None, path, old, new)


SPEAK = [
    says("proposed", "let's use redis streams for the queue", "D1"),
    says("a plural less", "Put failed webhooks on a Redis stream and consume it twice", "D1"),
    says("the name that the reason is about", "add redis so that workers can share state", "D1"),
    says("asked for", "Could we switch the event log to Kafka?", "D2"),
    says("why not", "why don't we use redis streams here?", "D1"),
    says("after a no to another", "Don't poll the table, use redis streams instead", "D1"),
    says("in German", "Lass uns für die Warteschlange Redis Streams nehmen", "D1"),
    says("in French", "On pourrait utiliser Kafka pour le journal", "D2"),
    says("in Chinese", "任务队列改用Redis streams吧", "D1"),
    says("in Spanish", "Vamos a usar RabbitMQ para los avisos", "D10"),
    says("a name in quotation marks", 'build the queue with "Redis streams"', "D1"),
    says("a command", "speed up CI by running `pytest -n auto`", "D4"),
    says("common words, all of them", "make a separate service for the exports", "D8"),
    says("two words of the trade", "use optimistic locking when the ledger is written", "D6"),
    says("a symbol", "retry twice in deliver_now() when the provider fails", "D9"),
    says("a file by its path", "clean up src/payouts/webhooks.py a bit", "D12"),
    edits("an import", "src/payouts/queue.py", "import redis\n\nclient = redis.Redis()\n", "D1"),
    edits("from a package", "src/app.py", "from kafka import KafkaProducer\n", "D2"),
    edits(
        "package.json",
        "web/package.json",
        '    "react": "^19",\n    "redis": "^4",\n',
        "D1",
        '    "react": "^19",\n',
    ),
    edits("a name of another registry", "web/src/jobs.ts", "import Redis from 'ioredis';\n", "D1"),
    edits("go", "cmd/main.go", 'import (\n\t"github.com/redis/go-redis/v9"\n)\n', "D1"),
    edits("rust", "Cargo.toml", '[dependencies]\nrdkafka = "0.36"\nkafka = "0.10"\n', "D2"),
    edits("a library with a common name", "src/client.py", "import requests\n", "D7"),
    edits("the file of an accepted constraint", "src/payouts/webhooks.py", "x = 1\n", "D12"),
    edits("a file that was named without its folder", "src/payouts/retry.py", "y = 2\n", "D18"),
    edits(
        "the definition of a symbol",
        "src/payouts/ledger.py",
        "class Ledger:\n    def post_entry(self, entry):\n        self.db.update(entry)\n",
        "D13",
    ),
    edits("a rule about a package", "src/report.py", "import pandas as pd\n", "R3"),
    edits(
        "a rule about any dependency",
        "pyproject.toml",
        'dependencies = [\n    "httpx",\n    "tenacity>=9",\n]\n',
        "R1",
        'dependencies = [\n    "httpx",\n]\n',
    ),
    edits("a name made of the words", "src/q.py", "class RedisStreamQueue:\n    pass\n", "D1"),
    edits("a file that was renamed since", "infra/queue/main.tf", 'resource "x" "y" {}\n', "D11"),
]
SILENT = [
    says("one common word", "rename the stream parameter of parse()", None),
    says(
        "the name, and nothing is proposed", "redis is down on staging, what was the alert?", None
    ),
    says("already refused", "make the queue a table, no redis streams please", None),
    says("refused in German", "Redis Streams nehmen wir nicht, also eine Tabelle", None),
    says("instead of it", "use a table instead of redis streams", None),
    says("to be removed", "remove Kafka from the compose file", None),
    says("replaced by another", "replace redis streams with a table", None),
    says("a log", "2026-11-14 16:02:11 ERROR redis streams consumer timed out, use XADD", None),
    says(
        "a trace",
        "Fix this:\nTraceback (most recent call last):\n"
        '  File "redis/client.py", line 3, in xadd\nredis.exceptions.ConnectionError: add redis\n',
        None,
    ),
    says("a code block", "Explain:\n```\nimport redis\nuse redis streams\n```\n", None),
    says("somebody's sentence", 'Reply to "we should use redis streams for this" politely', None),
    says("a quoted line", "> let's use redis streams\nWhat did she mean by that?", None),
    says("words far apart", "The stream of tickets grows; the cache on staging is Redis 7.", None),
    says("a part of a word", "make the redistribution of streams fair", None),
    says("what was accepted", "store the attempts in PostgreSQL as well", None),
    says("the number of an accepted one", "retry 8 times and give up", None),
    says("the trade", "add an export button to the payouts table", None),
    says("a service", "split the notification service into two modules", None),
    says("the same file name elsewhere", "clean up src/admin/webhooks.py a bit", None),
    says("to leave a file alone", "don't touch src/payouts/webhooks.py, only the tests", None),
    edits("a comment", "src/payouts/queue.py", "# import redis would be too much\nx = 1\n", None),
    edits("a comment behind code", "src/a.ts", "const a = 1; // redis streams, kafka\n", None),
    edits("a docstring", "src/b.py", '"""Why not:\n\nimport redis\n"""\nx = 1\n', None),
    edits("prose", "docs/queue.md", "We looked at Redis streams.\n\nimport redis\n", None),
    edits("a text", "src/c.py", 'message = "install redis streams or kafka"\n', None),
    edits("same name, another folder", "src/admin/webhooks.py", "x = 1\n", None),
    edits(
        "an import that was there",
        "src/d.py",
        "import redis  # noqa\n",
        None,
        "import redis\n",
    ),
    edits(
        "a module of one's own",
        "src/e.py",
        "from .redis import stub\nfrom payouts import kafka\n",
        None,
    ),
    edits("what was accepted", "src/f.py", "import httpx\nimport asyncpg\n", None),
    edits(
        "another version",
        "web/package.json",
        '    "react": "^20",\n',
        None,
        '    "react": "^19",\n',
    ),
]
RENAMED = {"infra/modules/queue.tf": "infra/queue/main.tf"}


# --- stale notes ----------------------------------------------------------------------------------

# A repository as it was when its notes were written.
BODY = "".join(f"    value_{number} = {number}\n" for number in range(12))
FILES_THEN = {
    "src/old.py": "OLD = 1\n",
    "src/retry.py": f"def schedule():\n{BODY}",
    "src/webhooks.py": f"class Hook:\n    def deliver(self): ...\n\n{BODY}",
    "src/helpers.py": "def forget_me():\n    return 1\n\n\nKEPT = 2\n",
    "src/kept.py": "KEPT = 3\n",
    "legacy/a.py": "A = 1\n",
    "legacy/b.py": "B = 2\n",
    "config/app.yml": "".join(f"key_{number}: {number}\n" for number in range(20)),
    "tools/run.py": "RUN = 1\n",
    "dist/app.js": "var app;\n",
    "setup.cfg": "[tools]\n",
    "Makefile": "lint:\n\truff\n",
    **{
        f"src/{name}.py": f"{name.upper()} = 1\n"
        for name in ("removed", "glob_a", "cut", "gem", "agents", "mem", "user", "fenced")
    },
}
RENAMED_SINCE = {"src/retry.py": "src/schedule.py", "config/app.yml": "deploy/app.yml"}
FILES_NOW = {
    "src/webhooks.py": f"class Hook:\n    def send(self): ...\n\n{BODY}",
    "src/helpers.py": "KEPT = 2\n",
    "Makefile": "check:\n\truff\n",
    ".gitignore": "dist/\n",
}
KEPT = ("src/kept.py", *FILES_NOW, *RENAMED_SINCE)
CLAUDE_MD = """\
- `src/old.py` is where everything begins
- see `src/retry.py` before times are changed
- `Hook.deliver()` posts once
- everything in `legacy/` is frozen
- settings are in `config/app.yml`
- `setup.cfg` has the options of all tools
- `forget_me()` is called at the end
- `src/removed.py` was removed, do not bring it back
- `dist/app.js` is what is served
- parsers are in `src/glob_*.py`
- as in `../other/src/cut.py` and `~/other/src/cut.py`
- run `make lint`
- `src/webhooks.py#Hook` is the only sender
- `src/kept.py` is kept

```python
open("src/fenced.py")
```

```sh
python tools/run.py
```
"""
MEMORY_FILES = {
    "CLAUDE.md": CLAUDE_MD,
    "GEMINI.md": "- `src/gem.py` is for Gemini\n",
    "AGENTS.md": "- `src/agents.py` is for others\n",
}
OF_THE_USER = "- `src/user.py` is in all projects\n"
OWN_MEMORY = "- `src/mem.py` holds the memory\n"


class StaleSituation(NamedTuple):
    what: str
    told: tuple[str, ...]  # the places of the notes
    path: str
    new: str
    old: str = ""


def adds(what: str, path: str, new: str, *told: str) -> StaleSituation:
    return StaleSituation(what, told, path, new)


STALE_SPEAK = [
    adds("a gone file is made again", "src/old.py", "x = 1\n", "CLAUDE.md:1"),
    adds("a renamed file at its new place", "src/schedule.py", "x = 1\n", "CLAUDE.md:2"),
    adds("a renamed file is made again", "src/retry.py", "x = 1\n", "CLAUDE.md:2"),
    adds("prose names the old path", "docs/new.md", "See src/retry.py.\n", "CLAUDE.md:2"),
    adds("a string names it", "src/a.py", 'open("config/app.yml")\n', "CLAUDE.md:5"),
    adds("a script names it", ".github/ci.yml", "run: python ./src/old.py\n", "CLAUDE.md:1"),
    adds("a link from another folder", "docs/a.md", "[start](../src/old.py#L3)\n", "CLAUDE.md:1"),
    adds("its name in its own folder", "src/b.py", "# as in old.py\n", "CLAUDE.md:1"),
    adds("the file where a symbol was", "src/helpers.py", "y = 1\n", "CLAUDE.md:7"),
    adds("a lost symbol is used", "src/c.py", "value = forget_me()\n", "CLAUDE.md:7"),
    adds("a lost method of its class", "src/d.py", "Hook().deliver()\n", "CLAUDE.md:3"),
    adds("a gone folder is made again", "legacy/new.py", "x = 1\n", "CLAUDE.md:4"),
    adds("a file in a gone folder is named", "src/e.py", 'read("legacy/a.csv")\n', "CLAUDE.md:4"),
    adds("a file of the top folder", "ci.sh", "cat setup.cfg\n", "CLAUDE.md:6"),
    adds("a command in a shell block", "tools/run.py", "x = 1\n", "CLAUDE.md:21"),
    adds("the client's own memory", "src/mem.py", "x = 1\n", "Claude's memory, MEMORY.md:1"),
    adds("a changed symbol", "src/webhooks.py", "x = 1\n", "CLAUDE.md:3", "CLAUDE.md:13"),
]
STALE_SILENT = [
    adds("the same name in another folder", "lib/old.py", "x = 1\n"),
    adds("a path in another folder is named", "docs/b.md", "See lib/src/old.py.\n"),
    adds("a note that says removed", "src/removed.py", "x = 1\n"),
    adds("a built file that git ignores now", "dist/app.js", "var a;\n"),
    adds("a pattern", "src/glob_a.py", "x = 1\n"),
    adds("a path of another repository", "src/cut.py", "x = 1\n"),
    adds("a file of another client", "src/gem.py", "x = 1\n"),
    adds("a file that this client leaves out", "src/agents.py", "x = 1\n"),
    adds("notes for all repositories", "src/user.py", "x = 1\n"),
    adds("a block of code", "src/fenced.py", "x = 1\n"),
    adds("a text that speaks of the removal", "docs/log.md", "src/old.py was removed.\n"),
    adds("the memory file itself", "CLAUDE.md", "- `src/old.py` begins\n"),
    adds("an address", "docs/c.md", "https://example.org/src/old.py\n"),
    adds("a method of another class", "src/f.py", "Mailer().deliver()\n"),
    adds("a symbol in a comment", "src/g.py", "# forget_me() was nice\nx = 'forget_me'\n"),
    adds("a command", "Makefile", "all:\n\tmake lint\n"),
    adds("longer names", "docs/d.md", "src/old.py.bak, src/old.pyi and my-src/old.py\n"),
    adds("a name without its folder elsewhere", "web/a.md", "as in setup.cfg and old.py\n"),
    adds("a note that holds", "src/kept.py", "x = 1\n"),
    StaleSituation("what was there before", (), "docs/e.md", "src/old.py\nmore\n", "src/old.py\n"),
]
