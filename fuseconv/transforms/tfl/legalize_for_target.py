"""Write ops that a target refuses in forms that it takes.

The rules of the target judge each op; `fuseconv.targets.forms` has the other forms. A form is taken only if the target
takes all ops of it. These may be written in other forms in their turn, but not with ops of a type that is being
replaced. So no op is changed that the target takes, and none for a form that it refuses as well, or that LiteRT's
kernels refuse: a file for a target runs wherever others do.
"""

from __future__ import annotations

from collections.abc import Sequence

from fuseconv.facts import TFL_ONLY
from fuseconv.ir.graph import Module, Op, Value
from fuseconv.ir.rewriter import Speculative, replace_op, rewrite_ops
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.targets.signature import signature_of
from fuseconv.targets.target import Target
from fuseconv.tfl.arena import arena, of_graphs
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.kernel_limits import rank_excess, type_excess


@module_pass("legalize-for-target", requires=(TFL_ONLY,), ensures=(TFL_ONLY,))
def legalize_for_target(module: Module, target: Target | None, report: Report) -> bool:
    """Write ops that the target refuses as ops that it takes: GATHER(x, i[2,3]) -> RESHAPE(GATHER(x, i[6])).

    The report counts what was written, and tells of the arena before and after."""
    if target is None:
        return False
    from fuseconv.targets.forms import FORMS  # tables that most conversions do without

    kinds = frozenset(f"tfl.{type}" for type in FORMS)
    if not any(op.kind in kinds and not takes(target, op) for graph in module.graphs() for op in graph.ops):
        return False
    before = arena_bytes(module)
    changed = False
    for graph in module.graphs():
        changed |= rewrite_ops(graph, kinds, lambda op, out: _legalized(op, out, target, report))
    if changed:
        first = report.arena_for_target[0] if report.arena_for_target else before
        report.arena_for_target = first, arena_bytes(module)
    return changed


def arena_bytes(module: Module) -> int:
    """Return the bytes that are needed at once, 0 where that is not known."""
    found = arena(of_graphs(list(module.graphs()), module.functions))
    return 0 if found is None else found.peak


def _legalized(op: Op, out: list[Op], target: Target, report: Report) -> Sequence[Value] | None:
    """Return what stands for the results of an op that the target refuses; None if it takes it, or no form of it."""
    if takes(target, op):
        return None
    found = _in_other_form(op, target, frozenset())
    if found is None:
        return None
    ops, values = found
    out += ops
    report.rewritten[op.type, tuple(made.type for made in ops)] += 1
    return values


def takes(target: Target, op: Op) -> bool:
    return target.refusal(signature_of(op)) is None


def _in_other_form(op: Op, target: Target, replaced: frozenset[str]) -> tuple[list[Op], Sequence[Value]] | None:
    """Return the ops of the first form of an op that the target takes, and what stands for the results. replaced: the
    types of ops that the op is part of a form of."""
    from fuseconv.targets.forms import FORMS

    if op.type in replaced:
        return None
    replaced |= {op.type}
    for form in FORMS.get(op.type, ()):
        with Speculative() as trial:
            values = form(Builder(trial.ops, op.name, op.sources), op)
            if values is None or not _fit(op, values):
                continue
            values = _taken(trial, list(values), target, replaced)
            if values is not None:
                trial.keep()
                return trial.ops, values
    return None


def _taken(
    trial: Speculative, values: list[Value], target: Target, replaced: frozenset[str]
) -> list[Value] | None:
    """Write the ops of a trial in forms that the target takes; return what stands for their values, None if there is no
    such form."""
    made, trial.ops = trial.ops, []
    for index, op in enumerate(made):
        runs = not (type_excess(op) or rank_excess(op))
        found = ([op], op.results) if runs and takes(target, op) else _in_other_form(op, target, replaced)
        if found is None:
            trial.ops += made[index:]
            return None
        ops, others = found
        trial.ops += ops
        if others is not op.results:
            new = dict(zip(op.results, others))
            values = [new.get(value, value) for value in values]
            replace_op(op, others)
    return values


def _fit(op: Op, values: Sequence[Value]) -> bool:
    """Return whether values can stand for an op's results: of the same type and shape, or of any with as many rows
    where all readers see nothing but these."""
    from fuseconv.targets.forms.reductions import flattens

    pairs = list(zip(op.results, values, strict=True))
    assert all(old.dtype is new.dtype for old, new in pairs), f"a form of {op} has another type"
    return all(old.shape == new.shape or all(map(flattens, old.uses)) for old, new in pairs)
