"""Readers of a loop's outputs that its fused op serves by another result."""

from __future__ import annotations

import numpy as np

from fuseconv.ir.graph import Op, Value, constant
from fuseconv.ir.types import FLOAT32
from fuseconv.transforms.rnn.outline import _is_swap


def test_a_transpose_that_swaps_time_and_batch() -> None:
    x = Value(FLOAT32, (5, 2, 3), "x")
    swap, other = (Op("tf.Transpose", [x, constant(np.array(perm, np.int32))]) for perm in ([1, 0, 2], [0, 2, 1]))
    assert _is_swap(swap) and not _is_swap(other) and not _is_swap(Op("tf.Neg", [x]))
