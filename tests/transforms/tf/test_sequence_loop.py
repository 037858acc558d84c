"""The loop over the steps of a sequence, as text."""

from __future__ import annotations

from fuseconv.ir.graph import Op, Value
from fuseconv.tf.builder import TfBuilder
from fuseconv.transforms.tf.sequence_loop import sequence_loop
from tests.tf.text_cases import module_of


def test_a_step_gets_its_row_the_states_and_the_invariants() -> None:
    module, _ = module_of("""
    main {
      input %x: float32[5,2,3]
      input %h: float32[2,3]
      input %w: float32[3]
      return %x, %h
    }
    """)
    graph = module.signatures[0].graph
    x, h, w = graph.inputs

    def step(tf: TfBuilder, t: Value, row: Value, states: list[Value], invariants: list[Value]) -> tuple:
        made = tf.AddV2(row, tf.Mul(*states, *invariants))
        return [made], [made, row]

    tf = TfBuilder(graph.ops, Op("tf.Layer", (), {}, "layer"))
    states, sequences = sequence_loop(tf, module, x, tf.ints(4), [h], [w], 2, step)
    graph.outputs = [*states, *sequences]
    (loop,) = [op for op in graph.ops if op.kind == "tf.StatelessWhile"]
    assert loop.operands[1].data == 4 and loop.operands[3:5] == [h, w]  # type: ignore[union-attr]
    assert states == [loop.results[3]]
    assert [made.op.operands[0] for made in sequences] == loop.results[5:]  # type: ignore[union-attr]
    body = module.functions[loop.attrs["body"].name]
    kinds = [op.type for op in body.ops]
    assert kinds == ["TensorListGetItem", "Mul", "AddV2", *["TensorListSetItem"] * 2, "AddV2"]
    made, row = body.ops[2].result, body.ops[0].result
    assert body.outputs[3] is made and body.outputs[4] is body.inputs[4]
    assert [op.operands[2] for op in body.ops[3:5]] == [made, row]
