"""Decompose TensorArrays of TF1 -> TensorLists, which they are but for a handle beside the value that orders their
use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fuseconv.ir import types
from fuseconv.ir.dims import Sym
from fuseconv.ir.graph import Module, Op, Value, replace_uses
from fuseconv.ir.rewriter import rewrite_ops
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.side_effects import bodies, callers
from fuseconv.tf.traits import FORWARDS

_MAKER = "tf.TensorArrayV3"
# Makes an op's result from the builder, the op and its operands (flows are lists now).
Rewrite = Callable[..., Value]


@module_pass("decompose-tensor-arrays", kinds=(_MAKER,))
def decompose_tensor_arrays(module: Module, report: Report) -> None:
    """Replace TensorArrays by lists: TensorArrayWriteV3(handle, i, x, flow) -> TensorListSetItem(flow, i, x).

    Requires functional control flow.

    The flow, a float that stands for the array's state, becomes the list; the handle is left without readers."""
    flows = _flows(module)
    if not flows:
        return
    grows = {op: flows[value] for value in flows for op in value.uses if op.kind in _REWRITES}
    for value in flows:
        value.dtype = types.VARIANT
        value.shape = None

    def rewrite(op: Op, out: list[Op]) -> list[Value] | None:
        tf = TfBuilder(out, op)
        if op.kind == _MAKER:
            replace_uses(op.results[1], _reserve(tf, op))
        elif op.kind == _CLOSE:
            report.removed(op, "decompose-tensor-arrays", "a list needs no closing")
            return []
        elif op in grows:
            return [_REWRITES[op.kind](tf, op, grows[op], *op.operands[1:])]
        return None

    for graph in module.graphs():
        rewrite_ops(graph, {_MAKER, _CLOSE, *_REWRITES}, rewrite)


def _flows(module: Module) -> dict[Value, bool]:
    """Return the flows of arrays, through loops, branches and calls, and whether one of their arrays grows when
    written."""
    found: dict[Value, bool] = {}
    pending: list[Value] = []

    def add(value: Value, grows: bool) -> None:
        if value not in found or (grows and not found[value]):
            found[value] = grows
            pending.append(value)

    for graph in module.graphs():
        for op in graph.ops:
            if op.kind == _MAKER:
                add(op.results[1], bool(op.attrs.get("dynamic_size")))
    runners = callers(module)
    while pending:
        value = pending.pop()
        for reader in value.uses:
            for index, operand in enumerate(reader.operands):
                if operand is not value:
                    continue
                if reader in runners and len(reader.operands) == len(runners[reader].results):
                    add(runners[reader].results[index], found[value])
                elif reader.kind in FORWARDS:
                    add(reader.results[index], found[value])
                elif reader.kind in _HANDS_ON:
                    add(reader.result, found[value])
                for body, offset in bodies(reader, module):
                    if index >= offset:
                        add(body.inputs[index - offset], found[value])
    return found


def _shape(tf: TfBuilder, shape: Sequence[Any] | None) -> Value:
    """Return the operand that states the shape of an element."""
    if shape is None:
        return tf.ints(-1)
    return tf.ints([-1 if dim is None or isinstance(dim, Sym) else dim for dim in shape])


def _reserve(tf: TfBuilder, op: Op) -> Value:
    operands = [_shape(tf, op.attrs.get("element_shape")), op.operands[0]]
    return tf.add("TensorListReserve", operands, {"element_dtype": op.attrs["dtype"]}, types.VARIANT)


def _write(tf: TfBuilder, op: Op, grows: bool, index: Value, item: Value, flow: Value) -> Value:
    attrs = {"resize_if_index_out_of_bounds": True} if grows else {}
    return tf.TensorListSetItem(flow, index, item, **attrs)


def _read(tf: TfBuilder, op: Op, grows: bool, index: Value, flow: Value) -> Value:
    return tf.TensorListGetItem(flow, index, tf.ints(-1), dtype=op.result.dtype)


def _gather(tf: TfBuilder, op: Op, grows: bool, indices: Value, flow: Value) -> Value:
    return tf.TensorListGather(flow, indices, _shape(tf, op.attrs.get("element_shape")), dtype=op.result.dtype)


def _scatter(tf: TfBuilder, op: Op, grows: bool, indices: Value, tensor: Value, flow: Value) -> Value:
    if grows:
        length = tf.TensorListLength(flow, dtype=types.INT32)
        flow = tf.TensorListResize(flow, tf.Maximum(length, tf.AddV2(tf.Max(indices, [0]), 1)))
    return tf.TensorListScatterIntoExistingList(flow, tensor, indices)


def _size(tf: TfBuilder, op: Op, grows: bool, flow: Value) -> Value:
    return tf.TensorListLength(flow, dtype=types.INT32)


def _split(tf: TfBuilder, op: Op, grows: bool, tensor: Value, lengths: Value, flow: Value) -> Value:
    return tf.TensorListSplit(tensor, tf.ints(-1), lengths, dtype=types.VARIANT)


def _concat(tf: TfBuilder, op: Op, grows: bool, flow: Value) -> Value:
    rest = op.attrs.get("element_shape_except0")
    shape = _shape(tf, None if rest is None else [None, *rest])
    joined = tf.TensorListConcatV2(flow, shape, tf.Cast(tf.ints([]), dtype=types.INT64), dtype=op.result.dtype)
    assert joined.op is not None
    replace_uses(op.results[1], joined.op.add_result(types.INT64, None))
    return joined


_CLOSE = "tf.TensorArrayCloseV3"
_REWRITES: dict[str, Rewrite] = {
    "tf.TensorArrayConcatV3": _concat,
    "tf.TensorArrayGatherV3": _gather,
    "tf.TensorArrayReadV3": _read,
    "tf.TensorArrayScatterV3": _scatter,
    "tf.TensorArraySizeV3": _size,
    "tf.TensorArraySplitV3": _split,
    "tf.TensorArrayWriteV3": _write,
}
# Those whose result is a flow again.
_HANDS_ON = frozenset({"tf.TensorArrayWriteV3", "tf.TensorArrayScatterV3", "tf.TensorArraySplitV3"})
