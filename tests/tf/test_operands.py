"""Broadcasting and what else shape functions share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuseconv.ir import types
from fuseconv.ir.dims import Sym, symbol
from fuseconv.ir.graph import Op, Value, constant
from fuseconv.tf.operands import (
    Contradiction,
    UnknownShape,
    added_units,
    broadcast,
    content_of,
    dims_behind,
    extents,
    ints,
    is_kept_from_zero,
    is_reversal,
    is_whole,
    nonnegative,
    same_shape,
    scalar,
    sizes,
)

N, M = symbol("N"), symbol("M")


@st.composite
def _shapes(draw: Any) -> list[tuple[int, ...]]:
    target = draw(st.lists(st.integers(1, 4), max_size=4))
    shapes = []
    for _ in range(draw(st.integers(1, 3))):
        kept = target[draw(st.integers(0, len(target))) :]
        shapes.append(tuple(draw(st.sampled_from([dim, 1])) for dim in kept))
    return shapes


@given(_shapes())
def test_broadcast_is_numpys(shapes: list[tuple[int, ...]]) -> None:
    assert broadcast(*shapes) == np.broadcast_shapes(*shapes)


def test_broadcast_of_unknown_sizes() -> None:
    assert broadcast((N, 1, 3), (1, M, 1)) == (N, M, 3)
    assert broadcast((N, 4), (4,)) == (N, 4)
    # An unknown size that meets 4 is 4 or 1.
    assert broadcast((N,), (4,)) == (4,)
    (either,) = broadcast((N,), (M,))
    assert isinstance(either, Sym) and either not in (N, M)


def test_broadcast_refuses() -> None:
    with pytest.raises(Contradiction):
        broadcast((2,), (3,))
    with pytest.raises(UnknownShape):
        broadcast(None, (3,))


def test_same_shape_takes_what_any_operand_knows() -> None:
    assert same_shape([None, (N, 3), (2, M)]) == (2, 3)
    assert same_shape([None]) is None
    with pytest.raises(Contradiction):
        same_shape([(2,), (2, 3)])


def test_dims_behind() -> None:
    assert dims_behind(Value(types.FLOAT32, (2, N, 4)), Value(types.INT32, (2, 3))) == (4,)
    with pytest.raises(Contradiction, match="2 and 3 elements"):
        dims_behind(Value(types.FLOAT32, (2, 4)), Value(types.INT32, (3,)))


def test_contents() -> None:
    value = Value(types.INT32, (2,))
    assert content_of(value) is None
    assert all(isinstance(size, Sym) for size in sizes(value)) and len(sizes(value)) == 2
    value.content = np.array([N, 3], object)
    assert sizes(value) == [N, 3]
    assert content_of(constant(np.array([1, 2], np.int64))).tolist() == [1, 2]  # type: ignore[union-attr]
    assert content_of(constant(np.array([1.5], np.float32))) is None
    assert scalar(constant(np.array(7, np.int32))) == 7
    with pytest.raises(UnknownShape):
        ints(value)
    with pytest.raises(UnknownShape):
        sizes(Value(types.INT32, None))


def test_extents_are_sizes() -> None:
    value = Value(types.INT32, (2,))
    value.content = np.array([N - 1, N + 1], object)
    first, second = extents(value)
    assert isinstance(first, Sym) and next(iter(first.symbols())).startswith("?")
    assert second == N + 1


def test_nonnegative() -> None:
    assert nonnegative(0) and nonnegative(2 * N + M * N) and nonnegative(N // 2)
    assert not nonnegative(-1) and not nonnegative(N - 1) and not nonnegative((N - 3) // 2)


def test_nonnegative_differences_from_quotients() -> None:
    assert nonnegative(N - N // 2) and nonnegative(N - (N + 1) // 2) and nonnegative(2 * N - N // 2 - M // 3 + M)
    assert nonnegative(N - (N - N // 2) // 2)
    assert not nonnegative(N - (N + 2) // 2) and not nonnegative(N // 2 - N // 3 - 1) and not nonnegative(N - M // 2)
    assert all(n - (n + 1) // 2 >= 0 for n in range(9)) and min(n - (n + 2) // 2 for n in range(9)) < 0


def made_by(kind: str, *operands: Value, dtype: types.DType = types.FLOAT32) -> Value:
    return Op(kind, operands).add_result(dtype, (3,))


def test_what_is_kept_from_zero() -> None:
    x = Value(types.FLOAT32, (3,))
    small, none = (constant(np.float32(number), types.FLOAT32) for number in (1e-6, 0.0))
    for kind in ("tf.AddV2", "tf.Maximum", "tfl.ADD", "tfl.MAXIMUM"):
        kept = made_by(kind, x, small)
        assert is_kept_from_zero(kept)
        assert is_kept_from_zero(made_by("tf.Cast", kept))
        assert not is_kept_from_zero(made_by(kind, x, none))
        assert not is_kept_from_zero(made_by(kind, x, x))
    assert is_kept_from_zero(small) and not is_kept_from_zero(none) and not is_kept_from_zero(x)
    assert not is_kept_from_zero(made_by("tf.Minimum", x, small))
    # What is cast to integers may be cut off to 0.
    whole = made_by("tf.Cast", made_by("tf.Maximum", x, small), dtype=types.INT32)
    assert not is_kept_from_zero(made_by("tf.Cast", whole))


@pytest.mark.parametrize(("source", "whole"), [
    (types.INT32, True), (types.BOOL, True), (types.UINT8, True), (types.FLOAT16, False), (types.COMPLEX64, False),
])  # fmt: skip
def test_what_is_cast_from_integers_is_whole(source: types.DType, whole: bool) -> None:
    assert is_whole(made_by("tf.Cast", Value(source, (3,)))) is whole


@pytest.mark.parametrize(("kind", "axes", "expected"), [
    ("tf.ReverseV2", [1], True), ("tf.ReverseV2", [0], False), ("tf.ReverseV2", [0, 1], False), ("tf.Roll", [1], False),
])  # fmt: skip
def test_reversals_of_one_dimension(kind: str, axes: list[int], expected: bool) -> None:
    op = Op(kind, [Value(types.FLOAT32, (2, 3)), constant(np.array(axes, np.int32))])
    assert is_reversal(op, 1) is expected


@pytest.mark.parametrize(("core", "shape", "units"), [
    ((2, 3), (2, 1, 3), {1}), ((N, 3), (1, N, 3, 1), {0, 3}), ((1, 3), (1, 1, 3), {1}), ((2, 3), (2, 3), set()),
    ((2, 3), (3, 2), None), ((2, 3), (6,), None), ((2, 1), (2,), None), (None, (2,), None),
])  # fmt: skip
def test_dimensions_of_size_1_that_a_shape_adds(core: Any, shape: Any, units: set[int] | None) -> None:
    assert added_units(core, shape) == units
