"""Raise loops that are RNNs: each becomes a call of a function that carries the annotation of a composite.

The function has a contract of those that the fusions of annotated functions have, `lstm_*` (Keras 2's) or `rnn_*`, and
holds the loop itself: where it is not fused, `inline-composites` puts the loop back.
"""

from __future__ import annotations

from fuseconv.ir.graph import Module
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.traits import LOOPS
from fuseconv.transforms.rnn.rows import TAKES_ROWS, has_rows

# Loops, and what gives the elements of a sequence to steps that are written out.
_ROOTS = LOOPS | TAKES_ROWS


@module_pass("raise-rnn-loops", kinds=_ROOTS)
def raise_rnn_loops(module: Module, report: Report) -> None:
    """Outline loops that are recurrent layers: While(...) -> call of a function annotated lstm_* or rnn_*.

    The report says why others, which multiply matrices at each step and carry what they make, are none."""
    if not any(has_rows(graph) or any(op.kind in LOOPS for op in graph.ops) for graph in module.graphs()):
        return
    from fuseconv.transforms.rnn.raise_rnn_loops_driver import raise_loops  # takes long to load; few models need it

    raise_loops(module, report)
