"""Forward slices of joins: what reads a part of a concatenation reads the tensors that this part was joined of.

    y = concat(x[:2], row, x[3:]);  y[3:4], y[:3]  ->  x[3:4], concat(x[:2], row)

Code that sets the rows of a matrix one after the other writes this for each of them, as a tensor has no items to be
set. Then no step copies the whole matrix any more.
"""

from __future__ import annotations

import bisect
import itertools
from typing import NamedTuple

from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Graph, Module, Op, Value
from fuseconv.ir.rewriter import rewrite_ops
from fuseconv.ir.slice_spec import WHOLE, Entry, Insert, Pick, SliceSpec, Take
from fuseconv.ir.terms import op_of, operand_of
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.traits import SLICES


@module_pass("forward-slices", kinds=SLICES)
def forward_slices(module: Module, report: Report) -> bool:
    """Forward slices of joins to what was joined: slice(concat(a, b, c)) -> b.

    Only where nothing reads the join any more then, and no op more is left. Requires inferred shapes; dead ops stay."""
    changed = [_Forwarder(report).forward(graph) for graph in module.graphs()]
    return any(changed)


class _Span(NamedTuple):
    """The elements from `begin` up to `end` of a join's axis that a slice takes, and what it takes of all dimensions;
    `place` is that of the axis among the entries."""

    begin: int
    end: int
    entries: list[Entry]
    place: int


class _Join(NamedTuple):
    """A join of which all readers take tensors that were joined: `ends` of these along the axis, and the spans that its
    readers take."""

    axis: int
    ends: list[int]
    spans: dict[Op, _Span]

    def covers(self, span: _Span) -> tuple[int, int] | None:
        """Return the first and the last of the tensors that a span lies in; None if it takes a part of several. No
        element is taken of the first one."""
        if span.begin == span.end:
            return 0, 0
        first, last = bisect.bisect_right(self.ends, span.begin), bisect.bisect_left(self.ends, span.end)
        whole = span.begin == self.begin(first) and span.end == self.ends[last]
        return (first, last) if first == last or whole else None

    def begin(self, index: int) -> int:
        return self.ends[index - 1] if index else 0


class _Forwarder:
    """Forward the slices of one graph."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.joins: dict[Op, _Join | None] = {}
        self.made: dict[tuple[Op, int, int], Value] = {}  # the join of some of the tensors of another

    def forward(self, graph: Graph) -> bool:
        return rewrite_ops(graph, SLICES, self.rewritten)

    def rewritten(self, op: Op, out: list[Op]) -> list[Value] | None:
        """Slice what a ConcatV2 joins: ConcatV2(x, y)[n:] -> y[n - len(x):], or the join of the tensors that the slice
        takes from."""
        source = op.operands[0]
        concat = op_of(source, "tf.ConcatV2")
        if concat is None:
            return None
        if concat not in self.joins:
            self.joins[concat] = _resolved(concat)
        join = self.joins[concat]
        if join is None:
            return None
        span = join.spans[op]
        first, last = join.covers(span)  # type: ignore[misc]
        if first < last:
            entries = [*span.entries[: span.place], WHOLE, *span.entries[span.place + 1 :]]
            return [self.slice(self.joined(concat, join, first, last, out), entries, op, out)]
        begin, part = (span.begin - join.begin(first)) * (span.end > span.begin), concat.operands[first]
        assert part is not None
        part, begin = _source(part, join.axis, begin)
        size = part.shape[join.axis]  # type: ignore[index]
        assert isinstance(size, int)
        entry = _taken(span.entries[span.place], begin, begin + span.end - span.begin, size)
        return [self.slice(part, [*span.entries[: span.place], entry, *span.entries[span.place + 1 :]], op, out)]

    def slice(self, x: Value, entries: list[Entry], op: Op, out: list[Op]) -> Value:
        """Return the slice of x that takes the entries; x itself if they take all of it."""
        named = len(entries)
        while named and entries[named - 1] == WHOLE:
            named -= 1
        if not named:
            self.report.removed(op, "forward-slices", f"it takes all of {x.name}")
            return x
        begins, ends, strides, masks = SliceSpec(tuple(entries[:named])).operands()
        tf = TfBuilder(out, op)
        bounds = [tf.ints(numbers) for numbers in (begins, ends, strides)]  # type: ignore[arg-type]
        return tf.add("StridedSlice", [x, *bounds], masks, op.result.dtype, op.result.shape)

    def joined(self, concat: Op, join: _Join, first: int, last: int, out: list[Op]) -> Value:
        """Return the join of the tensors from `first` to `last`, which is made once."""
        key = (concat, first, last)
        if key not in self.made:
            shape = list(concat.result.shape)  # type: ignore[arg-type]
            shape[join.axis] = join.ends[last] - join.begin(first)
            operands = [*concat.operands[first : last + 1], concat.operands[-1]]
            builder = TfBuilder(out, concat)
            self.made[key] = builder.add("ConcatV2", operands, {}, concat.result.dtype, tuple(shape))
        return self.made[key]


def _resolved(concat: Op) -> _Join | None:
    """Return what becomes of a join; None if a reader needs it, or more than one new join took its place."""
    *parts, axis = concat.operands
    shape = concat.result.shape
    if shape is None or axis is None or axis.data is None:
        return None
    at = int(axis.data) % len(shape)
    sizes = [part.shape[at] if part is not None and part.shape is not None else None for part in parts]
    if not all(isinstance(size, int) for size in sizes):
        return None
    ends = list(itertools.accumulate(sizes))  # type: ignore[arg-type]
    spans: dict[Op, _Span] = {}
    for reader in concat.result.uses:
        span = _span(reader, concat.result, at)
        if span is None:
            return None
        spans[reader] = span
    join = _Join(at, ends, spans)  # type: ignore[arg-type]
    covers = {join.covers(span) for span in spans.values()}
    several = [cover for cover in covers if cover is not None and cover[0] < cover[1]]
    needed = None in covers or len(several) > 1 or (0, len(parts) - 1) in several
    return None if needed else join


def _span(op: Op, x: Value, axis: int) -> _Span | None:
    """Return what a slice takes of x; None if it is none, its bounds are no numbers, or it takes steps on the axis."""
    if op.kind not in SLICES or any((operand is x) != (index == 0) for index, operand in enumerate(op.operands)):
        return None
    shape: Shape = x.shape  # type: ignore[assignment]
    spec = SliceSpec.of(op)
    entries = spec.unfold(len(shape)) if spec is not None else None
    size = shape[axis]
    if entries is None or not isinstance(size, int) or not all(_is_known(entry) for entry in entries):
        return None
    places = [index for index, entry in enumerate(entries) if not isinstance(entry, Insert)]
    for index, dim in zip(places, shape):
        if entries[index].takes_all(dim):  # type: ignore[union-attr]
            entries[index] = WHOLE
    entry = entries[places[axis]]
    if isinstance(entry, Pick):
        begin = entry.index + size if entry.index < 0 else entry.index
        end = begin + 1
    else:
        begin, end, _ = slice(entry.begin, entry.end).indices(size)  # type: ignore[union-attr]
        end = max(begin, end)
    known = entry.stride == 1 and 0 <= begin <= end <= size  # type: ignore[union-attr]
    return _Span(begin, end, entries, places[axis]) if known else None


def _is_known(entry: Entry) -> bool:
    """Return whether the bounds are numbers of 32 bits."""
    if isinstance(entry, Insert):
        return True
    bounds = (entry.index,) if isinstance(entry, Pick) else (entry.begin, entry.end)
    return all(bound is None or (isinstance(bound, int) and abs(bound) < 2**31) for bound in (*bounds, entry.stride))


def _source(part: Value, axis: int, begin: int) -> tuple[Value, int]:
    """Return what a tensor was cut out of along an axis alone, and where its element `begin` stands there; the tensor
    itself if it is no such slice."""
    source = operand_of(part, SLICES)
    if part.op is None or source is None or source.shape is None or len(source.shape) != part.rank:
        return part, begin
    span = _span(part.op, source, axis)
    alone = span is not None and all(e == WHOLE for index, e in enumerate(span.entries) if index != axis)
    return (source, begin + span.begin) if span is not None and alone else (part, begin)


def _taken(entry: Entry, begin: int, end: int, size: int) -> Entry:
    if isinstance(entry, Pick):
        return Pick(begin)
    return WHOLE if (begin, end) == (0, size) else Take(begin, end)
