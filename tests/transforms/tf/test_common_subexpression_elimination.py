"""Ops that make the same are found; those that only look alike are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fuseconv.ir.graph import Op, Quantization, Rejection, Value, constant
from fuseconv.ir.types import FLOAT32, INT8, INT32
from fuseconv.transforms.tf.common_subexpression_elimination import CommonSubexpressions

X = Value(FLOAT32, (2,), "x")


def _op(kind: str, *operands: Value, **attrs: int) -> Op:
    op = Op(kind, operands, dict(attrs))
    op.add_result(FLOAT32, (2,))
    return op


def _equal(first: Op, second: Op) -> bool:
    found = CommonSubexpressions()
    seen: dict[Any, Op] = {}
    assert found.find(first, seen) is None
    return found.find(second, seen) is first


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [
        (_op("tf.Neg", X), _op("tf.Neg", X), True),
        (_op("tf.Neg", X), _op("tf.Abs", X), False),
        (_op("tf.Sum", X, axis=0), _op("tf.Sum", X, axis=1), False),
        (_op("tf.RandomUniform", X), _op("tf.RandomUniform", X), False),
        (_op("tf.Add", X, constant(np.float32(1))), _op("tf.Add", X, constant(np.float32(1))), True),
        (_op("tf.Add", X, constant(np.float32(0.0))), _op("tf.Add", X, constant(np.float32(-0.0))), False),
        (_op("tf.Fill", constant([2], INT32), constant(0, FLOAT32)), _op("tf.ZerosLike", X), True),
        (_op("tf.Fill", constant([2], INT32), constant(1, FLOAT32)), _op("tf.ZerosLike", X), False),
    ],
)
def test_ops_that_make_the_same(first: Op, second: Op, equal: bool) -> None:
    assert _equal(first, second) is equal


def test_a_rejected_op_is_equal_to_none_that_is_not() -> None:
    rejected = _op("tf.Neg", X)
    rejected.rejection = Rejection("it is lost")
    assert not _equal(_op("tf.Neg", X), rejected)


def test_steps_tell_quantized_tensors_apart() -> None:
    def in_steps_of(scale: float) -> tuple[Op, Op]:
        made, read = _op("tfl.QUANTIZE", X), _op("tfl.DEQUANTIZE", constant(np.arange(300), INT8))
        made.result.quantization = read.operands[0].quantization = Quantization((scale,), (0,))  # type: ignore[union-attr]
        return made, read

    for coarse, same, fine in zip(in_steps_of(0.5), in_steps_of(0.5), in_steps_of(0.1)):
        assert _equal(coarse, same) and not _equal(coarse, fine)
