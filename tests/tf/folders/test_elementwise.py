"""Constants of element-wise ops are folded."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import Op, constant
from fuseconv.tf.folders import evaluate
from tests.check_pass import check_pass

_BEYOND = [-np.inf, np.inf, np.nan, 3e9, -3e9, 1e20, 2.0**31, -(2.0**31), 9.3e18, 2.5, -2.5, 0.99]


def test_arithmetic_of_constants() -> None:
    check_pass("canonicalize", """
    main {
      %a: int32[*] = tf.FloorDiv(int32[2] [7, -7], int32[] 2)
      %b: int32[*] = tf.FloorMod(int32[2] [7, -7], int32[] 2)
      %c: float32[*] = tf.Maximum(float32[2] [1.0, 2.0], float32[] 1.5)
      %d: bool[*] = tf.LogicalNot(bool[2] [True, False])
      %e: int32[*] = tf.Cast(float32[2] [1.5, -1.5])
      return %a, %b, %c, %d, %e
    }
    """, """
    main {
      return int32[2] [3, -4], int32[2] [1, 1], float32[2] [1.5, 2.0], bool[2] [False, True], int32[2] [1, -1]
    }
    """)


def _cast(array: np.ndarray, dtype: types.DType) -> list[np.ndarray] | None:
    op = Op("tf.Cast", [constant(array)], {}, "cast")
    op.add_result(dtype, array.shape)
    return evaluate(op, [array])


@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("dtype", [types.INT32, types.INT64], ids=str)
@pytest.mark.parametrize("count", [1, 12, 101])
def test_numbers_beyond_an_integer_become_what_tensorflow_makes_of_them(tf, source, dtype, count) -> None:
    x = tf.cast(np.resize(np.array(_BEYOND), count), source)
    made = _cast(x.numpy(), dtype)
    assert made is not None, "T5's buckets, log(0) among them, need no TensorFlow"
    np.testing.assert_array_equal(made[0], tf.cast(x, dtype.tf).numpy())


def test_numbers_beyond_a_small_integer_are_left_to_tensorflow() -> None:
    for dtype in (types.INT8, types.UINT8, types.INT16, types.UINT32):
        assert _cast(np.array([1.0, -np.inf], np.float32), dtype) is None
        assert _cast(np.array([1.9, 3.0], np.float32), dtype) is not None


@pytest.mark.parametrize("kind", ["Exp", "Log", "Sin", "Cos", "Tanh", "Sigmoid", "Softplus"])
def test_functions_are_rounded_once(kind: str) -> None:
    x = np.random.default_rng(0).uniform(0.1, 9, 1000).astype(np.float32)
    values = []
    for array in (x, x.astype(np.float64)):
        op = Op(f"tf.{kind}", [constant(array)])
        op.add_result(types.of_array(array), array.shape)
        (made,) = evaluate(op, [array]) or []
        values.append(made)
    assert values[0].dtype == np.float32
    np.testing.assert_array_equal(values[0], values[1].astype(np.float32))


def test_powers_are_rounded_once() -> None:
    x = np.random.default_rng(0).uniform(0.1, 9, 1000).astype(np.float32)
    op = Op("tf.Pow", [constant(x), constant(np.float32(1.7))])
    op.add_result(types.FLOAT32, x.shape)
    (made,) = evaluate(op, [x, np.array(1.7, np.float32)]) or []
    wanted = np.power(x.astype(np.float64), np.float64(np.float32(1.7))).astype(np.float32)
    np.testing.assert_array_equal(made, wanted)
