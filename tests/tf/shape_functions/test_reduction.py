"""Shapes of reductions."""

from __future__ import annotations

import numpy as np

from fuseconv.ir.dims import Shape, symbol
from fuseconv.ir.graph import Op, Value, constant
from fuseconv.ir.types import FLOAT32, INT32
from fuseconv.tf.shape_functions import contradiction, infer
from tests.check_pass import check_pass


def test_axes_that_go_and_stay() -> None:
    check_pass("canonicalize", """
    main {
      input %x: float32[n,2,3]
      %a: float32[*] = tf.Max(%x, int32[] -1)
      %b: float32[*] = tf.Mean(%x, int32[2] [0, 1]) {'keep_dims': True}
      %c: int64[*] = tf.ArgMax(%x, int32[] 0)
      return %a, %b, %c
    }
    """, """
    main {
      input %x: float32[n,2,3]
      %a: float32[n,2] = tf.Max(%x, int32[] -1)
      %b: float32[1,1,3] = tf.Mean(%x, int32[2] [0, 1]) {'keep_dims': True}
      %c: int64[2,3] = tf.ArgMax(%x, int32[] 0)
      return %a, %b, %c
    }
    """)


def test_more_than_there_are_cannot_be_the_largest() -> None:
    op = Op("tf.TopKV2", [Value(FLOAT32, (10, 3)), constant(np.array(4, np.int32))])
    op.add_result(FLOAT32, None)
    op.add_result(INT32, None)
    assert "the 4 largest of 3 elements" in contradiction(op)
    op.set_operand(0, Value(FLOAT32, (10, symbol("n"))))
    assert not contradiction(op)


def test_axes_that_only_a_run_tells() -> None:
    def inferred(kind: str, axes: tuple[int, ...], **attrs: bool) -> Shape | None:
        op = Op(f"tf.{kind}", [Value(FLOAT32, (symbol("n"), 3)), Value(INT32, axes)], attrs)
        op.add_result(FLOAT32, None)
        return (infer(op) or [None])[0]

    assert inferred("Sum", (0,)) == (symbol("n"), 3)
    assert inferred("Sum", (1,)) is None
    for of_two in (inferred("Sum", (1,), keep_dims=True), (*(inferred("ArgMax", ()) or ()), 1)):
        assert of_two is not None and len(of_two) == 2 and not {*of_two} & {symbol("n"), 3}
