"""TFLite ops that are built."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import Value
from fuseconv.ir.types import FLOAT32, INT32
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.type_inference import ShapeError
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


def test_each_builder_has_its_own_ops() -> None:
    x, first, second = Value(FLOAT32, (2,)), Builder([], "a"), Builder([], "b")
    made = [first.neg(x), second.neg(x), first.neg(x)]  # the methods of operators are made when they are first used
    assert [value.op for value in made] == [first.out[0], second.out[0], first.out[1]]
    assert [op.name for op in second.out] == ["b"]


def test_an_op_is_built_again_with_results_of_the_same_types() -> None:
    x, tfl = Value(FLOAT32, (2, 8, 8, 3)), Builder([], "made", ("a",))
    weights = np.ones((4, 3, 3, 3), np.float32)
    y = tfl.conv_2d(x, weights, None, padding="VALID", stride_w=1, stride_h=1)
    attrs = y.op.attrs | {"padding": "SAME", "fused_activation_function": "RELU"}
    again = tfl.again(y.op, [x, weights * 2, np.zeros(4, np.float32)], attrs)
    assert again.op is tfl.out[-1]
    assert (again.dtype, again.shape, again.op.kind) == (FLOAT32, (2, 6, 6, 4), "tfl.CONV_2D")
    assert (again.op.name, again.op.sources) == ("made", ("a",))
    assert again.op.attrs == {"stride_w": 1, "stride_h": 1, "fused_activation_function": "RELU"}
    assert [None if value is None else value.shape for value in again.op.operands] == [x.shape, weights.shape, (4,)]


def test_an_op_on_sizes_is_built_again_with_its_elements() -> None:
    x, tfl = Value(FLOAT32, (2, symbol("n"))), Builder([])
    sizes = tfl.add(tfl.shape_(x), np.array([0, 1], np.int32))
    again = tfl.again(sizes.op, [sizes.op.operands[0], np.array([0, 2], np.int32)], {})
    assert again.content is not None and [str(size) for size in again.content] == ["2", "n + 2"]


def test_what_is_constant_is_computed_at_once() -> None:
    tfl = Builder([])
    made = tfl.transpose(tfl.const(np.array([[1, 2, 3]], np.float32)), [1, 0])
    assert made.dtype is FLOAT32 and made.data.tolist() == [[1], [2], [3]] and not tfl.out
    assert tfl.ints([1, 2]).dtype is INT32


def test_what_has_no_elements_needs_no_op_and_is_no_operand_of_one_that_wants_some() -> None:
    tfl = Builder([])
    x, weights, bias = (Value(FLOAT32, shape) for shape in ((0, 4), (3, 4), (3,)))
    made = tfl.fully_connected(x, weights, bias)
    assert made.is_const and made.shape == (0, 3) and not tfl.out
    with pytest.raises(ShapeError, match="FULLY_CONNECTED: an operand has no elements"):
        tfl.fully_connected(Value(FLOAT32, (2, 0)), Value(FLOAT32, (3, 0)), bias, keep_num_dims=True)


def test_what_lies_outside_of_a_tensor_is_not_picked() -> None:
    tfl, x = Builder([]), Value(FLOAT32, (3, 2))
    assert tfl.strided_slice(x, [-3], [0], [1], shrink_axis_mask=1).shape == (2,)
    with pytest.raises(ShapeError, match="element 3 of 3"):
        tfl.strided_slice(x, [3], [4], [1], shrink_axis_mask=1)


def test_weights_of_a_layer_take_as_many_inputs_as_there_are() -> None:
    weights, recurrent, bias, state = (Value(FLOAT32, shape) for shape in ((4, 6), (4, 4), (4,), (2, 4)))
    with pytest.raises(ShapeError, match="take 6 inputs, and there are 5"):
        Builder([]).unidirectional_sequence_rnn(Value(FLOAT32, (2, 7, 5)), weights, recurrent, bias, state)


def test_an_op_that_tflite_has_not() -> None:
    with pytest.raises(AttributeError, match="TFLite has no operator FROB"):
        Builder([]).frob(1)
