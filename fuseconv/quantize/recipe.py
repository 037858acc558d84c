"""Which ops compute in integers, and with which scales: decided before anything is changed.

The scale of a tensor is decided where it is made. What needs another one requantizes it; only if nothing else reads the
tensor, it is made with the scale that its reader needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence, Set
from dataclasses import dataclass, field

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Op, Quantization, Value
from fuseconv.ir.types import DType
from fuseconv.quantize import activations, fake_quant, lstm, shifts
from fuseconv.quantize.affine import Range, constant_range, have_scales, parameters
from fuseconv.quantize.centered import center_ranges, fixed_off_zero
from fuseconv.quantize.grids import largest_numbers
from fuseconv.quantize.loops import Carried, carried_scales, gates, join_ranges, join_steps, loops, wide_values
from fuseconv.quantize.narrow import picks_constants, takes_narrow_weights
from fuseconv.quantize.precision import coarse_ops, narrow_ranges
from fuseconv.quantize.recurrent_products import (
    between_floats,
    is_product,
    moves_of_floats,
    products_for,
    recurrent_products,
)
from fuseconv.quantize.selection import EVERYTHING, Selection
from fuseconv.quantize.steep_ops import lost_in_steps
from fuseconv.quantize.target_kernels import refused_integers
from fuseconv.quantize.whole_numbers import hold_whole_numbers
from fuseconv.targets.target import Target
from fuseconv.tfl.integer import NOT_NEGATIVE, READS_SHAPE, UNSAFE, Kernels
from fuseconv.tfl.linear import LAYOUTS
from fuseconv.tfl.traits import CONTROL_FLOW

Ranges = Mapping[Value, Range]
# Steps that are nearer to each other are alike.
_LIKE_STEPS = 0.05
_ADDS_UP = "its rounding errors would add up over the steps of a loop"
_BETWEEN_FLOATS = "what is around it is float"


@dataclass
class Recipe:
    """What becomes of a graph.

    kernels: those of the type of its activations. integer: the ops that compute on it. scales: of the tensors that
    these make, and of those that they read of others. why: why an op stays float. inputs, outputs: scales of the
    graph's, where they are integers themselves: those of a loop's body. carried: scales of what its own loops carry.
    states: types and scales of states of recurrent ops. shifts: scales of what ops add to channels in the steps of
    these. wide: tensors of 16 bits among those of 8, which sum up over steps. exact: tensors that the model itself
    rounds, and whose numbers are to be its own. hybrid: products of floats with weights of 8 bits. narrow: fused
    recurrent ops that no integer kernel takes, and whose own kernels take such weights beside floats. converted:
    scales of tensors of one of these types as ops read them that compute on the other. largest: what
    `largest_of` has returned."""

    kernels: Kernels
    integer: set[Op] = field(default_factory=set)
    scales: dict[Value, Quantization] = field(default_factory=dict)
    why: dict[Op, str] = field(default_factory=dict)
    inputs: Sequence[Quantization | None] = ()
    outputs: Sequence[Quantization | None] = ()
    carried: Carried = field(default_factory=dict)
    states: dict[Value, tuple[DType, Quantization]] = field(default_factory=dict)
    shifts: dict[Op, Quantization] = field(default_factory=dict)
    wide: Set[Value] = frozenset()
    exact: Set[Value] = frozenset()
    hybrid: set[Op] = field(default_factory=set)
    narrow: set[Op] = field(default_factory=set)
    converted: dict[Value, Quantization] = field(default_factory=dict)
    largest: dict[tuple[Value, int], np.ndarray] = field(default_factory=dict)

    def type_of(self, value: Value) -> DType:
        """Return the type of a tensor of integers."""
        return types.INT16 if value in self.wide else self.kernels.activations

    def largest_of(self, weights: Value, axis: int) -> np.ndarray:
        """Return the largest absolute number of each channel of weights, which are read once for it."""
        if (weights, axis) not in self.largest:
            assert weights.data is not None
            self.largest[weights, axis] = largest_numbers(weights.data, axis)
        return self.largest[weights, axis]

    def scale(self, value: Value, dtype: DType) -> Quantization:
        """Return the scale of a tensor as ops read it that compute on a type."""
        return (self.scales if self.type_of(value) is dtype else self.converted)[value]


def floats(values: Iterable[Value | None]) -> list[Value]:
    """Return those of the values that are floats."""
    return [value for value in values if value is not None and value.dtype is types.FLOAT32]


def data_operands(op: Op) -> list[Value]:
    """Return the operands of floats that an op takes as they come: all but weights, bias and states."""
    if op.kind == lstm.KIND:
        return floats(op.operands[:1])
    layout = LAYOUTS.get(op.type)
    if layout is None:
        return floats(op.operands)
    return floats([op.operands[layout.data]])


def choose_recipes(
    module: Module, ranges: MutableMapping[Value, Range], kernels: Kernels, selection: Selection = EVERYTHING,
    float_sums: bool = True, hybrid: bool = False, target: Target | None = None,
) -> dict[Graph, Recipe]:  # fmt: skip
    """Decide for each op of a module whether it computes in integers, and with which scales. ranges: gets those of
    the inputs of loops, and wider ones for steps of unrolled loops. float_sums: what loops sum up over steps is float
    where other tensors have 8 bits, or else has 16. hybrid: products around float sums quantize rows as they come.
    target: what it takes of floats alone stays float."""
    join_steps(module, ranges)
    join_ranges(module, ranges)
    main = {signature.graph for signature in module.signatures}
    recipes = {}
    for graph in module.graphs():
        wider = narrow_ranges(graph, ranges, kernels)
        center_ranges(graph, ranges, kernels)
        hold_whole_numbers(graph, ranges, kernels)
        why = activations.left_float(graph, kernels, hybrid, ranges)
        why |= coarse_ops(graph, ranges, wider, kernels, graph in main)
        if target is not None:
            why |= refused_integers(graph, kernels, target)
        recipes[graph] = _sorted_ops(graph, ranges, why, kernels, selection)
    if kernels.activations is types.INT8:
        if float_sums:
            _leave_sums_float(module, recipes, ranges, selection, hybrid)
        else:
            wide = wide_values(module, _integer_ops(recipes, ranges))
            for recipe in recipes.values():
                recipe.wide = wide
    integer = {op for recipe in recipes.values() for op in recipe.integer}
    types_of = {value: types.INT16 for recipe in recipes.values() for value in recipe.wide}
    carried = carried_scales(module, integer, ranges, lambda value: types_of.get(value, kernels.activations))
    for op, condition, body in loops(module):
        if op in carried:
            recipes[condition].inputs = recipes[body].inputs = recipes[body].outputs = carried[op]
    exact = {value for value, each in ranges.items() if each.fixed}
    for graph, recipe in recipes.items():
        for op in graph.ops:
            if op in carried:
                recipe.carried[op] = carried[op]
                recipe.why.pop(op, None)
        recipe.exact = exact
        _leave_moves_of_floats(graph, recipe)
        _Scales(recipe, ranges).choose(graph)
    return recipes


def _integer_ops(recipes: Mapping[Graph, Recipe], ranges: Ranges) -> set[Op]:
    """Return the ops that compute in integers, but for those that the model itself rounds."""
    return {op for recipe in recipes.values() for op in recipe.integer if not _is_fixed(op, ranges)}


def _leave_sums_float(
    module: Module, recipes: Mapping[Graph, Recipe], ranges: Ranges, selection: Selection, hybrid: bool
) -> None:
    """Let what loops sum up over steps be float, with the gates around it: floats are fast on a CPU. hybrid: so are
    products around them, of rows that are quantized as they come. What the selection leaves float counts as well: the
    gates around it would add up their errors. A FAKE_QUANT among them hands on numbers: what it rounds is the sum of
    such products, not of rounded ones."""
    integer = {op for recipe in recipes.values() for op in recipe.integer}
    kernels = next(iter(recipes.values())).kernels

    def moves(op: Op) -> bool:
        return kernels.moves(op) or op.kind == fake_quant.KIND

    left = {op for recipe in recipes.values() for op in recipe.why if selection.refusal(op)}
    integer |= left
    sums = wide_values(module, integer)
    makers = {op for op in integer if any(value in sums for value in op.results)}
    products, states = recurrent_products(module, integer, moves) if hybrid else (set(), set())
    integer -= products
    summed = sums.union(states, *(op.results for op in products))
    floats = makers.union(*(gates(graph, summed, integer, moves) for graph in recipes))
    integer -= left
    moved: set[Op] = set()
    if floats and hybrid:
        between = {op for graph in recipes for op in between_floats(graph, floats | products, integer, moves)}
        products |= set(filter(is_product, between))
        floats |= between - products
        fed, moved = products_for(floats, module, integer - products, moves)
        products |= fed
        moved |= moves_of_floats(module, integer - products - floats, moves)
        moved = {op for op in moved if not picks_constants(op)}
    for recipe in recipes.values():
        recipe.hybrid = recipe.integer & products
        recipe.why.update(dict.fromkeys(recipe.integer & floats, _ADDS_UP))
        recipe.why.update(dict.fromkeys(recipe.integer & moved, _BETWEEN_FLOATS))
        recipe.integer -= products | floats | moved


def _is_fixed(op: Op, ranges: Ranges) -> bool:
    """Return whether the model itself rounds the results of an op."""
    return any(value in ranges and ranges[value].fixed for value in op.results)


def _sorted_ops(
    graph: Graph, ranges: Ranges, coarse: Mapping[Op, str], kernels: Kernels, selection: Selection
) -> Recipe:
    recipe = Recipe(kernels)
    for op in graph.ops:
        if op.type not in READS_SHAPE and floats((*op.operands, *op.results)):
            why = selection.refusal(op) or _refusal(op, ranges, recipe) or coarse.get(op, "")
            if why:
                recipe.why[op] = why
            else:
                recipe.integer.add(op)
            if takes_narrow_weights(op, ranges, kernels) and not selection.refusal(op) and op not in coarse:
                recipe.narrow.add(op)
    return recipe


def _refusal(op: Op, ranges: Ranges, recipe: Recipe) -> str:
    """Return why an op stays float; empty if it need not."""
    kernels = recipe.kernels
    if op.kind == lstm.KIND and kernels.activations is types.INT8:
        measured = floats([op.operands[0], op.operands[lstm.CELL_STATE], op.result])
        return lstm.refusal(op) or _unmeasured(measured, ranges)
    if op.kind == fake_quant.KIND:
        return fake_quant.refusal(op, kernels)
    if op.type in CONTROL_FLOW:
        return "what it hands to its bodies is float"
    if op not in kernels:
        return UNSAFE.get(op.type) or f"{op.type} has no kernel for {kernels.activations}"
    if any(value.quantization or value.variable for value in (*op.operands, *op.results) if value is not None):
        return "it keeps a state, or is quantized already"
    why = _linear_refusal(op, recipe) or fixed_off_zero(op, ranges, kernels)
    if why:
        return why
    operands = data_operands(op)
    known = [ranges.get(value) for value in operands]
    if op.type in NOT_NEGATIVE and any(each is not None and each.least < 0 for each in known):
        return f"{operands[0].name} has numbers below zero"
    unknown = _unmeasured((*operands, *floats(op.results)), ranges)
    return unknown or _beyond_fixed_scale(op, ranges, kernels) or lost_in_steps(op, ranges, kernels)


def _beyond_fixed_scale(op: Op, ranges: Ranges, kernels: Kernels) -> str:
    """Return why an op whose kernel has one scale of results would clip them; empty if it would not."""
    fixed = kernels.fixed_scale.get(op.type)
    if fixed is None:
        return ""
    (scale,), (zero_point,) = fixed.scale, fixed.zero_point
    ends = np.iinfo(kernels.activations.numpy)
    # One step is missing above: of 256 the last holds 255/256, where 1 is reached. FakeQuants take 1/255.
    held = Range((ends.min - 2 - zero_point) * scale, (ends.max + 2 - zero_point) * scale)
    found = ranges[op.result]
    if found in held:
        return ""
    return f"its results reach {abs(found):.3g}, and those of its kernel end at {round(abs(held))}"


def _unmeasured(values: Iterable[Value], ranges: Ranges) -> str:
    """Return which value has no usable range; empty if each has."""
    for value in values:
        measured = Range.of(value.data) if value.data is not None else ranges.get(value)
        if measured is None:
            return f"no range of {value.name} is known"
        if not measured.is_usual:
            return f"{value.name} reaches {abs(measured):.3g}"
    return ""


def _linear_refusal(op: Op, recipe: Recipe) -> str:
    """Return why the weights and the bias of a product cannot be integers; empty if they can."""
    layout = LAYOUTS.get(op.type)
    if layout is None:
        return ""
    weights = op.operands[layout.weights]
    bias = op.operands[layout.bias] if layout.bias < len(op.operands) else None
    if weights is None or weights.data is None or weights.dtype is not types.FLOAT32:
        return "its weights are computed"
    if bias is not None and bias.data is None:
        return "its bias is computed"
    if not have_scales(recipe.largest_of(weights, layout.outputs)):
        return f"the numbers of {weights.name} have no scale"
    if bias is not None and bias.data is not None and not np.isfinite(bias.data).all():
        return f"{bias.name} holds numbers that are not finite"
    return ""


def _leave_moves_of_floats(graph: Graph, recipe: Recipe) -> None:
    """Leave out ops that move numbers between ops of floats alone: nothing would be gained but two conversions, and
    with a table its bytes."""
    useful = {value for value, scale in zip(graph.outputs, recipe.outputs) if scale is not None}
    made = {value for value, scale in zip(graph.inputs, recipe.inputs) if scale is not None}
    for op, scales in recipe.carried.items():
        useful.update(value for value, scale in zip(op.operands, scales) if value is not None and scale is not None)
        made.update(value for value, scale in zip(op.results, scales) if scale is not None)
    for op in reversed(graph.ops):
        if op in recipe.integer and (not _moves(op, recipe) or any(value in useful for value in op.results)):
            useful.update(data_operands(op))
    for op in graph.ops:
        if op not in recipe.integer:
            continue
        operands = data_operands(op)
        moves = _moves(op, recipe) and not picks_constants(op)
        if moves and not any(value in made for value in operands) and not any(v in useful for v in op.results):
            recipe.integer.remove(op)
            recipe.why[op] = _BETWEEN_FLOATS
        else:
            made.update(op.results)


def _moves(op: Op, recipe: Recipe) -> bool:
    """Return whether an op is as well float between such as are."""
    return recipe.kernels.moves(op) or op.kind == fake_quant.KIND


class _Scales:
    """Scales of the tensors that integer ops make or read."""

    def __init__(self, recipe: Recipe, ranges: Ranges) -> None:
        self.recipe, self.ranges = recipe, ranges
        self.integer, self.scales, self.kernels = recipe.integer, recipe.scales, recipe.kernels

    def choose(self, graph: Graph) -> None:
        self._take(graph.inputs, self.recipe.inputs)
        for op in graph.ops:
            if op in self.recipe.carried:
                self._take(op.results, self.recipe.carried[op])
                self._read_carried(op.operands, op.results, self.recipe.carried[op])
            if op not in self.integer:
                continue
            if op.kind != fake_quant.KIND:
                self._read(data_operands(op), self.recipe.type_of(op.result))
            for value in floats(op.results):
                self.scales[value] = self._of_result(op, value)
            if op.kind == lstm.KIND:
                output, cell = op.operands[lstm.OUTPUT_STATE], op.operands[lstm.CELL_STATE]
                assert output is not None and cell is not None
                self.recipe.states[output] = types.INT8, self.scales[op.result]
                self.recipe.states[cell] = types.INT16, lstm.cell_scale(self.ranges[cell])
                for state in (output, cell):
                    self.recipe.why.pop(state.op, None)  # type: ignore[arg-type]
        self._read_carried(graph.outputs, graph.inputs, self.recipe.outputs)

    def _take(self, values: Iterable[Value], scales: Iterable[Quantization | None]) -> None:
        self.scales.update((value, scale) for value, scale in zip(values, scales) if scale is not None)

    def _read_carried(
        self, values: Iterable[Value | None], becomes: Iterable[Value], scales: Iterable[Quantization | None]
    ) -> None:
        for value, become, scale in zip(values, becomes, scales):
            if scale is not None:
                self._read((value,), self.recipe.type_of(become))

    def _read(self, values: Iterable[Value | None], dtype: DType) -> None:
        """Give a scale to what is read of inputs, and of what ops of floats make; a second one, where it is read as
        integers of another type."""
        for value in values:
            if value is None or value.is_const:
                continue
            own = self.recipe.type_of(value)
            if value not in self.scales:
                self.scales[value] = parameters(self._wanted(value), own)
            if own is not dtype:
                self.recipe.converted[value] = parameters(self.ranges[value], dtype)

    def _of_result(self, op: Op, value: Value) -> Quantization:
        if op.type in self.kernels.fixed_scale:
            return self.kernels.fixed_scale[op.type]
        if op.type in self.kernels.same_scale:
            (operand,) = data_operands(op)
            if operand in self.scales:
                return self.recipe.scale(operand, self.kernels.activations)
            return parameters(self._wanted(value) | self._of(operand), self.kernels.activations)
        wanted = self._wanted(value)
        return self._shifted(op, wanted) or self._apart(op, wanted)

    def _apart(self, op: Op, wanted: Range) -> Quantization:
        """Return the scale of a result, in other steps than those of an operand that is moved by fewer numbers.

        In like steps all that one number moves is rounded the same way: behind the mean that a norm subtracts, by up to
        half a step."""
        value = op.result
        made = parameters(wanted, self.recipe.type_of(value))
        if op.type not in ("ADD", "SUB") or self.recipe.type_of(value) is not types.INT8 or value in self.recipe.exact:
            return made
        ratio = next((made.scale[0] / self.scales[moved].scale[0] for moved in self._moved_alike(op)), 0.0)
        if abs(ratio - 1) >= _LIKE_STEPS:
            return made
        by = (1 + _LIKE_STEPS) / ratio
        return parameters(Range(wanted.least * by, wanted.largest * by), types.INT8)

    def _moved_alike(self, op: Op) -> Iterator[Value]:
        """Yield the operand of the result's shape if the other one is repeated along a dimension but the first."""
        for moved, by in zip(op.operands, op.operands[::-1]):
            if moved in self.scales and moved.shape is not None and by is not None and by.shape is not None:
                sizes = (1,) * (len(moved.shape) - len(by.shape)) + by.shape
                if moved.shape == op.result.shape and any(a == 1 != b for a, b in zip(sizes[1:], moved.shape[1:])):
                    yield moved

    def _shifted(self, op: Op, wanted: Range) -> Quantization | None:
        """Return the scale of a sum in the steps of its operand, if it is such a one."""
        if not self._is_shift(op):
            return None
        data, numbers = op.operands
        assert data is not None and numbers is not None
        found = shifts.tied(numbers, self.scales[data].scale[0], wanted)
        if found is None:
            return None
        scale, self.recipe.shifts[op] = found
        return scale

    def _is_shift(self, op: Op) -> bool:
        if self.kernels.activations is not types.INT8 or not shifts.is_shift(op, self.integer):
            return False
        values = op.operands[0], op.result
        return not any(value in self.recipe.exact or value in self.recipe.wide for value in values)

    def _of(self, constant: Value) -> Range:
        assert constant.data is not None
        return constant_range(constant.data, self.kernels.activations)

    def _wanted(self, value: Value) -> Range:
        """Return the range of a tensor, and of what is made of it in the same scale, if it is made of it alone."""
        wanted = self.ranges[value]
        while len(value.uses) == 1:
            (reader,) = value.uses
            if reader not in self.integer or not self.kernels.moves(reader) or len(reader.results) != 1:
                break
            value = reader.result
            wanted |= self.ranges[value]
        following = [*value.uses]
        if len(following) == 1 and self._is_shift(following[0]):
            return shifts.widened(wanted, shifts.span(self._wanted(following[0].result)))
        return wanted
