# Two commands do all of their own set-up on a machine with Python 3.11+ and make:
#   make ask     install the core and answer a question over examples/ (Q= and DOCS= change it)
#   make test    everything: lint, types, docs, the core alone, all tests
# Both use one virtual environment, .venv (and .venvs for what frameworks need beside it); the
# system's Python is never changed.

PYTHON ?= python3
Q      ?= How are glacier caves formed?
DOCS   ?= examples/docs
BIN    := .venv/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check install --quiet -c constraints.txt

.PHONY: ask test check core full adapters clients reliability format clean

ask: .venv/core
	@$(BIN)/rejoinder ask "$(Q)" $(DOCS)

# The tests come last, so that their verdict is the last line.
test: check core adapters clients full

check: .venv/full
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python docs/make_help.py --check
	$(BIN)/python docs/make_http_api.py --check
	$(BIN)/python tests/audit.py

# The built wheel with the core's dependencies alone, as a user gets it.
core: .venv/full
	$(BIN)/python tests/check_wheel.py

full: .venv/full .venv/system
	$(BIN)/python -m pytest --cov --cov-report=term

# With the real frameworks, each in an environment of its own under .venvs.
adapters: .venv/full
	$(BIN)/python -m tests.adapters.run

# The server with the real clients of other services, and with schemathesis.
clients: .venv/full
	$(BIN)/python -m tests.server.run

# Every fault as often as docs/reliability.md says, which it writes: hours. ONLY= names some.
# What was found is kept under build, so that it goes on where it was stopped.
reliability: .venv/full .venv/system
	@mkdir -p build
	$(BIN)/python -m tests.reliability --long --only "$(ONLY)" --runs build/reliability.jsonl \
	  $(if $(ONLY),,--to docs/reliability.md)

format: .venv/full
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/python docs/make_help.py
	$(BIN)/python docs/make_http_api.py

clean:
	rm -rf .venv .venvs build dist .coverage .pytest_cache .mypy_cache .ruff_cache

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "rejoinder needs Python 3.11 or newer; name one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "making .venv (once) ..." >&2
	@$(PYTHON) -m venv .venv

# Java, PostgreSQL and Chromium for tests against the real ones, where they are missing.
.venv/system: .venv/bin/python tests/system_packages.py
	@$(BIN)/python tests/system_packages.py
	@touch $@

.venv/core: .venv/bin/python pyproject.toml constraints.txt
	@echo "installing rejoinder (once) ..." >&2
	@$(PIP) --editable .
	@touch $@

.venv/full: .venv/bin/python pyproject.toml constraints.txt
	@echo "installing rejoinder with everything that tests need (once) ..." >&2
	@$(PIP) "pip>=25.1"
	@$(PIP) --editable ".[all]" --group dev
	@touch $@ .venv/core
