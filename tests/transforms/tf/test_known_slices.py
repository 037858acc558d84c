"""Slices of StableHLO whose places are known."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.report.records import Report
from fuseconv.transforms.tf.canonicalize import canonicalize
from fuseconv.transforms.tf.simplify_stablehlo import simplify_stablehlo
from tests.tf.text_cases import module_of

_SIZES = [
    "%s: int32[2] = tf.Shape(%x)",
    "%t: int32[] = tf.StridedSlice(%s, int32[1] [1], int32[1] [2], int32[1] [1]) {'shrink_axis_mask': 1}",
]
_LAST = "%last: int32[] = tf.AddV2(%t, int32[] -1)"



def _sliced(*lines: str) -> list | None:
    """Return begins, ends, strides and masks of the slice that the last of the lines becomes; None if it becomes
    none."""
    return _slice_of(["input %x: float32[b,t]", *_SIZES, *lines])


def _of_cube(*lines: str) -> list | None:
    """Return the same of lines that read %q, whose shape comes last."""
    return _slice_of([f"input %q: float32[{lines[-1]}]", *lines[:-1]])


def _slice_of(lines: list[str]) -> list | None:
    module, _ = module_of("main {\n" + "\n".join([*lines, "return %y"]) + "\n}")
    canonicalize(module, Report())
    simplify_stablehlo(module)
    (graph,) = module.graphs()
    (result,) = graph.outputs
    op = result.op
    assert op is not None
    if op.kind != "tf.StridedSlice":
        return None
    bounds = [np.asarray(bound.data).tolist() for bound in op.operands[1:] if bound is not None]
    return [*bounds, dict(op.attrs)]


@pytest.mark.parametrize(("start", "taken", "shape", "after"), [
    # x[:, 1:], x[:, :-1], x[:, 1:-1] and, clamped as it starts too far, x[:, 1:]
    ("0, 1", "-1", "b,?n", [[0, 1], [0, 0], [1, 1], {"begin_mask": 1, "end_mask": 3}]),
    ("0, 0", "-1", "b,?n", [[0, 0], [0, -1], [1, 1], {"begin_mask": 3, "end_mask": 1}]),
    ("0, 1", "-2", "b,?n", [[0, 1], [0, -1], [1, 1], {"begin_mask": 1, "end_mask": 1}]),
    ("0, 9", "-1", "b,?n", [[0, 1], [0, 0], [1, 1], {"begin_mask": 1, "end_mask": 3}]),
    # Where the last row starts that this may take is not known.
    ("0, 1", "3", "b,3", None),
    ("0, 0", "3", "b,3", [[0, 0], [0, 3], [1, 1], {"begin_mask": 3, "end_mask": 1}]),
])  # fmt: skip
def test_slices_of_unknown_sizes(start: str, taken: str, shape: str, after: list | None) -> None:
    size = "%n: int32[] = tf.AddV2(%t, int32[] " + taken + ")" if taken[0] == "-" else None
    lines = [
        "%b: int32[] = tf.StridedSlice(%s, int32[1] [0], int32[1] [1], int32[1] [1]) {'shrink_axis_mask': 1}",
        *([size] if size else []), f"%sizes: int32[2] = tf.Pack(%b, {'%n' if size else 'int32[] ' + taken})",
    ]  # fmt: skip
    assert _sliced(*lines, f"%y: float32[{shape}] = tf.XlaDynamicSlice(%x, int32[2] [{start}], %sizes)") == after


def test_a_slice_of_the_last_elements() -> None:
    lines = [
        "%b: int32[] = tf.StridedSlice(%s, int32[1] [0], int32[1] [1], int32[1] [1]) {'shrink_axis_mask': 1}",
        "%n: int32[] = tf.AddV2(%t, int32[] -3)", "%starts: int32[2] = tf.Pack(int32[] 0, %n)",
        "%sizes: int32[2] = tf.Pack(%b, int32[] 3)",
    ]  # fmt: skip
    made = _sliced(*lines, "%y: float32[b,3] = tf.XlaDynamicSlice(%x, %starts, %sizes)")
    assert made == [[0, -3], [0, 0], [1, 1], {"begin_mask": 1, "end_mask": 3}]


def _counted(offset: int, step: int, count: str) -> list[str]:
    """Return min(offset + step * [0, 1, ..., count], t - 1), as JAX has indices."""
    return [
        f"%more: int32[] = tf.AddV2(%t, int32[] {count})", f"%n: int32[] = tf.FloorDiv(%more, int32[] {step})",
        "%i: int32[?] = tf.Range(int32[] 0, %n, int32[] 1)", f"%j: int32[?] = tf.Mul(int32[] {step}, %i)",
        f"%k: int32[?] = tf.AddV2(int32[] {offset}, %j)", _LAST, "%held: int32[?] = tf.Minimum(%k, %last)",
        "%at: int32[?] = tf.Maximum(%held, int32[] 0)",
    ]  # fmt: skip


@pytest.mark.parametrize(("offset", "count", "masks"), [
    (0, "1", {"begin_mask": 3, "end_mask": 3}),
    (1, "0", {"begin_mask": 1, "end_mask": 3}),
    # One row fewer than such a slice has, and one more
    (1, "-2", None), (0, "2", None), (-1, "1", None),
])  # fmt: skip
def test_indices_that_count_are_a_slice(offset: int, count: str, masks: dict[str, int] | None) -> None:
    made = _sliced(*_counted(offset, 2, count), "%y: float32[b,?] = tf.GatherV2(%x, %at, int32[] 1)")
    assert made == (None if masks is None else [[0, offset], [0, 0], [1, 2], masks])


def test_indices_that_count_down_are_a_reversal() -> None:
    lines = [
        _LAST, "%i: int32[t] = tf.Range(int32[] 0, %t, int32[] 1)", "%j: int32[t] = tf.Mul(int32[] -1, %i)",
        "%k: int32[t] = tf.AddV2(%last, %j)",
    ]  # fmt: skip
    made = _sliced(*lines, "%y: float32[b,t] = tf.GatherV2(%x, %k, int32[] 1)")
    assert made == [[0, 0], [0, 0], [1, -1], {"begin_mask": 3, "end_mask": 3}]
    turned = "%r: int32[t] = tf.ReverseV2(%k, int32[1] [0])"
    made = _sliced(*lines, turned, "%y: float32[b,t] = tf.GatherV2(%x, %r, int32[] 1)")
    assert made == [[0, 0], [0, 0], [1, 1], {"begin_mask": 3, "end_mask": 3}]


@pytest.mark.parametrize(("back", "named"), [(-1, True), (-2, False)])
def test_the_last_element_is_a_slice(back: int, named: bool) -> None:
    lines = [
        f"%i: int32[] = tf.AddV2(%t, int32[] {back})", _LAST, "%j: int32[] = tf.Minimum(%i, %last)",
        "%k: int32[] = tf.Maximum(%j, int32[] 0)",
    ]  # fmt: skip
    made = _sliced(*lines, "%y: float32[b] = tf.GatherV2(%x, %k, int32[] 1)")
    masks = {"begin_mask": 1, "end_mask": 1, "shrink_axis_mask": 2}
    assert made == ([[0, -1], [0, 0], [1, 1], masks] if named else None)


@pytest.mark.parametrize(("bounds", "masks", "after"), [
    ("int32[2] [3, 0], int32[2] [4, 0], int32[2] [1, 1]", "'begin_mask': 2, 'end_mask': 2",
     [[3, 0], [4, 0], [1, 1], {"begin_mask": 2, "end_mask": 2, "shrink_axis_mask": 1}]),
    ("int64[2] [9, 0], int64[2] [1, 0], int64[2] [1, 1]", "'begin_mask': 3, 'end_mask': 2",
     [[0, 0], [1, 0], [1, 1], {"begin_mask": 2, "end_mask": 2, "shrink_axis_mask": 1}]),
    # Of an unknown number of rows nobody knows the last; one of every other is not what a single place takes.
    ("int32[2] [-1, 0], int32[2] [0, 0], int32[2] [1, 1]", "'begin_mask': 2, 'end_mask': 3", None),
    ("int32[2] [3, 0], int32[2] [5, 0], int32[2] [2, 1]", "'begin_mask': 2, 'end_mask': 2", None),
])  # fmt: skip
def test_a_single_row_without_its_dimension(bounds: str, masks: str, after: list | None) -> None:
    cut = f"%c: float32[1,t] = tf.StridedSlice(%x, {bounds}) {{{masks}}}"
    assert _sliced(cut, "%y: float32[t] = tf.Squeeze(%c) {'squeeze_dims': [0]}") == after


def test_a_single_column_keeps_its_dimension() -> None:
    cut = "%c: float32[b,1] = tf.StridedSlice(%x, int32[2] [0, 3], int32[2] [0, 4], int32[2] [1, 1])"
    masks = "{'begin_mask': 1, 'end_mask': 1}"
    assert _sliced(f"{cut} {masks}", "%y: float32[b] = tf.Squeeze(%c) {'squeeze_dims': [1]}") is None


@pytest.mark.parametrize(("places", "shape", "after"), [
    ("[[[0, 1], [0, 3]], [[2, 1], [2, 3]], [[4, 1], [4, 3]]]", "3,2,b,2",
     [[0, 1, 0, 0], [5, 4, 0, 2], [2, 2, 1, 1], {"begin_mask": 13, "end_mask": 12}]),
    ("[[[1, 4]]]", "1,1,b,2", [[1, 4, 0, 0], [2, 5, 0, 2], [1, 1, 1, 1], {"begin_mask": 12, "end_mask": 14}]),
    ("[[[0, 1], [0, 3]], [[2, 1], [2, 4]]]", "2,2,b,2", None),  # no grid
    ("[[[2, 1]], [[0, 1]]]", "2,1,b,2", None),  # backwards
    ("[[[4, 1]], [[8, 1]]]", "2,1,b,2", None),  # beyond the end, where TensorFlow fails or reads 0
])  # fmt: skip
def test_a_grid_of_known_places_is_a_slice(places: str, shape: str, after: list | None) -> None:
    rows, columns = (int(size) for size in shape.split(",")[:2])
    made = _of_cube(f"%y: float32[{shape}] = tf.GatherNd(%q, int32[{rows},{columns},2] {places})", "6,5,b,2")
    assert made == after


@pytest.mark.parametrize(("moved", "back", "after"), [
    ("1, 2, 0, 3", "2, 0, 1, 3", [[0, 1, 0, 0], [0, 0, 4, 0], [1, 2, 1, 1], {"begin_mask": 13, "end_mask": 11}]),
    ("1, 2, 0, 3", "1, 0, 2, 3", None),
])  # fmt: skip
def test_a_slice_between_transpositions(moved: str, back: str, after: list | None) -> None:
    shapes = {"2, 0, 1, 3": "b,3,4,2", "1, 0, 2, 3": "4,3,b,2"}
    made = _of_cube(
        f"%t1: float32[6,5,b,2] = tf.Transpose(%q, int32[4] [{moved}])",
        "%c: float32[3,4,b,2] = tf.StridedSlice(%t1, int32[4] [1, 0, 0, 0], int32[4] [0, 4, 0, 0], "
        "int32[4] [2, 1, 1, 1]) {'begin_mask': 14, 'end_mask': 13}",
        f"%y: float32[{shapes[back]}] = tf.Transpose(%c, int32[4] [{back}])", "b,6,5,2",
    )  # fmt: skip
    assert made == after
