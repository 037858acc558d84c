"""Hoist reads of variables out of loops that do not write them.

A model that can be trained has variables for weights in inference too. Read at each step, they are copied at each, and
what is computed of them is not known to be the same.
"""

from __future__ import annotations

from fuseconv.facts import READ_ONLY_VARIABLES_ARE_CONSTANTS
from fuseconv.ir.graph import Graph, Module, Op, Value, copy_op, replace_uses
from fuseconv.ir.rewriter import erase_ops, ops_of_kinds
from fuseconv.pass_manager import module_pass
from fuseconv.tf.resource_alias import VariableUses, are_read
from fuseconv.tf.traits import VARIABLES
from fuseconv.transforms.loops.loop_info import LoopForm, for_each_loop

_READS = ("tf.ReadVariableOp",)


@module_pass("hoist-variable-reads", requires=(READ_ONLY_VARIABLES_ARE_CONSTANTS,), kinds=VARIABLES)
def hoist_variable_reads(module: Module) -> None:
    """Read variables before loops that only read them: While(ReadVariableOp(v)) -> w = ReadVariableOp(v); While(w).

    Requires that a loop's functions have no other user, and that handles are made where they are used."""
    if not are_read(module, VARIABLES):
        return
    uses = VariableUses(module)

    def visit(op: Op, graph: Graph) -> None:
        _, written = uses.by(op)
        loop = LoopForm(op, module)
        before: list[Op] = []
        carried: dict[str, int] = {}
        for function in (loop.body, loop.cond):
            gone: set[Op] = set()
            for read in ops_of_kinds(function, _READS):
                (handle,) = read.operands
                name = uses.name(handle)
                if name is None or name in written or handle is None or handle.op is None:
                    continue
                if handle.op.kind not in VARIABLES or handle.op.operands:
                    continue
                if name not in carried:
                    carried[name] = len(function.inputs)
                    loop.carry(_read_before(read, handle.op, before, uses, name))
                replace_uses(read.result, function.inputs[carried[name]])
                gone.add(read)
            erase_ops(function, gone)
        at = graph.ops.index(op)
        graph.ops[at:at] = before

    for_each_loop(module, visit)


def _read_before(read: Op, maker: Op, before: list[Op], uses: VariableUses, name: str) -> Value:
    """Read a variable before the loop, of a handle that is made there."""
    handle = copy_op(maker, ())
    made = handle.add_result(maker.result.dtype, maker.result.shape)
    uses.names[made] = {name}
    copy = copy_op(read, [made])
    before += [handle, copy]
    return copy.add_result(read.result.dtype, read.result.shape, read.result.name)
