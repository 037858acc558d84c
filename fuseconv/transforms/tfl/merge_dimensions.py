"""Merge dimensions between RESHAPEs, for targets whose tensors have fewer.

    RESHAPE x [1,8,8,6] -> [1,8,8,2,3]; MEAN along 1, 2, 4; SUB; ...; RESHAPE back
 -> RESHAPE x [1,8,8,6] -> [1,64,2,3];  MEAN along 1, 3;    SUB; ...; RESHAPE back

A group norm has five dimensions so, and so has an image whose pixels are each repeated. Dimensions become one if the
ops between the RESHAPEs - element-wise ones, reductions and joins - do not tell them apart. So do those that a
TRANSPOSE between RESHAPEs moves as a whole, as where channels are shuffled or an image is cut into windows. What slices
pick behind such a TRANSPOSE, as queries, keys and values, they pick in front of it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir.graph import Graph, Module, Op, Value
from fuseconv.ir.rewriter import Speculative, erase_ops, replace_op, rewrite_ops
from fuseconv.ir.terms import op_of
from fuseconv.pass_manager import module_pass
from fuseconv.targets.signature import signature_of
from fuseconv.targets.target import Target
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.traits import ELEMENTWISE, REDUCTIONS
from fuseconv.transforms.tfl.bubble_up_slices import slice_part

_MOST = 4
_INNER = frozenset(f"tfl.{type}" for type in (*ELEMENTWISE, *REDUCTIONS, "CONCATENATION"))
_REDUCES = frozenset(f"tfl.{type}" for type in REDUCTIONS)
# Where each group of neighboring dimensions begins, and behind the last where it ends.
_Cuts = tuple[int, ...]


@module_pass("merge-dimensions", requires=(TFL_ONLY,), ensures=(TFL_ONLY,))
def merge_dimensions(module: Module, target: Target | None) -> bool:
    """Merge dimensions that no op tells apart: MEAN(x[1,8,8,2,3], [1,2,4]) -> MEAN(x[1,64,2,3], [1,3])."""
    if target is None:
        return False
    changed = False
    for graph in module.graphs():
        if target.knows("RESHAPE"):
            changed |= rewrite_ops(graph, ("tfl.FULLY_CONNECTED",), _read_rows)
        for region in _regions(graph):
            if any(target.refusal(signature_of(op)) is not None for op in region):
                changed |= any(_merged(graph, region, cuts, target) for cuts in _partitions(_rank(region)))
        for op in [op for op in graph.ops if op.kind == "tfl.TRANSPOSE"]:
            if _is_wide(op.result) and target.refusal(signature_of(op)) is not None:
                changed |= _slice_first(graph, op, target) or _merged_transpose(graph, op, target)
    return changed


def _read_rows(op: Op, out: list[Op]) -> Sequence[Value] | None:
    """Let a product read rows of data of many dimensions, which are the same to it: [1,8,8,2,3] -> [64,6]."""
    from fuseconv.targets.forms.linear import rows  # which most conversions do without

    return rows(Builder(out, op.name, op.sources), op) if _is_wide(op.operands[0]) else None


def _slice_first(graph: Graph, op: Op, target: Target) -> bool:
    """Slice in front of a TRANSPOSE what is picked behind it, as of queries, keys and values that are computed at once:
    TRANSPOSE(RESHAPE(x, [4,9,3,2,8]))[1] -> TRANSPOSE(RESHAPE(RESHAPE(x, [36,3,16])[:, 1], [4,9,2,8])). Return whether
    the target takes that."""
    x, perm = op.operands
    reshape, picks = op_of(x, "tfl.RESHAPE"), _picks(op.result)
    if x is None or reshape is None or not x.is_static or perm is None or perm.data is None:
        return False
    if op.result in graph.outputs or len({axis for axis, _ in picks.values()}) != 1:
        return False
    axis = next(iter(picks.values()))[0]
    order, shape = perm.data.tolist(), _shape(x)
    moved = order.pop(axis)
    before, after = shape[:moved], shape[moved + 1 :]
    inner = np.array([each - (each > moved) for each in order], np.int32)
    made = {}
    with Speculative() as trial:
        tfl = Builder(trial.ops, op.name, op.sources)
        rows = tfl.reshape(reshape.operands[0], [math.prod(before), shape[moved], math.prod(after)])
        for value, (_, place) in picks.items():
            own = tfl.reshape(tfl.slice_(rows, [0, place, 0], [-1, 1, -1]), [*before, *after])
            made[value] = tfl.transpose(own, inner)
        if any(target.refusal(signature_of(each)) is not None for each in trial.ops):
            return False
        trial.keep()
    graph.ops = [new for each in graph.ops for new in (trial.ops if each is op else [each])]
    readers = {*op.result.uses}
    for reader in readers:
        replace_op(reader, [made[value] for value in reader.results])
    erase_ops(graph, {*readers, op})
    if not x.uses:
        erase_ops(graph, {reshape})
    return True


def _picks(x: Value) -> dict[Value, tuple[int, int]]:
    """Return the axis and the place of each element that the readers of a value pick along one axis; none if a reader
    does anything else."""
    picks: dict[Value, tuple[int, int]] = {}
    rank = len(_shape(x))
    for reader in x.uses:
        part = slice_part(reader)
        if reader.kind == "tfl.UNPACK":
            axis = reader.attrs.get("axis", 0) % rank
            picks.update((value, (axis, place)) for place, value in enumerate(reader.results))
        elif part is not None and len(_shape(reader.result)) == rank - 1:
            picks[reader.result] = part.axis, part.begin
        else:
            return {}
    return picks


def _merged_transpose(graph: Graph, op: Op, target: Target) -> bool:
    """Let a TRANSPOSE between RESHAPEs move groups of dimensions that stay beside each other: [1,8,8,2,4] with 2 and 4
    changing places -> [64,2,4]. Return whether the target takes that."""
    x, perm = op.operands
    reshape = op_of(x, "tfl.RESHAPE")
    if x is None or reshape is None or not x.is_static or perm is None or perm.data is None:
        return False
    if {op.result, x} & {*graph.outputs} or any(reader.kind != "tfl.RESHAPE" for reader in op.result.uses):
        return False
    shape = _shape(x)
    groups: list[list[int]] = []
    for axis in (axis for axis in perm.data.tolist() if shape[axis] != 1):
        last = groups[-1][-1] if groups else len(shape)
        beside = last < axis and math.prod(shape[last + 1 : axis]) == 1
        groups[-1:] = [[*groups[-1], axis]] if beside else [*groups[-1:], [axis]]
    places = sorted(range(len(groups)), key=lambda number: groups[number])
    with Speculative() as trial:
        tfl = Builder(trial.ops, op.name, op.sources)
        merged = [math.prod(shape[axis] for axis in groups[number]) for number in places]
        data = tfl.reshape(reshape.operands[0], merged)
        moved = tfl.transpose(data, np.argsort(places).astype(np.int32))
        if any(target.refusal(signature_of(made)) is not None for made in trial.ops):
            return False
        trial.keep()
    graph.ops = [new for each in graph.ops for new in (trial.ops if each is op else [each])]
    replace_op(op, [moved])
    if not x.uses:
        erase_ops(graph, {reshape})
    return True


def _shape(value: Value) -> tuple[int, ...]:
    return _sizes(value, tuple(range(len(value.shape) + 1)))  # type: ignore[arg-type]


def _is_wide(value: Value | None) -> bool:
    return value is not None and not value.is_const and value.shape is not None and len(value.shape) > _MOST


def _rank(region: Sequence[Op]) -> int:
    return len(region[0].result.shape)  # type: ignore[arg-type]


def _regions(graph: Graph) -> list[list[Op]]:
    """Return sets of ops, in order, that tensors of many dimensions connect, between RESHAPEs and nothing else."""
    seen: set[Op] = set()
    regions = []
    for op in graph.ops:
        if op.kind not in _INNER or op in seen or not _is_wide(op.result):
            continue
        region, pending, closed = {op}, [op], True
        while pending:
            here = pending.pop()
            wide = [value for value in (*here.operands, *here.results) if _is_wide(value)]
            around = {other for value in wide if value is not None for other in (value.op, *value.uses)}
            closed &= None not in around and all(_fits(other) for other in around if other is not None)
            new = {other for other in around if other is not None and other.kind in _INNER} - region
            region |= new
            pending += new
        seen |= region
        ranks = {len(each.result.shape) for each in region if each.result.shape is not None}
        if closed and len(ranks) == 1:
            entries = {value.op for each in region for value in each.operands if _is_wide(value) and value is not None}
            regions.append([each for each in graph.ops if each in region or each in entries])
    return regions


def _fits(op: Op) -> bool:
    """Return whether an op may stand in a region, or at its end."""
    values = [value for value in (*op.operands, *op.results) if value is not None]
    if op.kind == "tfl.RESHAPE":
        return op.result.is_static
    known = op.kind in _INNER and all(value.is_static for value in values)
    if op.kind in _REDUCES:
        axes = op.operands[1]
        return known and bool(op.attrs.get("keep_dims")) and axes is not None and axes.is_const
    # What broadcasts has as many dimensions, or is a constant, which gets as many.
    return known and all(_is_wide(value) or value.is_const or not value.shape for value in values)


def _partitions(rank: int) -> Iterator[_Cuts]:
    """Yield the ways to make up to four groups of dimensions, those of more groups first."""
    for count in range(_MOST, 1, -1):
        for inner in itertools.combinations(range(1, rank), count - 1):
            yield (0, *inner, rank)


def _merged(graph: Graph, region: Sequence[Op], cuts: _Cuts, target: Target) -> bool:
    """Replace the ops of a region by ones on groups of dimensions; return whether these compute the same, and the
    target takes them."""
    made: dict[Op, list[Op]] = {}
    values: dict[Value, Value] = {}
    with Speculative() as trial:
        for op in region:
            count = len(trial.ops)
            tfl = Builder(trial.ops, op.name, op.sources)
            result = _reshaped(tfl, op, cuts) if op.kind == "tfl.RESHAPE" else _on_groups(tfl, op, values, cuts)
            if result is None or result.shape != _sizes(op.result, cuts):
                return False
            values[op.result], made[op] = result, trial.ops[count:]
        if any(target.refusal(signature_of(op)) is not None for op in trial.ops):
            return False
        trial.keep()
    graph.ops = [new for op in graph.ops for new in made.get(op, (op,))]
    for op in region:
        replace_op(op, [values[op.result]])
    return True


def _sizes(value: Value, cuts: _Cuts) -> tuple[int, ...]:
    assert value.shape is not None
    return tuple(math.prod(value.shape[a:b]) for a, b in itertools.pairwise(cuts))  # type: ignore[arg-type]


def _reshaped(tfl: Builder, op: Op, cuts: _Cuts) -> Value:
    return tfl.reshape(op.operands[0], list(_sizes(op.result, cuts)))


def _on_groups(tfl: Builder, op: Op, values: dict[Value, Value], cuts: _Cuts) -> Value | None:
    """Build an op on groups of dimensions; return its result, None if it tells dimensions of a group apart."""
    attrs = dict(op.attrs)
    operands = list(op.operands)
    if op.kind in _REDUCES:
        axes = {int(axis) % cuts[-1] for axis in operands[1].data.ravel()}  # type: ignore[union-attr]
        groups = [axes.issuperset(range(a, b)) for a, b in itertools.pairwise(cuts)]
        if sum(b - a for (a, b), whole in zip(itertools.pairwise(cuts), groups) if whole) != len(axes):
            return None
        found = np.array([number for number, whole in enumerate(groups) if whole], np.int32)
        return tfl.op(op.type, (values[operands[0]], found), attrs)[0]  # type: ignore[index]
    if op.kind == "tfl.CONCATENATION":
        axis = op.attrs.get("axis", 0) % cuts[-1]
        if axis not in cuts:
            return None
        attrs["axis"] = cuts.index(axis)
    wide = op.result.shape
    parts = [_operand(tfl, value, values, wide, cuts) for value in operands]  # type: ignore[arg-type]
    joined = op.kind == "tfl.CONCATENATION"
    if None in parts or (not joined and not all(_broadcasts(value, wide, cuts) for value in operands)):  # type: ignore[arg-type]
        return None
    return tfl.op(op.type, tuple(parts), attrs)[0]


def _operand(
    tfl: Builder, value: Value, values: dict[Value, Value], wide: Sequence[int], cuts: _Cuts
) -> Value | None:
    if value in values or not value.shape:
        return values.get(value, value)
    if value.data is None:
        return None
    shape = _aligned(value, len(wide))
    return tfl.const(value.data.reshape([math.prod(shape[a:b]) for a, b in itertools.pairwise(cuts)]), value.dtype)


def _aligned(value: Value, rank: int) -> tuple[int, ...]:
    shape = value.shape or ()
    return (*(1,) * (rank - len(shape)), *shape)  # type: ignore[arg-type]


def _broadcasts(value: Value, wide: Sequence[int], cuts: _Cuts) -> bool:
    """Return whether an operand has the result's sizes along each group of dimensions, or ones."""
    shape = _aligned(value, len(wide))
    return all(
        tuple(shape[a:b]) == tuple(wide[a:b]) or math.prod(shape[a:b]) == 1 for a, b in itertools.pairwise(cuts)
    )
