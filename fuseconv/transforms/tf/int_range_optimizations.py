"""Leave out what guards against whole numbers that cannot come, by the ranges of the numbers that can.

JAX looks up ids as if they could be negative, which count from the end, or beyond the table, which gives NaN, and
clamps where slices start. Of ids that lie in the table (`--input-range ids=0:29999`, the place of a maximum, a
remainder), and of what a loop counts up to its end, none of that is left. Known as integer range analysis in MLIR,
whose pass has the same name.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Mapping, Sequence

from fuseconv.input_ranges import InputRange, checked_ranges
from fuseconv.ir.graph import Graph, Module, Op, Value, detach, replace_uses
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.integer_range import ANY, BOUNDS, FALSE, TRUE, Range, every, handed_on, of_constant, range_of_result
from fuseconv.tf.operands import content_of
from fuseconv.tf.side_effects import bodies
from fuseconv.tf.traits import BRANCHES, COMPARISONS, EQUALITIES, LOOPS, REPEATS, RUNNERS

# Ops that make a range of any numbers, without which, and without ranges of inputs, there is nothing to do.
_LIMITS = LOOPS | {"tf.ArgMax", "tf.ArgMin", "tf.FloorMod"}
# Ops whose results have a range where that of no operand is known but by its being a constant.
_SOURCES = _LIMITS | REPEATS | {"tf.Fill"}
# A loop in a loop is walked some times in each walk of that: those deeper than this are not followed.
_DEEPEST = 2

# None: nothing is known, or it is no tensor of whole numbers.
_Known = Range | None


@module_pass("int-range-optimizations")
def int_range_optimizations(module: Module, input_ranges: Mapping[str, InputRange], report: Report) -> bool:
    """Forward what bounds and choices leave as it is, as all numbers are in a known range: Maximum(ids, 0) -> ids.

    A slice of XLA that starts within its operand is no more than a slice. input_ranges: of inputs, by the signature's
    names. Requires inferred shapes. Returns whether any op was replaced; dead ops stay. Raises InputError for a range
    that no input can have."""
    given = _of_inputs(module, input_ranges, report) if input_ranges else {}
    if not given and all(graph.kinds.isdisjoint(_LIMITS) for graph in module.graphs()):
        return False
    analysis = IntegerRangeAnalysis(module, given)
    for signature in module.signatures:
        analysis.walk(signature.graph)
    changed = [_rewrite(graph, analysis, report) for graph in module.graphs()]
    return any(changed)


def _of_inputs(module: Module, input_ranges: Mapping[str, InputRange], report: Report) -> dict[Value, Range]:
    """Return the ranges of the inputs of all signatures, and report them by name."""
    inputs = [dict(zip(signature.inputs, signature.graph.inputs)) for signature in module.signatures]
    dtypes = [{name: value.dtype.numpy for name, value in values.items()} for values in inputs]
    given = checked_ranges(input_ranges, list(zip([signature.names for signature in module.signatures], dtypes)))
    for signature, found in zip(module.signatures, given):
        prefix = f"{signature.names[0]}/" if len(module.signatures) > 1 else ""
        report.input_ranges.update({prefix + name: ends for name, ends in found.items()})
    return {
        values[name]: Range((low,), (high,))
        for values, found in zip(inputs, given) for name, (low, high) in found.items()
    }  # fmt: skip


def _rewrite(graph: Graph, analysis: IntegerRangeAnalysis, report: Report) -> bool:
    changed = False
    kept: list[Op] = []
    for op in graph.ops:
        if op.kind in BOUNDS:
            same = handed_on(op, analysis.ranges(op))
            if same is not None and same.shape is not None and same.shape == op.result.shape:
                replace_uses(op.result, same)
                report.removed(op, "int-range-optimizations", "the range of its operands decides its result")
                detach(op)
                changed = True
                continue
        elif op.kind == "tf.XlaDynamicSlice" and _starts_within(op, analysis):
            op.set_kind("tf.Slice")
            changed = True
        kept.append(op)
    graph.ops = kept
    return changed


def _starts_within(op: Op, analysis: IntegerRangeAnalysis) -> bool:
    """Return whether a slice lies in its operand, wherever it starts."""
    x, _, sizes = op.operands
    starts, lengths = analysis.ranges(op)[1], content_of(sizes)
    if x is None or not x.is_static or lengths is None or len(starts.low) not in (1, len(lengths)):
        return False
    if not all(isinstance(length, int) for length in lengths):
        return False
    last = [size - length for size, length in zip(x.shape, lengths)]  # type: ignore[arg-type,operator]
    return Range((0,) * len(last), tuple(last)).holds(starts)


class IntegerRangeAnalysis:
    """The values of a module whose numbers are known to lie in a range that is less than their type's.

    A function that one op alone runs is walked with what is known of its operands, others for what holds of any."""

    def __init__(self, module: Module, known: dict[Value, Range]) -> None:
        self.module = module
        self.known = known
        # Results that are an operand -> the value that this is.
        self.same: dict[Value, Value] = {}
        self.depth = 0
        self.general: set[Graph] = set()
        self.runs = Counter(body for graph in module.graphs() for op in graph.ops for body, _ in bodies(op, module))

    def of(self, value: Value | None) -> _Known:
        """Return the range of a value, if it is known."""
        return self.known.get(value) if value is None or value.data is None else of_constant(value.data)  # type: ignore[arg-type]

    def ranges(self, op: Op) -> list[Range]:
        """Return the ranges of an op's operands."""
        return [self.of(value) or every(value.dtype) for value in op.operands if value is not None]

    def walk(self, graph: Graph) -> None:
        """Find the ranges of all results in a graph, from those of its inputs."""
        for op in graph.ops:
            for value in op.results:
                self.same.pop(value, None)
            results: list[_Known] = [None] * len(op.results)
            if op.kind in RUNNERS:
                results = self.run(op)
            elif len(results) == 1 and (op.kind in _SOURCES or not self.known.keys().isdisjoint(op.operands)):
                results = [self.result(op)]
            self.learn(op.results, results)

    def result(self, op: Op) -> _Known:
        """Return the range of the only result of an op."""
        ranges = self.ranges(op)
        if op.kind in EQUALITIES:
            x, y = (self.same.get(value, value) for value in op.operands if value is not None)
            if x is y and not x.dtype.is_float:  # NaN is not equal to itself
                return TRUE if op.kind == "tf.Equal" else FALSE
        same = handed_on(op, ranges) if op.kind in BOUNDS else None
        if same is None:
            return range_of_result(op, ranges)
        self.same[op.result] = self.same.get(same, same)
        return self.of(same)

    def learn(self, values: Sequence[Value], ranges: Sequence[_Known]) -> None:
        """Note what is known of values, in place of what was in an earlier walk."""
        for value, found in zip(values, ranges):
            if found is None:
                self.known.pop(value, None)
            else:
                self.known[value] = found

    def run(self, op: Op) -> list[_Known]:
        """Walk the functions that an op runs; return the ranges of its results."""
        functions = bodies(op, self.module)
        follows = self.depth < _DEEPEST and all(self.runs[body] == 1 for body, _ in functions)
        self.depth += 1
        if op.kind in LOOPS and follows:
            made = self.loop(op)
        elif op.kind in BRANCHES and follows:
            sides = [self.enter(body, [self.of(value) for value in op.operands[first:]]) for body, first in functions]
            made = [_either(*results) for results in zip(*sides)]
        else:
            # What holds of any operands is found once, however often a function is run.
            for body in dict.fromkeys(body for body, _ in functions if body not in self.general):
                self.general.add(body)
                self.enter(body, [None] * len(body.inputs))
            made = [None] * len(op.results)
        self.depth -= 1
        return made

    def enter(self, graph: Graph, inputs: Sequence[_Known]) -> list[_Known]:
        """Walk a function; return the ranges of its outputs."""
        self.learn(graph.inputs, inputs)
        self.walk(graph)
        return [self.of(value) for value in graph.outputs]

    def loop(self, op: Op) -> list[_Known]:
        """Return ranges that hold of a loop's variables before each iteration and behind the last, having walked its
        functions with these."""
        held = [self.of(value) for value in op.operands]
        # What grows is taken to grow to the end of its type: then the loop's condition bounds it, or nothing does.
        for widened in (_either, _widened, _widened, _forgotten):
            reached = self.iterate(op, held)
            if _hold(held, reached):
                break
            held = [widened(*pair) for pair in zip(held, reached)]
        else:
            reached = self.iterate(op, held)
        if _hold(reached, self.iterate(op, reached)):
            return reached
        self.iterate(op, held)
        return held

    def iterate(self, op: Op, held: Sequence[_Known]) -> list[_Known]:
        """Return what holds of a loop's variables before the first iteration and behind one, if `held` does before."""
        condition, body = (self.module.functions[op.attrs[name].name] for name in ("cond", "body"))
        self.enter(condition, held)
        made = self.enter(body, self.where_true(condition, held))
        return [_either(self.of(value), found) for value, found in zip(op.operands, made)]

    def where_true(self, condition: Graph, held: Sequence[_Known]) -> list[_Known]:
        """Return what holds of a loop's variables where its condition does: of i from 0, i < 7 leaves 0 to 6."""
        bounded = dict(zip(condition.inputs, held))
        pending = condition.outputs[:1]
        while pending:
            test = pending.pop().op
            if test is None:
                continue
            if test.kind == "tf.LogicalAnd":
                pending += [value for value in test.operands if value is not None]
            if test.kind in COMPARISONS:
                less, more = test.operands if test.kind.startswith("tf.Less") else test.operands[::-1]
                apart = 0 if test.kind.endswith("Equal") else 1
                for value, other, is_less in ((less, more, True), (more, less, False)):
                    if value in bounded:
                        bounded[value] = self.bounded(bounded[value], value, other, is_less, apart)
        return [*bounded.values()]

    def bounded(self, held: _Known, value: Value, other: Value | None, is_less: bool, apart: int) -> _Known:
        """Return the range of a value that is less than another, or more, and so far apart from it at least."""
        ends, bound = every(value.dtype), self.of(other)
        if bound is None or value.dtype.is_float:
            return held
        low, high = ends.low[0], ends.high[0]
        limit = Range((low,), (max(bound.high) - apart,)) if is_less else Range((min(bound.low) + apart,), (high,))
        made = (held or ends) & limit
        return made if all(map(operator.le, made.low, made.high)) else held  # else the loop takes no step


def _either(a: _Known, b: _Known) -> _Known:
    return None if a is None or b is None else a | b


def _widened(a: _Known, b: _Known) -> _Known:
    """Return a range that holds `a`, and `b` if that grows one way."""
    if a is None or b is None:
        return None
    a, b = a.joined, b.joined
    return Range(a.low if a.low <= b.low else ANY.low, a.high if a.high >= b.high else ANY.high)


def _forgotten(a: _Known, b: _Known) -> _Known:
    return None


def _hold(some: Sequence[_Known], others: Sequence[_Known]) -> bool:
    """Return whether each range holds the other that stands at its place."""
    return all(a is None or (b is not None and a.holds(b)) for a, b in zip(some, others))
