"""Constants that are multiplied when their elements are wanted."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir.graph import constant
from fuseconv.ir.product import Product

RNG = np.random.default_rng(0)
KERNEL = RNG.normal(size=(3, 5, 4, 6)).astype(np.float32).transpose(3, 0, 1, 2)


def factors(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("shape", [(6, 1, 1, 1), (1, 1, 1, 4), (4,), (1,), (6, 3, 5, 4)])
def test_elements_and_rows(shape: tuple[int, ...]):
    by = factors(*shape)
    product = Product(constant(KERNEL, name="kernel"), by, 9.0)
    assert product.is_const and product.shape == KERNEL.shape and product.name == "kernel"
    expected = KERNEL * by
    np.testing.assert_array_equal(product.first(100), expected.reshape(-1)[:100])
    np.testing.assert_array_equal(product.multiplied(KERNEL[2:5].copy(), slice(2, 5)), expected[2:5])
    np.testing.assert_array_equal(product.data, expected)
    assert product.data is product.data, "it is multiplied once"
    np.testing.assert_array_equal(KERNEL * by, expected, "what it is made from stays as it is")


def test_a_product_of_a_product_has_no_copy_of_either():
    first = Product(constant(KERNEL), factors(4), 9.0)
    second = Product(first, factors(6, 1, 1, 1), 9.0)
    assert second.base is KERNEL and len(second.factors) == 2
    # Rounded in the same order.
    np.testing.assert_array_equal(second.data, first.data * second.factors[1])
    np.testing.assert_array_equal(second.first(7), second.data.reshape(-1)[:7])
