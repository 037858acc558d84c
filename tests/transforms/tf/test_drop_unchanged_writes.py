"""Writes of variables with what they hold."""

from __future__ import annotations

from tests.check_pass import check_pass

_VARIABLE = """
main {
  input %x: float32[3]
  %v: resource[] = tf.VarHandleOp() {'shared_name': 'v'}
  %read: float32[3] = tf.ReadVariableOp(%v)
  %same: float32[3] = tf.Identity(%read)
  %y: float32[3] = tf.AddV2(%x, %read)
  WRITES
  return %y
}
"""


def test_what_is_written_back_unchanged_is_no_write() -> None:
    before = _VARIABLE.replace("WRITES", "tf.AssignVariableOp(%v, %same)")
    check_pass("drop-unchanged-writes", before, _VARIABLE.replace("WRITES", ""))


def test_a_variable_that_changes_keeps_its_writes() -> None:
    check_pass("drop-unchanged-writes", _VARIABLE.replace("WRITES", "tf.AssignVariableOp(%v, %y)"))
    both = "tf.AssignVariableOp(%v, %y)\n tf.AssignVariableOp(%v, %same)"
    check_pass("drop-unchanged-writes", _VARIABLE.replace("WRITES", both))
