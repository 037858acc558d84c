"""Bring inputs of a model to like sizes, as their weights tell them, where they are to be quantized together.

Features of a table come in units of their own: one reaches 10,000, another 0.5. Weights make up for that, those of the
second are 20,000 times as large. In integers neither hold: steps that reach 10,000 lose the second feature, and steps
of the weights those of the first. A product with powers of two in front changes no bit of what floats compute."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.dims import Dim
from fuseconv.ir.graph import Graph, Module, Op, Value, constant
from fuseconv.ir.terms import op_of
from fuseconv.pass_manager import module_pass
from fuseconv.quantize import MEASURED
from fuseconv.quantize.grids import grid_scales
from fuseconv.quantize.selection import Selection
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.integer import LSTM
from fuseconv.tfl.traits import ARITHMETIC, LAYOUT_CHANGES

# How far weights of inputs lie apart, as the deviation of their binary logarithms. Of inputs that come alike they lie
# less than a bit apart.
_LEAST_SPREAD = 2.0
# Those that are smaller by as many bits than the largest tell of nothing.
_MOST_BITS = 24
# Small weights stay float in the modes that quantize weights alone; those of products do in the others, if need be.
_LEAST_ELEMENTS = 1024
# What may stand between an input and the product: sums and products with constants, other shapes and orders, parts.
_LEAVES_INPUTS = frozenset({
    *ARITHMETIC, *LAYOUT_CHANGES, "CAST", "CONCATENATION", "GATHER", "MAXIMUM", "MINIMUM", "PAD", "REVERSE_V2",
    "SELECT_V2", "SLICE", "SPLIT", "SPLIT_V", "STRIDED_SLICE", "UNPACK",
})  # fmt: skip
# The operands that numbers come from, where others say which: masks, and orders of steps.
_NUMBERS = {"GATHER": slice(0, 1), "SELECT_V2": slice(1, 3)}
# The operands that the first one is multiplied by. Inputs are the last dimension of all of them.
_WEIGHTS = {
    "BIDIRECTIONAL_SEQUENCE_LSTM": (*range(1, 5), *range(18, 22)), "BIDIRECTIONAL_SEQUENCE_RNN": (1, 5),
    "CONV_2D": (1,), "FULLY_CONNECTED": (1,), LSTM: range(1, 5), "UNIDIRECTIONAL_SEQUENCE_RNN": (1,),
}  # fmt: skip
# Another input of theirs may be the one that backward weights multiply.
_AUXILIARY = {"BIDIRECTIONAL_SEQUENCE_LSTM": 39, "BIDIRECTIONAL_SEQUENCE_RNN": 9}


@module_pass("balance-inputs", requires=(TFL_ONLY,))
def balance_inputs(module: Module, selection: Selection, quantize: str) -> bool:
    """Multiply inputs whose weights differ much in size: FULLY_CONNECTED(x, w) -> FULLY_CONNECTED(MUL(x, s), w / s)."""
    changed = False
    for signature in module.signatures:
        changed |= _balance(signature.graph, selection, quantize)
    return changed


def _balance(graph: Graph, selection: Selection, quantize: str) -> bool:
    out: list[Op] = []
    # Steps of an unrolled loop share their weights.
    made: dict[tuple[Value, bytes], Value] = {}
    changed = False
    for op in graph.ops:
        weights = {} if selection.refusal(op) else _input_weights(op)
        # No kernel of floats is taken for an LSTM whose numbers integers lose.
        least = 1 if op.type == LSTM and quantize == "int8" else _LEAST_ELEMENTS
        # Where samples tell ranges, what is computed of other size beside inputs stays float.
        joins = quantize not in MEASURED
        factors = _factors(op, [*weights.values()], joins) if _count(weights.values()) >= least else None
        if factors is not None:
            op.set_operand(0, Builder(out, op.name, op.sources).mul(op.operands[0], factors))
            for index, value in weights.items():
                key = value, factors.tobytes()
                if key not in made:
                    made[key] = constant(_array(value) / factors.reshape(-1), types.FLOAT32, value.name)
                op.set_operand(index, made[key])
            changed = True
        out.append(op)
    graph.ops = out
    return changed


def _input_weights(op: Op) -> dict[int, Value]:
    """Return the weights of the first operand, by their places among the operands; none, if they are not constants."""
    others = op.operands[_AUXILIARY.get(op.type, len(op.operands)) :]
    if op.attrs.get("weights_format", "DEFAULT") != "DEFAULT" or any(value is not None for value in others):
        return {}
    found = {index: value for index in _WEIGHTS.get(op.type, ()) if (value := op.operands[index]) is not None}
    are_floats = all(value.is_const and value.dtype is types.FLOAT32 for value in found.values())
    return found if are_floats and not any(value.quantization for value in found.values()) else {}


def _factors(op: Op, weights: Sequence[Value], joins: bool) -> np.ndarray | None:
    """Return a power of two for each input of a product with weights, in the shape of the last dimensions of its data;
    None if inputs come alike, or are none of the model's.

    joins: whether inputs may be joined with what the model computes. Each such part has one power, for its own weights
    may differ for other reasons."""
    data, inputs = op.operands[0], (weights[0].shape or (1,))[-1]
    if data is None or data.shape is None or not isinstance(inputs, int) or inputs == 1:
        return None
    shape = _last_dimensions(data.shape, inputs)
    parts = [] if shape is None else _parts(data, inputs) if joins else [(slice(0, inputs), _comes_in(data))]
    if shape is None or not any(given for _, given in parts):
        return None
    arrays = [_array(value) for value in weights]
    squares = [np.square(array, dtype=np.float64).reshape(-1, inputs).sum(axis=0) for array in arrays]
    norms = np.sqrt(np.sum(squares, axis=0))
    if not np.isfinite(norms).all() or not norms.any():
        return None
    bits = np.log2(np.maximum(norms, norms.max() * 2.0**-_MOST_BITS))
    tells = norms > norms.max() * 2.0**-_MOST_BITS
    for part, given in parts:
        if not given and tells[part].any():
            bits[part] = bits[part][tells[part]].mean()
            tells[part.start + 1 : part.stop] = False
    if bits[tells].std() < _LEAST_SPREAD or any(map(_lie_on_grids, arrays)):
        return None
    return np.exp2(np.rint(bits - bits.max())).astype(np.float32).reshape(shape)


def _parts(data: Value, inputs: int) -> list[tuple[slice, bool]]:
    """Return what a tensor is made of along its last dimension, each with whether it is of inputs of the model."""
    joined = op_of(data, "tfl.CONCATENATION")
    whole = [(slice(0, inputs), _comes_in(data))]
    if joined is None or data.shape is None or joined.attrs["axis"] % len(data.shape) != len(data.shape) - 1:
        return whole
    parts: list[tuple[slice, bool]] = []
    for value in joined.operands:
        size = value.shape[-1] if value is not None and value.shape else None
        if value is None or not isinstance(size, int):
            return whole
        start = parts[-1][0].stop if parts else 0
        parts.append((slice(start, start + size), _comes_in(value)))
    return parts if parts[-1][0].stop == inputs else whole


def _lie_on_grids(array: np.ndarray) -> bool:
    """Return whether the weights of most outputs were quantized once. Few numbers may lie on a grid by chance."""
    return bool(np.isnan(grid_scales(array, 0)).mean() < 0.5)


def _count(constants: Iterable[Value]) -> int:
    return sum(math.prod(dim for dim in value.shape or () if isinstance(dim, int)) for value in constants)


def _array(value: Value) -> np.ndarray:
    assert value.data is not None
    return value.data


def _last_dimensions(shape: Sequence[Dim], size: int) -> tuple[int, ...] | None:
    """Return the last dimensions that hold as many elements, as FULLY_CONNECTED reads more than one of them."""
    found: tuple[int, ...] = ()
    for dim in reversed(shape):
        if not isinstance(dim, int) or math.prod(found) >= size:
            break
        found = (dim, *found)
    return found if math.prod(found) == size else None


def _comes_in(value: Value) -> bool:
    """Return whether a tensor is of inputs of the model, each number of one of them."""
    pending, seen = [value], set[Value]()
    while pending:
        value = pending.pop()
        if value.is_const:
            return False
        if value.op is None or value in seen:
            continue
        seen.add(value)
        if value.op.type not in _LEAVES_INPUTS:
            return False
        numbers = value.op.operands[_NUMBERS.get(value.op.type, slice(None))]
        read = [operand for operand in numbers if operand is not None and not operand.is_const]
        if not read or (len(read) > 1 and value.op.type not in ("CONCATENATION", "SELECT_V2")):
            return False
        pending += read
    return True
