"""Fuse sibling ops on slices of a tensor horizontally: one op on the tensor, and slices of its result.

    i = tanh(x @ a);  f = tanh(x @ b)  ->  i, f = split(tanh(x @ [a, b]))

RNN cells multiply one state with the weights of each gate, or slice what they multiply for each gate. What is adjacent
and the same for several gates is done for all of them at once, if that takes fewer ops. Slices are of the last
dimension.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fuseconv.ir.constant_readers import ConstantReaders
from fuseconv.ir.dims import Dim
from fuseconv.ir.graph import Graph, Module, Op, Value, constant, detach, replace_uses
from fuseconv.ir.rewriter import rewrite_ops
from fuseconv.ir.slice_spec import WHOLE, SliceSpec, Take
from fuseconv.ir.terms import op_of
from fuseconv.ir.value_numbering import attrs_key
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.operands import content_of
from fuseconv.tf.shape_functions.elementwise import BINARY, UNARY
from fuseconv.tf.side_effects import is_repeatable
from fuseconv.tf.traits import LOOPS, TAKES
from fuseconv.transforms.loops.loop_info import LoopForm, for_each_loop

_ELEMENTWISE = frozenset({*UNARY, *BINARY, "BiasAdd"}) - {"Cast"}


class _Slice(NamedTuple):
    """The elements begin to begin + size of the last dimension of a tensor."""

    whole: Value
    begin: int
    size: int


@module_pass("horizontal-fusion", kinds=LOOPS)
def horizontal_fusion(module: Module, report: Report) -> None:
    """Join ops of a loop's body that do the same to parts of a tensor: x @ a, x @ b -> split(x @ [a, b])."""
    constants = ConstantReaders(module)
    for_each_loop(module, lambda op, graph: fuse_siblings(LoopForm(op, module).body, constants, report))


def fuse_siblings(graph: Graph, constants: ConstantReaders, report: Report) -> None:
    """Fuse the ops of a graph that do the same to slices; then take all slices of a tensor by one op where one can."""
    _Fuser(graph, constants, report).run()


class _Fuser:
    """The fusion of siblings in one graph."""

    def __init__(self, graph: Graph, constants: ConstantReaders, report: Report) -> None:
        self.graph = graph
        self.constants = constants
        self.report = report

    def run(self) -> None:
        self.fuse_products()
        while self.fuse_elementwise():
            pass
        self.erase_unread()
        self.split_to_slices()
        self.slices_to_split()

    def fuse_products(self) -> None:
        """Fuse products of one x with constants: x @ a, x @ b -> x @ [a, b]; so are convolutions of one x."""
        groups: dict[tuple, list[Op]] = {}
        for op in self.graph.ops:
            axis = _output_axis(op)
            if axis is not None and self.only_in_products(op):
                x, weights = op.operands
                others = [n for i, n in enumerate(weights.shape) if i != axis % len(weights.shape)]  # type: ignore[union-attr,arg-type]
                key = (x, op.type, axis, attrs_key(op.attrs), tuple(others))
                groups.setdefault(key, []).append(op)
        for (x, _, axis, *_), ops in groups.items():
            if len(ops) > 1:
                data = np.concatenate([op.operands[1].data for op in ops], axis)  # type: ignore[union-attr]
                self.join(ops, [x, constant(data, None, ops[0].operands[1].name)])  # type: ignore[union-attr]

    def only_in_products(self, op: Op) -> bool:
        """Return False if the weights are read as more than weights: a table of embeddings would be written twice."""
        weights = op.operands[1]
        assert weights is not None
        return all(other.type == op.type for other, _ in self.constants.others(weights, op))

    def fuse_elementwise(self) -> bool:
        """Fuse one group of adjacent slices: f(x[:n]), f(x[n:]) -> f(x); return False if there is none that saves ops.
        """
        parts = self.parts()
        groups: dict[tuple, list[tuple[int, Op]]] = {}
        for op in self.graph.ops:
            found = self.fusion_key(op)
            if found is not None:
                groups.setdefault(found[0], []).append((found[1], op))
        for group in groups.values():
            group.sort(key=lambda each: each[0])
            for run in _contiguous_runs(group):
                if len(run) > 1 and _saves(run, parts):
                    self.join(run, [self.fused_operand(run, i) for i in range(len(run[0].operands))])
                    return True
        return False

    def fusion_key(self, op: Op) -> tuple[tuple, int] | None:
        """Return what ops that can be fused have in common, and where this one's slice begins."""
        shape = op.result.shape if len(op.results) == 1 else None
        if op.type not in _ELEMENTWISE or not shape or not isinstance(shape[-1], int) or not is_repeatable(op):
            return None
        begin: int | None = None
        common: list[object] = []
        for operand in op.operands:
            part = None if operand is None else part_of(operand)
            if operand is None:
                return None
            if operand.data is not None:
                if _is_per_channel(operand, shape[-1]):
                    common.append(("vector", len(operand.shape or ())))
                elif operand.data.size == 1:
                    common.append(("scalar", operand.data.tobytes(), operand.shape))
                else:
                    return None
            elif part is not None and operand.shape == shape:
                begin = part.begin if begin is None else begin
                common.append((part.whole, part.begin - begin))
            else:
                return None
        if begin is None:
            return None
        return (op.type, attrs_key(op.attrs), op.result.dtype.name, tuple(common)), begin

    def fused_operand(self, run: list[Op], index: int) -> Value:
        """Return the operand that the fused op has in the place of those of adjacent ops: the numbers of all channels,
        or the slice that covers their slices."""
        first = run[0].operands[index]
        assert first is not None
        if first.data is not None:
            if not _is_per_channel(first, run[0].result.shape[-1]):  # type: ignore[index]
                return first
            return constant(np.concatenate([op.operands[index].data for op in run], -1), first.dtype, first.name)  # type: ignore[union-attr]
        part = part_of(first)
        assert part is not None
        size = sum(op.result.shape[-1] for op in run)  # type: ignore[index,misc]
        if size == part.whole.shape[-1]:  # type: ignore[index]
            return part.whole
        ops: list[Op] = []
        value = _sliced(TfBuilder(ops, run[0]), part.whole, part.begin, int(size))
        self.insert(run, ops)
        return value

    def join(self, run: list[Op], operands: Sequence[Value | None]) -> None:
        """Put one op in the place of several, and slices of its result in the place of theirs: f(a), f(b) ->
        split(f([a, b]))."""
        made: list[Op] = []
        first = run[0]
        tf = TfBuilder(made, first)
        joint = Op(first.kind, operands, dict(first.attrs), first.name, tuple(s for op in run for s in op.sources))
        made.append(joint)
        sizes = [op.result.shape[-1] for op in run]  # type: ignore[index]
        whole = joint.add_result(first.result.dtype, (*first.result.shape[:-1], sum(sizes)))  # type: ignore[index,arg-type]
        begin = 0
        for op, size in zip(run, sizes):
            tf.op = op
            replace_uses(op.result, _sliced(tf, whole, begin, int(size)))  # type: ignore[arg-type]
            begin += int(size)  # type: ignore[arg-type]
        self.insert(run, made)
        for op in run:
            self.graph.ops.remove(op)
            detach(op)

    def insert(self, run: list[Op], ops: list[Op]) -> None:
        """Insert before the first of these ops: what they read is there, since they read slices of the same."""
        at = min(self.graph.ops.index(op) for op in run)
        self.graph.ops[at:at] = ops

    def erase_unread(self) -> None:
        """Erase the slices and splits that nothing reads any more, the last ones first."""
        kept: list[Op] = []
        for op in reversed(self.graph.ops):
            if op.kind in TAKES and not any(result.uses for result in op.results):
                self.report.removed(op, "horizontal-fusion", "what it took apart is used whole, or in larger parts")
                detach(op)
            else:
                kept.append(op)
        self.graph.ops = kept[::-1]

    def split_to_slices(self) -> None:
        """Replace a Split of which not all results are read: split(x)[0] -> x[:n]."""

        def rewrite(op: Op, out: list[Op]) -> list[Value] | None:
            read = [result for result in op.results if result.uses]
            parts = {result: part for result in read if (part := part_of(result)) is not None}
            if len(read) == len(op.results) or len(parts) < len(read):
                return None
            tf = TfBuilder(out, op)
            for result, part in parts.items():
                replace_uses(result, _sliced(tf, part.whole, part.begin, part.size))
            return []

        rewrite_ops(self.graph, ("tf.Split", "tf.SplitV"), rewrite)

    def slices_to_split(self) -> None:
        """Replace equal slices that cover a tensor: x[:n], x[n:] -> split(x, 2). XNNPACK takes that, and no slices that
        differ."""
        for whole, taken in self.parts().items():
            spans = _spans(taken)
            makers = {result.op for result in taken if result.op is not None}
            if len(makers) < 2 or not _are_equal_parts(spans, whole):
                continue
            first = min(makers, key=self.graph.ops.index)
            split = Op("tf.Split", [TfBuilder([], first).ints(-1), whole], {}, first.name, first.sources)
            for begin, size in spans:
                made = split.add_result(whole.dtype, (*whole.shape[:-1], size))  # type: ignore[index]
                for result, part in taken.items():
                    if part.begin == begin:
                        replace_uses(result, made)
            self.graph.ops.insert(self.graph.ops.index(first), split)
        self.erase_unread()

    def parts(self) -> dict[Value, dict[Value, _Slice]]:
        """Return the slices that are taken of the last dimension of each tensor, by the values that they are."""
        parts: dict[Value, dict[Value, _Slice]] = {}
        for op in self.graph.ops:
            for result in op.results if op.kind in TAKES else ():
                part = part_of(result)
                if part is not None:
                    parts.setdefault(part.whole, {})[result] = part
        return parts


def _spans(taken: dict[Value, _Slice]) -> list[tuple[int, int]]:
    """Return where slices of a tensor begin, and their sizes."""
    return sorted({(part.begin, part.size) for part in taken.values()})


def _are_equal_parts(spans: list[tuple[int, int]], whole: Value) -> bool:
    """Return whether slices are what a Split makes of the whole."""
    size = spans[0][1]
    return size > 0 and spans == [(begin, size) for begin in range(0, whole.shape[-1], size)]  # type: ignore[index,arg-type]


def _saves(run: list[Op], parts: dict[Value, dict[Value, _Slice]]) -> bool:
    """Return whether there are fewer ops once adjacent ones are one, and so what is computed of them in turn.

    Their result has to be split. What they read has to be sliced where a Split made equal parts, unless they read all
    of it. So where only some gates of a cell have the same function, one by one they are as fast."""
    more = 1
    for value in run[0].operands:
        part = part_of(value) if value is not None else None
        if part is not None:
            spans = _spans(parts[part.whole])
            before = 1 if _are_equal_parts(spans, part.whole) else len(spans)
            more += (len(spans) - len(run) + 1 if len(spans) > len(run) else 0) - before
    return (len(run) - 1) * _chain_length(run) > more


def _chain_length(run: list[Op]) -> int:
    """Return how many ops follow one another that are the same for all of a run, this one among them."""
    length = 0
    while len({(op.kind, len(op.operands)) for op in run}) == 1 and run[0].type in _ELEMENTWISE:
        length += 1
        readers = [list(op.result.uses) for op in run]
        if any(len(each) != 1 for each in readers):
            break
        run = [each[0] for each in readers]
        if len(set(run)) < len(run):
            break
    return length


def _is_per_channel(value: Value, size: Dim) -> bool:
    """Return whether a constant has one number for each element of the last dimension, of this size."""
    assert value.data is not None
    return bool(value.shape) and value.data.size == value.data.shape[-1] == size


def _output_axis(op: Op) -> int | None:
    """Return the axis of constant weights that the last dimension of the result comes from; None of any other op."""
    if op.kind not in ("tf.MatMul", "tf.Conv2D") or op.result.shape is None:
        return None
    x, weights = op.operands
    if weights is None or weights.data is None or x is None or x.shape is None:
        return None
    if op.kind == "tf.MatMul":
        return None if op.attrs.get("transpose_a") else 0 if op.attrs.get("transpose_b") else 1
    plain = op.attrs.get("data_format", "NHWC") == "NHWC" and x.shape[-1] == weights.data.shape[2]
    return 3 if plain else None


def part_of(value: Value) -> _Slice | None:
    """Return the slice of a tensor's last dimension that a value is; None if it is none."""
    op = op_of(value, TAKES)
    if op is None:
        return None
    whole = op.operands[1 if op.kind == "tf.Split" else 0]
    if whole is None or not whole.shape or not value.shape or len(whole.shape) != len(value.shape):
        return None
    size = value.shape[-1]
    if not isinstance(size, int) or not isinstance(whole.shape[-1], int) or whole.shape[:-1] != value.shape[:-1]:
        return None
    begin = _slice_begin(op, value.index, len(whole.shape))
    return None if begin is None else _Slice(whole, begin, size)


def _slice_begin(op: Op, index: int, rank: int) -> int | None:
    """Return where a result of an op begins in the last dimension; None if the op takes a part of another."""
    if op.kind in ("tf.Split", "tf.SplitV"):
        axis = content_of(op.operands[0 if op.kind == "tf.Split" else 2])
        if axis is None or axis.reshape(-1)[0] not in (-1, rank - 1):
            return None
        sizes = [result.shape[-1] if result.shape else None for result in op.results[:index]]
        return sum(sizes) if all(isinstance(size, int) for size in sizes) else None  # type: ignore[arg-type]
    spec = SliceSpec.of(op)
    takes = spec.takes() if spec is not None else None
    if takes is None or len(takes) != rank or any(take.begin not in (None, 0) for take in takes[:-1]):
        return None
    first = takes[-1].begin or 0
    if not isinstance(first, int):
        return None
    return first if first >= 0 else first + int(op.operands[0].shape[-1])  # type: ignore[union-attr,index,arg-type]


def _sliced(tf: TfBuilder, whole: Value, begin: int, size: int) -> Value:
    """Build the slice of a tensor's last dimension: whole[..., begin : begin + size]."""
    assert whole.shape is not None
    *bounds, masks = SliceSpec((*[WHOLE] * (len(whole.shape) - 1), Take(begin, begin + size))).operands()
    made = tf.StridedSlice(whole, *bounds, **masks)
    made.shape = (*whole.shape[:-1], size)
    return made


def _contiguous_runs(group: list[tuple[int, Op]]) -> Iterator[list[Op]]:
    """Yield the ops whose slices follow one another without a gap."""
    run: list[Op] = []
    end: int | None = None
    for begin, op in group:
        if begin != end and run:
            yield run
            run = []
        run.append(op)
        end = begin + int(op.result.shape[-1])  # type: ignore[index,arg-type]
    if run:
        yield run
