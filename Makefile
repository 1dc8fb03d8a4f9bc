# These do all their own set-up on a machine with Python 3.11+ and make:
#   make ask     install the core and answer a question over examples/ (change it with Q= and DOCS=)
#   make test    run every check: lint, types, docs, the core alone, all tests
#   make quick   lint, types and the fast tests, in less than two minutes
#   make docs    build the documentation site into build/site
# All use the virtual environment .venv (and .venvs for frameworks); the system's Python is never
# changed.

PYTHON ?= python3
Q      ?= How are glacier caves formed?
DOCS   ?= examples/docs
BIN    := $(if $(filter Windows_NT,$(OS)),.venv/Scripts,.venv/bin)
PIP    := $(BIN)/python -m pip --disable-pip-version-check install --quiet -c constraints.txt

ifeq ($(OS),Windows_NT)
SHELL  := bash
endif

.PHONY: ask test quick lint check docs core full adapters clients reliability wheels pure format clean

ask: .venv/core
	@$(BIN)/rejoinder ask "$(Q)" $(DOCS)
	@printf '\nnext:  %s\n       %s\n' '$(BIN)/rejoinder ask "$(Q)" --top 3 $(DOCS)' \
	  '$(BIN)/rejoinder index add $(DOCS) --index my-index' >&2

# The tests run last, so that their result is the last line.
test: check core adapters clients full

check: lint docs
	$(BIN)/python docs/make_server.py --check
	$(BIN)/python tests/audit.py

# What a contributor runs before each commit: no test that is marked as slow (tests/conftest.py).
quick: lint
	$(BIN)/python -m pytest -q -m "not slow"

lint: .venv/full
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python docs/make_help.py --check
	$(BIN)/python docs/make_tables.py --check

docs: .venv/full
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# The built wheel with the core dependencies only, as users install it; then, on Linux, what
# deploy/Containerfile builds and starts.
core: .venv/full
	$(BIN)/python -m tests.check_wheel

full: .venv/full .venv/system
	$(BIN)/python -m pytest --cov --cov-report=term

# The adapters with the real frameworks, each in its own environment under .venvs.
adapters: .venv/full
	$(BIN)/python -m tests.adapters.run

# The server with the clients of other services, and with schemathesis.
clients: .venv/full
	$(BIN)/python -m tests.server.run

# Inject every fault and write docs/reliability.md: hours. ONLY=TEXT selects cases, and replaces
# their rows alone. Outcomes are kept under build, so that an interrupted run resumes, unless the
# code has changed.
reliability: .venv/full .venv/system
	@mkdir -p build
	REJOINDER_TEST_LONG=1 $(BIN)/python -m pytest -q tests/retrieval
	$(BIN)/python -m tests.reliability --long --only "$(ONLY)" --runs build/reliability.jsonl \
	  --to docs/reliability.md

# The files of a release, into dist: a wheel with the kernel (cibuildwheel; on Linux it needs a
# container engine), and on a system without a C compiler the wheel for all others.
wheels: .venv/full
	@$(PIP) --group release
	$(BIN)/python -m cibuildwheel --output-dir dist

pure: .venv/full
	CC=none $(BIN)/python -m hatchling build -d dist

format: .venv/full
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/python docs/make_help.py
	$(BIN)/python docs/make_tables.py
	$(BIN)/python docs/make_server.py

clean:
	rm -rf .venv .venvs build dist .coverage .pytest_cache .mypy_cache .ruff_cache

.venv/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "rejoinder needs Python 3.11 or newer; choose one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "creating .venv (once) ..." >&2
	@$(PYTHON) -m venv .venv

# Java, Chromium and qemu for integration tests, if they are missing.
.venv/system: .venv/pyvenv.cfg tests/system_packages.py
	@$(BIN)/python tests/system_packages.py
	@touch $@

.venv/core: .venv/pyvenv.cfg pyproject.toml constraints.txt
	@echo "installing rejoinder (once) ..." >&2
	@$(PIP) --editable .
	@touch $@

.venv/full: .venv/pyvenv.cfg pyproject.toml constraints.txt
	@echo "installing rejoinder and the test dependencies (once) ..." >&2
	@$(PIP) "pip>=25.1"
	@$(PIP) --editable ".[all]" --group dev
	@touch $@ .venv/core
