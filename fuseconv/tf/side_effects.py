"""Side effects of ops, and the functions that ops call."""

from __future__ import annotations

import functools
import re

from fuseconv.ir.graph import STATEFUL, FuncRef, Graph, Module, Op
from fuseconv.tf.traits import BRANCHES, CASES, FIXED_TABLES, TABLE_READS

# Ops that stay though nobody reads their results: they write to variables, tables and other state.
_WRITES = re.compile(
    r"tf\.(Assign|Resource(Apply|SparseApply|Scatter|StridedSliceAssign)|StridedSliceAssign|Scatter(?!Nd$)|CountUpTo"
    r"|LookupTable(Insert|Import|Remove)|InitializeTable|Queue|Stack|Barrier|TensorArray(Write|Scatter|Close)|Write|Save)"
    r"|tfl\.(ASSIGN_VARIABLE|CALL_ONCE|HASHTABLE_IMPORT)"
)
# Ops that only check, log or order; a converted model has no use for them.
_IDLE = re.compile(
    r"tf\.(Assert|NoOp|ControlTrigger|DisableCopyOnRead|Print(V2)?|\w*Summary(V2)?|Timestamp"
    r"|(Close|Flush)SummaryWriter|CreateSummary(Db|File)Writer)$"
)
_LOCAL = re.compile(r"tf\.(TensorArray|Stack)")
# Ops whose results differ from one run to the next, or that make or read state which others write.
_VARYING = re.compile(
    r"tf\.(Random(?!Shuffle$)|Parameterized|TruncatedNormal|Multinomial|StatefulRandom|StatefulUniform|StatefulTruncated"
    r"|Stateful(?!PartitionedCall)|RandomShuffle|ReadVariableOp|ResourceGather|Variable|LookupTable|TensorArray|Stack"
    r"|Queue|Iterator|PyFunc|EagerPyFunc|VarIsInitialized|IsVariable|Placeholder|Enter|Merge|Switch|NextIteration|Exit"
    r"|LoopCond|RngReadAndSkip|NonDeterministicInts)"
    r"|tfl\.(RANDOM|MULTINOMIAL|READ_VARIABLE|VAR_HANDLE|HASHTABLE|CUSTOM|CALL|WHILE|IF)"
)


def references(op: Op) -> list[str]:
    """Return the names of the functions that an op refers to."""
    found: list[str] = []
    for value in op.attrs.values():
        kind = value.__class__
        if kind is FuncRef:
            found.append(value.name)
        elif (kind is list or kind is tuple) and FuncRef in map(type, value):
            found += [item.name for item in value if isinstance(item, FuncRef)]
    return found


def bodies(op: Op, module: Module) -> list[tuple[Graph, int]]:
    """Return the functions that an op runs, with the index of the operand that is their first argument."""
    if not module.functions or not op.attrs:
        return []
    offset = 1 if op.kind in BRANCHES or op.kind in CASES or op.kind == "tfl.IF" else 0
    return [(module.functions[name], offset) for name in references(op) if name in module.functions]


def callers(module: Module) -> dict[Op, Op]:
    """Return the ops that run functions, by the functions' terminators."""
    if not module.functions:
        return {}
    return {body.terminator: op for graph in module.graphs() for op in graph.ops for body, _ in bodies(op, module)}


@functools.cache
def _matches(pattern: re.Pattern[str], kind: str) -> bool:
    return pattern.match(kind) is not None


@functools.cache
def _repeats(kind: str) -> bool:
    return _VARYING.match(kind) is None and _WRITES.match(kind) is None


def is_local(op: Op) -> bool:
    """Return True for an op on state that a run makes for itself, and hands to what reads it: arrays, stacks."""
    return _matches(_LOCAL, op.kind)


def is_idle(op: Op) -> bool:
    """Return True for an op that a converted model can do without."""
    return _matches(_IDLE, op.kind)


def is_repeatable(op: Op) -> bool:
    """Return True if the op gives the same results whenever it gets the same operands, and they may be shared.

    A table of fixed contents finds the same for the same key, whatever happens in between."""
    if not (_repeats(op.kind) or _reads_fixed_table(op)) or (op.attrs and (STATEFUL in op.attrs or references(op))):
        return False
    if op.dialect == "tf":
        return True  # no op of TensorFlow knows variable tensors
    for values in (op.operands, op.results):
        for value in values:
            if value is not None and value.variable:
                return False
    return True


def _reads_fixed_table(op: Op) -> bool:
    table = op.operands[0] if op.kind in TABLE_READS else None
    return table is not None and table.op is not None and table.op.kind in FIXED_TABLES


def has_effect(op: Op, module: Module, known: dict[str, bool]) -> bool:
    """Return True if running the op changes state that outlives it, itself or in a function that it runs.

    So does, in both dialects, what has no results but runs no function, save what is idle: why else would it be there?
    `known` remembers the answer for functions from one call to the next.
    """
    if _matches(_WRITES, op.kind) or STATEFUL in op.attrs:
        return True
    for result in op.results:
        if result.variable:
            return True
    if not op.results and not is_idle(op) and not references(op):
        return True
    for graph, _ in bodies(op, module):
        if graph.name not in known:
            known[graph.name] = False
            known[graph.name] = any(has_effect(inner, module, known) for inner in graph.ops)
        if known[graph.name]:
            return True
    return False
