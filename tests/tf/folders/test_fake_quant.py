"""Fake quantization of constants is folded, with the zero and the steps where TensorFlow has them."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.ir import types
from fuseconv.ir.graph import Op, constant
from fuseconv.tf.folders import evaluate
from tests.check_pass import check_pass


def test_a_range_is_moved_to_hold_zero() -> None:
    # 15 steps of 0.5 from -1 are up to 6.5; of the range [1, 16] zero becomes the least number.
    check_pass("canonicalize", """
    main {
      %a: float32[*] = tf.FakeQuantWithMinMaxArgs(float32[3] [-2.0, 0.3, 9.0]) {"min": -1.0, "max": 6.5, "num_bits": 4}
      %b: float32[*] = tf.FakeQuantWithMinMaxVars(float32[2] [-2, 0.6], float32[] 1, float32[] 16) {"num_bits": 4}
      return %a, %b
    }
    """, """
    main {
      return float32[3] [-1.0, 0.5, 6.5], float32[2] [0.0, 1.0]
    }
    """)  # fmt: skip


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_every_bit_is_tensorflows(bits: int, narrow: bool) -> None:
    rng = np.random.default_rng(bits)
    low, high = np.sort(rng.normal(size=(2, 60)).astype(np.float32) * 3, axis=0)
    low[::3] = -high[::3]
    low, high = np.minimum(low, high), np.maximum(low, high)
    x = rng.normal(size=(500, 60)).astype(np.float32) * 4
    op = Op("tf.FakeQuantWithMinMaxVarsPerChannel", [constant(each) for each in (x, low, high)])
    op.attrs = {"num_bits": bits, "narrow_range": narrow}
    op.add_result(types.FLOAT32, x.shape)
    wanted = tf.quantization.fake_quant_with_min_max_vars_per_channel(x, low, high, bits, narrow)
    made = evaluate(op, [x, low, high])
    assert made is not None and np.array_equal(made[0], wanted)


def test_an_empty_range_is_left_to_tensorflow() -> None:
    op = Op("tf.FakeQuantWithMinMaxVars", [constant(np.zeros(each, np.float32)) for each in ((2,), (), ())])
    op.add_result(types.FLOAT32, (2,))
    assert evaluate(op, [value.data for value in op.operands]) is None  # type: ignore[misc,union-attr]


@pytest.mark.parametrize(("given", "axis"), [(True, -1), (False, -1), (False, 0), (False, 1)])
@pytest.mark.parametrize("mode", ["HALF_TO_EVEN", "HALF_UP"])
@pytest.mark.parametrize("signed", [False, True])
def test_every_bit_of_quantize_and_dequantize(signed: bool, mode: str, given: bool, axis: int) -> None:
    rng = np.random.default_rng(axis + 2)
    x = rng.normal(size=(6, 7)).astype(np.float32) * 3
    low, high = (np.full(x.shape[axis : axis + 1 if axis >= 0 else 0], end, np.float32) for end in (-2.5, 1.3))
    attrs = {"signed_input": signed, "range_given": given, "round_mode": mode, "narrow_range": signed, "axis": axis}
    op = Op("tf.QuantizeAndDequantizeV4", [constant(each) for each in (x, low, high)], {**attrs, "num_bits": 7})
    op.add_result(types.FLOAT32, x.shape)
    made = evaluate(op, [x, low, high])
    wanted = tf.raw_ops.QuantizeAndDequantizeV4(input=x, input_min=low, input_max=high, num_bits=7, **attrs)
    assert made is not None
    np.testing.assert_array_equal(made[0], wanted)
