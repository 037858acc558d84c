"""Decompose lists of the rows of a ragged tensor, which `tf.map_fn` takes them from and writes them into.

TensorFlow wraps each row into a scalar of the type variant. What is taken are parts of a tensor; what is written is a
list of rows, and beside it one of their lengths, which becomes the row splits."""

from __future__ import annotations

from collections import Counter

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Op, Value, constant
from fuseconv.ir.rewriter import replace_op, rewrite_ops
from fuseconv.ir.terms import op_of
from fuseconv.pass_manager import module_pass
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.traits import FORWARDS, LOOPS
from fuseconv.transforms.loops.loop_info import LoopForm
from fuseconv.transforms.tf.tensor_list_info import TensorList, tensor_lists

_WRAP, _UNWRAP = "tf.RaggedTensorToVariant", "tf.RaggedTensorFromVariant"
_UNSTACK, _READ = "tf.TensorListFromTensor", "tf.TensorListGetItem"
_SHAPE = "tf.Shape"  # of the rows, by which a loop counts its steps
_MAKE, _WRITE, _STACK = "tf.TensorListReserve", "tf.TensorListSetItem", "tf.TensorListStack"
_LENGTHS = {"element_dtype": types.INT32}


@module_pass("decompose-ragged-rows", kinds=(_WRAP,))
def decompose_ragged_rows(module: Module) -> None:
    """Let loops read parts of a tensor and write rows of one: ragged[i] -> x[splits[i]:splits[i + 1]].

    TensorListGetItem(TensorListFromTensor(RaggedTensorToVariant(splits, x)), i) -> x[splits[i]:splits[i + 1]]
    RaggedTensorFromVariant(TensorListStack(list of rows)) -> splits of the rows' lengths, TensorListConcatV2(list)

    Requires functional control flow. What has another form stays."""
    for each in tensor_lists(module):
        graphs = {op: graph for op, graph, _ in each.ops}
        if not any(op.kind in (_WRAP, _UNWRAP) for op in graphs):
            continue
        if _is_taken_apart(each):
            _take_apart(graphs)
        elif _is_put_together(each, module):
            _put_together(graphs, module)


def _is_taken_apart(of: TensorList) -> bool:
    """Return whether a list holds the dense rows of one ragged tensor, and is only read."""
    kinds = Counter(op.kind for op, _, _ in of.ops)
    if kinds[_WRAP] != 1 or kinds[_UNSTACK] != 1 or not kinds.keys() <= {_WRAP, _SHAPE, _UNSTACK, _READ, _UNWRAP}:
        return False
    (wrap,) = (op for op, _, _ in of.ops if op.kind == _WRAP)
    reads = [op for op, _, _ in of.ops if op.kind == _READ]
    return (
        wrap.attrs["batched_input"]
        and len(wrap.operands) == 2
        and all(use.kind in (_SHAPE, _UNSTACK) for use in wrap.result.uses)
        and all(use.kind == _UNWRAP for op in reads for use in op.result.uses)
        and all(_result_dtypes(op) == (wrap.operands[-1].dtype,) for op, _, _ in of.ops if op.kind == _UNWRAP)  # type: ignore[union-attr]
    )


def _result_dtypes(op: Op) -> tuple[types.DType, ...]:
    return tuple(result.dtype for result in op.results)


def _take_apart(graphs: dict[Op, Graph]) -> None:
    """Split the values by the lengths of the rows -> TensorListSplit(x, lengths)."""
    (wrap,) = (op for op in graphs if op.kind == _WRAP)
    splits, values = wrap.operands
    assert splits is not None and values is not None

    def rewrite(op: Op, out: list[Op]) -> list[Value] | None:
        tf = TfBuilder(out, op)
        if op not in graphs:
            return None
        if op.kind == _SHAPE:
            return [tf.Cast(tf.Sub(tf.shape(splits), [1]), dtype=op.result.dtype)]
        if op.kind == _UNSTACK:
            starts = tf.StridedSlice(splits, [0], [-1], [1], begin_mask=1)
            ends = tf.StridedSlice(splits, [1], [0], [1], end_mask=1)
            split = [values, tf.ints(-1), tf.Cast(tf.Sub(ends, starts), dtype=types.INT64)]
            return [tf.add("TensorListSplit", split, {"element_dtype": values.dtype}, types.VARIANT)]
        if op.kind == _READ:
            op.set_operand(2, tf.ints(-1))
            op.attrs["element_dtype"] = op.result.dtype = values.dtype
            op.result.shape = None
            return None
        (row,) = op.operands
        assert row is not None
        return [row]

    for graph in dict.fromkeys(graphs.values()):
        rewrite_ops(graph, {_SHAPE, _UNSTACK, _READ, _UNWRAP}, rewrite)


def _is_put_together(of: TensorList, module: Module) -> bool:
    """Return whether a list is made of dense rows by loops, and stacked to one ragged tensor."""
    ops = [op for op, _, _ in of.ops]
    kinds = Counter(op.kind for op in ops)
    if kinds[_MAKE] != 1 or kinds[_STACK] != 1 or not kinds.keys() <= {_MAKE, _WRITE, _STACK, _WRAP, _UNWRAP}:
        return False
    wraps, writes, stacks = ([op for op in ops if op.kind == kind] for kind in (_WRAP, _WRITE, _STACK))
    ends = {graph.name for op, graph, _ in of.ops if op.kind in (_MAKE, _STACK, _UNWRAP)}
    rows = [op.operands[-1] for op in wraps if len(op.operands) == 1]
    dtypes = {row.dtype for row in rows if row is not None and row.rank != 0}
    return (
        len(ends) == len(dtypes) == 1
        and len(rows) == len(wraps)
        and all(row is not None and row.rank != 0 for row in rows)
        and all(_writes_row(op) for op in writes)
        and all(use.kind == _WRITE for op in wraps for use in op.result.uses)
        and all(use.kind == _UNWRAP for op in stacks for use in op.result.uses)
        and all(_result_dtypes(op)[1:] == (*dtypes,) for op in ops if op.kind == _UNWRAP)
        and _goes_through_loops(of, module)
    )


def _writes_row(write: Op) -> bool:
    item = write.operands[2]
    return op_of(item, _WRAP) is not None


def _goes_through_loops(of: TensorList, module: Module) -> bool:
    """Return whether a list is handed to nothing but loops, and comes from nowhere else."""
    own = set(of.values)
    idle = FORWARDS | {op.kind for op, _, _ in of.ops}
    ops = [op for graph in module.graphs() for op in graph.ops if op.kind not in idle]
    carriers = [op for op in ops if not own.isdisjoint({*op.operands, *op.results})]  # type: ignore[arg-type]
    outer = {value for signature in module.signatures for value in (*signature.graph.inputs, *signature.graph.outputs)}
    return own.isdisjoint(outer) and all(op.kind in LOOPS for op in carriers)


def _put_together(graphs: dict[Op, Graph], module: Module) -> None:
    """Join the rows -> TensorListConcatV2, and make the row splits of a second list, that of their lengths."""
    rows = _Rows(module, set(graphs))
    rows.walk(next(graph for op, graph in graphs.items() if op.kind == _MAKE))


class _Rows:
    """The values that are a list of rows. lengths: for each the list of the rows' lengths that goes with it."""

    def __init__(self, module: Module, ops: set[Op]) -> None:
        self.module = module
        self.ops = ops
        self.dtype = next(op.operands[0].dtype for op in ops if op.kind == _WRAP)  # type: ignore[union-attr]
        self.lengths: dict[Value, Value] = {}

    def walk(self, graph: Graph) -> None:
        """Make the list of lengths beside each list of rows of a graph and of its loops, in the order of the ops."""
        ops, graph.ops = graph.ops, []
        for op in ops:
            tf = TfBuilder(graph.ops, op)
            if op.kind in FORWARDS:
                self.lengths |= {y: self.lengths[x] for x, y in zip(op.operands, op.results) if x in self.lengths}
            elif op.kind in LOOPS:
                self._carry(LoopForm(op, self.module))
            elif op in self.ops and op.kind == _UNWRAP:
                self._unwrap(tf, op)
                continue
            elif op in self.ops and op.kind in (_MAKE, _WRITE):
                self._add_length(tf, op)
            graph.ops.append(op)

    def _carry(self, loop: LoopForm) -> None:
        lists = [i for i, value in enumerate(loop.op.operands) if value in self.lengths]
        for i in lists:
            self.lengths[loop.body.inputs[i]] = loop.carry(self.lengths[loop.op.operands[i]])  # type: ignore[index]
            self.lengths[loop.op.results[i]] = loop.op.results[-1]
        if lists:
            self.walk(loop.body)
            kept = loop.body.outputs[: -len(lists)]
            loop.body.outputs = [*kept, *(self.lengths[kept[i]] for i in lists)]

    def _add_length(self, tf: TfBuilder, op: Op) -> None:
        """Make or write the list of lengths as the list of rows is, which takes rows of any length."""
        if op.kind == _MAKE:
            lengths = tf.add("TensorListReserve", [tf.ints([]), op.operands[1]], _LENGTHS, types.VARIANT)
            op.set_operand(0, tf.ints(-1))
            op.result.shape = None
        else:
            held, index, item = op.operands
            assert held is not None and item is not None and item.op is not None
            (row,) = item.op.operands
            assert row is not None
            wrote = [self.lengths[held], index, tf.size(row)]
            lengths = tf.add("TensorListSetItem", wrote, _LENGTHS, types.VARIANT)
            op.set_operand(2, row)
        op.attrs["element_dtype"] = self.dtype
        self.lengths[op.result] = lengths

    def _unwrap(self, tf: TfBuilder, op: Op) -> None:
        """Make the parts of the ragged tensor in the place of what takes them from the stack."""
        stack = op.operands[0]
        rows = stack.op.operands[0]  # type: ignore[union-attr]
        lengths = tf.add("TensorListStack", [self.lengths[rows], tf.ints([])], _LENGTHS, types.INT32)  # type: ignore[index]
        ends = tf.ConcatV2([0], tf.Cumsum(lengths, 0), 0)
        none = constant(np.zeros(0, np.int64), types.INT64, op.name)
        attrs = {"element_dtype": self.dtype, "shape_type": types.INT32}
        joined = tf.add("TensorListConcatV2", [rows, tf.ints(-1), none], attrs, self.dtype)
        joined.op.add_result(types.INT64, None)  # type: ignore[union-attr]
        replace_op(op, [tf.Cast(ends, dtype=op.results[0].dtype), joined])
