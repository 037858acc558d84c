"""Store weights of dense layers in 4 bits, for kernels that quantize what they are multiplied by as they run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.graph import Module, Op, Quantization, Value, constant, replace_uses
from fuseconv.pass_manager import module_pass
from fuseconv.quantize.affine import LARGEST, symmetric_scales
from fuseconv.quantize.calibrate import Calibration
from fuseconv.quantize.grids import grid_scales
from fuseconv.quantize.rounding import round_to_integers
from fuseconv.quantize.selection import Selection
from fuseconv.quantize.weights_to_int8 import LEAST_ELEMENTS
from fuseconv.report.records import Report
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.traits import activation_of

if TYPE_CHECKING:
    from fuseconv.quantize.error_feedback import Moments

_LARGEST = LARGEST[types.INT4]
# Of the largest number of a row or block, what the largest of 4 bits may stand for: beyond is clipped.
_PARTS = np.linspace(0.6, 1.0, 17, dtype=np.float32)
# Scales of blocks are float16, and XNNPACK takes no subnormal ones.
_LEAST_SCALE = float(np.finfo(np.float16).tiny)
# Keras, GPTQ and AWQ have steps for groups of multiples of so many inputs. So many groups tell of nearly all weights
# that they have none.
_GROUP, _FIRST = 8, 64
_ROUNDED = "weights of 4 bits with zero points, or in groups, are stored in 8: kernels of 4 bits do not take them"
_SLOW = "blocks of 4 bits are fast with XNNPACK only: others take a hundred times as long; leave out --block-size"


@module_pass("weights-to-int4", requires=(TFL_ONLY,))
def weights_to_int4(
    module: Module, report: Report, selection: Selection, block_size: int | None, calibration: Calibration
) -> None:  # fmt: skip
    """Store weights of dense layers in 4 bits: FULLY_CONNECTED(x, w) -> FULLY_CONNECTED(x, int4 w).

    They have a scale a row, or one for each block of `block_size` inputs. What lies on a grid of 4 bits is stored as
    the integers that it is. Where kernels take none, they stay for `weights-to-int8`: also what lies on grids of 4 bits
    with zero points, or in groups, that would be rounded twice.

    A kernel of blocks has no activation: FULLY_CONNECTED, RELU stand for one with RELU fused."""
    selection.check(module)
    made: dict[Value, Value | None] = {}
    for graph in module.graphs():
        out: list[Op] = []
        for op in graph.ops:
            out.append(op)
            weights = op.operands[1] if op.kind == "tfl.FULLY_CONNECTED" else None
            if weights is None or not _is_taken(op, weights, selection):
                continue
            if weights not in made:
                made[weights] = _narrow(weights, block_size, calibration.moments.get(op.result))
                if made[weights] is None and _lies_in_groups(weights.stored) and _ROUNDED not in report.warnings:
                    report.warnings.append(_ROUNDED)
            narrow = made[weights]
            if narrow is not None:
                _replace(op, narrow, out, report)
                if narrow.quantization.blocks is not None and _SLOW not in report.warnings:  # type: ignore[union-attr]
                    report.warnings.append(_SLOW)
        graph.ops = out


def _is_taken(op: Op, weights: Value, selection: Selection) -> bool:
    """Return whether the weights may have 4 bits, as far as the ops tell that read them."""
    if weights.dtype is not types.FLOAT32 or not weights.is_const or op.result.dtype is not types.FLOAT32:
        return False
    # Rows of an odd number of inputs would begin within a byte, which kernels take for different things.
    odd = weights.shape[1] % 2  # type: ignore[index, operator]
    small = math.prod(weights.shape) < LEAST_ELEMENTS  # type: ignore[arg-type]
    if small or odd or op.attrs.get("weights_format", "DEFAULT") != "DEFAULT":
        return False
    alike = (reader.kind == op.kind and reader.operands[1] is weights for reader in weights.uses)
    return all(alike) and not any(selection.refusal(reader) for reader in weights.uses)


def _narrow(weights: Value, block_size: int | None, moments: Moments | None) -> Value | None:
    """Return weights in 4 bits; None if their numbers have no scale, or lie on grids of 4 bits that no kernel knows.

    moments: of what they are multiplied by, if samples tell."""
    array = weights.data
    assert array is not None
    outputs, inputs = array.shape
    exact = _grid(array)
    if exact is not None:
        return _constant(weights, np.rint(array / exact[:, None]), _of_rows(exact))
    size = block_size if block_size and inputs % block_size == 0 else inputs
    rows = array.reshape(-1, size)
    largest = symmetric_scales(rows, 0, types.INT4)
    if largest is None or _lies_in_groups(array):
        return None
    blocks = size < inputs or size == block_size
    scales = _best_scales(rows, largest)
    if blocks:
        scales = np.maximum(scales, _LEAST_SCALE).astype(np.float16).astype(np.float32)
        if not np.isfinite(scales).all():
            return None
    if moments is None:
        stored = round_to_integers(rows, scales[:, None], _LARGEST, 0).reshape(array.shape)
    else:
        from fuseconv.quantize.error_feedback import round_with_feedback  # few conversions have samples

        steps = np.repeat(scales.reshape(outputs, -1), size, axis=1)
        stored = round_with_feedback(array, steps, _LARGEST, moments.covariance(centered=False))
    if not blocks:
        return _constant(weights, stored, _of_rows(scales))
    of_blocks = constant(scales.reshape(outputs, -1).astype(np.float16), types.FLOAT16, f"{weights.name}/scales")
    return _constant(weights, stored, Quantization((), (), 0, of_blocks))


def _of_rows(scales: np.ndarray) -> Quantization:
    return Quantization(tuple(map(float, scales)), (0,) * len(scales))


def _constant(weights: Value, stored: np.ndarray, how: Quantization) -> Value:
    made = constant(stored.astype(types.INT4.numpy), types.INT4, weights.name)
    made.quantization = how
    return made


def _grid(rows: np.ndarray) -> np.ndarray | None:
    """Return for each row the scale of which its numbers are multiples by [-7, 7]; None if one has none. (LiteRT's own
    kernel takes no -8.)"""
    scales = grid_scales(rows, 0, _LARGEST)
    known = scales[np.isfinite(scales)]
    scales = np.where(rows.any(axis=1), scales, known.min(initial=1.0)).astype(np.float32)
    return scales if np.all(scales >= np.finfo(np.float32).tiny) else None


def _lies_in_groups(rows: np.ndarray | None) -> bool:
    """Return whether groups of numbers in each row are multiples of steps of their own by up to 15, as those of 4 bits
    with zero points are."""
    if rows is None:
        return False
    count, size = rows.shape
    groups = np.zeros((count, -(-size // _GROUP) * _GROUP), rows.dtype)
    groups[:, :size] = rows
    groups = groups.reshape(-1, _GROUP)
    return size >= _GROUP and _are_on_grids(groups[:_FIRST]) and _are_on_grids(groups)


def _are_on_grids(rows: np.ndarray) -> bool:
    return not np.any(np.isnan(grid_scales(rows, 0, 15)) & rows.any(axis=1))


def _best_scales(rows: np.ndarray, largest: np.ndarray) -> np.ndarray:
    """Return for each row the scale with the least squared error, at most the one that holds its largest number."""
    best, least = largest, np.full(len(rows), np.inf)
    for part in _PARTS:
        scales = largest * part
        stored = np.clip(np.rint(rows / scales[:, None]), -_LARGEST, _LARGEST)
        errors = np.square(stored * scales[:, None] - rows).sum(axis=1)
        best, least = np.where(errors < least, scales, best), np.minimum(errors, least)
    return best


def _replace(op: Op, narrow: Value, out: list[Op], report: Report) -> None:
    """Let an op read weights in 4 bits. out: its graph's ops, up to and including the op."""
    assert narrow.quantization is not None
    blocks = narrow.quantization.blocks
    op.set_operand(1, narrow)
    op.attrs["asymmetric_quantize_inputs"] = True
    activation = activation_of(op)
    if blocks is not None and activation != "NONE":
        op.attrs["fused_activation_function"] = "NONE"
        result = op.result
        product = op.results[0] = Value(result.dtype, result.shape, f"{result.name}/product", op)
        types_of = [(result.dtype, result.shape)]
        (activated,) = Builder(out, op.name, op.sources).typed_op(activation, [product], types_of, {})
        replace_uses(result, activated)
        activated.name = result.name
    size = math.prod(narrow.shape)  # type: ignore[arg-type]
    bytes_of_blocks = 0 if blocks is None else 2 * math.prod(blocks.shape)  # type: ignore[arg-type]
    report.quantize(op, narrow.name, "int4", size * 4, size // 2 + bytes_of_blocks)
