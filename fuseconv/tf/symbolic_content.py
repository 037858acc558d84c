"""Symbolic constant propagation: the elements of small integer tensors as expressions over unknown sizes."""

from __future__ import annotations

import numpy as np

from fuseconv.ir import dims, types
from fuseconv.ir.dims import Sym
from fuseconv.ir.graph import Op, Value
from fuseconv.tf import folders
from fuseconv.tf.operands import CONTENT_LIMIT

# Ops whose kernels are right on unknown sizes, since they move elements or use arithmetic that Sym defines; with the
# operands that may hold such sizes. The others (axes, indices, conditions) must be known.
_EVERY = slice(None)
_FIRST = slice(0, 1)
_SYMBOLIC = {
    **dict.fromkeys(("Add", "AddN", "AddV2", "FloorDiv", "FloorMod", "Mul", "Neg", "Sub"), _EVERY),
    **dict.fromkeys(("BroadcastArgs", "BroadcastGradientArgs", "DynamicStitch", "Maximum", "Minimum"), _EVERY),
    **dict.fromkeys(("Cast", "Identity", "IdentityN", "OnesLike", "Pack", "PreventGradient", "Snapshot"), _EVERY),
    **dict.fromkeys(("StopGradient", "Unpack", "ZerosLike", "Squeeze"), _EVERY),
    **dict.fromkeys(("BroadcastTo", "ExpandDims", "Gather", "GatherNd", "GatherV2", "Pad", "PadV2", "Prod"), _FIRST),
    **dict.fromkeys(("Max", "Min", "Reshape", "ReverseV2", "Roll", "Slice", "SplitV", "StridedSlice"), _FIRST),
    **dict.fromkeys(("Sum", "TensorScatterUpdate", "Tile", "Transpose"), _FIRST),
    **dict.fromkeys(("Concat", "ConcatOffset", "Fill", "Select", "SelectV2", "Split"), slice(1, None)),
    "ConcatV2": slice(0, -1),
}
FOLLOWED = frozenset(dtype for dtype in types.ALL if dtype.numpy.kind in "iub")
# Those that find one of several elements.
_COMPARING = frozenset({"Max", "Min"})
_SHAPE_OPS = frozenset({"Shape", "ShapeN", "Size", "Rank", "TensorListLength"})
# What StatelessRandomGetAlg tells on a CPU, as `Algorithm` of TensorFlow's random_ops_util.py numbers it.
_PHILOX = 1


def content(op: Op) -> list[np.ndarray | None]:
    """Return the elements of each result of a TF op: an object array of ints and Syms, or None where they are not
    known.

    Only integer and bool results of at most 64 elements are followed, and no conclusion is drawn from a comparison of
    unknown sizes.
    """
    nothing: list[np.ndarray | None] = [None] * len(op.results)
    for result in op.results:
        if result.dtype not in FOLLOWED:
            return nothing
    if op.kind == "tf.StatelessRandomGetAlg":
        return [_objects(_PHILOX)]
    if op.dialect != "tf" or not op.operands or not op.results:
        return nothing
    if op.type in _SHAPE_OPS:
        made = [_of_shape(op.type, operand) for operand in op.operands]
        return [None if known is None else _checked(known, result) for known, result in zip(made, op.results)]
    if not all(map(_is_small, op.results)):
        return nothing
    operands = []
    for operand in op.operands:
        known = _settled(operand)
        if known is None:
            return nothing
        operands.append(known)
    computed = _run(op, operands)
    if computed is None or any(array.size > CONTENT_LIMIT for array in computed):
        return nothing
    return [_checked(array, result) for array, result in zip(computed, op.results)]


def _is_small(value: Value) -> bool:
    size = dims.product(value.shape or ())
    return isinstance(size, Sym) or size <= CONTENT_LIMIT


def _of_shape(kind: str, operand: Value | None) -> np.ndarray | None:
    if operand is None or operand.shape is None:
        return None
    if kind == "Rank":
        return _objects(len(operand.shape))
    if kind == "Size":
        return _objects(dims.product(operand.shape))
    if kind == "TensorListLength":
        return _objects(operand.shape[0]) if operand.shape else None
    return _objects(list(operand.shape))


def _objects(elements: object) -> np.ndarray:
    return np.array(elements, object)


def _settled(value: Value | None) -> np.ndarray | None:
    """Return the content of a value, as an array of its own type where all of it is known; None if it is not
    followed."""
    if value is None:
        return None
    known, data = value.content, value.data
    if known is not None:
        return known if Sym in map(type, known.flat) else known.astype(value.dtype.numpy)
    return data if data is not None and data.dtype.kind in "iub" and data.size <= CONTENT_LIMIT else None


def _run(op: Op, arrays: list[np.ndarray]) -> list[np.ndarray] | None:
    symbolic = [index for index, array in enumerate(arrays) if array.dtype.hasobject]
    if not symbolic:
        return folders.evaluate(op, arrays)
    if op.type not in _SYMBOLIC or not set(symbolic).issubset(range(len(arrays))[_SYMBOLIC[op.type]]):
        return None
    if op.type in _COMPARING and arrays[0].size > 1:
        return None
    return folders.apply(op, arrays)


def _checked(array: np.ndarray, result: Value) -> np.ndarray | None:
    """Return the array with Python's own ints; None if one does not fit the type, where TensorFlow would wrap it."""
    if not array.dtype.hasobject:
        return array.astype(object)
    # Of a size and an array of numpy's that is a number, Python's object is one of numpy's.
    made = np.array([x.item() if isinstance(x, np.generic) else x for x in array.flat], object).reshape(array.shape)
    if result.dtype.numpy.kind == "b":
        return made
    limits = np.iinfo(result.dtype.numpy)
    fits = all(isinstance(element, Sym) or limits.min <= element <= limits.max for element in made.flat)
    return made if fits else None
