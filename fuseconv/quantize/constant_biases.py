"""Biases of convolutions that a file computes of constants, as `bypass_xnnpack` writes them -> the constants, which
quantization looks for. `bypass_xnnpack` runs again behind it."""

from __future__ import annotations

from fuseconv.facts import TFL_ONLY
from fuseconv.ir.graph import Module
from fuseconv.ir.rewriter import erase_ops
from fuseconv.ir.terms import op_of
from fuseconv.pass_manager import module_pass
from fuseconv.transforms.tfl.bypass_xnnpack import CONVOLUTIONS


@module_pass("constant-biases", requires=(TFL_ONLY,), kinds=CONVOLUTIONS)
def constant_biases(module: Module) -> None:
    """Read biases as they were before: CONV_2D(x, w, RESHAPE(bias)) -> CONV_2D(x, w, bias). Dead ops go."""
    for graph in module.graphs():
        for op in [op for op in graph.ops if op.kind in CONVOLUTIONS and len(op.operands) > 2]:
            bias = op.operands[2]
            reshape = op_of(bias, "tfl.RESHAPE")
            if bias is None or reshape is None:
                continue
            constant = reshape.operands[0]
            if constant is not None and constant.is_const and constant.shape == bias.shape:
                op.set_operand(2, constant)
                if not bias.uses:
                    erase_ops(graph, {reshape})
