"""Applies fusions: annotated functions become fused ops, and so do patterns of primitive ops."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable

from fuseconv.errors import FuseconvError
from fuseconv.fuse.match import Composite, Fusion, Match, Refused
from fuseconv.fuse.pattern import Pattern
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Graph, Module, Op, Value, detach, replace_uses
from fuseconv.passes.effects import references
from fuseconv.passes.inline import CALLS
from fuseconv.passes.simplify import more_known
from fuseconv.report.records import Report
from fuseconv.tfl.builder import Builder

# A NameAttrList is kept in the attribute as text: name: "..." attr { ... }.
_NAME = re.compile(r'^\s*name:\s*"((?:[^"\\]|\\.)*)"')

# Far more fusions than this for each op of a graph, and one undoes another.
_APPLICATIONS_PER_OP = 50


def annotation(graph: Graph) -> str:
    """The composite's name that a function carries, whatever the form; "" if it carries none."""
    text = graph.attrs.get("_implements") or graph.attrs.get("api_implements") or ""
    named = _NAME.match(text) if isinstance(text, str) else None
    return named.group(1) if named else text if isinstance(text, str) else ""


def fuse_composites(module: Module, fusions: Iterable[Fusion], report: Report) -> None:
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
    """Replaces what matches the patterns of a dialect, in each graph until nothing matches; larger ones go first."""
    by_kind: dict[str, list[tuple[Fusion, Pattern]]] = {}
    for fusion in fusions:
        for pattern in fusion.patterns:
            if pattern.dialect == dialect:
                for kind in pattern.kinds:
                    by_kind.setdefault(kind, []).append((fusion, pattern))
    for candidates in by_kind.values():
        candidates.sort(key=lambda candidate: -candidate[1].size)
    for graph in module.graphs():
        _PatternWalk(graph, by_kind, report).run()


class _PatternWalk:
    """Applies patterns to one graph, in order of execution. A refusal counts if the op is still there in the end."""

    def __init__(self, graph: Graph, by_kind: dict[str, list[tuple[Fusion, Pattern]]], report: Report) -> None:
        self.graph = graph
        self.by_kind = by_kind
        self.report = report
        self.refusals: dict[tuple[str, Op], str] = {}
        self.fuel = _APPLICATIONS_PER_OP * (len(graph.ops) + 1)

    def run(self) -> None:
        # A fusion can take away the reader that kept another, further up, from matching.
        while self.walk():
            pass
        left = set(self.graph.ops)
        for (name, op), why in self.refusals.items():
            if op in left:
                self.report.record("refused", name, op.sources, why=why)

    def walk(self) -> bool:
        """One walk; True if anything was fused."""
        fused = False
        dead: set[Op] = set()
        pending, self.graph.ops = self.graph.ops[::-1], []
        while pending:
            op = pending.pop()
            emitted = self.fuse(op, dead)
            if emitted is None:
                self.graph.ops.append(op)
            else:
                fused = True
                # What was built may itself be the end of a larger pattern.
                pending.extend(emitted[::-1])
        self.graph.ops = [op for op in self.graph.ops if op not in dead]
        return fused

    def fuse(self, op: Op, dead: set[Op]) -> list[Op] | None:
        """Replaces the op by the first fusion that agrees; returns what was built, or None if none does."""
        for fusion, pattern in self.by_kind.get(op.kind, ()):
            for bindings in pattern.matches(op):
                match = Match(
                    {**dict.fromkeys(pattern.parameters), **bindings.values},
                    ops={**dict.fromkeys(pattern.op_names), **bindings.ops},
                    results={f"result{index or ''}": result for index, result in enumerate(op.results)},
                )
                sources = tuple(dict.fromkeys(name for part in bindings.matched[::-1] for name in part.sources))
                try:
                    emitted = _apply(fusion, match, Builder([], op.name, sources), self.report)
                except Refused as refusal:
                    self.refusals.setdefault((fusion.name, op), str(refusal))
                    continue
                self.spend(fusion)
                for part in bindings.matched:
                    if not any(result.uses for result in part.results):
                        detach(part)
                        dead.add(part)
                return emitted
        return None

    def spend(self, fusion: Fusion) -> None:
        self.fuel -= 1
        if not self.fuel:
            raise FuseconvError(f"the fusion {fusion.name} matches what fusions make, and would be applied for ever")


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
    inner = [name for part in _all_ops(callee, module) for name in part.sources]
    try:
        emitted = _apply(fusion, match, Builder([], op.name, (*op.sources, *inner)), report)
    except Refused as refusal:
        report.record("refused", fusion.name, op.sources, why=str(refusal))
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


def _apply(fusion: Fusion, match: Match, tfl: Builder, report: Report) -> list[Op]:
    """Checks and rewrites one match; returns the ops that were built. Raises Refused."""
    fusion.check(match)
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
        elif new.dtype is not old.dtype:
            raise FuseconvError(f"the fusion {fusion.name} made {name} a {new.dtype} where it must be a {old.dtype}")
        elif _differ(old.shape, new.shape):
            for op in tfl.out:
                detach(op)
            raise Refused(f"the result would have the shape {new.shape} where the model has {old.shape}")
    for name, old in match.results.items():
        new = made.get(name)
        if new is not None:
            if new.op in tfl.out:
                new.name = old.name
                new.shape = more_known(old.shape, new.shape)
            replace_uses(old, new)
    report.record("fused" if tfl.out else "removed", fusion.name, tfl.sources, [op.type for op in tfl.out])
    return tfl.out


def _differ(a: Shape | None, b: Shape | None) -> bool:
    """True of two shapes that cannot be one."""
    if a is None or b is None:
        return False
    return len(a) != len(b) or any(isinstance(x, int) and isinstance(y, int) and x != y for x, y in zip(a, b))
