"""State what the elements of TensorLists are, where the model leaves it to what is written into them."""

from __future__ import annotations

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Module, Op, Value, constant
from fuseconv.ir.rewriter import rewrite_ops
from fuseconv.pass_manager import module_pass
from fuseconv.tfl.kernel_limits import LARGEST_SIZE
from fuseconv.transforms.tf.tensor_list_info import (
    MAKERS,
    STATES,
    TensorList,
    stated_shape,
    tensor_lists,
    written_shape,
)  # fmt: skip

_ASKED = "tf.TensorListElementShape"


@module_pass("infer-list-elements")
def infer_list_elements(module: Module) -> bool:
    """State the element shape of lists that are made without it: TensorListReserve(-1) -> TensorListReserve([2, 8]).

    Gradients read off lists what the model stated, to make others of it: TensorListElementShape(list) -> -1. Returns
    whether there were lists of either kind."""
    found = tensor_lists(module)
    changed = _answer(module, found)
    for each in found:
        makers = [op for op, _, _ in each.ops if op.kind in MAKERS and stated_shape(op) is None]
        written = [shape for op, _, _ in each.ops if (shape := written_shape(op)) is not None]
        if makers and written and len({len(shape) for shape in written}) == 1:
            axes = [set(sizes) for sizes in zip(*written)]
            sizes = [next(iter(axis)) if len(axis) == 1 else -1 for axis in axes]
            known = [isinstance(size, int) and size <= LARGEST_SIZE for size in sizes]
            element = np.array([size if is_known else -1 for size, is_known in zip(sizes, known)], np.int32)
            for op in makers:
                before = op.operands[STATES[op.kind]]
                if before is None or before.data is None or not np.array_equal(before.data, element):
                    op.set_operand(STATES[op.kind], constant(element, types.INT32, op.name))
                    changed = True
    return changed


def _answer(module: Module, found: list[TensorList]) -> bool:
    """Replace the element shapes that are read off lists by the constants with which these were made; return whether
    there were any."""
    answers = {
        op: shape for each in found for op, _, _ in each.ops if op.kind == _ASKED and (shape := _said(each)) is not None
    }

    def answer(op: Op, out: list[Op]) -> list[Value] | None:
        if op not in answers:
            return None
        return [constant(answers[op], op.result.dtype, op.name)]

    for graph in module.graphs() if answers else ():
        rewrite_ops(graph, (_ASKED,), answer)
    return bool(answers)


def _said(each: TensorList) -> np.ndarray | None:
    """Return the element shape that all ops that make a list state, as constants; None if there is none."""
    shapes = [op.operands[STATES[op.kind]] if op.kind in STATES else None for op in each.origins()]
    arrays = [None if shape is None else shape.data for shape in shapes]
    first = arrays[0] if arrays else None
    if first is None or not all(array is not None and np.array_equal(array, first) for array in arrays):
        return None
    return first
