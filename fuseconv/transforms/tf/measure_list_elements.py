"""Measure the elements of lists whose shape nothing states, by the first one.

`tf.map_fn` stacks what a function returns, and TensorFlow refuses elements of several shapes; so all are as large as
what the first step of its loop makes, which can be computed before the loop.
"""

from __future__ import annotations

from typing import NamedTuple

from fuseconv.ir import types
from fuseconv.ir.graph import STATEFUL, FuncRef, Graph, Module, Op, Value, copy_graph, copy_op
from fuseconv.ir.op_slices import backward_slice
from fuseconv.ir.rewriter import add_function, has_kind
from fuseconv.pass_manager import module_pass
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.side_effects import bodies, is_repeatable
from fuseconv.tf.traits import BRANCHES, LOOPS
from fuseconv.transforms.tf.appended_lists import Appends
from fuseconv.transforms.tf.tensor_list_info import NO_SHAPE, TensorList, tensor_lists

_MAKER, _WRITE, _STACK = "tf.TensorListReserve", "tf.TensorListSetItem", "tf.TensorListStack"
_KINDS = frozenset({_MAKER, _WRITE, _STACK, "tf.TensorListLength"})


def has_no_lists(module: Module) -> bool:
    """Return whether no lists are left, nor tensors in their places into which rows are written."""
    return not any(has_kind(graph, {_MAKER, "tf.XlaDynamicUpdateSlice"}) for graph in module.graphs())


@module_pass("measure-list-elements", kinds={_MAKER})
def measure_list_elements(module: Module) -> bool:
    """Take the shape of a list's elements from the first: Reserve(-1, n) -> Reserve(Shape(f(x[0])), n).

    It is filled by a loop, list[i] = f(x[i]), and stacked in the graph that makes it, whatever happens: TensorFlow
    fails if a step wrote nothing, so that the first step is one that runs. Returns whether there was such a list."""
    appends = Appends(module)
    found = [each for each in tensor_lists(module) if not each.settle(appends) and each.why == NO_SHAPE]
    filled = [loop for each in found if (loop := _filled(each, module)) is not None]
    for loop in filled:
        loop.measure(module)
    return bool(filled)


class _Filled(NamedTuple):
    """A list that a loop fills: the op that makes it, the loop in its graph, and what a step writes, in its body."""

    maker: Op
    loop: Op
    graph: Graph
    body: Graph
    item: Value

    def measure(self, module: Module) -> None:
        """Compute the first element before the loop, and make the list of its shape."""
        out: list[Op] = []
        first = dict(zip(self.body.inputs, self.loop.operands))
        needed = backward_slice([self.item])
        for op in self.body.ops:
            if op in needed:
                copy = copy_op(op, [v if v is None else first.get(v, v) for v in op.operands])
                _own_functions(copy, module)
                out.append(copy)
                first.update((result, copy.add_result(result.dtype, None)) for result in op.results)
        element = first.get(self.item, self.item)
        assert element is not None
        self.maker.set_operand(0, TfBuilder(out, self.maker).shape(element))
        self.graph.ops.remove(self.maker)
        at = self.graph.ops.index(self.loop)
        self.graph.ops[at:at] = [*out, self.maker]


def _filled(each: TensorList, module: Module) -> _Filled | None:
    """Return a list that one loop fills, which then is stacked, if a step's element is of a known rank and can be
    computed anywhere; else None."""
    makers, writes, stacks = ([op for op, *_ in each.ops if op.kind == kind] for kind in (_MAKER, _WRITE, _STACK))
    if len(makers) != 1 or len(writes) != 1 or any(op.kind not in _KINDS for op, *_ in each.ops):
        return None
    (maker,), (write,) = makers, writes
    loop = next(iter(maker.result.uses), None)
    graph = next(graph for op, graph, _ in each.ops if op is maker)
    if loop is None or loop.kind not in LOOPS or len(maker.result.uses) != 1 or loop not in graph.ops:
        return None
    variable = loop.operands.index(maker.result)
    body = module.functions[loop.attrs["body"].name]
    item = write.operands[2]
    is_stacked = any(use in stacks for use in loop.results[variable].uses)
    if body.outputs[variable] is not write.result or item is None or item.rank is None or not is_stacked:
        return None
    needed = backward_slice([item])
    if not needed <= set(body.ops) or not all(_may_copy(op, module) for op in needed):
        return None
    return _Filled(maker, loop, graph, body, item)


def _may_copy(op: Op, module: Module) -> bool:
    values = [*op.operands, *op.results]
    if any(value is not None and value.dtype is types.VARIANT for value in values):
        return False
    inside = [inner for graph, _ in bodies(op, module) for inner in graph.ops]
    if not inside:
        return is_repeatable(op)
    return op.kind in BRANCHES and STATEFUL not in op.attrs and all(_may_copy(inner, module) for inner in inside)


def _own_functions(op: Op, module: Module) -> None:
    """Give an op that runs functions copies of them, which no other op runs."""
    for name, value in op.attrs.items():
        if isinstance(value, FuncRef) and value.name in module.functions:
            graph = copy_graph(module.functions[value.name])
            op.attrs[name] = add_function(module, graph)
            for inner in graph.ops:
                _own_functions(inner, module)
