"""Legalize variables that the model writes, and tables: what TFLite's few ops for them can say.

TFLite reads and assigns whole variables, finds them by name, and fills tables in a subgraph that CALL_ONCE runs before
the first invoke needs them.
"""

from __future__ import annotations

import numpy as np

from fuseconv.facts import READ_ONLY_VARIABLES_ARE_CONSTANTS
from fuseconv.ir.graph import Module, Op, Value, Variable, constant, copy_op
from fuseconv.ir.rewriter import replace_uses_except, rewrite_ops
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.resource_alias import aliases, are_read
from fuseconv.tf.side_effects import bodies
from fuseconv.tf.traits import FIXED_TABLES, FORWARDS, TABLE_IMPORTS, TABLE_READS, TABLES, VARIABLES

_MUTABLE_TABLES = {"tf.MutableHashTableV2": "tf.HashTableV2", "tf.MutableHashTable": "tf.HashTable"}


@module_pass("legalize-variables", requires=(READ_ONLY_VARIABLES_ARE_CONSTANTS,), kinds=VARIABLES | TABLES)
def legalize_variables(module: Module, report: Report) -> None:
    """Read and assign variables as a whole: AssignAddVariableOp(v, x) -> AssignVariableOp(v, ReadVariableOp(v) + x).

    Each use is on a handle of its own graph.

    A handle that a loop or branch was given is made within it, where it is one variable's (or table's) only.
    Assignments that add, subtract or scatter become a read, the arithmetic, and an assignment; reads of parts become a
    read and the op on its result. A mutable table that nothing writes becomes a fixed one. Ops that fill a fixed table
    with what it holds anyway go.
    """
    if not are_read(module, VARIABLES | TABLES):
        return
    _fix_tables(module)
    for kinds in (VARIABLES, TABLES):
        _sink_handles(module, aliases(module, kinds), kinds)
    variables = aliases(module, VARIABLES)
    tables = aliases(module, FIXED_TABLES)

    def rewrite(op: Op, out: list[Op]) -> list[Value] | None:
        handle = op.operands[0] if op.operands else None
        names = variables.get(handle, set()) if handle is not None else set()
        filled = tables.get(handle, set()) if handle is not None and op.kind in TABLE_IMPORTS else set()
        variable = module.variables.get(next(iter(names))) if len(names) == 1 else None
        if len(filled) == 1 and module.tables[next(iter(filled))].keys is not None:
            report.removed(op, "legalize-variables", "the table is filled before the first run")
            return []
        return None if variable is None else _on_variable(op, variable, out, report)

    for graph in module.graphs():
        rewrite_ops(graph, TABLE_IMPORTS | _ON_VARIABLES, rewrite)


def _fix_tables(module: Module) -> None:
    """Make fixed tables of mutable ones that nothing writes: MutableHashTableV2 -> HashTableV2."""
    names = aliases(module, _MUTABLE_TABLES)
    written: set[str] = set()
    for value, known in names.items():
        for op in value.uses:
            passes_on = op.kind in FORWARDS or op.kind == "ir.return" or any(True for _ in bodies(op, module))
            if op.kind not in TABLE_READS and not passes_on:
                written |= known
    for graph in module.graphs():
        for op in graph.ops:
            if op.kind in _MUTABLE_TABLES and op.attrs["shared_name"] not in written:
                op.set_kind(_MUTABLE_TABLES[op.kind])
                table = module.tables[op.attrs["shared_name"]]
                if table.keys is None:
                    table.keys, table.values = (np.empty(0, d.numpy) for d in (table.key_dtype, table.value_dtype))


def _sink_handles(module: Module, names: dict[Value, set[str]], kinds: frozenset[str]) -> None:
    """Make handles in the functions that use them, where it is known which one a function is given. names: those of the
    variables, or tables, that a handle may be."""
    makers = {op.attrs["shared_name"]: op for graph in module.graphs() for op in graph.ops if op.kind in kinds}
    for graph in module.functions.values():
        made: dict[str, Value] = {}
        for value in graph.inputs:
            known = names.get(value, set())
            if len(known) != 1:
                continue
            (name,) = known
            if name not in made:
                maker = makers[name]
                copy = copy_op(maker, ())
                made[name] = copy.add_result(maker.result.dtype, maker.result.shape)
                graph.ops.insert(0, copy)
            # What a loop hands on to its next round stays: so it is known not to change.
            replace_uses_except(value, made[name], (graph.terminator,))


def _read(tf: TfBuilder, handle: Value, variable: Variable) -> Value:
    return tf.add("ReadVariableOp", [handle], {"dtype": variable.dtype}, variable.dtype, variable.shape)


def _assign(handle: Value, value: Value, op: Op) -> Op:
    return Op("tf.AssignVariableOp", [handle, value], {}, op.name, op.sources)


# op -> the op that computes what is assigned, on the variable's value and the operands behind the handle
_UPDATES = {
    "tf.AssignAddVariableOp": "AddV2",
    "tf.AssignSubVariableOp": "Sub",
    "tf.ResourceScatterNdAdd": "TensorScatterAdd",
    "tf.ResourceScatterNdMax": "TensorScatterMax",
    "tf.ResourceScatterNdMin": "TensorScatterMin",
    "tf.ResourceScatterNdSub": "TensorScatterSub",
    "tf.ResourceScatterNdUpdate": "TensorScatterUpdate",
}
# op -> the same for ops whose indices are of rows
_ROW_UPDATES = {
    "tf.ResourceScatterAdd": "TensorScatterAdd",
    "tf.ResourceScatterMax": "TensorScatterMax",
    "tf.ResourceScatterMin": "TensorScatterMin",
    "tf.ResourceScatterSub": "TensorScatterSub",
    "tf.ResourceScatterUpdate": "TensorScatterUpdate",
}
_ON_VARIABLES = frozenset({
    "tf.ReadVariableOp", "tf.ResourceGather", "tf.ResourceGatherNd", "tf.ResourceStridedSliceAssign",
    "tf.VarIsInitializedOp", "tf.VariableShape", *_UPDATES, *_ROW_UPDATES,
})  # fmt: skip
# Attributes of the ops above that do not change what is computed where nothing else runs beside them.
_IRRELEVANT = frozenset({"use_locking", "validate_shape", "validate_indices", "dtype", "Tindices"})


def _on_variable(op: Op, variable: Variable, out: list[Op], report: Report) -> list[Value] | None:
    """Rewrite an op on a variable into `out`; return what stands for its results, None if it stays as it is."""
    tf = TfBuilder(out, op)
    handle, *rest = op.operands
    assert handle is not None
    if op.kind == "tf.ReadVariableOp":
        op.result.shape = variable.shape
        return None
    if op.kind == "tf.VarIsInitializedOp" and variable.data is not None:
        report.record("folded", "legalize-variables", op.sources, why=f"the variable {variable.name} has a first value")
        return [constant(True, op.result.dtype, op.name)]
    if op.kind in _UPDATES and not op.attrs.keys() - _IRRELEVANT:
        value = _read(tf, handle, variable)
        out.append(_assign(handle, getattr(tf, _UPDATES[op.kind])(value, *rest), op))
    elif op.kind in _ROW_UPDATES and not op.attrs.keys() - _IRRELEVANT:
        indices, updates = rest
        assert indices is not None and updates is not None
        value = _read(tf, handle, variable)
        columns = tf.ExpandDims(indices, -1)
        if not updates.rank:
            # One number, or rows of which it is not known yet that they are: then this is nothing to do.
            inner = tf.StridedSlice(tf.shape(value), [1], [0], [1], end_mask=1)
            updates = tf.BroadcastTo(updates, tf.ConcatV2(tf.shape(indices), inner, 0))
        out.append(_assign(handle, getattr(tf, _ROW_UPDATES[op.kind])(value, columns, updates), op))
    elif op.kind == "tf.ResourceStridedSliceAssign":
        value = _read(tf, handle, variable)
        out.append(_assign(handle, tf.TensorStridedSliceUpdate(value, *rest, **op.attrs), op))
    elif op.kind == "tf.ResourceGather":
        batch_dims = op.attrs.get("batch_dims", 0)
        attrs = {"batch_dims": batch_dims} if batch_dims else {}
        value = _read(tf, handle, variable)
        return [tf.GatherV2(value, rest[0], batch_dims, **attrs)]
    elif op.kind == "tf.ResourceGatherNd":
        return [tf.GatherNd(_read(tf, handle, variable), rest[0])]
    elif op.kind == "tf.VariableShape":
        return [tf.Shape(_read(tf, handle, variable), dtype=op.result.dtype)]
    else:
        return None
    return []
