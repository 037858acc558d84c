"""Which slices lie where sizes of their operand say."""

from __future__ import annotations

import pytest

from fuseconv.ir.dims import symbol
from fuseconv.report.records import Report
from fuseconv.transforms.tf.canonicalize import canonicalize
from fuseconv.transforms.tf.slice_bounds import elements_of, slice_bounds
from tests.tf.text_cases import module_of

_N = symbol("n")
_LINES = [
    "input %x: float32[n,m]", "%shape: int32[2] = tf.Shape(%x)",
    "%n: int32[] = tf.StridedSlice(%shape, int32[1] [0], int32[1] [1], int32[1] [1]) {'shrink_axis_mask': 1}",
    "%m: int32[] = tf.StridedSlice(%shape, int32[1] [1], int32[1] [2], int32[1] [1]) {'shrink_axis_mask': 1}",
    "%less: int32[] = tf.AddV2(%n, int32[] -2)", "%rest: int32[] = tf.Maximum(%less, int32[] 0)",
    "%two: int32[] = tf.Minimum(%n, int32[] 2)", "%five: int32[] = tf.Minimum(%n, int32[] 5)",
    "%minus: int32[] = tf.Mul(%two, int32[] -1)", "%between: int32[] = tf.AddV2(%five, %minus)",
    "%after: int32[] = tf.AddV2(%n, %minus)", "%double: int32[] = tf.Mul(%two, int32[] 2)",
    "%far: int32[] = tf.Minimum(%n, int32[] 99999)", "%other: int32[] = tf.Minimum(%m, int32[] 2)",
]  # fmt: skip


@pytest.mark.parametrize(("start", "taken", "bounds"), [
    ("int32[] 0", "%two", (0, 2)),  # x[:2]
    ("%two", "%after", (2, _N)),  # x[2:], written n - min(2, n)
    ("int32[] 2", "%less", (2, _N)),  # x[2:] of two or more
    ("%two", "%between", (2, 5)),  # x[2:5]
    ("int32[] 0", "%rest", (0, -2)),  # x[:-2]
    ("%rest", "%two", (-2, _N)),  # x[-2:]
    ("%less", "int32[] 2", (-2, _N)),
    ("int32[] 1", "%rest", (1, -1)),  # x[1:-1]
    ("int32[] 7", "int32[] 0", (7, 7)),
    # Slices that begin or end elsewhere for some sizes, or whose sizes say too much or are other ones
    ("int32[] 1", "int32[] 3", None), ("%two", "%rest", (2, _N)), ("%rest", "%between", None), ("%less", "%less", None),
    ("int32[] 0", "%double", None), ("int32[] 0", "%far", None), ("int32[] 0", "%other", None), ("%m", "%two", None),
])  # fmt: skip
def test_bounds(start: str, taken: str, bounds: tuple | None) -> None:
    vectors = [f"%starts: int32[1] = tf.Pack({start})", f"%sizes: int32[1] = tf.Pack({taken})"]
    module, _ = module_of("main {\n" + "\n".join([*_LINES, *vectors, "return %starts, %sizes"]) + "\n}")
    canonicalize(module, Report())
    (graph,) = module.graphs()
    first, count = map(elements_of, graph.outputs)
    assert first is not None and count is not None
    assert slice_bounds(first[0], count[0], _N) == bounds


def test_elements_are_known_each_by_itself() -> None:
    joined = "tf.ConcatV2(int32[1] [0], %two_of, int32[1] [4], int32[] 0)"
    lines = ["%two_of: int32[1] = tf.Pack(%two)", f"%all: int32[3] = {joined}"]
    module, _ = module_of("main {\n" + "\n".join([*_LINES, *lines, "return %all, %x"]) + "\n}")
    canonicalize(module, Report())
    (graph,) = module.graphs()
    elements = elements_of(graph.outputs[0])
    assert elements is not None and elements[0] == 0 and elements[2] == 4 and len(elements) == 3
    assert elements_of(graph.outputs[1]) is None
