"""The parts of terms."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir.graph import Value, constant
from fuseconv.ir.types import FLOAT32, STRING
from fuseconv.tf.terms import either_way, number_of, operand_of, shaped
from tests.tf.text_cases import module_of


def test_operands() -> None:
    module, _ = module_of("main {\ninput %x: float32[n]\n%a: float32[n] = tf.Neg(%x)\n"
                          "%b: float32[n] = tf.Sub(%a, %x)\nreturn %b\n}")  # fmt: skip
    graph = module.signatures[0].graph
    x, a, b = graph.inputs[0], graph.ops[0].result, graph.ops[1]
    assert operand_of(a, "tf.Neg") is x
    assert operand_of(a, "tf.Abs") is operand_of(x, "tf.Neg") is operand_of(None, "tf.Neg") is None
    assert either_way(b) == [(a, x), (x, a)]
    assert shaped(Value(FLOAT32, None), b).shape == b.result.shape


@pytest.mark.parametrize(("data", "number"), [
    (np.float32(2.5), 2.5), (np.array([[3]], np.int32), 3.0), (np.array([1, 2], np.int32), None),
    (np.array(True), None),
])  # fmt: skip
def test_numbers(data: np.ndarray, number: float | None) -> None:
    assert number_of(constant(np.asarray(data))) == number


def test_what_is_no_number() -> None:
    assert number_of(Value(FLOAT32, ())) is None
    assert number_of(constant(np.array(b"7", object), STRING)) is None
