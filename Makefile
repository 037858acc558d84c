# Needs python3 (3.10 or later) with venv and pip, and make; everything else goes into .venv.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

export TF_CPP_MIN_LOG_LEVEL ?= 3

.PHONY: help demo test test-fast test-slow test-light check bench bench-compare same scale opcases museum keras-hub jax-models fuzz
.DEFAULT_GOAL := help

help:
	@echo "make demo    convert a small Keras LSTM from testdata/ to build/demo.tflite and look into the file"
	@echo "make test    run the tests (ARGS='-k lstm' goes to pytest)"
	@echo "make test-fast  run those that need no TensorFlow, in seconds: for the loop of work"
	@echo "make test-slow  run those that take minutes, or gigabytes of disk"
	@echo "make test-light  install without TensorFlow into an environment of its own, and convert there"
	@echo "make check   ruff and mypy"
	@echo "make bench   measure against TFLiteConverter (ONLY=MobileNetV2,ResNet50 for some models; ARGS for options)"
	@echo "make bench-compare BASE=main~5   what got slower since a commit by more than noise (ONLY=MobileNetV2)"
	@echo "make same BASE=main~5  which files differ from those that a commit writes (CASES=DIR of operator cases)"
	@echo "make scale   measure models of 50,000 nodes and 2.7 GB"
	@echo "make opcases run the operator cases of a directory (CASES=testdata/opcases; ARGS='--only while,pad --json')"
	@echo "make museum  ask TFLiteConverter again for testdata/museum (ARGS='--only roll', '--side ours' for what fuseconv does)"
	@echo "make keras-hub  convert a small model of every kind of keras-hub (ONLY='GPT2*,BertBackbone'; ARGS='--json')"
	@echo "make jax-models  convert models of JAX, Flax and Keras on JAX, and hold them to a list (ONLY='linen_*,keras_lstm')"
	@echo "make fuzz    convert damaged and hostile models (SECONDS=600, or CASES=10000; SEED=1; ONLY=graph,config)"

# pip is asked again when the declared dependencies change.
$(STAMP): pyproject.toml
	@echo "Setting up .venv: pip installs TensorFlow and what else is needed, which takes some minutes and 3 GB once."
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --progress-bar on --editable '.[dev]'
	@$(BIN)/python -m pip install --quiet --editable '.[micro]' || echo "tflite-micro is not there for this system: a test is skipped"
# pip compiles what it installs, but not what stays where it is; without it each start takes 0.2 s longer.
	$(BIN)/python -m compileall -q fuseconv
	@touch $@

demo: $(STAMP)
	@mkdir -p build
	@echo "Converting testdata/keras2_lstm, a Keras LSTM, to build/demo.tflite; then looking into the file."
	$(BIN)/fuseconv convert testdata/keras2_lstm -o build/demo.tflite
	$(BIN)/fuseconv inspect build/demo.tflite

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist loadfile $(ARGS)

test-fast: $(STAMP)
	$(BIN)/python -m pytest -m fast -n 2 --dist loadfile $(ARGS)

test-slow: $(STAMP)
	$(BIN)/python -m pytest -m slow $(ARGS)

# Installs 200 MB of packages, which pip caches; so it is no part of `make test`.
test-light:
	sh tests/light_install.sh $(PYTHON)

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(STAMP)
	$(BIN)/python -m tests.bench.run $(if $(ONLY),--only $(ONLY)) $(ARGS)

BASE ?= HEAD
bench-compare: $(STAMP)
	$(BIN)/python -m tests.bench.compare $(BASE) $(if $(ONLY),--only $(ONLY)) $(ARGS)

same: $(STAMP)
	$(BIN)/python -m tests.bench.same $(BASE) $(if $(CASES),--cases $(CASES)) $(if $(ONLY),--only $(ONLY)) $(ARGS)

scale: $(STAMP)
	$(BIN)/python -m tests.bench.scale

opcases: $(STAMP)
	$(BIN)/python -m tests.opcases $(or $(CASES),testdata/opcases) $(ARGS)

museum: $(STAMP)
	$(BIN)/python -m tests.museum $(ARGS)

SECONDS ?= 60
SEED ?= 1
fuzz: $(STAMP)
	$(BIN)/python -m tests.fuzz.run $(if $(CASES),--cases $(CASES),--seconds $(SECONDS)) --seed $(SEED) \
		$(if $(ONLY),--only $(ONLY)) $(ARGS)

# keras-hub stays out of .venv: what it asks for is not what fuseconv asks for.
HUB := build/keras-hub-venv
$(HUB)/.installed: pyproject.toml tests/keras_hub/requirements.txt
	$(PYTHON) -m venv $(HUB)
	$(HUB)/bin/python -m pip install --quiet --editable . -r tests/keras_hub/requirements.txt
	@touch $@

keras-hub: $(HUB)/.installed
	$(HUB)/bin/python -m tests.keras_hub.run $(if $(ONLY),--only '$(ONLY)',--write) $(ARGS)

# Nor are JAX and Flax in .venv.
JAX := build/jax-venv
$(JAX)/.installed: pyproject.toml tests/jax_models/requirements.txt
	$(PYTHON) -m venv $(JAX)
	$(JAX)/bin/python -m pip install --quiet --editable . -r tests/jax_models/requirements.txt
	@touch $@

jax-models: $(JAX)/.installed
	$(JAX)/bin/python -m tests.jax_models.run $(if $(ONLY),--only '$(ONLY)',--write) $(ARGS)
