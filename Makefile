# Everything runs from .venv; the first call on a fresh machine builds it.
PYTHON ?= python3
BIN := .venv/bin
LOCK ?= requirements/demo.txt
OTHERWISE = $(if $(STRICT),,|| echo "not by hash: the files offered here are not those of $(LOCK); going on by version")

.PHONY: demo test check long lint venv lock npm tools wheel docs clean

demo: venv
	$(BIN)/martfl demo

test: check

# Two workers on two cores: a thread each, or they wait for one another.
check: venv npm lint
	TMPDIR="$$(tools/scratch)" OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist loadgroup -q

# The long mode of randomised tests, and what installs from nothing.
long: venv npm
	TMPDIR="$$(tools/scratch)" $(BIN)/pytest -q -m long

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

venv: .venv/.ready

# First what the demo needs, by hash; then the rest, by version. Where a registry built its own files, the hashes refuse
# them: it says so and goes on by version, or stops if told `make STRICT=1`. `make LOCK=` leaves the hashes out.
.venv/.ready: pyproject.toml constraints.txt $(LOCK)
	@test -x $(BIN)/python || $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "$(PYTHON) is older than Python 3.11 or missing; name another: make PYTHON=/path/to/python3"; exit 1; }
	@echo "Filling .venv: this takes some minutes and about 2 GB, more with a torch for GPUs."
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip --constraint constraints.txt
	$(if $(LOCK),$(BIN)/python -m pip install --quiet --require-hashes --no-deps --requirement $(LOCK) $(OTHERWISE))
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[all,dev]"
	touch $@

# Hashes of what the demo installs; after a change of constraints.txt or of dependencies.
lock: venv
	@tools/lock

# Programs and a library that only tests use, in node_modules and .venv: nothing of the system is touched.
npm: venv
	@tools/setup

# The one system package that tests use: chromium, by apt and as root. It says what it will do. Without it browser tests skip.
tools:
	@tools/system

wheel: venv
	PYTHON=$(BIN)/python tools/wheel

docs: venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[docs]"
	$(BIN)/mkdocs build --strict

clean:
	rm -rf .venv node_modules dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
