"""A search engine gets an incremental index. All notes are in the implementation document."""

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

SEGMENTS = '''"""Immutable pieces of the index."""

MAX_DOCUMENTS = 50_000


class Segment:
    def __init__(self, documents):
        self.documents = tuple(documents)


def seal(buffer):
    return Segment(buffer)


def merge_segments(segments):
    documents = [document for segment in segments for document in segment.documents]
    return Segment(documents)


def pick_merge(sizes, fan_in=8):
    ordered = sorted(range(len(sizes)), key=sizes.__getitem__)
    return ordered[:fan_in] if len(ordered) >= fan_in else []
'''
WRITER = '''"""Takes documents and publishes segments."""

import os

from lantern.segments import MAX_DOCUMENTS, seal


class IndexWriter:
    def __init__(self, folder):
        self.folder = folder
        self.buffer = []

    def add(self, document):
        self.buffer.append(document)
        if len(self.buffer) >= MAX_DOCUMENTS:
            self.flush()

    def flush(self):
        segment = seal(self.buffer)
        with open(f"{self.folder}/segment.new", "wb") as file:
            file.write(repr(segment.documents).encode())
            os.fsync(file.fileno())
        self.buffer = []


def publish_manifest(folder, names):
    with open(f"{folder}/manifest.new", "w") as file:
        file.write("\\n".join(names))
    os.replace(f"{folder}/manifest.new", f"{folder}/manifest")
'''
TOKENIZER = '''"""Text to words."""

import re
import unicodedata


def fold(text):
    plain = unicodedata.normalize("NFKD", text)
    return "".join(c for c in plain if not unicodedata.combining(c)).casefold()


def split_words(text):
    return re.findall(r"\\w+", fold(text))
'''
QUERY = '''"""From words to a ranked list."""

import math

K1 = 1.2
B = 0.75


def parse_query(text):
    phrases = []
    for number, part in enumerate(text.split('"')):
        if number % 2:
            phrases.append(part.strip())
    return phrases


def score(frequency, length, average, documents, having):
    rarity = math.log(1 + (documents - having + 0.5) / (having + 0.5))
    return rarity * frequency * (K1 + 1) / (frequency + K1 * (1 - B + B * length / average))


def rank(hits):
    return sorted(hits, key=lambda hit: -hit[1])
'''
CURSOR = '''"""How far the change feed has been read."""

import os


def save_cursor(path, position):
    with open(path + ".new", "w") as file:
        file.write(str(position))
    os.replace(path + ".new", path)


def load_cursor(path):
    try:
        return int(open(path).read())
    except (OSError, ValueError):
        return 0
'''
TEST_TOKENIZER = """import unittest

from lantern.tokenizer import fold, split_words


class Words(unittest.TestCase):
    def test_accents_are_removed(self):
        self.assertEqual(fold("Crème"), "creme")

    def test_words_are_split(self):
        self.assertEqual(split_words("a-b c"), ["a", "b", "c"])
"""
TEST_MERGE = """import unittest

from lantern.segments import Segment, merge_segments


class Merge(unittest.TestCase):
    def test_a_deleted_document_is_not_merged(self):
        merged = merge_segments([Segment([1, 2, 3, -2]), Segment([4, 5])])
        self.assertEqual(len(merged.documents), 4)
"""
DELETES = '''"""Documents that are gone before their segment is."""


class Tombstones:
    def __init__(self):
        self.ids = set()

    def add(self, document_id):
        self.ids.add(document_id)
'''
FILES = {
    "lantern/__init__.py": "",
    "lantern/segments.py": SEGMENTS,
    "lantern/writer.py": WRITER,
    "lantern/tokenizer.py": TOKENIZER,
    "lantern/query.py": QUERY,
    "lantern/cursor.py": CURSOR,
    "lantern/stopwords.txt": "a\nan\nand\nof\nor\nthe\n",
    "tests/__init__.py": "",
    "tests/test_tokenizer.py": TEST_TOKENIZER,
    "docs/segment-format.md": "# Segment format\n\nOne segment, one file.\n",
    "docs/rollout.md": "# Rollout\n\nCanary on shard 3 first.\n",
}

FIRST = WorkSession(
    "claude-code",
    (
        start("architect", "incremental index"),
        ask_for_bundle(),
        request(
            "The nightly reindex takes four hours and pages are a day old. I want documents to be "
            "searchable within 30 seconds of a write, and the indexer must stay under 2 GB of "
            "memory."
        ),
        reply("I will read the writer and the ranker first, then propose a segment layout."),
        accept(
            "Segments are immutable and get sealed at 50,000 documents or 64 MB, "
            "whichever comes first",
            "readers can mmap a sealed file without taking any lock",
        ),
        accept("The on-disk format stays little endian; version byte 3 is written first"),
        reject(
            "Use SQLite FTS5 as the index",
            "no boost per field, and its write lock stalled queries for up to 900 ms "
            "during a flush",
        ),
        decide(
            "Is a renamed document a delete plus an add, or an update in place? "
            "Marek from search product decides."
        ),
        claim(
            "fold() removes accents and lowers case before words are hashed, "
            "so query and index agree",
            "lantern/tokenizer.py#fold",
        ),
        claim(
            "BM25 runs with k1 = 1.2 and b = 0.75, the values the relevance team tuned in spring",
            "lantern/query.py:5-6",
        ),
        claim(
            "parse_query() treats text in double quotes as a phrase",
            "lantern/query.py#parse_query",
        ),
        claim("The stop word list is read from lantern/stopwords.txt", "lantern/stopwords.txt"),
        Prove("tokenizer", "python3 -m unittest -q tests.test_tokenizer"),
        claim("All tokenizer tests pass", "proof:tokenizer"),
        remember(
            "Never run a full rebuild on the production search host; its batch cgroup has a single "
            "core. Rebuilds of the search index go to the worker pool index-batch.",
            "constraint",
        ),
        update_state(
            current_task="segment layout",
            files_in_progress=["lantern/segments.py"],
        ),
        leave_note("Layout of segments agreed; merge policy is the next topic."),
        end(),
    ),
)

SECOND = WorkSession(
    "codex-mcp-client",
    (
        start("developer", "merge policy"),
        ask_for_bundle(),
        request("Pick a merge policy. Disk writes matter more than query latency here."),
        accept(
            "Merge policy is tiered with a fan-in of 8",
            "levelled compaction rewrote every document 11 times on the wiki dump, tiered 3 times",
        ),
        accept(
            "A refresh runs every 10 seconds and publishes a new manifest by an atomic rename; a "
            "reader opens the manifest once per query and keeps its segments until the query ends. "
            "Files that no manifest names any more are deleted by the writer after 5 minutes, so "
            "that a slow query never loses a file under its feet. We looked at reference counts in "
            "shared memory first, but a reader that is killed would leave a count behind and the "
            "disk would fill up without anybody noticing it.",
            "no lock between reader and writer, and a crash leaves the old manifest valid",
        ),
        reject(
            "One merge thread per shard",
            "with 24 shards the disk queue was saturated and p99 of queries tripled",
        ),
        claim(
            "merge_segments() keeps the order in which documents were added",
            "lantern/segments.py#merge_segments",
        ),
        claim(
            "IndexWriter.flush() syncs the segment to disk before anything names it",
            "lantern/writer.py#IndexWriter.flush",
        ),
        claim(
            "publish_manifest() replaces the manifest in a single rename",
            "lantern/writer.py#publish_manifest",
        ),
        claim(
            "load_cursor() starts from zero when the cursor file is damaged",
            "lantern/cursor.py#load_cursor",
        ),
        claim(
            "save_cursor() writes beside the file and renames, so a crash keeps the old position",
            "lantern/cursor.py#save_cursor",
        ),
        Point(("docs/segment-format.md", "docs/rollout.md")),
        Commit("Note the merge policy"),
        save(
            "Goal: documents are searchable seconds after a write, without the nightly rebuild. "
            "Segments, writer and manifest stand; merging picks the smallest eight segments. "
            "Not in scope: synonyms and the admin screens. "
            "Next the deletes need tombstones that merging and ranking both respect."
        ),
        leave_note("Merge policy chosen and noted. Deletes are open."),
        end(),
    ),
)

THIRD = WorkSession(
    "claude-code",
    (
        start("developer", "deletes"),
        ask_for_bundle(),
        request("Start with deletes. Legal wants them gone from results quickly."),
        reply("A tombstone set per shard, consulted by ranking and by merging."),
        accept(
            "Tombstones are a roaring bitmap per segment, written beside it as .del",
            "a set of ids took 410 MB for 5 million deletes",
        ),
        Write("lantern/deletes.py", DELETES),
        Write("tests/test_merge.py", TEST_MERGE),
        Prove("merge", "python3 -m unittest -q tests.test_merge", exit_code=1),
        fail(
            "tests.test_merge",
            "merge_segments() returns 6 documents where 4 are expected: tombstone -2 is copied",
            "drop tombstoned ids inside merge_segments() before the new segment is sealed",
        ),
        request(
            "deleted pages must vanish from results at once, not after the next merge; "
            "and keep the admin port on 9231"
        ),
        Checklist(
            (
                "filter tombstones in rank() before the limit is applied",
                "make merge_segments() drop tombstoned ids",
                "measure a merge of 12 segments on the staging corpus",
            )
        ),
        set_context("ports", "9231"),
        set_context("files", "docs/segment-format.md"),
        update_state(
            current_task="deleted documents still show up until their segment is merged",
            files_in_progress=["lantern/deletes.py", "tests/test_merge.py"],
            blockers=["staging corpus has no snapshot: Priya restores it, ticket OPS-2291"],
        ),
        leave_note(
            "Tombstones exist but nothing reads them yet. "
            "The merge test was written first and fails."
        ),
    ),
)

EDITS = (
    Replace(
        "lantern/segments.py",
        "    return Segment(documents)\n\n\ndef pick",
        "    return Segment(sorted(documents))\n\n\ndef pick",
    ),
    Replace("lantern/writer.py", "            os.fsync(file.fileno())\n", ""),
    Replace("lantern/query.py", "K1 = 1.2\nB = 0.75\n", "K1 = 0.9\nB = 0.4\n"),
    Replace("lantern/query.py", "        if number % 2:\n", "        if number % 2 == 3:\n"),
    Remove("lantern/stopwords.txt"),
    Remove("docs/rollout.md"),
    Rename("lantern/cursor.py", "lantern/feed.py"),
    Replace("lantern/feed.py", "        return 0\n", "        raise\n"),
    Replace("tests/test_tokenizer.py", '"Crème"), "creme"', '"Crème"), "Creme"'),
)

STORY = Story(
    name="search index",
    branch="feat/incremental-index",
    next_branch="feat/synonyms",
    question="where do rebuilds of the search index run",
    files=FILES,
    sessions=(FIRST, SECOND, THIRD),
    edits=EDITS,
    facts=(
        fact("next: tombstones in rank()", r"filter tombstones in rank\(\)"),
        fact("next: merge drops ids", r"merge_segments\(\) drop tombstoned ids"),
        fact("next: measure on staging", r"merge of 12 segments"),
        fact("blocked: snapshot", r"OPS-2291"),
        fact("blocked: who helps", r"Priya"),
        fact("open: renamed document", r"renamed document.{0,60}(update in place|delete plus)"),
        fact("task", r"deleted documents still show up"),
        fact("file in progress", r"lantern/deletes\.py"),
        fact("last request", r"vanish from results at once"),
        fact("port of the last request", r"\b9231\b"),
        fact("segment size", r"50,000 documents or 64 MB"),
        fact("why immutable", r"mmap.{0,40}without taking any lock"),
        fact("fan-in", r"tiered with a fan-in of 8"),
        fact("why tiered", r"(rewrote|rewrites) every document 11 times"),
        fact("refresh", r"refresh runs every 10 seconds"),
        fact("bitmap", r"roaring bitmap per segment"),
        fact("why a bitmap", r"410 MB for 5 million"),
        fact("rejected: FTS5", r"SQLite FTS5"),
        fact("why not FTS5", r"stalled queries for up to 900 ms|no boost per field"),
        fact("rejected: thread per shard", r"merge thread per shard"),
        fact("failing command", r"unittest -q tests\.test_merge"),
        fact("error", r"returns 6 documents where 4 are expected"),
        fact("holds: manifest", r"publish_manifest\(\) replaces the manifest"),
        fact("rule: no rebuild there", r"full rebuild on the production search host"),
    ),
    falsified=(
        fact("order of merged documents", r"keeps the order in which documents"),
        fact("flush syncs", r"syncs the segment to disk"),
        fact("BM25 values", r"k1 = 1\.2"),
        fact("phrases", r"double quotes as a phrase"),
        fact("stop words", r"stop word list is read from"),
        fact("damaged cursor", r"starts from zero when the cursor"),
        fact("tokenizer tests", r"All tokenizer tests pass"),
        fact("pointer to a removed file", r"docs/rollout\.md"),
    ),
)
