"""Loops and branches -> StatelessWhile, StatelessIf, StatelessCase, whose functions take what their regions capture."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from fuseconv.ir import types
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Graph, Value
from fuseconv.load.stablehlo.bytecode import Operation, Region, Var
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.ops.registry import imports
from fuseconv.load.stablehlo.scope import Scope, refuse_unless, symbolic, tensor_type

# Loops of so few steps are written out.
_FEW = 4


@imports("while")
def while_loop(tf: Scope, op: Operation, *operands: Value) -> list[Value]:
    """while(x) cond, body -> StatelessWhile(x, what both capture)."""
    if len(op.regions) != 2:
        raise DamagedError("a loop has no condition or no body")
    captured = _captured(tf, op.regions)
    cond, body = (
        _function(tf, region, captured, what) for region, what in zip(op.regions, ("condition", "body"))
    )
    if len(body.outputs) != len(operands) or len(cond.outputs) != 1:
        raise DamagedError("a loop's body does not make what the loop carries")
    body.outputs = [*body.outputs, *body.inputs[len(operands) :]]
    attrs = {"cond": tf.functions.add(cond), "body": tf.functions.add(body)}
    carried = [*operands, *(tf.value(var) for var in captured)]
    made = tf.many("StatelessWhile", carried, attrs, carried)
    return made[: len(operands)]


def repeat(
    tf: Scope, count: int | Value, once: Callable[..., Sequence[Value]], carried: Sequence[Value],
    shapes: Sequence[Shape],
) -> list[Value]:  # fmt: skip
    """Build a loop that runs `once` for 0, 1, ... up to `count`, which it gets before what is carried; shapes: of
    that."""
    if isinstance(count, int) and count <= _FEW:
        for number in range(count):
            carried = once(tf, tf.const(number), *carried)
        return list(carried)
    held = [tf.const(0), count if isinstance(count, Value) else tf.const(count), *carried]
    scopes = []
    for what in ("condition", "body"):
        graph = Graph(tf.functions.unique(f"{tf.op.name}/{what}"))
        for place, (value, shape) in enumerate(zip(held, [(), (), *shapes])):
            graph.add_input(value.dtype, shape, f"{what}_{place}")
        scopes.append(Scope(graph, tf.functions, tf))
        scopes[-1].op = tf.op
    cond, body = scopes
    cond.graph.outputs = [cond.Less(*cond.graph.inputs[:2], dtype=types.BOOL)]
    step, limit, *values = body.graph.inputs
    made = once(body, step, *values)
    body.graph.outputs = [body.AddV2(step, body.const(1)), limit, *made]
    attrs = {"cond": tf.functions.add(cond.graph), "body": tf.functions.add(body.graph)}
    return tf.many("StatelessWhile", held, attrs, held)[2:]


@imports("if")
def if_branches(tf: Scope, op: Operation, condition: Value) -> list[Value]:
    if len(op.regions) != 2:
        raise DamagedError("a branch has no two sides")
    captured = _captured(tf, op.regions)
    first, second = (_function(tf, region, captured, what) for region, what in zip(op.regions, ("then", "else")))
    attrs = {"then_branch": tf.functions.add(first), "else_branch": tf.functions.add(second)}
    return _branched(tf, "StatelessIf", op, condition, captured, attrs, [first, second])


@imports("case")
def case_branches(tf: Scope, op: Operation, index: Value) -> list[Value]:
    """case(index) branches -> StatelessCase; an index of no branch runs the last one, in either. The ops of a branch
    stand for it where the platform decides."""
    refuse_unless(op.regions, "it has no branch")
    taken = tf.functions.branches.get(op)
    if taken is not None:
        return tf.functions.inline(tf, taken, {var: tf.value(var) for var in read_outside(taken)})
    captured = _captured(tf, op.regions)
    graphs = [_function(tf, region, captured, f"branch_{place}") for place, region in enumerate(op.regions)]
    attrs = {"branches": [tf.functions.add(graph) for graph in graphs]}
    return _branched(tf, "StatelessCase", op, index, captured, attrs, graphs)


def _branched(
    tf: Scope, kind: str, op: Operation, index: Value, captured: list[Var], attrs: dict, graphs: Sequence[Graph]
) -> list[Value]:
    types = [[value.dtype for value in graph.outputs] for graph in graphs]
    if any(each != types[0] for each in types) or len(types[0]) != len(op.results):
        raise DamagedError("branches make different results")
    return tf.many(kind, [index, *(tf.value(var) for var in captured)], attrs, graphs[0].outputs)


def _function(tf: Scope, region: Region, captured: Iterable[Var], what: str) -> Graph:
    """Return the graph of a region: its inputs are the region's arguments, then what is captured."""
    graph = Graph(tf.functions.unique(f"{tf.op.name}/{what}"))
    inner = Scope(graph, tf.functions, tf)
    for index, var in enumerate(region.arguments):
        kind = tensor_type(var)
        inner.values[var] = graph.add_input(kind.dtype, symbolic(kind), f"{what}_{index}")
    for index, var in enumerate(captured):
        value = tf.value(var)
        inner.values[var] = graph.add_input(value.dtype, value.shape, f"captured_{index}")
    tf.functions.fill(inner, region)
    return graph


def _captured(tf: Scope, regions: Iterable[Region]) -> list[Var]:
    """Return the variables outside of regions that they read, but for constants, which graphs share."""
    return [var for var in read_outside(*regions) if not tf.value(var).is_const]


def read_outside(*regions: Region) -> dict[Var, None]:
    """Return the variables outside of regions that they read, in their order."""
    found: dict[Var, None] = {}
    for region in regions:
        _collect(region, set(), found)
    return found


def _collect(region: Region, inside: set[Var], found: dict[Var, None]) -> None:
    inside = inside | set(region.arguments)
    for op in region.ops:
        found.update((var, None) for var in op.operands if var not in inside)
        for inner in op.regions:
            _collect(inner, inside, found)
        inside.update(op.results)
