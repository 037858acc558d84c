"""Ranges of whole numbers, and what ops make of them."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import Op
from fuseconv.tf.integer_range import ANY, FALSE, TRUE, TRUTH, Range, every, handed_on, of_constant, range_of_result
from tests.tf.text_cases import module_of


def some(*ends: int) -> Range:
    """The range of one number after the other: low, high, low, high."""
    return Range(ends[::2], ends[1::2])


def test_ranges_join_and_meet() -> None:
    assert some(0, 5) | some(3, 9) == some(0, 9) and some(0, 5) & some(3, 9) == some(3, 5)
    assert some(0, 5) | some(1, 2, 7, 8) == some(0, 5, 0, 8)
    assert some(1, 2, 7, 8).joined == some(1, 8) and some(0, 9).holds(some(1, 2, 7, 8))
    assert not some(0, 3, 0, 7).holds(some(1, 2, 7, 8))
    assert some(1, 2, 7, 8) | some(0, 1, 0, 1, 0, 1) == some(0, 8)


def test_types_and_constants() -> None:
    assert every(types.INT8) == some(-128, 127) and every(types.BOOL) == TRUTH and every(types.FLOAT32) is ANY
    assert of_constant(np.array([3, -1], np.int64)) == some(3, 3, -1, -1)
    assert of_constant(np.array([[3, 7], [4, -1]])) == some(3, 4, -1, 7)
    assert of_constant(np.arange(40)) == some(0, 39) and of_constant(np.array(True)) == TRUE
    assert of_constant(np.ones(2)) is of_constant(np.ones(0, int)) is of_constant(np.ones(1 << 17, int)) is None


def op_of(text: str) -> Op:
    """The last op of a graph."""
    module, _ = module_of(f"""
    main {{
      input %x: int32[b,2]
      input %v: int32[2]
      input %n: int32[]
      input %f: float32[b,2]
      input %c: bool[b,2]
      {text}
      return %r
    }}
    """)
    (graph,) = module.graphs()
    return graph.ops[-1]


@pytest.mark.parametrize(("text", "ranges", "made"), [
    ("%r: int32[b,2] = tf.AddV2(%x, %v)", [some(0, 9), some(1, 1, 5, 6)], some(1, 10, 5, 15)),
    ("%r: int32[b,2] = tf.Sub(%x, %v)", [some(0, 9), some(1, 1, 5, 6)], some(-1, 8, -6, 4)),
    ("%r: int32[b,2] = tf.Mul(%x, %v)", [some(-3, 2), some(-5, 4)], some(-12, 15)),
    ("%r: int32[b,2] = tf.Mul(%x, %v)", [some(0, 1 << 30), some(0, 2)], None),
    ("%r: int32[b,2] = tf.Neg(%x)", [some(-3, 2)], some(-2, 3)),
    ("%r: int32[b,2] = tf.FloorMod(%x, %v)", [some(-3, 9), some(7, 7, 20, 20)], some(0, 6, 0, 19)),
    ("%r: int32[b,2] = tf.FloorMod(%x, %v)", [some(2, 5), some(7, 7, 20, 20)], some(2, 5, 2, 5)),
    ("%r: int32[b,2] = tf.FloorMod(%x, %v)", [some(2, 5), some(0, 7)], None),
    ("%r: int32[b,2] = tf.Maximum(%x, %v)", [some(-3, 9), some(0, 0, 5, 5)], some(0, 9, 5, 9)),
    ("%r: int32[b,2] = tf.Minimum(%x, %v)", [every(types.INT32), some(0, 0, 5, 5)], some(-(1 << 31), 0, -(1 << 31), 5)),
    ("%r: bool[b,2] = tf.Less(%x, %v)", [some(0, 4), some(0, 0, 5, 5)], Range((0, 1), (0, 1))),
    ("%r: bool[b,2] = tf.LessEqual(%x, %v)", [some(0, 4), some(3, 9)], None),
    ("%r: bool[b,2] = tf.Greater(%x, %v)", [some(5, 6), some(3, 4)], TRUE),
    ("%r: bool[b,2] = tf.GreaterEqual(%x, %v)", [some(0, 2), some(3, 4)], FALSE),
    ("%r: bool[b,2] = tf.Equal(%x, %v)", [some(0, 2), some(3, 4)], FALSE),
    ("%r: bool[b,2] = tf.NotEqual(%x, %v)", [some(3, 3), some(3, 3)], FALSE),
    ("%r: bool[b,2] = tf.Equal(%f, %f)", [ANY, ANY], None),
    ("%r: bool[b,2] = tf.LogicalNot(%c)", [TRUE], FALSE),
    ("%r: bool[b,2] = tf.LogicalAnd(%c, %c)", [TRUTH, FALSE], FALSE),
    ("%r: bool[b,2] = tf.LogicalOr(%c, %c)", [TRUTH, TRUE], TRUE),
    ("%r: bool[b] = tf.All(%c, int32[] 1)", [TRUE, some(1, 1)], TRUE),
    ("%r: bool[b] = tf.All(%c, int32[] 1)", [FALSE, some(1, 1)], None),
    ("%r: bool[b] = tf.Any(%c, int32[] 1)", [FALSE, some(1, 1)], FALSE),
    ("%r: int32[b,2] = tf.SelectV2(%c, %x, %v)", [TRUTH, some(0, 1), some(5, 6, 7, 8)], some(0, 6, 0, 8)),
    ("%r: int32[b,2] = tf.SelectV2(%c, %x, %v)", [FALSE, some(0, 1), some(5, 6, 7, 8)], some(5, 6, 7, 8)),
    ("%r: int32[b] = tf.ArgMax(%f, int32[] 1)", [ANY, some(1, 1)], some(0, 1)),
    ("%r: int32[2] = tf.ArgMax(%f, int32[] 0)", [ANY, some(0, 0)], None),
    ("%r: int8[b,2] = tf.Cast(%x)", [some(0, 127)], some(0, 127)),
    ("%r: int8[b,2] = tf.Cast(%x)", [some(0, 128)], None),
    ("%r: int32[2] = tf.Pack(%n, %n)", [some(0, 7), some(0, 0)], some(0, 7, 0, 0)),
    ("%r: int32[2,b,2] = tf.Pack(%x, %x)", [some(0, 7), some(9, 9)], some(0, 9)),
    ("%r: int32[4] = tf.ConcatV2(%v, %v, int32[] 0)",
     [some(0, 7), some(1, 1, 2, 2), FALSE], some(0, 7, 0, 7, 1, 1, 2, 2)),
    ("%r: int32[b,4] = tf.ConcatV2(%x, %x, int32[] 1)", [some(0, 7), some(1, 1, 2, 2), TRUE], some(0, 7)),
    ("%r: int32[3] = tf.GatherV2(%v, int32[3] [1, 0, 1], int32[] 0)",
     [some(1, 1, 2, 3), some(0, 1), FALSE], some(2, 3, 1, 1, 2, 3)),
    ("%r: int32[b,2] = tf.GatherV2(%x, int32[2] [1, 0], int32[] 1)", [some(1, 1, 2, 3), some(0, 1), TRUE], some(1, 3)),
    ("%r: int32[2,b] = tf.Transpose(%x, int32[2] [1, 0])", [some(1, 1, 2, 3), some(0, 1)], some(1, 3)),
    ("%r: int32[3,2] = tf.Fill(int32[2] [3, 2], %n)", [some(2, 3), some(4, 5)], some(4, 5)),
    ("%r: int32[b,2] = tf.XlaDynamicUpdateSlice(%x, %x, %v)", [some(2, 3), some(9, 9), some(0, 0)], some(2, 9)),
    ("%r: int32[b,2] = tf.Square(%x)", [some(2, 3)], None),
])  # fmt: skip
def test_what_ops_make_of_ranges(text: str, ranges: list[Range], made: Range | None) -> None:
    assert range_of_result(op_of(text), ranges) == made


@pytest.mark.parametrize(("text", "ranges", "operand"), [
    ("%r: int32[b,2] = tf.Maximum(%x, %v)", [some(0, 9, 5, 9), some(0, 0, 5, 5)], 0),
    ("%r: int32[b,2] = tf.Maximum(%x, %v)", [some(0, 9, 4, 9), some(0, 0, 5, 5)], None),
    ("%r: int32[b,2] = tf.Maximum(%x, %v)", [some(0, 9), some(9, 10)], 1),
    ("%r: int32[b,2] = tf.Minimum(%x, %v)", [some(0, 0, 0, 6), some(0, 0, 6, 6)], 0),
    ("%r: int32[b,2] = tf.Minimum(%x, %v)", [some(0, 6), some(0, 0, 6, 6)], None),
    ("%r: int32[b,2] = tf.FloorMod(%x, %v)", [some(0, 6), some(7, 7)], 0),
    ("%r: int32[b,2] = tf.FloorMod(%x, %v)", [some(0, 7), some(7, 7)], None),
    ("%r: bool[b,2] = tf.LogicalAnd(%c, %c)", [TRUTH, TRUE], 0),
    ("%r: bool[b,2] = tf.LogicalOr(%c, %c)", [TRUTH, TRUTH], None),
    ("%r: float32[b,2] = tf.SelectV2(%c, %f, %f)", [Range((1, 0), (1, 1)), ANY, ANY], None),
    ("%r: int32[b,2] = tf.SelectV2(%c, %x, %v)", [TRUE, ANY, ANY], 1),
    ("%r: float32[b,2] = tf.Maximum(%f, %f)", [ANY, ANY], None),
])  # fmt: skip
def test_operands_that_are_handed_on(text: str, ranges: list[Range], operand: int | None) -> None:
    op = op_of(text)
    assert handed_on(op, ranges) is (None if operand is None else op.operands[operand])
