"""The file of floats that a quantized one is compared with, and what its tensors become."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from fuseconv.facts import TFL_ONLY
from fuseconv.ir.graph import Graph, Module, Op, Value
from fuseconv.pass_manager import module_pass
from fuseconv.write.buffer_data import size
from fuseconv.write.flatbuffer_export import to_named_bytes

# What expands weights of fewer bits in front of an op.
_EXPANDS = ("tfl.DEQUANTIZE", "tfl.CAST")


@dataclass
class Floats:
    """The module before it is quantized.

    wanted: whether it is to be kept at all. reported: whether its ops are compared in the end. data: its file. names:
    of its tensors there. ops: those of the first signature, each with the bytes of its constants; those of a loop's
    body stand in front of it."""

    wanted: bool = False
    reported: bool = False
    data: bytes = b""
    names: dict[Value, str] = field(default_factory=dict)
    ops: dict[Op, int] = field(default_factory=dict)

    def pairs(self, names: dict[str, Value]) -> dict[str, str]:
        """Return names of tensors in a quantized file by those in this one. names: of the quantized file's."""
        now = {value: name for name, value in names.items()}
        return {name: now[value] for value, name in self.names.items() if value in now}


@module_pass("keep-floats", requires=(TFL_ONLY,))
def keep_floats(module: Module, floats: Floats) -> None:
    """Keep the file of a module before it is quantized, to compare it with what it becomes. Changes nothing."""
    floats.data, names = to_named_bytes(module)
    floats.names = {value: name for name, value in names.items()}
    floats.ops = {op: constant_bytes(op) for op in _with_bodies(module.signatures[0].graph, module)}


def _with_bodies(graph: Graph, module: Module) -> Iterator[Op]:
    """Yield the ops of a graph, and in front of each WHILE those of its body."""
    for op in graph.ops:
        if op.kind == "tfl.WHILE":
            yield from _with_bodies(module.functions[op.attrs["body_subgraph_index"].name], module)
        yield op


def constant_bytes(op: Op) -> int:
    """Return the bytes of the constants that an op reads, those too that are expanded for it."""
    return sum(size(value) for value in constants_of(op))


def constants_of(op: Op) -> Iterator[Value]:
    """Yield the constants that an op reads, those too that are expanded for it."""
    for operand in dict.fromkeys(op.operands):
        maker = None if operand is None else operand.op
        value = maker.operands[0] if maker is not None and maker.kind in _EXPANDS else operand
        if value is not None and value.is_const:
            yield value
