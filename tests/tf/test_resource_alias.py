"""Which variable a handle stands for, through identities, loops and branches."""

from __future__ import annotations

from fuseconv.tf.resource_alias import aliases, are_read
from fuseconv.tf.traits import TABLES, VARIABLES
from tests.tf.text_cases import module_of

TEXT = """main {
  input %p: bool[]
  %a: resource[] = tf.VarHandleOp() {'shared_name': 'a'}
  %b: resource[] = tf.VarHandleOp() {'shared_name': 'b'}
  %same: resource[] = tf.Identity(%a)
  %one: resource[] = tf.If(%p, %same, %b) {'then_branch': @first, 'else_branch': @second}
  %x: float32[2] = tf.ReadVariableOp(%one)
  return %x
}
first {
  input %a: resource[]
  input %b: resource[]
  return %a
}
second {
  input %a: resource[]
  input %b: resource[]
  return %b
}
"""


def test_handles_are_followed() -> None:
    module, _ = module_of(TEXT)
    names = {value.name: known for value, known in aliases(module, VARIABLES).items() if value.op is not None}
    assert names == {"a": {"a"}, "b": {"b"}, "same": {"a"}, "one": {"a", "b"}}
    assert [aliases(module, VARIABLES)[value] for value in module.functions["first"].inputs] == [{"a"}, {"b"}]
    assert are_read(module, VARIABLES) and not are_read(module, TABLES) and not aliases(module, TABLES)
