# `make report` shows what tamiz does; `make docs` builds the site; `make test` is what CI runs; `make slow` is run before a step is
# called done; `make lowest newest` tests the range of versions.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
REPORT := report.html
# Hundreds of tests start Python, which is to compile no module twice.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: report test slow docs bench stubs format clean

report: $(VENV)/run
	$(BIN)/tamiz demo -o $(REPORT)
	@echo "The report is $(CURDIR)/$(REPORT): open it in a browser."

# Four stamps: what a user needs, what a developer needs, what builds the site, and the peers that benchmarks measure against.
# Python compiles what is imported, not all that is installed.
INSTALL = test -x $(BIN)/python || $(PYTHON) -m venv $(VENV); \
  $(BIN)/pip install --no-compile --quiet --disable-pip-version-check --constraint constraints.txt --editable

$(VENV)/run: pyproject.toml constraints.txt
	$(INSTALL) .
	touch $@

$(VENV)/dev: pyproject.toml constraints.txt
	$(INSTALL) '.[dev]'
	touch $(VENV)/run $@

# The tests of the page need a browser, and are skipped in one line where there is none.
.PHONY: chromium
chromium:
	@command -v chromium > /dev/null || command -v chromium-browser > /dev/null || { \
	  test "$$(id -u)" = 0 && command -v apt-get > /dev/null && apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium > /dev/null; } || \
	echo "Chromium is not here and cannot be installed: the tests of the page are skipped."

# One worker more than there are cores: the tests of the page mostly wait for the browser.
WORKERS ?= $(shell expr $$(nproc) + 1)

# Threads that wait for work do not take time from the other workers.
test slow: export OMP_WAIT_POLICY := passive

# The browser is installed beside the packages. Kernels are compiled once, before anything is timed or run in parallel; names,
# imports and types are checked meanwhile.
test:
	$(MAKE) --jobs=2 $(VENV)/dev chromium
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	($(BIN)/lint-imports && $(BIN)/python tools/structure.py && $(BIN)/python tools/language.py && $(BIN)/mypy) & checks=$$!; \
	  $(BIN)/python -m tamiz.kernels && wait $$checks
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -m "not slow"

slow: test $(VENV)/docs
	$(BIN)/pytest -n $(shell nproc) --dist worksteal -m slow

# The fast tests with the lowest versions of all dependencies, and with the newest; DIRECTORY=tests/contracts runs a part.
.PHONY: lowest newest
lowest newest:
	test -x .venv-$@/bin/python || $(PYTHON) -m venv .venv-$@
	.venv-$@/bin/pip install --quiet --disable-pip-version-check --upgrade \
	  $(if $(filter lowest,$@),--constraint constraints-lowest.txt) --editable '.[dev]'
	export NUMBA_CACHE_DIR=$(CURDIR)/.venv-$@/kernels && .venv-$@/bin/python -m tamiz.kernels && \
	  .venv-$@/bin/pytest -n $(WORKERS) --dist worksteal -m "not slow" $(DIRECTORY)

$(VENV)/docs: $(VENV)/run
	$(INSTALL) '.[docs]'
	touch $@

# Examples that were run before would not be run again.
docs: $(VENV)/docs
	rm -rf docs/examples
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs docs/_build/html
	@echo "The site is $(CURDIR)/docs/_build/html/index.html: open it in a browser."

$(VENV)/bench: $(VENV)/dev
	$(INSTALL) '.[dev,bench]'
	touch $@

bench: $(VENV)/bench
	mkdir -p .benchmarks
	$(BIN)/pytest benchmarks/test_*.py --benchmark-only --benchmark-json=.benchmarks/last.json
	$(BIN)/python benchmarks/table.py .benchmarks/last.json

# What is read of the code in place of the code: type stubs, the list of methods, the diagram of the packages.
stubs: $(VENV)/dev
	$(BIN)/python tools/stubs.py
	$(BIN)/python tools/house.py

format: $(VENV)/dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:
	rm -rf $(VENV) $(REPORT) docs/_build docs/methods docs/examples docs/commands.rst
	rm -rf .benchmarks .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
