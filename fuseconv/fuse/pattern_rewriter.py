"""Greedy pattern rewriter: replaces patterns of primitive ops by fused ops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing, nullcontext
from functools import lru_cache, partial
from itertools import chain

from fuseconv.errors import module_error
from fuseconv.facts import TFL_ONLY
from fuseconv.fuse.apply_fusion import build, check, replace
from fuseconv.fuse.match import Fusion, Match, Refused
from fuseconv.fuse.pattern import Pattern
from fuseconv.fuse.pattern_check import PatternCheck
from fuseconv.fuse.pattern_terms import Bindings, Glance, NearMiss, glance
from fuseconv.ir.constant_readers import ConstantReaders
from fuseconv.ir.graph import Graph, Module, Op, Value, detach
from fuseconv.ir.rewriter import Speculative
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tfl.builder import Builder

# Far more fusions than this for each op of a graph, and one undoes another.
_APPLICATIONS_PER_OP = 50


@module_pass("fuse-tf-patterns")
def fuse_tf_patterns(
    module: Module, fusions: Iterable[Fusion], report: Report, explain: bool, pattern_check: PatternCheck | None
) -> bool:
    """Replace expressions of TF ops by the one TFLite op that computes them: x * sigmoid(x) -> ..., gelu, softmax."""
    return fuse_patterns(module, fusions, report, "tf", explain, pattern_check)


@module_pass("fuse-tfl-patterns", requires=(TFL_ONLY,), after_changes=True)
def fuse_tfl_patterns(
    module: Module, fusions: Iterable[Fusion], report: Report, explain: bool, pattern_check: PatternCheck | None
) -> bool:
    """Fold constants, biases, activations and padding: RELU(ADD(CONV_2D(x, w), b)) -> CONV_2D(x, w, b)."""
    return fuse_patterns(module, fusions, report, "tfl", explain, pattern_check)


def fuse_patterns(
    module: Module,
    fusions: Iterable[Fusion],
    report: Report,
    dialect: str,
    explain: bool = False,
    pattern_check: PatternCheck | None = None,
    graphs: Sequence[Graph] | None = None,
) -> bool:
    """Apply the patterns of a dialect to each graph up to a fixed point; larger patterns go first. Returns whether
    anything did.

    Patterns of `tf` ops are tried from the end of a graph, so that a whole expression is seen before its parts. Those
    of `tfl` ops are tried from its start, as ops take in what follows them.

    explain: record also what matches but for one thing, and what that is. graphs: those to rewrite, from their ends,
    instead of all. pattern_check: runs what is built, and what it is built for, before it is taken.
    """
    candidates = _candidates(tuple(fusions), dialect)
    # What an earlier call left alone is judged anew.
    report.forget_refusals(candidates.names)
    fused = False
    constants = ConstantReaders(module)
    step = -1 if dialect == "tf" or graphs is not None else 1
    with nullcontext() if pattern_check is None else closing(pattern_check.numeric):
        for graph in list(module.graphs()) if graphs is None else graphs:
            walk = _PatternRewriter(graph, module, candidates, report, constants, step, pattern_check)
            fused |= walk.run()
            if explain:
                walk.explain()
    return fused


class _Candidates:
    """The patterns of a dialect that may end at an op, the larger first. Ops of which a glance shows the same have the
    same ones."""

    def __init__(self, fusions: Iterable[Fusion], dialect: str) -> None:
        self.by_kind: dict[str, list[tuple[Fusion, Pattern]]] = {}
        for fusion in fusions:
            for pattern in fusion.patterns:
                for kind in pattern.kinds if pattern.dialect == dialect else ():
                    self.by_kind.setdefault(kind, []).append((fusion, pattern))
        for candidates in self.by_kind.values():
            candidates.sort(key=lambda candidate: -candidate[1].size)
        self.names = frozenset(fusion.name for candidates in self.by_kind.values() for fusion, _ in candidates)
        self.by_glance: dict[Glance, list[tuple[Fusion, Pattern]]] = {}

    def of(self, op: Op) -> Sequence[tuple[Fusion, Pattern]]:
        candidates = self.by_kind.get(op.kind)
        if candidates is None:
            return ()
        seen = glance(op)
        found = self.by_glance.get(seen)
        if found is None:
            found = self.by_glance[seen] = [each for each in candidates if each[1].may_end_at(seen)]
        return found


@lru_cache(maxsize=4)
def _candidates(fusions: tuple[Fusion, ...], dialect: str) -> _Candidates:
    """Return the candidates of a set of fusions, cached: one set mostly serves many conversions."""
    return _Candidates(fusions, dialect)


class _PatternRewriter:
    """Apply patterns to one graph, forwards (`step` 1) or backwards (-1). A refusal counts if its op stays."""

    def __init__(
        self,
        graph: Graph,
        module: Module,
        candidates: _Candidates,
        report: Report,
        constants: ConstantReaders,
        step: int,
        pattern_check: PatternCheck | None = None,
    ) -> None:
        self.graph = graph
        # The kinds of its ops, and of those that are built.
        self.kinds = set(graph.kinds)
        self.module = module
        self.candidates = candidates
        self.report = report
        self.constants = constants
        self.step = step
        self.pattern_check = pattern_check
        self.refusals: dict[tuple[str, Op], str] = {}
        self.fuel = _APPLICATIONS_PER_OP * (len(graph.ops) + 1)

    def run(self) -> bool:
        fused = False
        # A fusion can take away the reader that kept another, further up, from matching.
        while self.walk():
            fused = True
        left = set(self.graph.ops)
        for (name, op), why in self.refusals.items():
            if op in left:
                self.report.refused(name, op.sources, why)
        return fused

    def explain(self) -> None:
        """Record the nearest miss of each fusion at each op that is left, and that it has not refused."""
        nearest: dict[tuple[str, Op], NearMiss] = {}
        for op in self.graph.ops:
            for fusion, pattern in self.candidates.by_kind.get(op.kind, ()):
                key = fusion.name, op
                miss = None if key in self.refusals else pattern.nearest_miss(op)
                if miss and (key not in nearest or miss.closeness > nearest[key].closeness):
                    nearest[key] = miss
        for (name, op), miss in nearest.items():
            # What misses as a part of something larger is not what was meant.
            if not any(set(miss.matched) < set(other.matched) for other in nearest.values()):
                self.report.refused(name, op.sources, f"all fits but one thing: at {miss.op.name!r} {miss.why}")

    def walk(self) -> bool:
        """Walk the graph once; return True if anything was fused."""
        fused = False
        dead: set[Op] = set()
        pending, done = self.graph.ops[:: -self.step], []
        while pending:
            op = pending.pop()
            if op in dead:
                continue
            emitted = self.fuse(op, dead)
            if emitted is None:
                done.append(op)
            else:
                fused = True
                # What was built may itself be the end of a larger pattern.
                pending.extend(emitted[:: -self.step])
        self.graph.ops = [op for op in done[:: self.step] if op not in dead]
        return fused

    def fuse(self, op: Op, dead: set[Op]) -> list[Op] | None:
        """Replace the op by the first fusion whose check holds; return the ops that were built, None if there is
        none."""
        made: list[Op] = []
        for fusion, pattern in self.candidates.of(op):
            if pattern.needed <= self.kinds and pattern.match(op, partial(self.apply, fusion, op, made, dead)):
                self.kinds.update([built.kind for built in made])
                return made
        return None

    def apply(self, fusion: Fusion, op: Op, built: list[Op], dead: set[Op], bound: Bindings) -> bool:
        """Build the fused op in place of one match, unless its check refuses; return whether that was done."""
        match = Match(
            {**dict.fromkeys(fusion.parameters), **bound.values},
            ops={**dict.fromkeys(fusion.op_names), **bound.ops},
            results={f"result{index or ''}": result for index, result in enumerate(op.results)},
            constants=self.constants,
        )
        try:
            check(fusion, match)  # which most matches do not pass
            sources = tuple(dict.fromkeys(chain.from_iterable([part.sources for part in bound.matched[::-1]])))
            tfl = Builder(built, op.name, sources, self.module.functions)
            made, why = self.build(fusion, match, tfl, bound.matched)
        except Refused as refusal:
            self.refusals.setdefault((fusion.name, op), str(refusal))
            return False
        replace(fusion, match, made, tfl, self.report, why)
        self.constants.add(built)
        self.spend(fusion)
        for part in bound.matched:
            if not any(result.uses for result in part.results):
                detach(part)
                dead.add(part)
        return True

    def build(self, fusion: Fusion, match: Match, tfl: Builder, matched: list[Op]) -> tuple[dict[str, Value], str]:
        """Build the fused op and run it against the match; return its results by name, and what came out. Raises
        Refused."""
        if self.pattern_check is None or not self.pattern_check.checks(fusion):
            return build(fusion, match, tfl), ""
        with Speculative(tfl.functions, tfl.out) as trial:
            made = build(fusion, match, tfl)
            why = self.pattern_check(fusion, match, matched, tfl.out, made, self.module)
            trial.keep()
        return made, why

    def spend(self, fusion: Fusion) -> None:
        self.fuel -= 1
        if not self.fuel:
            why = "matches what fusions make, and would be applied for ever"
            raise module_error(f"the fusion {fusion.name}", fusion.rewrite, why)
