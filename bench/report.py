"""Results as Markdown: one table per measurement, the losing rows of ours included.

Times are written as ratios to the bare call of the same engine in the same round, because they
travel from machine to machine better than microseconds do; the bare call's own median stands beside
them for orientation.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from textwrap import fill

from bench import agents, exchange, mcp_start, noise
from bench import measurements as m
from bench.contestants import BARE, EQUAL, OURS
from bench.measure import Absent, Lane, Ratio, microseconds, ratio, spread
from bench.measurements import Row
from bench.recall import Answered
from bench.startup import BARE_PYTHON
from bench.targets import (
    ABOUT_THE_SAME,
    ENGINES,
    ENOUGH_CALLS,
    FLAT,
    NOT_STARVED,
    Found,
    promises,
    verb_latencies,
)

LINE_CHARS = 120  # of the page

INTRODUCTION = """# Benchmarks

Written by `make bench`; do not edit (remarks belong to `bench/notes.md`). All contestants take turns in one run: in
every round each runs a block of calls, in a changing order, and a ratio is computed within the round. A cell shows
the median of those ratios and, in brackets, their tenth to ninetieth percentile.

To repeat it: `make bench` (about 25 minutes, no root, no daemon); `make bench ARGS="--quick"` for a first look and
`make bench ARGS="--only append"` for one measurement, which `--update` writes here alone, with its date. `TMPDIR`
chooses the disk.
"""  # noqa: E501 - the lines of the page

QUICK = """
> This is a quick run: three short rounds. Do not quote its figures.
"""

READING = f"""
"About what one costs" is read as at most {ABOUT_THE_SAME:g} times, "flat" as at most {FLAT:g}, and a writer counts as starved
below {NOT_STARVED} of an equal share. A row is met or missed by its median.
"""  # noqa: E501 - the lines of the page

PERCENTILES = f"""
p99.9 is given from {ENOUGH_CALLS:,} calls on.
"""

BARE_CALL = """
The bare call is the minimum of work, on its own tables: increment the counter on the session row, insert the event
under a foreign key and a unique constraint, compute a sha256. On SQLite one apsw connection on the event loop's own
thread (`BEGIN IMMEDIATE`, WAL, synchronous=FULL); on PostgreSQL one CTE on a held asyncpg connection. It validates
nothing, chains no hashes and has no row-level security. Equal work is our own tables, triggers, hash chain and
statements, called the same way: what ours costs beyond it is the service.
"""  # noqa: E501 - the lines of the page

TITLES = {
    "create": "Create a session",
    "append": "Append one event, one after the other",
    "never-analysed": "Append one event to a table that was never analysed",
    "ten": "Ten events in one call",
    "tasks": "Append from many tasks of one event loop",
    "processes": "Eight processes on one store, all on one session",
    "recent": "Read the newest 30",
    "update-state": "Update the scratchpad",
    "get-state": "Read the scratchpad",
    "size": "Size of the store",
    "start-up": "Import and start-up",
    "hooks": "What an agent waits for at a hook",
    "mcp-start": "Starting an MCP server",
    "doors": "What a door adds",
    "scaling": "What grows with history",
    "exchange": "The team exchange",
    "exchange-history": "The team exchange beside a long history",
    "agents": agents.TITLE,
    "staleness": "Staleness check",
    "recall": "Recall beside plain search",
    "noise": noise.TITLE,
}

RECALL_FIGURES = ("hit@1", "hit@5", "hit@10", "declined")

REMARKS = {
    "append": """
Every block starts on a fresh session.
""",
    "never-analysed": """
Autovacuum is off and there are no statistics; the connection has made its plans on empty tables, and keeps them.
*empty* is its own time without events.
""",  # noqa: E501 - the lines of the page
    "ten": """
A peer that cannot write several events in one call writes ten times. *own one* is the time of ten events, as a multiple
of its own single append.
""",  # noqa: E501 - the lines of the page
    "tasks": """
*own rate* is how many times its own sequential rate it reaches. After every block everything acknowledged is read
back: *lost* was acknowledged and is missing, *gaps* are missing or double numbers (– where events have none). The
tasks of one process share the library's session object where it has one.
""",  # noqa: E501 - the lines of the page
    "processes": """
*slowest* is the share of the slowest writer (1 would be equal), median of the rounds and the worst of them. After a
refusal a process loads the session again and continues; the refused event is not repeated.
""",  # noqa: E501 - the lines of the page
    "recent": """
Every event is a user message, so that 30 turns are 30 events for all contestants. Each session is alone in its store.
Our events are loaded through `append_events`; ADK's are clones of one event, made in its own tables by SQL.
""",  # noqa: E501 - the lines of the page
    "update-state": """
For an update, ADK writes an event and LangGraph a checkpoint.
""",
    "size": """
What one event of about 200 characters adds to the bytes on disk, indexes included; the log of SQLite has been moved
into the file.
""",  # noqa: E501 - the lines of the page
    "start-up": """
Multiples of `python -c pass`, wall time and processor time.
""",
    "hooks": """
Multiples of `python -c pass`, wall time and processor time, both with the git processes that a hook starts. The
transcripts are Claude Code's. Before the end of a turn its prompt has been stored, and the store has everything that
comes before it in the transcript. The bundle has ten decisions, ten claims with evidence and the session before.
""",  # noqa: E501 - the lines of the page
    "mcp-start": """
From the start of the process to its answer, against a whole run of `python -c pass`. Idle means after the handshake and
the list of tools; the first call of a tool loads the SDK, and costs the time and the memory of an empty `mcp` server.
""",  # noqa: E501 - the lines of the page
    "doors": """
Real processes on SQLite. A server that waits for each request does the same call with cold caches: by itself, it takes
longer there than in a loop that does nothing else. The bare server has one route and no guard, on the same libraries.
""",  # noqa: E501 - the lines of the page
    "scaling": """
On SQLite, twelve events in each session. The first rows are calls in one process, the others requests over a raw socket.
""",  # noqa: E501 - the lines of the page
    "exchange": f"""
A team of ten, each with three active contexts, a claim and an offer. Ours is the call as every door makes it; *counted*
is the bare call with the rows that ours keeps as well: each call of the exchange is counted, so that a read is a read and
a commit, and a publication has an event for listeners. The tool runs in a repository of 100 files, and reads from git
what the named files contain.

{exchange.PEER} is reported to take {exchange.PEER_SECONDS * 1e3:.0f} ms and is not a part of this run. By default it keeps
a message in SQLite (WAL, synchronous=NORMAL) and commits it to a git archive; neither is synced before it answers. What
we measured of it once, by hand, is in `bench/notes.md`.
""",  # noqa: E501 - the lines of the page
    "exchange-history": """
History is what is over: contexts that were superseded, revoked or expired, released and expired reservations, answered
and expired handoffs, ended sessions, events and counted calls, an equal number of each, of ten developers.
""",  # noqa: E501 - the lines of the page
    "agents": agents.REMARK,
    "staleness": """
`git status` returns names; ours returns names and one id for all contents, and runs no code of the repository.
A bundle checks ten pieces of evidence, opens its store and writes a receipt. If the flag is off, no git is started.
""",  # noqa: E501 - the lines of the page
    "recall": """
Shares of questions, not times: whether the right memory is the first answer, among five, among ten; and how many of the
questions without an answer get none. `notes`, `chat` and `rules` were written without a look at the code, `choice` to
choose the threshold on. But the figures of all of them were in view while about 55 variants of the gate and 11 of the
ranking were compared, and the words that weigh half were set apart after a look at a question of `chat`. On `choice` alone
0.26 is as good as 0.25; with 0.26 `chat` falls below plain search. So these figures are better than those of new
questions. `fresh` was written after the rule was frozen, by an author who knew it, and was measured once. `payments` is
the oldest set; a fifth of its questions share hardly a word with their memory, and there hit@10 is below plain search.
`desk`, `talk` and `habits` were written by an author who has not seen the code and measured once, after the freeze: these
are the figures to expect. On `talk` and `habits` the gate declines answers that plain search finds.
""",  # noqa: E501 - the lines of the page
    "noise": noise.REMARK,
}


def write_report(
    facts: dict[str, str],
    durability: dict[str, str],
    results: dict[str, list[Row]],
    notes: str,
    quick: bool,
) -> str:
    """The whole page."""
    found = Found(results)
    parts = [INTRODUCTION, QUICK if quick else "", table(("", ""), facts.items())]
    parts += ["## Promises\n", promise_table(found), READING]
    parts += ["## Latency of our verbs\n", latency_table(found), PERCENTILES]
    parts += [
        "## What each store promises after an acknowledgement\n",
        durability_table(durability, results),
        BARE_CALL,
    ]
    for name, rows in results.items():
        parts += [
            f"## {TITLES[name]}\n",
            REMARKS.get(name, ""),
            *SECTIONS.get(name, simple_section)(rows),
        ]
    return "\n\n".join(part.strip() for part in [*parts, notes] if part) + "\n"


def describe_run(facts: dict[str, str]) -> str:
    """Of a measurement that stands on the page beside those of another run."""
    names = ("Cores", "Load", "File system", "SQLite", "PostgreSQL")
    described = "; ".join(f"{name}: {facts[name]}" for name in names)
    return fill(f"Measured in a run of its own on {facts['Date']}. {described}.", LINE_CHARS)


def table(head: Sequence[str], rows: Iterator[Sequence[str]] | Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def cell(found: Ratio | None) -> str:
    """Median and span; a count, which has no span, stands alone."""
    if found is None:
        return "none acknowledged"
    if found.p10 == found.median == found.p90:
        return number(found.median)
    return f"{number(found.median)} ({number(found.p10)}–{number(found.p90)})"


def number(value: float) -> str:
    """Two decimals below ten, none from a hundred on."""
    if value == int(value):
        return f"{value:,.0f}"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def promise_table(found: Found) -> str:
    rows = [
        (each.promise, each.target, cell(each.measured) if each.measured else "–", each.verdict)
        for each in promises(found)
    ]
    return table(("promise", "target", "measured", "verdict"), rows)


def latency_table(found: Found) -> str:
    rows = [
        (
            each.verb,
            each.engine,
            f"{each.p50:.2f}",
            f"{each.p99:.2f}",
            f"{each.p999:.2f}" if each.p999 else "–",
            f"< {each.target}",
            f"{each.calls:,}",
            met(each.p99, each.target),
        )
        for each in verb_latencies(found)
    ]
    head = ("verb", "engine", "p50 ms", "p99 ms", "p99.9 ms", "target ms", "calls", "p99")
    return table(head, rows)


def met(value: float, limit: float) -> str:
    return "met" if value < limit else "missed"


def durability_table(durability: dict[str, str], results: dict[str, list[Row]]) -> str:
    """The settings as read from the contestant's own connection, and what
    concurrent writers saw.
    """
    rows = [
        (name, settings, harm(results, "tasks", name), harm(results, "processes", name))
        for name, settings in durability.items()
    ]
    return table(
        ("contestant", "durability", "tasks: refused / lost", "8 processes: refused / lost"), rows
    )


def harm(results: dict[str, list[Row]], measurement: str, name: str) -> str:
    """Of how many tries how many were refused, and how many acknowledged ones are gone."""
    lanes = [
        row
        for row in results.get(measurement, [])
        if isinstance(row, Lane) and row.contestant == name
    ]
    blocks = [block for lane in lanes for block in lane.blocks.values()]
    refused, lost = (
        sum(block.errors.total() for block in blocks),
        sum(block.lost for block in blocks),
    )
    tries = refused + sum(block.done for block in blocks)
    return f"{refused:,} / {lost:,} of {tries:,}" if blocks else "–"


def by_engine(
    rows: Sequence[Row], columns: Sequence[str], cells: Callable[[Lane], Sequence[str]]
) -> Iterator[str]:
    """One table per engine, headed by the times of the bare call and of equal work."""
    for engine, title in ENGINES.items():
        mine = [row for row in rows if row.engine == engine]
        lanes = {row.contestant: row for row in mine if isinstance(row, Lane)}
        bare, equal = lanes.get(BARE[engine]), lanes.get(EQUAL[engine])
        if bare and equal:
            head = (title, scale("bare", bare), scale("equal work", equal), *columns)
            yield table(head, [line(row, bare, equal, columns, cells) for row in mine])


def scale(name: str, base: Lane) -> str:
    return f"× {name} ({microseconds(base):,.0f} µs)"


def line(
    row: Row,
    bare: Lane,
    equal: Lane,
    columns: Sequence[str],
    cells: Callable[[Lane], Sequence[str]],
) -> Sequence[str]:
    """A contestant's row; one that does not take part says why."""
    if isinstance(row, Absent):
        return (row.contestant, row.reason, "–", *["–"] * len(columns))
    return (row.contestant, against(row, bare), against(row, equal), *cells(row))


def against(lane: Lane, base: Lane) -> str:
    return "1" if lane is base else cell(ratio(lane, base))


def simple_section(rows: Sequence[Row]) -> Iterator[str]:
    yield from by_engine(rows, ("refused",), lambda lane: (refusals(lane),))


def case_sections(
    rows: Sequence[Row], columns: Sequence[str], cells: Callable[[Lane], Sequence[str]]
) -> Iterator[str]:
    """A heading per case, in the order in which they were given."""
    for case in dict.fromkeys(row.case for row in rows):
        yield f"### {case}\n"
        yield from by_engine([row for row in rows if row.case == case], columns, cells)


def own(rows: Sequence[Row], case: str) -> dict[str, Lane]:
    """Each contestant's lane for one case."""
    return {row.contestant: row for row in rows if isinstance(row, Lane) and row.case == case}


def ten_section(rows: Sequence[Row]) -> Iterator[str]:
    ones = own(rows, m.ONE.name)
    tens = [row for row in rows if row.case == m.TEN.name]
    yield from by_engine(
        tens, ("× own one",), lambda lane: (cell(ratio(lane, ones[lane.contestant])),)
    )


def never_analysed_section(rows: Sequence[Row]) -> Iterator[str]:
    empty = own(rows, m.NEVER_ANALYSED[0].name)
    yield from case_sections(
        rows, ("× empty",), lambda lane: (cell(ratio(lane, empty[lane.contestant])),)
    )


def size_section(rows: Sequence[Row]) -> Iterator[str]:
    for engine, title in ENGINES.items():
        mine = [row for row in rows if row.engine == engine]
        bare = own(mine, m.SIZE).get(BARE[engine])
        if bare:
            yield table(
                (title, "bytes per event", "× bare"), [size_line(row, bare) for row in mine]
            )


def size_line(row: Row, bare: Lane) -> Sequence[str]:
    if isinstance(row, Absent):
        return (row.contestant, row.reason, "–")
    return (row.contestant, whole(row.blocks[0].each), against(row, bare))


def task_section(rows: Sequence[Row]) -> Iterator[str]:
    alone = own(rows, m.SEQUENTIAL.name)

    def cells(lane: Lane) -> Sequence[str]:
        return (
            cell(ratio(alone[lane.contestant], lane)),
            refusals(lane),
            total(lane, "lost"),
            gaps(lane),
        )

    yield from case_sections(rows, ("× own rate", "refused", "lost", "gaps"), cells)


def process_section(rows: Sequence[Row]) -> Iterator[str]:
    def cells(lane: Lane) -> Sequence[str]:
        shares = [block.share for block in lane.blocks.values()]
        longest = max(block.longest for block in lane.blocks.values())
        slowest = f"{statistics.median(shares):.2f} (worst {min(shares):.2f})"
        return (refusals(lane), total(lane, "lost"), gaps(lane), slowest, f"{longest * 1e3:,.0f}")

    yield from by_engine(rows, ("refused", "lost", "gaps", "slowest", "longest wait, ms"), cells)


def start_up_section(rows: Sequence[Row]) -> Iterator[str]:
    lanes = {lane.contestant: lane for lane in rows if isinstance(lane, Lane)}
    base = lanes[BARE_PYTHON]
    head = ("process", f"wall × ({microseconds(base) / 1e3:.1f} ms)", "processor ×", "exit")
    yield table(
        head,
        [
            (name, cell(ratio(lane, base)), cell(processor(lane, base)), exits(lane))
            for name, lane in lanes.items()
        ],
    )


def processor(lane: Lane, base: Lane) -> Ratio | None:
    """Processor time in times of bare Python's."""
    both = lane.blocks.keys() & base.blocks.keys()
    return spread(
        [
            lane.blocks[n].processor / base.blocks[n].processor
            for n in both
            if base.blocks[n].processor
        ]
    )


def exits(lane: Lane) -> str:
    return name_errors(sum((block.errors for block in lane.blocks.values()), Counter())) or "0"


def refusals(lane: Lane) -> str:
    """How many, of how many, by which error."""
    errors = sum((block.errors for block in lane.blocks.values()), Counter())
    tries = errors.total() + sum(block.done for block in lane.blocks.values())
    return f"{errors.total():,} of {tries:,} ({name_errors(errors)})" if errors else "0"


def name_errors(errors: Counter[str]) -> str:
    return ", ".join(name for name, _ in errors.most_common(2))


def total(lane: Lane, what: str) -> str:
    return f"{sum(getattr(block, what) for block in lane.blocks.values()):,}"


def gaps(lane: Lane) -> str:
    """Only stores that number their events can have any."""
    numbered = any(word in lane.contestant for word in ("bare", "equal work", "Holdfast"))
    return total(lane, "gaps") if numbered else "–"


def door_section(rows: Sequence[Row]) -> Iterator[str]:
    """In each case the first lane is what the others are measured by."""
    for case in dict.fromkeys(row.case for row in rows):
        lanes = [row for row in rows if isinstance(row, Lane) and row.case == case]
        base = lanes[0]
        amount = microseconds(base) / 1e6
        size = f"{amount:.1f} MB" if case == mcp_start.MEMORY else f"{amount * 1e3:,.2f} ms"
        head = (case, f"× ({size})")
        yield table(
            head,
            [(lane.contestant, against(lane, base)) for lane in lanes],
        )


def exchange_section(rows: Sequence[Row]) -> Iterator[str]:
    """The tables, and how many of our publications fit into one call of the peer."""
    yield from door_section(rows)
    for engine, title in ENGINES.items():
        case = exchange.case_of(engine, exchange.PUBLISH)
        ours = microseconds(own(rows, case)[OURS[engine]]) / 1e6
        times = whole(exchange.PEER_SECONDS / ours)
        yield f"The reported time is {times} times ours on {title} ({ours * 1e3:.2f} ms).\n"


def scaling_section(rows: Sequence[Row]) -> Iterator[str]:
    """Each question is asked of the small store first."""
    lanes = [row for row in rows if isinstance(row, Lane)]
    pairs = list(zip(lanes[::2], lanes[1::2], strict=True))
    small, large = (lane.contestant for lane in pairs[0])
    head = ("question", f"{small}, µs", f"{large}, µs", "ratio")
    yield table(
        head,
        [
            (few.case, whole(microseconds(few)), whole(microseconds(many)), cell(ratio(many, few)))
            for few, many in pairs
        ],
    )


def recall_section(rows: Sequence[Row]) -> Iterator[str]:
    answered = [row for row in rows if isinstance(row, Answered)]
    for case in dict.fromkeys(row.case for row in answered):
        shown = [row for row in answered if row.case == case]
        yield table((case, *RECALL_FIGURES), [describe_recall(row) for row in shown])


def describe_recall(row: Answered) -> tuple[str, ...]:
    figures = row.figures
    shares = (figures.first, figures.among_five, figures.among_ten, figures.declined)
    return (row.contestant, *(f"{share:.3f}" for share in shares))


def agents_section(rows: Sequence[Row]) -> Iterator[str]:
    worked = [row for row in rows if isinstance(row, agents.Worked)]
    for case in dict.fromkeys(row.case for row in worked):
        yield f"### {case.capitalize()}\n"
        for row in worked:
            if row.case == case:
                yield agents.sum_up(row)
                yield table(agents.COLUMNS, agents.describe(row))


def noise_section(rows: Sequence[Row]) -> Iterator[str]:
    shown = [row for row in rows if isinstance(row, noise.Noise)]
    yield table(noise.COLUMNS, noise.describe(shown))


def whole(value: float) -> str:
    return f"{value:,.0f}"


SECTIONS = {
    "never-analysed": never_analysed_section,
    "size": size_section,
    "ten": ten_section,
    "tasks": task_section,
    "processes": process_section,
    "recent": lambda rows: case_sections(rows, ("refused",), lambda lane: (refusals(lane),)),
    "start-up": start_up_section,
    "hooks": start_up_section,
    "mcp-start": door_section,
    "doors": door_section,
    "scaling": scaling_section,
    "exchange": exchange_section,
    "exchange-history": scaling_section,
    "agents": agents_section,
    "staleness": door_section,
    "recall": recall_section,
    "noise": noise_section,
}
