"""Applies fusions: annotated functions become fused ops, and so do patterns of primitive ops."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from typing import Any

from fuseconv.errors import FuseconvError
from fuseconv.fuse.match import Composite, Fusion, Match, Refused
from fuseconv.ir.graph import Graph, Module, Op, Value, detach, replace_uses
from fuseconv.passes.effects import references
from fuseconv.passes.inline import CALLS
from fuseconv.report.records import Report
from fuseconv.tfl.builder import Builder

# A NameAttrList is kept in the attribute as text: name: "..." attr { ... }.
_NAME = re.compile(r'^\s*name:\s*"((?:[^"\\]|\\.)*)"')


def annotation(graph: Graph) -> str:
    """The composite's name that a function carries, whatever the form; "" if it carries none."""
    text = graph.attrs.get("_implements") or graph.attrs.get("api_implements") or ""
    named = _NAME.match(text) if isinstance(text, str) else None
    return named.group(1) if named else text if isinstance(text, str) else ""


def fuse(module: Module, fusions: Iterable[Fusion], report: Report) -> None:
    """Replaces calls of annotated functions by fused ops, where a fusion's check agrees; others stay calls."""
    composites = [fusion for fusion in fusions if isinstance(fusion.root, Composite)]
    for graph in module.graphs():
        ops, graph.ops = graph.ops, []
        for op in ops:
            callee = module.functions.get(next(references(op), "")) if op.kind in CALLS else None
            name = annotation(callee) if callee is not None else ""
            for fusion in composites:
                if name and fnmatch.fnmatchcase(name, fusion.root.name):  # type: ignore[union-attr]
                    assert callee is not None
                    if _fuse_call(fusion, op, callee, graph, module, report):
                        break
            else:
                graph.ops.append(op)


def fuse_patterns(module: Module, fusions: Iterable[Fusion], report: Report, dialect: str) -> None:
    """Replaces what matches the patterns of a dialect, in one walk a graph; larger patterns are tried first."""
    by_kind: dict[str, list[tuple[int, Fusion, Any]]] = {}
    for fusion in fusions:
        for pattern in fusion.patterns:
            if pattern.root.kinds[0].startswith(dialect + "."):
                for kind in pattern.root.kinds:
                    by_kind.setdefault(kind, []).append((-pattern.size, fusion, pattern))
    for candidates in by_kind.values():
        candidates.sort(key=lambda candidate: candidate[0])
    for graph in module.graphs():
        _fuse_graph(graph, by_kind, report)


def _fuse_graph(graph: Graph, by_kind: dict[str, list[tuple[int, Fusion, Any]]], report: Report) -> None:
    dead: set[Op] = set()
    ops, graph.ops = graph.ops, []
    pending = ops[::-1]
    while pending:
        op = pending.pop()
        for _, fusion, pattern in by_kind.get(op.kind, ()):
            bindings = pattern.match(op)
            if bindings is None:
                continue
            results = {"result": op.result} if len(op.results) == 1 else {r.name: r for r in op.results}
            match = Match(dict(bindings.values), {}, bindings.ops, results)
            matched = bindings.matched
            sources = tuple(dict.fromkeys(name for part in matched[::-1] for name in part.sources))
            emitted = _apply(fusion, match, Builder([], op.name, sources), report, op)
            if emitted is None:
                continue
            for part in matched:
                if not any(result.uses for result in part.results):
                    detach(part)
                    dead.add(part)
            # What was built may itself be the end of a larger pattern.
            pending.extend(emitted[::-1])
            break
        else:
            graph.ops.append(op)
    graph.ops = [op for op in graph.ops if op not in dead]


def _fuse_call(fusion: Fusion, op: Op, callee: Graph, graph: Graph, module: Module, report: Report) -> bool:
    root = fusion.root
    assert isinstance(root, Composite)
    wanted = [name for name in root.operands if not name.endswith("?")]
    if not len(wanted) <= len(op.operands) <= len(root.operands) or len(op.results) > len(root.results):
        report.record(
            "refused", fusion.name, op.sources,
            why=f"{callee.name} takes {len(op.operands)} operands and gives {len(op.results)} results where the "
            f"contract of {root.name} has {len(root.operands)} and {len(root.results)}",
        )  # fmt: skip
        return False
    operands: dict[str, Value | None] = {name.rstrip("?"): None for name in root.operands}
    operands.update(zip(operands, op.operands))
    match = Match(operands, dict(callee.attrs), {}, dict(zip(root.results, op.results)))
    inner = [f"{name}" for part in _all_ops(callee, module) for name in part.sources]
    emitted = _apply(fusion, match, Builder([], op.name, (*op.sources, *inner)), report, op)
    if emitted is None:
        return False
    graph.ops.extend(emitted)
    detach(op)
    return True


def _all_ops(graph: Graph, module: Module) -> Iterable[Op]:
    for op in graph.ops:
        yield op
        for name in references(op):
            if name in module.functions:
                yield from _all_ops(module.functions[name], module)


def _apply(fusion: Fusion, match: Match, tfl: Builder, report: Report, root: Op) -> list[Op] | None:
    """Checks and rewrites one match; returns the ops that were built, or None if the fusion was refused."""
    try:
        fusion.check(match)
    except Refused as refusal:
        report.record("refused", fusion.name, root.sources, why=str(refusal))
        return None
    made = fusion.rewrite(tfl, match)
    made = {next(iter(match.results)): made} if isinstance(made, Value) else made
    if not isinstance(made, dict) or not made.keys() <= match.results.keys():
        raise FuseconvError(
            f"the fusion {fusion.name} must return a value or a dict with some of {list(match.results)}, not {made!r}"
        )
    for name, old in match.results.items():
        new = made.get(name)
        if new is None:
            if old.uses:
                raise FuseconvError(f"the fusion {fusion.name} did not make the result {name}, which is read")
            continue
        if new.dtype is not old.dtype:
            raise FuseconvError(f"the fusion {fusion.name} made {name} a {new.dtype} where it must be a {old.dtype}")
        if new.op in tfl.out:
            new.name = old.name
            new.shape = old.shape if new.shape is None else new.shape
        replace_uses(old, new)
    kind = "fused" if tfl.out else "removed"
    report.record(kind, fusion.name, tfl.sources, [op.type for op in tfl.out])
    return tfl.out
