"""Weights of few bits make up for each other's errors, where it is known what they are multiplied by."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir.graph import Op, Value
from fuseconv.quantize.affine import as_floats, quantized_weights
from fuseconv.quantize.error_feedback import Moments
from fuseconv.quantize.rounded_together import round_weights
from fuseconv.tfl.directions import DIRECTIONS
from tests.tf.text_cases import module_of

_RNG = np.random.default_rng(0)
_ZEROS = "{'variable': True} = tfl.FILL(int32[2] [1, 6], float32[] 0.0)"


def _numbers(*shape: int) -> str:
    numbers = [f"{number:.4f}" for number in _RNG.uniform(-1, 1, int(np.prod(shape)))]
    return f"float32[{','.join(map(str, shape))}] [{', '.join(numbers)}]"


def _op(kind: str, inputs: int = 8) -> Op:
    gates = 4 if kind.endswith("LSTM") else 1
    weights = [_numbers(6, size) for size in (inputs, 6) for _ in range(gates)]
    none = ["_"] * 3 if gates == 4 else []
    ends = ["_", "_", "%h", "%c"] if gates == 4 else ["%h"]
    operands = ["%x", *weights, *none, *[_numbers(6)] * gates, *ends]
    graph = module_of(f"""
    main {{
      input %x: float32[1,5,{inputs}]
      %h: float32[1,6] {_ZEROS}
      %c: float32[1,6] {_ZEROS}
      %y: float32[1,5,6] = tfl.{kind}({', '.join(operands)}) {{'fused_activation_function': 'TANH'}}
      return %y
    }}
    """)[0].signatures[0].graph
    return next(op for op in graph.ops if op.type == kind)


def _hidden_moments(inputs: int) -> Moments:
    """Return those of inputs that go together in part."""
    moments = Moments()
    moments.add(_RNG.normal(size=(2000, inputs // 3)) @ _RNG.normal(size=(inputs // 3, inputs)) + 0.5)
    return moments


def _error(pairs: list[list[Value]], made: dict[Value, Value | None], moments: Moments) -> float:
    """Return the mean square of what errors of weights, of some or all inputs each, move results by."""
    total = 0.0
    for weights in pairs:
        errors = np.concatenate([as_floats(value) - as_floats(made[value]) for value in weights], axis=1)  # type: ignore[arg-type]
        total += np.trace(errors @ moments.covariance(centered=False) @ errors.T)
    return total


def _pairs(op: Op) -> list[list[Value]]:
    (direction,) = DIRECTIONS[op.type]
    found = [[op.operands[x], op.operands[h]] for x, h in zip(direction.of_x, direction.of_h)]
    return [[value for value in pair if value is not None] for pair in found]


def _nearest(pairs: list[list[Value]], axis: int | None) -> dict[Value, Value | None]:
    return {value: quantized_weights(value, axis, outputs=0) for weights in pairs for value in weights}


@pytest.mark.parametrize("axis", [None, 0])
@pytest.mark.parametrize("kind", ["UNIDIRECTIONAL_SEQUENCE_LSTM", "UNIDIRECTIONAL_SEQUENCE_RNN"])
def test_gates_are_rounded_by_what_samples_tell(kind: str, axis: int | None) -> None:
    op, moments = _op(kind), _hidden_moments(14)
    made: dict[Value, Value | None] = {}
    round_weights(op, moments, made, axis)
    pairs = _pairs(op)
    assert made.keys() == {value for weights in pairs for value in weights}
    nearest = _nearest(pairs, axis)
    assert all(made[value].quantization == nearest[value].quantization for value in made)  # type: ignore[union-attr]
    assert _error(pairs, made, moments) < 0.5 * _error(pairs, nearest, moments)
    # Weights that another op of them rounded already stay.
    before = dict(made)
    round_weights(op, _hidden_moments(14), made, axis)
    assert made == before


def test_coupled_gates() -> None:
    op = _op("UNIDIRECTIONAL_SEQUENCE_LSTM")
    for index in (1, 5, 12):
        op.set_operand(index, None)
    made: dict[Value, Value | None] = {}
    round_weights(op, _hidden_moments(14), made, None)
    assert len(made) == 6


def test_dense_layers_have_a_scale_a_row() -> None:
    (op,) = module_of(f"""
    main {{
      input %x: float32[n,12]
      %y: float32[n,5] = tfl.FULLY_CONNECTED(%x, {_numbers(5, 12)}, _)
      return %y
    }}
    """)[0].signatures[0].graph.ops
    moments, weights = _hidden_moments(12), op.operands[1]
    assert weights is not None
    made: dict[Value, Value | None] = {}
    round_weights(op, moments, made, 0)
    nearest = {weights: quantized_weights(weights, 0, outputs=0)}
    assert made[weights].quantization == nearest[weights].quantization  # type: ignore[union-attr]
    assert _error([[weights]], made, moments) < 0.5 * _error([[weights]], nearest, moments)


def test_numbers_without_a_scale_are_left() -> None:
    op = _op("UNIDIRECTIONAL_SEQUENCE_RNN")
    op.operands[2].data[0, 0] = np.nan  # type: ignore[union-attr,index]
    made: dict[Value, Value | None] = {}
    round_weights(op, _hidden_moments(14), made, None)
    assert not made
