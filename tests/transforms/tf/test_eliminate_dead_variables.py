"""Variables that reach no result."""

from __future__ import annotations

import numpy as np
import pytest

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


_HANDLE = "%h: resource[] = tf.VarHandleOp() {'shared_name': 'v'}"


@pytest.mark.parametrize("ops", [
    pytest.param(f"""{_HANDLE}
      tf.AssignVariableOp(%h, %x)
      %y: float32[1] = tf.ResourceGather(%h, int32[1] [0])""", id="an op that reads a part of it"),
    pytest.param(f"""{_HANDLE}
      tf.AssignVariableOp(%h, %x)
      %w: resource[] = tf.VarHandleOp() {{'shared_name': 'w'}}
      %v: float32[2] = tf.ReadVariableOp(%h)
      tf.AssignVariableOp(%w, %v)
      %y: float32[2] = tf.ReadVariableOp(%w)""", id="a variable that is read"),
    pytest.param(f"""{_HANDLE}
      tf.AssignVariableOp(%h, %x)
      %y: float32[2] = tf.PartitionedCall(%h) {{'f': @read}}""", id="a function"),
    pytest.param(f"""{_HANDLE}
      %g: resource[] = tf.StatelessIf(%p, %h) {{'then_branch': @same, 'else_branch': @other}}
      tf.AssignVariableOp(%g, %x)
      %k: resource[] = tf.VarHandleOp() {{'shared_name': 'w'}}
      %y: float32[2] = tf.ReadVariableOp(%k)""", id="one of two"),
])
def test_a_variable_that_is_read(ops: str) -> None:
    variables = {"v": np.zeros(2, np.float32), "w": np.zeros(2, np.float32)}
    check_pass("eliminate-dead-variables", f"""
    main {{
      input %x: float32[2]
      input %p: bool[]
      {ops}
      return %y
    }}
    read {{
      input %h: resource[]
      %y: float32[2] = tf.ReadVariableOp(%h)
      return %y
    }}
    same {{
      input %h: resource[]
      return %h
    }}
    other {{
      input %h: resource[]
      %w: resource[] = tf.VarHandleOp() {{'shared_name': 'w'}}
      return %w
    }}
    """, variables=variables)
