"""Products of integers for which the model itself quantizes the activations, as layers of Keras 3 do after
`quantize("int8")`. Each row is divided by its largest number, rounded to int8 and multiplied with stored integers, and
the result is scaled back. A FULLY_CONNECTED with weights of int8 does just that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Op, Quantization, Value, constant, detach, replace_uses
from fuseconv.ir.types import DType
from fuseconv.pass_manager import module_pass
from fuseconv.quantize.affine import LARGEST
from fuseconv.quantize.grids import grid_scales
from fuseconv.quantize.selection import Selection
from fuseconv.quantize.weights_to_int8 import LEAST_ELEMENTS
from fuseconv.report.records import Report
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.linear import FUSED_ACTIVATIONS
from fuseconv.tfl.traits import activation_of

_LEVELS = 127
# What keeps the largest number of a row of zeros from being zero.
_LARGEST_EPSILON = 1e-5
_HOLD_ROUNDED = frozenset({types.INT8, types.INT16, types.INT32, types.FLOAT32})
_PARTS = frozenset({
    "ABS", "ADD", "BATCH_MATMUL", "CAST", "DIV", "FULLY_CONNECTED", "MAXIMUM", "MINIMUM", "MUL", "REDUCE_MAX",
    "RESHAPE", "ROUND",
})  # fmt: skip


@dataclass(frozen=True)
class _Rows:
    """x, whose rows behind the first `lead` dimensions are rounded to int8; scale: that which each is multiplied by."""

    x: Value
    scale: Value
    lead: int


@dataclass(frozen=True)
class _Product:
    """Rows times int8 weights [in, out], divided by the scales of channels, plus a bias. end: the op that makes it."""

    rows: _Rows
    weights: np.ndarray
    scales: np.ndarray
    end: Op
    bias: np.ndarray | None = None
    activation: str = "NONE"


@module_pass("raise-hybrid-products", requires=(TFL_ONLY,))
def raise_hybrid_products(module: Module, report: Report, quantize: str, selection: Selection) -> None:
    """Raise products that quantize activations themselves: BATCH_MATMUL(ROUND(x * s), w) -> FULLY_CONNECTED(x, int8 w).

    What divides by the scales behind the product goes, too. For `int4`, weights have 4 bits if these hold them, and 8
    if they are few. Others, and those for integer kernels, which have ranges of their own, are expanded for now."""
    for graph in module.graphs():
        products = [_READ[op.kind](op) for op in graph.ops if op.kind in _READ and not selection.refusal(op)]
        found = {product.end: product for product in products if product is not None}
        stored = {op: dtype for op, product in found.items() if (dtype := _stored_type(product, quantize))}
        for op, dtype in stored.items():
            size = found[op].weights.size
            report.quantize(op, op.result.name, dtype.name, size, size if dtype is types.INT8 else size // 2)
        if found:
            _replace(graph, found, stored)


def _stored_type(product: _Product, quantize: str) -> DType | None:
    """Return the type that the integers of a product keep; None if they are expanded."""
    if quantize == "dynamic":
        return types.INT8
    # Rows of an odd number of inputs would begin within a byte.
    fits = np.abs(product.weights).max() <= LARGEST[types.INT4] and product.weights.shape[0] % 2 == 0
    if quantize != "int4":
        return None
    # Few weights would not be rounded to 4 bits, but become floats.
    return types.INT4 if fits else types.INT8 if product.weights.size < LEAST_ELEMENTS else None


def _product(op: Op) -> _Product | None:
    """Return the product that a BATCH_MATMUL is a part of; None if it is of none."""
    data, weights = op.operands
    if data is None or weights is None or weights.data is None or op.attrs.get("adj_x"):
        return None
    if weights.dtype is not types.INT8 or weights.rank != 2 or np.any(weights.data == -128):
        return None
    stored = weights.data.T if op.attrs.get("adj_y") else weights.data
    rows, end = _rounded_rows(data), _division(op.result)
    if rows is None or end is None or end.result.shape is None:
        return None
    scales = _channel_scales(rows, end)
    ends = (_sizes(value, rows.lead) for value in (rows.x, end.result))
    if scales is None or stored.shape != tuple(map(math.prod, ends)):
        return None
    return _with_bias(_Product(rows, stored, scales, end))


def _product_of_floats(op: Op) -> _Product | None:
    """Return the product of a FULLY_CONNECTED that takes the rounded rows as floats, and weights that lie on a grid.
    Layers of 4 bits compute it so, and so do all that are read from Keras files."""
    data, weights, *bias = op.operands
    rows, end = _rounded_rows(data), _division(op.result)
    plain = not any(bias) and set(op.attrs) <= {"keep_num_dims"}
    if weights is None or weights.data is None or rows is None or end is None or end.result.shape is None or not plain:
        return None
    steps = _steps(weights.data)
    of_rows = _is_scale_of(rows, end.operands[1], end)
    scales = np.ones(len(steps), np.float32) if of_rows else _channel_scales(rows, end)
    ends = tuple(math.prod(_sizes(value, rows.lead)) for value in (rows.x, end.result))
    if np.isnan(steps).any() or weights.data.T.shape != ends or scales is None:
        return None
    stored = np.rint(weights.data / steps[:, None]).astype(np.int8).T
    return _with_bias(_Product(rows, stored, scales / steps, end))


def _steps(weights: np.ndarray) -> np.ndarray:
    """Return the step of the grid that each row of weights [out, in] lies on; NaN for none. Grids of 4 bits are ones of
    8, too, with finer steps; whole numbers are integers already."""
    coarse, fine = (grid_scales(weights, 0, LARGEST[dtype]) for dtype in (types.INT4, types.INT8))
    whole = np.all((weights == np.rint(weights)) & (np.abs(weights) <= LARGEST[types.INT8]), axis=1)
    steps = np.where(np.isnan(coarse), np.where(whole, 1.0, fine), coarse)
    return np.where(weights.any(axis=1), steps, 1.0)


_READ = {"tfl.BATCH_MATMUL": _product, "tfl.FULLY_CONNECTED": _product_of_floats}


def _is_scale_of(rows: _Rows, value: Value | None, end: Op) -> bool:
    """Return whether a tensor holds the scale of the rows, so that it is multiplied with the result's."""
    shape = end.result.shape
    if value is None or shape is None or shape[: rows.lead] != rows.x.shape[: rows.lead]:  # type: ignore[index]
        return False
    return _through_reshapes(value) is rows.scale and value.shape == (
        *shape[: rows.lead], *[1] * (len(shape) - rows.lead)
    )  # fmt: skip


def _sizes(value: Value, lead: int) -> tuple[int, ...]:
    """Return the sizes behind the first dimensions; zeros for those that are not known."""
    return tuple(dim if isinstance(dim, int) else 0 for dim in (value.shape or ())[lead:])


def _maker(value: Value | None, *kinds: str) -> Op | None:
    return value.op if value is not None and value.op is not None and value.op.type in kinds else None


def _operand(value: Value | None, *kinds: str) -> Value | None:
    """Return the first operand of an op of these types."""
    op = _maker(value, *kinds)
    return op.operands[0] if op is not None else None


def _through_reshapes(value: Value | None) -> Value | None:
    while (before := _operand(value, "RESHAPE")) is not None:
        value = before
    return value


def _number(value: Value | None) -> float:
    """Return the one element of a constant; NaN for what is none."""
    array = value.data if value is not None else None
    return float(array.reshape(())) if array is not None and array.size == 1 else math.nan


def _rounded_rows(value: Value | None) -> _Rows | None:
    """Read CAST(MAXIMUM(MINIMUM(ROUND(MUL(x, scale)), 127), -127)), with the scale of `_lead`. There may be no CAST."""
    cut = value
    while (op := _maker(cut, "CAST", "RESHAPE")) is not None and op.result.dtype in _HOLD_ROUNDED:
        cut = op.operands[0]
    limits = set()
    while (op := _maker(cut, "MAXIMUM", "MINIMUM")) is not None:
        limits.add((op.type, _number(op.operands[1])))
        cut = op.operands[0]
    product = _maker(_operand(cut, "ROUND"), "MUL")
    if product is None or limits != {("MAXIMUM", -_LEVELS), ("MINIMUM", _LEVELS)}:
        return None
    first, second = product.operands
    for x, scale in ((first, second), (second, first)):
        lead = _lead(x, scale)
        if lead is not None:
            return _Rows(x, scale, lead)  # type: ignore[arg-type]
    return None


def _lead(x: Value | None, scale: Value | None) -> int | None:
    """Return how many dimensions are in front of the rows whose scale is DIV(127, ADD(REDUCE_MAX(ABS(x)), epsilon))."""
    division = _maker(scale, "DIV")
    total = _maker(division.operands[1], "ADD") if division is not None else None
    if division is None or total is None or x is None or x.rank is None or _number(division.operands[0]) != _LEVELS:
        return None
    largest = _maker(total.operands[0], "REDUCE_MAX")
    if largest is None or not 0 <= _number(total.operands[1]) <= _LARGEST_EPSILON or not largest.attrs.get("keep_dims"):
        return None
    axes = largest.operands[1]
    if axes is None or axes.data is None or _operand(largest.operands[0], "ABS") is not x:
        return None
    reduced = {int(axis) % x.rank for axis in axes.data.flat}
    lead = x.rank - len(reduced)
    return lead if reduced == set(range(lead, x.rank)) else None


def _division(value: Value) -> Op | None:
    """Return the DIV that a tensor goes to as the dividend, as a float and perhaps in another shape."""
    while len(value.uses) == 1:
        (op,) = value.uses
        if op.operands[0] is not value or op.type not in ("CAST", "DIV", "RESHAPE"):
            return None
        if op.type == "DIV":
            return op if value.dtype is types.FLOAT32 and not op.attrs else None
        value = op.result
    return None


def _channel_scales(rows: _Rows, end: Op) -> np.ndarray | None:
    """Return the constant of a divisor that is a product with the scale of the rows, an element for each channel."""
    shape = end.result.shape
    product = _maker(end.operands[1], "MUL")
    if product is None or shape is None:
        return None
    for scale, scales in (product.operands, product.operands[::-1]):
        if scales is None or scales.data is None or not _is_scale_of(rows, scale, end):
            continue
        array = scales.data.reshape((1,) * (len(shape) - scales.data.ndim) + scales.data.shape)
        outputs = _sizes(end.result, rows.lead)
        if array.shape[rows.lead :] == outputs and array.size == math.prod(outputs):
            flat = array.reshape(-1)
            return flat if np.all(np.isfinite(flat) & (flat > 0)) else None
    return None


def _with_bias(product: _Product) -> _Product:
    """Take in what alone reads a product, if it adds a constant."""
    result = product.end.result
    readers = list(result.uses)
    if len(readers) != 1 or readers[0].kind != "tfl.ADD":
        return product
    end = readers[0]
    activation = activation_of(end)
    others = [value for value in end.operands if value is not result and value is not None and value.data is not None]
    outputs = _sizes(result, product.rows.lead)
    if len(others) != 1 or end.result.shape != result.shape or activation not in ("NONE", *FUSED_ACTIVATIONS):
        return product
    bias = others[0].data
    assert bias is not None
    if len(outputs) < bias.ndim and bias.size != math.prod(bias.shape[-len(outputs) :]):
        return product
    bias = np.broadcast_to(bias.reshape(bias.shape[-len(outputs) :]), outputs).reshape(-1)
    return _Product(product.rows, product.weights, product.scales, end, bias, activation)


def _replace(graph: Graph, found: dict[Op, _Product], stored: dict[Op, DType]) -> None:
    replaced: dict[Value, Value] = {}
    out: list[Op] = []
    for op in graph.ops:
        made = None
        if op in found:
            x = found[op].rows.x
            made = _built(Builder(out, op.name, op.sources), replaced.get(x, x), found[op], stored.get(op))
        if made is None:
            out.append(op)
        else:
            made.name = op.result.name
            replaced[op.result] = made
            replace_uses(op.result, made)
            detach(op)
    dead = set()
    for op in reversed(out):
        if op.type in _PARTS and not any(value.uses for value in op.results):
            detach(op)
            dead.add(op)
    graph.ops = [op for op in out if op not in dead]


def _built(tfl: Builder, x: Value, product: _Product, dtype: DType | None) -> Value | None:
    """Return what stands for a product with the rows of x; None if its shape cannot be told. dtype: of the weights;
    None for floats."""
    rows, scales = product.rows, (1 / product.scales).astype(np.float32)
    assert x.shape is not None and product.end.result.shape is not None
    shape = (*x.shape[: rows.lead], product.weights.shape[0])
    sizes, made_sizes = tfl.static_shape(shape), tfl.static_shape(product.end.result.shape)
    if sizes is None or made_sizes is None:
        return None
    x = x if x.shape == shape else tfl.reshape(x, sizes)
    if dtype is not None:
        weights = constant(np.ascontiguousarray(product.weights.T.astype(dtype.numpy)), dtype, product.end.name)
        weights.quantization = Quantization(tuple(map(float, scales)), (0,) * len(scales), 0)
    else:
        weights = constant(np.ascontiguousarray(product.weights.T * scales[:, None]), types.FLOAT32, product.end.name)
    options: dict[str, Any] = {"keep_num_dims": rows.lead != 1, "fused_activation_function": product.activation}
    made: Value = tfl.fully_connected(x, weights, *([] if product.bias is None else [product.bias]), **options)
    return made if made.shape == product.end.result.shape else tfl.reshape(made, made_sizes)
