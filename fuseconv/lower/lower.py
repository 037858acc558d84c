"""Replaces every TF op by the TFLite ops that its rule builds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fuseconv.errors import UnsupportedError
from fuseconv.ir.graph import Graph, Module, Op, Value, detach, replace_uses
from fuseconv.ir.signature import OpFunction
from fuseconv.lower.rules import Lowering, Unsupported
from fuseconv.passes.effects import has_effect
from fuseconv.report.records import Report


def lower(
    module: Module, rules: Mapping[str, OpFunction], report: Report, custom: Callable[[str], bool] = lambda op: False
) -> None:
    """Turns the `tf` ops of all graphs into `tfl` ops. Raises UnsupportedError with every op that cannot be lowered.

    custom: tells of a TF op's type whether it may become a CUSTOM op of its name if no rule serves it.
    """
    refused: list[tuple[Op, str]] = []
    known: dict[str, bool] = {}
    for graph in module.graphs():
        _lower_graph(graph, rules, report, lambda op: has_effect(op, module, known), custom, refused)
    if refused:
        raise unsupported(refused[::-1])


def _lower_graph(
    graph: Graph,
    rules: Mapping[str, OpFunction],
    report: Report,
    effects: Callable[[Op], bool],
    custom: Callable[[str], bool],
    refused: list[tuple[Op, str]],
) -> None:
    """Goes from the last op to the first: a rule that needs only what is known of an operand, such as the shape that a
    chain of ops computes, leaves that chain without readers before it is reached."""
    lowered: list[list[Op]] = []
    for op in reversed(graph.ops):
        if op.dialect == "tfl":
            lowered.append([op])
            continue
        if not any(result.uses for result in op.results) and not effects(op):
            report.removed(op, "lower", "nothing reads it once shapes are known")
            detach(op)
            continue
        why, results, emitted = _apply(op, rules)
        if why and custom(op.type):
            why, (results, emitted) = "", _custom(op)
        if why:
            report.record("unsupported", "lower", op.sources, why=why)
            refused.append((op, why))
            lowered.append([op])
            continue
        lowered.append(emitted)
        for old, new in zip(op.results, results):
            if new is not None:
                hand_over(old, new)
        types = [new.type for new in emitted]
        report.record("lowered" if types else "removed", f"lower {op.type}", op.sources, types)
        detach(op)
    graph.ops = [op for emitted in reversed(lowered) for op in emitted]


def _apply(op: Op, rules: Mapping[str, OpFunction]) -> tuple[str, Sequence[Value | None], list[Op]]:
    rule = rules.get(op.type)
    if rule is None:
        return "no rule lowers this op", (), []
    why = rule.unhandled(op)
    if why:
        return why, (), []
    emitted: list[Op] = []
    tfl = Lowering(emitted, op)
    try:
        made = rule(tfl, op, op.operands)
    except Unsupported as refusal:
        for new in emitted:
            detach(new)
        return str(refusal), (), []
    results = list(made) if isinstance(made, (list, tuple)) else [made]
    missing = [r for r, new in zip(op.results, [*results, *[None] * len(op.results)]) if new is None and r.uses]
    if len(results) > len(op.results) or missing:
        raise TypeError(f"the rule for {op.type} made {len(results)} results where the op has {len(op.results)}")
    for old, new in zip(op.results, results):
        if new is not None and new.dtype is not old.dtype:
            raise TypeError(f"the rule for {op.type} made a {new.dtype} where the op makes a {old.dtype}")
    return "", results, emitted


def _custom(op: Op) -> tuple[list[Value], list[Op]]:
    """A CUSTOM op of the TF op's name, its attributes in a flexbuffer map."""
    emitted: list[Op] = []
    types = [(result.dtype, result.shape) for result in op.results]
    attrs = {name: value for name, value in op.attrs.items() if isinstance(value, (bool, int, float, str, list, tuple))}
    return Lowering(emitted, op).custom(op.type, op.operands, types, attrs), emitted


def hand_over(old: Value, new: Value) -> None:
    """Lets `new` take the place of `old`: its readers, its name if `new` was made for it, and what its shape tells."""
    if new.op is not None and new.op.dialect == "tfl" and new.op.name == (old.op.name if old.op else ""):
        new.name = old.name
        if old.shape is not None and new.shape is None:
            new.shape = old.shape
        elif old.shape is not None and new.shape is not None and len(old.shape) == len(new.shape):
            new.shape = tuple(n if isinstance(n, int) else o for o, n in zip(old.shape, new.shape))
    replace_uses(old, new)


def unsupported(refused: list[tuple[Op, str]]) -> UnsupportedError:
    """One error for all ops that cannot be converted, grouped by op and reason."""
    groups: dict[tuple[str, str], list[str]] = {}
    for op, why in refused:
        groups.setdefault((op.type, why), []).append(op.name)
    ops = [(type, names, why) for (type, why), names in sorted(groups.items())]
    kinds = sorted({type for type, _, _ in ops})
    text = ", ".join(kinds[:5]) + (f" and {len(kinds) - 5} more" if len(kinds) > 5 else "")
    return UnsupportedError(f"the model has operations that TFLite's builtins cannot express yet: {text}", ops)
