"""Facts about a module that passes require and ensure: what the pass manager verifies between them.

An op that a pass could not handle stays, with its `Op.rejection`, for the lowering to refuse by name: such an op
contradicts no fact.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from fuseconv.ir.graph import Module, Op
from fuseconv.ir.verifier import Fact
from fuseconv.tf.traits import TF1_CONTROL_FLOW, VARIABLES


def _first(module: Module, contradicts: Callable[[Op], bool], what: str) -> str:
    for graph in module.graphs():
        for op in graph.ops:
            if contradicts(op) and op.rejection is None:
                return f"{op} in {graph.name} {what}"
    return ""


def _none_of(kinds: Collection[str], what: str) -> Callable[[Module], str]:
    return lambda module: _first(module, lambda op: op.kind in kinds, what)


def _reads_a_constant(module: Module) -> str:
    """Return which read of a variable contradicts that what nothing writes is a constant; "" if none does."""
    written = {
        name
        for graph in module.graphs()
        for op in graph.ops
        if op.kind in VARIABLES and any(reader.kind != "tf.ReadVariableOp" for reader in op.result.uses)
        for name in [op.attrs.get("shared_name")]
    }

    def contradicts(op: Op) -> bool:
        handle = op.operands[0].op if op.kind == "tf.ReadVariableOp" and op.operands[0] is not None else None
        if handle is None or handle.kind not in VARIABLES:
            return False
        name = handle.attrs.get("shared_name")
        return name not in written and name in module.variables and module.variables[name].data is not None

    return _first(module, contradicts, "reads a variable that nothing writes")


TFL_ONLY = Fact("TFL_ONLY", lambda module: _first(module, lambda op: op.dialect != "tfl", "is no TFLite op"))
NO_TF1_CONTROL_FLOW = Fact("NO_TF1_CONTROL_FLOW", _none_of(TF1_CONTROL_FLOW, "is control flow of TF1"))
READ_ONLY_VARIABLES_ARE_CONSTANTS = Fact("READ_ONLY_VARIABLES_ARE_CONSTANTS", _reads_a_constant)
