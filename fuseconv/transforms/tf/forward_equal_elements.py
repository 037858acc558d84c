"""Read what all elements of a TensorList are off the op that writes them.

Gradients of loops put onto lists what each step of the loop computed, for the steps of a second loop to take from them
in reverse. Part of that is the same in each step: sizes, constants, and what comes from outside the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fuseconv.ir.dims import Sym
from fuseconv.ir.graph import Graph, Module, Op, Value, constant, replace_uses
from fuseconv.ir.rewriter import ops_of_kinds
from fuseconv.pass_manager import module_pass
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.operands import content_of
from fuseconv.tf.reify_dims import DimReifier
from fuseconv.tf.traits import LOOPS
from fuseconv.transforms.loops.loop_info import LoopForm
from fuseconv.transforms.tf.tensor_list_info import TensorList, tensor_lists, values_before

_POP, _PUSH = "tf.TensorListPopBack", "tf.TensorListPushBack"


class _Loop(NamedTuple):
    """A loop of a signature's graph, and where it stands there."""

    form: LoopForm
    graph: Graph
    place: int


# Makes the element that a pop of this loop takes; None if it cannot be made there.
_Source = Callable[[_Loop], Value | None]


@module_pass("forward-equal-elements", kinds={_POP})
def forward_equal_elements(module: Module) -> None:
    """Read what was pushed in each step alike: PopBack(PushBack(list, [2, n])) -> [2, n], for pops in loops of
    signatures.

    TensorFlow fails where a list that is popped has no element. Sizes and values from outside the loops are carried
    through the one that pops."""
    loops: dict[Graph, _Loop] = {}
    for signature in module.signatures:
        for place, op in enumerate(signature.graph.ops):
            if op.kind in LOOPS:
                form = LoopForm(op, module)
                loops[form.body] = _Loop(form, signature.graph, place)
    if not any(ops_of_kinds(body, {_POP}) for body in loops):
        return
    # The last loops come first, as what is built before a loop moves those behind it.
    pops: list[tuple[_Loop, Op, _Source]] = []
    for each in tensor_lists(module):
        source = _source(each, loops)
        if source is not None:
            taken = [(loops[graph], op, source) for op, graph, _ in each.ops if op.kind == _POP and graph in loops]
            pops += [pop for pop in taken if pop[1].results[1].uses]
    for loop, op, source in sorted(pops, key=lambda pop: -pop[0].place):
        element = source(loop)
        if element is not None:
            replace_uses(op.results[1], element if element.is_const else loop.form.carry(element))


def _source(each: TensorList, loops: dict[Graph, _Loop]) -> _Source | None:
    """Return what makes the elements of a list anew, if all are equal; None if they are not known to be."""
    if not each.is_stack():
        return None
    pushed = [(op.operands[1], graph) for op, graph, _ in each.ops if op.kind == _PUSH]
    if not pushed or any(value is None for value, _ in pushed):
        return None
    return _constant(pushed) or _sizes(pushed) or _outside(pushed, loops)  # type: ignore[arg-type]


def _constant(pushed: list[tuple[Value, Graph]]) -> _Source | None:
    first = pushed[0][0]
    if first.data is None or not all(value.data is first.data for value, _ in pushed[1:]):
        return None
    return lambda loop: constant(first.data, first.dtype, first.name)  # type: ignore[arg-type]


def _sizes(pushed: list[tuple[Value, Graph]]) -> _Source | None:
    """Return what computes sizes before the loop, from what is known there."""
    known = [content_of(value) for value, _ in pushed]
    first, dtype, name = known[0], pushed[0][0].dtype, pushed[0][0].name
    if first is None or first.ndim > 1 or not dtype.is_integer:
        return None
    if not all(array is not None and np.array_equal(array, first) for array in known[1:]):
        return None
    if not any(isinstance(size, Sym) for size in first.flat):
        return lambda loop: constant(first.astype(dtype.numpy), dtype, name)

    def build(loop: _Loop) -> Value | None:
        dims = DimReifier(values_before(loop.graph, loop.place))
        if not all(dims.knows(size) for size in first.flat):
            return None
        out: list[Op] = []
        tf = TfBuilder(out, loop.form.op)
        sizes = [dims.build(tf, size) for size in first.flat]
        made = tf.Cast(tf.Pack(*sizes) if first.ndim else sizes[0], dtype=dtype)
        loop.graph.ops[loop.place : loop.place] = out
        return made

    return build


def _outside(pushed: list[tuple[Value, Graph]], loops: dict[Graph, _Loop]) -> _Source | None:
    """Return what hands on a value from outside the loop that pushes it, which no step changes."""
    origins = {loops[graph].form.outside(value) if graph in loops else None for value, graph in pushed}
    (origin,) = origins if len(origins) == 1 else (None,)
    if origin is None or origin.dtype.is_handle:
        return None
    graphs = {loops[graph].graph for _, graph in pushed}
    return lambda loop: origin if graphs == {loop.graph} else None
