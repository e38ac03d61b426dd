"""An agent on every host ships logs. Its authors explain themselves at length."""

from __future__ import annotations

from bench.quiz.story import (
    Checklist,
    Commit,
    Point,
    Prove,
    Remove,
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

TAIL = r'''"""Follows files while they grow and rotate."""

import os


def identify(path):
    status = os.stat(path)
    return f"{status.st_dev}:{status.st_ino}"


def read_new(handle, offset, limit=65536):
    handle.seek(offset)
    block = handle.read(limit)
    whole = block.rfind(b"\n") + 1
    return block[:whole], offset + whole


def save_offset(path, offset):
    with open(path + ".new", "w") as out:
        out.write(str(offset))
        out.flush()
        os.fsync(out.fileno())
    os.replace(path + ".new", path)
'''
SPOOL = '''"""What waits on the disk while the network is away."""

LIMIT_BYTES = 2 * 2**30


class Spool:
    def __init__(self, limit=LIMIT_BYTES):
        self.limit = limit
        self.parts = []
        self.lost = 0

    def size(self):
        return sum(len(part) for part in self.parts)

    def add(self, part):
        self.parts.append(part)
        while self.size() > self.limit:
            self.parts.pop(0)
            self.lost += 1

    def take(self):
        return self.parts.pop(0) if self.parts else None
'''
BATCH = '''"""Lines are sent together."""

MOST_LINES = 1000
MOST_SECONDS = 5


def is_due(lines, oldest_at, now):
    return len(lines) >= MOST_LINES or now - oldest_at >= MOST_SECONDS
'''
SEND = '''"""Brings batches to the gateway."""

LONGEST_WAIT = 120


def wait_for(attempt, answer_headers):
    if "Retry-After" in answer_headers:
        return int(answer_headers["Retry-After"])
    return min(2**attempt, LONGEST_WAIT)


def is_final(status):
    return status in (400, 413)
'''
SCRUB = r'''"""Takes secrets out of lines."""

import re

SECRETS = re.compile(r"(?i)(token=|password=)\S+")


def scrub(line):
    return SECRETS.sub(r"\1***", line)
'''
LABELS = '''"""Says where a line comes from."""


def add_labels(record, host):
    return {**record, "host": host["name"], "rack": host["rack"], "stage": host["stage"]}
'''
MULTILINE = r'''"""Joins the lines of a stack trace."""


def join_traces(lines):
    joined = []
    for line in lines:
        if line.startswith((" ", "\t")) and joined:
            joined[-1] += "\n" + line
        else:
            joined.append(line)
    return joined
'''
SERVICE = '''"""The loop of the agent."""


def every_minute(run, memory_mb):
    run("flush-metrics")
    if memory_mb > 200:
        run("restart")
'''
AGENT = """[gateway]
url = "https://gw.example:8443"

[follow]
paths = ["/var/log/*.log", "/srv/*/log/*.log"]
"""
TEST_SPOOL = """import unittest

from drover.spool import Spool


class Full(unittest.TestCase):
    def test_the_oldest_part_goes_first(self):
        spool = Spool(limit=6)
        for part in (b"one", b"two", b"six"):
            spool.add(part)
        self.assertEqual(spool.take(), b"two")
        self.assertEqual(spool.lost, 1)
"""
TEST_MULTILINE = r"""import unittest

from drover.multiline import join_traces


class Traces(unittest.TestCase):
    def test_a_cause_belongs_to_its_trace(self):
        lines = ["java.io.IOException: gone", "\tat a.B.c", "Caused by: x.Y", "\tat d.E.f"]
        self.assertEqual(len(join_traces(lines)), 1)
"""
FILES = {
    "drover/__init__.py": "",
    "drover/tail.py": TAIL,
    "drover/spool.py": SPOOL,
    "drover/batch.py": BATCH,
    "drover/send.py": SEND,
    "drover/scrub.py": SCRUB,
    "drover/labels.py": LABELS,
    "drover/multiline.py": MULTILINE,
    "drover/service.py": SERVICE,
    "config/agent.toml": AGENT,
    "docs/delivery.md": "# Delivery\n\nWhat the agent promises, and what it does not.\n",
    "docs/rollout.md": "# Rollout\n\nWhich hosts come first.\n",
    "tests/__init__.py": "",
    "tests/test_spool.py": TEST_SPOOL,
}

FIRST = WorkSession(
    "opencode",
    (
        start("architect", "a successor for the forwarder"),
        ask_for_bundle(),
        request(
            "Our hosts still run the old forwarder, and whenever the gateway restarts we lose "
            "lines. Plan a successor that gets through six hours without network. It sits beside "
            "databases, so it may not eat more than 3 % of one core."
        ),
        accept(
            "Delivery is at least once, and the gateway drops duplicates by the pair of file and "
            "offset, because exactly once would need a transaction across both data centres, which "
            "nobody on the team is willing to operate.",
            phase="planning",
        ),
        accept(
            "Batches travel as zstd over ordinary HTTP/2 requests instead of gRPC streams, because "
            "the proxies of two customers cut every stream after 60 seconds, and the difference in "
            "bytes stayed under 4 % in our sample."
        ),
        reject(
            "Read everything from the systemd journal and forget about files",
            "a third of the hosts run Alpine, where there is no journal to read from",
        ),
        reject(
            "Buffer in memory only and make the gateway redundant instead",
            "the outage in May went on for 5 hours, and a machine with a database on it has no "
            "11 GB to spare",
        ),
        claim(
            "It took me a while to see it, but identify() tells files apart by device and inode, "
            "and therefore a file that was rotated is not shipped a second time",
            "drover/tail.py#identify",
        ),
        claim(
            "read_new() hands over whole lines only; half a line at the end of the file is left "
            "where it is for the next round",
            "drover/tail.py#read_new",
        ),
        claim(
            "save_offset() calls fsync before the new file takes the place of the old one, so a "
            "power cut cannot leave an empty offset behind",
            "drover/tail.py#save_offset",
        ),
        claim(
            "Each record that leaves the host carries three labels, namely the host, the rack and "
            "the stage",
            "drover/labels.py",
        ),
        remember(
            "Lines from the hosts in Zurich must never leave Switzerland: the agent there talks to "
            "gw-ch.example and to nothing else, even when that gateway is down for days.",
            "constraint",
        ),
        update_state(current_task="plan of the successor", spec_file="docs/delivery.md"),
        leave_note(
            "The plan stands and was read by two people from operations. There is no rollout date."
        ),
        end(),
    ),
)

SECOND = WorkSession(
    "gemini-cli-mcp-client",
    (
        start("developer", "spool and sender"),
        ask_for_bundle(),
        request(
            "Check the spool and the sender against the plan, and decide what the security team "
            "asked us in their mail. Keep the answers short enough to forward."
        ),
        accept(
            "The agent runs under a user of its own and gets the capability CAP_DAC_READ_SEARCH "
            "and no other, because the security team refuses every root daemon that parses text "
            "which strangers are able to write."
        ),
        accept(
            "Configuration is pulled from the gateway every 10 minutes, and the agent accepts it "
            "only if the minisign signature fits the public key that was built into the package "
            "when it left our pipeline",
            "pushing it over SSH would have put keys for 1,900 hosts on a single machine",
        ),
        accept(
            "A host that has been silent for 15 minutes raises an alarm at the gateway and not in "
            "the agent, because an agent that has died is in no position to tell anybody about it, "
            "as we learned in spring."
        ),
        reject(
            "Put a sidecar container next to each service",
            "it multiplied the connections to the gateway by 14, and the bare-metal hosts would "
            "have been left out altogether",
        ),
        decide(
            "Does the audit log go through the common spool, or does it get a spool of its own? "
            "Ingrid from compliance gives us an answer at the end of the month, so nothing is "
            "settled here."
        ),
        claim(
            "The spool on the disk is limited to 2 GiB, as long as nobody passes another limit "
            "when it is made",
            "drover/spool.py:3",
        ),
        claim(
            "A full spool gives up its oldest part first and counts it in lost, so the most recent "
            "lines are the ones that survive",
            "drover/spool.py#Spool.add",
        ),
        claim(
            "wait_for() obeys Retry-After whenever the gateway sends it, and otherwise doubles the "
            "pause until it has reached 120 seconds",
            "drover/send.py#wait_for",
        ),
        claim(
            "There are just two answers after which is_final() abandons a batch, and these are "
            "400 and 413",
            "drover/send.py#is_final",
        ),
        claim(
            "scrub() puts three stars in the place of whatever follows password= or token=, in "
            "upper case as well as in lower case",
            "drover/scrub.py",
        ),
        Prove("spool", "python3 -m unittest -q tests.test_spool"),
        claim(
            "The tests of the spool were run at the end of this session and came out green",
            "proof:spool",
        ),
        remember(
            "The search cluster takes at most 40,000 lines per second from all the hosts together. "
            "Above that the gateway starts to answer 429, and the nightly reports come late.",
            "constraint",
        ),
        Commit("Answer the security team"),
        leave_note("Spool and sender agree with the plan; stack traces are the next subject."),
        end(),
    ),
)

THIRD = WorkSession(
    "codex-mcp-client",
    (
        start("developer", "stack traces"),
        ask_for_bundle(),
        request(
            "The Java teams complain that one exception arrives as several records. Reproduce it "
            "with a test before you change anything, please."
        ),
        accept(
            "Lines above 256 KiB are cut and marked with truncated=true, because one service once "
            "wrote a dump of 90 MB on a single line and the parser of the search cluster stopped "
            "for everybody else as well."
        ),
        reply(
            "I take a trace with a cause in the middle, because that is where the samples from the "
            "Java teams fall apart."
        ),
        save(
            "The agent replaces the forwarder on all hosts and must not lose lines while the "
            "gateway is away. Reading, spooling and sending follow the plan. Once a minute the "
            "agent looks at its own memory and restarts itself above 200 MB. What occupies us now "
            "are stack traces, which have to arrive as one record each. Metrics and traces in the "
            "sense of OpenTelemetry are somebody else's project and stay out of this one."
        ),
        Write("tests/test_multiline.py", TEST_MULTILINE),
        Prove("multiline", "python3 -m unittest -q tests.test_multiline", exit_code=1),
        fail(
            "tests.test_multiline",
            "join_traces() begins a new record at the line Caused by, 2 records instead of 1",
            "let join_traces() treat Caused by as part of the trace above it",
        ),
        Checklist(
            (
                "let join_traces() treat Caused by as part of the trace above it",
                "measure the share of a core with 400 open files",
                "compare line counts with the forwarder on the 12 canary hosts in Oslo",
            )
        ),
        Point(("docs/delivery.md", "docs/rollout.md")),
        set_context("files", "docs/rollout.md"),
        update_state(
            current_task="an exception with a cause arrives as two records",
            files_in_progress=["drover/multiline.py", "tests/test_multiline.py"],
            blockers=[
                "the package repository rejects our signing key until OPS-778 is through",
                "two canary hosts have a full /var, and Bertil has to clean them first",
            ],
            handoff_context=(
                "At 37 rotations per second the follower misses about one line in 80,000, and I "
                "have seen that on XFS only."
            ),
            spec_file="docs/delivery.md",
        ),
        request(
            "Before anything is rolled out, cap the agent at 64 MB of memory on the database "
            "hosts. The other hosts can wait with that until the new year."
        ),
        leave_note(
            "The complaint of the Java teams is reproduced by a test, and nothing in the code was "
            "changed for it so far."
        ),
    ),
)

EDITS = (
    Replace(
        "drover/tail.py",
        '    status = os.stat(path)\n    return f"{status.st_dev}:{status.st_ino}"\n',
        "    return os.path.abspath(path)\n",
    ),
    Replace("drover/tail.py", "        out.flush()\n        os.fsync(out.fileno())\n", ""),
    Replace("drover/spool.py", "LIMIT_BYTES = 2 * 2**30", "LIMIT_BYTES = 512 * 2**20"),
    Replace(
        "drover/spool.py",
        "            self.parts.pop(0)\n            self.lost += 1\n",
        "            self.parts.pop()\n",
    ),
    Replace("drover/send.py", "status in (400, 413)", "400 <= status < 500"),
    Remove("drover/labels.py"),
    Replace("drover/service.py", '    if memory_mb > 200:\n        run("restart")\n', ""),
)

STORY = Story(
    name="log shipper",
    branch="feat/stack-traces",
    next_branch="feat/canary",
    question="where may the logs of the hosts in Zurich be sent",
    files=FILES,
    sessions=(FIRST, SECOND, THIRD),
    edits=EDITS,
    facts=(
        fact("next: cause", r"join_traces\(\) treat Caused by", r"part of the trace"),
        fact("next: measure", r"share of a core", r"400 open files"),
        fact("next: canaries", r"line counts", r"12 canary hosts"),
        fact("blocked: key", r"signing key", r"OPS-778"),
        fact("blocked: disks", r"full /var", r"Bertil"),
        fact("last request: memory", r"64 MB", r"database\s+hosts"),
        fact("handed over: rotations", r"37 rotations", r"XFS"),
        fact("failing command", r"unittest -q tests\.test_multiline"),
        fact("delivery", r"at least once", r"file and\s+offset"),
        fact("transport", r"zstd", r"HTTP/2", r"instead of gRPC"),
        fact("privileges", r"user of its own", r"CAP_DAC_READ_SEARCH"),
        fact("configuration", r"pulled from the gateway", r"minisign"),
        fact("why pulled", r"SSH", r"1,900 hosts"),
        fact("silence", r"silent for 15 minutes", r"alarm at the gateway"),
        fact("long lines", r"256 KiB", r"truncated=true"),
        fact("rejected: journal", r"systemd journal", r"Alpine"),
        fact("rejected: memory only", r"memory only", r"11 GB"),
        fact("rejected: sidecar", r"sidecar", r"connections to the gateway by 14"),
        fact("open: audit log", r"audit log", r"spool of its own"),
        fact("holds: whole lines", r"read_new\(\)", r"whole lines"),
        fact("holds: pauses", r"wait_for\(\)", r"Retry-After", r"120 seconds"),
        fact("holds: secrets", r"scrub\(\)", r"three stars"),
        fact("rule: Zurich", r"Zurich", r"never leave Switzerland"),
        fact("rule: search cluster", r"search cluster", r"40,000 lines per second"),
    ),
    falsified=(
        fact("identity", r"identify\(\)", r"by device and inode"),
        fact("offset is safe", r"save_offset\(\)", r"calls fsync before"),
        fact("labels", r"three labels", r"the rack"),
        fact("limit of the spool", r"limited to 2 GiB"),
        fact("oldest first", r"full spool", r"oldest part first"),
        fact("final answers", r"is_final\(\)", r"400 and 413"),
        fact("tests of the spool", r"tests of the spool", r"came out green"),
        fact("summary: restarts", r"restarts itself above 200 MB"),
    ),
)
