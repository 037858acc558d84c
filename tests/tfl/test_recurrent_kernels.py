"""The numpy kernels of recurrent ops are those of the runtime: results, and the states that they leave."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.fuse.interpreter import Interpreter
from fuseconv.fusions.lstm import last_step, state_after, variable_state
from fuseconv.ir import types
from fuseconv.tfl.recurrent_kernels import Unserved, unidirectional_sequence_lstm
from fuseconv.write.flatbuffer_export import to_bytes
from tests.tfl.interpret import module_of, run_file

BATCH, TIME, INPUTS, UNITS = 3, 5, 4, 6
RNG = np.random.default_rng(3)


def drawn(*shape):
    return (RNG.standard_normal(shape) * 0.5).astype(np.float32)


def weights(gates=4):
    """The operands between x and the states of an LSTM of one direction."""
    kernels = [drawn(UNITS, INPUTS) for _ in range(gates)] + [drawn(UNITS, UNITS) for _ in range(gates)]
    return [*kernels, None, None, None, *[drawn(UNITS) for _ in range(gates)], None, None]


def rnn_weights():
    return [drawn(UNITS, INPUTS), drawn(UNITS, UNITS), drawn(UNITS)]


def states(tfl, initial, count):
    return [variable_state(tfl, initial) for _ in range(count)]


def agree(build, *inputs):
    """Compare the results of two invokes with the runtime's."""
    module = module_of(build, *((types.of_array(array), array.shape) for array in inputs))
    interpreter = Interpreter(module, "it")
    interpreter(list(inputs))
    for mine, theirs in zip(interpreter(list(inputs)), run_file(to_bytes(module), *inputs), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=2e-6)


@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize("activation", ["TANH", "RELU", "RELU6"])
def test_a_layer_of_one_direction(time_major, activation):
    attrs = {"time_major": time_major, "fused_activation_function": activation}
    operands, simple = weights(), rnn_weights()

    def build(tfl, x, initial):
        h, c = states(tfl, initial, 2)
        sequence = tfl.unidirectional_sequence_lstm(x, *operands, h, c, **attrs)
        cells = state_after(tfl, last_step(tfl, sequence, 0 if time_major else 1), c, UNITS)
        (state,) = states(tfl, initial, 1)
        return [sequence, cells, tfl.unidirectional_sequence_rnn(x, *simple, state, **attrs)]

    x = drawn(TIME, BATCH, INPUTS) if time_major else drawn(BATCH, TIME, INPUTS)
    agree(build, x * 2, drawn(BATCH, UNITS))


@pytest.mark.parametrize("time_major", [False, True])
def test_a_layer_of_both_directions(time_major):
    attrs = {"time_major": time_major, "fused_activation_function": "TANH"}
    operands = [*weights(), *weights()]
    simple = rnn_weights(), rnn_weights()

    def build(tfl, x, initial):
        made = tfl.bidirectional_sequence_lstm(x, *operands, *states(tfl, initial, 4), *[None] * 9, **attrs)
        each = [operand for one in simple for operand in (*one, *states(tfl, initial, 1))]
        return [*made, *tfl.bidirectional_sequence_rnn(x, *each, None, None, None, **attrs)]

    agree(build, drawn(TIME, BATCH, INPUTS) if time_major else drawn(BATCH, TIME, INPUTS), drawn(BATCH, UNITS))


@pytest.mark.parametrize(
    ("place", "operand", "attrs"),
    [
        (0, None, {}), (8, drawn(UNITS), {}), (15, drawn(UNITS, UNITS), {}), (19, drawn(UNITS), {}),
        (0, drawn(UNITS, INPUTS), {"cell_clip": 1.0}),
        (0, drawn(UNITS, INPUTS), {"fused_activation_function": "NONE"}),
    ],
    ids=["coupled", "peephole", "projection", "norm", "clip", "activation"],
)  # fmt: skip
def test_other_forms_are_left_to_the_runtime(place, operand, attrs):
    operands = [*weights(), drawn(BATCH, UNITS), drawn(BATCH, UNITS), None, None, None, None]
    operands[place] = operand
    with pytest.raises(Unserved):
        unidirectional_sequence_lstm(
            drawn(BATCH, TIME, INPUTS), *operands, **{"fused_activation_function": "TANH"} | attrs
        )
