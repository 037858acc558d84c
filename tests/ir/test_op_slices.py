"""What values depend on, and what depends on them."""

from __future__ import annotations

from fuseconv.ir.op_slices import backward_slice, forward_slice
from tests.tf.text_cases import module_of

TEXT = """
main {
  input %x: float32[3]
  input %z: float32[3]
  %a: float32[3] = tf.Exp(%x)
  %b: float32[3] = tf.AddV2(%a, %a)
  %c: float32[3] = tf.Sin(%z)
  %y: float32[3] = tf.Mul(%b, %c)
  return %y, %c
}
"""


def test_slices() -> None:
    module, _ = module_of(TEXT)
    graph = module.signatures[0].graph
    exp, add, sin, mul = graph.ops
    x, z = graph.inputs
    assert backward_slice([add.result, None]) == {exp, add}
    assert backward_slice(graph.outputs) == {exp, add, sin, mul}
    assert backward_slice([x]) == set()
    assert forward_slice([x]) == {exp, add, mul, graph.terminator}
    assert forward_slice([x], stops={mul}) == {exp, add}
    assert forward_slice([z], stops={mul}) == {sin, graph.terminator}
