"""Build the loop over the steps of a sequence that ops of whole recurrent layers stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Op, Value
from fuseconv.ir.rewriter import add_function
from fuseconv.tf.builder import TfBuilder

# Takes the builder of the body, the number of the step, its row of x, the states and the invariants; returns the states
# after the step, and what it puts out.
Step = Callable[[TfBuilder, Value, Value, list[Value], list[Value]], tuple[Sequence[Value], Sequence[Value]]]


def sequence_loop(
    tf: TfBuilder,
    module: Module,
    x: Value,
    steps: Value,
    states: Sequence[Value],
    invariants: Sequence[Value],
    outputs: int,
    step: Step,
) -> tuple[list[Value], list[Value]]:
    """Build a loop: x, states -> While over TensorLists. Return the states after it, and the sequences it puts out.

    x: [time, batch, in]. steps: how many of the first ones are taken, a scalar. outputs: how many sequences of matrices
    a step puts a row to; rows beyond `steps` are zero. All floats are of x's type."""
    op, matrix = tf.op, tf.ints([-1, -1])
    lists = [
        tf.TensorListReserve(matrix, tf.size(x), dtype=types.VARIANT, element_dtype=x.dtype) for _ in range(outputs)
    ]
    sequence = tf.TensorListFromTensor(x, matrix, dtype=types.VARIANT)
    operands = [tf.ints(0), tf.as_int32(steps), sequence, *states, *invariants, *lists]
    cond, body = Graph(f"{op.name} cond"), Graph(f"{op.name} body")
    for function in (cond, body):
        for value in operands:
            function.add_input(value.dtype, None, value.name)
    cond.outputs = [TfBuilder(cond.ops, op).Less(cond.inputs[0], cond.inputs[1], dtype=types.BOOL)]
    _fill_body(body, op, x, len(states), outputs, step)
    attrs = {"cond": add_function(module, cond), "body": add_function(module, body)}
    loop = Op("tf.StatelessWhile", operands, attrs, op.name, op.sources)
    for value in operands:
        loop.add_result(value.dtype, None)
    tf.out.append(loop)
    made = loop.results[len(operands) - outputs :]
    stacked = [tf.TensorListStack(result, matrix, dtype=x.dtype) for result in made]
    return loop.results[3 : 3 + len(states)], stacked


def _fill_body(body: Graph, op: Op, x: Value, states: int, outputs: int, step: Step) -> None:
    tf = TfBuilder(body.ops, op)
    t, steps, sequence, *others = body.inputs
    lists = others[len(others) - outputs :]
    invariants = others[states : len(others) - outputs]
    row = tf.TensorListGetItem(sequence, t, [-1, -1], dtype=x.dtype)
    after, put_out = step(tf, t, row, others[:states], invariants)
    written = [tf.TensorListSetItem(each, t, row, dtype=types.VARIANT) for each, row in zip(lists, put_out)]
    body.outputs = [tf.AddV2(t, 1), steps, sequence, *after, *invariants, *written]
