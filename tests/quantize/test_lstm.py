"""The integer LSTM has the operands that its kernel demands, and cell states are measured in every step."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Quantization, Value
from fuseconv.quantize import lstm
from fuseconv.quantize.affine import Range
from fuseconv.quantize.lstm import Recurrence, cell_scale, refusal
from tests.check_pass import check_pass
from tests.quantize.ranges import measured
from tests.tf.text_cases import module_of


def _numbers(shape: str, *numbers: float) -> str:
    return ", ".join(f"float32{shape} [{number}]" for number in numbers)


def _text(
    state: str = "tfl.FILL(int32[2] [1, 1], float32[] 0.0)", activation: str = "TANH", peephole: str = "_"
) -> str:
    x, h = _numbers("[1,1]", 1.1, 0.6, -1.1, 2.2), _numbers("[1,1]", 0.1, 0.2, 0.3, 0.4)
    bias = _numbers("[1]", 0.0, 1.0, 0.0, 0.5)
    return f"""
    main {{
      input %x: float32[1,3,1]
      %h: float32[1,1] {{'variable': True}} = {state}
      %c: float32[1,1] {{'variable': True}} = {state}
      %y: float32[1,3,1] = tfl.UNIDIRECTIONAL_SEQUENCE_LSTM(\
%x, {x}, {h}, {peephole}, {peephole}, {peephole}, {bias}, _, _, %h, %c) {{'fused_activation_function': '{activation}'}}
      return %y
    }}
    """


def _graph(text: str) -> Graph:
    return module_of(text)[0].signatures[0].graph


def test_operands() -> None:
    ranges = {"x": (-1, 127 / 128), "y": (-1, 127 / 128), "c": (-3, 3)}
    context = check_pass("to-integers", _text(), _TEXT_IN_INTEGERS, quantize="int8", calibration=measured(**ranges))
    assert {item.type for item in context.report.quantized} == {"int8"}


def test_a_state_of_any_size_is_made_by_a_fill() -> None:
    ranges = {"x": (-1, 127 / 128), "y": (-1, 127 / 128), "c": (-3, 3)}
    check_pass(
        "to-integers", _of_any_size(_text()),
        _of_any_size(_TEXT_IN_INTEGERS).replace("%z: int32[n,1] = tfl.FILL(%s, int32[] 0)", "")
        .replace("tfl.CAST(%z)", "tfl.FILL(%s, int16[]<0.0001220703125> 0)"),
        quantize="int8", calibration=measured(**ranges),
    )  # fmt: skip


def _of_any_size(text: str) -> str:
    for old, new in (
        ("[1,3,1]", "[n,3,1]"), ("%h: float32[1,", "%h: float32[n,"), ("%c: float32[1,", "%c: float32[n,"),
        ("%h: int8[1,", "%h: int8[n,"), ("%c: int16[1,", "%c: int16[n,"), ("%z: int32[1,", "%z: int32[n,"),
        ("int32[2] [1, 1]", "%s"), ("main {", "main {\n  input %s: int32[2]"),
    ):  # fmt: skip
        text = text.replace(old, new)
    return text


_SCALE = 1 / 128
_Q = f"<{float(np.float32(_SCALE))!r}>"


def _constants(numbers: tuple[float, ...], shape: str) -> str:
    stored = [127 if number > 0 else -127 for number in numbers]
    scales = [float(np.float32(abs(number) / 127)) for number in numbers]
    return ", ".join(f"int8{shape}<{scale!r}> [{number}]" for scale, number in zip(scales, stored))


def _bias(number: float, weight: float) -> str:
    scale = float(np.float32(_SCALE) * np.float32(weight / 127))
    return f"int32[1]<{scale!r}> [{round(number / scale)}]"


_INTERMEDIATES = ", ".join(
    [*["{'value': '%0 \"op/intermediate\": int16[0]<1.0>'}"] * 4, f"{{'value': '%0 \"op/intermediate\": int8[0]{_Q}'}}"]
).replace("op/", "y/")
_TEXT_IN_INTEGERS = f"""
main {{
  input %x: float32[1,3,1]
  %h: int8[1,1]{_Q} {{'variable': True}} = tfl.FILL(int32[2] [1, 1], int8[]{_Q} 0)
  %z: int32[1,1] = tfl.FILL(int32[2] [1, 1], int32[] 0)
  %c: int16[1,1]<0.0001220703125> {{'variable': True}} = tfl.CAST(%z)
  %q: int8[1,3,1]{_Q} = tfl.QUANTIZE(%x)
  %y: int8[1,3,1]{_Q} = tfl.UNIDIRECTIONAL_SEQUENCE_LSTM(%q, {_constants((1.1, 0.6, -1.1, 2.2), "[1,1]")}, \
{_constants((0.1, 0.2, 0.3, 0.4), "[1,1]")}, _, _, _, {_bias(0.0, 1.1)}, {_bias(1.0, 0.6)}, {_bias(0.0, 1.1)}, \
{_bias(0.5, 2.2)}, _, _, %h, %c, _, _, _, _) \
{{'fused_activation_function': 'TANH', 'intermediates': [{_INTERMEDIATES}]}}
  %d: float32[1,3,1] = tfl.DEQUANTIZE(%y)
  return %d
}}
"""


@pytest.mark.parametrize(("text", "why"), [
    (_text(activation="RELU"), "no activation but tanh"),
    (_text(state="tfl.ADD(%x, float32[] 0.0)"), "written by an op of floats"),
    (_text().replace("return %y", "return %y, %c"), "other ops read its state"),
    (_text().replace("float32[1,1] [2.2]", "%x"), "its weights are computed"),
    (_text().replace("float32[1,1] [2.2]", "int8[1,1]<0.5> [4]"), "its weights are quantized already"),
    (_text(peephole="float32[1] [1.0]").replace("[0.5], _", "[0.5], float32[1,1] [1.0]"), "computes peepholes wrong"),
])  # fmt: skip
def test_what_stays_float(text: str, why: str) -> None:
    (op,) = (op for op in _graph(text).ops if op.kind == lstm.KIND)
    assert why in refusal(op)


def test_cell_scales_are_powers_of_two_within_the_kernels_bounds() -> None:
    assert cell_scale(Range(-3, 2)).scale == (2.0**-13,)
    assert cell_scale(Range(0, 0)).scale == cell_scale(Range(0, 1e-9)).scale == (2.0**-15,)
    assert cell_scale(Range(0, 1000)).scale == (2.0**-9,)


def test_the_cell_state_is_measured_in_every_step() -> None:
    (op,) = (op for op in _graph(_text()).ops if op.kind == lstm.KIND)
    x = np.array([[[-3.0], [9.0], [-1.0]]], np.float32)
    found = Recurrence(op).run(x, None, None)
    steps = [Recurrence(op).run(x[:, :count], None, None) for count in (1, 2, 3)]
    assert found == steps[2] and steps[0].largest > 0 and steps[1].least < 0


def test_weights_are_rounded_together_where_their_inputs_were_measured() -> None:
    rng = np.random.default_rng(0)
    numbers = [", ".join(f"{number:.4f}" for number in rng.uniform(-1, 1, count)) for count in (15, 9, 3)]
    x, h, bias = (f"float32{shape} [{each}]" for shape, each in zip(("[3,5]", "[3,3]", "[3]"), numbers))
    graph = _graph(f"""
    main {{
      input %x: float32[1,9,5]
      input %h: float32[1,3]
      input %c: float32[1,3]
      %y: float32[1,9,3] = tfl.UNIDIRECTIONAL_SEQUENCE_LSTM(\
%x, {", ".join([x] * 4)}, {", ".join([h] * 4)}, _, _, _, {", ".join([bias] * 4)}, _, _, %h, %c) \
{{'fused_activation_function': 'TANH'}}
      return %y
    }}
    """)
    (op,) = graph.ops
    recurrence = Recurrence(op)
    hidden = rng.normal(size=(40, 9, 2)).astype(np.float32)
    recurrence.run(hidden @ rng.normal(size=(2, 5)).astype(np.float32) + 1, None, None)
    assert recurrence.moments.count == 40 * 9
    errors = []
    for moments in ({}, recurrence.measured):
        data = Value(types.INT8, (1, 9, 5))
        data.quantization = Quantization((0.01,), (0,))
        operands = lstm.integer_operands(op, data, Quantization((0.01,), (0,)), moments)
        stored = np.concatenate([_real(operands[1]), _real(operands[5])], axis=1)
        off = np.concatenate([_real(op.operands[1]), _real(op.operands[5])], axis=1) - stored
        shift = off @ recurrence.moments.mean - (_real(operands[12]) - _real(op.operands[12])).reshape(-1)
        errors.append((np.abs(shift).max(), np.trace(off @ recurrence.moments.covariance() @ off.T)))
    (shift, variance), (better_shift, better_variance) = errors
    # Half a step of the bias is left of the mean.
    assert better_shift < 1e-4 < shift and better_variance < 0.5 * variance


def test_what_is_projected_has_the_scale_that_was_measured() -> None:
    x, h, bias = "float32[2,1] [1, -2]", "float32[2,1] [0.5, 0.1]", "float32[2] [0.5, 0.2]"
    (op,) = _graph(f"""
    main {{
      input %x: float32[1,4,1]
      input %h: float32[1,1]
      input %c: float32[1,2]
      %y: float32[1,4,1] = tfl.UNIDIRECTIONAL_SEQUENCE_LSTM(%x, {", ".join([x] * 4)}, {", ".join([h] * 4)}, _, _, _, \
{", ".join([bias] * 4)}, float32[1,2] [0.7, -0.2], _, %h, %c) {{'fused_activation_function': 'TANH'}}
      return %y
    }}
    """).ops
    recurrence = Recurrence(op)
    recurrence.run(np.full((1, 1, 1), 0.25, np.float32), None, None)
    gates = np.array([0.75, -0.3])
    sigmoid = 1 / (1 + np.exp(-gates))
    hidden = sigmoid * np.tanh(sigmoid * np.tanh(gates))
    projection = op.operands[16]
    assert projection is not None
    assert recurrence.measured[projection].largest == pytest.approx(np.abs(hidden).max(), rel=1e-5)
    assert recurrence.output == pytest.approx(np.array([[hidden @ [0.7, -0.2]]]), rel=1e-5)
    for moments, largest in (({}, 1.0), (recurrence.measured, np.abs(hidden).max())):
        data = Value(types.INT8, (1, 4, 1))
        data.quantization = Quantization((0.01,), (0,))
        operands = lstm.integer_operands(op, data, Quantization((0.01,), (3,)), moments)
        last = op.attrs["intermediates"][4].quantization
        assert last.zero_point == (0,) and last.scale[0] == pytest.approx(largest / 127, rel=1e-5)
        assert _real(operands[16]) == pytest.approx(np.array([[0.7, -0.2]]), abs=0.7 / 127)


def _real(value: Value | None) -> np.ndarray:
    assert value is not None and value.data is not None
    how = value.quantization
    return value.data.astype(np.float64) * (how.scale[0] if how else 1.0)
