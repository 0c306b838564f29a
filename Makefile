# Two commands do all set-up on a fresh machine:  make demo  runs the main job,  make test  passes the tests.
PYTHON ?= python3
BIN    := .venv/bin
DEV    := build/dev
MOCK   := $(DEV)/mock_nvml/libnvidia-ml.so.1
PEERS  := build/peers
RECEIVERS := build/receivers
WORKLOADS := $(DEV)/duty $(DEV)/vram_ramp $(DEV)/train

# cmake, ninja and clang-format come from the virtual environment.
export PATH := $(CURDIR)/$(BIN):$(PATH)

NATIVE := $(shell find native tests/native tests/helpers benchmarks -name '*.[ch]' -o -name '*.def' -o -name '*.cmake' -o -name CMakeLists.txt -o -name CMakePresets.json)

.PHONY: demo test test-native test-asan test-python kills mock workloads gpu-truth lint format typecheck benchmark truth accuracy receivers test-receivers clean

demo: .venv/installed $(DEV)/built $(DEV)/duty
	@GPU_BENCH=$(CURDIR)/$(BIN)/gpu-bench DUTY=$(CURDIR)/$(DEV)/duty MOCK=$(CURDIR)/$(MOCK) bash benchmarks/demo.sh

test: test-native test-python

test-native: $(DEV)/built
	cd native && ctest --preset dev

test-python: .venv/installed $(DEV)/built $(WORKLOADS)
	$(BIN)/python -m pytest

# The C part again, under AddressSanitizer and UndefinedBehaviorSanitizer.
test-asan: .venv/installed
	cd native && cmake --preset asan && cmake --build --preset asan && ctest --preset asan

# The tests that count, with their full numbers: 1000 kills after the first trace, 300 before it, 200 starts. Some minutes.
kills: .venv/installed $(DEV)/built
	GPU_PROBE_KILLS=1000 GPU_PROBE_TEST_STARTS=200 $(BIN)/python -m pytest tests/integration/test_wrapper_kills.py tests/integration/test_wrapper_signals.py -k "killed or before_the_first or no_start"

# Records to a server and a validating proxy that others have written; needs npm, and takes half a minute the first time.
receivers: $(RECEIVERS)/installed

test-receivers: .venv/installed $(RECEIVERS)/installed
	$(BIN)/python -m pytest tests/integration/test_platform_receivers.py

# The mock driver's path, and nothing else, on stdout.
mock: $(DEV)/built
	@echo $(CURDIR)/$(MOCK)

# Loads for a GPU, of which is known what they use: a C compiler is all that this needs.
workloads: $(WORKLOADS)

# On a machine with an NVIDIA GPU: what is true there, beside what we say. Results in out/gpu_truth.
gpu-truth: .venv/installed $(DEV)/built $(WORKLOADS)
	@PYTHON=$(CURDIR)/$(BIN)/python bash benchmarks/gpu_truth.sh --out out/gpu_truth

benchmark: .venv/installed $(DEV)/built
	cd native && cmake --preset glibc >/dev/null && cmake --build --preset glibc >/dev/null
	$(BIN)/python benchmarks/wrap_cost.py

truth: .venv/installed $(DEV)/built
	$(BIN)/python benchmarks/truth.py

# Options in ACCURACY, such as ACCURACY="--scenario burst".
accuracy: .venv/installed $(DEV)/built $(PEERS)/installed
	$(BIN)/python benchmarks/accuracy.py $(ACCURACY)

lint: .venv/installed
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/lint-imports
	$(BIN)/clang-format --dry-run --Werror $$(git ls-files 'native/*.[ch]' 'tests/*.[ch]' 'benchmarks/*.[ch]')

typecheck: .venv/installed
	$(BIN)/mypy

format: .venv/installed
	$(BIN)/ruff check --fix src tests benchmarks
	$(BIN)/ruff format src tests benchmarks
	$(BIN)/clang-format -i $$(git ls-files 'native/*.[ch]' 'tests/*.[ch]' 'benchmarks/*.[ch]')

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

LOADS := benchmarks/workloads
CUDA  := $(LOADS)/cuda_driver.c $(LOADS)/workload.c

$(DEV)/duty: $(LOADS)/duty.c $(LOADS)/cuda_spinner.c $(CUDA)
$(DEV)/vram_ramp: $(LOADS)/vram_ramp.c $(CUDA)
$(DEV)/train: $(LOADS)/train.c $(LOADS)/gemm.c $(CUDA)
$(WORKLOADS): $(wildcard $(LOADS)/*.h)
	@mkdir -p $(DEV)
	@$(CC) -std=c11 -O2 -D_GNU_SOURCE -Wall -Wextra $(filter %.c,$^) -o $@ -ldl -lm

# The other readers of GPUs, in an environment of their own; one that cannot be had is absent from the results.
$(PEERS)/installed: benchmarks/peers/requirements.txt
	@$(PYTHON) -m venv $(PEERS) >&2
	@while read -r peer; do \
		$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check "$$peer" >&2 || echo "make: no $$peer: it will be absent" >&2; \
	done < $<
	@touch $@

# The server's package lacks a directory that it wants when it starts.
$(RECEIVERS)/installed:
	@mkdir -p $(RECEIVERS) && $(PYTHON) -m venv $(RECEIVERS)/venv >&2
	@$(RECEIVERS)/venv/bin/python -m pip install --quiet --disable-pip-version-check nextflow-turret==0.1.0 >&2
	@$(RECEIVERS)/venv/bin/python -c 'import importlib.util, pathlib; pathlib.Path(importlib.util.find_spec("nextflow_turret").origin).parent.joinpath("server/static").mkdir(exist_ok=True)'
	@cd $(RECEIVERS) && npm install --silent --no-fund --no-audit @stoplight/prism-cli@5.14.2 >&2
	@touch $@
