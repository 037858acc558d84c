"""Large models: work grows with the nodes, memory does not grow with the weights."""

from __future__ import annotations

import functools
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType

import fuseconv
from tests.synthetic import many_bytes, many_nodes
from tests.work import count_calls

_MEGABYTE = 1e6 if sys.platform == "darwin" else 1e6 / 1024  # ru_maxrss counts bytes there, kibibytes elsewhere


def convert_alone(model: Path, out: Path) -> float:
    """Converts in a process of its own; returns its peak memory in megabytes."""
    start = [sys.executable, "-c", "from fuseconv.cli import main; main()"]
    command = [*start, "convert", str(model), "-o", str(out), "--quiet"]
    # A child's peak counts from the size of its parent, so that a small process stands between.
    between = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    run = subprocess.run([sys.executable, "-c", between, *command], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return int(run.stdout) / _MEGABYTE


def dense_stack_is_right(file: Path, layers: int, width: int) -> None:
    interpreter = Interpreter(
        str(file), experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES, num_threads=2
    )
    x = np.ones((1, width), np.float32)
    y = interpreter.get_signature_runner("serving_default")(x=x)["y"]
    assert y[0, 0] == math.factorial(layers)
    assert y[0, -1] == 2**layers
    assert np.count_nonzero(y) == 2


def test_work_grows_with_the_number_of_nodes(tmp_path: Path) -> None:
    models = [many_nodes(tmp_path / str(count), count) for count in (500, 1000, 3000)]
    # The first one pays for what is imported and compiled once.
    _, small, large = (count_calls(functools.partial(fuseconv.convert, model)) for model in models)
    assert large < 3.1 * small


def test_many_nodes_are_right(tmp_path: Path) -> None:
    """Each block is a dense layer with its constants folded in, and a sum; what restates the batch is gone."""
    conversion = fuseconv.convert(many_nodes(tmp_path / "model", 400))
    kinds = [op.type for op in conversion.report.emitted]
    assert set(kinds) == {"FULLY_CONNECTED", "TANH", "ADD"}
    assert conversion.report.account().keys() == conversion.report.sources.keys()


def test_weights_are_not_held_in_memory(tmp_path: Path) -> None:
    """300 MB of weights, transposed, in a process that takes no more for them than for the largest one."""
    peak = convert_alone(many_bytes(tmp_path / "model", 18, 2048), tmp_path / "out.tflite")
    assert os.path.getsize(tmp_path / "out.tflite") > 300e6
    assert peak < 150
    dense_stack_is_right(tmp_path / "out.tflite", 18, 2048)


@pytest.mark.slow
def test_models_over_two_gigabytes(tmp_path: Path) -> None:
    """2.7 GB: the weights are found by their places in the file, within 1 GB of memory."""
    peak = convert_alone(many_bytes(tmp_path / "model", 10, 8192), tmp_path / "out.tflite")
    assert os.path.getsize(tmp_path / "out.tflite") > 2.5e9
    assert peak < 1000
    dense_stack_is_right(tmp_path / "out.tflite", 10, 8192)
