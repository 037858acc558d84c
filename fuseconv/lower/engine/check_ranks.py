"""The last look at a module before it is written: does the runtime take every op's number of dimensions?

Rules and fusions keep to the limits, each where it can do so; what one of them overlooks must not become a file that
the runtime refuses to load, or that ends its process.
"""

from __future__ import annotations

from fuseconv.facts import TFL_ONLY
from fuseconv.ir.graph import Module, Op
from fuseconv.lower.engine.driver import unsupported
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tfl.kernel_limits import rank_excess


@module_pass("check-ranks", requires=(TFL_ONLY,))
def check_ranks(module: Module, report: Report) -> None:
    """Refuse ops of more dimensions than their kernels take: PAD(x) of 6 dimensions -> UnsupportedError.

    `fuseconv.tfl.kernel_limits` holds what they take. Raises UnsupportedError with every such op."""
    refused: list[tuple[Op, str]] = []
    for graph in module.graphs():
        for op in graph.ops:
            why = rank_excess(op)
            if why:
                report.record("unsupported", "check-ranks", op.sources, why=why)
                refused.append((op, why))
    if refused:
        raise unsupported(refused)
