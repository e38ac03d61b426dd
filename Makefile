# Holdfast: every target sets up what it needs, and works twice in a row.
#
#   make demo     play the story in the terminal
#   make test     all tests, with coverage per room;  make test ARGS="tests/sessions -k append" for a part
#   make clients  each test of real clients with each of them, offline;  ARGS=--latest tries the newest; see docs/howto/clients.md
#   make check    format, lint, types, import contracts, tests: what CI runs
#   make bench    side by side with peers in one run; writes docs/benchmarks.md
#   make quiz     what the next agent is handed after three sessions; writes its tables in docs/benchmarks.md
#   make soak     fault and security tests at full counts
#   make failover three PostgreSQL nodes that fail over under load; see docs/howto/failover.md
#   make docs     write the generated pages again
#   make contract write the golden file of the names that others call again, when a change of them is meant
#   make house    how open the lines are, and which names to look at;  ARGS=--list, ARGS=--unused, ARGS=PATH
#   make mutants  do the tests notice a change?  ARGS="--count 300 --seed 1 --room sessions"; see docs/howto/mutants.md
#   make walks    how many files and functions a call passes through;  ARGS=--list names them

.PHONY: help setup demo chromium client-parts server-programs test clients check lint bench quiz soak failover docs contract house mutants walks clean

SHELL := /bin/sh
BIN := .venv/bin
PY := $(BIN)/python
# Tests wait for disks and processes as well: one more at a time than there are processors, three to five.
JOBS ?= $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2); [ $$n -lt 2 ] && n=2; [ $$n -gt 4 ] && n=4; echo $$((n + 1)))
ARGS ?=
# A stamp belongs to one checkout: a copied environment points at the old one and is made again.
HERE := $(shell printf '%s' "$(CURDIR)" | cksum | cut -d' ' -f1)
BASE := .venv/.base-$(HERE)
DEV := .venv/.dev-$(HERE)
BENCH := .venv-bench/.stamp-$(HERE)
FAILOVER := .venv-failover/.stamp-$(HERE)
export PYTHON
# Compiled once, not by every process that a test or the story starts, although many containers ask for that.
export PYTHONDONTWRITEBYTECODE =

help:
	@sed -n 's/^#   //p' Makefile

$(BASE): pyproject.toml tools/environment.sh
	@tools/environment.sh .venv -e '.[mcp,server]'
	@touch $@

$(DEV): pyproject.toml tools/environment.sh
	@tools/environment.sh .venv -e '.[dev]'
	@touch $(BASE) $@

$(BENCH): pyproject.toml bench/requirements.txt tools/environment.sh
	@tools/environment.sh .venv-bench -e '.[mcp,server]' -r bench/requirements.txt
	@touch $@

$(FAILOVER): tests/failover/requirements.txt tools/environment.sh
	@tools/environment.sh .venv-failover -r tests/failover/requirements.txt
	@touch $@

setup: $(DEV)

demo: $(BASE)
	@$(BIN)/holdfast demo $(ARGS)

chromium:
	@tools/chromium.sh

client-parts:
	@tools/client_parts.sh

server-programs:
	@tools/server_programs.sh

# A part of the tests says nothing about coverage, so thresholds are only held for all of them.
test: $(DEV) chromium client-parts server-programs
ifeq ($(strip $(ARGS)),)
	@rm -f .coverage .coverage.*
	$(PY) -m pytest -n $(JOBS) --dist worksteal --cov --cov-report=
	@$(PY) tools/room_coverage.py
else
	$(PY) -m pytest $(ARGS)
endif

clients: $(DEV) client-parts
	$(PY) -m pytest -n $(JOBS) --dist worksteal -m clients --every tests/clients/real $(ARGS)

lint: $(DEV)
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(BIN)/lint-imports

check: lint
	@$(MAKE) --no-print-directory test

bench: $(BENCH)
	.venv-bench/bin/python -m bench $(ARGS)

quiz: $(DEV)
	@$(PY) -m bench.quiz $(ARGS)

soak: $(DEV) $(FAILOVER) chromium server-programs
	HOLDFAST_SCALE=$${HOLDFAST_SCALE:-1.0} $(PY) -m pytest --timeout 7200 -m "soak or not soak" $(if $(strip $(ARGS)),$(ARGS),$(wildcard tests/faults tests/security))

failover: $(DEV) $(FAILOVER)
	@$(PY) -m tests.failover

docs: $(DEV)
	COLUMNS=80 $(BIN)/holdfast --help >docs/help.txt.new
	@mv docs/help.txt.new docs/help.txt
	$(PY) tools/verbs.py >docs/verbs.md.new
	@mv docs/verbs.md.new docs/verbs.md
	$(PY) -m tools.functions >src/holdfast/storage/functions_number.py.new
	@mv src/holdfast/storage/functions_number.py.new src/holdfast/storage/functions_number.py
	$(PY) -m tools.schema >docs/schema.md.new
	@mv docs/schema.md.new docs/schema.md
	$(PY) -m tools.errors >docs/errors.md.new
	@mv docs/errors.md.new docs/errors.md
	$(PY) -m tools.exchange >docs/exchange.md.new
	@mv docs/exchange.md.new docs/exchange.md
	$(PY) -m tools.mcp_answers >src/holdfast/surfaces/mcp/answers.txt.new
	@mv src/holdfast/surfaces/mcp/answers.txt.new src/holdfast/surfaces/mcp/answers.txt

contract: $(DEV)
	$(PY) -m tools.contract >tests/house/contract.txt.new
	@mv tests/house/contract.txt.new tests/house/contract.txt

house: $(DEV)
	@$(PY) -m tools.house $(ARGS)

mutants: $(DEV)
	@$(PY) -m tools.mutants $(ARGS)

walks: $(DEV)
	@$(PY) -m tools.walks $(ARGS)

clean:
	rm -rf .venv .venv-bench .venv-failover .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .mutants build dist
