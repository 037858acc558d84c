"""Fourier transforms: RFFT2D of powers of two, else products with matrices.

The matrices work on complex numbers as pairs of float32, [..., n, 2], which BITCAST gives without a copy. They are
constants where the length is known, and computed at run time where it is that of the operand. A transform that crops
or pads its operand does so by the size of its matrix.

Where the matrix of a known length would be large, and the length has factors, the transform is made of shorter ones
(Cooley and Tukey's algorithm): for 16000, of 128 and 125, with .3 million numbers in place of 1,024 million.
"""

from __future__ import annotations

import math

import numpy as np

from fuseconv.ir import budget, types
from fuseconv.ir.dims import Dim, floordiv, fresh, product
from fuseconv.ir.graph import FuncRef, Op, Value
from fuseconv.lower.rules import Lowering, constant_of, lowers, require
from fuseconv.lower.support.dynamic_shapes import dim_scalar, dim_vector, iota, reshape, shape_of, static_dims
from fuseconv.lower.support.legalize_operands import elementwise, scalar, select
from fuseconv.lower.support.merged_dims import along_last
from fuseconv.lower.support.type_promotion import cast

# The largest matrix: that of 2048 complex numbers.
_MAX_ELEMENTS = 1 << 24
# A matrix up to this size is quicker than two small ones and the transpositions between them.
_SMALL_ELEMENTS = 1 << 16
# What the numbers that make an element stand for, as factors of their sum: a real number, a pair, and the products that
# a multiplication of complex numbers takes: (a + bi)(c + di) = ac - bd + i(bc) + i(ad).
_REAL, _PAIR, _PRODUCTS = (1,), (1, 1j), (1, -1, 1j, 1j)
# Ops that tell -0 from 0 (as they are before and after they are lowered), or that nobody here knows.
_ANGLES = frozenset({"ATAN2", "Atan2", "Angle", "CUSTOM"})


@lowers
def RFFT(tfl, x, fft_length):
    """RFFT2D of one row where the length is a power of two, else a product with the matrix."""
    (length,) = _lengths(tfl, x, fft_length)
    outer, n = shape_of(x)[:-1], shape_of(x)[-1]
    if _is_rfft2d_length(length):
        y = _rfft2d(tfl, reshape(tfl, x, (*outer, 1, n), x), [1, length])
        return reshape(tfl, y, (*outer, length // 2 + 1), x)
    return _complex(tfl, _spectrum(tfl, x, length, fft_length))


@lowers
def RFFT2D(tfl, x, fft_length):
    """RFFT2D where the lengths are powers of two, else products with the matrices."""
    height, width = _lengths(tfl, x, fft_length)
    if _is_rfft2d_length(width) and _is_rfft2d_length(height):
        return _rfft2d(tfl, x, [height, width])
    return _complex(tfl, _transform_axis(tfl, _spectrum(tfl, x, width, fft_length), -2, height, 1))


@lowers
def RFFT3D(tfl, x, fft_length):
    """Products with the matrices."""
    depth, height, width = _lengths(tfl, x, fft_length)
    planes = _transform_axis(tfl, _spectrum(tfl, x, width, fft_length), -2, height, 1)
    return _complex(tfl, _transform_axis(tfl, planes, -3, depth, 1))


@lowers("IRFFT", "IRFFT2D", "IRFFT3D")
def IRFFT(tfl, x, fft_length):
    """Products with the matrices."""
    *outer, width = _lengths(tfl, x, fft_length)
    pairs = _pairs(tfl, x)
    for axis, length in enumerate(outer, start=-1 - len(outer)):
        pairs = _transform_axis(tfl, pairs, axis, length, -1)
    if isinstance(width, int):
        return _signal(tfl, pairs, width)
    return _dynamic_signal(tfl, pairs, width, _places(tfl, fft_length, width))


@lowers("FFT", "FFT2D", "FFT3D")
def FFT(tfl, x):
    """Products with the matrices."""
    return _transform_axes(tfl, x, 1)


@lowers("IFFT", "IFFT2D", "IFFT3D")
def IFFT(tfl, x):
    """Products with the matrices."""
    return _transform_axes(tfl, x, -1)


def _transform_axes(tfl: Lowering, x: Value, sign: int) -> Value:
    """Return the transform of as many dimensions as the op's name says, each to its own length."""
    rank = {"2": 2, "3": 3}.get(tfl.source.type[-2], 1)
    shape = shape_of(x)
    pairs = _pairs(tfl, x)
    for axis, length in enumerate(shape[-rank:], start=-rank):
        pairs = _transform_axis(tfl, pairs, axis, length, sign)
    return _complex(tfl, pairs)


def _lengths(tfl: Lowering, x: Value, fft_length: Value) -> list[Dim]:
    for dtype in (x.dtype, tfl.dtype):  # the one is real, the other complex
        kind = types.COMPLEX64 if dtype.is_complex else types.FLOAT32
        require(dtype is kind, f"TFLite transforms float32 and complex64, not {dtype}")
    if fft_length.content is not None:
        known = fft_length.content
    elif fft_length.is_const or shape_of(fft_length) != (1,):
        known = constant_of(fft_length, "fft_length")
    else:  # one that data decide
        known = np.array([fresh("length")], object)
    lengths = [int(length) if isinstance(length, (int, np.integer)) else length for length in known.reshape(-1)]
    none = any(isinstance(length, int) and length <= 0 for length in lengths)
    require(not none, f"there is no transform of the lengths {lengths}")
    return lengths


def _is_rfft2d_length(length: Dim) -> bool:
    """Return whether RFFT2D takes the length."""
    return isinstance(length, int) and length > 1 and not length & (length - 1)


def _rfft2d(tfl: Lowering, x: Value, lengths: list[int]) -> Value:
    """Build RFFT2D. Where the spectrum of a real signal is real, TensorFlow makes the imaginary part 0, and RFFT2D
    makes it -0, which turns an angle of pi into -pi. So 0 is added if the model takes angles of it."""
    y = tfl.rfft2d(x, lengths)
    return _complex(tfl, tfl.add(_pairs(tfl, y), 0.0)) if _takes_angles(tfl.source) else y


def _takes_angles(op: Op) -> bool:
    """Return True if an ATAN2 may depend on the op's results, also in another function."""
    seen, pending = {op}, [op]
    while pending:
        readers = {reader for result in pending.pop().results for reader in result.uses} - seen
        if any(op.type in _ANGLES or any(isinstance(a, FuncRef) for a in op.attrs.values()) for op in readers):
            return True
        seen |= readers
        pending += readers
    return False


def _pairs(tfl: Lowering, x: Value) -> Value:
    """Return complex numbers as pairs of float32."""
    require(x.dtype is types.COMPLEX64, f"TFLite has no kernels for {x.dtype}")
    return tfl.bitcast(x, results=[(types.FLOAT32, (*shape_of(x), 2))])


def _complex(tfl: Lowering, pairs: Value) -> Value:
    return tfl.bitcast(pairs, results=[(types.COMPLEX64, shape_of(pairs)[:-1])])


def _waves(used: int, made: int, length: int, sign: int) -> np.ndarray:
    """Return exp(-sign * 2 pi i j k / length) for j < used and k < made."""
    budget.require_room(used * made, 16, "the matrix of a Fourier transform")
    turns = np.outer(np.arange(used), np.arange(made)) % length
    waves = np.exp(-2j * np.pi * sign / length * turns)
    # Of a real signal the ends of the spectrum are real, not nearly so: the sign of what is left would turn an angle.
    waves.imag[2 * turns % length == 0] = 0
    return waves


def _transform(
    tfl: Lowering, x: Value, length: int, made: int, sign: int, given: tuple[complex, ...], wanted: tuple[complex, ...]
) -> Value:
    """Return the first elements of a transform, divided by the length if the sign is negative: [..., n, given] ->
    [..., made, wanted]. What x has beyond the length is cropped."""
    *outer, size, _ = shape_of(x)
    used = min(static_dims([size], "the length of a Fourier transform")[0], length)
    x = _resized(tfl, x, used, -2)
    elements = used * len(given) * made * len(wanted)
    first, second = _factors(length)
    # The rows' matrix is the larger one: it has four numbers an element.
    if elements > max(_SMALL_ELEMENTS, 2 * first * len(_PRODUCTS) * second * -(-made // first) * len(wanted)):
        return _composed(tfl, x, used, first, second, made, sign, given, wanted)
    waves = _parts(used, made, length, sign, given, wanted).transpose(1, 0, 2, 3)
    y = _product(tfl, reshape(tfl, x, (*outer, used * len(given)), x), waves.reshape(used * len(given), -1))
    return reshape(tfl, y, (*outer, made, len(wanted)), x)


def _parts(
    used: int, made: int, length: int, sign: int, given: tuple[complex, ...], wanted: tuple[complex, ...]
) -> np.ndarray:
    """Return the matrix of a transform, [given, used, made, wanted]. It reads elements of the numbers `given`, and
    makes the real and imaginary parts that are wanted: 1 stands for the real one, 1j for the other."""
    elements = used * len(given) * made * len(wanted)
    require(elements <= _MAX_ELEMENTS, f"a matrix of {elements} numbers, for the length {length}, is too large")
    waves = _waves(used, made, length, sign) / (length if sign < 0 else 1)
    return (waves[..., None] * np.array(given)[:, None, None, None] / np.array(wanted)).real


def _composed(
    tfl: Lowering,
    x: Value,
    used: int,
    first: int,
    second: int,
    made: int,
    sign: int,
    given: tuple[complex, ...],
    wanted: tuple[complex, ...],
) -> Value:
    """Return the transform of length `first * second` as those of each column and then of each row of a matrix:

        x[second * j1 + j2] -> y[j2, k1] * exp(-sign * 2 pi i j2 k1 / length) -> z[k1 + first * k2]

    The numbers of an element are neighbors or far apart as it takes transpositions of whole rows, the quickest.
    """
    outer = shape_of(x)[:-2]
    count, columns, rows = product(outer), -(-used // second), -(-made // first)
    table = reshape(tfl, _resized(tfl, x, columns * second, -2), (count, columns, second * len(given)), x)
    table = reshape(tfl, tfl.transpose(table, [0, 2, 1]), (count, second, len(given) * columns), x)
    waves = _parts(columns, first, first, sign, given, (1, 1j, 1j, 1))
    y = _product(tfl, table, waves.reshape(len(given) * columns, -1))
    turned = _waves(second, first, first * second, sign)
    y = tfl.mul(y, np.stack([turned.real, turned.imag] * 2, axis=-1).reshape(second, -1).astype(np.float32))
    y = reshape(tfl, tfl.transpose(y, [0, 2, 1]), (count, first, len(_PRODUCTS) * second), x)
    waves = _parts(second, rows, second, sign, _PRODUCTS, wanted).transpose(0, 1, 3, 2)
    z = tfl.transpose(_product(tfl, y, waves.reshape(len(_PRODUCTS) * second, -1)), [0, 2, 1])
    z = tfl.transpose(reshape(tfl, z, (count, len(wanted), rows * first), x), [0, 2, 1])
    return _resized(tfl, reshape(tfl, z, (*outer, rows * first, len(wanted)), x), made, -2)


def _factors(length: int) -> tuple[int, int]:
    """Return two factors of a length that are as near to one another as can be. The second is even if the length is:
    the middle of a real signal's spectrum is real then without rounding."""
    found = [n for n in range(1, math.isqrt(length) + 1) if length % n == 0]
    pairs = [pair for n in found for pair in ((n, length // n), (length // n, n)) if not (length - pair[1]) % 2]
    return min(pairs, key=sum)


def _spectrum(tfl: Lowering, x: Value, length: Dim, lengths: Value) -> Value:
    """Return the pairs of the first half of a real signal's spectrum: [..., n] -> [..., length / 2 + 1, 2]. An unknown
    length is the last of the operand `lengths`."""
    *outer, n = shape_of(x)
    if not isinstance(length, int):
        return _dynamic_spectrum(tfl, x, length, _places(tfl, lengths, length))
    return _transform(tfl, reshape(tfl, x, (*outer, n, 1), x), length, length // 2 + 1, 1, _REAL, _PAIR)


def _signal(tfl: Lowering, pairs: Value, length: int) -> Value:
    """Return the inverse real transform of a half spectrum in pairs: [..., n, 2] -> [..., length]."""
    *outer, n, _ = shape_of(pairs)
    used = min(static_dims([n], "the size of the spectrum")[0], length // 2 + 1)
    # The other half of the spectrum mirrors this one; its ends mirror themselves.
    weight = np.full((used, 2), 2.0, np.float32)
    if length % 2 == 0:
        weight[length // 2 :] = 1.0
    weight[0] = 1.0
    y = _transform(tfl, tfl.mul(_resized(tfl, pairs, used, -2), weight), length, length, -1, _PAIR, _REAL)
    return reshape(tfl, y, (*outer, length), pairs)


def _transform_axis(tfl: Lowering, pairs: Value, axis: int, length: Dim, sign: int) -> Value:
    """Return the transform to `length` along one of the dimensions that `axis` counts from the end, the pairs' left
    out. An unknown length is that of the operand."""
    rank = len(shape_of(pairs))
    at = rank - 1 + axis
    order = [*(i for i in range(rank - 1) if i != at), at, rank - 1]
    moved = pairs if axis == -1 else tfl.transpose(pairs, order)
    *outer, n, _ = shape_of(moved)
    if isinstance(length, int):
        y = _transform(tfl, moved, length, length, sign, _PAIR, _PAIR)
    else:
        _require_own_length(n, length)
        rows = reshape(tfl, moved, (*(outer or [1]), 2 * length), pairs)
        y = tfl.batch_matmul(rows, _dynamic_dft_matrix(tfl, length, sign, pairs))
        y = reshape(tfl, y, (*outer, length, 2), pairs)
    return y if axis == -1 else tfl.transpose(y, [int(i) for i in np.argsort(order)])


def _dynamic_spectrum(tfl: Lowering, x: Value, length: Dim, places: Value) -> Value:
    """Return `_spectrum` of an unknown length, of as many elements as there are `places`."""
    *outer, _ = shape_of(x)
    half = floordiv(length, 2) + 1
    waves = _dynamic_waves(tfl, length, length, half, 1, places)
    matrix = reshape(tfl, tfl.pack(*waves, axis=2, values_count=2), (length, 2 * half), places)
    y = _dynamic_product(tfl, _dynamic_cropped(tfl, x, length, -1, places), matrix)
    return reshape(tfl, y, (*outer, half, 2), x, places)


def _dynamic_signal(tfl: Lowering, pairs: Value, length: Dim, places: Value) -> Value:
    """Return `_signal` of an unknown length, that of the signal which the spectrum was made from: as many as there are
    `places`, since the size of the spectrum does not tell whether it is odd."""
    n = floordiv(length, 2) + 1
    pairs = _dynamic_cropped(tfl, pairs, n, -2, places)
    *outer, _, _ = shape_of(pairs)
    real, imaginary = _dynamic_waves(tfl, length, n, length, -1, places)
    # The other half of the spectrum mirrors this one; its ends, half a turn apart, mirror themselves.
    twice = tfl.mul(reshape(tfl, iota(tfl, n, places), (n, 1), places), 2)
    end = elementwise(tfl, "EQUAL", tfl.floor_mod(twice, dim_scalar(tfl, length, places)), 0)
    weight = select(tfl, end, *(scalar(number, types.FLOAT32) for number in (1, 2)))
    rows = [tfl.mul(weight, part) for part in (real, tfl.neg(imaginary))]
    matrix = reshape(tfl, tfl.pack(*rows, axis=1, values_count=2), (2 * n, length), places)
    spectrum = reshape(tfl, pairs, (*outer, 2 * n), pairs, places)
    return reshape(tfl, _dynamic_product(tfl, spectrum, matrix), (*outer, length), pairs, places)


def _places(tfl: Lowering, lengths: Value, length: Dim) -> Value:
    """Return 0, 1, ... up to the last of the lengths."""
    (rank,) = static_dims(shape_of(lengths), "the number of lengths")
    last = tfl.reshape(tfl.strided_slice(lengths, [rank - 1], [rank], [1]), tfl.ints([]))
    places = tfl.range(tfl.const(0, types.INT32), last, tfl.const(1, types.INT32))
    places.shape = (length,)
    return places


def _dynamic_cropped(tfl: Lowering, x: Value, size: Dim, axis: int, places: Value) -> Value:
    """Return the first elements of x along an axis that is counted from the end. TensorFlow fails where x has fewer."""
    shape = list(shape_of(x))
    if shape[axis] == size:
        return x
    rank = len(shape)
    parts = [dim_vector(tfl, size, places) if at == rank + axis else tfl.ints([-1]) for at in range(rank)]
    y = tfl.slice_(x, [0] * rank, tfl.concatenation(*parts, axis=0) if rank > 1 else parts[0])
    shape[axis] = size
    y.shape = tuple(shape)
    return y


def _dynamic_product(tfl: Lowering, x: Value, matrix: Value) -> Value:
    """Return x [..., n] times a matrix [n, m], with a dimension before the last even if x has one only."""
    shape = shape_of(x)
    return tfl.batch_matmul(x if len(shape) > 1 else reshape(tfl, x, (1, *shape)), matrix)


def _require_own_length(size: Dim, wanted: Dim) -> None:
    require(size == wanted, "fft_length is neither constant nor the size of the operand")


def _dynamic_waves(tfl: Lowering, length: Dim, used: Dim, made: Dim, sign: int, *sources: Value) -> tuple[Value, Value]:
    """Return the parts of `_waves` of an unknown length, [used, made], computed at run time; divided by the length if
    the sign is negative."""
    whole = dim_scalar(tfl, length, *sources)
    column = reshape(tfl, iota(tfl, used, *sources), (used, 1), *sources)
    turns = tfl.floor_mod(tfl.mul(column, iota(tfl, made, *sources)), whole)
    count = cast(tfl, whole, types.FLOAT32)
    angle = tfl.mul(cast(tfl, turns, types.FLOAT32), tfl.div(2 * math.pi, count))
    real, imaginary = tfl.cos(angle), tfl.sin(tfl.neg(angle) if sign > 0 else angle)
    if _takes_angles(tfl.source):
        half = elementwise(tfl, "EQUAL", tfl.floor_mod(tfl.mul(turns, 2), whole), 0)
        imaginary = select(tfl, half, 0.0, imaginary)
    return (tfl.div(real, count), tfl.div(imaginary, count)) if sign < 0 else (real, imaginary)


def _dynamic_dft_matrix(tfl: Lowering, length: Dim, sign: int, *sources: Value) -> Value:
    """Return the matrix of the transform of `length` pairs, [2 length, 2 length], computed at run time."""
    real, imaginary = _dynamic_waves(tfl, length, length, length, sign, *sources)
    rows = [[real, imaginary], [tfl.neg(imaginary), real]]
    pairs = [tfl.pack(*row, axis=2, values_count=2) for row in rows]
    return reshape(tfl, tfl.pack(*pairs, axis=1, values_count=2), (2 * length, 2 * length), *sources)


def _resized(tfl: Lowering, x: Value, size: int, axis: int) -> Value:
    """Return x with as many elements along an axis, which is counted from the end: its first ones, or zeros behind."""
    rank, (found,) = len(shape_of(x)), static_dims([shape_of(x)[axis]], "the length of a Fourier transform")
    if found == size:
        return x
    if found < size:
        return tfl.pad(x, [[0, size - found if at == rank + axis else 0] for at in range(rank)])
    return tfl.slice_(x, [0] * rank, [size if at == rank + axis else -1 for at in range(rank)])


def _product(tfl: Lowering, x: Value, matrix: np.ndarray) -> Value:
    """Return x [..., n] times a matrix [n, m], as FULLY_CONNECTED of rows."""
    require(matrix.size <= _MAX_ELEMENTS, f"the transform's matrix {list(matrix.shape)} is too large")
    *outer, _ = shape_of(x)
    weights = np.ascontiguousarray(matrix.T.astype(np.float32))
    if not outer:
        return reshape(tfl, _product(tfl, reshape(tfl, x, (1, *shape_of(x))), matrix), matrix.shape[1:])

    def build(rows: Value) -> Value:
        return tfl.fully_connected(rows, weights, None, keep_num_dims=len(shape_of(rows)) > 2)

    return along_last(tfl, "FULLY_CONNECTED", x, build)
