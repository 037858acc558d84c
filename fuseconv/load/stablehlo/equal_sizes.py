"""Let sizes of a signature's inputs be one where the modules that it runs want them equal.

    x [x.0, 3], y [y.0, 4], of which both go to a module of "b, 3" and "b, 4"  ->  x [x.0, 3], y [x.0, 4]

A SavedModel says None of either, and the module asserts that they are equal: an export of JAX alone tells it by one
symbol. Without it, what is made of both has the size of whichever is larger, and shapes are computed twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fuseconv.ir.dims import Dim, Sym, substitute_dim, symbol
from fuseconv.ir.graph import Graph, Module, Op, Value
from fuseconv.tf.side_effects import bodies
from fuseconv.tf.traits import CALLS, FORWARDS


def equate_sizes(calls: Mapping[Op, Graph], module: Module) -> None:
    """Equate sizes of inputs that are equal symbols where they are arguments of these calls. calls: of modules' `main`,
    and the graphs that they stand in."""
    callers = _only_callers(module)
    signatures = {signature.graph: signature.graph.inputs for signature in module.signatures}
    for op, graph in calls.items():
        arguments = module.functions[op.attrs["f"].name].inputs
        given, place = [*op.operands], graph
        seen = {graph}
        while place not in signatures and place in callers and callers[place][1] not in seen:
            caller, outer = callers[place]
            given = [_handed(value, place, caller) for value in given]
            place = outer
            seen.add(place)
        if place in signatures and any(result.uses for result in op.results):
            _equate(arguments, [_forwarded(value) for value in given], signatures[place])


def _only_callers(module: Module) -> dict[Graph, tuple[Op, Graph]]:
    """Return the call of each function that is called once, whatever is decided by data, and the graph it stands in."""
    found: dict[Graph, list[tuple[Op, Graph]]] = {}
    for graph in module.graphs():
        for op in graph.ops:
            for body, _ in bodies(op, module):
                found.setdefault(body, []).append((op, graph))
    return {body: each[0] for body, each in found.items() if len(each) == 1 and each[0][0].kind in CALLS}


def _forwarded(value: Value | None) -> Value | None:
    while value is not None and value.op is not None and value.op.kind in FORWARDS:
        value = value.op.operands[value.index]
    return value


def _handed(value: Value | None, graph: Graph, caller: Op) -> Value | None:
    """Return what a caller hands to a function for a value of it; None if that is no argument."""
    value = _forwarded(value)
    return caller.operands[graph.inputs.index(value)] if value in graph.inputs else None


def _equate(arguments: Sequence[Value], given: Sequence[Value | None], inputs: Sequence[Value]) -> None:
    """Name sizes of the module's arguments that are equal by equal symbols. given: for each what it comes from."""
    first: dict[Dim, Dim] = {}
    same: dict[str, Dim] = {}
    for argument, value in zip(arguments, given):
        if value not in inputs or value is None or argument.shape is None or value.shape is None:
            continue
        for wanted, dim in zip(argument.shape, value.shape):
            names = [*dim.symbols()] if isinstance(dim, Sym) else []
            if isinstance(wanted, Sym) and len(names) == 1 and dim == symbol(names[0]):
                kept = first.setdefault(wanted, dim)
                if kept != dim:
                    same[names[0]] = kept
    for value in inputs if same else ():
        value.shape = value.shape and tuple(substitute_dim(dim, same) for dim in value.shape)
