"""Chains: the same few nodes again and again, as long as a model of under 1 MB may be.

What looks at all nodes for each of them takes as long as the square of their number. A chain of n links has some 100 n
bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np

from fuseconv.ir import types
from fuseconv.load.op_defs import OpDefs
from tests.frozen import FLOAT, INT32, Frozen

_BOOL = types.BOOL.tf
_FLOATS, _INTS = {"T": {"type": FLOAT}}, {"T": {"type": INT32}}
# Of a graph with the floats x and the bool p, and a number of links: the last result.
Chain = Callable[[Frozen, int], str]
LENGTHS = (30, 300, 1000, 2000)


def build(name: str, rng: Random) -> bytes:
    """The GraphDef of a chain of a length that `rng` chooses."""
    return made(name, rng.choice(LENGTHS)).graph.SerializeToString(deterministic=True)


def made(name: str, length: int) -> Frozen:
    """A chain of this length; its output is the node "out"."""
    frozen = Frozen(2, 4)
    frozen.node("p", "Placeholder", dtype={"type": _BOOL}, shape={"shape": {}})
    frozen.node("out", "Identity", CHAINS[name](frozen, length), **_FLOATS)
    return frozen


def _add(frozen: Frozen, op: str, *inputs: str, **attrs: dict) -> str:
    name = f"n{len(frozen.graph.node)}"
    frozen.node(name, op, *inputs, **attrs)
    return name


def _constant(frozen: Frozen, value: object) -> str:
    return frozen.constant(f"n{len(frozen.graph.node)}", value)


def _in_function(frozen: Frozen, op: str, *inputs: str, **attrs: dict) -> str:
    """A node of a function; how others read its first result."""
    definition = OpDefs().get(op)
    assert definition is not None
    return f"{_add(frozen, op, *inputs, **attrs)}:{definition.outputs[0].name}:0"


def roundings(frozen: Frozen, length: int) -> str:
    """Each may be the end of a step function, which starts with the first."""
    x = "x"
    for _ in range(length):
        x = _add(frozen, "Floor", x, **_FLOATS)
    return x


def quotients(frozen: Frozen, length: int) -> str:
    """Each may be rounded, by the last of those that read it."""
    x = "x"
    for _ in range(length):
        x = _add(frozen, "RealDiv", x, _constant(frozen, np.float32(3)), **_FLOATS)
    return x


def switches(frozen: Frozen, length: int) -> str:
    """Branches of TF1, one after the other."""
    x = "x"
    for _ in range(length):
        sides = _add(frozen, "Switch", x, "p", **_FLOATS)
        taken = _add(frozen, "Sin", f"{sides}:1", **_FLOATS)
        x = _add(frozen, "Merge", _add(frozen, "Cos", sides, **_FLOATS), taken, N={"i": 2}, **_FLOATS)
    return x


def inner_switches(frozen: Frozen, length: int) -> str:
    """Branches of TF1, one in the other."""
    x, p, others = "x", "p", []
    for _ in range(length):
        sides = _add(frozen, "Switch", x, p, **_FLOATS)
        p = f"{_add(frozen, 'Switch', p, p, T={'type': _BOOL})}:1"
        others.append(_add(frozen, "Cos", sides, **_FLOATS))
        x = f"{sides}:1"
    for other in reversed(others):
        x = _add(frozen, "Merge", other, x, N={"i": 2}, **_FLOATS)
    return x


def frames(frozen: Frozen, length: int) -> str:
    """Loops of TF1, one after the other."""
    x = "x"
    for index in range(length // 4):
        x = _frame(frozen, x, index, lambda s: _add(frozen, "Sin", s, **_FLOATS))
    return x


def inner_frames(frozen: Frozen, length: int, index: int = 0, x: str = "x") -> str:
    """Loops of TF1, one in the other."""
    deeper = index + 1 < min(length // 4, 120)
    return _frame(frozen, x, index, lambda s: inner_frames(frozen, length, index + 1, s) if deeper else s)


def _frame(frozen: Frozen, x: str, index: int, body: Callable[[str], str]) -> str:
    name = {"frame_name": {"s": f"f{index}".encode()}}
    outer = [_add(frozen, "Enter", _constant(frozen, np.int32(n)), **name, is_constant={"b": n > 0}, **_INTS)
             for n in (0, 2, 1)]  # fmt: skip
    entered = _add(frozen, "Enter", x, **name, **_FLOATS)
    step = _add(frozen, "Merge", outer[0], outer[0], N={"i": 2}, **_INTS)
    state = _add(frozen, "Merge", entered, entered, N={"i": 2}, **_FLOATS)
    going = _add(frozen, "LoopCond", _add(frozen, "Less", step, outer[1], **_INTS))
    steps, states = _add(frozen, "Switch", step, going, **_INTS), _add(frozen, "Switch", state, going, **_FLOATS)
    ends = {node.name: node for node in frozen.graph.node[-8:]}
    more = _add(frozen, "AddV2", f"{steps}:1", outer[2], **_INTS)
    ends[step].input[1] = _add(frozen, "NextIteration", more, **_INTS)
    ends[state].input[1] = _add(frozen, "NextIteration", body(f"{states}:1"), **_FLOATS)
    return _add(frozen, "Exit", states, **_FLOATS)


def cases(frozen: Frozen, length: int) -> str:
    """A choice among many functions."""
    which = _add(frozen, "Cast", "p", SrcT={"type": _BOOL}, DstT={"type": INT32})
    for index in range(length := min(length, 300)):
        inner = Frozen.body()
        made = _in_function(inner, ("Sin", "Cos")[index % 2], "s", **_FLOATS)
        frozen.add_function(f"f{index}", {"s": FLOAT}, {"r": (made, FLOAT)}, inner)
    types = {key: {"list": {"type": [FLOAT]}} for key in ("Tin", "Tout")}
    branches = {"list": {"func": [{"name": f"f{index}"} for index in range(length)]}}
    return _add(frozen, "StatelessCase", which, "x", branches=branches, **types)


def variables(frozen: Frozen, length: int) -> str:
    """A loop that carries many."""
    arguments = {"t": INT32, **{f"s{index}": FLOAT for index in range(length)}}
    cond, body = Frozen.body(), Frozen.body()
    going = _in_function(cond, "Less", "t", f"{_constant(cond, np.int32(5))}:output:0", **_INTS)
    frozen.add_function("cond", arguments, {"r": (going, _BOOL)}, cond)
    results = {"u": (_in_function(body, "AddV2", "t", f"{_constant(body, np.int32(1))}:output:0", **_INTS), INT32)}
    for index in range(length):
        results[f"r{index}"] = _in_function(body, "Sin", f"s{index}", **_FLOATS), FLOAT
    frozen.add_function("body", arguments, results, body)
    first = [_constant(frozen, np.int32(0)), *(_add(frozen, "Neg", "x", **_FLOATS) for _ in range(length))]
    loop = _add(
        frozen, "StatelessWhile", *first, T={"list": {"type": [*arguments.values()]}}, cond={"func": {"name": "cond"}},
        body={"func": {"name": "body"}},
    )  # fmt: skip
    return _add(frozen, "AddN", *(f"{loop}:{index + 1}" for index in range(length)), N={"i": length}, **_FLOATS)


def lists(frozen: Frozen, length: int) -> str:
    """Of one list, which is read and written in turn."""
    floats = {"element_dtype": {"type": FLOAT}}
    shape = _constant(frozen, np.array([2, 4], np.int32))
    numbers = [_constant(frozen, np.int32(number)) for number in range(3)]
    kept = _add(frozen, "TensorListReserve", shape, _constant(frozen, np.int32(3)), **floats,
                shape_type={"type": INT32})  # fmt: skip
    for number in numbers:
        kept = _add(frozen, "TensorListSetItem", kept, number, "x", **floats)
    for index in range(length):
        item = _add(frozen, "TensorListGetItem", kept, numbers[index % 3], shape, **floats)
        made = _add(frozen, "Sin", item, **_FLOATS)
        kept = _add(frozen, "TensorListSetItem", kept, numbers[(index + 1) % 3], made, **floats)
    return _add(frozen, "TensorListStack", kept, shape, **floats)


CHAINS: dict[str, Chain] = {
    chain.__name__: chain for chain in (
        roundings, quotients, switches, inner_switches, frames, inner_frames, cases, variables, lists
    )
}  # fmt: skip
