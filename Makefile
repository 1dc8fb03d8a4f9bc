# Two commands do all their own set-up on a machine with Python 3.11+ and make:
#   make ask     install the core and answer a question over examples/ (change it with Q= and DOCS=)
#   make test    run every check: lint, types, docs, the core alone, all tests
# Both use the virtual environment .venv (and .venvs for frameworks); the system's Python is never
# changed.

PYTHON ?= python3
Q      ?= How are glacier caves formed?
DOCS   ?= examples/docs
BIN    := .venv/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check install --quiet -c constraints.txt

.PHONY: ask test check core full adapters clients reliability format clean

ask: .venv/core
	@$(BIN)/rejoinder ask "$(Q)" $(DOCS)
	@printf '\nnext:  %s\n       %s\n' '$(BIN)/rejoinder ask "$(Q)" --top 3 $(DOCS)' \
	  '$(BIN)/rejoinder index add $(DOCS) --index my-index' >&2

# The tests run last, so that their result is the last line.
test: check core adapters clients full

check: .venv/full
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python docs/make_help.py --check
	$(BIN)/python docs/make_server.py --check
	$(BIN)/python tests/audit.py

# The built wheel with the core dependencies only, as users install it.
core: .venv/full
	$(BIN)/python tests/check_wheel.py

full: .venv/full .venv/system
	$(BIN)/python -m pytest --cov --cov-report=term

# The adapters with the real frameworks, each in its own environment under .venvs.
adapters: .venv/full
	$(BIN)/python -m tests.adapters.run

# The server with the clients of other services, and with schemathesis.
clients: .venv/full
	$(BIN)/python -m tests.server.run

# Inject every fault and write docs/reliability.md: hours. ONLY=TEXT selects cases.
# Outcomes are kept under build, so that an interrupted run resumes.
reliability: .venv/full .venv/system
	@mkdir -p build
	$(BIN)/python -m tests.reliability --long --only "$(ONLY)" --runs build/reliability.jsonl \
	  $(if $(ONLY),,--to docs/reliability.md)

format: .venv/full
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/python docs/make_help.py
	$(BIN)/python docs/make_server.py

clean:
	rm -rf .venv .venvs build dist .coverage .pytest_cache .mypy_cache .ruff_cache

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "rejoinder needs Python 3.11 or newer; choose one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "creating .venv (once) ..." >&2
	@$(PYTHON) -m venv .venv

# Java, PostgreSQL, Chromium and qemu for integration tests, if they are missing.
.venv/system: .venv/bin/python tests/system_packages.py
	@$(BIN)/python tests/system_packages.py
	@touch $@

.venv/core: .venv/bin/python pyproject.toml constraints.txt
	@echo "installing rejoinder (once) ..." >&2
	@$(PIP) --editable .
	@touch $@

.venv/full: .venv/bin/python pyproject.toml constraints.txt
	@echo "installing rejoinder and the test dependencies (once) ..." >&2
	@$(PIP) "pip>=25.1"
	@$(PIP) --editable ".[all]" --group dev
	@touch $@ .venv/core
