"""Result types over unknown sizes."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.dims import Shape, Sym, floordiv, symbol
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.type_inference import ShapeError, axis_of, broadcast, content, merge

B, N = symbol("b"), symbol("n")


def x(*shape: int | Sym, dtype: types.DType = types.FLOAT32) -> Value:
    return Value(dtype, shape, "x")


@pytest.mark.parametrize(
    ("shapes", "result"),
    [
        (((B, 3), (3,)), (B, 3)),
        (((B, 1), (B, 5)), (B, 5)),
        (((1,), (B,)), (B,)),
        (((B,), (5,)), (5,)),
        (((), (B, 2)), (B, 2)),
        (((2, 1, B), (N, 1), (1,)), (2, N, B)),
        ((None, (2,)), None),
    ],
)
def test_broadcast(shapes: tuple[Shape | None, ...], result: Shape | None):
    assert broadcast(*shapes) == result


def test_two_unknown_sizes_broadcast_to_a_third():
    (dim,) = broadcast((B,), (N,)) or ()
    assert isinstance(dim, Sym) and dim not in (B, N)
    with pytest.raises(ValueError, match="3 and 4"):
        broadcast((3,), (4,))


def test_axes_and_sizes_that_must_agree():
    assert axis_of(-1, 3) == 2
    with pytest.raises(ValueError, match="axis 3 of a tensor of 3"):
        axis_of(3, 3)
    assert merge([B, 4, B]) == 4 and merge([B, B]) == B


def test_shapes_of_common_ops():
    tfl = Builder([], "op")
    image = x(B, N, 8, 3)
    w, b = np.zeros((4, 3, 3, 3), np.float32), np.zeros(4, np.float32)
    valid = {"stride_h": 2, "stride_w": 2, "padding": "VALID"}
    assert tfl.conv_2d(image, w, b, **valid).shape == (B, floordiv(N - 1, 2), 3, 4)
    assert tfl.conv_2d(image, w, b, stride_h=1, stride_w=1).shape == (B, N, 8, 4)
    assert tfl.reshape(x(B, 7, 7, 4), [-1, 196]).shape == (B, 196)
    assert tfl.reshape(x(B, N, 6), [-1, 2, 3]).shape == (B * N, 2, 3)
    assert tfl.fully_connected(x(B, 7, 4), np.zeros((5, 4), np.float32)).shape == (B * 7, 5)
    assert tfl.concatenation(x(B, 2), x(3, 2), x(N, 2)).shape == (B + N + 3, 2)
    none = np.zeros((2, 2), np.int32)
    assert tfl.pad(x(B, N), none + 1).shape == (B + 2, N + 2)
    assert tfl.space_to_batch_nd(x(B, N, 4, 1), [2, 2], none).shape == (B * 4, floordiv(N, 2), 2, 1)
    assert tfl.tile(x(B, 2), [2, 3]).shape == (B * 2, 6)
    assert tfl.squeeze(x(B, 1)).shape is None
    parts = tfl.split_v(x(B, 6), [1, -1, 2], np.int32(1))
    assert [part.shape for part in parts] == [(B, 1), (B, 3), (B, 2)]


@pytest.mark.parametrize(
    ("bounds", "result"),
    [
        (((0,), (0,), (1,), {"begin_mask": 1, "end_mask": 1}), B),
        (((2,), (0,), (1,), {"end_mask": 1}), B - 2),
        (((-1,), (0,), (1,), {"end_mask": 1}), 1),
        (((0,), (-1,), (1,), {}), B - 1),
        (((1,), (0,), (2,), {"end_mask": 1}), floordiv(B, 2)),
        (((0,), (0,), (-1,), {"begin_mask": 1, "end_mask": 1}), B),
        (((-1,), (-3,), (1,), {}), 0),
    ],
)
def test_slices_of_unknown_sizes(bounds: tuple, result: int | Sym):
    begin, end, strides, masks = bounds
    assert Builder([], "op").strided_slice(x(B), begin, end, strides, **masks).shape == (result,)


@pytest.mark.parametrize(("begin", "end"), [(0, 5), (-3, -1)])
def test_a_bound_that_may_lie_beyond_an_end_gives_an_unknown_size(begin: int, end: int):
    """x[:5] has five elements only if x has, and x[-3:-1] two only if x has three."""
    (dim,) = Builder([], "op").strided_slice(x(B), [begin], [end], [1]).shape
    assert isinstance(dim, Sym) and any(name.startswith("?") for name in dim.symbols())


def test_a_shape_that_is_taken_apart_and_put_together_is_known():
    ops: list = []
    tfl = Builder(ops, "op")
    image = x(B, N, 8, 3)
    shape = tfl.shape(image)
    assert content(shape) == [B, N, 8, 3]
    batch = tfl.strided_slice(shape, [0], [1], [1], shrink_axis_mask=1)
    rows = tfl.strided_slice(shape, [1], [2], [1])
    assert content(tfl.reshape(rows, np.zeros(0, np.int32))) == [N]
    assert content(tfl.mul(rows, [8])) == [N * 8]
    row = tfl.gather(tfl.shape(x(B, N)), np.int32(1))
    assert content(row) == [N]
    assert content(tfl.add(row, np.int32(2))) == [N + 2]
    assert content(tfl.pack(batch, np.int32(5))) == [B, 5]
    target = tfl.concatenation(tfl.expand_dims(batch, np.int32(0)), tfl.mul(rows, [8]), [3])
    assert tfl.reshape(image, target).shape == (B, N * 8, 3)
    assert tfl.fill(target, np.float32(0)).shape == (B, N * 8, 3)
    # What does not depend on an unknown size is a constant.
    depth = tfl.gather(shape, [3])
    assert depth.is_const and depth.data.tolist() == [3]
    wide = tfl.shape(x(2, 3), out_type="INT64")
    assert wide.is_const and wide.data.dtype == np.int64


def test_unknown_elements_stay_unknown():
    tfl = Builder([], "op")
    at = x(1, dtype=types.INT32)
    assert content(tfl.gather(tfl.shape(x(B, 2)), at)) is None
    assert tfl.concatenation(tfl.shape(x(B)), at).content is None
    assert len(tfl.reshape(x(B, 2), tfl.concatenation(at, at)).shape) == 2


def test_a_negative_size_is_none_that_is_unknown() -> None:
    tfl, sizes = Builder([]), np.array([4, -1, 2], np.int32)
    for build in (lambda: tfl.broadcast_to(x(2), sizes), lambda: tfl.fill(sizes, np.float32(1))):
        with pytest.raises(ShapeError, match="a dimension of -1 elements"):
            build()
    assert tfl.reshape(x(8), sizes).shape == (4, 1, 2)
