"""Bubble slices up: ops whose results are only read in part compute that part alone.

    SLICE(GELU(FULLY_CONNECTED(x)), row 0)  ->  GELU(FULLY_CONNECTED(SLICE(x, row 0)))

A classifier on a class token, or a language model that is asked for the next word, reads one row of what its last layer
computes. So the row is taken out before the layer, not behind it.
"""

from __future__ import annotations

import heapq
import math
from typing import NamedTuple

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Graph, Module, Op, Value, constant, detach, replace_uses
from fuseconv.ir.slice_spec import Pick, SliceSpec
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.kernel_limits import RANK, TYPES
from fuseconv.tfl.slice_rules import Part, needs

# One of these among the ops that compute less is worth a slice more than there was.
_WORTH_A_SLICE = frozenset({"FULLY_CONNECTED", "BATCH_MATMUL", "SOFTMAX", "GELU"})


@module_pass("bubble-up-slices", requires=(TFL_ONLY,))
def bubble_up_slices(module: Module, report: Report) -> None:
    """Bubble slices up through ops that keep the sliced dimension apart: slice(f(x)) -> f(slice(x))."""
    for graph in module.graphs():
        slices = [(op, part) for op in graph.ops if (part := slice_part(op)) is not None]
        if slices:
            mover = _SliceMover(graph, dict(slices))
            for op, part in reversed(slices):
                mover.narrow(op, part, report)
            mover.finish()


def slice_part(op: Op) -> Part | None:
    """Return the elements that a slice takes, if that is along one dimension, in steps of one, and known."""
    if op.kind != "tfl.STRIDED_SLICE":
        return None
    x, *bounds = op.operands
    spec = SliceSpec.of(op) if all(v is not None and v.is_const for v in bounds) else None
    entries = spec.dimensions() if spec is not None else None
    if x is None or x.shape is None or x.variable or entries is None:
        return None
    parts: list[Part] = []
    for axis, entry in enumerate(entries):
        size, picks = x.shape[axis], isinstance(entry, Pick)
        if entry.takes_all(size):
            continue
        begin = entry.index if isinstance(entry, Pick) else entry.begin or 0
        if not isinstance(size, int):
            # An element that is there if the model runs at all; one that is counted from the end has a negative place.
            if not picks:
                return None
            parts.append(Part(axis, begin, begin + 1))
            continue
        begin = begin + size if begin < 0 else begin
        end = begin + 1 if isinstance(entry, Pick) else size if entry.end is None else entry.end
        end = min(end + size if end < 0 else end, size)
        if not 0 <= begin < end:
            return None
        if (begin, end) != (0, size) or picks:
            parts.append(Part(axis, begin, end))
    return parts[0] if len(parts) == 1 else None


class _Narrowing(NamedTuple):
    """The part of its result that an op is to compute, and what its operands must give for it."""

    part: Part
    needs: list[Part | None]


class _SliceMover:
    """Move the slices of one graph up."""

    def __init__(self, graph: Graph, parts: dict[Op, Part]) -> None:
        self.graph = graph
        self.parts = parts
        self.places = {op: place for place, op in enumerate(graph.ops)}
        self.before: dict[Op, list[Op]] = {}
        self.erased: set[Op] = set()
        # Parts of values that are found to be best taken where they are, until another slice moves.
        self.staying: set[tuple[Value, Part]] = set()

    def narrow(self, first: Op, part: Part, report: Report) -> None:
        """Bubble up one slice, and all others of the same elements of the same value: slice(f(x)) -> f(slice(x))."""
        if first in self.erased:
            return
        source: Value = first.operands[0]  # type: ignore[assignment]
        if (source, part) in self.staying:
            return
        # Of hundreds of slices of one value, most are known to take other parts, or more than a part.
        slices = [op for op in source.uses if self.parts.get(op) == part and slice_part(op) == part]
        region = self._region(source, part, slices)
        cuts = dict.fromkeys(
            (value, wanted)
            for op, narrow in region.items()
            for value, wanted in zip(op.operands, narrow.needs)
            if wanted is not None and value is not None and not value.is_const and value.op not in region
        )
        heavy = any(op.type in _WORTH_A_SLICE for op in region)
        # To copy a part of what is reduced takes as long as to reduce the rest.
        larger = not heavy and any(
            _joined_part(*cut) is None and _elements(*cut) > _elements(source, part) for cut in cuts
        )
        if not region or len(cuts) > len(slices) + heavy or larger:
            self.staying.add((source, part))
            return
        self.staying.clear()
        ordered = sorted(region, key=self.places.__getitem__)
        taken = {cut: self._insert_slice(*cut, next(op for op in ordered if cut[0] in op.operands)) for cut in cuts}
        for op in ordered:
            for index, (value, wanted) in enumerate(zip(op.operands, region[op].needs)):
                if wanted is not None and value is not None and value.op not in region:
                    op.set_operand(index, _slice_constant(value, wanted) if value.is_const else taken[value, wanted])
            op.result.shape = _narrowed(op.result, region[op].part)
            if op.type == "RESHAPE":
                op.set_operand(1, _sizes(op.result.shape))
        for op in slices:
            self._simplify_slice(op, part, report)

    def _region(self, source: Value, part: Part, slices: list[Op]) -> dict[Op, _Narrowing]:
        """Return the ops that can compute a part of their results, with what they need of their operands for it."""
        region: dict[Op, _Narrowing] = {}
        asked: set[Op] = set()
        queue: list[tuple[int, Op, Part]] = []

        def ask(value: Value | None, wanted: Part | None) -> None:
            op = value.op if value is not None else None
            if op is not None and wanted is not None and op in self.places and op not in asked:
                asked.add(op)
                heapq.heappush(queue, (-self.places[op], op, wanted))

        def is_whole(reader: Op, value: Value, wanted: Part) -> bool:
            if reader in region:
                pairs = zip(reader.operands, region[reader].needs)
                return any(other != wanted for operand, other in pairs if operand is value)
            return value is not source or reader not in slices

        ask(source, part)
        # The last op first: all readers of a value are known before its own op is looked at.
        while queue:
            _, op, wanted = heapq.heappop(queue)
            found = needs(op, wanted) if _is_plain(op) else None
            if found is None or any(is_whole(reader, op.result, wanted) for reader in op.result.uses):
                continue
            if not all(_can_be_cut(operand) for operand, inner in zip(op.operands, found) if inner is not None):
                continue
            if op.type != "RESHAPE" or _sizes(_narrowed(op.result, wanted)):
                region[op] = _Narrowing(wanted, found)
                for operand, inner in zip(op.operands, found):
                    ask(operand, inner)
        return region

    def _insert_slice(self, value: Value, part: Part, reader: Op) -> Value:
        """Insert a slice of a value just before its first reader in the region; return what is joined there, if it is
        that."""
        joined = _joined_part(value, part)
        if joined is not None:
            return joined
        made = self.before.setdefault(reader, [])
        rank = len(value.shape)  # type: ignore[arg-type]
        begins, ends = [0] * rank, [0] * rank
        begins[part.axis], ends[part.axis] = part.begin, part.end
        mask = sum(1 << axis for axis in range(rank) if axis != part.axis)
        end_mask = mask if part.end else mask | 1 << part.axis
        tfl = Builder(made, value.name, reader.sources)
        cut: Value = tfl.strided_slice(value, begins, ends, [1] * rank, begin_mask=mask, end_mask=end_mask)
        self.parts[made[-1]] = part
        return cut

    def _simplify_slice(self, op: Op, part: Part, report: Report) -> None:
        """Drop a slice whose operand has become what it takes: slice(x) -> x, or reshape(x) where it drops the
        dimension."""
        source: Value = op.operands[0]  # type: ignore[assignment]
        if not op.attrs.get("shrink_axis_mask") or _reads_rows(op.result, part):
            report.removed(op, "bubble-up-slices", "what it takes is all that is computed")
            replace_uses(op.result, source)
            detach(op)
            self.erased.add(op)
        elif (sizes := _sizes(op.result.shape)) is not None:
            op.set_kind("tfl.RESHAPE")
            op.attrs = {}
            op.set_operands((source, sizes))
        else:
            for index, bound in ((1, 0), (2, 1)):
                bounds: np.ndarray = op.operands[index].data.copy()  # type: ignore[union-attr]
                bounds[part.axis] = bound
                op.set_operand(index, constant(bounds))
            op.set_operand(0, source)

    def finish(self) -> None:
        """Put the new ops into the graph's list, and take those out that are erased."""
        ops: list[Op] = []
        for op in self.graph.ops:
            ops += (*self.before.get(op, ()), op)
        self.graph.ops = [op for op in ops if op not in self.erased]


def _is_plain(op: Op) -> bool:
    """Return whether no result is a state, scaled integers, or sizes that are known apart from the tensor."""
    return all(r.content is None and r.quantization is None and not r.variable for r in op.results)


def _can_be_cut(value: Value | None) -> bool:
    """Return whether STRIDED_SLICE takes a value, as it took what a CAST or RESHAPE made of it."""
    if value is None or value.is_const:
        return True
    return value.dtype in TYPES["STRIDED_SLICE"] and len(value.shape or ()) <= RANK["STRIDED_SLICE"]


def _narrowed(value: Value, part: Part) -> Shape:
    shape: Shape = value.shape  # type: ignore[assignment]
    return (*shape[: part.axis], part.end - part.begin, *shape[part.axis + 1 :])


def _elements(value: Value, part: Part) -> int:
    """Return how many elements a part of a value has for each unknown size."""
    return math.prod(size for size in _narrowed(value, part) if isinstance(size, int))


def _joined_part(value: Value, part: Part) -> Value | None:
    """Return the operand of a CONCATENATION that is this part of its result; None if there is none."""
    op = value.op
    if op is None or op.kind != "tfl.CONCATENATION" or op.attrs.get("fused_activation_function", "NONE") != "NONE":
        return None
    if int(op.attrs.get("axis", 0)) % len(value.shape) != part.axis:  # type: ignore[arg-type]
        return None
    begin = 0
    for operand in op.operands:
        size = operand.shape[part.axis] if operand is not None and operand.shape is not None else None
        if not isinstance(size, int):
            return None
        if (begin, begin + size) == (part.begin, part.end):
            return operand
        begin += size
    return None


def _reads_rows(value: Value, part: Part) -> bool:
    """Return whether all readers are dense layers, which read any shape row by row."""
    dense = all(r.kind == "tfl.FULLY_CONNECTED" and not r.attrs.get("keep_num_dims") for r in value.uses)
    return dense and bool(value.uses) and part.axis < len(value.shape)  # type: ignore[arg-type]


def _sizes(shape: Shape | None) -> Value | None:
    """Return the shape as RESHAPE takes it; None if more than one size is not known."""
    sizes = Builder([]).static_shape(shape)
    return None if sizes is None else constant(np.array(sizes, np.int32))


def _slice_constant(value: Value, part: Part) -> Value:
    index = (slice(None),) * part.axis + (slice(part.begin, part.end or None),)
    assert value.data is not None
    return constant(np.ascontiguousarray(value.data[index]), value.dtype, value.name)
