"""Rewrite a graph to what a recipe says: ops on int8, and conversions where these meet ops of floats."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import zip_longest
from types import MappingProxyType

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Op, Quantization, Value, constant
from fuseconv.ir.rewriter import replace_op
from fuseconv.ir.types import DType
from fuseconv.quantize import fake_quant, lstm, shifts
from fuseconv.quantize.activations import expand_activation
from fuseconv.quantize.affine import LARGEST, Range, constant_range, parameters, quantized, symmetric_scales
from fuseconv.quantize.centered import centered, is_centered
from fuseconv.quantize.channel_means import mean_errors
from fuseconv.quantize.error_feedback import Moments
from fuseconv.quantize.grids import grid_scales
from fuseconv.quantize.recipe import Recipe
from fuseconv.quantize.rounding import round_to_integers
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.integer import NOT_NEGATIVE, READS_SHAPE
from fuseconv.tfl.linear import LAYOUTS

# A bias that is stored as more would overflow the sums of the kernels.
_LARGEST_BIAS = {types.INT32: 1 << 30, types.INT64: 1 << 40}
# Their kernels take any scales of int16 only if an option says so.
_POWERS_OF_TWO = ("ADD", "SUB")
# LiteRT's kernel of ADD ends the process where its result has steps finer than those of an operand by 1 << 19.
_MOST_FINER = 1 << 18
# Of steps finer than this part of the result's, rounding twice moves the mean by less than a hundredth of a step.
_LEAST_TWICE = 2.0**-5
# Of so many weights that are one a channel, scales are worth their bytes.
_MANY = 32
# Results at the ends of a range may be off by so many of its 255 steps: most lie nearer to zero, and are off by less.
_BORNE = 8


def rewrite(
    graph: Graph, recipe: Recipe, moments: Mapping[Value, Moments] = MappingProxyType({}),
    means: Mapping[Value, np.ndarray] = MappingProxyType({}), on_cpu: bool = False,
) -> None:  # fmt: skip
    """Let the ops of the recipe compute in integers. moments: of what LSTMs multiply. means: of
    channels, where they are known. on_cpu: activations are sums and products, which are faster there, and int16 is made
    of int8 by way of floats."""
    _Rewriting(recipe, moments, means, on_cpu).run(graph)


def _shared_weights(graph: Graph) -> set[Value]:
    """Return the weights that are those of another product, too, as in the steps of an unrolled loop."""
    known: dict[Hashable, Value] = {}
    shared = set()
    for op in graph.ops:
        weights = op.operands[LAYOUTS[op.type].weights] if op.type in LAYOUTS else None
        if weights is not None and weights.data is not None:
            first = known.setdefault((op.type, op.sources, weights.shape), weights)
            assert first.data is not None
            if len(weights.uses) > 1 or (first is not weights and np.array_equal(first.data, weights.data)):
                shared |= {first, weights}
    return shared


class _Rewriting:
    """One rewriting of a graph by its recipe. out: the ops that take the place of its own so far."""

    def __init__(
        self, recipe: Recipe, moments: Mapping[Value, Moments], means: Mapping[Value, np.ndarray], on_cpu: bool
    ) -> None:
        self.recipe, self.moments, self.means, self.on_cpu = recipe, moments, means, on_cpu
        self.out: list[Op] = []
        # Of a tensor, the one of a type with a scale, the one of floats; of a constant, that with a type and scales.
        self.narrow: dict[tuple[Value, DType, Quantization], Value] = {}
        self.wide: dict[Value, Value] = {}
        self.constants: dict[tuple[Value, DType, Quantization], Value] = {}
        self.shared: set[Value] = set()
        # By how much each channel of a tensor is off, in all of its numbers.
        self.offsets: dict[Value, np.ndarray] = {}

    def run(self, graph: Graph) -> None:
        self.shared = _shared_weights(graph)
        self._narrow(graph.inputs, self.recipe.inputs)
        for op in graph.ops:
            if op in self.recipe.integer:
                self._integer(op)
            elif op in self.recipe.hybrid:
                self._hybrid(op)
            elif op in self.recipe.carried:
                self._carry(op, op.results, self.recipe.carried[op])
                self._narrow(op.results, self.recipe.carried[op])
                self.out.append(op)
            elif op.results and op.result in self.recipe.states:
                self._write_state(op)
            else:
                self._stay(op)
                self.out.append(op)
        self._carry(graph.terminator, graph.inputs, self.recipe.outputs)
        graph.ops = self.out

    def _stay(self, op: Op) -> None:
        if op.type in READS_SHAPE:
            return
        operands = [self._float(value, op) for value in op.operands]
        if operands != op.operands:
            op.set_operands(operands)

    def _carry(self, op: Op, becomes: Sequence[Value], scales: Sequence[Quantization | None]) -> None:
        """Give an op operands of these scales, and floats where there is none. becomes: what each is carried as."""
        operands = [
            self._float(value, op) if scale is None or value is None
            else self._operand(op, value, self.recipe.type_of(become), scale)
            for value, become, scale in zip_longest(op.operands, becomes[: len(scales)], scales)
        ]  # fmt: skip
        if operands != op.operands:
            op.set_operands(operands)

    def _integer(self, op: Op) -> None:
        scales = self.recipe.scales
        result = scales.get(op.results[0])
        operands = list(op.operands)
        layout = LAYOUTS.get(op.type)
        linear = (layout.weights, layout.bias) if layout is not None else ()
        if op.kind in (lstm.KIND, fake_quant.KIND):
            (self._lstm if op.kind == lstm.KIND else self._round)(op)
            return
        for index, value in enumerate(operands):
            if index not in linear and value is not None and self._is_number(value):
                needed = result if self.recipe.kernels.moves(op) else None
                needed = self.recipe.shifts.get(op) if value.is_const and needed is None else needed
                operands[index] = self._operand(op, value, self.recipe.type_of(op.results[0]), needed)
        kept = _bounded_by_type(op, operands)
        if kept is not None and kept in scales:  # not a copy in another scale
            replace_op(op, [kept])
            return
        if layout is not None:
            self._linear(op, operands)
        self._offset(op, operands)
        op.set_operands(operands)
        self._narrow(op.results, [scales.get(value) for value in op.results])
        if op.type in _POWERS_OF_TWO and op.result.dtype is types.INT16:
            op.attrs["pot_scale_int16"] = False
        if self.on_cpu:
            expand_activation(op, self.out, op.results[0] in self.recipe.exact)
        else:
            self.out.append(op)

    def _offset(self, op: Op, operands: Sequence[Value | None]) -> None:
        """Note by how much the channels of a result are off."""
        data = op.operands[0]
        if op in self.recipe.shifts:
            exact, stored = op.operands[1], operands[1]
            assert exact is not None and stored is not None
            self.offsets[op.result] = shifts.off_by(exact, stored)
        elif data in self.offsets and shifts.hands_on(op):
            self.offsets[op.result] = self.offsets[data]

    def _lstm(self, op: Op) -> None:
        data = op.operands[0]
        assert data is not None
        output = self.recipe.scales[op.result]
        narrow = self._operand(op, data, types.INT8)
        op.set_operands(lstm.integer_operands(op, narrow, output, self.moments))
        for index in (lstm.OUTPUT_STATE, lstm.CELL_STATE):
            state = op.operands[index]
            assert state is not None
            state.dtype, state.quantization = self.recipe.states[state]
        op.result.dtype, op.result.quantization = types.INT8, output
        self.out.append(op)

    def _round(self, op: Op) -> None:
        """Let a FAKE_QUANT be a QUANTIZE; nothing, if its operand has the scale already."""
        (value,) = op.operands
        assert value is not None
        if value.quantization == self.recipe.scales[op.result]:
            replace_op(op, [value])
            return
        op.set_kind("tfl.QUANTIZE")
        op.attrs = {}
        self._narrow(op.results, [self.recipe.scales[op.result]])
        if value.dtype is types.INT8:
            _become_sum(op, value)
        self.out.append(op)

    def _write_state(self, op: Op) -> None:
        """Let FILL or TILE write a state in integers."""
        dtype, scale = self.recipe.states[op.result]
        index = 1 if op.kind == "tfl.FILL" else 0
        value = op.operands[index]
        assert value is not None
        zeros = op.kind == "tfl.FILL" and value.is_const and not np.any(value.data)
        if dtype is types.INT16 and zeros and op.result.is_static:
            self._cast_zeros(op)
        elif value.is_const:
            op.set_operand(index, self._constant(value, scale, dtype))
        else:
            wide = self._float(value, op)
            assert wide is not None
            made = Builder(self.out, value.name, op.sources).quantize(wide, results=[(dtype, value.shape)])
            made.quantization = scale
            op.set_operand(index, made)
            if dtype is types.INT16:
                self._slice_whole(op, made)
        op.result.dtype, op.result.quantization = dtype, scale
        self.out.append(op)

    def _cast_zeros(self, op: Op) -> None:
        """Let a FILL with zeros have integers of 32 bits, which a CAST makes the state: TFLite Micro's FILL has none of
        16. Leave a dynamic batch, which Micro lacks. Behind another tensor of dynamic size, the runtime keeps the place
        of one row for what a CAST makes, and more rows overwrite other tensors."""
        operands = [op.operands[0], constant(0, types.INT32)]
        tfl = Builder(self.out, op.name, op.sources)
        op.set_operands(tfl.typed_op("FILL", operands, [(types.INT32, op.result.shape)], {}))
        op.set_kind("tfl.CAST")

    def _slice_whole(self, op: Op, x: Value) -> None:
        """Let a TILE of one time be a SLICE of all: TensorFlow 2.21 tiles no int16. MAXIMUM hides a size of a dynamic
        batch, as the state's place is not to be known before the invoke."""
        tfl = Builder(self.out, op.name, op.sources)
        assert x.shape is not None
        sizes = tfl.ints(x.shape) if x.is_static else tfl.maximum(tfl.shape(x), tfl.const(0, types.INT32))
        op.set_kind("tfl.SLICE")
        op.set_operands([x, tfl.ints([0] * len(x.shape)), sizes])

    def _is_number(self, value: Value) -> bool:
        """Return whether a tensor is of floats, or was before its maker was rewritten."""
        return value.dtype is types.FLOAT32 or value in self.recipe.scales

    def _operand(self, op: Op, value: Value, dtype: DType, needed: Quantization | None = None) -> Value:
        """Return an operand as integers of a type, in the scale that is needed; if none is, in its own."""
        center = dtype is types.INT8 and is_centered(op, value)
        if value.is_const:
            assert value.data is not None
            scale = needed or parameters(constant_range(value.data, dtype), dtype)
            return self._constant(value, centered(scale) if center else scale, dtype)
        scale = needed or self.recipe.scale(value, dtype)
        if op.type in NOT_NEGATIVE and dtype is types.INT8 and scale.zero_point != (-128,):
            scale = parameters(Range(0.0, scale.scale[0] * (127 - scale.zero_point[0])))
        if center:
            scale = centered(scale)
        if value.dtype is dtype and value.quantization == scale:
            return value
        key = value, dtype, scale
        if key not in self.narrow:
            # TensorFlow 2.21 makes no int16 of int8.
            apart = self.on_cpu and value.dtype is types.INT8 and dtype is types.INT16
            wide = self._float(value, op) if apart else value
            made = Builder(self.out, value.name, op.sources).quantize(wide, results=[(dtype, value.shape)])
            made.quantization = scale
            self.narrow[key] = made
            exact = value in self.recipe.exact or (self.on_cpu and _is_rounded_twice(value.quantization, scale))
            if exact and value.dtype is dtype is types.INT8:
                _become_sum(made.op, value)
        return self.narrow[key]

    def _float(self, value: Value | None, op: Op) -> Value | None:
        """Return an operand of an op of floats."""
        if value is None or value.dtype is types.FLOAT32 or value not in self.recipe.scales:
            return value
        if value not in self.wide:
            sources = op.sources or (value.op.sources if value.op is not None else ())
            self.wide[value] = Builder(self.out, value.name, sources).dequantize(value)
        return self.wide[value]

    def _constant(self, value: Value, scale: Quantization, dtype: DType = types.INT8) -> Value:
        key = value, dtype, scale
        if key not in self.constants:
            self.constants[key] = quantized(value, scale, dtype)
        return self.constants[key]

    def _linear(self, op: Op, operands: list[Value | None]) -> None:
        """Quantize the weights, with a scale a channel or one for all, and the bias, whose scale is their product with
        the data's."""
        layout = LAYOUTS[op.type]
        data, weights = operands[layout.data], operands[layout.weights]
        bias = operands[layout.bias] if layout.bias < len(operands) else None
        assert data is not None and data.quantization is not None and weights is not None and weights.data is not None
        of_data = np.float32(data.quantization.scale[0])
        shares = self._is_one_grid(op, weights) or self._bears_one_scale(op, weights.data, data.quantization.scale[0])
        scales = symmetric_scales(weights.data, None) if shares else self._scales(weights, layout.outputs)
        assert scales is not None
        if bias is not None:
            assert bias.data is not None
            largest = _LARGEST_BIAS[self.recipe.kernels.biases]
            least = np.abs(bias.data) / (of_data * largest)
            scales = np.maximum(scales, least.max(initial=0.0) if shares else least).astype(np.float32)
        how = Quantization(tuple(map(float, scales)), (0,) * len(scales), 0 if shares else layout.outputs)
        operands[layout.weights] = stored = self._symmetric(weights, types.INT8, how)
        bias = self._corrected(op, weights, stored, bias)
        if bias is not None:
            how = Quantization(tuple(map(float, of_data * scales)), (0,) * len(scales))
            operands[layout.bias :] = [self._symmetric(bias, self.recipe.kernels.biases, how)]

    def _hybrid(self, op: Op) -> None:
        """Quantize the weights of a product of floats, with a scale a channel: rows are quantized as they come."""
        layout = LAYOUTS[op.type]
        data, weights, *bias = op.operands
        assert weights is not None and weights.data is not None
        scales = self._scales(weights, layout.outputs)
        assert scales is not None
        how = Quantization(tuple(map(float, scales)), (0,) * len(scales), layout.outputs)
        stored = self._symmetric(weights, types.INT8, how)
        if data in self.offsets:
            bias = [self._corrected(op, weights, stored, bias[0] if bias else None)]
        op.set_operands([self._float(data, op), stored, *bias])
        op.attrs["asymmetric_quantize_inputs"] = True
        self.out.append(op)

    def _scales(self, weights: Value, axis: int) -> np.ndarray | None:
        """Return the scales of weights, one a channel."""
        assert weights.data is not None
        return symmetric_scales(weights.data, axis, largest=self.recipe.largest_of(weights, axis))

    def _is_one_grid(self, op: Op, weights: Value) -> bool:
        """Return whether all numbers of a matrix are multiples of one step, as where the model rounds them so."""
        if op.type != "FULLY_CONNECTED" or weights.data is None or len(weights.data) == 1:
            return False
        largest = self.recipe.largest_of(weights, 0).max(keepdims=True)
        return not np.isnan(grid_scales(weights.data, None, largest=largest)).any()

    def _bears_one_scale(self, op: Op, weights: np.ndarray, of_data: float) -> bool:
        """Return whether one scale will do for weights that are one a channel, as normalizations leave behind a
        CONCATENATION. In scales and zero points they would take nine times their bytes."""
        if op.type != "DEPTHWISE_CONV_2D" or self.recipe.kernels.activations is not types.INT8:
            return False
        if weights.shape[-1] != weights.size or weights.size < _MANY or op.result in self.recipe.exact:
            return False
        sizes = np.abs(weights).ravel().astype(np.float64)
        scale = symmetric_scales(weights, None)
        if scale is None:
            return False
        errors = np.abs(np.rint(sizes / scale) * scale - sizes)
        # A channel holds no more than its data does, and makes no more than the result holds.
        steps = np.minimum(of_data / self.recipe.scales[op.result].scale[0], 1 / np.maximum(sizes, scale / 2))
        return bool(255 * (errors * steps).max() <= _BORNE)

    def _corrected(self, op: Op, weights: Value, stored: Value, bias: Value | None) -> Value | None:
        """Return the bias that makes up for what the errors of weights amount to on the mean, and for channels that are
        off. The steps of an unrolled loop, which have none, get none: there would be one for each."""
        layout = LAYOUTS[op.type]
        data = op.operands[layout.data]
        means, offsets = self.means.get(data), self.offsets.get(data)  # type: ignore[arg-type]
        assert weights.data is not None and stored.data is not None and stored.quantization is not None
        if offsets is None and (means is None or (bias is None and weights in self.shared)):
            return bias
        sizes = [-1 if axis == layout.outputs else 1 for axis in range(weights.data.ndim)]
        held = stored.data * np.array(stored.quantization.scale, np.float32).reshape(sizes)
        by_offsets = None if offsets is None else mean_errors(op, held, offsets)
        held -= weights.data
        by_errors = None if means is None else mean_errors(op, held, means)
        moved = [each for each in (by_offsets, by_errors) if each is not None]
        if not moved:
            return bias
        known = 0 if bias is None or bias.data is None else bias.data
        made = (known - np.sum(moved, axis=0)).astype(np.float32)
        return constant(made, types.FLOAT32, bias.name if bias is not None else op.name)

    def _symmetric(self, value: Value, dtype: DType, how: Quantization) -> Value:
        """Return a constant in integers around zero, with a scale along an axis."""
        key = value, dtype, how
        if key not in self.constants:
            array = value.data
            assert array is not None
            along = np.array(how.scale).reshape([-1 if axis == how.axis else 1 for axis in range(array.ndim)])
            if dtype is types.INT8:
                stored = round_to_integers(array, along, LARGEST[dtype], how.axis)
            else:
                stored = np.rint(array / along)
            made = self.constants[key] = constant(stored.astype(dtype.numpy, copy=False), dtype, value.name)
            made.quantization = how
        return self.constants[key]

    def _narrow(self, values: Sequence[Value], scales: Sequence[Quantization | None]) -> None:
        """Let values be integers, where there is a scale for them."""
        for value, scale in zip(values, scales):
            if scale is not None:
                value.dtype, value.quantization = self.recipe.type_of(value), scale


def _bounded_by_type(op: Op, operands: Sequence[Value | None]) -> Value | None:
    """Return what MAXIMUM or MINIMUM of integers hands on, if a constant is where their type ends: as that of 1e-6 in
    steps of 0.01, which keeps a norm from being 0."""
    if op.type not in ("MAXIMUM", "MINIMUM"):
        return None
    for bound, other in zip(operands, operands[::-1]):
        if bound is None or other is None or bound.data is None or other.shape != op.result.shape:
            continue
        ends = np.iinfo(bound.data.dtype)
        if bool((bound.data == (ends.min if op.type == "MAXIMUM" else ends.max)).all()):
            return other
    return None


def _is_rounded_twice(how: Quantization | None, made: Quantization) -> bool:
    """Return whether LiteRT's own QUANTIZE rounds twice, to a part of a step and then to steps: up to an eighth of one
    too far from zero on the mean, which adds up in a network with RELUs. Much finer steps are hardly off."""
    return how is not None and _LEAST_TWICE * made.scale[0] <= how.scale[0] < 0.5 * made.scale[0]


def _become_sum(op: Op, value: Value) -> None:
    """Let a QUANTIZE hand on a tensor of int8 in another scale as it does, but for its rounding: ADD(x, 0)."""
    how, made = value.quantization, op.result.quantization
    assert how is not None and made is not None
    if how.scale[0] >= _MOST_FINER * made.scale[0]:
        return  # every number but 0 is at an end
    zero = constant(np.array(how.zero_point[0], np.int8), types.INT8, f"{value.name}/zero")
    zero.quantization = how
    op.set_kind("tfl.ADD")
    op.set_operands([value, zero])
    op.attrs = {}
