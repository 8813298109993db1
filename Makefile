# Every target does its own set-up: python3 and make are enough. Name another Python with `make PYTHON=python3.12 ...`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
WORKERS ?= 2

.DEFAULT_GOAL := help
.PHONY: help demo test test-all amd lint format docs wheel clean

help:  ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

demo: $(VENV)/.stamp-demo  ## Train LeNet on the best device of this machine
	$(BIN)/portadnn demo $(DEMO_ARGS)

# Tests start hundreds of interpreters: each takes half the time where modules are compiled before.
test test-all amd: export PYTHONDONTWRITEBYTECODE =
# A second thread of NumPy's products waits busily, and the other worker for it.
test test-all amd: export OPENBLAS_NUM_THREADS = 1
test-all: export PORTADNN_TEST_ALL = 1
# A worker that dies ends the run: pytest-xdist may wait forever for the one that takes its place.
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --max-worker-restart 0

test: $(VENV)/.stamp-test  ## Run the tests, without the long ones
	$(PYTEST) $(TEST_ARGS)

test-all: $(VENV)/.stamp-test  ## Run every test that this machine can run
	$(PYTEST) -m "" $(TEST_ARGS)

amd: $(VENV)/.stamp-test  ## Compile kernels for AMD GPUs, and execute some (needs clang, lld, llvm and libclc of LLVM 19 or newer)
	$(PYTEST) -m "amd and not long" $(AMD_ARGS) tests/amd_isa

lint: $(VENV)/.stamp-dev  ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -p portadnn -p portadnn_backends

format: $(VENV)/.stamp-dev  ## Mend style where a machine can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.stamp-docs  ## Write the API reference into build/reference/
	$(BIN)/python docs/reference.py build/reference

wheel: $(VENV)/.stamp-dev  ## Build the wheel and the sdist into dist/
	rm -rf build dist
	$(BIN)/python -m build --outdir dist .

clean:  ## Remove everything that make made
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp says that .venv holds these extras, as pyproject.toml has them now.
$(VENV)/.stamp-demo: EXTRAS := cpu demo
$(VENV)/.stamp-test: EXTRAS := cpu test nvrtc
$(VENV)/.stamp-dev: EXTRAS := cpu dev test
$(VENV)/.stamp-docs: EXTRAS := docs

$(VENV)/.stamp-%: pyproject.toml .ci/setup
	PYTHON="$(PYTHON)" .ci/setup $(EXTRAS)
	@touch $@
