# Every target sets up what it needs on a machine that has only python3, pip, git and make.
# Byte code is written on purpose (imports are twice as slow without it), and nothing outside .venv is touched.
unexport PYTHONDONTWRITEBYTECODE
unexport PYTHONPATH
unexport VIRTUAL_ENV
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.DEFAULT_GOAL := help
.PHONY: help setup system demo test flaky check fmt docs bench lock clean torture oracle shadow fuzz soak mutants versions friction mcp-servers conformance wheels

help: ## Show this list
	@grep -hE '^[a-z][a-z-]*:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(VENV)/.ready: pyproject.toml requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit("Holdfast needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	@$(PYTHON) -m venv $(VENV)
	@echo "Installing the locked development set into $(VENV) ..."
	@# The lock names every package: without --no-deps a newer release of one of them can stop older pips.
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.run: requirements/run.txt
	@$(PYTHON) -c 'import sys; sys.exit("Holdfast needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	@# A development set holds the same versions; without one only what the program itself needs is installed.
	@if [ ! -e $(VENV)/.ready ]; then \
		$(PYTHON) -m venv $(VENV) && echo "Installing what Holdfast needs to run into $(VENV) ..." && \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/run.txt; \
	fi
	@touch $@

setup: $(VENV)/.ready ## Make the private .venv with the locked dependencies

system: ## Install the Debian packages the tests use (root), or say which are missing
	@scripts/system_packages.sh

demo: $(VENV)/.run ## Show a whole agent session on a sample project, no key needed (STORY=agents: explorers, a plan, a worktree)
	@PYTHONPATH=src $(BIN)/python -m holdfast demo $(STORY)

test: setup system mcp-servers ## Run the whole test suite; as root, its file, shell and command-line tests also as an ordinary user
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal
	@WORKERS=$(WORKERS) $(BIN)/python scripts/ordinary_user.py
	@WORKERS=$(WORKERS) scripts/versions.sh system

versions: setup system ## Long: the whole suite on every Python from 3.11 on that is found (PYTHONS="path path")
	@WORKERS=$(WORKERS) scripts/versions.sh all

wheels: ## Long: the wheel in empty environments on every Python found, plain and with [all], as root and as a user
	@scripts/wheels.sh $(PYTHONS)

flaky: setup system ## Long: the suite ten times beside a load on every core, failures counted by test (N=10)
	@$(BIN)/python scripts/flaky.py --rounds $(or $(N),10) --workers $(WORKERS)

check: setup ## Format, lint, types, layers, shape, docs drift
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/basedpyright
	@$(BIN)/lint-imports
	@$(BIN)/python -m pytest -q -p no:cacheprovider tests/shape
	@$(BIN)/python scripts/generate_docs.py --check

fmt: setup ## Format the code and apply safe lint fixes
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

docs: setup ## Regenerate the generated pages of docs/, check words and links, and build the site into site/
	@$(BIN)/python scripts/generate_docs.py
	@$(BIN)/python scripts/build_site.py

bench: setup ## Measure against limits in the same run (PEERS=1: also peers from PyPI and npm); docs/performance.md by scripts/render_bench.py
	@$(if $(PEERS),scripts/system_packages.sh peers,:)
	@$(BIN)/python benchmarks/run.py $(if $(PEERS),--peers,)

torture: setup system ## Long: kill sessions, crash writers, race editors, chaotic models (KILLS=200, ANSWERS=10000)
	@TORTURE_KILLS=$(or $(KILLS),200) $(BIN)/python scripts/torture_processes.py --rounds $(or $(KILLS),200)
	@$(BIN)/python scripts/torture_files.py
	@$(BIN)/python scripts/torture_loop.py --kills $(or $(KILLS),200)
	@$(BIN)/python scripts/torture_cli.py --kills $(or $(KILLS),200)
	@HOLDFAST_CHAOS_TURNS=10000 $(BIN)/python -m pytest -q -n $(WORKERS) --timeout 900 tests/agent/test_chaos.py
	@SANDBOX_SEEDS=500 $(BIN)/python -m pytest -q -n $(WORKERS) --timeout 900 tests/host/sandbox/test_escapes.py
	@$(BIN)/python scripts/chaos_loop.py --answers $(or $(ANSWERS),10000)

oracle: setup system ## Long: run generated read-only commands under strace (N=20000, SEED=1)
	@$(BIN)/python scripts/shell_oracle.py --count $(or $(N),20000) --seed $(or $(SEED),1)

shadow: setup ## Hold every shell verdict against those of the commit before permissions/ was cut anew (SHARE=20: a part)
	@$(BIN)/python scripts/shadow.py --share $(or $(SHARE),1)

fuzz: setup ## Long (about 20 minutes): the property tests with many examples, and 200,000 pairs against git check-ignore
	@HYPOTHESIS_PROFILE=deep HOLDFAST_SUITE_LIMIT_S=14400 HOLDFAST_GITIGNORE_PAIRS=200000 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --timeout 3600 \
		tests/engine/test_schedules.py tests/permissions tests/lib tests/settings

soak: setup ## Keep 64 background jobs busy and watch files and memory (SOAK_S=600)
	@$(BIN)/python scripts/soak.py --seconds $(or $(SOAK_S),600)

mutants: setup ## Long: change the deciding code in small ways and see whether its tests notice (MINUTES=60)
	@$(BIN)/python scripts/mutants.py --minutes $(or $(MINUTES),60)

friction: setup ## How often people are asked: real or own sessions, by mode, with and without saved rules (FILES="a.jsonl")
	@$(BIN)/python scripts/friction.py --show $(or $(SHOW),0) $(FILES)

lock: setup ## Recompute requirements/*.txt with hashes
	@scripts/lock.sh

clean: ## Remove the private environment and caches
	rm -rf $(VENV) .venv-system .venvs .pytest_cache .ruff_cache .hypothesis build dist site

mcp-servers: setup ## Install the reference MCP server for its tests; says why where that is not possible
	@$(BIN)/python scripts/mcp_packages.py

conformance: setup ## Hold MCP client and server against the suite of its authors, and our agent against the programs that drive one
	@$(BIN)/python scripts/conformance.py
