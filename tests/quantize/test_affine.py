"""Numbers of symmetric weights."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import Quantization, constant
from fuseconv.quantize.affine import (
    Range,
    constant_range,
    parameters,
    quantized,
    quantized_weights,
    symmetric_scales,
)  # fmt: skip


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


@pytest.mark.parametrize(("dtype", "values", "scale", "zero_point"), [
    (types.INT8, Range(0.5, 2.0), 2 / 255, -128),
    (types.INT8, Range(-2.0, -0.5), 2 / 255, 127),
    (types.INT8, Range(0.0, 0.0), 2 / 255, -1),
    (types.INT8, Range(0.0, 1e-44), 2 / 255, -1),
    (types.INT16, Range(-0.5, 2.0), 4 / 32767, 0),
    (types.INT16, Range(-0.5, 2.0, fixed=True), 2 / 32767, 0),
    (types.INT16, Range(0.0, 0.0), 1 / 32767, 0),
])  # fmt: skip
def test_parameters_hold_zero_exactly(dtype: types.DType, values: Range, scale: float, zero_point: int) -> None:
    how = parameters(values, dtype)
    np.testing.assert_allclose(how.scale, [scale], rtol=1e-6)
    assert how.zero_point == (zero_point,)


def test_ranges_are_joined() -> None:
    one, other = Range(-1.0, 2.0), Range(-3.0, 1.0)
    assert one | other == other | one == Range(-3.0, 2.0) and one in Range(-1.0, 2.0) and one not in other
    fixed = Range(0.0, 1.0, fixed=True)
    assert fixed | one == one | fixed == fixed


def test_constants_on_steps_of_int8_stay_as_they_are() -> None:
    array = np.array([-0.75, 0.0, 2.25, 1.5], np.float32)
    values = constant_range(array)
    assert values.fixed and array.min() >= values.least and array.max() <= values.largest
    how = parameters(values)
    made = quantized(constant(array), how)
    assert made.dtype is types.INT8 and made.data is not None and made.quantization is how
    np.testing.assert_allclose((made.data - np.float64(how.zero_point[0])) * how.scale[0], array, rtol=1e-6)
    assert constant_range(off := np.array([0.1, 0.7123, 3.0], np.float32)) == Range.of(off)
    assert constant_range(array, types.INT16) == Range(-0.75, 2.25)


def test_what_is_out_of_range_is_cut_off() -> None:
    how = parameters(Range(-1.0, 1.0))
    assert quantized(constant(np.array([-9.0, 0.0, 9.0], np.float32)), how).data.tolist() == [-128, -1, 127]  # type: ignore[union-attr]


@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (700, 50), (2, 40_000), (40_000, 1)])
def test_large_constants_are_stored_a_part_at_a_time(shape: tuple[int, ...]) -> None:
    array = np.asarray(np.random.default_rng(0).uniform(-1.2, 1, shape[::-1]), np.float32).T
    made = quantized(constant(array), Quantization((1 / 127,), (3,)))
    wanted = np.clip(np.rint(array / np.float64(1 / 127)) + 3, -128, 127)
    assert made.data is not None and made.data.dtype == np.int8 and made.shape == shape
    assert (made.data == wanted).all()


def test_ranges_that_integers_cannot_hold() -> None:
    assert Range.of(np.zeros((0, 2), np.float32)) == Range(0.0, 0.0) and Range(-2.0, 1.0).is_usual
    for least, largest in ((-np.inf, 0.0), (0.0, np.inf), (np.nan, 0.0), (-1e38, 0.0)):
        assert not Range(least, largest).is_usual
