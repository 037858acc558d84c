"""What slices take, read off the text of ops, and written as operands and masks."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import Op, Value, constant
from fuseconv.ir.slice_spec import UNKNOWN, WHOLE, Insert, Masks, Pick, Rest, SliceSpec, Take


def op(kind: str, *bounds: list[int] | Value, **attrs: int) -> Op:
    """An op on a matrix whose further operands are these vectors."""
    values = [b if isinstance(b, Value) else constant(np.array(b, np.int32)) for b in bounds]
    return Op(kind, [Value(types.FLOAT32, (4, 6)), *values], dict(attrs))


def vector(content: list[object] | None) -> Value:
    """A vector of two int32 that is no constant."""
    value = Value(types.INT32, (2,))
    value.content = None if content is None else np.array(content, object)
    return value


def entries(made: Op) -> tuple[object, ...]:
    spec = SliceSpec.of(made)
    assert spec is not None
    return spec.entries


def test_masks_of_one_entry_each() -> None:
    read = op("tf.StridedSlice", [1, 2, 3, 4], [5, 6, 7, 8], [1, 1, 1, 2], end_mask=8, ellipsis_mask=1,
              new_axis_mask=2, shrink_axis_mask=4)  # fmt: skip
    assert entries(read) == (Rest(), Insert(), Pick(3), Take(4, None, 2))


def test_masks_that_clash() -> None:
    read = op("tf.StridedSlice", [1, 1, 1], [2, 2, 2], [1, 1, 1], begin_mask=7, end_mask=7, ellipsis_mask=1,
              new_axis_mask=3, shrink_axis_mask=7)  # fmt: skip
    assert entries(read) == (Rest(), Insert(), Pick(1))
    assert Masks.of(read).without_clashes() == (0, 0, 1, 2, 4)


def test_what_tflite_reads_differently() -> None:
    assert SliceSpec.of(op("tfl.STRIDED_SLICE", [1], [2], [1], begin_mask=1, shrink_axis_mask=1)) is None
    assert SliceSpec.of(op("tfl.STRIDED_SLICE", [1], [2], [1], offset=True)) is None
    assert entries(op("tfl.STRIDED_SLICE", [1], [2], [1], shrink_axis_mask=1)) == (Pick(1),)


@pytest.mark.parametrize("kind", ["tf.Slice", "tfl.SLICE"])
def test_sizes(kind: str) -> None:
    assert entries(op(kind, [1, 0], [2, -1])) == (Take(1, 3), Take(0, None))
    n = symbol("n")
    assert entries(op(kind, [1, 0], vector([n, 2]))) == (Take(1, 1 + n), Take(0, 2))
    assert entries(op(kind, [1, 0], vector(None))) == (Take(1, UNKNOWN), Take(0, UNKNOWN))


def test_bounds_of_a_pack() -> None:
    index = Value(types.INT32, ())
    begin = Op("tf.Pack", [constant(np.int32(0)), index]).add_result(types.INT32, (2,))
    read = op("tf.StridedSlice", begin, vector(None), [1, 1], begin_mask=1, end_mask=1, shrink_axis_mask=2)
    assert entries(read) == (WHOLE, Pick(index))
    assert SliceSpec.of(read).picked() == (1, index)  # type: ignore[union-attr]


def test_no_slices() -> None:
    assert SliceSpec.of(None) is None
    assert SliceSpec.of(op("tf.Transpose", [1, 0])) is None
    assert SliceSpec.of(op("tf.StridedSlice", *[vector(None)] * 3)) is None
    assert SliceSpec.of(op("tf.StridedSlice", [1], [1, 2], [1])) is None


def test_unfolded() -> None:
    assert SliceSpec((Pick(0), Rest(), Take(1, 2))).unfold(4) == [Pick(0), WHOLE, WHOLE, Take(1, 2)]
    assert SliceSpec((Insert(), Pick(0))).unfold(2) == [Insert(), Pick(0), WHOLE]
    assert SliceSpec((Pick(0), Pick(0))).unfold(1) is None
    assert SliceSpec((Rest(), Rest())).unfold(3) is None


def test_what_is_taken_of_a_dimension() -> None:
    assert WHOLE.takes_all()
    assert Take(0, 6).takes_all(6)
    assert not Take(0, 6).takes_all(symbol("n"))
    assert not Take(1, None).takes_all(6)
    assert not Take(None, None, -1).takes_all(6)
    assert not Pick(0).takes_all(1)


def test_plain_slices() -> None:
    assert SliceSpec((WHOLE, Take(1, 2))).takes() == (WHOLE, Take(1, 2))
    assert SliceSpec((WHOLE, Pick(1))).takes() is None
    assert SliceSpec((WHOLE, Pick(1))).dimensions() == (WHOLE, Pick(1))
    for other in (Rest(), Insert(), Take(0, 2, 2)):
        assert SliceSpec((WHOLE, other)).dimensions() is None
        assert SliceSpec((other, Pick(1))).picked() is None
        assert SliceSpec((Pick(1), other, WHOLE)).picked() is None
    assert SliceSpec((WHOLE, Pick(1), Rest())).picked() == (1, 1)
    assert SliceSpec((Pick(1), Pick(1))).picked() is None
    assert SliceSpec((WHOLE,)).picked() is None


@pytest.mark.parametrize("spec", [(Take(1, None), Pick(-1)), (Insert(), Take(None, 3, 2)), (Pick(2), Rest(), WHOLE)])
def test_written_and_read_back(spec: tuple[object, ...]) -> None:
    *bounds, masks = SliceSpec(spec).operands()  # type: ignore[arg-type]
    assert entries(op("tf.StridedSlice", *bounds, **masks)) == spec  # type: ignore[arg-type]


def test_index() -> None:
    x = np.arange(24).reshape(4, 6)
    np.testing.assert_array_equal(x[SliceSpec((Take(1, None, 2), Insert(), Pick(-1))).index()], x[1::2, None, -1])
    np.testing.assert_array_equal(x[SliceSpec((Rest(), Pick(0))).index()], x[..., 0])
    assert isinstance(x[SliceSpec((Pick(0), Pick(0))).index()], np.ndarray)
