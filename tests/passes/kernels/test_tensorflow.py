"""The fallback to TensorFlow's kernels: the same results as from TensorFlow's public functions."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import FuncRef, Op, constant
from fuseconv.passes.kernels.tensorflow import evaluate_with_tensorflow
from tests.passes.all_cases import CASES
from tests.passes.harness import BATCHES, Case

_STATELESS = [case for case in CASES if not case.stateful]


@pytest.mark.parametrize("case", _STATELESS, ids=str)
def test_equals_tensorflow(case: Case) -> None:
    expected = case.run(BATCHES[0])
    results = evaluate_with_tensorflow(case.static(BATCHES[0]), case.arrays(BATCHES[0]))
    assert results is not None
    for result, wanted in zip(results, expected):
        assert result.dtype == wanted.dtype
        np.testing.assert_array_equal(result, wanted)


def _op(kind: str, *arrays: np.ndarray, **attrs: object) -> Op:
    op = Op(kind, [constant(array) for array in arrays], dict(attrs), name="op")
    op.add_result(types.FLOAT32, None)
    return op


def test_declines_random_numbers() -> None:
    shape = np.array([3], np.int32)
    assert evaluate_with_tensorflow(_op("tf.RandomUniform", shape), [shape]) is None


def test_declines_what_tensorflow_does_not_know() -> None:
    assert evaluate_with_tensorflow(_op("tf.NoSuchOp"), []) is None
    assert evaluate_with_tensorflow(_op("tfl.ADD"), []) is None


def test_declines_functions() -> None:
    assert evaluate_with_tensorflow(_op("tf.PartitionedCall", f=FuncRef("body")), []) is None


def test_declines_what_tensorflow_refuses() -> None:
    x, y = np.ones(3, np.float32), np.ones(4, np.float32)
    assert evaluate_with_tensorflow(_op("tf.AddV2", x, y), [x, y]) is None


def test_declines_a_wrong_number_of_operands() -> None:
    x = np.ones(3, np.float32)
    assert evaluate_with_tensorflow(_op("tf.AddV2", x), [x]) is None
