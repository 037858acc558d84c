"""Cases of ops on ragged tensors."""

from __future__ import annotations

import numpy as np

from tests.tf.cases import f, i, n, row, s

_SPLITS = np.array([0, 2, 2, 5], np.int64)
_UNKNOWN = np.array(-1, np.int64)

row("RaggedTensorToTensor", lambda b: [_UNKNOWN, f(5, b), np.float32(0), [_SPLITS]], fresh=True,
    row_partition_types=["ROW_SPLITS"])  # fmt: skip
row("RaggedTensorToTensor", lambda b: [i(2, 4, -1), f(5, b), np.float32(0), [_SPLITS]], name="given",
    row_partition_types=["ROW_SPLITS"])  # fmt: skip
row("RaggedTensorToTensor", lambda b: [_UNKNOWN, f(2, b), np.float32(0), [s(3, np.int64), i(0, 2).astype(np.int64)]],
    name="ids", fresh=True, row_partition_types=["FIRST_DIM_SIZE", "VALUE_ROWIDS"])  # fmt: skip
row("RaggedTensorToSparse", lambda b: [[_SPLITS], f(5)], fresh=True)
row("RaggedRange", lambda b: [n(b, low=0, high=3), n(b, low=3, high=9), s(1)], fresh=True)
row("RaggedGather", lambda b: [[_SPLITS], f(5, b), i(2, 0)], OUTPUT_RAGGED_RANK=1, fresh=True)
row("RaggedBincount", lambda b: [_SPLITS, n(5, low=0, high=3), s(b), f(0)], binary_output=False)
