"""Bring inputs of a model to like sizes, as their weights tell them, where they are to be quantized together.

Features of a table come in units of their own: one reaches 10,000, another 0.5. Weights make up for that, those of the
second are 20,000 times as large. In integers neither hold: steps that reach 10,000 lose the second feature, and steps
of the weights those of the first. A product with powers of two in front changes no bit of what floats compute."""

from __future__ import annotations

import math

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Op, Value, constant
from fuseconv.pass_manager import module_pass
from fuseconv.quantize.grids import grid_scales
from fuseconv.quantize.selection import Selection
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.linear import Linear, linear
from fuseconv.tfl.traits import ARITHMETIC, RESHAPES

# How far weights of inputs lie apart, as the deviation of their binary logarithms. Of inputs that come alike they lie
# less than a bit apart.
_LEAST_SPREAD = 2.0
# Those that are smaller by as many bits than the largest tell of nothing.
_MOST_BITS = 24
# Small weights stay float in the modes that quantize weights alone.
_LEAST_ELEMENTS = 1024
# What may stand between an input and the product: sums and products with constants, other shapes.
_LEAVES_INPUTS = frozenset({*ARITHMETIC, *RESHAPES, "CAST", "CONCATENATION", "MAXIMUM", "MINIMUM"})


@module_pass("balance-inputs", requires=(TFL_ONLY,))
def balance_inputs(module: Module, selection: Selection) -> bool:
    """Multiply inputs whose weights differ much in size: FULLY_CONNECTED(x, w) -> FULLY_CONNECTED(MUL(x, s), w / s)."""
    changed = False
    for signature in module.signatures:
        changed |= _balance(signature.graph, selection)
    return changed


def _balance(graph: Graph, selection: Selection) -> bool:
    out: list[Op] = []
    changed = False
    for op in graph.ops:
        found = linear(op) if op.type in ("CONV_2D", "FULLY_CONNECTED") else None
        factors = _factors(found) if found is not None and not selection.refusal(op) else None
        if factors is not None:
            assert found is not None
            data = Builder(out, op.name, op.sources).mul(found.data, factors)
            weights = constant(found.array / found.along_inputs(factors), types.FLOAT32, found.weights.name)
            op.set_operand(found.layout.data, data)
            op.set_operand(found.layout.weights, weights)
            changed = True
        out.append(op)
    graph.ops = out
    return changed


def _factors(found: Linear) -> np.ndarray | None:
    """Return a power of two for each input of a product with weights; None if inputs come alike, or are none of the
    model's."""
    sizes = found.sizes
    if math.prod(sizes) < _LEAST_ELEMENTS or found.inputs is None or found.data.shape is None:
        return None
    if found.data.shape[-1] != found.inputs != 1 or found.sizes[found.layout.inputs] != found.inputs:
        return None
    if not _comes_in(found.data):
        return None
    others = tuple(axis for axis in range(len(sizes)) if axis != found.layout.inputs)
    norms = np.sqrt(np.square(found.array, dtype=np.float64).mean(axis=others))
    if not np.isfinite(norms).all() or not norms.any():
        return None
    bits = np.log2(np.maximum(norms, norms.max() * 2.0**-_MOST_BITS))
    told = bits[norms > norms.max() * 2.0**-_MOST_BITS]
    if told.std() < _LEAST_SPREAD or not np.isnan(grid_scales(found.array, found.layout.outputs)).all():
        return None
    return np.exp2(np.rint(bits - bits.max())).astype(np.float32)


def _comes_in(value: Value) -> bool:
    """Return whether a tensor is of inputs of the model, each number of one of them."""
    if value.op is None:
        return not value.is_const
    if value.op.type not in _LEAVES_INPUTS:
        return False
    read = [operand for operand in value.op.operands if operand is not None and not operand.is_const]
    return all(map(_comes_in, read)) and (len(read) == 1 or value.op.type == "CONCATENATION")
