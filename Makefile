# Two commands do all set-up on a fresh machine:  make demo  runs the main job,  make test  passes the tests.
PYTHON ?= python3
BIN    := .venv/bin
DEV    := build/dev
MOCK   := $(DEV)/mock_nvml/libnvidia-ml.so.1
DUTY   := $(DEV)/duty

# cmake, ninja and clang-format come from the virtual environment.
export PATH := $(CURDIR)/$(BIN):$(PATH)

NATIVE := $(shell find native tests/native benchmarks -name '*.[ch]' -o -name '*.def' -o -name '*.cmake' -o -name CMakeLists.txt -o -name CMakePresets.json)

.PHONY: demo test test-native test-asan test-python mock lint format typecheck benchmark truth clean

demo: .venv/installed $(DEV)/built $(DUTY)
	@GPU_BENCH=$(CURDIR)/$(BIN)/gpu-bench DUTY=$(CURDIR)/$(DUTY) MOCK=$(CURDIR)/$(MOCK) bash benchmarks/demo.sh

test: test-native test-python

test-native: $(DEV)/built
	cd native && ctest --preset dev

test-python: .venv/installed $(DEV)/built
	$(BIN)/python -m pytest

# The C part again, under AddressSanitizer and UndefinedBehaviorSanitizer.
test-asan: .venv/installed
	cd native && cmake --preset asan && cmake --build --preset asan && ctest --preset asan

# The mock driver's path, and nothing else, on stdout.
mock: $(DEV)/built
	@echo $(CURDIR)/$(MOCK)

benchmark: .venv/installed $(DEV)/built
	cd native && cmake --preset glibc >/dev/null && cmake --build --preset glibc >/dev/null
	$(BIN)/python benchmarks/wrap_cost.py

truth: .venv/installed $(DEV)/built
	$(BIN)/python benchmarks/truth.py

lint: .venv/installed
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/lint-imports
	$(BIN)/clang-format --dry-run --Werror $$(git ls-files 'native/*.[ch]' 'tests/native/*.[ch]' 'benchmarks/*.[ch]')

typecheck: .venv/installed
	$(BIN)/mypy

format: .venv/installed
	$(BIN)/ruff check --fix src tests benchmarks
	$(BIN)/ruff format src tests benchmarks
	$(BIN)/clang-format -i $$(git ls-files 'native/*.[ch]' 'tests/native/*.[ch]' 'benchmarks/*.[ch]')

clean:
	rm -rf .venv build demo

# What installs and builds is said on stderr only: `make mock` is for command substitution.
.venv/installed: pyproject.toml $(NATIVE)
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv >&2 || { echo "make: python3 -m venv failed; on Debian: apt-get install python3-venv" >&2; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]' >&2
	@touch $@

$(DEV)/built: .venv/installed $(NATIVE)
	@cd native && cmake --preset dev >&2 && cmake --build --preset dev >&2
	@touch $@

DUTY_SOURCES := benchmarks/workloads/duty.c benchmarks/workloads/cuda_spinner.c

$(DUTY): $(DUTY_SOURCES) | $(DEV)/built
	@$(CC) -std=c11 -O2 -D_GNU_SOURCE -Wall -Wextra $(DUTY_SOURCES) -o $@ -ldl -lm
