"""Ladders: each rung reads the one before it twice, or in two ways, so that 2 ** n ways lead up n rungs.

What walks each way, or all rungs below at each rung, does not end in time. A few kB each.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from fuseconv.load.op_defs import OpDefs
from tests.frozen import FLOAT, INT32, Frozen

_BOOL, _DOUBLE = 10, 2
_FLOATS, _INTS = {"T": {"type": FLOAT}}, {"T": {"type": INT32}}
_DEPTHS = (12, 30, 60, 60, 250, 250, 1000)


class _Graph:
    """Nodes of a graph, or of a function of it, where results are told by the names that ops have for them."""

    def __init__(self, frozen: Frozen, in_function: bool = False) -> None:
        self.frozen = frozen
        self.in_function = in_function

    def add(self, op: str, *inputs: str, **attrs: dict[str, Any]) -> str:
        """A node; returns how others read its first result."""
        name = f"n{len(self.frozen.graph.node)}"
        self.frozen.node(name, op, *inputs, **attrs)
        return self.result(name, op)

    def result(self, name: str, op: str) -> str:
        return f"{name}:{OpDefs().get(op).outputs[0].name}:0" if self.in_function else f"{name}:0"  # type: ignore[union-attr]

    def floats(self, op: str, *inputs: str, **attrs: dict[str, Any]) -> str:
        return self.add(op, *inputs, **_FLOATS, **attrs)

    def ints(self, op: str, *inputs: str, **attrs: dict[str, Any]) -> str:
        return self.add(op, *inputs, **_INTS, **attrs)

    def constant(self, value: Any) -> str:
        return self.result(self.frozen.constant(f"n{len(self.frozen.graph.node)}", value), "Const")


# Of the last rung and the first one: the next rung.
_Rung = Callable[[_Graph, str, str], str]


def _transposed(graph: _Graph, x: str) -> str:
    return graph.floats("Transpose", x, graph.constant(np.array([1, 0], np.int32)), Tperm={"type": INT32})


def _other(result: str, index: int) -> str:
    """Another result of the node that has this first one."""
    return f"{result.rpartition(':')[0]}:{index}"


def _halves(graph: _Graph, x: str, first: str) -> str:
    half, one = graph.floats("Split", graph.constant(np.int32(1)), x, num_split={"i": 2}), graph.constant(np.int32(1))
    return graph.floats("ConcatV2", _other(half, 1), half, one, N={"i": 2}, Tidx={"type": INT32})


def _choice(graph: _Graph, x: str, first: str) -> str:
    return graph.floats("SelectV2", graph.floats("Less", x, first), x, graph.floats("Neg", x))


def _columns(graph: _Graph, x: str, first: str) -> str:
    column = graph.floats("Unpack", x, num={"i": 4}, axis={"i": 1})
    parts = [graph.floats("Sin", _other(column, index)) for index in (1, 0, 3, 2)]
    return graph.floats("Pack", *parts, N={"i": 4}, axis={"i": 1})


def _doubles(graph: _Graph, x: str, first: str) -> str:
    wide = graph.add("Cast", x, SrcT={"type": FLOAT}, DstT={"type": _DOUBLE})
    made = graph.add("Mul", wide, wide, T={"type": _DOUBLE})
    return graph.add("Cast", made, SrcT={"type": _DOUBLE}, DstT={"type": FLOAT})


def _same_shape(graph: _Graph, x: str, first: str) -> str:
    shape = graph.floats("Shape", x, out_type={"type": INT32})
    return graph.floats("Reshape", graph.floats("AddV2", x, first), shape, Tshape={"type": INT32})


_RUNGS: tuple[_Rung, ...] = (
    _halves, _choice, _columns, _doubles, _same_shape,
    lambda graph, x, first: graph.floats("AddV2", x, x),
    lambda graph, x, first: graph.floats("Maximum", x, first),
    lambda graph, x, first: graph.floats("MatMul", x, x),
    lambda graph, x, first: graph.floats("Mul", graph.floats("Tanh", x), graph.floats("Sigmoid", x)),
    lambda graph, x, first: graph.floats("AddV2", _transposed(graph, x), _transposed(graph, graph.floats("Sin", x))),
    lambda graph, x, first: graph.floats("Sub", x, graph.floats("Mul", x, graph.constant(np.float32(0.5)))),
    lambda graph, x, first: graph.floats("AddN", x, x, first, N={"i": 3}),
)  # fmt: skip
_SIZES: tuple[_Rung, ...] = (
    lambda graph, x, first: graph.ints("AddV2", x, x),
    lambda graph, x, first: graph.ints("Sub", graph.ints("AddV2", x, first), x),
    lambda graph, x, first: graph.ints("Maximum", x, x),
    lambda graph, x, first: graph.ints("FloorDiv", graph.ints("Mul", x, first), x),
    lambda graph, x, first: graph.ints("SelectV2", graph.ints("Less", x, first), x, x),
    lambda graph, x, first: graph.ints("FloorMod", graph.ints("Mul", x, x), graph.constant(np.int32(7))),
)  # fmt: skip


def _climb(rng: Random, graph: _Graph, rungs: tuple[_Rung, ...], first: str) -> str:
    """The last of some rungs, of up to three kinds in turn."""
    turn = rng.sample(rungs, rng.choice((1, 1, 2, 3)))
    last = first
    for level in range(rng.choice(_DEPTHS)):
        last = turn[level % len(turn)](graph, last, first)
    return last


def values(rng: Random, frozen: Frozen) -> str:
    """Of a tensor."""
    return _climb(rng, _Graph(frozen), _RUNGS, "x")


def sizes(rng: Random, frozen: Frozen) -> str:
    """Of the sizes of a tensor, by which one is filled."""
    graph = _Graph(frozen)
    last = _climb(rng, graph, _SIZES, graph.floats("Shape", "x", out_type={"type": INT32}))
    return graph.floats("Fill", last, graph.constant(np.float32(1)), index_type={"type": INT32})


def _loop(graph: _Graph, cond: str, body: str, x: str) -> str:
    count = graph.add(
        "StatelessWhile", graph.constant(np.int32(0)), x, T={"list": {"type": [INT32, FLOAT]}},
        cond={"func": {"name": cond}}, body={"func": {"name": body}},
    )  # fmt: skip
    return _other(count, 1)


def _function(frozen: Frozen, name: str, made: Callable[[_Graph], list[tuple[str, int]]]) -> None:
    """A function of a step's number t and a tensor s: results with their types."""
    inner = Frozen.body()
    results = {f"r{index}": result for index, result in enumerate(made(_Graph(inner, in_function=True)))}
    frozen.add_function(name, {"t": INT32, "s": FLOAT}, results, inner)


def _next(graph: _Graph) -> tuple[str, int]:
    return graph.ints("AddV2", "t", graph.constant(np.int32(1))), INT32


def bodies(rng: Random, frozen: Frozen) -> str:
    """In the body of a loop, of what it carries."""
    steps = rng.choice((1, 3, 100))
    _function(frozen, "cond", lambda graph: [(graph.ints("Less", "t", graph.constant(np.int32(steps))), _BOOL)])
    _function(frozen, "body", lambda graph: [_next(graph), (_climb(rng, graph, _RUNGS, "s"), FLOAT)])
    return _loop(_Graph(frozen), "cond", "body", "x")


def loops(rng: Random, frozen: Frozen) -> str:
    """Loops in loops, of which each may change a size."""
    grows = rng.random() < 0.7
    depth = rng.choice((5, 12, 20) if grows else (5, 20, 40, 90))  # 2 ** 40 rows no runtime has
    _function(frozen, "cond", lambda graph: [(graph.ints("Less", "t", graph.constant(np.int32(3))), _BOOL)])

    def body(graph: _Graph, level: int) -> list[tuple[str, int]]:
        zero = graph.constant(np.int32(0))
        join = {"N": {"i": 2}, "Tidx": {"type": INT32}}
        made = graph.floats("ConcatV2", "s", "s", zero, **join) if grows else graph.floats("AddV2", "s", "s")
        return [_next(graph), (_loop(graph, "cond", f"body{level + 1}", made) if level + 1 < depth else made, FLOAT)]

    for level in range(depth):
        _function(frozen, f"body{level}", lambda graph, level=level: body(graph, level))  # type: ignore[misc]
    return _loop(_Graph(frozen), "cond", "body0", "x")


def build(name: str, rng: Random) -> bytes:
    """The GraphDef of a ladder that `rng` chooses; its output is the node "out"."""
    # Products with itself and sums with its transpose are of a square alone.
    frozen = Frozen(4 if name in ("values", "bodies") else rng.choice((4, -1)), 4)
    frozen.node("out", "Identity", LADDERS[name](rng, frozen), T={"type": FLOAT})
    # A map of attributes has no order of its own.
    return frozen.graph.SerializeToString(deterministic=True)


LADDERS: dict[str, Callable[[Random, Frozen], str]] = {
    ladder.__name__: ladder for ladder in (values, sizes, bodies, loops)
}
