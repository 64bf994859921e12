# Two commands, no other set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# An index that has the CPU build of torch; empty: the default one, whose Linux build brings several GB of CUDA.
TORCH_INDEX_URL ?=

.PHONY: help demo serve test check bench lock clean

help:
	@echo "make demo    crawl a simulated web on this machine and show it on the dashboard"
	@echo "make serve   start the service and its dashboard on http://127.0.0.1:8000"
	@echo "make test    lint, types, import layers, tests"
	@echo "make check   the same without the tests"
	@echo "make bench   benchmarks (an hour)"
	@echo "make clean   remove what the others made"

$(READY): pyproject.toml requirements.lock
	@command -v $(PYTHON) >/dev/null || { echo "Missing: $(PYTHON). Install Python 3.11 or newer, or run make PYTHON=/path/to/python3.11 …"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed, but $(PYTHON) is $$($(PYTHON) -V 2>&1). Install a newer one, or run make PYTHON=/path/to/python3.11 …"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "Missing: the venv module of $(PYTHON) (on Debian: apt-get install python3-venv)."; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing (about two minutes the first time) …"
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -c requirements.lock $(if $(TORCH_INDEX_URL),--index-url $(TORCH_INDEX_URL)) torch==2.13.0
	@$(BIN)/pip install --quiet --disable-pip-version-check -c requirements.lock -e '.[dev]'
	@touch $(READY)

demo: $(READY)
	@$(BIN)/tres demo

serve: $(READY)
	@$(BIN)/tres serve

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check
	$(BIN)/pytest -n 2 --dist worksteal

bench: $(READY)
	$(BIN)/tres bench fetch
	$(BIN)/tres bench frontier
	$(BIN)/tres bench relevance --part bootstrap --part anchors --part speed --part calibration
	$(BIN)/tres bench focused --seeds 1 --max 50 --policy tres --policy ache --policy best-first --policy oracle
	$(BIN)/pytest tests/benchmarks -o python_files='bench_*.py' -s

lock: $(READY)
	{ head -2 requirements.lock; $(BIN)/pip freeze --exclude-editable | sed 's/^torch==.*/torch==2.13.0/'; } > requirements.new
	mv requirements.new requirements.lock

clean:
	rm -rf $(VENV) demo-data dist build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
