"""Warn of what plug-ins offer that no model can meet, and that would silently do nothing: patterns, rules, shape
functions and folders of misspelled ops, and patterns that give an op a wrong number of operands."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from fuseconv.errors import is_ours, suggestion
from fuseconv.fuse.match import Fusion
from fuseconv.fuse.pattern_terms import nodes_of
from fuseconv.fuse.registry import Registry
from fuseconv.ir.graph import Module
from fuseconv.report.records import Report

# How much alike two names are, in lower case, of which one is the other, misspelled: Xdivi and Xdivy are by 0.8.
_ALIKE = 0.8


def report_misfits(
    module: Module, fusions: Iterable[Fusion], registry: Registry, names: Callable[[], Iterable[str]],
    operand_count: Callable[[str], int | None], report: Report, explain: bool,
) -> None:  # fmt: skip
    """Warn of ops of plug-ins that neither TensorFlow nor the model has, if they look misspelled, and of patterns that
    give an op another number of operands than TensorFlow does.

    An op that resembles none of TensorFlow's may be that of another model: of a pattern that is recorded, if the report
    is to explain. names: of TensorFlow's ops. operand_count: of one of them, None if it takes any number."""
    theirs, offers = _theirs(tuple(fusions)), registry.offered_ops
    if not theirs and not offers:
        return
    known = {*names(), *(op.type for graph in module.graphs() for op in graph.ops)}
    for fusion in theirs:
        nothing = f"the fusion {fusion.name} matches nothing: "
        for type in sorted(fusion.tf_types - known - registry.rules.keys()):
            why = f"its pattern is of an op {type}, which neither TensorFlow nor the model has"
            if alike := suggestion(type, names(), _ALIKE):
                report.warnings.append(nothing + why + alike)
            elif explain:
                report.refused(fusion.name, (), why)
        report.warnings += [f"{nothing}{why}" for why in wrong_counts(fusion, operand_count)]
    for type, what in offers:
        if type not in known and (alike := suggestion(type, names(), _ALIKE)):
            report.warnings.append(f"{what} serves nothing: neither TensorFlow nor the model has an op {type}{alike}")


@lru_cache(maxsize=4)
def _theirs(fusions: tuple[Fusion, ...]) -> list[Fusion]:
    """Return the fusions of plug-ins, cached: one set mostly serves many conversions."""
    return [fusion for fusion in fusions if not is_ours(fusion.rewrite)]


def wrong_counts(fusion: Fusion, operand_count: Callable[[str], int | None]) -> list[str]:
    """Return a sentence for each op of TensorFlow's in the patterns whose number of operands is not that of the op."""
    found = []
    for node in (node for pattern in fusion.patterns for node in nodes_of(pattern.root)):
        for dialect, _, type in (kind.partition(".") for kind in node.kinds):
            takes, given = operand_count(type) if dialect == "tf" else None, len(node.operands)
            if takes is not None and (given > takes if node.rest else given != takes):
                found.append(f"its pattern gives {type} {given} operand{'s' * (given != 1)}, and it takes {takes}")
    return found
