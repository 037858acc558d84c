"""Constants that fusions merge."""

import warnings

import numpy as np
import pytest

from fuseconv.fusions.constant_operands import (
    broadcast_constant,
    finite_array,
    per_channel,
    reciprocal,
    scaled,
    scaled_weights,
    summed,
    trailing_dims,
)
from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import constant
from fuseconv.ir.product import Product

N = symbol("n")


def f(*values):
    return np.array(values, np.float32)


@pytest.mark.parametrize(
    "shape, of, expected",
    [
        ((6,), (N, 4, 6), range(6)),
        ((1, 6), (N, 4, 6), range(6)),
        ((2, 3), (N, 4, 2, 3), range(6)),
        ((2, 1), (N, 4, 2, 3), [0, 0, 0, 1, 1, 1]),
        ((3,), (N, 4, 2, 3), [0, 1, 2, 0, 1, 2]),
        ((1, 1), (N, 6), [0] * 6),
        ((), (N, 6), [0] * 6),
        ((4, 1), (N, 4, 6), None),
        ((4, 6), (N, 4, 6), None),
        ((1, 1, 6), (N, 6), None),
        ((1, 1, 1), (N, 6), None),
        ((6,), (N, N), None),
        ((6,), None, None),
        ((), None, None),
    ],
)
def test_per_channel(shape, of, expected):
    vector = per_channel(np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape), of, 6)
    assert (None if vector is None else vector.tolist()) == (None if expected is None else list(expected))


def test_one_channel_does_not_take_several_numbers():
    assert per_channel(f(1, 2, 3, 4), (N, 1), 1) is None
    assert per_channel(f(1), (N, 1), 1).tolist() == [1]


def test_trailing_dims():
    assert trailing_dims((N, 4, 2, 3), 6) == (2, 3)
    assert trailing_dims((N, 4, 2, 3), 4) is None
    assert trailing_dims((N,), 4) is None


def test_stretched_to():
    assert broadcast_constant(f(1, 2), (3, 2)).tolist() == [[1, 2]] * 3
    assert broadcast_constant(np.ones((1, 1, 2)), (2,)).tolist() == [1, 1]
    assert broadcast_constant(np.ones((3, 2)), (1, 2)) is None
    assert broadcast_constant(np.ones((3, 2)), (2,)) is None


def test_numbers_are_finite_floats():
    assert finite_array(constant(f(1, 2))).tolist() == [1, 2]
    assert finite_array(constant(np.array([1, 2]))) is None
    assert finite_array(constant(f(1, np.nan))) is None
    assert finite_array(None) is None


def test_products_neither_overflow_nor_lose_digits():
    weights = f(1e-39, 0.5, 100)
    assert scaled(weights, f(2)).tolist() == (weights * 2).tolist()
    assert scaled(weights, f(0, 1, 1)).tolist() == [0, 0.5, 100]
    assert scaled(weights, f(1e-20)) is None
    assert scaled(weights, f(1e20)) is None
    assert scaled(f(1e20), f(1e14)) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert scaled(f(np.inf), f(0)) is None


def test_products_with_weights_are_left_for_later():
    product = scaled_weights(constant(f(1e-39, 0.5, 100)), f(2))
    assert isinstance(product, Product) and product.largest == 200
    again = scaled_weights(product, f(1, 0, -3))
    assert isinstance(again, Product) and again.largest == 600
    assert again.data.tolist() == (f(1e-39, 0.5, 100) * f(2) * f(1, 0, -3)).tolist()
    # The bound is too wide, the product is not.
    assert scaled_weights(constant(f(1e20, 1)), f(1, 1e14)).data.tolist() == f(1e20, 1e14).tolist()
    assert scaled_weights(constant(f(1e20)), f(1e14)) is None
    assert scaled_weights(constant(f(1)), f(1e-20)) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert scaled_weights(constant(f(np.inf)), f(0)) is None
        assert scaled_weights(constant(f(np.nan)), f(1)) is None


def test_reciprocals():
    assert reciprocal(f(4, -2)).tolist() == [0.25, -0.5]
    assert reciprocal(f(4, 0)) is None
    assert reciprocal(f(1e-30)) is None and reciprocal(f(1e30)) is None


def test_sums_that_round_on_purpose():
    assert summed(f(1.5), f(-1.5)).tolist() == [0]
    assert summed(f(12582912), f(-12582912)) is None
    assert summed(f(3e38), f(3e38)) is None


@pytest.mark.parametrize("length", [8, 5000])
def test_arrays_of_any_length_are_held_to_the_same_bounds(length):
    ones = np.ones(length, np.float32)
    for number in (np.nan, np.inf, -np.inf, 1e31, -1e31):
        other = ones.copy()
        other[3] = number
        assert summed(other, ones) is None and scaled(ones, other) is None
        assert scaled_weights(constant(ones), other) is None
        assert (finite_array(constant(other)) is None) == (not np.isfinite(number))
    other = ones.copy()
    other[3], other[4] = 0, -2
    assert summed(ones, -other).tolist() == (1 - other).tolist()
    assert scaled(ones, other).tolist() == other.tolist()
    assert scaled(ones, np.zeros(length, np.float32)).tolist() == [0] * length
    other[5] = 1e-16
    assert scaled(ones, other) is None
