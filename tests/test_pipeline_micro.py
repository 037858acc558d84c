"""Files of small models run in TFLite Micro as in LiteRT, in three invokes; and its arena is as large as we tell."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType

import fuseconv
from fuseconv.inspecting import describe
from tests.write.test_offline_plan import GAP, written

micro = pytest.importorskip(
    "tflite_micro.python.tflite_micro.runtime", reason="the package tflite-micro is not installed (group `micro`)"
)

TESTDATA = Path(__file__).parents[1] / "testdata"
# Models that are no case: those that convert with options only, or through Keras.
_OTHERS = {
    "custom.keras", "keras2_lambda.h5", "lambda.keras", "weights_only.h5", "museum", "opcases", "make_models.py",
    "stablehlo",
}  # fmt: skip
_MODELS = {path.name: path for path in TESTDATA.iterdir() if path.name not in _OTHERS} | {
    path.name: path / "saved_model" for path in (TESTDATA / "opcases").iterdir()
}
# Those of which TFLite Micro has the ops, but not in this form: what it says, or why.
_REFUSED = {
    "abs__001": "its ABS takes no int32",
    "arg_min_max__001": "its ARG_MAX takes no int64",
    "depth_to_space__002": "its DEPTH_TO_SPACE takes no int32",
    "fill__001": "an input without elements",
    "gather__001": "an input without elements",
    "gather_nd__000": "its GATHER_ND takes no int16",
    "keras2.h5": "an unknown number of steps, so that a FILL's sizes are computed",
    "roll__000": "its GATHER takes no int32",
    "space_to_depth__001": "its SPACE_TO_DEPTH takes no int32",
    "sum__000": "its SUM takes no int32",
}
# Those of which it lacks ops.
_LACKS = {
    "atan2__002": ["ATAN2"], "attention": ["GELU"], "bitcast__000": ["BITCAST"],
    "broadcast_gradient_args__000": ["REDUCE_ANY", "WHERE"], "gelu__000": ["GELU"], "matrix_diag__001": ["MATRIX_DIAG"],
    "multinomial__002": ["MULTINOMIAL"], "one_hot__001": ["ONE_HOT"], "random_uniform__002": ["RANDOM_UNIFORM"],
    "range__002": ["RANGE"], "reverse_sequence__002": ["REVERSE_SEQUENCE"], "scatter_nd__002": ["SCATTER_ND"],
    "segment_sum__001": ["UNSORTED_SEGMENT_SUM"],
    "static_hashtable__000": ["HASHTABLE", "HASHTABLE_FIND", "HASHTABLE_IMPORT"],
    "tf1_table": ["HASHTABLE", "HASHTABLE_FIND", "HASHTABLE_IMPORT"], "topk__001": ["TOPK_V2"],
    "unique__000": ["UNIQUE"],
    "unsorted_segment_sum__002": ["UNSORTED_SEGMENT_SUM"],
}  # fmt: skip
_RNG = np.random.default_rng(0)


def _converted(name: str) -> bytes:
    data = fuseconv.convert(_MODELS[name], batch_size=1, verify_fusions="never").data
    assert data is not None
    return data


def _sample(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    if np.dtype(dtype).kind == "f":
        return _RNG.normal(size=shape).astype(dtype)
    return _RNG.integers(0, 2, shape).astype(dtype)


@pytest.mark.parametrize("name", sorted(_MODELS.keys() - _REFUSED.keys() - _LACKS.keys()))
def test_agrees_with_litert(name: str) -> None:
    data = _converted(name)
    assert describe(data, name)["micro_resolver"]["lacks"] == []
    resolver = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    litert = Interpreter(model_content=data, experimental_op_resolver_type=resolver)
    litert.allocate_tensors()
    small = micro.Interpreter.from_bytes(data, arena_size=1 << 20)
    for _ in range(3):
        for index, detail in enumerate(litert.get_input_details()):
            array = _sample(detail["shape"], detail["dtype"])
            litert.set_tensor(detail["index"], array)
            small.set_input(array, index)
        litert.invoke()
        small.invoke()
        for index, detail in enumerate(litert.get_output_details()):
            expected, actual = litert.get_tensor(detail["index"]), small.get_output(index)
            np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", sorted(_LACKS))
def test_lacks_ops(name: str) -> None:
    data = _converted(name)
    assert describe(data, name)["micro_resolver"]["lacks"] == _LACKS[name]
    with pytest.raises(RuntimeError):
        micro.Interpreter.from_bytes(data, arena_size=1 << 20)


@pytest.mark.parametrize("name", sorted(_REFUSED))
def test_refuses_a_form(name: str) -> None:
    data = _converted(name)
    assert describe(data, name)["micro_resolver"]["lacks"] == []
    with pytest.raises(RuntimeError):
        micro.Interpreter.from_bytes(data, arena_size=1 << 20).invoke()


@pytest.mark.parametrize("name", ["conv_bn", "frozen.pb", "tf1", "while__000", "cond__000", "split__002"])
def test_the_arena_is_planned_as_told(name: str) -> None:
    """These have no kernel that asks for memory of its own, and the arena's head is the plan."""
    data = _converted(name)
    assert describe(data, name)["arena"]["bytes"] == _head(micro.Interpreter.from_bytes(data, arena_size=1 << 20))


def test_a_plan_that_the_file_brings_along_is_taken() -> None:
    data = written(GAP)
    small = micro.Interpreter.from_bytes(data, arena_size=1 << 20)
    assert _head(small) == describe(data, "it")["arena"]["bytes"] == 64
    for _ in range(3):
        x = _sample((8,), np.float32)
        small.set_input(x, 0)
        small.invoke()
        np.testing.assert_array_equal(small.get_output(0), np.abs(np.tile(x[:4], 2)))


def _head(interpreter: Any) -> int:
    """Return the bytes of the arena's head, which holds the activations."""
    with _errors() as told:
        interpreter.print_allocations()
    (head,) = re.findall(r"Arena allocation head (\d+) bytes", told.pop())
    return int(head)


@contextmanager
def _errors() -> Iterator[list[str]]:
    """Collect what the block writes to standard error, C++ included."""
    told: list[str] = []
    with tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield told
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            told.append(file.read().decode())
