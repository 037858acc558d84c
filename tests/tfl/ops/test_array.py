"""Results of ops that move elements."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import Value
from fuseconv.ir.types import FLOAT32, INT32, INT64
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.type_inference import ShapeError

N = symbol("n")
X = Value(FLOAT32, (N, 2, 3), "x")
NONE = [[0, 0]] * 3


def test_shapes() -> None:
    tfl = Builder([])
    assert tfl.pack(X, X, axis=1).shape == (N, 2, 2, 3)
    assert tfl.concatenation(X, X, axis=0).shape == (2 * N, 2, 3)
    assert [part.shape for part in tfl.split(tfl.const(2, INT32), X, num_splits=3)] == [(N, 2, 1)] * 3
    assert tfl.pad(X, [[0, 0], [1, 0], [0, 2]]).shape == (N, 3, 5)
    assert tfl.shape_(X, out_type="INT64").dtype is INT64


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (lambda tfl: tfl.reshape(Value(FLOAT32, (2, 3)), [2, 4]), "RESHAPE: dimensions 6 and 8"),
        (lambda tfl: tfl.reshape(Value(FLOAT32, (2, 3)), [4, -1]), "RESHAPE: dimensions 6 and 4"),
        (lambda tfl: tfl.reshape(X, np.array([[2, 3]], np.int32)), "RESHAPE: its operand 1 has 2 dimensions"),
        (lambda tfl: tfl.transpose(X, [0, 1]), "TRANSPOSE: dimensions 3 and 2"),
        (lambda tfl: tfl.transpose(X, [0, 2, -1]), r"TRANSPOSE: \[0, 2, -1\] is no order of 3 dimensions"),
        (lambda tfl: tfl.concatenation(X, Value(FLOAT32, (N, 3, 3)), axis=2), "CONCATENATION: dimensions 2 and 3"),
        (lambda tfl: tfl.pack(X, Value(FLOAT32, (N, 2, 4))), "PACK: dimensions 3 and 4"),
        (lambda tfl: tfl.unpack(X, num=3, axis=1), "UNPACK: dimensions 2 and 3"),
        (lambda tfl: tfl.unpack(Value(FLOAT32, (2, 0)), axis=1), "UNPACK: an operand has no elements"),
        (lambda tfl: tfl.split([2, 2], X, num_splits=3), "SPLIT: its operand 0 is to be one element"),
        (lambda tfl: tfl.split(2, X, num_splits=2), "SPLIT: 3 elements in 2 equal parts"),
        (lambda tfl: tfl.split(2, X, num_splits=-1), "SPLIT: a number of parts of -1"),
        (lambda tfl: tfl.split_v(X, [1, 1], 2), "SPLIT_V: dimensions 1 and 0"),
        (lambda tfl: tfl.split_v(X, [-1, 2, -1], 2), "SPLIT_V: dimensions 1 and 0"),
        (lambda tfl: tfl.split_v(X, [-1, 4], 2), "SPLIT_V: a dimension of -1 elements"),
        (lambda tfl: tfl.pad(X, [[0, 0], [0, 1]]), "PAD: dimensions 2 and 3"),
        (lambda tfl: tfl.pad(X, [[0, 0], [0, 1], [0, -1]]), "PAD: a padding of -1"),
        (lambda tfl: tfl.padv2(X, NONE, Value(FLOAT32, (2,))), "PADV2: its operand 2 is to be one element"),
        (lambda tfl: tfl.mirror_pad(X, [[0, 0], [0, 2], [0, 0]]), "MIRROR_PAD: a padding of 2, and there are 1"),
        (lambda tfl: tfl.tile(X, [1, 1, -1]), "TILE: a dimension of -3 elements"),
        (lambda tfl: tfl.tile(X, [1, 1 << 16, 1 << 14]), "TILE: TFLite counts in 32 bits"),
        (lambda tfl: tfl.broadcast_to(X, [3, 3]), "BROADCAST_TO: dimensions 2 and 3"),
        (lambda tfl: tfl.broadcast_to(X, [3]), "BROADCAST_TO: "),
        (lambda tfl: tfl.range_(Value(INT32, (1,)), 3, 1), "RANGE: its operand 0 has 1 dimensions"),
        (lambda tfl: tfl.fill([2], Value(INT32, (1,))), "FILL: its operand 1 has 1 dimensions"),
        (lambda tfl: tfl.expand_dims(X, [0, 1]), "EXPAND_DIMS: its operand 1 is to be one element"),
        (lambda tfl: tfl.squeeze(X, squeeze_dims=(1,)), "SQUEEZE: dimensions 1 and 2"),
        (lambda tfl: tfl.reverse_v2(X, [0, 1, 2, 0]), "REVERSE_V2: a number of axes of 4, and there are 3"),
        (lambda tfl: tfl.space_to_batch_nd(X, [2, 1], [[0, 0]]), "SPACE_TO_BATCH_ND: 2 blocks with 2 margins in 3"),
        (lambda tfl: tfl.space_to_batch_nd(X, [3], [[0, 0]]), "SPACE_TO_BATCH_ND: 2 elements in 3 equal parts"),
        (lambda tfl: tfl.batch_to_space_nd(X, [0], [[0, 0]]), "BATCH_TO_SPACE_ND: a block of 0"),
        (lambda tfl: tfl.batch_to_space_nd(X, [2], [[0, -1]]), "BATCH_TO_SPACE_ND: a margin of -1"),
        (lambda tfl: tfl.space_to_depth(Value(FLOAT32, (1, 4, 6, 3)), block_size=4), "SPACE_TO_DEPTH: 6 elements in 4"),
        (lambda tfl: tfl.depth_to_space(Value(FLOAT32, (1, 4, 6, 3)), block_size=-1), "DEPTH_TO_SPACE: a block of -1"),
        (lambda tfl: tfl.matrix_set_diag(Value(FLOAT32, (3,)), X), "MATRIX_SET_DIAG: its operand 0 has 1 dimensions"),
    ],
)
def test_operands_that_do_not_fit_together(build: Callable[[Builder], object], why: str) -> None:
    """As LiteRT would say when it loads the file."""
    with pytest.raises(ShapeError, match=f"^{why}"):
        build(Builder([]))


def test_what_is_not_known_may_fit() -> None:
    tfl = Builder([])
    assert tfl.reshape(X, [2, 3]).shape == (2, 3)
    assert tfl.transpose(X, Value(INT32, None)).shape is not None
    assert tfl.squeeze(X, squeeze_dims=(0,)).shape == (2, 3)
    assert tfl.space_to_batch_nd(X, [2], Value(INT32, (1, 2))).shape is not None
    assert [part.shape for part in tfl.split_v(X, [1, -1], 2)] == [(N, 2, 1), (N, 2, 2)]
