"""tf ops that are built in the place of one."""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.ir.graph import Op
from fuseconv.tf.builder import TfBuilder
from tests.tf.text_cases import module_of, short_text


def test_ops_take_name_sources_and_numbers() -> None:
    module, _ = module_of("main {\n input %x: float32[n,2]\n return %x\n}")
    graph = module.signatures[0].graph
    tf = TfBuilder(graph.ops, Op("tf.Old", name="old", sources=("a", "b")))
    x = graph.inputs[0]
    graph.outputs = [tf.Less(tf.Max(x, [0], keep_dims=True), x, dtype=types.BOOL), tf.size(x), tf.as_int32(tf.ints(3))]
    assert {(op.name, op.sources) for op in graph.ops} == {("old", ("a", "b"))}
    assert short_text(module) == """main {
  input %0: float32[n,2]
  %1: float32[*] = tf.Max(%0, int32[1] [0]) {'keep_dims': True}
  %2: bool[*] = tf.Less(%1, %0)
  %3: int32[*] = tf.Shape(%0)
  %4: int32[*] = tf.StridedSlice(%3, int32[1] [0], int32[1] [1], int32[1] [1]) {'shrink_axis_mask': 1}
  return %2, %4, int32[] 3
}
"""
