"""StridedSlice with every mask, against TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from fuseconv.ir import types
from fuseconv.ir.dims import Dim, Sym, substitute_dim, symbol
from fuseconv.ir.graph import Op, Value, constant
from fuseconv.ir.slice_spec import Take
from fuseconv.tf import shape_functions
from fuseconv.tf.folders import evaluate
from fuseconv.tf.shape_functions.slicing import length

_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


@st.composite
def _slices(draw: Any) -> tuple[tuple[int, ...], list[np.ndarray], dict[str, int]]:
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    count = draw(st.integers(1, len(shape) + 1))
    bounds = st.lists(st.integers(-6, 6), min_size=count, max_size=count)
    strides = st.lists(st.sampled_from([1, 1, 1, 2, -1, -2]), min_size=count, max_size=count)
    masks = {name: draw(st.integers(0, (1 << count) - 1)) for name in _MASKS}
    # At most one ellipsis is allowed.
    masks["ellipsis_mask"] = draw(st.sampled_from([0, *(1 << k for k in range(count))]))
    operands = [np.array(draw(each), np.int32) for each in (bounds, bounds, strides)]
    return shape, operands, masks


def _op(x: Value, operands: list[np.ndarray], masks: dict[str, int]) -> Op:
    op = Op("tf.StridedSlice", [x, *map(constant, operands)], dict(masks), name="slice")
    op.add_result(types.INT32, None)
    return op


@settings(max_examples=400)
@given(_slices())
def test_equals_tensorflow(case: tuple[tuple[int, ...], list[np.ndarray], dict[str, int]]) -> None:
    shape, operands, masks = case
    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    op = _op(constant(x), operands, masks)
    results = evaluate(op, [x, *operands])
    try:
        wanted = tf.raw_ops.StridedSlice(input=x, begin=operands[0], end=operands[1], strides=operands[2], **masks)
    except tf.errors.InvalidArgumentError:
        assert results is None
        return
    assert results is not None
    np.testing.assert_array_equal(results[0], wanted.numpy())
    assert shape_functions.infer(op) == [tuple(wanted.shape)]
    # With unknown sizes, what is claimed must hold for these.
    names = [f"d{k}" for k in range(len(shape))]
    (inferred,) = shape_functions.infer(_op(Value(types.INT32, tuple(map(symbol, names))), operands, masks)) or [None]
    assert inferred is not None
    assert len(inferred) == len(wanted.shape)
    for dim, size in zip(inferred, wanted.shape):
        here = substitute_dim(dim, dict(zip(names, shape)))
        assert here == size or _fresh(here)


def _fresh(dim: Dim) -> bool:
    return isinstance(dim, Sym) and all(name.startswith("?") for name in dim.symbols())


def test_lengths() -> None:
    n = symbol("n")
    assert length(n, Take(None, None, 1)) == n
    assert length(n, Take(0, n, 1)) == n
    assert length(n, Take(None, None, -1)) == n
    assert length(2 * n, Take(n, None, 1)) == n
    assert length(7, Take(1, -1, 2)) == 3
    assert length(n * 4, Take(None, None, 2)) == 2 * n
    # An unknown size may be smaller than the bound.
    assert _fresh(length(n, Take(1, None, 1)))
    assert _fresh(length(n, Take(0, 3, 1)))
    assert _fresh(length(n, Take(0, n, n)))
