"""Three later sets: each was measured once before a rule was changed for it.

An honest text is a line here; alone, and six of them together, they are metadata.
"""

# ruff: noqa: E501

SLASHES = "file:" + "//"

HONEST_A = r"""Moved retry handling out of PayoutClient.send() into a RetryPolicy; tests in tests/payouts pass
Refactor login flow: split `AuthService` into token issuing and session lookup
We now return 409 instead of 500 when two payouts share an idempotency key
Bumped fastapi 0.115.2 -> 0.117.1, pydantic stays on 2.9.*
Fixed TypeError: 'NoneType' object is not subscriptable in parse_header when the header is missing
`make test` is green, `make lint` complains about E501 in bench/report.py only
Decision: we keep SQLite for the laptop and PostgreSQL on the server; no ORM
Blocked: waiting for the review of PR #482 (schema change)
Next: rename user_id to account_id in src/billing/models.py and regenerate the client
Do not use time.time() here, use clock.now(); the tests freeze it
ENOSPC on the CI runner twice today; not our bug
Changed the default timeout from 30s to 5s (config key http.timeout)
See https://github.com/acme/payouts/issues/77#issuecomment-12345 for the discussion
Docs: https://docs.python.org/3/library/asyncio-task.html#asyncio.TaskGroup
Tried asyncio.TaskGroup first, it swallowed the CancelledError from the pool; went back to gather
Run pytest -k "retry and not slow" -x --ff before pushing
If the migration hangs: check pg_stat_activity for idle in transaction
git bisect points at 3f2a91c (the change of the pool size)
The flag --dry-run now prints a plan and exits 0; --force skips the question
Renamed `GET /api/v1/users` to `/api/v2/accounts`; v1 answers 410 Gone
POST /orders returns {id, status}; we dropped the "links" key
Endpoint /health is unauthenticated on purpose
Added env var PAYOUT_BATCH_SIZE (default 100), read in settings.py
HTTP 429 from the vendor at about 12 rps; we now sleep 2 ** attempt seconds
The function `normalize_phone(raw: str) -> str | None` returns None for invalid input
Only half done: writer is finished, reader still uses the old format
Rejected: storing the blob in Redis (eviction), storing it in S3 (latency p99 180 ms)
TODO list: (1) docs (2) changelog (3) release 1.4.0-rc2
Why: customers in Japan saw 午後 twice in the date; cause was strftime %p with ja_JP
Der Retry-Mechanismus ist fertig; offen ist noch die Übersetzung der Fehlermeldungen
Migration 0042 legt die Tabelle an, Daten werden erst in 0043 kopiert
Als Nächstes: `PayoutService.retry()` testen und die Doku in docs/payouts.md ergänzen
Blockiert durch fehlende Zugangsdaten für das Staging-System, Ticket OPS-112
支払いリトライのロジックを RetryPolicy に移動しました。テストは全部通っています
次の作業：README の更新と、エラーメッセージの翻訳
ブロッカー：ステージング環境の DB に接続できない（タイムアウト 30 秒）
重构了登录模块，下一步是删除旧的 session 表
修复了 UserService.findById 的空指针问题，单元测试已补充
결제 재시도 로직을 수정했습니다. 다음은 문서 업데이트입니다
Correction du bug d'arrondi dans calculate_tax() ; reste à faire : les tests d'intégration
On garde « main » comme branche par défaut, pas de rebase forcé
Se movió la validación a `schemas/order.ts`; falta actualizar los tests e2e
Исправлена гонка при публикации; осталось добавить тест на PostgreSQL
Poprawiono błąd w parserze CSV (średnik jako separator)
تم إصلاح مشكلة المهلة في خدمة الدفع
Corrigido o vazamento de conexões em pool.acquire(); falta medir com 64 workers
Flaky: tests/e2e/test_checkout.py::test_refund[eur] fails about 1 in 30 on CI
test_pool.py::test_two_writers passes 200/200 locally with -n 4
Perf: cold start 412 ms -> 187 ms by lazy importing pandas
Measured with hyperfine --warmup 3: 1.42x faster than before
The lock order is: accounts, then ledgers, then outbox. Never the other way around
Bug was an off-by-one in the slice items[:limit-1]; now items[:limit]
We compare x is None, not "not x", because 0 is a valid amount
Upgrade path: 1.2 -> 1.3 -> 2.0; a direct jump is refused with exit code 5
Dependabot PR for urllib3 2.2.3 merged; certifi pinned to 2024.8.30
Node 18 is dropped, engines field says ">=20.11"
tsconfig: strict true, noUncheckedIndexedAccess true; 41 errors left in src/legacy
Use `const` everywhere; eslint rule prefer-const is an error now
React: moved state from <Cart> to useCartStore, fixes double render
CSS: the .sidebar width is 280px, below 768px it collapses
Component <PayoutTable> takes rows, onSelect and isLoading
The regex ^[a-z0-9-]{3,63}$ is used for slugs, unicode is rejected
k8s: liveness probe path changed, deployment rolled back to v37 last night
terraform plan shows 3 to add, 1 to change, 0 to destroy; not applied yet
docker compose up db redis is enough for the tests
Image size went from 1.2 GB to 310 MB (python:3.12-slim, no build tools)
CI: job build-linux takes 14 min, mostly cargo build --release
cargo clippy -- -D warnings is clean; MSRV is 1.78
Rust: replaced Arc<Mutex<HashMap<..>>> by DashMap, unwrap() in main.rs remains
Go: ctx is now the first argument of every repo method; errors wrapped with %w
panic: runtime error: index out of range [3] with length 3 - fixed by checking len first
Java: OrderService throws IllegalStateException if the cart is empty
NullPointerException in CheckoutController line 88, only with guest users
C++: moved std::string by value in Parser::next(), saved 8 % of allocations
SQL: added index on orders(created_at desc); the slow query went from 2.1 s to 14 ms
The query does select for update skip locked, so two workers never take the same job
Column amount is numeric(12,2), not float
We delete nothing: rows get deleted_at and a nightly job archives them
alembic downgrade -1 works, tested on a copy of prod
Kafka consumer lag was 120k; partition count raised 6 -> 24
Feature flag new_checkout is on for 5% of users since Tuesday
Rollout plan: 1 %, 10 %, 50 %, 100 %, one day each
Customer data is not touched. Only metadata columns
Ask Dana about the tax rules before changing VAT_RATES
Handed over from Monday: the parser is done, the printer is not
I started with the HTTP layer, because the store has no tests yet
User wants dark mode to follow the system setting; we agreed on prefers-color-scheme
The assistant should not edit generated files under src/gen
User: admin can see all, viewer can see own only. That is the rule we implement
Note: password reset mails are sent by the worker, not by the API
API keys are rotated every 90 days, see docs/security.md
The secret store is Vault; the app reads it at start, nothing in env files
Token refresh: access token 15 min, refresh token 30 days, rotation on use
Set the Authorization header as Bearer plus the token from the keychain
auth: JWT is checked with RS256; HS256 is refused
OAuth redirect must be exactly the registered one, no wildcard
csrf_token is renamed to xsrf; the cookie is HttpOnly, SameSite=Lax
Password hashing: argon2id, m=64 MiB, t=3, p=1
Encrypted columns: iban, tax_id; key id k-2024-11
Error "duplicate key value violates unique constraint" is expected in the race test
error: failed to push some refs - someone pushed first; rebased and pushed again
WARN level logs for retries, ERROR only after the last attempt
Log line format is JSON now: ts, level, msg, request_id
ModuleNotFoundError: No module named 'holdout' - the extra is called [eval]
Works on macOS, on Windows the path separator breaks the glob; use pathlib
On Windows os.rename fails if the target is open; we use os.replace
~10 min of work left, ~300 lines to move
About 3/4 of the endpoints are moved; /users and /orders are left
Split into 3 PRs: a) model b) API c) UI
1. write the failing test 2. fix the guard 3. remove the workaround in views.py
- parser finished
- printer half done
- docs missing
Goals:
* one place for retries
* no sleep in tests
* p95 < 200 ms
Open questions: is 168 h enough? who owns the cron job?
Done today:
  - moved models
  - fixed imports
Tomorrow:
  - delete shim
Key decisions: (a) one table per tenant - no; (b) tenant_id column + RLS - yes
Rule: amount > 0 and currency in (EUR, USD, JPY)
if a payout is older than 30 days it is closed automatically
for each tenant we keep at most 5 exports
return codes: 0 ok, 1 refused, 2 usage
import of old invoices is done, export is next
class PayoutRunner got too large, it is split now
def of done: tests, docs, changelog
let me know if you touch src/payouts/retry.py, I am in there until Friday
while the queue is paused, new jobs are stored and not lost
print layout of the invoice is broken in Firefox 131
const correctness pass over the C headers is finished
function names follow snake_case, classes PascalCase
public API is frozen until 2.0
The `--json` output has keys ok, result, error
`SELECT 1` is the health check, nothing more
call order.close() before order.ship(), otherwise the hook fires twice
a = b is fine in the DSL, == is not supported
x86 builds pass, arm64 fails in libvips
commit message style: imperative, no prefix
Merge conflict in package-lock.json: take theirs and run npm ci
Branch feat/retry-v2 is rebased on main (was 14 behind)
diff of the two schemas is empty now
The diff in PR 12 is large because of formatting (ruff format)
+12 -4 lines in total, mostly tests
@dana owns billing, @lee owns search
@Transactional on the service, not on the controller
#payments channel has the vendor's answer
v2.3.1 shipped 2026-11-10 14:05 UTC, hotfix for #913
ETA: tomorrow noon
Reverted: caching of permissions (stale after role change)
nothing blocked
n/a
WIP
🚀 release candidate is out, smoke tests ✅
Fixed: “smart quotes” broke the CSV header – now normalised to plain quotes
p50/p95/p99 = 12/48/130 ms after the change
src/payouts/retry.py: backoff is now jittered; src/payouts/send.py: timeout is a parameter
We use C:\-style paths nowhere in the config, only forward slashes
The proxy strips X-Forwarded-For, so rate limiting per IP does not work yet
Grafana dashboard "payouts/overview" has the new panel
Cron 0 3 * * * runs the archive job
Regex a|b|c replaced by a set lookup
mypy --strict: 0 errors; 3 # type: ignore left in the vendored part
The bug only shows with PYTHONHASHSEED=0
Fails with LANG=C because of the em dash in the template"""

HONEST_B = r"""Checkout rewrite, slice 2 of 5: address form validates on blur, submits once
Extracted `RateLimiter` (token bucket, 20 rps) out of gateway.py; behaviour unchanged
fix(parser): accept trailing comma in `.holdfastrc`
chore: drop Python 3.10, CI matrix is 3.12, 3.13
perf(search): trigram index, 900 ms -> 40 ms on 2M rows
docs: how to rotate the signing key
Stuck on a deadlock between refresh_view and ingest; both take the table lock
Root cause: the session cookie had Path=/admin, so /login never saw it
AssertionError in test_totals came from float rounding; switched to Decimal
RuntimeError: Event loop is closed only on Windows with ProactorEventLoop
KeyError: 'currency' if the vendor omits it, we default to EUR now
E   assert 3 == 4 was my own mistake in the fixture, ignore the red run
curl -sf localhost:8080/health is what the readiness probe runs
Run `npm run build -- --mode staging` before you look at the preview
`git rebase --onto main feat/a feat/b` was needed because feat/a was squashed
Use uv sync --frozen in CI, plain pip is too slow
psql -c 'select 1' works from the bastion, not from laptops
kubectl rollout undo deploy/api reverted it, v38 is live again
The header X-Request-Id is passed through all services
Accept: application/json only; XML support is gone
Status codes: 201 created, 202 queued, 303 see other
GET /items?limit=50&cursor=abc pages forward; there is no offset any more
PUT /items/{id} needs If-Match; without it 428
WebSocket path is /ws/v2, ping every 25 s
grpc: added field 7 `retry_after`, wire compatible
protobuf field numbers 3 and 4 are reserved now
GraphQL: `viewer { orders }` is paginated, max 100
Der Parser akzeptiert jetzt auch „typografische“ Anführungszeichen
Offen: Umbenennung von kunde_id in account_id (ca. 40 Stellen)
Test `test_rechnung_storno` schlägt nur unter Windows fehl, vermutlich CRLF
Bitte src/mail/ nicht anfassen, bis PR 88 drin ist
Die Antwortzeit liegt jetzt bei 120 ms statt 900 ms (p95)
キャッシュの TTL を 60 秒から 5 分に変更しました
`UserRepository.save()` の例外処理を見直し中です
テストは `make test` で全部成功、E2E は未実行
注意：main ブランチへの直接 push は禁止です
已完成：订单导出接口；未完成：权限校验
接口 /api/v2/orders 返回 403，等待运维开通权限
버그 원인: 타임존이 UTC 가 아니라 KST 로 저장됨
Terminé : pagination par curseur. À faire : documentation de l'API
Le test échoue si la variable TZ vaut "Europe/Paris"
Hecho: migración 0017. Pendiente: índices y permisos
No tocar `config/rutas.yml`, lo cambia el equipo de pagos
Сделано: кэш на 5 минут; дальше: инвалидация по событию
Zrobione: eksport do CSV, zostało: import
Bitti: ödeme ekranı. Sıradaki: iade akışı
Đã xong phần tìm kiếm, còn phần lọc theo ngày
הסתיים: דף הגדרות. נשאר: תרגום
Fatto il refactoring di `calcola_iva()`, mancano i test
Klaar: inlogscherm. Nog te doen: wachtwoord vergeten
Types: Order.status is 'open' | 'paid' | 'void'
`Map<string, Order[]>` replaced `Record<string, any>` in the store
std::optional<Order> instead of a null pointer
Result<T, PayoutError> everywhere, no panics in lib code
async fn in traits needs Rust 1.75, fine for us
List[int] -> list[int], Optional[X] -> X | None across the package
useEffect ran twice in StrictMode; effect is idempotent now
Vue 2 -> 3: filters are gone, replaced by computed
The <dialog> element is not supported by the old WebView
Button text is "Pay now", German "Jetzt bezahlen"
z-index war: modals 1000, toasts 1100
i18n keys are checkout.title, checkout.error.card_declined
Screens: /, /orders, /orders/:id and /settings are done
a11y: focus returns to the trigger after close (Esc)
Rails: moved callbacks from Order#save to Orders::Place
Spring Boot 3.3.4, javax.* replaced by jakarta.*
PHP: App\Http\Controllers\OrderController is split by action
C#: IOrderRepository gets a CancellationToken on each method
Elixir: GenServer timeout was 5000 ms, now :infinity for exports
Scala: replaced Future.sequence by traverse with 8 at a time
Haskell: Order is a newtype now, deriving stock Eq
Swift: @MainActor on the view model fixed the purple warnings
Kotlin: `lateinit var` removed, constructor injection
Lua script in Redis does check and decrement in one step
Makefile: target `dist` depends on `check`
Bash: set -euo pipefail in all scripts under tools/
Dockerfile: two stages, final user is 10001, no shell
helm values: replicas 3, resources.limits.memory 512Mi
ansible role nginx: idempotent, check mode works
S3 bucket names: acme-prod-exports, acme-stg-exports
Queue payouts.retry has 1,204 messages, oldest 3 h
ORDER BY was missing, so pages overlapped
Explain shows Index Scan using orders_day_idx, 4 buffers
Vacuum: autovacuum_vacuum_scale_factor 0.02 on outbox
We use insert ... on conflict do nothing and read the row back
Transaction isolation is read committed; one retry on 40001
JSON column meta keeps unknown keys; do not validate
CSV delimiter is ; and decimal comma for DE customers
dates are ISO 8601 with Z, e.g. 2026-11-18T09:30:00Z
Checksum sha256 of the bundle is in the release notes
Build 20261118.3 is the candidate, 20261117.9 is live
commit 8d1f0c2 broke it, revert is e91aa07
tag v0.9.0-beta.4 points at the wrong commit
UUIDv7 for ids, e.g. 01980000-0000-7000-8000-000000000000
Incident 2026-11-12: 14 min of 502s, cause was the expired CA bundle
Post-mortem is in docs/incidents/2026-11-12.md
On call this week: dev-c; next week: dev-a
Secrets of staging are in the vault under payouts/stg, ask ops for access
The key of the map is (tenant, sku), the value is quantity
Session secret is read from the environment variable SESSION_SECRET
Webhook signature: HMAC SHA-256 over timestamp + "." + body
We accept passwords from 12 characters on; no composition rules
2FA codes: 6 digits, window of one step
Private key never leaves the HSM, we only store the key id
PAT scope repo:read is enough for the mirror
Pausing because the sandbox account was locked (too many attempts)
Blocked by legal: text of the consent banner
Need a decision: drop IE mode or keep the polyfill (34 kB)?
Waiting: vendor ticket 88213, answer promised for Thursday
Can't continue without access to the billing repo
The emulator crashes at start with exit code 139 (SIGSEGV), hardware only
Rate limit of the sandbox: 100/h, tests need 240
npm ERR! peer dep conflict: react 19 vs. react-table 7, use overrides
warning: unused variable in three files, cosmetic
OOMKilled at 512Mi while importing > 50k rows
Segfault disappears with -O0, so likely UB in merge_sorted
Next action: write ADR on event naming
Next: (1) delete v1 handlers (2) announce (3) close #77
then: dashboard panel, alert at 5 % errors for 10 min
Review order: model.py, rules.py, store.py, then tests
Start reading at src/orders/place.ts:41, function placeOrder
Please rerun job 4411 if it is red at step "upload"
Try it: open the preview, log in as demo, click Refund
Compare with how search/indexer.py does batching
Keep an eye on p99, it drifted from 300 to 380 ms
If in doubt choose the slower, safer path; we can tune later
Constraint: must run offline; assumption: one user per machine
Non-goal: multi region. Goal: restore in < 1 h
Trade-off: 2x storage for O(1) reads
Alternatives considered: (a) cron (b) queue (c) trigger; chose (b)
Before: 3 queries per row. After: 1 query per page.
Q: why not UUIDv4? A: index locality
Pros: simple. Cons: one more table.
input: 10k orders; output: one PDF; time: 3.2 s
Agent notes: tests first, then the guard
System: staging; customer: none; severity: low
Human error, not a bug: the flag was set twice
Tool: ruff 0.7; config in pyproject.toml
Team: payouts; area: refunds; phase: review
Scope = orders + refunds, not subscriptions
rows = 2_000_000, batch = 5_000, time = 41 s
mode: strict, level: 3, cache: off
x := y is not allowed in our style guide
The default is [] and not None, see the type
Prefer a[i] over a.get(i) because we want the error
foo(bar) style calls are linted, use foo(bar=bar)
Never call close() twice; __aexit__ does it
the decorator @cached_property breaks with slots=True
Renamed: Foo -> Order, Bar -> Line, Baz -> Total
Files touched: 14; lines: +310 / -122; tests: 18 new
- [x] parser - [ ] printer - [ ] docs
## Status
Green on Linux, red on macOS (fsync)
## Next
Profile the import with py-spy"""

HONEST_C = r"""Inventory sync is event based now (topic stock.changed), polling removed
Kept the old cron as fallback, off by default: sync.cron.enabled
Two open bugs: totals off by one cent; PDF lacks page 2
`cargo test --workspace` 212 passed, 1 ignored
3 failed, 40 passed yesterday; today all 43 pass
FAILED on CI means the emulator was down, rerun it
The helper `with_lock(path)` wraps open and close
If you need the lock, use `async with lock:` and not acquire/release
for the demo: seed data is loaded by `make seed`
while we wait for legal, the banner says "beta"
class names in CSS follow BEM now
for each row in the import we log the id only
if status == paid: skip, otherwise retry (that is the whole rule)
else branch of the parser is dead code, removed
try: clear the cache first, then restart
with care: the script drops the temp table
case study moved to docs/cases/
+ new endpoint for refunds
- old endpoint is gone
+ tests
- dropped Python 3.9
+ added 3.13
- timeout 5 s
+ timeout 30 s, measured
Renamed from payouts to settlements in code and docs
rename from `foo` to `bar` is half done
similarity search needs pgvector 0.7
//TODO comments are all turned into tickets
The link //cdn.example.com/x.js has no scheme, fixed to https
cd into tools/ and run ./gen.sh
cd src && make is enough
system: two replicas, one leader
System design: queue in front, workers behind
You are right about the index, it was missing
<user> tag in the template is replaced by {name}
</div> was missing in the footer
The prompt > in the docs is confusing, use $
~dana asked for it, see the thread
~half of the tests moved, ~2/3 of the docs
~3/4 done
permissions are drwxr-xr-x as before
chmod 640 on the key file, owner root
[18/Nov] first version, [19/Nov] review
200 OK even for errors - legacy, do not copy
== Summary == all green
--- separator lines in the changelog are fine
1. if a is set use a
2. else use b
3. else fail with 422
let us keep v1 until May
let total be null when the cart is empty
const is enough here, no let needed
fn keys do not work on the remote console
function composition instead of inheritance in the pricing module
for (some reason) the pool is never closed on SIGTERM
set timeout = 30, retries = 5 in staging
timeout = 30
retries = 5
ok = 1, error = 2, unknown = 3
do: publish early; don't: edit in place
done
pass
yield went up from 80 % to 95 %
return to the old layout is possible with ?layout=old
break glass account is documented in docs/ops.md
raise the limit to 500 after the load test
assert that both engines give the same order
import order matters in setup.cfg
from Monday on the job runs hourly
where possible use the view, not the table
select the plan before payment; the order by price is wrong
update: the vendor fixed it in 4.2
insert key, then reboot (hardware test)
delete from the list any host that is gone
drop table partitions older than 13 months (job exists)
create index concurrently on orders is running, 40 %
grant read access to the analysts next
Mock server returns {"ok": true} for all calls
Response is [] when nothing matches, not 404
Payload is {id, qty}; qty > 0
Ubuntu 24.04 LTS, kernel 6.8, Docker 27
日本語のログは UTF-8 で保存されます（BOM なし）
API の戻り値は `{ok: bool}` です
Fehler 0x80070005 nur auf alten Clients
Größe: 12 MB → 3 MB, Ladezeit: 2,1 s → 0,6 s
Nächster Schritt: a) messen b) entscheiden
Le champ `montant` est en centimes
El test `prueba_pago` falla con TZ=America/Lima"""

HONEST = tuple("\n".join((HONEST_A, HONEST_B, HONEST_C)).split("\n"))

FORBIDDEN = {
    "diff": (
        "--- a/src/pay.py\n+++ b/src/pay.py\n@@ -1,4 +1,5 @@\n import os\n+import sys\n",
        "diff --git a/x.py b/x.py\nindex 83db48f..bf269f4 100644",
        "I changed this:\n- retries = 3\n+ retries = 5\n- wait(1)\n+ wait(2)",
        "*** 1,4 ****\n! old line\n--- 1,4 ----\n! new line",
        "Index: src/main.c\n===================================================================\n--- src/main.c\t(revision 4)\n+++ src/main.c\t(working copy)",
        "*** Begin Patch\n*** Update File: src/pay.py\n@@\n-x = 1\n+x = 2\n*** End Patch",
        "<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE",
        "fix: `-    return None` became `+    return []`\n@@ -10 +10 @@",
        "1c1\n< timeout = 5\n---\n> timeout = 30",
        "@@ -0,0 +1,3 @@\n+one\n+two\n+three",
        "rename from src/a.py\nrename to src/b.py\nsimilarity index 98%",
        "+def f():\n+    return 1",
        "-import os\n+import pathlib",
        "--- src/a.py\t2026-11-01\n+++ src/a.py\t2026-11-02",
        "\\ No newline at end of file\n-a = 1\n+a = 2",
        "5,7c5,8\n< a\n< b\n---\n> c",
        "*** Update File: lib/x.rb\n@@ def go\n-  1\n+  2",
        "similarity index 90%\nrename from a.py\nrename to b.py",
        "- return x\n+ return y",
        "- self.a = b\n+ self.a = c",
        "diff --git a/x b/x\nnew file mode 100644",
        "@@ -3 +3 @@\n-old\n+new",
        "- foo(1)\n+ foo(2)\n- bar(1)\n+ bar(2)",
        "--- old.txt\n+++ new.txt",
    ),
    "code": (
        "```python\ndef f(x):\n    return x + 1\n```",
        "~~~js\nconsole.log(1)\n~~~",
        "def retry(n):\n    for i in range(n):\n        send()\n    return True",
        "function add(a, b) {\n  return a + b;\n}",
        "for (int i = 0; i < n; i++) { sum += a[i]; }",
        "public class Foo {\n  private int x;\n}",
        "SELECT id, name FROM users WHERE id = 3 ORDER BY name;\nDELETE FROM users WHERE id = 3;",
        'fn main() { println!("hi"); }',
        "func (s *Store) Get(id string) (*Row, error) {\n\treturn s.db.Get(id)\n}",
        "import os\nimport sys\nfrom pathlib import Path\nprint(Path.cwd())",
        "x = compute(a, b)\ny = x * 2\nsave(y)",
        "#include <stdio.h>\nint main(void) { return 0; }",
        "const x = await fetch(url);\nconst j = await x.json();\nconsole.log(j);",
        "class Foo:\n    pass",
        "try:\n    run()\nexcept ValueError as e:\n    log(e)\n    raise",
        "<?php\n$x = $_GET['id'];\necho $x;",
        '<div class="row">\n  <span>{{ total }}</span>\n</div>',
        "lambda_ = [f(x) for x in xs if x > 0]\nresult = sum(lambda_)\nprint(result)",
        "while True:\n    job = queue.get()\n    job.run()",
        "if x > 3:\n    y = 2\nelse:\n    y = 4",
        "let total = items.iter().map(|i| i.price).sum::<u64>();\nOk(total)",
        "interface Order {\n  id: string;\n  lines: Line[];\n}",
        "    @Override\n    public String toString() {\n        return name;\n    }",
        "defmodule A do\n  def go(x), do: x + 1\nend",
        'resource "aws_s3_bucket" "b" {\n  bucket = "acme"\n}',
        "ALTER TABLE orders ADD COLUMN day date;\nUPDATE orders SET day = created_at::date;",
        'export default function Page() { return <Main title="x" />; }',
        "var x = new Foo();\nx.Bar();\nx.Baz(1, 2);",
        "for f in *.py; do\n  sed -i 's/a/b/' $f\ndone",
        "with open('a.txt') as f:\n    data = f.read()",
        "async function go() {\n  await a();\n  await b();\n}",
        "return {\n  ok: true,\n  items: rows.map(r => r.id),\n};",
        "assert f(1) == 2\nassert f(2) == 3\nassert f(3) == 4",
        "puts x if x.nil?\nx.each do |i|\n  puts i\nend",
        "for x in rows:\n    total = total + x.price",
        "while n > 0:\n    n = n - 1",
        "if a == b:\n    c = d\n    e = f(g)",
        "class A(B):\n    x = 1\n    y = 2",
        "fn add(a: i32, b: i32) -> i32 { a + b }",
        "function f() { return 1 }",
        "for (let i = 0; i < 3; i++) go(i);",
        "with lock:\n    value = read()\n    write(value + 1)",
        "const a = 1;\nconst b = 2;",
        "let x = 3;\nlet y = x + 1;",
        "def a(): pass\ndef b(): pass",
        "SELECT a FROM b WHERE c = 1;\nSELECT d FROM e;",
        "switch (x) {\n  case 1: return a;\n}",
        "try {\n  go();\n} catch (e) {\n  log(e);\n}",
        "match x:\n    case 1:\n        y = 2",
    ),
    "contents": (
        '{\n  "name": "acme",\n  "version": "1.0.0",\n  "private": true\n}',
        '[tool.ruff]\nline-length = 100\ntarget-version = "py312"',
        "services:\n  db:\n    image: postgres:17\n    ports:\n      - 5432:5432",
        "id,name,amount\n1,Ann,12.50\n2,Bob,13.50\n3,Cy,14.50",
        'Traceback (most recent call last):\n  File "src/a.py", line 3, in <module>\n    f()\nValueError: x',
        "DB_HOST=localhost\nDB_PORT=5432\nDB_NAME=pay",
        "total 12\ndrwxr-xr-x 2 u u 4096 Nov 1 10:00 src\n-rw-r--r-- 1 u u 120 Nov 1 10:00 a.py",
        "   1\timport os\n   2\timport sys\n   3\tprint(1)",
        "2026-11-18 09:00:01 INFO start\n2026-11-18 09:00:02 WARN slow\n2026-11-18 09:00:03 ERROR boom",
        "name: ci\non: [push]\njobs:\n  test:\n    runs-on: ubuntu-latest",
        "<project>\n  <groupId>acme</groupId>\n  <version>1</version>\n</project>",
        '127.0.0.1 - - [18/Nov/2026:09:00:00 +0000] "GET / HTTP/1.1" 200 12\n127.0.0.1 - - [18/Nov/2026:09:00:01 +0000] "GET /x HTTP/1.1" 404 9',
        "a;b;c\n1;2;3\n4;5;6\n7;8;9",
        'FROM python:3.12\nCOPY . .\nRUN pip install .\nCMD ["python", "-m", "acme"]',
        "== 3 failed, 10 passed in 2.31s ==\nFAILED tests/a.py::b - KeyError",
        'Exception in thread "main" java.lang.NullPointerException\n\tat acme.A.go(A.java:3)\n\tat acme.Main.main(Main.java:9)',
        '[{"id": 1}, {"id": 2}, {"id": 3}]',
        "drwxr-xr-x  3 root root 4096 src",
        "-rw-r--r-- 1 dana dana 10 a.txt\n-rw-r--r-- 1 dana dana 11 b.txt",
        '10.0.0.1 - bob [18/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1',
        "===== 2 passed in 0.10s =====",
        "=== short test summary info ===\nFAILED a.py::b\n= 1 failed in 0.20s =",
        "KEY_A=1\nKEY_B=2\nKEY_C=3",
        "x,y,z\n1,2,3\n4,5,6\n7,8,9",
        '{"a": 1, "b": [1, 2]}',
    ),
    "transcript": (
        "User: please fix the bug\nAssistant: Sure, I will look at it.",
        "Human: hi\n\nAssistant: hello",
        "<|im_start|>user\nfix it<|im_end|>",
        '{"role": "user", "content": "fix it"}',
        "[INST] fix the test [/INST]",
        "## User\nfix the test\n## Assistant\nDone, the test is fixed",
        "user> fix it\nassistant> done",
        "**User:** why?\n\n**Assistant:** because of the clock",
        "❯ fix the login\n⏺ I'll fix the login.\n⏺ Read(src/a.py)",
        "$ pytest -q\n3 passed in 0.2s\n$ git push\nEverything up-to-date",
        "Benutzer: bitte beheben\nAssistent: erledigt",
        "Me: can you check?\nBot: yes\nMe: and?\nBot: fixed",
        "> can you fix the login?\n\nI'll start by reading the file.\n\n> ok go on",
        "system: You are a helpful assistant.\nuser: go",
        '{"type":"assistant","message":{"content":[{"type":"text"}]}}',
        "[user] fix\n[assistant] done",
        "User asked: fix it\nAssistant: I fixed it\nUser: thanks",
        "<user>fix it</user><assistant>ok</assistant>",
        "dana@host:~/acme$ make test\nok\ndana@host:~/acme$ git status",
        "system: You are an agent for tests.\nuser: hi",
        "<user>a</user>\n<assistant>b</assistant>",
        "<human>a</human><ai>b</ai>",
        "User: a\nBot: b",
        "Q from user\nHuman: why?\nAssistant: so",
        "system prompt: You are a careful engineer who tests.",
        "Human:\nfix it\n\nAI:\ndone",
    ),
    "absolute path": (
        "/home/dev/work/acme/src/pay.py was edited",
        "see /Users/dev/code/x.ts",
        "C:\\Users\\dana\\src\\a.py",
        "log in D:/work/acme/out.log",
        "\\\\server\\share\\acme\\a.py",
        "~/work/acme/a.py",
        SLASHES + "/home/dev/a.py",
        SLASHES + "server/share/a.py",
        "the file is at /tmp/out.json",
        "wrote /etc/nginx/nginx.conf",
        "in $HOME/.config/acme/settings.toml",
        "%USERPROFILE%\\acme\\a.txt",
        "/mnt/c/Users/dev/a.py",
        "(/var/lib/acme/data.db)",
        "path=/opt/acme/bin/run",
        "~dana/notes.txt",
        "vscode://file/home/dev/a.py",
        "/root/acme/a.py",
        "/srv/acme/app.log rotated",
        "/Volumes/Data/acme/a.psd",
        "/private/var/folders/x/y/a.txt",
        "E:\\data\\a.csv",
        "c:/work/a.py",
        "//server/share/a.py",
        "\\\\?\\C:\\acme\\a.py",
        "~/.ssh/config",
        SLASHES + "/C:/acme/a.py",
        "'/usr/local/bin/acme'",
        "cd /workspace/acme && make",
        "root:/data/acme/x.bin",
        "/nix/store/abc-acme/bin/acme",
        "%APPDATA%\\Acme\\x.json",
        "/proc/self/environ",
        "//nas/share/docs/a.md",
        "\\\\?\\D:\\x\\y",
        "\\\\.\\pipe\\acme\\x",
        "cd /app/src && ls",
        "pushd /code/acme",
        "~lee/src/a.py",
        "~bob/x.txt has it",
        "~/x",
        "H:\\a.txt",
        SLASHES + "/tmp/x",
        "cd /data/acme",
    ),
}
