"""A command for backups gets a retention policy. The first session plans, in the other document."""

from __future__ import annotations

from bench.quiz.story import (
    Checklist,
    Commit,
    Point,
    Prove,
    Remove,
    Rename,
    Replace,
    Story,
    WorkSession,
    Write,
    accept,
    ask_for_bundle,
    claim,
    decide,
    end,
    fact,
    fail,
    leave_note,
    reject,
    remember,
    reply,
    request,
    save,
    set_context,
    start,
    update_state,
)

CHUNKER = '''"""Cuts a stream where its content says so."""

SMALLEST = 512 * 1024
LARGEST = 4 * 1024 * 1024


def cut_chunks(stream, is_edge):
    chunk = bytearray()
    for byte in stream:
        chunk.append(byte)
        if len(chunk) >= LARGEST or (len(chunk) >= SMALLEST and is_edge(chunk)):
            yield bytes(chunk)
            chunk = bytearray()
    if chunk:
        yield bytes(chunk)
'''
STORE = '''"""Chunks in a bucket, by their hash."""

import hashlib


class Store:
    def __init__(self, bucket, cache):
        self.bucket = bucket
        self.cache = cache

    def has_chunk(self, name):
        if name in self.cache:
            return True
        return self.bucket.exists(name)

    def put_chunk(self, data):
        name = hashlib.sha256(data).hexdigest()
        stored = self.bucket.put(name, data)
        if stored.sha256 != name:
            raise ValueError(name)
        return name
'''
CRYPTO = '''"""Keys and boxes."""

import hashlib


def derive_key(passphrase, salt):
    return hashlib.scrypt(passphrase, salt=salt, n=2**15, r=8, p=1, dklen=32)


def name_box(key_id, nonce):
    return f"{key_id}-{nonce.hex()}"
'''
LOCK = '''"""At most a single writer for each repository."""

EXPIRES_SECONDS = 30 * 60


def is_expired(taken_at, now):
    return now - taken_at > EXPIRES_SECONDS


def acquire(locks, owner, now):
    for taken_at in locks.values():
        if not is_expired(taken_at, now):
            return False
    locks[owner] = now
    return True
'''
PRUNE = '''"""Which snapshots may go."""


def plan_prune(snapshots, keep):
    newest_first = sorted(snapshots, key=lambda snapshot: -snapshot["taken_at"])
    return newest_first[keep:]


def group_by_day(snapshots):
    days = {}
    for snapshot in snapshots:
        days.setdefault(snapshot["taken_at"] // 86400, []).append(snapshot)
    return days
'''
SCHEDULE = '''"""What runs when."""


def after_backup(run):
    run("prune")
    run("verify --sample 2")
'''
REPORT = '''"""What a person reads after a backup."""


def show_size(count):
    return f"{count / 2**20:.1f} MiB"
'''
DEFAULTS = """[upload]
limit_mbit = 20
parallel = 4

[snapshot]
compression = "zstd-3"
"""
TEST_LOCK = """import unittest

from vault.lock import acquire


class Lock(unittest.TestCase):
    def test_a_second_writer_waits(self):
        locks = {}
        self.assertTrue(acquire(locks, "a", 0))
        self.assertFalse(acquire(locks, "b", 60))
"""
TEST_PRUNE = """import unittest

from vault.prune import plan_prune


class Prune(unittest.TestCase):
    def test_a_parent_in_use_stays(self):
        parent = {"id": "s-0093", "taken_at": 1}
        child = {"id": "s-0101", "taken_at": 2, "parent": "s-0093"}
        self.assertEqual(plan_prune([parent, child], keep=1), [])
"""
FILES = {
    "vault/__init__.py": "",
    "vault/chunker.py": CHUNKER,
    "vault/store.py": STORE,
    "vault/crypto.py": CRYPTO,
    "vault/lock.py": LOCK,
    "vault/prune.py": PRUNE,
    "vault/schedule.py": SCHEDULE,
    "vault/report.py": REPORT,
    "config/defaults.toml": DEFAULTS,
    "docs/restore.md": "# Restore\n\nRun `vault restore SNAPSHOT TARGET`.\n",
    "docs/retention-spec.md": "# Retention\n\nWhat is kept for how long.\n",
    "tests/__init__.py": "",
    "tests/test_lock.py": TEST_LOCK,
}

FIRST = WorkSession(
    "gemini-cli-mcp-client",
    (
        start("architect", "retention plan"),
        ask_for_bundle(),
        request(
            "We keep every snapshot for ever and the bucket is at 5.1 TB. Plan a retention policy; "
            "auditors want one year. Finance caps the storage at 6 TB."
        ),
        accept(
            "Payloads are sealed with XChaCha20-Poly1305, one key per repository",
            "AES took 4 times as long on the NAS boxes, whose processors have no AES instructions",
            phase="planning",
        ),
        reject(
            "Mirror with rsync and hard links",
            "no encryption at rest, and a renamed folder is uploaded again as a whole",
        ),
        accept(
            "Chunks are cut by content, 1 MiB on average, 512 KiB to 4 MiB",
            "fixed blocks lost 38 % of the deduplication on VM images",
        ),
        claim("cut_chunks() never emits a chunk above 4 MiB", "vault/chunker.py#cut_chunks"),
        claim(
            "derive_key() runs scrypt with n = 2^15, which takes 80 ms on the slowest NAS",
            "vault/crypto.py#derive_key",
        ),
        claim(
            "has_chunk() looks into the local cache before it asks the bucket",
            "vault/store.py#Store.has_chunk",
        ),
        claim("The upload limit is 20 Mbit/s by default", "config/defaults.toml:2"),
        claim("Sizes are reported in binary units, MiB", "vault/report.py"),
        remember(
            "Branch offices share one line with the tills: backup uploads must stay below "
            "20 Mbit/s between 8:00 and 18:00, or the shops cannot take cards.",
            "constraint",
        ),
        update_state(current_task="retention plan", spec_file="docs/retention-spec.md"),
        leave_note("Plan agreed with the person. Nothing is implemented."),
        end(),
    ),
)

SECOND = WorkSession(
    "codex-mcp-client",
    (
        start("developer", "locks and uploads"),
        ask_for_bundle(),
        request("Make sure two machines never prune at the same time, then start with the policy."),
        accept(
            "Retention is 7 daily, 4 weekly and 12 monthly snapshots per host",
            "auditors ask for one year and storage is capped at 6 TB",
        ),
        accept("Exit code 3 means that another writer holds the lock"),
        reject(
            "Prune on the laptop while a backup runs",
            "a laptop that sleeps in the middle kept the lock and blocked 40 hosts for a night",
        ),
        accept(
            "Pruning has two phases: first it writes a plan with the ids of the snapshots and the "
            "bytes that would be freed, then a second run with the id of that plan deletes. The "
            "plan is refused when a snapshot was added after it, so a deletion never works on an "
            "outdated picture. Between the phases nothing is locked, because people look at the "
            "plan for hours before they approve it, and backups must not wait for them. The plan "
            "is a small file in the bucket itself, beside the snapshots, and is removed after "
            "7 days.",
            "an operator deleted the wrong year in 2024 because there was nothing to look at",
        ),
        decide(
            "Refuse or only warn when a host's clock is more than 5 minutes off? "
            "Waits for the security review."
        ),
        claim("A lock expires after 30 minutes", "vault/lock.py:3-7"),
        claim(
            "put_chunk() compares the hash that the bucket reports with its own",
            "vault/store.py#Store.put_chunk",
        ),
        claim(
            "group_by_day() groups by UTC days, never by local time", "vault/prune.py#group_by_day"
        ),
        Prove("lock", "python3 -m unittest -q tests.test_lock"),
        claim("All tests of the lock pass", "proof:lock"),
        Point(("docs/retention-spec.md", "docs/restore.md")),
        leave_note("The lock is safe. The policy itself is next."),
        end(),
    ),
)

THIRD = WorkSession(
    "opencode",
    (
        start("developer", "prune"),
        ask_for_bundle(),
        request("Implement plan_prune for the policy, tests first."),
        reply("I write the test for snapshots that newer ones depend on, then the plan."),
        Commit("Note the policy"),
        Prove("lock again", "python3 -m unittest -q tests.test_lock"),
        save(
            "Goal: old snapshots go, and no snapshot that can be restored is ever damaged. "
            "The scheduler calls prune after every backup. Locks and uploads are settled. "
            "Out of scope: deleting single files from a snapshot. "
            "Next: run the restore drill against the March snapshot before prune is switched on."
        ),
        Write("tests/test_prune.py", TEST_PRUNE),
        Prove("prune", "python3 -m unittest -q tests.test_prune", exit_code=1),
        fail(
            "tests.test_prune",
            "plan_prune() gives up s-0093 although s-0101 still refers to it",
            "follow parent links in plan_prune() before anything is cut off",
        ),
        request("Whatever the policy says, don't touch snapshots younger than 48 hours."),
        Checklist(
            (
                "follow parent links in plan_prune()",
                "show the bytes that would be freed in --dry-run",
                "write the restore drill into docs/restore.md",
            )
        ),
        set_context("files", "docs/retention-spec.md"),
        update_state(
            current_task="prune gives up a snapshot that a newer one depends on",
            files_in_progress=["vault/prune.py", "tests/test_prune.py"],
            blockers=[
                "the role for the Frankfurt bucket may not delete object versions; asked Tomás",
                "no Windows runner before Thursday",
            ],
            handoff_context="The random trees of snapshots fail only with seed 4417.",
            spec_file="docs/retention-spec.md",
        ),
        leave_note("The test of dependent snapshots fails, as it should; the cure is not begun."),
    ),
)

EDITS = (
    Replace("vault/chunker.py", "len(chunk) >= LARGEST or (len", "(len"),
    Replace("vault/chunker.py", "is_edge(chunk)):", "is_edge(chunk)):  # no upper limit"),
    Replace("vault/store.py", "        if stored.sha256 != name:\n", "        if not stored:\n"),
    Replace("vault/store.py", "        if name in self.cache:\n            return True\n", ""),
    Replace("vault/lock.py", "EXPIRES_SECONDS = 30 * 60", "EXPIRES_SECONDS = 5 * 60"),
    Replace("config/defaults.toml", "limit_mbit = 20", "limit_mbit = 80"),
    Remove("vault/report.py"),
    Rename("vault/schedule.py", "vault/timer.py"),
    Replace("vault/timer.py", '    run("prune")\n', ""),
    Replace("tests/test_lock.py", '"b", 60', '"b", 600'),
)

STORY = Story(
    name="backup tool",
    branch="feat/retention",
    next_branch="feat/restore-drill",
    question="how fast may backup uploads be from branch offices",
    files=FILES,
    sessions=(FIRST, SECOND, THIRD),
    edits=EDITS,
    facts=(
        fact("next: parent links", r"follow parent links in plan_prune\(\)"),
        fact("next: dry run", r"bytes that would be freed in --dry-run"),
        fact("next: drill in the docs", r"restore drill into docs/restore\.md"),
        fact("next of the summary", r"restore drill against the March snapshot"),
        fact("blocked: role", r"Frankfurt bucket"),
        fact("blocked: runner", r"no Windows runner before Thursday"),
        fact("task", r"gives up a snapshot that a newer one depends on"),
        fact("file in progress", r"vault/prune\.py"),
        fact("handed over: seed", r"seed 4417"),
        fact("specification", r"docs/retention-spec\.md"),
        fact("last request", r"younger than 48 hours"),
        fact("retention", r"7 daily, 4 weekly and 12 monthly"),
        fact("why that long", r"auditors ask for one year"),
        fact("chunk size", r"cut by content, 1 MiB on average"),
        fact("why by content", r"lost 38 % of the deduplication"),
        fact("cipher", r"XChaCha20-Poly1305"),
        fact("two phases", r"Pruning has two phases"),
        fact("rejected: rsync", r"rsync and hard links"),
        fact("why not rsync", r"no encryption at rest"),
        fact("rejected: on the laptop", r"prune on the laptop while a backup runs"),
        fact("open: clock", r"clock is more than 5 minutes off"),
        fact("failing command", r"unittest -q tests\.test_prune"),
        fact("holds: scrypt", r"scrypt with n = 2\^15"),
        fact("rule: slow uploads", r"below 20 Mbit/s.{0,10}between 8:00 and 18:00"),
    ),
    falsified=(
        fact("largest chunk", r"never emits a chunk above 4 MiB"),
        fact("cache first", r"looks into the local cache before"),
        fact("upload limit", r"upload limit is 20 Mbit/s by default"),
        fact("binary units", r"reported in binary units"),
        fact("lock expiry", r"lock expires after 30 minutes"),
        fact("hash compared", r"compares the hash that the bucket reports"),
        fact("lock tests", r"All tests of the lock pass"),
        fact("summary: scheduler", r"scheduler calls prune after every backup"),
    ),
)
