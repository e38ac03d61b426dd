"""Summaries, titles and notes as agents write them for their colleagues: all of them are metadata.

Written before the rules, so that the rules are measured by them and not the other way round.
"""

# ruff: noqa: E501, ISC004

SHORT = (
    "Fix flaky retry test in payouts",
    "WIP: webhook signatures",
    "[WIP] Move rate limits to the gateway",
    "feat(api): add GET /v1/contexts",
    "Result: ok",
    "Note: the migration is not applied on staging yet.",
    "+1 for keeping the old route until the apps are updated.",
    "a -> b -> c: the order in which the jobs run",
    "Works on my branch; CI is green since 3f2c1ab.",
    "Blocked by PAY-212 and the missing test account.",
    "Refactor `SessionService.append_event` without changing its signature",
    "Deploy 2026-11-18, 14:30 UTC, then watch the error rate for an hour",
    "3 of 4 tests pass, the last one needs a database",
    "#4211: token refresh loops when the clock is off by more than 5 minutes",
    "Upgrade fastapi 0.115 -> 0.118, starlette stays",
    "/api/state returns 500 for private developers",
    "POST /api/sessions/{id}/events: 409 instead of 422 for an ended session",
    'Use `covibe_session` with `operation: "publish_context"`',
    "and/or handling in the query parser",
    "Rename user_id to developer_id everywhere (42 files)",
    "The cache key is `team:{workspace}:{developer}`; TTL is 60 s.",
    "What is left: docs, changelog, one review.",
    "Switched the default from 24h to 48h, reverted after discussion",
    "Do not merge before 1.4.2 is tagged.",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 has the working version",
    "session 018f6b1c-7a2e-7c3d-9f10-2b3c4d5e6f70 owns this work",
    "See https://example.org/docs/retry-policy#backoff for the decision",
    "src/holdfast/team/store.py#L120 is where the lock is taken",
    "TODO: ask for access to the metrics dashboard",
    "Done. Next: docs.",
    "I renamed `/home` to `/start` in the web app; the redirect stays for a month.",
    "Token refresh: the access token is now refreshed 60 s before it expires.",
    "Password reset mails are sent by the worker, not by the request.",
    "The secret scan runs in CI; it found nothing in the last 30 days.",
    "Keys of the cache are hashed with sha256 now.",
    "Chose option B (outbox) over option A (triggers): easier to test.",
    "ETA: Thursday. Owner: dev-a. Reviewer: dev-b.",
    "Cost went from 1.2 s to 180 ms (p95), memory unchanged",
    "Removed the feature flag `new_checkout`; it was on for everybody since May.",
    "C: the third option, /etc is not touched by it",
)

LISTS = (
    "Done:\n- parser\n- tests\n- docs\n\nNext:\n- benchmark\n- changelog",
    "Changes:\n* 3 of 4 handlers are moved\n* the last one waits for PAY-9\n* no schema change",
    "1. Add the column\n2. Backfill in batches of 1,000\n3. Switch reads\n4. Drop the old column",
    "Decisions:\n  - keep SQLite for laptops\n  - PostgreSQL for the server\n"
    "    - RLS is forced, also for the owner\n    - one role per workspace was rejected",
    "What I did:\n- `make test` is green\n- `make lint` is green\n- `make bench` is 4% slower",
    "Routes:\n- GET /v1/contexts\n- POST /v1/contexts\n- DELETE /v1/contexts/{id}\n- GET /healthz",
    "Files:\n- src/team/rules.py: the limits\n- src/team/store.py: one query\n"
    "- tests/team/test_rules.py: 40 cases",
    "Status: in review\nBranch: feat/outbox\nTests: green\nBlocked: no\nNext: deploy to staging",
    "status: done\nowner: dev-a\nrisk: low\nrollback: revert the commit",
    "+ faster start\n+ one dependency less\n- needs Python 3.11\n- no Windows build yet",
    "+ added retries with jitter\n+ added a metric\n- removed the sleep\n- removed the old client",
    "- [x] schema\n- [x] store\n- [ ] service\n- [ ] doors\n- [ ] docs",
    "## Context\nThe importer was too slow.\n\n## Decision\nStream rows instead of loading them.\n\n"
    "## Consequences\nMemory is constant; errors name the line.",
    "| step | state |\n| --- | --- |\n| migrate | done |\n| backfill | running |\n| switch | open |",
    "Open questions:\n(a) Do we keep v1?\n(b) Who owns the queue?\n(c) Is 24 h enough?",
    "Tried:\n1) raising the pool size - no effect\n2) statement timeout - hides the problem\n"
    "3) an index on (workspace_id, created_at) - fixed it",
    "Blockers\n--------\n- no access to staging\n- waiting for the security review",
    "Timeline:\n10:32 deploy started\n10:40 error rate up\n10:44 rolled back\n11:20 cause found",
    "10:32 deploy: started\n10:40 alerts: two fired\n10:44 rollback: done\n11:20 cause: found",
    "Q: do we keep the old route?\nA: yes, until March.\nQ: is it documented?\nA: in docs/api.md.",
    "• Konfiguration gelesen\n• Tests ergänzt\n• Dokumentation fehlt noch",
    "Settings that matter:\nretries=3\ntimeout=30\n\nThe rest keeps its default.",
    "Left to do -\n  write the howto,\n  ask for a review,\n  tag 0.4.0",
    "Roles:\nAdmin: everything\nUser: own rows only\nGuest: nothing",
    "User: sees a banner after the deploy.\nSystem: sends one mail, not three.",
    "Failing:\ntests/team/test_store.py::test_two_publishes_race\n"
    "tests/team/test_store.py::test_expiry_is_decided_by_the_database",
    "Touched tables: session_contexts, work_events, usage_events\n"
    "Columns added: expires_at, superseded_by, revoked_at",
    "Versions\n- python 3.11.9\n- apsw 3.54\n- asyncpg 0.30.0\n- node 24",
    "Ran:\n- pytest -q tests/team\n- ruff check .\n- mypy\nAll green.",
    "Endpoints by owner\n/api/state: dev-a\n/api/contexts: dev-b\n/api/handoffs: nobody yet",
    "Next:\n\twrite the migration\n\task dev-b about the index\n\tdeploy on Tuesday",
    "Why:\n> Reads were twice as slow as on main.\nThe reason was a missing index.",
    "Keep in mind:\n* `asyncio.gather` swallows the second error\n* `TaskGroup` does not\n"
    "* both cancel the rest",
    "Steps to reproduce\n1. log in as dev-a\n2. publish twice within a second\n3. list: two rows\n"
    "Expected: one row",
    "Before: 3 queries per row.\nAfter: 1 query per page.\nMeasured: 48 ms -> 9 ms.",
    "Assumptions:\n- one writer per store\n- clock skew < 5 min\n- files <= 500\n- n >= 1",
    "Endpoints changed: GET /users/{id}; PUT /users/{id}; DELETE /users/{id}; GET /users/{id}/teams; "
    "POST /users/{id}/teams; the old /people routes redirect.",
    "Order of work:\n  for the API: first the schema, then the route\n"
    "  for the console: the table, then the toggle",
    "Functions added: check_title(), check_summary(), check_paths(), fold_handle(). No other API.",
    "API after this change:\n- check_paths(paths) returns a tuple\n- covers(pattern, path) is a bool\n"
    "- overlaps(a, b) is a bool",
)

PARAGRAPHS = (
    "I am moving the rate limiter from the app into the gateway. The token bucket lives in Redis; "
    "limits are per workspace, not per developer. Key decision: no limits on reads, because the "
    "console polls. Dead end: a sliding window needed a Lua script that nobody wanted to own.",
    "Publishing is an upsert now: the newest context for a repo and branch supersedes the previous "
    "one in the same statement, so two agents that publish at once leave exactly one active row. "
    "I tried an advisory lock first; it works but serialises the whole workspace.",
    "The flaky test was not flaky: `list_contexts` sorted by published_at only, and two rows of the "
    "same millisecond came in any order. Sorted by (published_at, id) now. No schema change.",
    "While reading the billing code I saw that `invoice.total` is a float. I did not touch it, but "
    "PAY-340 is open for it. Whoever works there next: use Decimal and round half even.",
    "Retries: 3 attempts, exponential backoff (0.2 s, 0.4 s, 0.8 s), jitter 20 %. A 429 uses "
    "Retry-After if it is there. Everything else in the 4xx range fails at once.",
    "The parser accepts `a.b[c]` and `a[b].c`, but not `a..b`. Errors name line and column. If you "
    "need another operator, add it to `OPERATORS` and to the table in docs/query.md; nothing else.",
    "Migrated 14 of 20 handlers from callbacks to async/await. The remaining six use a library that "
    "has no async API; I left them behind `run_in_executor` on purpose. Don't convert them.",
    "Login with SSO works end to end on staging. Open: logout does not end the session at the "
    "provider (the end_session_endpoint is not in its metadata). Asked support, ticket 8812.",
    "Index on session_events(workspace_id, session_id, type) makes the recent-turn query O(n). I "
    "checked the plan with EXPLAIN: index only scan, 12 buffers instead of 9,400.",
    "Decided: handles are folded with NFKC and casefold in Python, and stored. SQLite's lower() only "
    "folds ASCII and PostgreSQL's depends on the collation, so the database must not do it.",
    "The console shows 'Published contexts' with title, owner and relative time. Expanding a row "
    "loads summary, next actions, blockers and files. It is read-only; no button revokes anything.",
    "Upgrade to TypeScript 5.6: strict mode found 31 errors, all in src/features/console. 27 are "
    "fixed, 4 are marked with ts-expect-error and a link to the issue.",
    "If x == y the cache is skipped; that is intended, because a self-reference would loop.",
    "We return 404 for a private developer, byte for byte the same as for an unknown one. Please "
    "don't 'improve' the message: a different text would tell that the person exists.",
    "Docker image went from 1.1 GB to 240 MB: multi-stage build, no compilers in the last stage, "
    "wheels only. The base is python:3.12-slim, pinned by digest.",
    "I looked at three queues (SQS, Redis streams, Postgres). Postgres wins: one system less, "
    "transactions with the data, and 200 jobs per second is far above what we need.",
    "Die Migration läuft in zwei Schritten: erst die Spalte, dann der Index. Der alte Endpunkt "
    "bleibt bis Ende März. Offen ist nur noch die Dokumentation.",
    "Wir haben uns gegen einen eigenen Lock-Server entschieden; ein `advisory lock` in PostgreSQL "
    "genügt. Wichtig: Der Schlüssel ist der Hash des Workspace, nicht seine ID.",
    "再試行の処理を見直しました。最大3回、指数バックオフです。次は監視のダッシュボードを作ります。",
    "支払いAPIの署名検証を修正。原因:タイムスタンプの単位がミリ秒でした。テストは全部通っています。",
    "我们把限流移到了网关。键是 workspace,不是 developer。下一步:写文档。",
    "أصلحت مشكلة انتهاء صلاحية الجلسة. السبب هو فرق التوقيت بين الخادم وقاعدة البيانات. التالي: مراجعة الاختبارات.",
    "J'ai remplacé le cache mémoire par Redis. Reste à faire : la purge des clés, et un test de charge. "
    "Attention : l'ordre des événements n'est pas garanti.",
    "Se cambió el orden de los pasos: primero validar, luego guardar. Falta probar con 10.000 filas.",
    "Перенёс проверку прав в политику строк. Осталось: тесты для админа и документация.",
    "웹훅 재시도 로직을 고쳤습니다. 다음 작업: 문서와 성능 측정.",
    "The hook must not import json: a process start costs 18 ms, and json alone is 3 of them. There "
    "is a test that starts a real hook and looks at sys.modules. Keep it green.",
    "git bisect points to 4b825dc (the switch to uvloop). On asyncio's own loop the leak is gone. "
    "Range that is good: 1a2b3c4..5d6e7f8.",
    "CI takes 14 min, of which 9 are the browser tests. Splitting them into 3 shards brings it to 7. "
    "I would not go further: start-up of a shard is 90 s.",
    "Security review: no finding above medium. Medium: session cookies had no SameSite attribute "
    "(fixed), and the reset token was logged at debug level (fixed, log is purged).",
    "Auth: bearer tokens stay, basic auth is gone. Tokens are stored as sha256, shown once, and expire "
    "after 90 days. `holdfast token revoke NAME` takes effect at once.",
    "We use {id} in routes and :id in the router; the generator converts them. Result: 0 diffs in the "
    "generated client, so the apps need no release.",
    "The importer reads JSON lines, CSV and YAML. A bad line is reported with its number and skipped; "
    "more than 100 bad lines stop the import. Column order does not matter.",
    "The diff between staging and production is one environment variable, LOG_LEVEL=debug. Remove it "
    "when the incident is over.",
    "Our prompt for the summariser is 40 % shorter and the answers are as good (blind test, n=50). "
    "The transcript of the meeting is in the wiki, not here.",
    "Renamed the flag --json to --format=json; the old one prints a warning. Exit codes stay: 0, 2, 5.",
    "Next actions are in the list below; files too. If you only read one thing, read docs/decisions/0042.",
    "Race found by the property test: revoke and publish at the same microsecond. Fixed with one "
    "statement that does both; interval is [published_at, expires_at).",
    "I have two theories: (1) the proxy buffers the stream; (2) the client reads too slowly. Evidence "
    "for (1): with `X-Accel-Buffering: no` it is 20x better. So nginx, not us.",
    "We log to stdout and stderr only; anything noisy goes to /dev/null in the cron job.",
)

LONG = (
    "Session summary\n\n"
    "Goal: publish contexts between developers of one workspace, metadata only.\n\n"
    "Done so far:\n"
    "- table `session_contexts` with forced row-level security (migration 0031)\n"
    "- `covibe_session` operation `publish_context`, `get_context`, `revoke_context`\n"
    "- GET /api/state returns `sessionContexts`\n"
    "- the console's Coordination tab shows them (read-only)\n\n"
    "Key decisions:\n"
    "1. One active context per developer, repo and branch. A partial unique index enforces it.\n"
    "2. Expiry is decided by the database clock, never by the app's.\n"
    "3. A private developer is invisible: same status, same body, same headers as unknown.\n\n"
    "Dead ends: a trigger for superseding (hard to test on both engines); a cron job for expiry "
    "(reads would lie for up to a minute).\n\n"
    "Numbers: 2,000 active contexts list in 11 ms (p95) on a laptop; publish is one round trip.",
    "What changed this week, in the order of importance.\n\n"
    + "\n".join(
        f"{number}. Step {number}: moved handler {number} to the new router, kept its tests, "
        f"checked GET /v2/items/{{id}}/part{number} by hand, p95 {10 + number} ms."
        for number in range(1, 25)
    ),
    " ".join(
        f"In part {number} of the importer I replaced the list by a generator; memory stays flat, "
        f"the order is kept (see src/importer/part_{number}.py)."
        for number in range(1, 30)
    ),
    "## Was bisher geschah\n"
    + "\n".join(
        f"- Modul {number}: Tests ergänzt (`tests/test_{number}.py`), Laufzeit {number * 3} ms, "
        "keine offenen Punkte"
        for number in range(1, 31)
    ),
    "\n\n".join(
        f"Finding {number}: the retry of job {number} ran twice because the lease (30 s) was "
        "shorter than the slowest call (41 s). Lease is 90 s now."
        for number in range(1, 20)
    ),
)

EXTRA = (
    "Docs live in docs/, code in src/, tests mirror src/. Nothing is generated.",
    "We pinned eslint@9.12.0 because 9.13 breaks the flat config; see issue #18.",
    "Use ${HOLDFAST_WORKSPACE}/queue as the topic name; slashes are fine there.",
    "p50/p95/p99: 3/11/40 ms. CPU ~35 %. RAM ~1/2 of before.",
    "Use `@/components/Button`, not `../../components/Button`.",
    "The regex is `^[a-z0-9._-]{1,39}$`; everything else is a 400.",
    "Import order: stdlib, third party, ours. import-linter checks it.",
    "import of contacts: 12,000 rows in 9 s",
    "return codes: 0 ok, 2 invalid, 5 refused",
    "class diagrams are outdated; ignore docs/old",
    "function names follow verb_noun; classes are nouns",
    "select the newest row per branch, then join the developer",
    "Use --dry-run first; then the same command without it.",
    "const correctness: all getters are const now; no ABI change.",
    "The `User:` prefix of log lines is gone.",
    "We strip ``` fences from replies before they are stored.",
    "Tool: ruff 0.12. Model: the small one. Cost: none.",
    "ssh to the bastion works again; the key was rotated on 2026-11-02.",
    "mailto links and tel: links are escaped; javascript: links are dropped.",
    "PR review by dev-b: 'looks good, but the name overlaps() is misleading'. Kept the name.",
    "Windows: paths with backslashes are refused with a hint to use /.",
    "1e6 rows/s on NVMe, 2e5 on the CI disk",
    "x-request-id is passed through; X-Forwarded-For is not trusted.",
    "Assistant mode is off by default. Human review is needed for amounts above 10,000.",
    "Pair the feature with a kill switch: `PAYOUTS_V2=off`.",
    "Depends on: acme/ledger#77 (merged), acme/gateway#12 (open)",
    "Cron is 0 3 * * 1-5; on weekends nothing runs.",
    "Left: 20% of the work, 80% of the tests ;-)",
    "Migration 0031 -> 0032 is safe to run twice.",
    "We are at v2.3.0-rc.1+build.5 on staging, v2.2.9 in production.",
)

HONEST = (*SHORT, *LISTS, *PARAGRAPHS, *LONG, *EXTRA)

PATHS = (
    "src/a.py", "README.md", "docs/decisions/0042-outbox.md", ".github/workflows/ci.yml", "src/team",
    "src/[slug]/page.tsx", "app/(shop)/cart/page.tsx", "a b/c d.txt", "größe/ä.md", "日本/語.txt",
    "@types/index.d.ts", "pkg/a+b.c", "src/a.py#L3", ".env.example", "home/index.html", "tmp/x",
    "etc/nginx.conf", "node_modules/.bin/x", "-dash.txt", "a/..b/c", "C/main.c", "aux.py", "src/app/page.tsx",
    "users/models.py", ".gitignore", ".gitattributes", "Makefile", "a,b.txt", "it's.md", "src/notes:2026.md", "data/a.py", "100%/a.md", "a.../b",
    "docs/设计/notes/retry.py", "第一章/代码/main.py", "src/模块/home/index.vue", "docs/日本語/api/index.ts", "docs/한국어/bin/a.sh",
    "пакет/bin/run.sh", "src/модуль/tests/test_a.py", "src/ελ/api/x.go", "عربي/src/a.py", "हिन्दी/src/x.py", "docs/ไทย/api/x.py",
    "docs/🔥hot/api/x.py", "docs/C#/api/x.cs", "src/été/api/x.py",
)  # fmt: skip
REPOS = ("acme/payouts", "github.com/acme/payouts", "payouts", "git.example.org/group/sub/payouts",
         "payouts.js", "localhost:3000/acme/payouts", "größe", "9fceb02d0ae598e95dc970b74767f19372d61af8")  # fmt: skip
BRANCHES = ("main", "feat/outbox", "dev-a/PAY-212_fix", "release/1.4.x", "hotfix/#123", "dependabot/npm_and_yarn/vite-5.4.1",
            "user@topic", "ünïcode", "HEAD", "feat/ü", "release/2026.11", "fix/@home", "a.lock.b")  # fmt: skip
TASKS = ("PAY-212", "#4211", "acme/ledger#77", "T2", "https://example.org/issues/12", "018f6b1c-7a2e-7c3d-9f10-2b3c4d5e6f70")  # fmt: skip
