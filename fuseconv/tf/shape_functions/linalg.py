"""Shape functions of matrix products, einsum, and ops on matrices and spectra."""

from __future__ import annotations

from collections.abc import Sequence

from fuseconv.ir import dims
from fuseconv.ir.dims import Dim, Shape
from fuseconv.ir.graph import Op, Value
from fuseconv.tf.operands import (
    UnknownShape,
    agree,
    broadcast,
    content_of,
    elements,
    ints,
    same,
    same_shape,
    scalar,
    shape_of,
    with_rank,
)
from fuseconv.tf.shape_functions.registry import Shapes, infers


@infers("MatMul", "SparseMatMul")
def matmul(op: Op, a: Value, b: Value, *, transpose_a: bool = False, transpose_b: bool = False) -> Shapes:
    left, right = with_rank(a, 2), with_rank(b, 2)
    same(left[0] if transpose_a else left[1], right[1] if transpose_b else right[0])
    return (left[1] if transpose_a else left[0], right[0] if transpose_b else right[1])


@infers("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def batch_matmul(op: Op, x: Value, y: Value, *, adj_x: bool = False, adj_y: bool = False) -> Shapes:
    left, right = shape_of(x), shape_of(y)
    if len(left) < 2 or len(right) < 2:
        raise UnknownShape
    rows = left[-1] if adj_x else left[-2]
    columns = right[-2] if adj_y else right[-1]
    same(left[-2] if adj_x else left[-1], right[-1] if adj_y else right[-2])
    outer = same_shape([left[:-2], right[:-2]]) if op.type == "BatchMatMul" else broadcast(left[:-2], right[:-2])
    return (*(outer or ()), rows, columns)


@infers("Einsum")
def einsum(op: Op, *operands: Value, equation: str) -> Shapes:
    text = equation.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    agree(bool(arrow), f"its equation '{equation}' has no ->")
    agree(len(terms) == len(operands), f"its equation '{equation}' has {len(terms)} terms for {len(operands)} operands")
    labels: dict[str, Dim] = {}
    ellipsis: Shape = ()
    for term, operand in zip(terms, operands):
        before, dots, after = term.partition("...")
        shape = shape_of(operand)
        spare = len(shape) - len(before) - len(after)
        agree(not spare or (spare > 0 and bool(dots)), f"its equation '{equation}' has a term '{term}' for {shape}")
        ellipsis = broadcast(ellipsis, shape[len(before) : len(before) + spare])
        tail = shape[len(before) + spare :]
        for label, dim in (*zip(before, shape), *zip(after, tail)):
            labels[label] = same(labels.get(label, dim), dim)
    before, dots, after = output.partition("...")
    return (
        *(labels[label] for label in before),
        *(ellipsis if dots else ()),
        *(labels[label] for label in after),
    )


@infers("Diag", "MatrixDiag", "BatchMatrixDiag")
def diag(op: Op, diagonal: Value) -> Shapes:
    shape = shape_of(diagonal)
    return (*shape, *shape) if op.type == "Diag" else (*shape, shape[-1])


@infers("DiagPart")
def diag_part(op: Op, x: Value) -> Shapes:
    shape = shape_of(x)
    half = len(shape) // 2
    return same_shape([shape[:half], shape[half:]])


def _square(rows: Dim, columns: Dim) -> Dim:
    """Return the length of a main diagonal."""
    if rows == columns:
        return rows
    if isinstance(rows, int) and isinstance(columns, int):
        return min(rows, columns)
    return dims.fresh("diagonal")


@infers("MatrixDiagPart", "BatchMatrixDiagPart")
def matrix_diag_part(op: Op, x: Value) -> Shapes:
    shape = shape_of(x)
    return (*shape[:-2], _square(shape[-2], shape[-1]))


@infers("MatrixDiagPartV2", "MatrixDiagPartV3")
def matrix_diag_part_v2(op: Op, x: Value, k: Value, padding_value: Value) -> Shapes:
    return _diagonals(shape_of(x), ints(k))


def _diagonals(shape: Shape, band: Sequence[int]) -> Shape:
    """Return the shape of the diagonals of matrices from `band[0]` to `band[-1]`."""
    low, high = band[0], band[-1]
    rows, columns = shape[-2], shape[-1]
    agree(low <= high, f"its diagonals go from {low} to {high}")
    if low == high == 0:
        longest = _square(rows, columns)
    elif isinstance(rows, int) and isinstance(columns, int):
        longest = min(rows + min(high, 0), columns + min(-low, 0))
    else:
        longest = dims.fresh("diagonal")
    return (*shape[:-2], *(() if low == high else (high - low + 1,)), longest)


@infers("MatrixDiagV2", "MatrixDiagV3")
def matrix_diag_v2(op: Op, diagonal: Value, k: Value, rows: Value, columns: Value, padding_value: Value) -> Shapes:
    shape = shape_of(diagonal)
    band = ints(k)
    low, high = band[0], band[-1]
    batch = shape[:-1] if low == high else shape[:-2]
    least = (shape[-1] - min(high, 0), shape[-1] + max(low, 0))
    given = (scalar(rows, "rows"), scalar(columns, "columns"))
    if given == (-1, -1):
        side = _largest(*least)
        return (*batch, side, side)
    return (*batch, *(fewest if n == -1 else n for n, fewest in zip(given, least)))


def _largest(a: Dim, b: Dim) -> Dim:
    difference = a - b
    if isinstance(difference, int):
        return a if difference >= 0 else b
    return dims.fresh("diagonal")


@infers("MatrixSetDiag", "MatrixSetDiagV2", "MatrixSetDiagV3", "BatchMatrixSetDiag")
def matrix_set_diag(op: Op, x: Value, diagonal: Value, k: Value | None = None) -> Shapes:
    if x.shape is not None and (k is None or content_of(k) is not None):
        same_shape([diagonal.shape, _diagonals(x.shape, [0] if k is None else ints(k))])
    return x.shape


@infers("Qr")
def qr(op: Op, x: Value, *, full_matrices: bool = False) -> Shapes:
    shape = shape_of(x)
    if len(shape) < 2:
        raise UnknownShape
    *outer, rows, columns = shape
    known = isinstance(rows, int) and isinstance(columns, int)
    if not known and not full_matrices:
        raise UnknownShape
    kept = rows if full_matrices else min(rows, columns)  # type: ignore[type-var]
    return [(*outer, rows, kept), (*outer, kept, columns)]


@infers("Svd")
def svd(op: Op, x: Value, *, compute_uv: bool = True, full_matrices: bool = False) -> Shapes:
    shape = shape_of(x)
    if len(shape) < 2 or not all(isinstance(dim, int) for dim in shape[-2:]):
        raise UnknownShape
    *outer, rows, columns = shape
    fewer = min(rows, columns)  # type: ignore[type-var]
    if not compute_uv:
        return [(*outer, fewer), (), ()]
    across, down = (rows, columns) if full_matrices else (fewer, fewer)
    return [(*outer, fewer), (*outer, rows, across), (*outer, columns, down)]


@infers("SelfAdjointEigV2")
def self_adjoint_eig(op: Op, x: Value, *, compute_v: bool = True) -> Shapes:
    shape = shape_of(x)
    _order(shape)
    return [shape[:-1], shape if compute_v else ()]


@infers("Lu")
def lu(op: Op, x: Value) -> Shapes:
    _order(shape_of(x))
    return [x.shape, shape_of(x)[:-1]]


@infers("MatrixInverse", "BatchMatrixInverse", "Cholesky", "BatchCholesky", "MatrixLogarithm", "MatrixSquareRoot")
def square_matrix(op: Op, x: Value) -> Shapes:
    *outer, _, _ = shape_of(x)
    return (*outer, *[_order(shape_of(x))] * 2)


@infers("MatrixDeterminant", "BatchMatrixDeterminant")
def determinant(op: Op, x: Value) -> Shapes:
    _order(shape_of(x))
    return shape_of(x)[:-2]


@infers("LogMatrixDeterminant")
def log_determinant(op: Op, x: Value) -> Shapes:
    _order(shape_of(x))
    return [shape_of(x)[:-2]] * 2


@infers("MatrixTriangularSolve", "BatchMatrixTriangularSolve")
def triangular_solve(op: Op, matrix: Value, rhs: Value) -> Shapes:
    left, right = shape_of(matrix), shape_of(rhs)
    return (*broadcast(left[:-2], right[:-2]), same(_order(left), right[-2]), right[-1])


@infers("BandedTriangularSolve")
def banded_triangular_solve(op: Op, bands: Value, rhs: Value) -> Shapes:
    left, right = shape_of(bands), shape_of(rhs)
    return (*broadcast(left[:-2], right[:-2]), same(left[-1], right[-2]), right[-1])


@infers("MatrixSolve", "BatchMatrixSolve")
def solve(op: Op, matrix: Value, rhs: Value) -> Shapes:
    left, right = shape_of(matrix), shape_of(rhs)
    return (*(same_shape([left[:-2], right[:-2]]) or ()), same(_order(left), right[-2]), right[-1])


@infers("MatrixSolveLs")
def solve_least_squares(op: Op, matrix: Value, rhs: Value, l2_regularizer: Value) -> Shapes:
    left, right = shape_of(matrix), shape_of(rhs)
    same(left[-2], right[-2])
    return (*(same_shape([left[:-2], right[:-2]]) or ()), left[-1], right[-1])


def _order(matrix: Shape) -> Dim:
    """Return how many rows and columns a square matrix has. Raises Contradiction for any other."""
    rows, columns = matrix[-2:]
    return same(rows, columns)


@infers("TridiagonalSolve")
def tridiagonal_solve(op: Op, diagonals: Value, rhs: Value) -> Shapes:
    return rhs.shape


@infers("TridiagonalMatMul")
def tridiagonal_matmul(op: Op, superdiag: Value, maindiag: Value, subdiag: Value, rhs: Value) -> Shapes:
    return rhs.shape


@infers("Cross")
def cross(op: Op, a: Value, b: Value) -> Shapes:
    shape = same_shape([a.shape, b.shape])
    if shape is not None:
        same(shape[-1], 3)
    return shape


@infers("RFFT", "RFFT2D", "RFFT3D", "IRFFT", "IRFFT2D", "IRFFT3D")
def rfft(op: Op, x: Value, fft_length: Value) -> Shapes:
    rank = {"": 1, "2D": 2, "3D": 3}[op.type.partition("FFT")[2]]
    shape = shape_of(x)
    if content_of(fft_length) is None:
        return (*shape[:-rank], *(dims.fresh() for _ in range(rank)))
    lengths = elements(fft_length)
    agree(all(not isinstance(length, int) or length > 0 for length in lengths), f"its lengths are {lengths}")
    if op.type.startswith("R"):
        lengths[-1] = dims.floordiv(lengths[-1], 2) + 1
    return (*shape[:-rank], *lengths)


@infers("AudioSpectrogram")
def audio_spectrogram(op: Op, x: Value, *, window_size: int, stride: int) -> Shapes:
    samples, channels = with_rank(x, 2)
    agree(window_size >= 2 and stride >= 1, f"its windows are of {window_size} samples, {stride} apart")
    # None fits where there are fewer samples than the window has.
    windows: Dim = dims.fresh()
    if isinstance(samples, int):
        windows = max(0, 1 + (samples - window_size) // stride)
    return (channels, windows, 1 + (1 << (window_size - 1).bit_length()) // 2)


@infers("Mfcc")
def mfcc(op: Op, x: Value, sample_rate: Value, *, dct_coefficient_count: int = 13) -> Shapes:
    channels, windows, _ = with_rank(x, 3)
    return (channels, windows, dct_coefficient_count)
