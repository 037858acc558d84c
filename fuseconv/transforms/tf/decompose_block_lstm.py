"""Decompose BlockLSTM, a whole LSTM layer in one op of TF1 -> the loop that it computes.

The loop is one like any other: it is fused where the layer hands on its outputs only, and has no peepholes that the
fusion does not know. The contract is lstm_ops.cc's. x is [time, batch, in]. The gates are columns of w [in + u, 4u], in
the order i, c, f, o, of BlockLSTMV2 in the order i, f, c, o. Beyond `seq_len_max` steps all results are zero.
"""

from __future__ import annotations

from fuseconv.ir.graph import Module, Op, Value, constant, replace_uses
from fuseconv.pass_manager import rewrite_pass
from fuseconv.tf.builder import TfBuilder
from fuseconv.transforms.tf.sequence_loop import sequence_loop

# What the gates' columns are, by the op.
_ORDERS = {"tf.BlockLSTM": "icfo", "tf.BlockLSTMV2": "ifco"}
_CLIPS = {"tf.BlockLSTM": 3.0, "tf.BlockLSTMV2": 0.0}
# The results of the op, in its order.
_RESULTS = ("i", "cs", "f", "o", "ci", "co", "h")


@rewrite_pass("decompose-block-lstm", _ORDERS)
def decompose_block_lstm(op: Op, out: list[Op], module: Module) -> list[Value]:
    """Replace an LSTM layer of one op by the loop that it computes: BlockLSTM -> While over TensorLists."""
    steps, x, cs, h, *weights = (value for value in op.operands if value is not None)
    read = [name for name, result in zip(_RESULTS, op.results) if result.uses]

    def step(
        tf: TfBuilder, t: Value, x: Value, states: list[Value], weights: list[Value]
    ) -> tuple[list[Value], list[Value]]:
        results = _step(tf, op, x, states, weights)
        return [results["cs"], results["h"]], [results[name] for name in read]

    _, sequences = sequence_loop(TfBuilder(out, op), module, x, steps, [cs, h], weights, len(read), step)
    for name, sequence in zip(read, sequences):
        replace_uses(op.results[_RESULTS.index(name)], sequence)
    return []


def _step(tf: TfBuilder, op: Op, x: Value, states: list[Value], weights: list[Value]) -> dict[str, Value]:
    """Return the results of one step."""
    (cs_prev, h_prev), (w, wci, wcf, wco, b) = states, weights
    gates = tf.BiasAdd(tf.MatMul(tf.ConcatV2(x, h_prev, 1), w), b)
    made = dict(zip(_ORDERS[op.kind], tf.split(gates, 4, axis=1)))
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
    return dict(zip(_RESULTS, (i, cs, f, o, ci, co, tf.Mul(o, co))))
