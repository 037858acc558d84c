"""Cases of ops that few models have."""

from __future__ import annotations

import numpy as np

from tests.tf.cases import f, i, n, p, row, s

row("DataFormatDimMap", lambda b: [n(b, low=0, high=4)], src_format="NHWC", dst_format="NCHW")
row("DataFormatVecPermute", lambda b: [i(b, 7, 8, 9)], src_format="NHWC", dst_format="NCHW")
for _op in ("InplaceAdd", "InplaceSub", "InplaceUpdate"):
    row(_op, lambda b: [f(b, 4), i(0, 2), f(2, 4)])
row("ApproxTopK", lambda b: [f(b, 7)], k=3, aggregate_to_topk=True)
row("UniqueWithCountsV2", lambda b: [n(b, low=0, high=3), i(0)], fresh=True)
row("ParallelDynamicStitch", lambda b: [[i(0, 2), i(1)], [f(2, b), f(1, b)]])
row("DenseBincount", lambda b: [n(b, 4, low=0, high=6), s(b), f(0)], binary_output=False)
row("DenseBincount", lambda b: [n(b, low=0, high=6), s(4), f(0)], name="vector", binary_output=False)
row("HistogramFixedWidth", lambda b: [p(b, 3), np.array([0, 1], np.float32), s(b)])
row("InTopK", lambda b: [f(b, 4), n(b, low=0, high=4)], k=2)
row("UnravelIndex", lambda b: [n(b, low=0, high=6), i(2, 3)])
row("SparseToDense", lambda b: [i(0, 2), i(b), f(2), np.float32(0)], validate_indices=True)
row("Empty", lambda b: [i(b, 3)], dtype=np.float32, init=True)
row("StridedSliceGrad", lambda b: [i(b, 4), i(0, 1), i(2, 3), i(1, 1), f(2, 2)])
_SPARSE = np.array([[0, 1], [2, 0]], np.int64)
row("SparseTensorDenseMatMul", lambda b: [_SPARSE, f(2), np.array([b, 3], np.int64), f(3, 4)])
row("SparseTensorDenseMatMul", lambda b: [_SPARSE, f(2), np.array([3, b], np.int64), f(4, 3)],
    adjoint_a=True, adjoint_b=True)  # fmt: skip
for _kind in ("Mean", "SqrtN", "Sum"):
    row(f"SparseSegment{_kind}", lambda b: [f(b, 4), i(0, 2, 1), i(0, 0, 2)], fresh=True)
    row(f"SparseSegment{_kind}WithNumSegments", lambda b: [f(b, 4), i(0, 2, 1), i(0, 0, 2), s(b)])
row("BiasAddGrad", lambda b: [f(3, b)])
row("BiasAddGrad", lambda b: [f(3, b, 2, 2)], data_format="NCHW")
row("BroadcastGradientArgs", lambda b: [i(b, 1, 3), i(4, 1)], fresh=True)
row("MirrorPadGrad", lambda b: [f(b, 4), i((0, 0), (1, 1))], mode="REFLECT")
row("ScaleAndTranslate", lambda b: [f(2, 4, 4, 3), i(b, 6), p(2), p(2)])
_PROJECTION = np.array([[1, 0.1, 0, 0, 1, 0, 0, 0]], np.float32)
row("ImageProjectiveTransformV2", lambda b: [f(2, 4, 4, 3), _PROJECTION, i(b, 6)], interpolation="NEAREST")
row("ImageProjectiveTransformV3", lambda b: [f(2, 4, 4, 3), _PROJECTION, i(b, 6), np.float32(1)],
    interpolation="BILINEAR")  # fmt: skip
row("LSTMBlockCell", lambda b: [f(b, 3), f(b, 4), f(b, 4), f(7, 16), f(4), f(4), f(4), f(16)])
row("GRUBlockCell", lambda b: [f(b, 3), f(b, 4), f(7, 8), f(7, 4), f(8), f(4)])
