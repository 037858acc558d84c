"""Outputs that are copies of others: integers need none, as each output of floats is made of them anew."""

from __future__ import annotations

from fuseconv.facts import TFL_ONLY
from fuseconv.ir.graph import Module
from fuseconv.ir.rewriter import erase_ops, ops_of_kinds
from fuseconv.ir.terms import op_of
from fuseconv.pass_manager import module_pass


@module_pass("dequantize-copied", requires=(TFL_ONLY,), kinds=("tfl.DEQUANTIZE",))
def dequantize_copied(module: Module) -> None:
    """Dequantize what a copy is of: DEQUANTIZE(SLICE(x)) -> DEQUANTIZE(x), where the slice is all of x."""
    for signature in module.signatures:
        copies = set()
        for op in ops_of_kinds(signature.graph, ("tfl.DEQUANTIZE",)):
            copy = op_of(op.operands[0], "tfl.SLICE")
            if copy is None or copy.operands[0] is None:
                continue
            if copy.operands[0].shape == copy.result.shape:
                op.set_operand(0, copy.operands[0])
                copies.add(copy)
        erase_ops(signature.graph, {copy for copy in copies if not copy.result.uses})
