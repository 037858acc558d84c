"""TFLite ops that are built."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir.types import FLOAT32, INT32
from fuseconv.tfl.builder import Builder
from tests.tf.text_cases import module_of, short_text


def test_operands_may_be_numbers_and_lists() -> None:
    module, _ = module_of("main {\n input %x: float32[n,2]\n return %x\n}")
    graph = module.signatures[0].graph
    tfl = Builder(graph.ops, "made", ("a",))
    graph.outputs = [tfl.reshape(tfl.add(graph.inputs[0], 1.0), [-1])]
    assert {(op.name, op.sources) for op in graph.ops} == {("made", ("a",))}
    assert short_text(module) == """main {
  input %0: float32[n,2]
  %1: float32[n,2] = tfl.ADD(%0, float32[] 1.0)
  %2: float32[2*n] = tfl.RESHAPE(%1, int32[1] [-1])
  return %2
}
"""


def test_what_is_constant_is_computed_at_once() -> None:
    tfl = Builder([])
    made = tfl.transpose(tfl.const(np.array([[1, 2, 3]], np.float32)), [1, 0])
    assert made.dtype is FLOAT32 and made.data.tolist() == [[1], [2], [3]] and not tfl.out
    assert tfl.ints([1, 2]).dtype is INT32


def test_an_op_that_tflite_has_not() -> None:
    with pytest.raises(AttributeError, match="TFLite has no operator FROB"):
        Builder([]).frob(1)
