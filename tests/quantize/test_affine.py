"""Numbers of symmetric weights."""

from __future__ import annotations

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import constant
from fuseconv.quantize.affine import Range, parameters, quantized_weights, symmetric_scales


def test_each_channel_has_a_scale() -> None:
    made = quantized_weights(constant(np.array([[1.27, -0.5], [0.0, 0.0], [-254, 3]], np.float32)), 0)
    assert made is not None and made.data is not None and made.quantization is not None
    assert made.dtype is types.INT8 and made.data.tolist() == [[127, -50], [0, 0], [-127, 2]]
    np.testing.assert_allclose(made.quantization.scale, [0.01, 0.01, 2.0], rtol=1e-6)
    assert made.quantization.zero_point == (0, 0, 0) and made.quantization.axis == 0


def test_one_scale_for_all() -> None:
    made = quantized_weights(constant(np.array([[1.27, -0.5], [0.0, 0.02]], np.float32)), None)
    assert made is not None and made.data is not None and made.data.tolist() == [[127, -50], [0, 2]]


def test_numbers_without_a_scale() -> None:
    for number in (np.nan, np.inf, 1e-40):
        assert symmetric_scales(np.array([1.0, number], np.float32), 0) is None
    zeros = symmetric_scales(np.zeros(3, np.float32), None)
    assert zeros is not None and zeros.tolist() == [np.float32(1 / 127)]


def test_int16_has_room_for_twice_what_was_measured() -> None:
    how = parameters(Range(-3.0, 1.0), types.INT16)
    assert how.zero_point == (0,)
    np.testing.assert_allclose(how.scale, [2 * 3 / 32767])
    how = parameters(Range(-3.0, 1.0))
    assert how.zero_point == (63,)
    np.testing.assert_allclose(how.scale, [4 / 255], rtol=1e-6)
