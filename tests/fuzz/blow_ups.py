"""Little models that ask for much: of memory, time, depth, or results. A few hundred bytes each."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np

from tests.frozen import FLOAT, INT32, INT64, STRING, Frozen

BlowUp = Callable[[Random, Frozen], str]


def build(name: str, rng: Random) -> bytes:
    """The GraphDef of a blow-up, of a size that `rng` chooses; its output is the node "out"."""
    graph = Frozen(*rng.choice(((1,), (4,), (-1,), (2, 3))))
    graph.node("out", "Identity", BLOW_UPS[name](rng, graph), T={"type": FLOAT})
    # A map of attributes has no order of its own.
    return graph.graph.SerializeToString(deterministic=True)


def tiles(rng: Random, graph: Frozen) -> str:
    """x tiled by its own shape, again and again: the symbolic size squares each time."""
    last = "x"
    for level in range(rng.choice((5, 20, 40, 300))):
        graph.node(f"s{level}", "Shape", last, T={"type": FLOAT}, out_type={"type": INT32})
        graph.node(f"t{level}", "Tile", last, f"s{level}", T={"type": FLOAT}, Tmultiples={"type": INT32})
        last = f"t{level}"
    return last


def concats(rng: Random, graph: Frozen) -> str:
    """A constant, or x, beside itself, again and again."""
    last = rng.choice(("x", graph.constant("c", np.ones(2, np.float32))))
    axis = graph.constant("axis", np.int32(0))
    for level in range(rng.choice((20, 31, 60, 500))):
        graph.node(f"c{level}", "ConcatV2", last, last, axis, N={"i": 2}, T={"type": FLOAT}, Tidx={"type": INT32})
        last = f"c{level}"
    return last


def sizes(rng: Random, graph: Frozen) -> str:
    """Sizes that are multiplied and added again and again, and a reshape or fill by them."""
    graph.node("s", "Shape", "x", T={"type": FLOAT}, out_type={"type": INT32})
    last = "s"
    for level in range(rng.choice((10, 40, 400))):
        op = rng.choice(("Mul", "AddV2", "Sub", "Maximum", "FloorDiv"))
        graph.node(f"m{level}", op, last, rng.choice((last, "s")), T={"type": INT32})
        last = f"m{level}"
    one = graph.constant("one", np.float32(1))
    graph.node("y", "Fill", last, one, T={"type": FLOAT}, index_type={"type": INT32})
    return "y"


def calls(rng: Random, graph: Frozen) -> str:
    """Functions that call the next one twice, or more often."""
    depth, width = rng.choice(((5, 2), (12, 2), (30, 2), (64, 3), (1000, 1), (3000, 1), (4, 20)))
    for level in range(depth):
        graph.function(f"f{level}", [f"f{level + 1}"] * width if level < depth - 1 else [])
    graph.call("y", "f0", "x")
    return "y"


def results(rng: Random, graph: Frozen) -> str:
    """Nodes with as many results as they say."""
    axis = graph.constant("axis", np.int32(0))
    for number in range(rng.choice((1, 3))):
        count = rng.choice((1000, 10**6, 10**8, 2**31 - 1))
        op = rng.choice(("Split", "Unpack", "IdentityN", "ShapeN", "SplitV"))
        inputs = (axis, "x") if op == "Split" else ("x",)
        key = {"Split": "num_split", "Unpack": "num", "SplitV": "num_split"}.get(op, "N")
        types = {"T": {"list": {"type": [FLOAT] * 1000}}} if op == "IdentityN" else {"T": {"type": FLOAT}}
        graph.node(f"n{number}", op, *inputs, **types, **{key: {"i": count}})
    return "n0"


def fills(rng: Random, graph: Frozen) -> str:
    """Many constants, each below a limit for one; or one above it."""
    size, many = rng.choice(((10**10, 1), (10**7, 40), (10**6, 300), (2**31 - 1, 3), (2**62, 1)))
    last = "x"
    for number in range(many):
        dims = graph.constant(f"d{number}", np.array([size], np.int64))
        value = graph.constant(f"v{number}", np.float32(number))
        graph.node(f"f{number}", "Fill", dims, value, T={"type": FLOAT}, index_type={"type": INT64})
        graph.node(f"a{number}", "AddV2", last, f"f{number}", T={"type": FLOAT})
        last = f"a{number}"
    return last


def splats(rng: Random, graph: Frozen) -> str:
    """Constants of one value and a large shape, as protobufs may write them."""
    last = "x"
    for number in range(rng.choice((1, 8, 50))):
        name = graph.constant(f"c{number}", np.full(1, number, np.float32))
        tensor = graph.graph.node[-1].attr["value"].tensor
        tensor.tensor_shape.dim[0].size = rng.choice((10**6, 10**7, 3 * 10**8, 2**31, 2**40))
        graph.node(f"a{number}", rng.choice(("AddV2", "Mul", "Maximum")), last, name, T={"type": FLOAT})
        last = f"a{number}"
    return last


def strings(rng: Random, graph: Frozen) -> str:
    """String tensors: a pointer for each element that is not written."""
    name = graph.constant("c", np.array([b"a"]))
    tensor = graph.graph.node[-1].attr["value"].tensor
    tensor.tensor_shape.dim[0].size = rng.choice((10**6, 10**8, 10**9))
    dims = graph.constant("d", np.array([rng.choice((10**7, 10**9))], np.int64))
    graph.node("f", "Fill", dims, graph.constant("v", np.array(b"b")), T={"type": STRING}, index_type={"type": INT64})
    graph.node("e", "Equal", rng.choice((name, "f")), "f", T={"type": STRING})
    graph.node("y", "Cast", "e", SrcT={"type": 10}, DstT={"type": FLOAT})
    return "y"


def makers(rng: Random, graph: Frozen) -> str:
    """An operation whose result is larger than its operands, of constants."""
    one = graph.constant("one", np.ones((1, 1), np.float32))
    size = rng.choice((10**5, 10**9, 2**31 - 1))
    many = graph.constant("many", np.array([size, size], np.int32))
    number = graph.constant("number", np.int32(size))
    graph.node("range", "Range", graph.constant("zero", np.int32(0)), number, graph.constant("step", np.int32(1)),
               Tidx={"type": INT32})  # fmt: skip
    way = rng.randrange(6)
    if way == 0:
        graph.node("y", "Tile", one, many, T={"type": FLOAT}, Tmultiples={"type": INT32})
    elif way == 1:
        graph.node("y", "BroadcastTo", one, many, T={"type": FLOAT}, Tidx={"type": INT32})
    elif way == 2:
        graph.node("y", "OneHot", "range", number, graph.constant("on", np.float32(1)),
                   graph.constant("off", np.float32(0)), T={"type": FLOAT}, TI={"type": INT32},
                   axis={"i": -1})  # fmt: skip
    elif way == 3:
        pads = graph.constant("pads", np.full((2, 2), size, np.int32))
        graph.node("y", "Pad", one, pads, T={"type": FLOAT}, Tpaddings={"type": INT32})
    elif way == 4:
        graph.node("c", "Cast", "range", SrcT={"type": INT32}, DstT={"type": FLOAT})
        graph.node("e", "ExpandDims", "c", graph.constant("a", np.int32(1)), T={"type": FLOAT}, Tdim={"type": INT32})
        graph.node("y", "MatMul", "e", "e", T={"type": FLOAT}, transpose_b={"b": True})
    else:
        graph.node("d", "Cast", "range", SrcT={"type": INT32}, DstT={"type": FLOAT})
        graph.node("y", "Diag", "d", T={"type": FLOAT})
    return "y"


def unrolled(rng: Random, graph: Frozen) -> str:
    """A long chain, or a wide fan, of operations that are all needed."""
    last = "x"
    count = rng.choice((100, 3000))
    for number in range(count):
        graph.node(f"n{number}", "AddV2", last, rng.choice((last, "x")), T={"type": FLOAT})
        last = f"n{number}"
    return last


def ranks(rng: Random, graph: Frozen) -> str:
    """A tensor of very many dimensions."""
    dims = graph.constant("d", np.ones(rng.choice((9, 33, 65, 255, 100_000)), np.int32))
    graph.node("y", "Reshape", rng.choice(("x", graph.constant("c", np.ones(1, np.float32)))), dims, T={"type": FLOAT},
               Tshape={"type": INT32})  # fmt: skip
    return "y"


def names(rng: Random, graph: Frozen) -> str:
    """Names of many characters, many parts, or of none that print."""
    name = rng.choice(("n" * 10**5, "a/" * 30_000 + "b", "\x1b[31m", "a\nb", "‮", "é" * 1000))
    graph.node(name, rng.choice(("Sin", "NoSuchOperation", "x" * 10**5)), "x", T={"type": FLOAT})
    return name


BLOW_UPS: dict[str, BlowUp] = {
    build.__name__: build
    for build in (tiles, concats, sizes, calls, results, fills, splats, strings, makers, unrolled, ranks, names)
}
