"""Ops in an order in which they can run."""

from __future__ import annotations

from fuseconv.ir.graph import Op
from fuseconv.ir.types import FLOAT32, INT32
from fuseconv.transforms.tf.outliner import in_order


def made(kind: str, *readers_of: Op) -> Op:
    op = Op(f"tf.{kind}", [each.results[0] for each in readers_of])
    op.add_result(FLOAT32, ())
    return op


def test_what_is_read_comes_first_and_the_rest_stays() -> None:
    first, other = made("Sin"), made("Cos")
    last = made("Add", first, other)
    assert in_order([last, other, first]) == [first, other, last]
    assert in_order([other, first, last]) == [other, first, last]


def test_what_the_next_iteration_brings_comes_later() -> None:
    entered = made("Enter")
    merge = made("Merge", entered, entered)
    merge.add_result(INT32, ())
    step = Op("tf.NextIteration", [merge.results[0]])
    step.add_result(FLOAT32, ())
    merge.set_operand(1, step.result)
    assert in_order([entered, merge, step]) == [entered, merge, step]
