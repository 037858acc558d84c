"""Fill variables and tables in a subgraph that CALL_ONCE runs before the first invoke needs them."""

from __future__ import annotations

import numpy as np

from fuseconv.ir.graph import Graph, Module, Op, Rejection, constant
from fuseconv.ir.rewriter import add_function, has_kind
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.resource_alias import aliases
from fuseconv.tf.traits import TABLE_IMPORTS, TABLES, VARIABLES
from fuseconv.tfl.builder import Builder

# Tables have numbers of their own choice, variables get theirs from 0 on, and both count as resources.
_FIRST_TABLE = 1 << 20
# The name of the function, which is also that of the subgraph in the file.
INITIALIZER = "initialize"
_UNFILLED = Rejection(
    "nothing in the model fills this table; convert the SavedModel, or freeze the graph with the op that initializes "
    "its tables as one more output"
)


@module_pass("insert-call-once", kinds=VARIABLES | TABLES)
def insert_call_once(module: Module, report: Report) -> bool:
    """Give variables and tables what they hold before the first run: signature -> CALL_ONCE(initializer), signature.

    All signatures run the same one: what one of them assigns, the others find. Numbers the tables, in their handles'
    attribute `table_id`. Returns whether there was anything to fill or to number.
    """
    handles = [op for graph in module.graphs() for op in graph.ops if op.kind in VARIABLES or op.kind in TABLES]
    if not handles:
        return False
    _warn_of_states(module, report)
    filled = any(has_kind(graph, TABLE_IMPORTS) for graph in module.graphs())
    function = Graph(INITIALIZER)
    numbers: dict[str, int] = {}
    done: set[tuple[str, str]] = set()
    for op in handles:
        name = op.attrs["shared_name"]
        if op.kind in TABLES:
            if module.tables[name].keys is None and not filled:
                op.rejection = _UNFILLED
            op.attrs["table_id"] = numbers.setdefault(name, _FIRST_TABLE + len(numbers))
        if (op.kind, name) not in done:
            done.add((op.kind, name))
            _fill(Builder(function.ops, op.name, op.sources), op, module)
    if not function.ops:
        return bool(numbers)
    initializer = add_function(module, function)
    sources = tuple(dict.fromkeys(source for op in handles for source in op.sources))
    for signature in module.signatures:
        made: list[Op] = []
        Builder(made, function.name, sources).call_once(init_subgraph_index=initializer)
        signature.graph.ops[:0] = made
    report.record("lowered", "insert-call-once", sources, ["CALL_ONCE"], "what they hold is set before the first run")
    return True


def _warn_of_states(module: Module, report: Report) -> None:
    """Warn of floats that an invoke leaves for the next one, where no other signature could set them back. Counters and
    the numbers of random generators are to go on."""
    if len(module.signatures) > 1:
        return
    names = aliases(module, VARIABLES)
    read, written = (
        {name for value, known in names.items() if any(op.kind == kind for op in value.uses) for name in known}
        for kind in ("tf.ReadVariableOp", "tf.AssignVariableOp")
    )
    kept = sorted(name for name in read & written if module.variables[name].dtype.is_float)
    if kept:
        which = ", ".join(kept[:3]) + (f" and {len(kept) - 3} more" if len(kept) > 3 else "")
        report.warnings.append(
            f"the file keeps {which} from one invoke to the next, and reset_all_variables does not reset them: make a "
            "new interpreter for each sequence, or give the model a second signature that assigns their first values"
        )


def _fill(tfl: Builder, op: Op, module: Module) -> None:
    """Build the ops that give a variable or table its contents; none where the model does not say what they are."""
    name = op.attrs["shared_name"]
    if op.kind in VARIABLES:
        variable = module.variables[name]
        if variable.data is not None:
            value = constant(variable.data, variable.dtype, name)
            tfl.assign_variable(tfl.var_handle(shared_name=name), value)
        return
    table = module.tables[name]
    if table.keys is not None and table.values is not None:
        handle = tfl.hashtable(
            table_id=op.attrs["table_id"], key_dtype=table.key_dtype.name.upper(),
            value_dtype=table.value_dtype.name.upper(),
        )  # fmt: skip
        keys, values = (np.asarray(array).reshape(-1) for array in (table.keys, table.values))
        tfl.hashtable_import(handle, constant(keys, table.key_dtype), constant(values, table.value_dtype))
