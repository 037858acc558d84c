"""Build the graph of one StableHLO function or region: its values, and the `tf` ops that its ops become."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Shape, fresh
from fuseconv.ir.graph import FuncRef, Graph, Op, Value, constant, detach
from fuseconv.ir.types import DType
from fuseconv.load.stablehlo.attributes import TensorType
from fuseconv.load.stablehlo.bytecode import Operation, Var
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.traits import RESHAPES

if TYPE_CHECKING:
    from fuseconv.load.stablehlo.importer import ModuleImporter


_WHOLE = {int, bool}


# What TFLite has for the small types of MLIR, by how their names begin.
_WIDER = {"i": "int8", "ui": "uint8", "f": "float32"}


class RefusedError(ValueError):
    """An op of StableHLO has no form in `tf` ops. The message is the end of a sentence."""


def refuse_unless(condition: object, why: str) -> None:
    """Refuse an op that does not meet a condition."""
    if not condition:
        raise RefusedError(why)


class Scope(TfBuilder):
    """A graph that is being built, and which values stand for the variables of a region.

    outer: the scope around a region, whose constants it shares. functions: the functions of the module. spread: what
    values are broadcasts of. narrow: these, and what is made of nothing but these and constants; repeated: those of
    them that are not made of constants alone.
    """

    def __init__(self, graph: Graph, functions: ModuleImporter, outer: Scope | None = None) -> None:
        super().__init__(graph.ops, Op("ir.import", name=graph.name))
        self.graph = graph
        self.functions = functions
        self.outer = outer
        self.values: dict[Var, Value] = {}
        self.spread: dict[Value, Value] = {}
        self.narrow: set[Value] = set()
        self.repeated: set[Value] = set()
        self.source: Operation | None = None

    def enter(self, op: Operation) -> None:
        """Let the ops that are built from here on stand for an op."""
        self.source = op
        name = self.functions.node_name(op, None if self.outer is None else self.outer.source)
        self.op.name, self.op.sources = name, (name,)

    def value(self, var: Var) -> Value:
        """Return the value that stands for a variable."""
        if var in self.values:
            return self.values[var]
        if self.outer is None:
            raise DamagedError("an op reads a value that is not made where it stands")
        found = self.values[var] = self.outer.value(var)
        if not found.is_const:
            raise DamagedError("a region reads a value that it was not given")
        return found

    def bind(self, op: Operation, values: Sequence[Value]) -> None:
        """Let values stand for the results of an op. What its types tell of their shapes becomes known."""
        if len(values) != len(op.results):
            raise DamagedError(f"{op.name} makes {len(op.results)} results, not {len(values)}")
        for var, value in zip(op.results, values):
            kind = tensor_type(var)
            if value.dtype is not kind.dtype:
                raise DamagedError(f"{op.name} makes {value.dtype}, and its result is said to be {kind.dtype}")
            if value.data is not None and kind.is_static and value.data.shape != kind.shape:
                raise DamagedError(f"{op.name} makes {list(value.data.shape)}, its result is said to be {kind.sizes}")
            if value.op is not None and value.shape is None:
                value.shape = symbolic(kind)
            self.values[var] = value

    def broadcast(self, x: Value, shape: Value | Sequence[int]) -> Value:
        """Return BroadcastTo(x, shape)."""
        made = self.BroadcastTo(x, shape)
        inner = (x.op.operands[0] if x.op is not None and x.op.kind in RESHAPES else None) or x
        if inner not in self.repeated:  # a pass reaches through both
            self.spread[made] = x
        # What is made of constants alone is folded before that pass runs, to the size that it has then.
        if not self.is_folded(inner) or (isinstance(shape, Value) and not shape.is_const):
            self.repeated.add(made)
        self.narrow.add(made)
        return made

    def is_folded(self, value: Value) -> bool:
        """Return whether a value is a constant, or made of constants alone."""
        return value.is_const or (value in self.narrow and value not in self.repeated)

    def note_narrow(self, operands: Sequence[Value], made: Sequence[Value]) -> None:
        """Note that values are made of nothing but constants and what is broadcast."""
        for value in operands:
            if value.data is None and value not in self.narrow:
                return
        self.narrow.update(made)
        if not self.repeated.isdisjoint(operands):
            self.repeated.update(made)

    def bare(self, op: Operation, operands: list[Value]) -> list[Value]:
        """Return what an op that broadcasts by itself may read: for an operand that is a broadcast, the value that is
        broadcast, if another operand has the shape of the result. Where all are constants or broadcasts, they stay: a
        pass broadcasts the result instead."""
        made = tensor_type(op.results[0]).shape
        whole = [value for var, value in zip(op.operands, operands) if tensor_type(var).shape == made]
        if all(v.is_const or v in self.narrow for v in whole) or self.spread.keys().isdisjoint(whole):
            return operands
        for value in whole:
            if value in self.spread and value.op is not None:
                self.op.sources += value.op.sources
        return [self.spread.get(value, value) for value in operands]

    def drop_unread_broadcasts(self) -> None:
        """Drop the broadcasts that all their readers do by themselves."""
        dead = {value.op for value in self.spread if not value.uses}
        if dead:
            for op in dead:
                detach(op)  # type: ignore[arg-type]
            self.out[:] = [op for op in self.out if op not in dead]

    def const(self, data: Any, dtype: DType | None = None) -> Value:
        """Return a constant; numbers become int32 if no type is given."""
        if isinstance(data, np.ndarray):
            return constant(data, dtype, self.op.name)
        return constant(np.array(data, (dtype or types.INT32).numpy), dtype or types.INT32, self.op.name)

    def same(self, number: float, like: Value) -> Value:
        """Return a scalar constant of the type of a value."""
        return self.const(number, like.dtype)

    def call(self, callee: Graph, operands: Sequence[Value]) -> list[Value]:
        """Append a call of a function."""
        return self.many("PartitionedCall", operands, {"f": FuncRef(callee.name)}, callee.outputs)

    def many(self, kind: str, operands: Sequence[Value], attrs: dict[str, Any], like: Sequence[Value]) -> list[Value]:
        """Append an op with results of the types of other values."""
        op = Op(f"tf.{kind}", list(operands), attrs, self.op.name, self.op.sources)
        self.out.append(op)
        return [op.add_result(value.dtype, None) for value in like]


def _advice(name: str) -> str:
    """Return what to do about a tensor of a small type; nothing about what is no tensor of numbers."""
    found = re.match(r"tensor of (i|ui|f)\d", name)
    return f"; cast it to {_WIDER[found[1]]} before you export" if found else ""


def tensor_type(var: Var) -> TensorType:
    """Return the type of a variable that is a tensor; refuse others by name."""
    if not isinstance(var.type, TensorType):
        name = getattr(var.type, "name", f"{var.type}")
        raise RefusedError(f"it is of the type {name}, which TFLite does not have{_advice(name)}")
    return var.type


def symbolic(kind: TensorType) -> Shape:
    """Return the shape of a type, with a symbol for each size that is not known."""
    if None not in kind.shape:
        return kind.shape  # type: ignore[return-value]
    return tuple(fresh() if size is None else size for size in kind.shape)


def ints(value: Any) -> list[int]:
    """Return the numbers of an attribute that is an array or a list of them."""
    if isinstance(value, np.ndarray):
        value = value.reshape(-1).tolist()
    if not isinstance(value, list) or not set(map(type, value)) <= _WHOLE:
        raise DamagedError("an attribute is no list of whole numbers")
    return value


def axes(value: Any, rank: int) -> list[int]:
    """Return the dimensions that an attribute lists, each once and each of a tensor of this rank."""
    found = ints(value)
    if len(set(found)) != len(found) or (found and not 0 <= min(found) <= max(found) < rank):
        raise DamagedError(f"the dimensions {found[:9]} are none of {rank}")
    return found


def text(value: Any) -> str:
    """Return an attribute that is a text: a name, or the value of an enumeration."""
    if not isinstance(value, str):
        raise DamagedError("an attribute is no text")
    return value


def number(value: Any, rank: int | None = None) -> int:
    """Return a whole number; if a rank is given, a dimension of it."""
    if not isinstance(value, int) or (rank is not None and not 0 <= value < rank):
        raise DamagedError(f"{value} is no number{'' if rank is None else f' of a dimension of {rank}'}")
    return value


def static_shape(var: Var, what: str = "its operand") -> list[int]:
    """Return the sizes of a variable; refuse one of which they are not all known."""
    kind = tensor_type(var)
    if not kind.is_static:
        raise RefusedError(f"the shape of {what} is not known")
    return kind.sizes
