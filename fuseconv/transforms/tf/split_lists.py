"""Lower lists that TensorListSplit makes and that are only read, or joined again: an element is a slice of what was
split.

Parts may have different lengths, so that they cannot be stacked. Where a list goes into a loop or branch, the places at
which its parts begin and end go with it."""

from __future__ import annotations

from collections import Counter

from fuseconv.ir.graph import Graph, Module, Op, Value, replace_uses
from fuseconv.ir.rewriter import erase_ops, rewrite_ops
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.traits import BRANCHES, LOOPS
from fuseconv.transforms.loops.loop_info import LoopForm
from fuseconv.transforms.tf.tensor_list_info import JOINS, TensorList

_SPLIT, _READ, _LENGTH = "tf.TensorListSplit", "tf.TensorListGetItem", "tf.TensorListLength"


def is_split(of: TensorList) -> bool:
    """Return whether a list is made by one split of a tensor whose rank is known, and only read, or joined to that
    tensor again, in that graph and in loops and branches of it."""
    kinds = Counter(op.kind for op, _, _ in of.ops)
    if kinds[_SPLIT] != 1 or not kinds.keys() <= {_SPLIT, _READ, _LENGTH, *JOINS}:
        return False
    split, graph = next((op, graph) for op, graph, _ in of.ops if op.kind == _SPLIT)
    tensor = split.operands[0]
    leaves = any(value in of.values for value in graph.outputs)
    return tensor is not None and bool(tensor.shape) and not leaves


def lower_split_list(of: TensorList, module: Module) -> None:
    """Let the readers of such a list read the tensor: TensorListGetItem(list, i) ->
    tensor[ends[i]:ends[i + 1]]."""
    split, graph = next((op, graph) for op, graph, _ in of.ops if op.kind == _SPLIT)
    tensor, _, lengths = split.operands
    assert tensor is not None and lengths is not None
    made: list[Op] = []
    tf = TfBuilder(made, split)
    ends = tf.ConcatV2([0], tf.Cumsum(tf.as_int32(lengths), 0), 0)
    place = graph.ops.index(split)
    graph.ops[place:place] = made
    _Reads(of, module).hand_in(graph, ends)
    replace_uses(split.result, tensor)
    erase_ops(graph, [split])
    for value in of.values:
        value.dtype, value.shape = tensor.dtype, tensor.shape


class _Reads:
    """The readers of a list, in the graph that makes it and in the bodies that it goes into."""

    def __init__(self, of: TensorList, module: Module) -> None:
        self.values = set(of.values)
        self.module = module

    def hand_in(self, graph: Graph, ends: Value) -> None:
        """Let a graph's readers read parts, which end where `ends` says: 0, the end of the first, and so on."""
        for op in graph.ops:
            if op.kind in LOOPS | BRANCHES and not self.values.isdisjoint({*op.operands, *op.results}):
                for body, inner in self._carried(op, ends):
                    self.hand_in(body, inner)

        def rewrite(op: Op, out: list[Op]) -> list[Value] | None:
            if op.operands[0] not in self.values:
                return None
            tf = TfBuilder(out, op)
            if op.kind in JOINS:
                return _joined(tf, op, ends)
            return [tf.Sub(tf.size(ends), 1) if op.kind == _LENGTH else _part(tf, op, ends)]

        rewrite_ops(graph, {_READ, _LENGTH, *JOINS}, rewrite)

    def _carried(self, op: Op, ends: Value) -> list[tuple[Graph, Value]]:
        """Hand `ends` to the functions of an op; return these, each with what it is there."""
        if op.kind in LOOPS:
            loop = LoopForm(op, self.module)
            return [(loop.body, loop.carry(ends)), (loop.cond, loop.cond.inputs[-1])]
        op.set_operands([*op.operands, ends])
        sides = [self.module.functions[op.attrs[name].name] for name in ("then_branch", "else_branch")]
        return [(side, side.add_input(ends.dtype, ends.shape, ends.name)) for side in dict.fromkeys(sides)]


def _joined(tf: TfBuilder, op: Op, ends: Value) -> list[Value]:
    """Return all parts behind each other, which is what was split, and their lengths. TensorFlow refuses to split a
    tensor into parts that do not make up the whole."""
    tensor = op.operands[0]
    assert tensor is not None
    begins = tf.StridedSlice(ends, [0], [-1], [1], begin_mask=1)
    lengths = tf.Sub(tf.StridedSlice(ends, [1], [0], [1], end_mask=1), begins)
    return [tensor, tf.Cast(lengths, dtype=op.results[1].dtype)]


def _part(tf: TfBuilder, op: Op, ends: Value) -> Value:
    tensor, index, _ = op.operands
    assert tensor is not None and index is not None
    place = tf.Reshape(index, [1])
    begin, end = tf.GatherV2(ends, place, 0), tf.GatherV2(ends, tf.AddV2(place, 1), 0)
    return tf.StridedSlice(tensor, begin, end, [1], dtype=op.result.dtype)
