"""What it takes to compute an op, before it is computed."""

from __future__ import annotations

import numpy as np

from fuseconv.ir.graph import Op
from fuseconv.tf.folders.cost import numpy_cost, tensorflow_cost


def test_products_take_more_than_their_bytes() -> None:
    a, b = np.zeros((100, 200), np.float32), np.zeros((200, 50), np.float32)
    read, made = a.nbytes + b.nbytes, 100 * 50 * 4
    assert numpy_cost(Op("tf.AddV2"), [a, b], made) == read + made
    products = numpy_cost(Op("tf.MatMul"), [a, b], made) - read - made
    assert products == 100 * 200 * 50 * 2 / 8
    assert numpy_cost(Op("tf.Einsum"), [a, b], made) > read + made


def test_texts_may_grow_with_their_square() -> None:
    text = np.array([b"a" * 100], object)
    assert tensorflow_cost(Op("tf.RegexReplace", [], {"rewrite": "b" * 50}), [text], 0) >= 150**2
    assert tensorflow_cost(Op("tf.Cholesky"), [np.zeros((100, 100))], 0) == 10_000**1.5 / 8
