"""Constants of slices are folded."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import Op, constant
from fuseconv.tf.folders import evaluate
from tests.check_pass import check_pass


def test_slices_of_constants() -> None:
    check_pass("canonicalize", """
    main {
      %a: int32[*] = tf.StridedSlice(int32[4] [1, 2, 3, 4], int32[1] [-1], int32[1] [0], int32[1] [-2]) {'end_mask': \
1}
      %b: int32[*] = tf.Slice(int32[4] [1, 2, 3, 4], int32[1] [1], int32[1] [2])
      %c: int32[*] = tf.StridedSlice(int32[4] [1, 2, 3, 4], int32[1] [2], int32[1] [3], int32[1] [1]) \
{'shrink_axis_mask': 1}
      return %a, %b, %c
    }
    """, """
    main {
      return int32[2] [4, 2], int32[2] [2, 3], int32[] 3
    }
    """)


def test_slices_that_begin_where_a_number_says_are_held_within() -> None:
    check_pass("canonicalize", """
    main {
      %a: int32[4] = tf.XlaDynamicUpdateSlice(int32[4] [1, 2, 3, 4], int32[2] [8, 9], int32[1] [1])
      %b: int32[4] = tf.XlaDynamicUpdateSlice(int32[4] [1, 2, 3, 4], int32[2] [8, 9], int32[1] [3])
      %c: int32[2] = tf.XlaDynamicSlice(int32[4] [1, 2, 3, 4], int32[1] [-5], int32[1] [2])
      return %a, %b, %c
    }
    """, """
    main {
      return int32[4] [1, 8, 9, 4], int32[4] [1, 2, 8, 9], int32[2] [1, 2]
    }
    """)


@pytest.mark.parametrize("start", [[0, 0], [1, 2], [2, 4], [-3, 1], [7, -9]])
def test_slices_are_where_xla_has_them(start: list[int]) -> None:
    import tensorflow as tf
    from tensorflow.compiler.tf2xla.ops import gen_xla_ops

    x, update = np.arange(20, dtype=np.float32).reshape(4, 5), -np.ones([2, 3], np.float32)
    at, size = np.array(start, np.int32), np.array([2, 3], np.int32)
    both = tf.function(
        lambda at: (gen_xla_ops.xla_dynamic_slice(x, at, size), gen_xla_ops.xla_dynamic_update_slice(x, update, at)),
        jit_compile=True,
    )  # fmt: skip
    for kind, operands, wanted in zip(("Slice", "UpdateSlice"), ([x, at, size], [x, update, at]), both(at)):
        op = Op(f"tf.XlaDynamic{kind}", [constant(array) for array in operands], {}, name=kind)
        op.add_result(types.FLOAT32, None)
        made = evaluate(op, operands)
        assert made is not None
        np.testing.assert_array_equal(made[0], wanted.numpy())
