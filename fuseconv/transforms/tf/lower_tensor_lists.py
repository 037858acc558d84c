"""Lower TensorLists to tensors: TFLite has no lists, so the tensor of its elements, stacked on axis 0, stands for one.
"""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.ir.dims import fresh
from fuseconv.ir.graph import Graph, Module, Op, Rejection, Value, copy_op
from fuseconv.ir.rewriter import rewrite_ops
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.reify_dims import DimReifier
from fuseconv.tf.tensor_list_rules import FORMS, like_rows, resized, zero
from fuseconv.transforms.tf.appended_lists import Appends
from fuseconv.transforms.tf.split_lists import is_split, lower_split_list
from fuseconv.transforms.tf.tensor_list_info import (
    MAKERS,
    MIXED,
    TensorList,
    has_variants,
    tensor_lists,
    values_before,
)  # fmt: skip

# Of the op that an element of a list is written with, until it is known to be as large as the others: where TensorFlow
# takes elements of any size, and where it refuses one that is of another, as it stacks them or was told their shape.
_UNCOVERED = Rejection(MIXED)
UNSURE = Rejection("the size of an element that is written into the list is not known to be that of the others")
_UPDATE = "tf.XlaDynamicUpdateSlice"


@module_pass("lower-tensor-lists")
def lower_tensor_lists(module: Module, report: Report) -> bool:
    """Replace lists by the tensors of their elements, stacked: TensorListGetItem(list, i) -> tensor[i].

    This takes the lists whose element shape is known, through loops and branches; canonicalization may then tell the
    shapes of more. Returns whether there were any.

    The elements of a list must have one shape; where the model does not state it, it is that of what is written. Or
    they are appended, and concatenated in the end: such a list becomes what there is of its concatenation:
    TensorListSetItem(list, i, x) -> ConcatV2(tensor, x). Or they are parts of a tensor, and only read. Lists that
    cannot be a tensor stay, with the reason as the rejection of their ops."""
    if has_variants(module):
        _split_empty_lists(module)
        found = tensor_lists(module)
        appends = Appends(module)
        ready = [each for each in found if each.settle(appends)] or [each for each in found if each.grow(appends)]
        if ready:
            # Once the others are tensors, what sizes are pushed may turn out to be the same in each step.
            first = [each for each in ready if not (each.is_stack() and each.dtype in (types.INT32, types.INT64))]
            _replace_lists(module, first or ready, report)
            return True
        parted = [each for each in found if is_split(each)]
        for each in parted:
            lower_split_list(each, module)
        if parted:
            return True
        for each in found:
            for op, _, _ in each.ops:
                if op.rejection is None or not op.rejection.hopeless:
                    op.rejection = Rejection(each.why)
    settled = [_settle_rows(graph) for graph in module.graphs()]
    return any(settled)


def _settle_rows(graph: Graph) -> bool:
    """Accept the rows that are as large as the others; reshape one that can only be so large. Return whether there was
    one to reshape.

    If it is not so large, TensorFlow does not stack the list, and RESHAPE refuses its number of elements."""

    def settle(op: Op, out: list[Op]) -> None:
        if op.rejection not in (_UNCOVERED, UNSURE):
            return
        x, row = op.operands[:2]
        assert x is not None and row is not None
        differing = _differing(x, row)
        if differing == 0:
            op.rejection = None
        elif differing == 1 and op.rejection == UNSURE:
            op.set_operand(1, like_rows(TfBuilder(out, op), x, row))
            op.rejection = None
            reshaped.append(op)

    reshaped: list[Op] = []
    rewrite_ops(graph, {_UPDATE}, settle)
    return bool(reshaped)


def _split_empty_lists(module: Module) -> None:
    """Give each reader of an empty list one of its own, right before the reader. What they write into it may have
    different shapes, and the later it is made, the more sizes are known there."""
    for graph in module.graphs():
        makers = {op.result: op for op in graph.ops if op.kind in MAKERS and op.result.uses}
        ops, graph.ops = graph.ops, []
        taken: set[Value] = set()
        for op in ops:
            for index, value in enumerate(op.operands):
                maker = None if value is None else makers.get(value)
                if value is None or maker is None:
                    continue
                if value in taken:
                    maker = copy_op(maker, maker.operands)
                    op.set_operand(index, maker.add_result(value.dtype, value.shape))
                taken.add(value)
                graph.ops.append(maker)
            if op.kind not in MAKERS or op.result not in makers:
                graph.ops.append(op)


def _differing(x: Value, row: Value) -> int | None:
    """Return how many sizes of a row, behind its first, may differ from those of the rows that are there; None if one
    does for sure, or their number is not known."""
    if x.shape is None or row.shape is None or len(x.shape) != len(row.shape):
        return None
    pairs = [(a, b) for a, b in zip(x.shape[1:], row.shape[1:]) if a != b]
    return None if any(isinstance(a, int) and isinstance(b, int) for a, b in pairs) else len(pairs)


def _replace_lists(module: Module, lists: list[TensorList], report: Report) -> None:
    """Give the values of lists the types and shapes of tensors, and replace the ops on them."""
    list_of = {op: each for each in lists for op, _, _ in each.ops}
    for each in lists:
        assert each.dtype is not None
        for value in each.values:
            value.dtype = each.dtype
            if each.form != "stacked" and each.element is not None:
                value.shape = (fresh("rows"), *(fresh("row") if dim in each.open else dim for dim in each.element))
            elif each.element is not None:
                value.shape = (fresh("count") if value.shape is None else value.shape[0], *each.element)
    kinds = {op.kind for op in list_of}
    for graph in module.graphs():

        def rewrite(op: Op, out: list[Op], graph: Graph = graph) -> list[Value] | None:
            if op not in list_of:
                return None
            count = len(out)
            results = _lowered(TfBuilder(out, op), op, list_of[op], graph)
            if len(out) == count:
                report.removed(op, "lower-tensor-lists", "the list is a tensor")
            return results

        rewrite_ops(graph, kinds, rewrite)


def _lowered(tf: TfBuilder, op: Op, of: TensorList, graph: Graph) -> list[Value]:
    """Build what an op on a list makes of its tensor: TensorListReserve -> Fill, others by the list's form."""
    assert of.element is not None and of.dtype is not None
    if op.kind in MAKERS:
        index = MAKERS[op.kind]
        count = tf.ints(0) if index is None or of.form != "stacked" else op.operands[index]
        sizes = DimReifier(values_before(graph, len(graph.ops)))
        known = [0 if dim in of.open else dim for dim in of.element]
        dims = [tf.ints(dim) if isinstance(dim, int) else sizes.build(tf, dim) for dim in known]
        shape = tf.add("Pack", [count, *dims], {}, types.INT32)
        return [tf.Fill(shape, zero(of.dtype), dtype=of.dtype)]
    made = FORMS[of.form][op.type](tf, op, len(of.element), *op.operands)
    if op.kind == "tf.TensorListSetItem" and of.form == "stacked":
        tf.out[-1].rejection = UNSURE if of.uniform else _UNCOVERED
    if isinstance(made, Value) and op.kind == "tf.TensorListStack" and of.count:
        made = resized(tf, made, tf.ints(of.count))
    return [made] if isinstance(made, Value) else list(made)
