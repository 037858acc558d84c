"""Outline patterns as composites: functions of the file with a name, by which compilers of NPUs know what they compute.

It runs behind lowering and quantization, so that the model is seen in its final form. Local rules run once more then,
in the bodies of composites too: they compute the same as before.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from fuseconv.errors import InputError, is_ours
from fuseconv.facts import TFL_ONLY
from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern_rewriter import fuse_patterns
from fuseconv.ir.graph import Module
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.targets.signature import signature_of
from fuseconv.targets.target import Target
from fuseconv.tfl.builder import Builder

COMPOSITE = "STABLEHLO_COMPOSITE"


@module_pass("outline-composites", requires=(TFL_ONLY,), ensures=(TFL_ONLY,))
def outline_composites(module: Module, outlined: Iterable[Fusion], report: Report, explain: bool) -> bool:
    """Write norms and attention as STABLEHLO_COMPOSITE with a function: MUL(x, RSQRT(...)) -> odml.rms_norm."""
    bodies = {op.attrs["decomposition_subgraph_index"].name
              for graph in module.graphs() for op in graph.ops if op.type == COMPOSITE}  # fmt: skip
    graphs = [graph for graph in module.graphs() if graph.name not in bodies]
    return fuse_patterns(module, outlined, report, "tfl", explain, graphs=graphs)


def choose_composites(
    fusions: Sequence[Fusion], names: Sequence[str], target: Target | None
) -> tuple[list[Fusion], tuple[Fusion, ...]]:
    """Choose the composites to make, those that globs name or that the target takes -> the fusions to apply, and
    besides these the ones that are outlined behind all others. What a plug-in brings is always made, unless the target
    refuses it.

    Raises InputError for a glob that names none."""
    composites = [fusion for fusion in fusions if fusion.emits == COMPOSITE]
    for glob in names:
        if not any(fnmatchcase(fusion.name, glob) for fusion in composites):
            raise InputError(
                f"--composites {glob} names none; there are {', '.join(fusion.name for fusion in composites)}"
            )
    chosen = [fusion for fusion in composites if _is_chosen(fusion, names, target)]
    made = chosen if target is None else taken_by(target, chosen, {COMPOSITE})
    last = tuple(fusion for fusion in made if any(pattern.dialect == "tfl" for pattern in fusion.patterns))
    others = [fusion for fusion in fusions if fusion.emits != COMPOSITE]
    return [*others, *(fusion for fusion in made if fusion not in last)], last


def _is_chosen(fusion: Fusion, names: Sequence[str], target: Target | None) -> bool:
    if names or not is_ours(fusion.rewrite):
        return not names or any(fnmatchcase(fusion.name, glob) for glob in names)
    return target is not None and not target.on_cpu and target.knows(COMPOSITE)


def taken_by(target: Target, fusions: Iterable[Fusion], types: Collection[str]) -> list[Fusion]:
    """Return the fusions, of which those that make ops of these types are refused where the target refuses the op."""
    return [_taken_by(target, fusion) if fusion.emits in types else fusion for fusion in fusions]


def _taken_by(target: Target, fusion: Fusion) -> Fusion:
    @functools.wraps(fusion.rewrite)
    def rewrite(tfl: Builder, m: Match) -> Any:
        made = fusion.rewrite(tfl, m)
        for op in tfl.out:
            why = target.refusal(signature_of(op)) if op.type == fusion.emits else None
            m.require(why is None, f"{target.name} refuses it: {why}")
        return made

    return replace(fusion, rewrite=rewrite)
