"""The file of floats that a quantized one is compared with, and what its tensors become."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from fuseconv.facts import TFL_ONLY
from fuseconv.ir.graph import Graph, Module, Op, Value
from fuseconv.pass_manager import module_pass
from fuseconv.write.buffer_data import size
from fuseconv.write.flatbuffer_export import to_named_bytes

# Tensors of bool, by their names or as values, and what each is where a branch runs.
Guards = tuple[tuple[str, bool], ...]
Conditions = tuple[tuple[Value, bool], ...]
# What expands weights of fewer bits in front of an op.
EXPANDS = ("tfl.DEQUANTIZE", "tfl.CAST")


@dataclass
class Floats:
    """The module before it is quantized.

    wanted: whether it is to be kept at all. reported: whether its ops are compared in the end. data: its file. names:
    of its tensors there. ops: those of the first signature, each with the bytes of its constants; those of a loop's
    body and of branches stand in front of it. guards: the conditions of the branches that make a tensor, by names."""

    wanted: bool = False
    reported: bool = False
    data: bytes = b""
    names: dict[Value, str] = field(default_factory=dict)
    ops: dict[Op, int] = field(default_factory=dict)
    guards: dict[str, Guards] = field(default_factory=dict)

    def pairs(self, names: dict[str, Value]) -> dict[str, str]:
        """Return names of tensors in a quantized file by those in this one. names: of the quantized file's."""
        now = {value: name for name, value in names.items()}
        return {name: now[value] for value, name in self.names.items() if value in now}


@module_pass("keep-floats", requires=(TFL_ONLY,))
def keep_floats(module: Module, floats: Floats) -> None:
    """Keep the file of a module before it is quantized, to compare it with what it becomes. Changes nothing."""
    floats.data, names = to_named_bytes(module)
    floats.names = {value: name for name, value in names.items()}
    found = dict(_with_bodies(module.signatures[0].graph, module, ()))
    floats.ops = {op: constant_bytes(op) for op in found}
    floats.guards = {
        floats.names[result]: tuple((floats.names[value], runs) for value, runs in conditions)
        for op, conditions in found.items() if conditions
        for result in op.results if result in floats.names
    }  # fmt: skip


def _with_bodies(graph: Graph, module: Module, conditions: Conditions) -> Iterator[tuple[Op, Conditions]]:
    """Yield the ops of a graph, and in front of each WHILE or IF those of its body or branches, each with the
    conditions that it runs under."""
    for op in graph.ops:
        for name, more in _bodies(op):
            yield from _with_bodies(module.functions[name], module, (*conditions, *more))
        yield op, conditions


def _bodies(op: Op) -> Iterator[tuple[str, Conditions]]:
    """Yield the names of an op's body or branches, each with its condition."""
    if op.kind == "tfl.WHILE":
        yield op.attrs["body_subgraph_index"].name, ()
    elif op.kind == "tfl.IF":
        condition = op.operands[0]
        assert condition is not None
        # What is constant always, or never, runs.
        known = condition.is_const
        for part, runs in (("then", True), ("else", False)):
            yield op.attrs[f"{part}_subgraph_index"].name, () if known else ((condition, runs),)


def constant_bytes(op: Op) -> int:
    """Return the bytes of the constants that an op reads, those too that are expanded for it."""
    return sum(size(value) for value in constants_of(op))


def constants_of(op: Op) -> Iterator[Value]:
    """Yield the constants that an op reads, those too that are expanded for it."""
    for operand in dict.fromkeys(op.operands):
        maker = None if operand is None else operand.op
        value = maker.operands[0] if maker is not None and maker.kind in EXPANDS else operand
        if value is not None and value.is_const:
            yield value
