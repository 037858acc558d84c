"""Shape inference of TF ops, from the shapes and contents of their operands."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence
from typing import Any

from fuseconv.errors import ILL_FITTING, ill_fitting
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Module, Op
from fuseconv.tf.operands import MAX_RANK, Contradiction, UnknownShape
from fuseconv.tf.shape_functions.ranks import misfit
from fuseconv.tf.shape_functions.registry import TABLE

for _name in (
    "array", "control", "elementwise", "image", "linalg", "nn", "ragged", "random", "recurrent", "reduction",
    "slicing", "sparse", "strings", "tensor_lists", "xla",
):  # fmt: skip
    TABLE.collect(importlib.import_module(f"{__name__}.{_name}"))

_MOST_ELEMENTS = (1 << 63) - 1
# How each sentence of `contradiction` ends.
DAMAGED = ": the model is damaged"


def infer(op: Op) -> list[Shape | None] | None:
    """Infer a shape for each result of a TF op (None for a result whose rank is not known).

    None if no shape function serves the op. Sizes that depend on data are fresh symbols, different at every call.
    """
    function = TABLE.get(op.type) or TABLE.offered(op.type) if op.dialect == "tf" else None
    if function is None or not function.required <= len(op.operands) <= function.most:
        return None
    count = len(op.results)
    try:
        made = function(op, op, op.operands)
    except (UnknownShape, Contradiction, *ILL_FITTING):
        return [None] * count
    if made is None:
        return [None] * count
    if count == 1 and isinstance(made, tuple):
        return [made if _is_possible(made) else None]
    shapes = list(made) if isinstance(made, list) else [made]
    if len(shapes) != count:
        raise TypeError(f"the shape function of {op.type} made {len(shapes)} shapes where the op has {count} results")
    return [None if shape is None or not _is_possible(tuple(shape)) else tuple(shape) for shape in shapes]


# The tensors of a model have few shapes.
@functools.lru_cache(maxsize=4096)
def _is_possible(shape: Shape) -> bool:
    """Return False if a size is negative, or beyond int64 as those of a few ops in a row that square their operands'
    are, or if there are more sizes than TensorFlow has dimensions."""
    return len(shape) <= MAX_RANK and all(not isinstance(dim, int) or 0 <= dim <= _MOST_ELEMENTS for dim in shape)


def first_contradiction(module: Module) -> str:
    """Say which TF op of a module cannot run, and why; empty if nothing speaks against any."""
    for graph in module.graphs():
        for op in graph.ops:
            why = contradiction(op) if op.dialect == "tf" else ""
            if why:
                return f"the node '{op.name}' ({op.type}) cannot run: {why}."
    return ""


def contradiction(op: Op) -> str:
    """Say why a TF op cannot run with what is known of its operands and attributes; empty if nothing speaks against it.

    TensorFlow refuses such a node too, when it loads or when it runs."""
    why = misfit(op)
    if op.fits and not why:
        return ""
    function = TABLE.get(op.type) or TABLE.offered(op.type)
    if function is None or not function.required <= len(op.operands) <= function.most:
        return why + DAMAGED if why else ""
    try:
        made = None if why else function(op, op, op.operands)
    except Contradiction as error:
        why = str(error)
    except UnknownShape:
        return ""
    except ILL_FITTING as error:
        why = f"its operands {ill_fitting(error)}"
    else:
        why = why or _impossible([made] if isinstance(made, tuple) else made or ())
    return why + DAMAGED if why else ""


def _impossible(shapes: Sequence[Any]) -> str:
    """Say why no tensor has one of these shapes; empty if they are possible."""
    impossible = [shape for shape in shapes if shape and not _is_possible(tuple(shape))]
    if not impossible:
        return ""
    negative = [dim for shape in impossible for dim in shape if isinstance(dim, int) and dim < 0]
    if negative:
        return f"it would make a dimension of {negative[0]} elements"
    if len(impossible[0]) > MAX_RANK:
        return f"it would make a tensor of {len(impossible[0])} dimensions"
    return "it would make a dimension of more elements than int64 counts"
