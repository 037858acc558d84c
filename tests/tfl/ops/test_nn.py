"""Results of layers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import Value
from fuseconv.ir.types import FLOAT32
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.type_inference import ShapeError

N = symbol("n")
ONCE = {"stride_h": 1, "stride_w": 1}


def value(*shape: object) -> Value:
    return Value(FLOAT32, shape)  # type: ignore[arg-type]


IMAGE = value(1, 7, 8, 6)


def test_shapes() -> None:
    tfl = Builder([])
    assert tfl.fully_connected(value(N, 5), value(3, 5), value(3)).shape == (N, 3)
    assert tfl.fully_connected(value(N, 7, 5), value(3, 5), None, keep_num_dims=True).shape == (N, 7, 3)
    image, window = value(N, 7, 8, 2), {"padding": "SAME", "stride_h": 2, "stride_w": 2}
    assert tfl.conv_2d(image, value(4, 3, 3, 2), value(4), **window).shape == (N, 4, 4, 4)
    assert tfl.max_pool_2d(image, **window, filter_height=2, filter_width=2).shape == (N, 4, 4, 2)
    assert tfl.batch_matmul(value(N, 4, 5), value(5, 3)).shape == (N, 4, 3)


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (lambda tfl: tfl.fully_connected(value(N, 5), value(3, 4), None, keep_num_dims=True), "dimensions 5 and 4"),
        (lambda tfl: tfl.batch_matmul(value(N, 4, 5), value(4, 3)), "dimensions 5 and 4"),
        (lambda tfl: tfl.batch_matmul(value(4, 5), value(5, 3), adj_x=True), "dimensions 4 and 5"),
        (lambda tfl: tfl.conv_2d(value(1, 7, 8, 5), value(4, 3, 3, 2), value(4)), "5 channels are no groups of 2"),
        (lambda tfl: tfl.conv_2d(value(1, 7, 8, 6), value(4, 3, 3, 2), value(4)), "4 elements in 3 equal parts"),
        (lambda tfl: tfl.conv_2d(IMAGE, value(4, 3, 3, 6), value(3), **ONCE), "dimensions 4 and 3"),
        (lambda tfl: tfl.conv_2d(IMAGE, value(4, 3, 3, 6), value(4), stride_h=-1, stride_w=1), "a stride .* of -1"),
        (lambda tfl: tfl.conv_2d(IMAGE, value(4, 3, 6), value(4), **ONCE), "its operand 1 has 3 dimensions"),
        (lambda tfl: tfl.depthwise_conv_2d(IMAGE, value(2, 3, 3, 6), None, **ONCE), "dimensions 2 and 1"),
        (lambda tfl: tfl.depthwise_conv_2d(IMAGE, value(1, 3, 3, 9), None, **ONCE), "9 elements in 6 equal parts"),
        (lambda tfl: tfl.transpose_conv([1, 7, 8, 4], value(4, 3, 3, 5), IMAGE, **ONCE), "dimensions 5 and 6"),
        (lambda tfl: tfl.transpose_conv([1, 7, 9, 4], value(4, 3, 3, 6), IMAGE, **ONCE), "dimensions 9 and 8"),
        (lambda tfl: tfl.transpose_conv([1, 7, 8], value(4, 3, 3, 6), IMAGE, **ONCE), "dimensions 5 and 3|.* 4 and 3"),
        (lambda tfl: tfl.conv_3d(value(1, 7, 8, 9, 5), value(3, 3, 3, 2, 4), **ONCE), "dimensions 5 and 2"),
        (lambda tfl: tfl.max_pool_2d(IMAGE, stride_h=1, stride_w=0, filter_height=1), "a stride .* of 0"),
        (lambda tfl: tfl.fully_connected(value(N, 5), value(3, 5), value(5)), "dimensions 3 and 5"),
        (lambda tfl: tfl.local_response_normalization(value(N, 5)), "its operand 0 has 2 dimensions"),
        (lambda tfl: tfl.resize_bilinear(IMAGE, [4, 0]), "a height or width of 0"),
        (lambda tfl: tfl.resize_bilinear(IMAGE, [4, 4, 4]), "dimensions 2 and 3"),
        (lambda tfl: tfl.rfft2d(value(N, 4, 6), [4, 6]), "a length of 6"),
        (lambda tfl: tfl.hashtable_lookup([1], [1, 2], value(3, 4)), "dimensions 2 and 3"),
        (lambda tfl: tfl.embedding_lookup_sparse([1, 2], [[0, 0]], [3, 3], value(2), IMAGE), "dimensions 2 and 1"),
    ],
)
def test_operands_that_do_not_fit_together(build: Callable[[Builder], object], why: str) -> None:
    """As LiteRT would say when it loads the file."""
    with pytest.raises(ShapeError, match=why):
        build(Builder([]))
