"""How often an agent is told of a decision that does not concern it: `python -m bench.noise`.

Not a time: shares of prompts and edits. A repository with 200 decisions of eight domains gets 500
prompts and 500 edits that concern none of them, although they are about the same domains, files and
words; some even name a rejected thing without wanting it. Each has a session of its own, so that
"once per session" hides nothing. A third row counts what is told twice in one session.
"""

from __future__ import annotations

import random
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.page import PAGE, replace_section
from bench.staleness import settings_in
from holdfast.app import App
from holdfast.clients import find_client
from holdfast.clients.contract import HookMoment, parse_origin
from holdfast.ground.off_loop import run_in_thread
from holdfast.usecases import notice_index, noticing, stale_index

TITLE = "Unrelated prompts and edits that are spoken to"
SEED = 20_261_118
DECISIONS, MOMENTS = 200, 500
MOST = 0.02
COLUMNS = ("", "asked", "spoken to", "share")


@dataclass(frozen=True)
class Domain:
    """The words of one kind of work, and what was rejected and accepted there."""

    folder: str
    parts: tuple[str, ...]  # of the program
    things: tuple[str, ...]  # it works with
    rejected: tuple[tuple[str, str], ...]
    accepted: tuple[str, ...]
    packages: tuple[str, ...]  # that the repository uses anyway


DOMAINS = (
    Domain(
        "payouts",
        ("webhook handler", "retry schedule", "ledger", "payout batch", "refund form"),
        ("invoice", "attempt", "currency", "bank account", "event", "fee"),
        (
            ("Redis streams", "ops won't run another Redis"),
            ("Celery for retries", "the queue is a table"),
            ("float amounts in the ledger", "rounding cost us a day"),
            ("A separate service for refunds", "two deployments for one table"),
            ("Stripe Connect", "fees per account"),
            ("optimistic locking on the balance row", "retries starve under load"),
        ),
        ("amounts are integer cents", "one row per attempt", "the provider's id is the key"),
        ("httpx", "sqlalchemy", "pydantic"),
    ),
    Domain(
        "search",
        ("indexer", "query parser", "ranking", "synonym list", "result page"),
        ("document", "token", "field", "shard", "filter", "score"),
        (
            ("Elasticsearch", "four gigabytes before the first document"),
            ("Solr for the catalogue", "nobody here knows it"),
            ("fuzzy matching by trigrams", "too many wrong hits"),
            ("vector search with FAISS", "the corpus is too small"),
            ("a nightly full rebuild of the index", "it takes five hours"),
            ("ranking by click count", "it feeds on itself"),
        ),
        ("the index is rebuilt from the log", "queries are plain text", "one shard per tenant"),
        ("whoosh", "orjson", "lxml"),
    ),
    Domain(
        "mobile",
        ("sync engine", "login screen", "offline queue", "settings page", "push handler"),
        ("draft", "photo", "contact", "session", "badge", "conflict"),
        (
            ("React Native", "two of us would have to learn it"),
            ("CRDTs for notes", "the merge is by hand anyway"),
            ("Realm database", "migrations broke twice"),
            ("Firebase push", "data leaves the region"),
            ("last write wins", "a user lost a week of notes"),
            ("background polling every minute", "battery"),
        ),
        (
            "conflicts are shown to the user",
            "photos upload on wifi only",
            "tokens live in keychain",
        ),
        ("expo", "zustand", "date-fns"),
    ),
    Domain(
        "pipeline",
        ("loader", "scheduler", "report job", "export", "deduplication step"),
        ("record", "partition", "batch", "column", "schema", "checkpoint"),
        (
            ("Apache Airflow", "a cluster for nine jobs"),
            ("Spark for the daily report", "it fits into memory"),
            ("Parquet files in the repository", "git grew to 3 GB"),
            ("Kafka", "one more cluster"),
            ("pandas in the loader", "it doubles the image"),
            ("exactly-once delivery", "idempotent consumers are enough"),
        ),
        ("jobs are idempotent", "a checkpoint per partition", "dates are UTC"),
        ("duckdb", "pyarrow", "polars"),
    ),
    Domain(
        "web",
        ("navigation", "checkout form", "table component", "image gallery", "search box"),
        ("button", "label", "price", "column", "theme", "dialog"),
        (
            ("GraphQL for the shop", "clients want curl"),
            ("Redux", "three screens have state"),
            ("moment.js for dates", "heavy"),
            ("Tailwind classes in templates", "designers edit the CSS"),
            ("server-side rendering with Next.js", "the shop is a static page"),
            ("infinite scroll in the gallery", "the footer was never reached"),
        ),
        ("forms work without script", "colours come from tokens", "one stylesheet"),
        ("vite", "lit", "htmx"),
    ),
    Domain(
        "infra",
        ("deploy script", "backup job", "log shipper", "gateway", "health check"),
        ("container", "secret", "volume", "certificate", "port", "region"),
        (
            ("Kubernetes", "three machines"),
            ("Terraform modules for each queue", "nobody reads them"),
            ("Vault for secrets", "one more thing that can be down"),
            ("nightly restarts", "they hid the leak"),
            ("Ansible playbooks from a laptop", "not reproducible"),
            ("blue-green with two databases", "they drift apart"),
        ),
        ("backups are restored weekly", "one binary per host", "certificates renew themselves"),
        ("caddy", "restic", "prometheus"),
    ),
    Domain(
        "auth",
        ("login flow", "token service", "permission check", "audit trail", "password reset"),
        ("role", "scope", "cookie", "invitation", "device", "claim"),
        (
            ("JWT sessions", "they cannot be revoked"),
            ("Auth0", "price per user"),
            ("OAuth implicit flow", "deprecated"),
            ("roles in the token", "stale for an hour"),
            ("SMS codes as second factor", "SIM swaps"),
            ("bcrypt in the browser", "slow phones"),
        ),
        ("sessions are rows", "passwords use argon2", "every denial is logged"),
        ("argon2-cffi", "itsdangerous", "authlib"),
    ),
    Domain(
        "editor",
        ("parser", "outline view", "autosave", "spell checker", "print dialog"),
        ("paragraph", "cursor", "selection", "footnote", "style", "page"),
        (
            ("ProseMirror", "the schema fights tables"),
            ("a WebAssembly layout engine", "two builds"),
            ("autosave on every keystroke", "conflicts with the spell checker"),
            ("LaTeX export through pandoc", "600 MB in the image"),
            ("rope buffers", "documents are short"),
            ("Electron", "memory"),
        ),
        ("documents are plain trees", "undo is a log", "styles have names"),
        ("yjs", "chokidar", "marked"),
    ),
)
VERBS = ("rename", "split", "document", "test", "clean up", "speed up", "review", "simplify")
ADDS = ("a timeout", "a test", "logging", "a retry", "a flag", "a dry run", "pagination", "a cache")
REPORTS = ("is slow on staging", "fails since Monday", "shows the wrong total", "hangs at 90 %")
FOREIGN = (
    "Kannst du den {part} aufräumen und einen Test für {thing} schreiben?",
    "Ajoute un test pour {thing} dans le {part}, s'il te plaît",
    "Revisa por qué {part} falla con {thing}",
    "请给{part}加一个测试",
)


class Author:
    """Writes decisions, prompts and edits; the same ones in each run."""

    def __init__(self) -> None:
        self.random = random.Random(SEED)

    def list_decisions(self) -> list[tuple[str, str, str]]:
        """As (status, text, because)."""
        found = []
        for domain in DOMAINS:
            found += [("rejected", text, because) for text, because in domain.rejected]
            for text in domain.accepted:
                part = self.random.choice(domain.parts)
                found.append(("accepted", f"{part}: {text}", "it came up twice"))
        while len(found) < DECISIONS:
            found.append(self._make_decision(len(found)))
        return found

    def _make_decision(self, number: int) -> tuple[str, str, str]:
        """Words of the trade only: what most decisions are made of."""
        domain = self.random.choice(DOMAINS)
        part, thing = self.random.choice(domain.parts), self.random.choice(domain.things)
        other = self.random.choice(domain.things)
        name = f"src/{domain.folder}/{part.split()[-1]}.py"
        shapes = (
            ("rejected", f"A second {thing} table for the {part}", "joins got slow"),
            ("rejected", f"Caching each {thing} in the {part}", "stale after a deploy"),
            ("rejected", f"Merging {thing} and {other}", "they change at other times"),
            ("rejected", f"Polling the {part} for every {thing}", "load"),
            ("accepted", f"{name} does not know about {other}s", "one way of imports"),
            ("accepted", f"`{thing.split()[0]}_{number}()` returns None, never raises", "callers"),
            ("accepted", f"limit of {number} {thing}s per {part}", "the provider's limit"),
        )
        return self.random.choice(shapes)

    def list_prompts(self) -> Iterator[str]:
        for number in range(MOMENTS):
            yield self._make_prompt(number)

    def _make_prompt(self, number: int) -> str:
        domain = self.random.choice(DOMAINS)
        part, thing = self.random.choice(domain.parts), self.random.choice(domain.things)
        name, _ = self.random.choice(domain.rejected)
        other = self.random.choice(DOMAINS)
        verb, add = self.random.choice(VERBS), self.random.choice(ADDS)
        package = self.random.choice(domain.packages)
        shapes = (
            f"{verb} the {part}, it has become hard to read",
            f"add {add} to the {part} and to the {other.parts[0]}",
            f"the {part} {self.random.choice(REPORTS)}, can you look at the last {thing}?",
            f"use {package} for the {thing} in the {part}, we have it already",
            f"Why does the {part} need the {thing} twice? Please make it one call.",
            f"write a migration that adds a {thing} column to the {part} table",
            f"make every {thing} show its {self.random.choice(other.things)} in the {part}",
            f"let's move the {thing} checks from the {part} to the {other.parts[1]}",
            f"should the {part} cache {thing}s, or is a query per {thing} good enough?",
            f"Set the limit to {number} and keep the {thing} order stable.",
            f"could you use a shorter name for the {thing} field in src/{domain.folder}/views.py?",
            f"please store the {thing} of the {part} in the same row as the {other.things[1]}",
            self.random.choice(FOREIGN).format(part=part, thing=thing),
            # It is named and not wanted.
            f"2026-11-17 09:12:{number % 60:02} ERROR {name}: connection refused, add a {thing}",
            f"> we could use {name} here\nAnswer her that the {part} stays as it is.",
            f"no {name} please, just {verb} the {part}",
            f"remove the last trace of {name.split()[0]} from the docs of the {part}",
        )
        return self.random.choice(shapes)

    def list_edits(self) -> Iterator[tuple[str, str, str]]:
        """As (path, old text, new text)."""
        for number in range(MOMENTS):
            yield self._make_edit(number)

    def _make_edit(self, number: int) -> tuple[str, str, str]:
        domain = self.random.choice(DOMAINS)
        thing, part = self.random.choice(domain.things), self.random.choice(domain.parts)
        word, noun = thing.split()[0], part.split()[-1]
        name, _ = self.random.choice(domain.rejected)
        package = self.random.choice(domain.packages).replace("-", "_")
        folder = f"src/{domain.folder}"
        shapes = (
            (
                f"{folder}/views.py",
                "x = 1\n",
                f"def show_{word}({word}):\n    return {word}.{noun}\n",
            ),
            (
                f"{folder}/models_{number}.py",
                "",
                f"import {package}\n\nclass {word.title()}: ...\n",
            ),
            (
                f"{folder}/jobs.ts",
                "",
                f"import {{ {word} }} from './{noun}';\nexport const a = {word};\n",
            ),
            (
                f"tests/test_{noun}.py",
                "",
                f"def test_{word}_{number}():\n    assert {word}_count() == {number}\n",
            ),
            (
                f"docs/{domain.folder}.md",
                "",
                f"## {part}\n\nWe looked at {name} and at {thing}s.\n",
            ),
            (
                f"{folder}/notes_{number}.py",
                "",
                f"# {name} would be too much for the {part}\nx = {number}\n",
            ),
            (f"{folder}/help.py", "", f'TEXT = "see {name} in the manual of the {part}"\n'),
            (
                f"{folder}/main_{number}.go",
                "",
                f'import (\n\t"fmt"\n\t"strings"\n)\n\nfunc {noun}{number}() {{}}\n',
            ),
            (f"{folder}/style.css", "", f".{noun}-{word} {{ color: red; }} /* {name} */\n"),
            (f"{folder}/{noun}_{number}.sql", "", f"alter table {noun} add column {word} text;\n"),
            ("package.json", '"lit": "^3.1"\n', '"lit": "^3.2"\n'),
            (
                f"{folder}/query.py",
                "",
                f"rows = db.all('select {word} from {noun} limit {number}')\n",
            ),
        )
        return self.random.choice(shapes)


@dataclass(frozen=True)
class Noise:
    """How many of how many were spoken to, and the first of them."""

    case: str
    moments: int
    spoken: int
    examples: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        return self.spoken / self.moments


class Listener:
    """Asks for the notice of a hook, as the hook does, in this process."""

    def __init__(self, folder: Path):
        self.settings = settings_in(folder)
        self.project = folder / "repository"
        self.project.mkdir(parents=True)
        git = [
            "git",
            "-C",
            str(self.project),
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.org",
        ]
        subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "begin"], check=True)
        client = find_client("claude")
        assert client
        self.client = client

    def note(self, decisions: list[tuple[str, str, str]]) -> None:
        with App(self.settings) as app:
            work = app.workstreams(str(self.project), share=True)
            for status, text, because in decisions:
                app.run(work.decide(text, status=status, because=because))
        Path(self.settings.home, "settings.json").write_text('{"shared_context": true}')

    def ask(self, event_name: str, session: str = "", **fields: Any) -> str:
        payload = {
            "hook_event_name": event_name,
            "session_id": session or uuid.uuid4().hex,
            "cwd": str(self.project),
            **fields,
        }
        origin = parse_origin(self.client, event_name, payload)
        assert origin
        moment = HookMoment(self.client, event_name, payload, origin)
        event = self.client.parse(event_name, payload)
        return noticing.make_notice(
            self.settings, moment, event, self._make_index, stale_index.make_index
        )

    def _make_index(self, file: Any, worktree: str) -> Any:
        with App(self.settings) as app:
            return notice_index.make_index(app, file, worktree)

    def prompt(self, text: str, session: str = "") -> str:
        return self.ask("UserPromptSubmit", session, prompt=text)

    def edit(self, path: str, old: str, new: str, session: str = "") -> str:
        given = {"file_path": str(self.project / path), "old_string": old, "new_string": new}
        return self.ask("PreToolUse", session, tool_name="Edit", tool_input=given)


def measure_noise(folder: Path) -> list[Noise]:
    author, listener = Author(), Listener(folder)
    decisions = author.list_decisions()
    listener.note(decisions)
    prompts, edits = list(author.list_prompts()), list(author.list_edits())
    by_prompt = [(text, listener.prompt(text)) for text in prompts]
    by_edit = [(f"{path}: {new}", listener.edit(path, old, new)) for path, old, new in edits]
    wanted = [f"let's use {text}" for status, text, _ in decisions if status == "rejected"]
    first = [(text, listener.prompt(text, "one session")) for text in wanted]
    known = {name for _, told in first for name in list_names(told)}
    again = [(text, listener.prompt(text, "one session")) for text in wanted]
    repeated = [
        (text, told if known.intersection(list_names(told)) else "") for text, told in again
    ]
    return [
        make_row("unrelated prompts", by_prompt),
        make_row("unrelated edits", by_edit),
        make_row("told again in the same session", repeated),
        make_row("for comparison: a rejected thing is proposed", first),
    ]


def list_names(told: str) -> list[str]:
    """Of the decisions in a notice, one a line."""
    return [line.partition(" ")[0] for line in told.splitlines()]


def make_row(case: str, asked: list[tuple[str, str]]) -> Noise:
    spoken = [f"{text!r} → {told!r}" for text, told in asked if told]
    return Noise(case, len(asked), len(spoken), tuple(spoken[:20]))


REMARK = f"""
Shares, not times. {DECISIONS} decisions of eight domains; the prompts and edits are about the same domains in the same
words, made from a fixed seed, and one in five names a rejected thing that it does not want: in a log, a quotation, a
comment or a refusal. Promised: at most {MOST:.0%} of the first two rows, and none of the third. To repeat it:
`python -m bench.noise`, which also lists what was spoken to. The rule was changed after a first look at these prompts, of
which it had spoken to one in seven. On texts that were written for other purposes (2,159 questions, memories and sentences
of stories, and 1,500 edits of this repository's own history) it spoke to 7 and to none, and before its last change to 6 of
the edits.
"""  # noqa: E501 - the lines of the page


def describe(rows: list[Noise]) -> list[tuple[str, ...]]:
    return [(row.case, f"{row.moments:,}", f"{row.spoken:,}", f"{row.share:.1%}") for row in rows]


def write_section(rows: list[Noise]) -> str:
    from bench.report import table  # it writes this section as well

    return f"## {TITLE}\n{REMARK}\n{table(COLUMNS, describe(rows))}"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="holdfast-noise-") as folder:
        rows = run_in_thread(measure_noise, Path(folder))
    section = write_section(rows)
    PAGE.write_text(replace_section(PAGE.read_text(), TITLE, section))
    print(section)
    for row in rows[:3]:
        print(*row.examples, sep="\n")


if __name__ == "__main__":
    main()
