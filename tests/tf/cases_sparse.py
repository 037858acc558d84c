"""Cases of ops on sparse tensors."""

from __future__ import annotations

import numpy as np

from tests.tf.cases import f, i, row

_PLACES = np.array([[0, 1], [2, 0]], np.int64)
_SIZES = np.array([3, 4], np.int64)
row("SparseReorder", lambda b: [_PLACES, f(2), _SIZES])
row("SparseReshape", lambda b: [_PLACES, _SIZES, np.array([2, -1, 2], np.int64)])
row("SparseFillEmptyRows", lambda b: [_PLACES, f(2), _SIZES, np.float32(1)], fresh=True)
row("SparseReduceSum", lambda b: [_PLACES, f(2), np.array([3, b], np.int64), i(0)])
row("SparseReduceSum", lambda b: [_PLACES, f(2), np.array([3, b], np.int64), i(-1)], name="kept", keep_dims=True)
row("SparseReduceMax", lambda b: [_PLACES, f(2), np.array([3, b], np.int64), i(0)])
row("SparseConcat", lambda b: [[_PLACES] * 2, [f(2), f(2)], [_SIZES] * 2], concat_dim=1)
row("SparseSlice", lambda b: [_PLACES, f(2), _SIZES, _SIZES // 3, _SIZES], fresh=True)
row("SparseAdd", lambda b: [_PLACES, f(2), _SIZES, _PLACES[:1], f(1), _SIZES, np.float32(0)], fresh=True)
row("SparseTensorDenseAdd", lambda b: [_PLACES, f(2), np.array([3, b], np.int64), f(3, b)])
for _op in ("SparseDenseCwiseAdd", "SparseDenseCwiseDiv", "SparseDenseCwiseMul"):
    row(_op, lambda b: [_PLACES, f(2), np.array([3, b], np.int64), f(3, b)])
row("SparseSoftmax", lambda b: [_PLACES, f(2), _SIZES])
row("SparseToDense", lambda b: [i(0, 2), i(b), f(2), np.float32(0)], validate_indices=True)
row("SparseTensorDenseMatMul", lambda b: [_PLACES, f(2), np.array([b, 3], np.int64), f(3, 4)])
row("SparseTensorDenseMatMul", lambda b: [_PLACES, f(2), np.array([3, b], np.int64), f(4, 3)],
    adjoint_a=True, adjoint_b=True)  # fmt: skip
