"""State what the elements of TensorLists are, where the model leaves it to what is written into them."""

from __future__ import annotations

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Module, constant
from fuseconv.pass_manager import module_pass
from fuseconv.tfl.kernel_limits import LARGEST_SIZE
from fuseconv.transforms.tf.tensor_list_info import MAKERS, STATES, stated_shape, tensor_lists, written_shape


@module_pass("infer-list-elements")
def infer_list_elements(module: Module) -> bool:
    """State the element shape of lists that are made without it: TensorListReserve(-1) -> TensorListReserve([2, 8]).

    Returns whether there were such lists."""
    changed = False
    for each in tensor_lists(module):
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
