"""Cases of matrix products, ops on matrices and spectra, reductions, scans and sorting."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import tensorflow as tf

from tests.tf.cases import f, i, n, p, row, s

for _a in (False, True):
    for _b in (False, True):
        row(
            "MatMul", lambda b, x=_a, y=_b: [f(6, b) if x else f(b, 6), f(4, 6) if y else f(6, 4)],
            transpose_a=_a, transpose_b=_b,
        )  # fmt: skip
        for _op in ("BatchMatMulV2", "BatchMatMulV3"):
            row(
                _op,
                lambda b, x=_a, y=_b: [f(b, 1, 2, 6, b) if x else f(b, 1, 2, b, 6), f(3, 1, 4, 6) if y else f(6, 4)],
                adj_x=_a, adj_y=_b, **({"Tout": tf.float32} if _op.endswith("3") else {}),
            )  # fmt: skip
row("BatchMatMul", lambda b: [f(b, 3, 6), f(b, 6, 4)])
_COMPLEX = f(4, 6).astype(np.complex64) * (1 + 1j)
row("BatchMatMulV2", lambda b: [f(b, 3, 6).astype(np.complex64) * 1j, _COMPLEX], adj_y=True)
row("MatMul", lambda b: [n(b, 6), n(6, 4)], name="int")
row("SparseMatMul", lambda b: [f(6, b), f(6, 4)], transpose_a=True, a_is_sparse=True)
for _equation, _shapes in {
    "ab,bc->ac": lambda b: ((b, 6), (6, 4)),
    "abc,cde->abde": lambda b: ((b, 3, 6), (6, 2, 4)),
    "aecd,abcd->acbe": lambda b: ((b, 3, 2, 4), (b, b, 2, 4)),
    "...ij,...jk->...ik": lambda b: ((b, 1, 3, 6), (2, 6, 4)),
    "i...->...i": lambda b: ((b, 3, 2),),
    "ab,cb->": lambda b: ((b, 6), (4, 6)),
    "ii->i": lambda b: ((4, 4),),
    "ab->ba": lambda b: ((b, 6),),
    "ab...->b...": lambda b: ((b, 6),),
}.items():
    row("Einsum", lambda b, shapes=_shapes: [[f(*shape) for shape in shapes(b)]], equation=_equation)
for _band in ((0, 0), (1, -1), (-1, 2), (2, 1)):
    row("MatrixBandPart", lambda b, k=_band: [f(b, 4, 5), s(k[0]), s(k[1])], name=str(_band))
row("MatrixDiag", lambda b: [f(b, 4)])
row("MatrixDiagPart", lambda b: [f(b, 4, 3)])
row("MatrixSetDiag", lambda b: [f(b, 4, 3), p(b, 3)])
row("Diag", lambda b: [f(b)])
row("Diag", lambda b: [f(b, 2)])
row("DiagPart", lambda b: [f(b, 2, b, 2)])
for _k in (0, 1, -2):
    row("MatrixDiagPartV3", lambda b, k=_k: [f(b, 4, 3), s(k), np.float32(0)], name=str(_k))
    row("MatrixDiagV3", lambda b, k=_k: [f(b, 4), s(k), s(-1), s(-1), np.float32(0)], name=str(_k))
    row("MatrixSetDiagV3", lambda b, k=_k: [f(b, 5, 5), p(b, 5 - abs(k)), s(k)], name=str(_k))
row("MatrixDiagPartV3", lambda b: [f(b, 4, 3), i(-1, 1), np.float32(0)], name="band")
row("MatrixDiagPartV2", lambda b: [f(b, 3, 4), i(1, 2), np.float32(0)], name="band")
row("MatrixDiagV3", lambda b: [f(b, 3, 4), i(-1, 1), s(-1), s(-1), np.float32(0)], name="band")
row("MatrixDiagV2", lambda b: [f(b, 4), s(1), s(-1), s(-1), np.float32(0)])
row("MatrixSetDiagV2", lambda b: [f(b, 5, 5), p(b, 4), s(1)])
row("MatrixDiagV3", lambda b: [f(b, 2, 3), i(1, 2), s(4), s(-1), np.float32(0)], name="rows")
for _align in ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"):
    for _low, _high in ((-2, 1), (1, 3), (-3, -1), (0, 2)):
        _more: Any = {"align": _align, "name": f"{_align},{_low},{_high}"}
        row("MatrixDiagPartV3", lambda b, k=(_low, _high): [f(b, 4, 6), i(*k), np.float32(7)], **_more)
        _shape = (_high - _low + 1, min(4 + min(_high, 0), 6 - max(_low, 0)))
        row("MatrixSetDiagV3", lambda b, k=(_low, _high), d=_shape: [f(b, 4, 6), p(b, *d), i(*k)], **_more)
        row("MatrixDiagV3", lambda b, k=(_low, _high), d=_shape: [f(b, *d), i(*k), s(-1), s(-1), f()], **_more)
row("MatrixDiagV3", lambda b: [f(b, 4), i(1, 1), s(-1), s(7), np.float32(7)], name="columns")
_WELL = (np.eye(4) * 3 + 0.1).astype(np.float32)
for _op in ("MatrixInverse", "Cholesky", "MatrixSquareRoot"):
    row(_op, lambda b: [np.broadcast_to(_WELL, (b, 4, 4))])
row("MatrixLogarithm", lambda b: [np.broadcast_to(_WELL, (b, 4, 4)).astype(np.complex64)])
row("MatrixDeterminant", lambda b: [np.broadcast_to(_WELL, (b, 4, 4))])
row("LogMatrixDeterminant", lambda b: [np.broadcast_to(_WELL, (b, 4, 4))])
row("MatrixSolve", lambda b: [np.broadcast_to(_WELL, (b, 4, 4)), f(b, 4, 2)])
for _fast in (False, True):
    row("MatrixSolveLs", lambda b: [f(b, 4, 3), f(b, 4, 2), np.float64(0.1)], fast=_fast, name=str(_fast))
row("BandedTriangularSolve", lambda b: [p(b, 2, 4), f(b, 4, 2)])
row("MatrixTriangularSolve", lambda b: [np.broadcast_to(_WELL, (b, 4, 4)), f(b, 4, 2)])
row("TridiagonalMatMul", lambda b: [f(b, 1, 4), f(b, 1, 4), f(b, 1, 4), f(b, 4, 3)])
for _full in (False, True):
    row("Qr", lambda b: [f(b, 4, 3)], full_matrices=_full, name=str(_full))
    row("Svd", lambda b: [f(b, 4, 3)], full_matrices=_full, name=str(_full))
row("Svd", lambda b: [f(b, 4, 3)], compute_uv=False, name="values")
for _with in (False, True):
    row("SelfAdjointEigV2", lambda b: [np.broadcast_to(_WELL, (b, 4, 4))], compute_v=_with, name=str(_with))
row("Lu", lambda b: [np.broadcast_to(_WELL, (b, 4, 4))])
row("TridiagonalSolve", lambda b: [p(b, 3, 4), f(b, 4, 2)])
row("Cross", lambda b: [f(b, 3), p(b, 3)])
for _op in ("FFT", "IFFT", "FFT2D", "IFFT2D"):
    row(_op, lambda b: [f(b, 4, 6).astype(np.complex64)])
for _length in (6, 9):
    row("RFFT", lambda b, k=_length: [f(b, 9), i(k)], name=str(_length))
    row("IRFFT", lambda b, k=_length: [f(b, 7).astype(np.complex64), i(k)], name=str(_length))
row("RFFT2D", lambda b: [f(b, 4, 7), i(4, 6)])
row("IRFFT2D", lambda b: [f(b, 4, 7).astype(np.complex64), i(4, 6)])

for _half in (np.float16, ml_dtypes.bfloat16):
    row("MatMul", lambda b, d=_half: [f(b, 6, dtype=d), f(6, 4, dtype=d)], name=np.dtype(_half).name)
    row("BatchMatMulV2", lambda b, d=_half: [f(b, 3, 6, dtype=d), f(6, 4, dtype=d)], name=np.dtype(_half).name)
    for _op in ("Sum", "Mean", "Prod", "Max"):
        row(_op, lambda b, d=_half: [p(b, 300, dtype=d), i(1)], name=np.dtype(_half).name)
    for _op in ("Softmax", "LogSoftmax"):
        row(_op, lambda b, d=_half: [f(b, 30, dtype=d)], name=np.dtype(_half).name)
    for _op in ("AddV2", "Mul", "RealDiv", "Maximum"):
        row(_op, lambda b, d=_half: [f(b, 30, dtype=d), p(b, 1, dtype=d)], name=np.dtype(_half).name)

# In float16 TensorFlow's Einsum rounds each term of a sum; the kernel rounds the sum.
row("Einsum", lambda b: [[f(b, 6, dtype=ml_dtypes.bfloat16), f(6, 4, dtype=ml_dtypes.bfloat16)]], equation="ab,bc->ac")

# Reductions.
for _op in ("EuclideanNorm", "Max", "Mean", "Min", "Prod", "Sum"):
    for _axes in (i(1), i(0, -1), s(2), np.zeros(0, np.int32), np.array([0, 1, 2], np.int64)):
        for _keep in (False, True):
            row(_op, lambda b, a=_axes: [f(b, 3, 4), a], keep_dims=_keep, name=str(_axes.tolist()))
for _op in ("Max", "Mean", "Min", "Prod", "Sum"):
    row(_op, lambda b: [n(b, 3, 4), i(1)], name="int")
for _op in ("Prod", "Sum"):
    row(_op, lambda b: [i(b, 3, 7), i(0)], name="content")
for _op in ("Max", "Min"):
    row(_op, lambda b: [i(1, 3, 2), i(0)], name="content")
row("Prod", lambda b: [np.zeros((b, 0), np.float32), i(1)], name="empty")
for _op in ("All", "Any"):
    row(_op, lambda b: [f(b, 3, 4) > -1, i(1)])
    row(_op, lambda b: [f(b, 3, 4) > -1, i(0, 2)], keep_dims=True)
for _op in ("ArgMax", "ArgMin"):
    for _axis in (0, 1, -1):
        row(_op, lambda b, a=_axis: [f(b, 3, 4), s(a)], name=str(_axis))
    row(_op, lambda b: [n(b, 9, low=0, high=3), s(1)], output_type=tf.int32)
for _op in ("Cumsum", "Cumprod"):
    for _exclusive in (False, True):
        for _reverse in (False, True):
            row(_op, lambda b: [f(b, 5, 2), s(1)], exclusive=_exclusive, reverse=_reverse)
row("Cumsum", lambda b: [n(b, 5), s(-2)], name="int")
row("CumulativeLogsumexp", lambda b: [f(b, 5), s(-2)])
row("TopKV2", lambda b: [f(b, 7), s(3)])
row("TopKV2", lambda b: [n(b, 9, low=0, high=3), s(4)], name="ties")
row("NthElement", lambda b: [f(b, 7), s(2)])
row("NthElement", lambda b: [f(b, 7), s(0)], name="least")
row("Where", lambda b: [f(b, 4) > 0], fresh=True)
row("Unique", lambda b: [i(3, 1, 3, 7, 1)], fresh=True)
row("UniqueWithCounts", lambda b: [i(3, 1, 3, 7, 1)], fresh=True)
row("UniqueV2", lambda b: [i(3, 1, 3, 7, 1), np.zeros(0, np.int32)], fresh=True)
row("UniqueV2", lambda b: [n(4, b, low=0, high=2), i(0)], fresh=True, name="rows")
row("ListDiff", lambda b: [i(3, 1, 3, 7, 1), i(1)], fresh=True)
row("Bucketize", lambda b: [f(b, 4)], boundaries=[-1.0, 0.0, 0.5])
row("InvertPermutation", lambda b: [i(2, 0, 1, 3)])
row("Bincount", lambda b: [i(2, 0, 1, 3), s(5), np.zeros(0, np.float32)])
for _op in ("LowerBound", "UpperBound"):
    row(_op, lambda b: [np.sort(f(b, 4), 1), f(b, 2)])
for _op in ("Max", "Mean", "Min", "Prod", "Sum"):
    row(f"Segment{_op}", lambda b: [f(4, b), i(0, 0, 1, 2)], fresh=True)
for _op in ("Max", "Min", "Prod", "Sum"):
    row(f"UnsortedSegment{_op}", lambda b: [f(4, b), i(0, 0, 1, 2), s(5)])
for _op in ("FFT3D", "IFFT3D"):
    row(_op, lambda b: [f(b, 4, 3, 5).astype(np.complex64)])
for _samples in (40, 9):
    row("AudioSpectrogram", lambda b, k=_samples: [f(k, b)], name=str(_samples), window_size=12, stride=5)
row("AudioSpectrogram", lambda b: [f(40, b)], name="power of two", window_size=8, stride=5)
row("CTCGreedyDecoder", lambda b: [f(6, b, 4), np.full(b, 6, np.int32)], fresh=True)
row("Mfcc", lambda b: [np.abs(f(b, 4, 257)), s(16000)], dct_coefficient_count=9)
row("RFFT3D", lambda b: [f(b, 4, 3, 6), i(4, 3, 6)])
row("IRFFT3D", lambda b: [f(b, 4, 3, 4).astype(np.complex64), i(4, 3, 6)])
