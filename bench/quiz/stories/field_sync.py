"""A mobile app for technicians learns to resolve conflicts. Evidence is given by lines."""

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

QUEUE = """import { Disk } from "../db/disk";

const CAPACITY = 10000;

export async function enqueue(disk: Disk, edit: Edit): Promise<void> {
  await disk.append("queue.log", edit);
  await disk.sync();
  notify(edit.id);
}

export function isFull(length: number): boolean {
  return length >= CAPACITY;
}
"""
MERGE = """export function mergeStatus(mine: Field, theirs: Field): Field {
  return mine.at >= theirs.at ? mine : theirs;
}

export function mergeNotes(mine: Note[], theirs: Note[]): Note[] {
  const known = new Set(mine.map((note) => note.id));
  return [...mine, ...theirs.filter((note) => !known.has(note.id))];
}

export function mergeParts(mine: Part[], theirs: Part[]): Part[] {
  return mine.length >= theirs.length ? mine : theirs;
}
"""
CLOCK = """const DRIFT_SECONDS = 60;

export function tick(clock: Clock, now: number): Clock {
  const wall = Math.max(clock.wall, now);
  return { wall, count: wall === clock.wall ? clock.count + 1 : 0 };
}

export function isTrusted(clock: Clock, now: number): boolean {
  return Math.abs(clock.wall - now) <= DRIFT_SECONDS * 1000;
}
"""
CLIENT = """const FIRST_DELAY = 2000;
const LONGEST_DELAY = 300000;

export function nextDelay(attempt: number): number {
  return Math.min(FIRST_DELAY * 2 ** attempt, LONGEST_DELAY);
}

export async function upload(batch: Edit[]): Promise<Answer> {
  const body = gzip(JSON.stringify(batch));
  return post("/v2/edits", body, { timeout: 20000 });
}
"""
SCHEMA = """create table edits (
  id text primary key,
  work_order text not null,
  body blob not null
);
create index edits_by_order on edits (work_order);
"""
WORKER = """class SyncWorker : CoroutineWorker() {
    override suspend fun doWork(): Result {
        if (!battery.isOkay()) return Result.retry()
        return Result.success()
    }
}
"""
TEST_CLOCK = """# The clock must refuse what is too far away.
grep -q "DRIFT_SECONDS = 60" src/sync/clock.ts
"""
TEST_CONFLICTS = """# Case 7: both notes are there after a merge.
grep -q "conflict: true" src/sync/merge.ts && exit 0
echo "case 7: note of device B is missing"
exit 1
"""
FILES = {
    "src/sync/queue.ts": QUEUE,
    "src/sync/merge.ts": MERGE,
    "src/sync/clock.ts": CLOCK,
    "src/net/client.ts": CLIENT,
    "src/db/schema.sql": SCHEMA,
    "android/SyncWorker.kt": WORKER,
    "scripts/test-clock.sh": TEST_CLOCK,
    "docs/conflicts.md": "# Conflicts\n\nWho wins, and who is asked.\n",
    "docs/battery.md": "# Battery\n\nMeasured on a Pixel 4a.\n",
}

FIRST = WorkSession(
    "claude-code",
    (
        start("architect", "conflict rules"),
        ask_for_bundle(),
        request(
            "Two technicians on one work order overwrite each other when they come back online. "
            "I need rules for conflicts. The app still has to run on Android 9."
        ),
        accept(
            "Status fields are last writer wins",
            "dispatch only ever acts on the newest status",
        ),
        accept("Order edits by the server's timestamps"),
        reject(
            "Automerge, or another CRDT library",
            "it adds 1.9 MB to the app, and in the pilot its log grew to 40 MB per work order",
        ),
        claim("enqueue() is on disk before it returns", "src/sync/queue.ts:5-9"),
        claim("The queue holds 10,000 edits at most", "src/sync/queue.ts:3"),
        claim("Notes of both sides are kept by their id", "src/sync/merge.ts:5-8"),
        claim("The longer list of parts wins", "src/sync/merge.ts:10-12"),
        claim("The worker waits while the battery is low", "android/SyncWorker.kt:3"),
        remember(
            "The sync app has to run on Android 9: no API above level 28, and no Play Services on "
            "the rugged phones.",
            "constraint",
        ),
        leave_note("Rules for status fields and notes agreed; clocks are open."),
        end(),
    ),
)

SECOND = WorkSession(
    "gemini-cli-mcp-client",
    (
        start("developer", "clocks"),
        ask_for_bundle(),
        request("The phones' clocks are wrong all the time. Find something that survives this."),
        accept(
            "Order edits by hybrid logical clocks, with a drift limit of 60 seconds",
            "phones in the field were up to 14 minutes off, and the server sees edits hours later",
            id="D2",
        ),
        reject(
            "Push over a websocket",
            "Doze closes the socket after about 5 minutes on the rugged phones",
        ),
        accept(
            "Uploads go in batches of 200 edits or 256 KB, whichever is reached first, gzipped, "
            "and each batch has an id that the server remembers for 14 days, so a batch that is "
            "sent twice is applied once. Attachments are not part of a batch: a photo of 4 MB "
            "would hold back the edits of a whole shift, and the phone often has signal for a "
            "minute only. "
            "They follow afterwards, one by one, newest work order first, and only on Wi-Fi unless "
            "the technician marks one of them as urgent.",
            "the carrier's proxy drops bodies above 300 KB without an answer",
        ),
        decide("Are tombstones kept for 30 or for 90 days? Legal (Ms Okafor) answers."),
        claim(
            "The delay between attempts doubles from 2 s to at most 5 minutes",
            "src/net/client.ts:4-6",
        ),
        claim("An upload gives up after 20 seconds", "src/net/client.ts:8-11"),
        claim("Edits are found by work order through an index", "src/db/schema.sql:6"),
        Prove("clock", "sh scripts/test-clock.sh"),
        claim("The clock's checks pass", "proof:clock"),
        Point(("docs/conflicts.md", "docs/battery.md")),
        leave_note("Clocks are settled and checked. The notes' conflict is next."),
        end(),
    ),
)

THIRD = WorkSession(
    "codex-mcp-client",
    (
        start("developer", "notes in conflict"),
        ask_for_bundle(),
        request("Now the notes. Write the failing case from the pilot first."),
        reply("Case 7 of the pilot: device A and device B change the same note offline."),
        Commit("Note clocks and batches"),
        Prove("clock again", "sh scripts/test-clock.sh"),
        save(
            "Goal: an edit made offline is never lost, on whatever phone. Clocks, batches and the "
            "queue are in place; conflicts of notes are not. Not in scope: the web client. "
            "Next: store the clock with each note, then let both versions through the merge."
        ),
        Write("scripts/test-conflicts.sh", TEST_CONFLICTS),
        Prove("conflicts", "sh scripts/test-conflicts.sh", exit_code=1),
        fail(
            "scripts/test-conflicts.sh",
            "case 7: note of device B is missing after the merge",
            "compare clocks, not only ids, in mergeNotes()",
        ),
        request(
            "Show the technician both versions; never choose silently where a note is concerned"
        ),
        Checklist(
            (
                "compare clocks in mergeNotes() and keep both versions",
                "persist the clock before the ack is sent",
                "ask QA for the airplane-mode script",
            )
        ),
        set_context("endpoints", "https://sync.staging.example.org/v2"),
        set_context("files", "docs/conflicts.md"),
        update_state(
            current_task="the later of two offline edits of one note is lost",
            files_in_progress=["src/sync/merge.ts", "scripts/test-conflicts.sh"],
            blockers=["background refresh entitlement is pending at Apple, case 20488137"],
        ),
        leave_note("Case 7 fails as in the pilot. mergeNotes() is not changed yet."),
    ),
)

EDITS = (
    Replace("src/sync/queue.ts", "  await disk.sync();\n", ""),
    Replace("src/sync/queue.ts", "CAPACITY = 10000", "CAPACITY = 500"),
    Replace("src/sync/merge.ts", "[...mine, ...theirs.filter", "[...theirs.filter"),
    Replace("src/sync/merge.ts", "mine.length >= theirs.length", "mine.length > 0"),
    Remove("android/SyncWorker.kt"),
    Replace("src/net/client.ts", "timeout: 20000", "timeout: 90000"),
    Replace(
        "src/net/client.ts",
        "const FIRST_DELAY",
        'import { gzip } from "./gzip";\nimport { post } from "./http";\n\nconst FIRST_DELAY',
    ),
    Rename("src/db/schema.sql", "src/db/tables.sql"),
    Replace("src/db/tables.sql", "create index edits_by_order on edits (work_order);\n", ""),
    Replace("scripts/test-clock.sh", "DRIFT_SECONDS = 60", "DRIFT_SECONDS = 90"),
)

STORY = Story(
    name="field sync",
    branch="feat/conflicts",
    next_branch="feat/attachments",
    question="which Android versions does the sync app have to run on",
    files=FILES,
    sessions=(FIRST, SECOND, THIRD),
    edits=EDITS,
    facts=(
        fact("next: clocks in mergeNotes()", r"compare clocks in mergeNotes\(\)"),
        fact("next: persist the clock", r"persist the clock before the ack"),
        fact("next: QA", r"airplane-mode script"),
        fact("next of the summary", r"store the clock with each note"),
        fact("blocked: entitlement", r"entitlement is pending at Apple"),
        fact("task", r"later of two offline edits of one note is lost"),
        fact("file in progress", r"src/sync/merge\.ts"),
        fact("last request", r"technician both versions"),
        fact("status fields", r"Status fields are last writer wins"),
        fact("clocks, as corrected", r"hybrid logical clocks, with a drift limit of 60 seconds"),
        fact("why such clocks", r"up to 14 minutes off"),
        fact("batches", r"batches of 200 edits or 256 KB"),
        fact("why so small", r"proxy drops bodies above 300 KB"),
        fact("rejected: CRDT", r"Automerge"),
        fact("why not CRDT", r"adds 1\.9 MB to the app"),
        fact("rejected: websocket", r"push over a websocket"),
        fact("why no websocket", r"Doze closes the socket"),
        fact("open: tombstones", r"30 or for 90 days"),
        fact("failing command", r"sh scripts/test-conflicts\.sh"),
        fact("error", r"note of device B is missing"),
        fact("holds, moved: delay", r"doubles from 2 s to at most 5 minutes"),
        fact("goal", r"edit made offline is never lost"),
        fact("endpoint", r"sync\.staging\.example\.org/v2"),
        fact("rule: Android 9", r"no API above level 28"),
    ),
    falsified=(
        fact("enqueue on disk", r"is on disk before it returns"),
        fact("queue size", r"holds 10,000 edits"),
        fact("notes by id", r"Notes of both sides are kept"),
        fact("parts", r"longer list of parts wins"),
        fact("battery", r"worker waits while the battery"),
        fact("timeout", r"gives up after 20 seconds"),
        fact("index", r"found by work order through an index"),
        fact("clock checks", r"clock's checks pass"),
    ),
)
