"""Updates of optimizers: reads of variables, arithmetic, and assignments."""

from __future__ import annotations

import numpy as np

from tests.check_pass import check_pass

VARIABLES = {"v": np.ones((4, 2), np.float32), "m": np.zeros((4, 2), np.float32)}


def test_a_step_of_gradient_descent() -> None:
    check_pass("decompose-optimizers", """
    main {
      input %x: float32[4,2]
      %v: resource[] = tf.VarHandleOp() {'shared_name': 'v'}
      tf.ResourceApplyGradientDescent(%v, float32[] 0.1, %x) {'use_locking': True}
      return %x
    }
    """, """
    main {
      input %x: float32[4,2]
      %v: resource[] = tf.VarHandleOp() {'shared_name': 'v'}
      %old: float32[*] = tf.ReadVariableOp(%v) {'dtype': float32}
      %step: float32[*] = tf.Mul(%x, float32[] 0.1)
      %new: float32[*] = tf.Sub(%old, %step)
      tf.AssignVariableOp(%v, %new)
      return %x
    }
    """, variables=VARIABLES)


def test_a_step_on_unique_rows() -> None:
    check_pass("decompose-optimizers", """
    main {
      input %x: float32[2,2]
      input %ids: int32[2]
      %v: resource[] = tf.VarHandleOp() {'shared_name': 'v'}
      %m: resource[] = tf.VarHandleOp() {'shared_name': 'm'}
      %rows: int32[u]; %places: int32[2] = tf.Unique(%ids)
      tf.ResourceSparseApplyMomentum(%v, %m, float32[] 0.1, %x, %rows, float32[] 0.9)
      return %x
    }
    """, """
    main {
      input %x: float32[2,2]
      input %ids: int32[2]
      %v: resource[] = tf.VarHandleOp() {'shared_name': 'v'}
      %m: resource[] = tf.VarHandleOp() {'shared_name': 'm'}
      %rows: int32[u]; %places: int32[2] = tf.Unique(%ids)
      %all: float32[*] = tf.ReadVariableOp(%v) {'dtype': float32}
      %old: float32[*] = tf.GatherV2(%all, %rows, int32[] 0)
      %sums: float32[*] = tf.ReadVariableOp(%m) {'dtype': float32}
      %sum: float32[*] = tf.GatherV2(%sums, %rows, int32[] 0)
      %less: float32[*] = tf.Mul(%sum, float32[] 0.9)
      %more: float32[*] = tf.AddV2(%less, %x)
      %step: float32[*] = tf.Mul(%more, float32[] 0.1)
      %new: float32[*] = tf.Sub(%old, %step)
      tf.ResourceScatterUpdate(%v, %rows, %new)
      tf.ResourceScatterUpdate(%m, %rows, %more)
      return %x
    }
    """, variables=VARIABLES)


def test_rows_that_may_be_equal_stay() -> None:
    check_pass("decompose-optimizers", """
    main {
      input %x: float32[2,2]
      input %ids: int32[2]
      %v: resource[] = tf.VarHandleOp() {'shared_name': 'v'}
      %m: resource[] = tf.VarHandleOp() {'shared_name': 'm'}
      tf.ResourceSparseApplyMomentum(%v, %m, float32[] 0.1, %x, %ids, float32[] 0.9)
      return %x
    }
    """, variables=VARIABLES)
