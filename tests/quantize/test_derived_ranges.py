"""Ranges that follow from others are those of what the file computes."""

from __future__ import annotations

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

from fuseconv.ir.graph import Module
from fuseconv.quantize.affine import Range
from fuseconv.quantize.derived_ranges import derived_range, origins
from fuseconv.quantize.reduced_ranges import ReducedRanges
from fuseconv.write.flatbuffer_export import to_bytes
from tests.tf.text_cases import module_of

_DERIVED = [
    "float32[n,2,2,8] = tfl.CONCATENATION(%y, %y) {'axis': 3}",
    "float32[n,4,4,1] = tfl.DEPTH_TO_SPACE(%y) {'block_size': 2}",
    "float32[n,1,1,16] = tfl.SPACE_TO_DEPTH(%y) {'block_size': 2}",
    "float32[2,n,2,2,4] = tfl.PACK(%y, %y) {'axis': 0, 'values_count': 2}",
    "float32[n,2,2,4] = tfl.REVERSE_V2(%y, int32[1] [1])",
    "float32[n,4,4] = tfl.RESHAPE(%y, int32[3] [-1, 4, 4])",
    "float32[n,2,2,4] = tfl.TRANSPOSE(%y, int32[4] [0, 2, 1, 3])",
    "float32[n,2,2,4] = tfl.LOGISTIC(%y)", "float32[n,2,2,4] = tfl.TANH(%y)",
    "float32[n,2,2,4] = tfl.ADD(%y, float32[] 0.3)", "float32[n,2,2,4] = tfl.SUB(float32[1] [0.3], %y)",
    "float32[n,2,2,4] = tfl.MUL(float32[] -0.3, %y)",
]  # fmt: skip
_MEASURED = [
    "float32[n,2,2,4] = tfl.ADD(%y, float32[] -0.3) {'fused_activation_function': 'RELU'}",
    "float32[n,2,2,4] = tfl.ADD(%y, float32[4] [1, 2, 3, 4])", "float32[n,2,2,4] = tfl.MUL(%y, %y)",
    "float32[n,2,2,4] = tfl.MUL(%y, float32[] 0.0)",
    "float32[n,2,2,4] = tfl.DIV(%y, float32[] 0.3)", "float32[n,2,2,4] = tfl.ADD(%x, float32[] 0.3)",
    "float32[n,2,2,8] = tfl.CONCATENATION(%y, %x) {'axis': 3}", "float32[n,2,2,4] = tfl.GELU(%y)",
    "float32[n,1,2,4] = tfl.SLICE(%y, int32[4] [0, 0, 0, 0], int32[4] [-1, 1, 2, 4])",
]  # fmt: skip


def _module(made: str) -> Module:
    module, _ = module_of(f"""
    main {{
      input %x: float32[n,2,2,4]
      %y: float32[n,2,2,4] = tfl.MUL(%x, %x)
      %z: {made}
      return %z
    }}
    """)
    return module


@pytest.mark.parametrize("made", [*_DERIVED, *_MEASURED])
def test_they_are_those_of_results(made: str) -> None:
    module = _module(made)
    interpreter, reduced = Interpreter(model_content=to_bytes(module)), ReducedRanges.of(module)
    assert reduced is not None and [value.name for value in reduced.added.derived] == ["z"] * (made in _DERIVED)
    (given,), (result,) = interpreter.get_input_details(), interpreter.get_output_details()
    samples = np.random.default_rng(0).normal(0, 2, (2, 1, 2, 2, 4)).astype(np.float32)
    results = []
    for sample in samples:
        assert reduced.run({"i0": sample})
        interpreter.allocate_tensors()
        interpreter.set_tensor(given["index"], sample)
        interpreter.invoke()
        results.append(interpreter.get_tensor(result["index"]))
    found = {value.name: each for value, each in reduced.ranges().items()}["z"]
    # The last bit of these matters nowhere.
    within = 1e-6 if "LOGISTIC" in made or "TANH" in made else 0.0
    np.testing.assert_allclose((found.least, found.largest), (np.min(results), np.max(results)), rtol=within)


def test_numbers_of_any_size() -> None:
    square, logistic = _module("float32[n,2,2,4] = tfl.LOGISTIC(%y)").signatures[0].graph.ops
    found = derived_range(logistic, {square.result: Range(-1e30, np.inf)})
    assert origins(logistic) == [square.result] and found == Range(0.0, 1.0)
    assert derived_range(logistic, {}) is None  # of an empty tensor


@pytest.mark.parametrize("reader", ["RELU(%z)", "ADD(%z, %x)"])
@pytest.mark.parametrize("read", [
    "LOGISTIC(%y)", "TANH(%y)", "ADD(%y, float32[] 1.0)", "REVERSE_V2(%y, int32[1] [1])",
])  # fmt: skip
def test_nan_is_looked_for_in_what_they_follow_from(read: str, reader: str) -> None:
    module, _ = module_of(f"""
    main {{
      input %x: float32[n,2]
      %y: float32[n,2] = tfl.LOG(%x)
      %z: float32[n,2] = tfl.{read}
      %a: float32[n,2] = tfl.{reader}
      return %a
    }}
    """)
    reduced = ReducedRanges.of(module)
    assert reduced is not None and reduced.run({"i0": np.array([[1, 2]], np.float32)})
    assert not reduced.run({"i0": np.array([[1, -2]], np.float32)})
    # One SUM more, where it begins: ADD shows the NaN of what is moved or added to.
    shown = "ADD" in reader and read[:4] in ("ADD(", "REVE")
    assert reduced.added.numbers.shape == (2 * 2 + (1 if shown else 2),)
