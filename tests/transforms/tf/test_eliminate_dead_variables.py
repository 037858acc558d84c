"""Variables that reach no result."""

from __future__ import annotations

import numpy as np

from tests.check_pass import check_pass


def test_a_counter_that_nobody_reads() -> None:
    check_pass("eliminate-dead-variables", """
    main {
      input %x: float32[2]
      %h: resource[] = tf.VarHandleOp() {'shared_name': 'count'}
      %v: int32[] = tf.ReadVariableOp(%h)
      %w: int32[] = tf.AddV2(%v, int32[] 1)
      tf.AssignVariableOp(%h, %w)
      return %x
    }
    """, """
    main {
      input %x: float32[2]
      %h: resource[] = tf.VarHandleOp() {'shared_name': 'count'}
      %v: int32[] = tf.ReadVariableOp(%h)
      %w: int32[] = tf.AddV2(%v, int32[] 1)
      return %x
    }
    """, variables={"count": np.int32(0)})


def test_a_counter_that_is_returned() -> None:
    check_pass("eliminate-dead-variables", """
    main {
      input %x: float32[2]
      %h: resource[] = tf.VarHandleOp() {'shared_name': 'count'}
      %v: int32[] = tf.ReadVariableOp(%h)
      %w: int32[] = tf.AddV2(%v, int32[] 1)
      tf.AssignVariableOp(%h, %w)
      return %w
    }
    """, variables={"count": np.int32(0)})
