"""The parts of terms."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir.graph import Value, constant
from fuseconv.ir.terms import either_way, filled_with, is_zero, look_through, number_of, op_of, operand_of, shaped
from fuseconv.ir.types import FLOAT32, STRING
from tests.tf.text_cases import module_of


def test_operands() -> None:
    module, _ = module_of("main {\ninput %x: float32[n]\n%a: float32[n] = tf.Neg(%x)\n"
                          "%b: float32[n] = tf.Sub(%a, %x)\nreturn %b\n}")  # fmt: skip
    graph = module.signatures[0].graph
    x, a, b = graph.inputs[0], graph.ops[0].result, graph.ops[1]
    assert op_of(a, "tf.Neg") is op_of(a, ("tf.Abs", "tf.Neg")) is a.op
    assert op_of(a, "tf.Negative") is op_of(a, "tf.N") is op_of(x, "tf.Neg") is op_of(None, {"tf.Neg"}) is None
    assert operand_of(a, "tf.Neg") is x
    assert operand_of(a, "tf.Abs") is operand_of(x, "tf.Neg") is operand_of(None, "tf.Neg") is None
    assert either_way(b) == [(a, x), (x, a)]
    assert shaped(Value(FLOAT32, None), b).shape == b.result.shape


def test_what_ops_hand_on() -> None:
    module, _ = module_of("main {\ninput %x: float32[1,2]\ninput %y: float32[2]\n%a: float32[2] = tf.Squeeze(%x)\n"
                          "%b: float32[2,1] = tf.Reshape(%a, int32[2] [2, 1])\n"
                          "%c: float32[2,1]; %d: float32[2] = tf.IdentityN(%b, %y)\nreturn %c, %d\n}")  # fmt: skip
    graph = module.signatures[0].graph
    (x, y), (c, d) = graph.inputs, graph.outputs
    moves = ("tf.Reshape", "tf.Squeeze", "tf.IdentityN")
    assert (look_through(c, moves), look_through(d, moves), look_through(x, moves)) == (x, y, x)
    assert look_through(c, "tf.IdentityN") is graph.ops[1].result


def test_what_is_filled() -> None:
    module, _ = module_of("main {\ninput %x: float32[n]\ninput %s: int32[1]\n"
                          "%a: float32[n] = tf.Fill(%s, float32[] 0.0)\n"
                          "%b: float32[n] = tf.Fill(%s, float32[] 2.0)\n%c: float32[n] = tf.ZerosLike(%x)\n"
                          "return %a, %b, %c\n}")  # fmt: skip
    graph = module.signatures[0].graph
    a, b, c = graph.outputs
    two = filled_with(b)
    assert two is not None and number_of(two) == 2 and filled_with(c) is c
    assert [is_zero(value) for value in (a, b, c, graph.inputs[0], None)] == [True, False, True, False, False]
    assert is_zero(constant(np.zeros(3, np.float32))) and not is_zero(constant(np.array([0, 1], np.float32)))


@pytest.mark.parametrize(("data", "number"), [
    (np.float32(2.5), 2.5), (np.array([[3]], np.int32), 3.0), (np.array([1, 2], np.int32), None),
    (np.array(True), None),
])  # fmt: skip
def test_numbers(data: np.ndarray, number: float | None) -> None:
    assert number_of(constant(np.asarray(data))) == number


def test_what_is_no_number() -> None:
    assert number_of(Value(FLOAT32, ())) is None
    assert number_of(constant(np.array(b"7", object), STRING)) is None
