"""Forward what variables are known to hold: what was written to them last, or read of them, as store-to-load forwarding
does for memory.

The updates of optimizers read the step, the moments and the weights again for each use. TFLite copies a variable for
each read, and does not know that two reads give the same.
"""

from __future__ import annotations

from fuseconv.facts import READ_ONLY_VARIABLES_ARE_CONSTANTS
from fuseconv.ir.graph import Graph, Module, Op, Value, replace_uses
from fuseconv.ir.rewriter import erase_ops
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.resource_alias import VariableUses, are_read
from fuseconv.tf.traits import VARIABLES

_READ, _WRITE = "tf.ReadVariableOp", "tf.AssignVariableOp"


@module_pass("forward-writes", requires=(READ_ONLY_VARIABLES_ARE_CONSTANTS,), kinds=VARIABLES)
def forward_writes(module: Module, report: Report) -> None:
    """Read variables no second time: AssignVariableOp(v, x); ReadVariableOp(v) -> AssignVariableOp(v, x); x.

    Of reads with no write between them the first stands for the others. A write whose variable is written again before
    anything reads it goes. Requires inferred shapes: a value that may be of another shape than the variable stays."""
    if not are_read(module, VARIABLES):
        return
    uses = VariableUses(module)
    for graph in module.graphs():
        _Walk(uses, report).run(graph)


class _Walk:
    """The walk over a graph. held: what variables hold there; unread: the last write of each that nothing has read."""

    def __init__(self, uses: VariableUses, report: Report) -> None:
        self.uses = uses
        self.report = report
        self.held: dict[str, Value] = {}
        self.unread: dict[str, Op] = {}

    def run(self, graph: Graph) -> None:
        gone: dict[Op, None] = {}
        for op in graph.ops:
            name = self.uses.name(op.operands[0]) if op.kind in (_READ, _WRITE) else None
            if name is None:
                self._forget(op)
            elif op.kind == _READ:
                if name in self.held and _fits(self.held[name], op.result):
                    replace_uses(op.result, self.held[name])
                    gone[op] = None
                else:
                    self.held[name] = op.result
                    self.unread.pop(name, None)
            else:
                if name in self.unread:
                    gone[self.unread[name]] = None
                self.held[name] = op.operands[1]  # type: ignore[assignment]
                self.unread[name] = op
        for op in gone:
            why = "what it holds is known" if op.kind == _READ else "it is written again before it is read"
            self.report.removed(op, "forward-writes", f"of the variable {self.uses.name(op.operands[0])}: {why}")
        erase_ops(graph, gone)

    def _forget(self, op: Op) -> None:
        read, written = self.uses.by(op)
        for name in read | written:
            self.unread.pop(name, None)
        for name in written:
            self.held.pop(name, None)


def _fits(value: Value, read: Value) -> bool:
    """Return whether a value is known to be of the type and shape that its variable has."""
    if value.dtype is not read.dtype or value.shape is None or read.shape is None or value.rank != read.rank:
        return False
    return all(size == declared or not isinstance(declared, int) for size, declared in zip(value.shape, read.shape))
