"""Decompose BlockLSTM, a whole LSTM layer in one op of TF1 -> the loop that it computes.

The loop is one like any other: it is fused where the layer hands on its outputs only, and has no peepholes that the
fusion does not know. The contract is lstm_ops.cc's: x is [time, batch, in]; the gates are columns of w [in + u, 4u], in
the order i, c, f, o, of BlockLSTMV2 i, f, c, o; beyond `seq_len_max` steps all results are zero.
"""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Op, Value, constant, replace_uses
from fuseconv.ir.rewriter import add_function, rewrite_ops
from fuseconv.pass_manager import module_pass
from fuseconv.tf.builder import TfBuilder

# What the gates' columns are, by the op.
_ORDERS = {"tf.BlockLSTM": "icfo", "tf.BlockLSTMV2": "ifco"}
_CLIPS = {"tf.BlockLSTM": 3.0, "tf.BlockLSTMV2": 0.0}
# The results of the op, in its order.
_RESULTS = ("i", "cs", "f", "o", "ci", "co", "h")


@module_pass("decompose-block-lstm")
def decompose_block_lstm(module: Module) -> None:
    """Replace an LSTM layer of one op by the loop that it computes: BlockLSTM -> While over TensorLists."""
    for graph in list(module.graphs()):
        rewrite_ops(graph, _ORDERS, lambda op, out: _build_loop(op, out, module))


def _build_loop(op: Op, out: list[Op], module: Module) -> list[Value]:
    steps, x, cs, h, *weights = (value for value in op.operands if value is not None)
    read = [name for name, result in zip(_RESULTS, op.results) if result.uses]
    tf = TfBuilder(out, op)
    matrix = tf.ints([-1, -1])
    lists = [tf.TensorListReserve(matrix, tf.size(x), dtype=types.VARIANT, element_dtype=x.dtype) for _ in read]
    sequence = tf.TensorListFromTensor(x, matrix, dtype=types.VARIANT)
    operands = [tf.ints(0), tf.as_int32(steps), sequence, cs, h, *weights, *lists]
    cond, body = Graph(f"{op.name} cond"), Graph(f"{op.name} body")
    for function in (cond, body):
        for value in operands:
            function.add_input(value.dtype, None, value.name)
    cond.outputs = [TfBuilder(cond.ops, op).Less(cond.inputs[0], cond.inputs[1], dtype=types.BOOL)]
    _fill_body(body, op, read)
    attrs = {"cond": add_function(module, cond), "body": add_function(module, body)}
    loop = Op("tf.StatelessWhile", operands, attrs, op.name, op.sources)
    for value in operands:
        loop.add_result(value.dtype, None)
    out.append(loop)
    for name, result in zip(read, loop.results[len(operands) - len(read) :]):
        replace_uses(op.results[_RESULTS.index(name)], tf.TensorListStack(result, matrix, dtype=x.dtype))
    return []


def _fill_body(body: Graph, op: Op, read: list[str]) -> None:
    tf = TfBuilder(body.ops, op)
    t, steps, sequence, cs_prev, h_prev, w, wci, wcf, wco, b, *lists = body.inputs
    x = tf.TensorListGetItem(sequence, t, [-1, -1], dtype=h_prev.dtype)
    gates = tf.BiasAdd(tf.MatMul(tf.ConcatV2(x, h_prev, 1), w), b)
    split = Op("tf.Split", [tf.ints(1), gates], {}, op.name, op.sources)
    body.ops.append(split)
    made = {name: split.add_result(gates.dtype, None) for name in _ORDERS[op.kind]}
    i, ci, f, o = (made[name] for name in "icfo")

    def number(value: float) -> Value:
        return constant(gates.dtype.numpy.type(value), gates.dtype, op.name)

    bias = op.attrs.get("forget_bias", 1.0) if op.kind == "tf.BlockLSTM" else 0.0
    if bias:
        f = tf.AddV2(f, number(bias))
    peephole = op.attrs.get("use_peephole", False)
    if peephole:
        i, f = tf.AddV2(i, tf.Mul(cs_prev, wci)), tf.AddV2(f, tf.Mul(cs_prev, wcf))
    i, ci, f = tf.Sigmoid(i), tf.Tanh(ci), tf.Sigmoid(f)
    cs = tf.AddV2(tf.Mul(f, cs_prev), tf.Mul(i, ci))
    clip = op.attrs.get("cell_clip", _CLIPS[op.kind])
    if clip > 0:
        cs = tf.Maximum(tf.Minimum(cs, number(clip)), number(-clip))
    o = tf.Sigmoid(tf.AddV2(o, tf.Mul(cs, wco)) if peephole else o)
    co = tf.Tanh(cs)
    results = dict(zip(_RESULTS, (i, cs, f, o, ci, co, tf.Mul(o, co))))
    written = [tf.TensorListSetItem(each, t, results[name], dtype=types.VARIANT) for each, name in zip(lists, read)]
    body.outputs = [tf.AddV2(t, 1), steps, sequence, cs, results["h"], w, wci, wcf, wco, b, *written]
