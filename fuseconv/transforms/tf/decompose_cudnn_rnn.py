"""Decompose CudnnRNN, recurrent layers in one op of NVIDIA's cuDNN -> the loops that they compute.

Each layer and direction becomes a loop of its own, which is fused where the runtime has a kernel for it. The contract
of the op is cudnn_rnn_ops.cc's. x is [time, batch, in] and a state [layers * directions, batch, units]; without
time_major, x is [batch, time, in] and a state [batch, layers * directions, units]. A row's steps from its length on put
out zeros and leave its states; the direction that goes backwards begins at the last step that counts.

The weights are one vector. Its order is the one in which Keras (`_standardize_cudnn_weights`) writes it, and that of
the regions of TensorFlow's own CudnnRNNParamsToCanonical. For each layer, and in it each direction, the matrices of x
come before those of h. Behind those of all layers, in the same order, come two biases for each gate. The gates, and
what a step computes, are those of the table of `cudnnRNNMode_t` in NVIDIA's documentation:

    lstm: i, f, c, o   c' = f * c + i * tanh(..), h' = o * tanh(c')
    gru:  r, z, n      n = tanh(W x + bW + r * (R h + bR)), h' = (1 - z) * n + z * h
    rnn_relu, rnn_tanh: h' = relu or tanh of W x + R h + bW + bR

AMD's MIOpen has other orders, and nothing in a model tells that it was made for it. These ops run on GPUs only: tests
compare with Keras' own layers, whose weights it writes in cuDNN's order, and with these equations in numpy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Module, Op, Rejection, Value, constant, replace_uses
from fuseconv.ir.terms import filled_with, is_zero, look_through
from fuseconv.pass_manager import rewrite_pass
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.operands import content_of
from fuseconv.tf.traits import RESHAPES
from fuseconv.transforms.tf.sequence_loop import sequence_loop

_KINDS = frozenset({"tf.CudnnRNN", "tf.CudnnRNNV2", "tf.CudnnRNNV3"})
Cell = Callable[[TfBuilder, Value, list[Value], list[Value]], list[Value]]
_GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


class _Refused(Exception):
    """Raised for an op that is no loop. The message says why, and what to do."""


class _Sizes(NamedTuple):
    """What cuDNN is told of the layers. skips: the first layer adds its input to each gate as it is."""

    mode: str
    layers: int
    directions: int
    inputs: int
    units: int
    skips: bool

    @property
    def columns(self) -> int:
        return _GATES[self.mode] * self.units

    @property
    def states(self) -> int:
        return 2 if self.mode == "lstm" else 1

    def widths(self) -> list[int]:
        """Return the width of the input of each layer and direction, in cuDNN's order."""
        first, further = self.inputs, self.directions * self.units
        return [width for width in (first, *[further] * (self.layers - 1)) for _ in range(self.directions)]

    def params(self) -> int:
        """Return how many weights there are in all."""
        widths = self.widths()
        rows = sum(widths[self.directions :] if self.skips else widths) + len(widths) * (self.units + 2)
        return rows * self.columns


@rewrite_pass("decompose-cudnn-rnn", _KINDS)
def decompose_cudnn_rnn(op: Op, out: list[Op], module: Module) -> list[Value] | None:
    """Replace recurrent layers of cuDNN by the loops that they compute: CudnnRNN -> While over TensorLists.

    Expects shapes to be known. What cannot be a loop stays, with the reason as the rejection of its op."""
    try:
        sizes = _sizes(op)
    except _Refused as refusal:
        op.rejection = Rejection(str(refusal))
        return None
    results = _build_layers(TfBuilder(out, op), module, sizes)
    for old, new in zip(op.results, results):
        replace_uses(old, new)
    return []


def _sizes(op: Op) -> _Sizes:
    """Return what an op is told of its layers. Raises _Refused."""
    x, h, _, params, *_ = op.operands
    mode = op.attrs.get("rnn_mode", "lstm")
    directions = 2 if op.attrs.get("direction") == "bidirectional" else 1
    numbers = (
        x.shape[2] if x is not None and x.rank == 3 else None,  # type: ignore[index]
        h.shape[2] if h is not None and h.rank == 3 else None,  # type: ignore[index]
        h.shape[_layer_axis(op)] if h is not None and h.rank == 3 else None,  # type: ignore[index]
        params.shape[0] if params is not None and params.rank == 1 else None,  # type: ignore[index]
    )
    if not all(isinstance(number, int) for number in numbers):
        raise _Refused("the sizes of its input, states and weights are not known; give the input's with --input-shape")
    inputs, units, states, given = (int(number) for number in numbers)  # type: ignore[arg-type]
    skips = op.attrs.get("input_mode", "linear_input")
    skips = skips == "skip_input" or (skips == "auto_select" and inputs == units)
    sizes = _Sizes(mode, states // directions, directions, inputs, units, skips)
    fits = states % directions == 0 and states and units and (not skips or inputs == units)
    if not fits or given != sizes.params():
        wanted = f"{sizes.layers} layers of {units} units take {sizes.params()} weights of {inputs} inputs"
        raise _Refused(f"{wanted} in cuDNN's order, and it has {given}: build the model of Keras' layers instead")
    _check_use(op, sizes)
    return sizes


def _check_use(op: Op, sizes: _Sizes) -> None:
    if op.attrs.get("num_proj", 0):
        raise _Refused("only cuDNN knows where the weights of its projection lie; project behind a layer without one")
    if op.attrs.get("is_training", True) and op.attrs.get("dropout", 0.0) and sizes.layers > 1:
        raise _Refused("it drops values out between its layers; export the model with is_training=False")
    if any(result.uses for result in op.results[1 + sizes.states :]):
        raise _Refused("what it keeps for training is read; export a signature that only predicts")


def _layer_axis(op: Op) -> int:
    """Return which axis of a state has a row for each layer and direction."""
    return 0 if op.attrs.get("time_major", True) else 1


def _build_layers(tf: TfBuilder, module: Module, sizes: _Sizes) -> list[Value]:
    """Return all outputs, and the states behind the last steps."""
    x, h, c, params = (value for value in tf.op.operands[:4] if value is not None)
    axis = _layer_axis(tf.op)
    sequence = x
    layer = _Layer(tf, module, sizes, axis, _lengths(tf.op))
    weights = _unpack(tf, params, sizes)
    after: list[list[Value]] = []
    for _ in range(sizes.layers):
        made = []
        for backwards in range(sizes.directions):
            initial = [_row(tf, state, len(after), axis) for state in (h, c)[: sizes.states]]
            outputs, states = layer.build(sequence, initial, weights[len(after)], bool(backwards))
            made.append(outputs)
            after.append(states)
        sequence = made[0] if len(made) == 1 else tf.ConcatV2(*made, 2)
    return [sequence, *(_pack(tf, rows, axis) for rows in zip(*after))]


def _row(tf: TfBuilder, state: Value, number: int, axis: int) -> Value:
    """Return the state [batch, units] of one layer and direction. Zeros stay recognizable as such."""
    if is_zero(look_through(state, RESHAPES)):
        none = constant(np.zeros((), state.dtype.numpy), state.dtype, state.name)
        return tf.Fill(tf.Pack(tf.size(state, 1 - axis), tf.size(state, 2)), none, dtype=state.dtype)
    if state.shape is not None and state.shape[axis] == 1:
        return tf.Squeeze(state, squeeze_dims=[axis])
    return tf.GatherV2(state, number, axis)


def _pack(tf: TfBuilder, states: tuple[Value, ...], axis: int) -> Value:
    if len(states) == 1:
        return tf.ExpandDims(states[0], axis)
    return tf.Pack(*states, axis=axis)


def _lengths(op: Op) -> Value | None:
    """Return how many steps of each row count; None if all do."""
    x, lengths = op.operands[0], op.operands[4] if len(op.operands) > 4 else None
    if lengths is None or x is None or x.shape is None:
        return None
    known = content_of(filled_with(lengths))
    steps = x.shape[_layer_axis(op)]
    return None if known is not None and all(length == steps for length in known.flat) else lengths


def _unpack(tf: TfBuilder, params: Value, sizes: _Sizes) -> list[list[Value]]:
    """Return the weights of each layer and direction: kernel [in, columns], recurrent kernel [units, columns], and the
    biases [columns] of both."""
    place = 0

    def take(rows: int) -> Value:
        nonlocal place
        part = tf.Slice(params, [place], [rows * sizes.columns])
        place += rows * sizes.columns
        return part

    def matrix(rows: int) -> Value:
        return tf.Transpose(tf.Reshape(take(rows), [sizes.columns, rows]), [1, 0])

    weights: list[list[Value]] = []
    for number, width in enumerate(sizes.widths()):
        skips = sizes.skips and number < sizes.directions
        weights.append([_identities(params, sizes) if skips else matrix(width), matrix(sizes.units)])
    for biases in weights:
        biases += [take(1), take(1)]
    return weights


def _identities(params: Value, sizes: _Sizes) -> Value:
    """Return the kernel [units, columns] by which each gate gets the input as it is."""
    array = np.tile(np.eye(sizes.units, dtype=params.dtype.numpy), _GATES[sizes.mode])
    return constant(array, params.dtype, params.name)


class _Layer(NamedTuple):
    """What the layers of an op have in common. time_axis: 0 or 1, of sequences. lengths: how many steps of each row
    count, None if all do."""

    tf: TfBuilder
    module: Module
    sizes: _Sizes
    time_axis: int
    lengths: Value | None

    def build(
        self, x: Value, states: list[Value], weights: list[Value], backwards: bool
    ) -> tuple[Value, list[Value]]:
        """Return the outputs of one direction of a layer, and its last states [batch, units]."""
        kernel, recurrent, *biases = weights
        if self.sizes.mode != "gru":
            biases = [self.tf.AddV2(*biases)]
        masks = [] if self.lengths is None else [self.lengths]
        invariants = [kernel, recurrent, *biases, *masks]
        given = self.transposed(self.reversed(x) if backwards else x)
        steps = self.tf.size(given)
        after, (outputs,) = sequence_loop(self.tf, self.module, given, steps, states, invariants, 1, self.step)
        outputs = self.transposed(outputs)
        return self.reversed(outputs) if backwards else outputs, after

    def transposed(self, x: Value) -> Value:
        """Exchange time and batch, if the batch comes first."""
        return x if self.time_axis == 0 else self.tf.Transpose(x, [1, 0, 2])

    def reversed(self, x: Value) -> Value:
        if self.lengths is None:
            return self.tf.ReverseV2(x, [self.time_axis])
        return self.tf.ReverseSequence(x, self.lengths, seq_dim=self.time_axis, batch_dim=1 - self.time_axis)

    def step(
        self, tf: TfBuilder, t: Value, x: Value, states: list[Value], invariants: list[Value]
    ) -> tuple[list[Value], list[Value]]:
        weights = invariants if self.lengths is None else invariants[:-1]
        made = _CELLS[self.sizes.mode](tf, x, states, weights)
        if self.lengths is None:
            return made, made[:1]
        counts = tf.ExpandDims(tf.Less(t, invariants[-1], dtype=types.BOOL), 1)
        put_out = tf.SelectV2(counts, made[0], tf.ZerosLike(made[0]), dtype=x.dtype)
        return [tf.SelectV2(counts, new, old, dtype=x.dtype) for new, old in zip(made, states)], [put_out]


def _lstm(tf: TfBuilder, x: Value, states: list[Value], weights: list[Value]) -> list[Value]:
    (h, c), (kernel, recurrent, bias) = states, weights
    i, f, candidate, o = tf.split(_sums(tf, x, h, kernel, recurrent, bias), 4, axis=1)
    c = tf.AddV2(tf.Mul(tf.Sigmoid(f), c), tf.Mul(tf.Sigmoid(i), tf.Tanh(candidate)))
    return [tf.Mul(tf.Sigmoid(o), tf.Tanh(c)), c]


def _gru(tf: TfBuilder, x: Value, states: list[Value], weights: list[Value]) -> list[Value]:
    (h,), (kernel, recurrent, bias, recurrent_bias) = states, weights
    rx, zx, nx = tf.split(tf.BiasAdd(tf.MatMul(x, kernel), bias), 3, axis=1)
    rh, zh, nh = tf.split(tf.BiasAdd(tf.MatMul(h, recurrent), recurrent_bias), 3, axis=1)
    r, z = tf.Sigmoid(tf.AddV2(rx, rh)), tf.Sigmoid(tf.AddV2(zx, zh))
    new = tf.Tanh(tf.AddV2(nx, tf.Mul(r, nh)))
    one = constant(h.dtype.numpy.type(1), h.dtype, tf.op.name)
    return [tf.AddV2(tf.Mul(z, h), tf.Mul(tf.Sub(one, z), new))]


def _rnn_tanh(tf: TfBuilder, x: Value, states: list[Value], weights: list[Value]) -> list[Value]:
    return [tf.Tanh(_sums(tf, x, states[0], *weights))]


def _rnn_relu(tf: TfBuilder, x: Value, states: list[Value], weights: list[Value]) -> list[Value]:
    return [tf.Relu(_sums(tf, x, states[0], *weights))]


def _sums(tf: TfBuilder, x: Value, h: Value, kernel: Value, recurrent: Value, bias: Value) -> Value:
    return tf.BiasAdd(tf.AddV2(tf.MatMul(x, kernel), tf.MatMul(h, recurrent)), bias)


# Take the builder, x [batch, in], the states and the weights; return the states after the step, h first.
_CELLS: dict[str, Cell] = {"lstm": _lstm, "gru": _gru, "rnn_tanh": _rnn_tanh, "rnn_relu": _rnn_relu}
