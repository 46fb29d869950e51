# Every target sets up what it needs; `make setup` alone prepares the virtual environment.
PYTHON ?= python3
CLUSTER ?= embedded
JOBS ?= auto
# Each worker has a cluster of its own; one more than the cores, because stories also wait.
E2E_JOBS ?= $(shell expr $$(nproc 2>/dev/null || echo 2) + 1)
ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Compiling our modules at each start would take as long as starting a cluster does.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test e2e lint bench clean

help:
	@echo "make setup   create .venv with drakit (editable) and all that the tests need"
	@echo "make demo    a DGX A100 and a TPU pool in a cluster, claims running, pictures of who got what"
	@echo "make test    unit tests and recorded vectors            [ARGS='-k quantity']"
	@echo "make e2e     the end-to-end suite, CLUSTER=embedded     [ARGS='e2e/test_mig.py']"
	@echo "make lint    ruff, mypy --strict, import-linter"
	@echo "make bench   timings, one table each"

setup: $(STAMP)

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	@touch $@

demo: setup
	$(BIN)/drakit demo --cluster $(CLUSTER) $(ARGS)

test: setup
	$(BIN)/python -m pytest tests -n $(JOBS) $(ARGS)

e2e: setup
	$(BIN)/python -m pytest e2e --cluster $(CLUSTER) -n $(E2E_JOBS) --dist loadgroup $(ARGS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup
	$(BIN)/python -m bench $(ARGS)

clean:
	rm -rf $(VENV) dist build
