"""Recurrent layers. State operands are variable tensors; the kernel leaves its new state in them.

Source of the operand lists: the tensor constants of LiteRT's kernels. A weight that is left out is None.
"""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.ir.dims import Dim, Shape, floordiv
from fuseconv.ir.graph import Value
from fuseconv.tfl.opdef import ResultType, op
from fuseconv.tfl.type_inference import ShapeError

_GATES = 4


def sequence(x: Value, weights: Value, width: Dim | None) -> ResultType:
    """Return x [batch, time, in] or [time, batch, in] -> the same with another last dimension. Raises ShapeError unless
    the weights [units, in] take as many inputs."""
    if x.shape is None or width is None:
        return x.dtype, None
    taken = x.shape[-1] if weights.shape is None else weights.shape[1]
    if taken != x.shape[-1] and isinstance(taken, int) and isinstance(x.shape[-1], int):
        raise ShapeError(f"the weights take {taken} inputs, and there are {x.shape[-1]}")
    return x.dtype, (*x.shape[:-1], width)


def rows(value: Value | None) -> Dim | None:
    return None if value is None or value.shape is None else value.shape[0]


def output_width(projection: Value | None, recurrent: Value | None) -> Dim | None:
    """Return the size of an LSTM's output, which is the width of its recurrent weights, or the rows of a projection."""
    if projection is not None:
        return rows(projection)
    return None if recurrent is None or recurrent.shape is None else recurrent.shape[-1]


def both_directions(
    x: Value, weights: tuple[Value, Value], widths: tuple[Dim | None, Dim | None], merge_outputs: bool
) -> ResultType | list[ResultType]:
    """Return one result of both widths, forward then backward, if merge_outputs; else one for each direction."""
    made = [sequence(x, *each) for each in zip(weights, widths)]
    if not merge_outputs:
        return made
    forward, backward = widths
    return sequence(x, weights[0], None if forward is None or backward is None else forward + backward)


@op("UnidirectionalSequenceLSTMOptions")
def unidirectional_sequence_lstm(
    x: Value,
    input_to_input: Value | None,
    input_to_forget: Value,
    input_to_cell: Value,
    input_to_output: Value,
    recurrent_to_input: Value | None,
    recurrent_to_forget: Value,
    recurrent_to_cell: Value,
    recurrent_to_output: Value,
    cell_to_input: Value | None,
    cell_to_forget: Value | None,
    cell_to_output: Value | None,
    input_bias: Value | None,
    forget_bias: Value,
    cell_bias: Value,
    output_bias: Value,
    projection: Value | None,
    projection_bias: Value | None,
    output_state: Value,
    cell_state: Value,
    input_norm: Value | None = None,
    forget_norm: Value | None = None,
    cell_norm: Value | None = None,
    output_norm: Value | None = None,
    *,
    fused_activation_function: str = "NONE",
    cell_clip: float = 0.0,
    proj_clip: float = 0.0,
    time_major: bool = False,
    asymmetric_quantize_inputs: bool = False,
    diagonal_recurrent_tensors: bool = False,
) -> ResultType:
    """Weights [units, in] and [units, out], biases [units], states [batch, out] and [batch, units]."""
    if diagonal_recurrent_tensors and projection is None:
        return sequence(x, input_to_output, rows(input_to_output))
    return sequence(x, input_to_output, output_width(projection, recurrent_to_output))


@op("BidirectionalSequenceLSTMOptions")
def bidirectional_sequence_lstm(
    x: Value,
    fw_input_to_input: Value | None,
    fw_input_to_forget: Value,
    fw_input_to_cell: Value,
    fw_input_to_output: Value,
    fw_recurrent_to_input: Value | None,
    fw_recurrent_to_forget: Value,
    fw_recurrent_to_cell: Value,
    fw_recurrent_to_output: Value,
    fw_cell_to_input: Value | None,
    fw_cell_to_forget: Value | None,
    fw_cell_to_output: Value | None,
    fw_input_bias: Value | None,
    fw_forget_bias: Value,
    fw_cell_bias: Value,
    fw_output_bias: Value,
    fw_projection: Value | None,
    fw_projection_bias: Value | None,
    bw_input_to_input: Value | None,
    bw_input_to_forget: Value,
    bw_input_to_cell: Value,
    bw_input_to_output: Value,
    bw_recurrent_to_input: Value | None,
    bw_recurrent_to_forget: Value,
    bw_recurrent_to_cell: Value,
    bw_recurrent_to_output: Value,
    bw_cell_to_input: Value | None,
    bw_cell_to_forget: Value | None,
    bw_cell_to_output: Value | None,
    bw_input_bias: Value | None,
    bw_forget_bias: Value,
    bw_cell_bias: Value,
    bw_output_bias: Value,
    bw_projection: Value | None,
    bw_projection_bias: Value | None,
    fw_output_state: Value,
    fw_cell_state: Value,
    bw_output_state: Value,
    bw_cell_state: Value,
    aux_input: Value | None,
    fw_aux_to_input: Value | None,
    fw_aux_to_forget: Value | None,
    fw_aux_to_cell: Value | None,
    fw_aux_to_output: Value | None,
    bw_aux_to_input: Value | None,
    bw_aux_to_forget: Value | None,
    bw_aux_to_cell: Value | None,
    bw_aux_to_output: Value | None,
    *,
    fused_activation_function: str = "NONE",
    cell_clip: float = 0.0,
    proj_clip: float = 0.0,
    merge_outputs: bool = False,
    time_major: bool = True,
    asymmetric_quantize_inputs: bool = False,
) -> ResultType | list[ResultType]:
    """One result, forward then backward along the last dimension, if merge_outputs; else one for each direction."""
    widths = output_width(fw_projection, fw_recurrent_to_output), output_width(bw_projection, bw_recurrent_to_output)
    return both_directions(x, (fw_input_to_output, bw_input_to_output), widths, merge_outputs)


@op("LSTMOptions")
def lstm(
    x: Value,
    *operands: Value | None,
    fused_activation_function: str = "NONE",
    cell_clip: float = 0.0,
    proj_clip: float = 0.0,
    kernel_type: str = "FULL",
    asymmetric_quantize_inputs: bool = False,
) -> ResultType | list[ResultType]:
    """One step. FULL: the operands of UNIDIRECTIONAL_SEQUENCE_LSTM with x [batch, in] -> [batch, out]. BASIC: x
    [batch, in], previous activation [batch, units], weights [4 * units, in + units], bias [4 * units], previous state
    [batch, units] -> activation, state, the concatenated input and the gates."""
    if kernel_type == "FULL":
        assert operands[3] is not None
        return sequence(x, operands[3], output_width(operands[15], operands[7]))
    activation, _, _, state = operands
    assert activation is not None and state is not None
    if x.shape is None or state.shape is None:
        return [(x.dtype, None), (state.dtype, None), (x.dtype, None), (types.INT16, None)]
    batch, units = state.shape
    joined: Shape = (batch, x.shape[1] + units)
    gates = types.INT16 if x.dtype is types.UINT8 else x.dtype
    new = (batch, units)
    return [(x.dtype, new), (state.dtype, new), (x.dtype, joined), (gates, (batch, _GATES * units))]


@op("SequenceRNNOptions")
def unidirectional_sequence_rnn(
    x: Value, weights: Value, recurrent: Value, bias: Value, state: Value, *, time_major: bool = False,
    fused_activation_function: str = "NONE", asymmetric_quantize_inputs: bool = False,
) -> ResultType:  # fmt: skip
    """weights [units, in], recurrent [units, units], bias [units], state [batch, units]."""
    return sequence(x, weights, rows(weights))


@op("BidirectionalSequenceRNNOptions")
def bidirectional_sequence_rnn(
    x: Value,
    fw_weights: Value,
    fw_recurrent: Value,
    fw_bias: Value,
    fw_state: Value,
    bw_weights: Value,
    bw_recurrent: Value,
    bw_bias: Value,
    bw_state: Value,
    aux_input: Value | None,
    fw_aux_weights: Value | None,
    bw_aux_weights: Value | None,
    *,
    time_major: bool = False,
    fused_activation_function: str = "NONE",
    merge_outputs: bool = False,
    asymmetric_quantize_inputs: bool = False,
) -> ResultType | list[ResultType]:
    weights = fw_weights, bw_weights
    return both_directions(x, weights, (rows(fw_weights), rows(bw_weights)), merge_outputs)


@op("RNNOptions")
def rnn(
    x: Value, weights: Value, recurrent: Value, bias: Value, state: Value, *, fused_activation_function: str = "NONE",
    asymmetric_quantize_inputs: bool = False,
) -> ResultType:  # fmt: skip
    """One step: x [batch, in] -> [batch, units]."""
    return sequence(x, weights, rows(weights))


@op("SVDFOptions")
def svdf(
    x: Value,
    weights_feature: Value,
    weights_time: Value,
    bias: Value | None,
    state: Value,
    *,
    rank: int = 0,
    fused_activation_function: str = "NONE",
    asymmetric_quantize_inputs: bool = False,
) -> ResultType:
    """x [batch, in], weights_feature [filters, in], weights_time [filters, memory] -> [batch, filters / rank]."""
    filters = rows(weights_feature)
    return sequence(x, weights_feature, None if filters is None else floordiv(filters, rank))
