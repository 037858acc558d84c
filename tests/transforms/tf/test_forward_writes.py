"""What variables are known to hold is read no second time."""

from __future__ import annotations

import numpy as np
import pytest

from tests.check_pass import check_pass

_VARIABLES = {"v": np.array([1, 2], np.float32), "w": np.array([3, 4], np.float32)}
_HANDLES = """
  input %x: float32[2]
  %h: resource[] = tf.VarHandleOp() {'shared_name': 'v'}
  %k: resource[] = tf.VarHandleOp() {'shared_name': 'w'}
"""
_READ = """
  read {
    input %r: resource[]
    %z: float32[2] = tf.ReadVariableOp(%r)
    return %z
  }
"""
_WRITE = """
  write {
    input %r: resource[]
    tf.AssignVariableOp(%r, float32[2] [5, 6])
    return float32[2] [0, 0]
  }
"""


def _forwards(before: str, after: str = "", functions: str = "") -> None:
    before, after = (f"main {{{_HANDLES}{ops}\nreturn %y\n}}\n{functions}" if ops else "" for ops in (before, after))
    check_pass("forward-writes", before, after or None, variables=_VARIABLES)


def test_what_was_written() -> None:
    _forwards("""
      tf.AssignVariableOp(%h, %x)
      %a: float32[2] = tf.ReadVariableOp(%h)
      %y: float32[2] = tf.Neg(%a)
    """, """
      tf.AssignVariableOp(%h, %x)
      %y: float32[2] = tf.Neg(%x)
    """)  # fmt: skip


def test_what_was_read() -> None:
    _forwards("""
      %a: float32[2] = tf.ReadVariableOp(%h)
      tf.AssignVariableOp(%k, %a)
      %b: float32[2] = tf.ReadVariableOp(%h)
      %y: float32[2] = tf.AddV2(%a, %b)
      tf.AssignVariableOp(%h, %y)
    """, """
      %a: float32[2] = tf.ReadVariableOp(%h)
      tf.AssignVariableOp(%k, %a)
      %y: float32[2] = tf.AddV2(%a, %a)
      tf.AssignVariableOp(%h, %y)
    """)  # fmt: skip


def test_what_was_read_before_a_write_is_not_what_it_holds_now() -> None:
    _forwards("""
      %a: float32[2] = tf.ReadVariableOp(%h)
      tf.AssignVariableOp(%h, %x)
      %b: float32[2] = tf.ReadVariableOp(%h)
      %y: float32[2] = tf.Sub(%a, %b)
    """, """
      %a: float32[2] = tf.ReadVariableOp(%h)
      tf.AssignVariableOp(%h, %x)
      %y: float32[2] = tf.Sub(%a, %x)
    """)  # fmt: skip


def test_a_write_that_nothing_reads_before_the_next() -> None:
    _forwards("""
      tf.AssignVariableOp(%h, %x)
      %a: float32[2] = tf.ReadVariableOp(%h)
      %y: float32[2] = tf.Neg(%a)
      tf.AssignVariableOp(%h, %y)
    """, """
      %y: float32[2] = tf.Neg(%x)
      tf.AssignVariableOp(%h, %y)
    """)  # fmt: skip


def test_a_function_may_write() -> None:
    _forwards("""
      tf.AssignVariableOp(%k, %x)
      %b: float32[2] = tf.PartitionedCall(%k) {'f': @write}
      %c: float32[2] = tf.ReadVariableOp(%k)
      %y: float32[2] = tf.AddV2(%b, %c)
    """, functions=_WRITE)  # fmt: skip


def test_a_function_that_only_reads() -> None:
    _forwards("""
      tf.AssignVariableOp(%k, float32[2] [0, 0])
      %b: float32[2] = tf.PartitionedCall(%k) {'f': @read}
      tf.AssignVariableOp(%k, %x)
      %c: float32[2] = tf.ReadVariableOp(%k)
      %y: float32[2] = tf.AddV2(%b, %c)
    """, """
      tf.AssignVariableOp(%k, float32[2] [0, 0])
      %b: float32[2] = tf.PartitionedCall(%k) {'f': @read}
      tf.AssignVariableOp(%k, %x)
      %y: float32[2] = tf.AddV2(%b, %x)
    """, functions=_READ)  # fmt: skip


def test_within_a_function() -> None:
    call = "%y: float32[2] = tf.PartitionedCall(%h) {'f': @twice}"
    twice = """
    twice {
      input %r: resource[]
      %a: float32[2] = tf.ReadVariableOp(%r)
      %b: float32[2] = tf.ReadVariableOp(%r)
      %z: float32[2] = tf.AddV2(%a, %b)
      return %z
    }"""
    once = twice.replace("%b: float32[2] = tf.ReadVariableOp(%r)\n", "").replace("%b", "%a")
    main = f"main {{{_HANDLES}{call}\nreturn %y\n}}\n"
    check_pass("forward-writes", main + twice, main + once, variables=_VARIABLES)


@pytest.mark.parametrize("op", [
    "tf.ResourceScatterAdd(%h, int32[1] [0], float32[1] [7])",
    "%z: float32[2] = tf.Unheard(%h)",
], ids=["an update of a part", "an unknown op"])  # fmt: skip
def test_other_ops_on_a_variable(op: str) -> None:
    _forwards(f"""
      tf.AssignVariableOp(%h, %x)
      {op}
      %a: float32[2] = tf.ReadVariableOp(%h)
      %y: float32[2] = tf.Neg(%a)
    """)


def test_a_value_whose_shape_is_not_known_to_be_the_variables() -> None:
    _forwards("""
      %m: float32[_] = tf.Unheard(%x)
      tf.AssignVariableOp(%h, %m)
      %a: float32[2] = tf.ReadVariableOp(%h)
      %y: float32[2] = tf.Neg(%a)
    """)


def test_a_handle_that_may_be_of_either_variable() -> None:
    branches = "".join(f"""
    {name} {{
      input %a: resource[]
      input %b: resource[]
      return {result}
    }}
    """ for name, result in (("first", "%a"), ("second", "%b")))  # fmt: skip
    _forwards("""
      tf.AssignVariableOp(%h, %x)
      %p: bool[] = tf.IsNan(float32[] 1)
      %e: resource[] = tf.If(%p, %h, %k) {'then_branch': @first, 'else_branch': @second}
      tf.AssignVariableOp(%e, float32[2] [8, 9])
      %y: float32[2] = tf.ReadVariableOp(%h)
    """, functions=branches)
