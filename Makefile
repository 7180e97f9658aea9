# Everything runs from .venv; the first call on a fresh machine builds it.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check lint venv tools clean

demo: venv
	$(BIN)/martfl demo

test: check

check: venv tools lint
	TMPDIR="$$(tools/scratch)" $(BIN)/pytest -n 2 --dist loadgroup -q

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

venv: .venv/.ready

.venv/.ready: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "$(PYTHON) is older than Python 3.11 or missing; name another: make PYTHON=/path/to/python3"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip --constraint constraints.txt
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[federation,dashboard,tracking,dev]"
	touch $@

# Programs that only the tests need: anvil and snarkjs (npm), chromium (Debian). Absent ones skip their tests.
tools:
	@tools/setup

clean:
	rm -rf .venv node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis
