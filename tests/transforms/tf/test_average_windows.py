"""Sums of windows that are average pools."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import Op, Value, constant
from fuseconv.tf.builder import TfBuilder
from fuseconv.transforms.tf.average_windows import Windows, average_pool, constant_sums
from tests.check_pass import check_pass


def _sums(
    x: Value, window: tuple[int, int], strides: tuple[int, int], pads: list[list[int]], computation: str = "Add",
    start: float = 0, batch: tuple[int, int, int, int] = (1, 1, 0, 0),
) -> Op:  # fmt: skip
    def whole(*numbers: int) -> Value:
        return constant(np.array(numbers, np.int32))

    ones = whole(1, 1, 1, 1)
    extent, stride, *outside = batch
    ends = constant(np.array([outside, *pads, [0, 0]], np.int32))
    extents, strides_ = whole(extent, *window, 1), whole(stride, *strides, 1)
    operands = [x, constant(np.float32(start)), extents, strides_, ones, ones, ends]
    op = Op("tf.XlaReduceWindow", operands, {"computation": computation})
    op.add_result(types.FLOAT32, None)
    return op


def _image(height: int = 7, width: int = 6) -> Value:
    return Value(types.FLOAT32, (symbol("b"), height, width, 2))


def _pooled(sums: Value, **given: np.ndarray) -> tuple[Value | None, dict] | None:
    made = average_pool(sums, TfBuilder([], Op("tf.RealDiv", [])), **given)
    return None if made is None or made.op is None else (made.op.operands[0], made.op.attrs)


# A 7 x 6 image, windows of 3 x 2: how many rows and columns each has.
_SAME = ([[1, 1], [0, 1]], [2, 3, 3, 3, 3, 3, 2], [2, 2, 2, 2, 2, 1])
_STRIDED = ([[1, 1], [0, 0]], [2, 3, 3, 2], [2, 2, 2])


@pytest.mark.parametrize(("strides", "case", "padding"), [((1, 1), _SAME, "SAME"), ((2, 2), _STRIDED, "SAME")])
def test_sums_over_counts_are_an_average_pool(strides: tuple[int, int], case: tuple, padding: str) -> None:
    pads, rows, columns = case
    counts = np.outer(rows, columns)[None, :, :, None].astype(np.float32)
    x = _image()
    op = _sums(x, (3, 2), strides, pads)
    expected = (x, {"ksize": [1, 3, 2, 1], "strides": [1, *strides, 1], "padding": padding})
    assert _pooled(op.result, divisor=counts) == expected
    assert _pooled(op.result, factor=1 / counts) == expected


def test_without_padding_one_number_counts_all() -> None:
    op = _sums(_image(), (3, 2), (2, 2), [[0, 0], [0, 0]])
    found = _pooled(op.result, divisor=np.array(6, np.float32))
    assert found is not None and found[1]["padding"] == "VALID"
    assert _pooled(op.result, divisor=np.array(5, np.float32)) is None


@pytest.mark.parametrize("op", [
    _sums(_image(), (3, 2), (1, 1), [[0, 2], [0, 1]]),  # TensorFlow pads both ends
    _sums(_image(), (3, 2), (1, 1), _SAME[0], "Max"),
    _sums(Value(types.FLOAT32, (1, symbol("h"), 6, 2)), (3, 2), (1, 1), _SAME[0]),
    _sums(_image(), (3, 2), (1, 1), _SAME[0], start=1),
    *[_sums(_image(), (3, 2), (1, 1), _SAME[0], batch=batch) for batch in ((2, 1, 0, 0), (1, 2, 0, 0), (1, 1, 0, 1))],
])  # fmt: skip
def test_others_are_no_average_pool(op: Op) -> None:
    windows = Windows.of(op)
    counts = np.ones((1, 1, 1, 1), np.float32) if windows is None else windows.counts()
    assert _pooled(op.result, divisor=counts) is None


@pytest.mark.parametrize("pads", [[[1, 1], [0, 1]], [[4, 0], [0, 3]], [[0, 0], [0, 0]], [[-1, 0], [0, -1]]])
def test_counts_are_what_windows_of_ones_sum_up_to(pads: list[list[int]]) -> None:
    op = _sums(constant(np.full((1, 7, 6, 1), 0.5, np.float32)), (3, 2), (2, 1), pads)
    ones = np.zeros((30, 30))
    ones[10:17, 10:16] = 0.5
    (top, bottom), (left, right) = pads
    padded = ones[10 - top : 17 + bottom, 10 - left : 16 + right]
    rows, columns = ((padded.shape[0] - 3) // 2 + 1, padded.shape[1] - 1)
    expected = [[padded[2 * i : 2 * i + 3, j : j + 2].sum() for j in range(columns)] for i in range(rows)]
    made = constant_sums(op)
    assert made is not None
    np.testing.assert_array_equal(made[0, :, :, 0], np.array(expected, np.float32))


def test_sums_of_other_constants_are_not_counts() -> None:
    op = _sums(constant(np.arange(4, dtype=np.float32).reshape(1, 2, 2, 1)), (2, 2), (1, 1), [[0, 0], [0, 0]])
    assert constant_sums(op) is None


def test_the_pass_names_the_pool() -> None:
    text = """
    main {
      input %x: float32[n,4,4,3]
      %sums: float32[n,3,3,3] = tf.XlaReduceWindow(%x, float32[] 0.0, int32[4] [1, 2, 2, 1], int32[4] [1, 1, 1, 1], \
int32[4] [1, 1, 1, 1], int32[4] [1, 1, 1, 1], int32[4,2] [[0, 0], [0, 0], [0, 0], [0, 0]]) {'computation': 'Add'}
      %y: float32[n,3,3,3] = LAST
      return %y
    }
    """
    pool = "tf.AvgPool(%x) {'ksize': [1, 2, 2, 1], 'strides': [1, 1, 1, 1], 'padding': 'VALID'}"
    for last in ("tf.RealDiv(%sums, float32[] 4.0)", "tf.Mul(float32[] 0.25, %sums)"):
        check_pass("simplify-stablehlo", text.replace("LAST", last), text.replace("LAST", pool))


_MOVED = """
    main {
      input %x: float32[n,SIZE,SIZE,2]
      %sums: float32[n,3,3,2] = tf.XlaReduceWindow(%x, float32[] 0.0, int32[4] [1, 2, 2, 1], int32[4] [1, 1, 1, 1], \
int32[4] [1, 1, 1, 1], int32[4] [1, 1, 1, 1], int32[4,2] [[0, 0], PADS, PADS, [0, 0]]) {'computation': 'Add'}
      %moved: float32[n,2,3,3] = tf.Transpose(%sums, int32[4] [0, 3, 1, 2])
      LAST
      return %y
    }
    """
_POOL = """%p: float32[n,3,3,2] = tf.AvgPool(IMAGE) {'ksize': [1, 2, 2, 1], 'padding': 'WORD', 'strides': [1, 1, 1, 1]}
      %y: float32[n,2,3,3] = tf.Transpose(%p, int32[4] [0, 3, 1, 2])"""
_PADDED = "%padded: float32[n,4,4,2] = tf.PadV2(%x, int32[4,2] [[0, 0], [0, 1], [0, 1], [0, 0]], float32[] 0.0)"
_COUNTS = "float32[1,1,3,3] [[[[4.0, 4.0, 2.0], [4.0, 4.0, 2.0], [2.0, 2.0, 1.0]]]]"


@pytest.mark.parametrize(("pads", "size", "divisor", "made"), [
    ("[0, 0]", "4", "float32[] 4.0", _POOL.replace("IMAGE", "%x").replace("WORD", "VALID")),
    ("[0, 1]", "3", _COUNTS, _POOL.replace("IMAGE", "%x").replace("WORD", "SAME")),
    ("[0, 1]", "3", "float32[] 4.0", f"{_PADDED}\n{_POOL.replace('IMAGE', '%padded').replace('WORD', 'VALID')}"),
    ("[0, 1]", "3", "float32[] 5.0", None), ("[0, 1]", "3", "float32[1,1,1,3] [[[[4.0, 4.0, 2.0]]]]", None),
    ("[0, 0]", "4", _COUNTS, None),
])  # fmt: skip
def test_what_is_between_the_sums_and_the_division_stands_behind_the_pool(
    pads: str, size: str, divisor: str, made: str | None
) -> None:
    text = _MOVED.replace("PADS", pads).replace("SIZE", size)
    before = text.replace("LAST", f"%y: float32[n,2,3,3] = tf.RealDiv(%moved, {divisor})")
    check_pass("simplify-stablehlo", before, None if made is None else text.replace("LAST", made))


def test_a_reshape_between_takes_a_divisor_of_its_dimensions() -> None:
    """Windows over rows: the counts are those of an image of one column."""
    image = Value(types.FLOAT32, (symbol("b"), 7, 1, 2))
    sums = _sums(image, (3, 1), (2, 1), [[1, 1], [0, 0]])
    sums.result.shape = (symbol("b"), 4, 1, 2)
    rows = Op("tf.Reshape", [sums.result, constant(np.array([-1, 4, 2], np.int32))], {})
    rows.add_result(types.FLOAT32, (symbol("b"), 4, 2))
    counts = np.array([2, 3, 3, 2], np.float32)
    for divisor, pools in ((counts[:, None], True), (counts, False), (np.array(3, np.float32), True)):
        made = average_pool(rows.result, TfBuilder([], Op("tf.RealDiv", [])), divisor=divisor)
        assert (made.op.kind if made is not None and made.op is not None else None) == ("tf.Reshape" if pools else None)
