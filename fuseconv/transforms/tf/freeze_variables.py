"""Freeze variables that nothing writes: they become constants."""

from __future__ import annotations

from fuseconv.errors import InputError
from fuseconv.facts import NO_TF1_CONTROL_FLOW, READ_ONLY_VARIABLES_ARE_CONSTANTS
from fuseconv.ir.graph import Module, Op, Value, Variable, constant
from fuseconv.ir.rewriter import rewrite_ops
from fuseconv.ir.terms import op_of
from fuseconv.ir.types import INT32, INT64
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.resource_alias import aliases
from fuseconv.tf.side_effects import bodies
from fuseconv.tf.traits import FORWARDS, VARIABLES
from fuseconv.tfl.kernel_limits import LARGEST_SIZE

# Ops that take a variable's handle and leave the variable as it was.
_READS = frozenset({
    "tf.ReadVariableOp", "tf.ResourceGather", "tf.ResourceGatherNd", "tf.VariableShape", "tf.VarIsInitializedOp",
    "tf.IsVariableInitialized",
})  # fmt: skip
# Variables of TF1, which are what they hold.
_REFERENCES = VARIABLES - {"tf.VarHandleOp"}


@module_pass("freeze-variables", requires=(NO_TF1_CONTROL_FLOW,), ensures=(READ_ONLY_VARIABLES_ARE_CONSTANTS,))
def freeze_variables(module: Module, report: Report) -> None:
    """Replace reads of variables that no reachable op writes: ReadVariableOp(handle) -> constant.

    Handles are followed through calls, loops and branches into the functions that they are handed to. Functions are
    expected to have one user each, as `inline` leaves them.
    """
    variables = aliases(module, VARIABLES)
    written = _written(module, variables)
    frozen: dict[str, Value] = {}
    for graph in module.graphs():
        rewrite_ops(
            graph, _READS | _REFERENCES, lambda op, out: _freeze_op(op, variables, written, module, frozen, report)
        )


def _written(module: Module, variables: dict[Value, set[str]]) -> set[str]:
    """Return the names of the variables that any op may write: all uses count that do not only read or hand on a
    handle. variables: names by handles, as `aliases` tells them."""
    written: set[str] = set()
    for value, names in variables.items():
        reference = op_of(value, _REFERENCES) is not None
        for op in value.uses:
            if op.kind in _READS or op.kind in FORWARDS or op.kind == "ir.return":
                continue
            if bodies(op, module):
                continue
            if reference and not op.type.startswith(("Assign", "Scatter", "Apply", "SparseApply", "CountUpTo")):
                continue
            written |= names
    return written


def _freeze_op(
    op: Op,
    variables: dict[Value, set[str]],
    written: set[str],
    module: Module,
    frozen: dict[str, Value],
    report: Report,
) -> list[Value] | None:
    """Return what stands for an op that reads a frozen variable; None if the op stays, or reads the constant now."""
    handle = op.result if op.kind in _REFERENCES else next(iter(op.operands), None)
    names = variables.get(handle, ())  # type: ignore[arg-type]
    if len(names) != 1:
        return None
    (name,) = names
    if name in written:
        return None
    value = frozen.get(name)
    if value is None:
        value = frozen[name] = _constant(module.variables.get(name), name)
    if op.kind == "tf.ReadVariableOp" or op.kind in _REFERENCES:
        report.record("folded", "freeze-variables", op.sources, why="its variable is never written")
        return [value]
    if op.kind in ("tf.VarIsInitializedOp", "tf.IsVariableInitialized"):
        report.record("folded", "freeze-variables", op.sources, why="its variable has its value from the checkpoint")
        return [constant(True, op.result.dtype, op.name)]
    _read_constant(op, value)
    return None


def _read_constant(op: Op, value: Value) -> None:
    """Turn a reading op into the one that takes the variable's value in place of its handle."""
    op.set_operand(0, value)
    if op.kind == "tf.ResourceGather":
        batch_dims = op.attrs.get("batch_dims", 0)
        op.set_kind("tf.GatherV2")
        op.attrs = {"batch_dims": batch_dims} if batch_dims else {}
        # Beyond int32 it is none that fits, which the lowering tells.
        kind = INT32 if abs(batch_dims) <= LARGEST_SIZE else INT64
        op.set_operands([*op.operands, constant(batch_dims, kind, op.name)])
    elif op.kind == "tf.ResourceGatherNd":
        op.set_kind("tf.GatherNd")
        op.attrs = {}
    else:
        op.set_kind("tf.Shape")


def _constant(variable: Variable | None, name: str) -> Value:
    if variable is None or variable.data is None:
        raise InputError(
            f"the variable {name} has no value in the checkpoint; export the model again with its variables initialized"
        )
    return constant(variable.data, variable.dtype, name)
