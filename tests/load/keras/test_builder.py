"""Ops as layers build them: named in their scope, with their shapes, and without attributes that are defaults."""

from __future__ import annotations

import pytest

from fuseconv.errors import InputError
from fuseconv.ir import budget, types
from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import Value
from fuseconv.load.keras.builder import LayerBuilder
from fuseconv.load.op_defs import OpDefs


def builder() -> tuple[LayerBuilder, Value]:
    tf = LayerBuilder(OpDefs())
    tf.scope = "model/layer"
    return tf, Value(types.FLOAT32, (symbol("n"), 4, 5), "x")


def test_ops_have_names_and_shapes_and_no_defaults() -> None:
    tf, x = builder()
    made = tf.Softmax(tf.Relu(tf.Relu(x)))
    assert [op.name for op in tf.out] == ["model/layer/Relu", "model/layer/Relu_1", "model/layer/Softmax"]
    assert made.shape == x.shape
    squeezed = tf.MatMul(tf.reshaped(x, [-1, 5]), x, transpose_a=False, transpose_b=True)
    assert squeezed.op is not None and squeezed.op.attrs == {"transpose_b": True}
    with pytest.raises(TypeError, match="no such attributes"):
        tf.Relu(x, axis=1)


def test_sizes_that_are_known_are_constants() -> None:
    tf, x = builder()
    assert tf.dim(x, 1).is_const and not tf.dim(x, 0).is_const
    assert tf.reshaped(x, ["0", 20]).shape == (symbol("n"), 20)
    assert tf.transpose(x, [0, 1, 2]) is x


def test_a_small_file_may_not_make_many_ops() -> None:
    with budget.limited(budget.Budget(lambda: 100)):
        tf, x = builder()
        with pytest.raises(InputError, match="more operations than a file of its size justifies"):
            for _ in range(1 << 16):
                tf.Relu(x)
