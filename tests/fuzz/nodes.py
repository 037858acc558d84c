"""A node of any op that has a rule, as its definition allows it, whose operands and attributes may not fit together.

Each graph has one such node. Types and counts are what the definition says, so that the door lets it in: what is left
to find are shapes, constants and attributes on which shape functions, folders, rules and LiteRT must agree.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.types import DType
from fuseconv.load.op_defs import Arg, OpDef, OpDefs
from tests.frozen import Frozen

_ROWS = Path(__file__).parents[1] / "lower" / "rows.txt"
_SIZES = (0, 1, 1, 2, 2, 3, 4, 4, 5, 8, -1, -1)
_RANKS = (0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 4, 5, 6)
_USUAL = (0, 1, 1, 2, 2, 3, -1)
_ODD = (-2, 4, 5, 7, 31, 100, 2**31 - 1, -(2**31), 2**40, -(2**63))
_FLOATS = (0.0, 1.0, 0.5, -1.0, 1e-3, 1e30, float("nan"), float("inf"))
_TEXTS = ("", "SAME", "VALID", "EXPLICIT", "NHWC", "NCHW", "a", "ij,jk->ik", "...i->...", "REFLECT", "bilinear", "\0")
# Types that most kernels have.
_COMMON = (types.FLOAT32, types.INT32, types.INT64, types.BOOL)
_OTHERS = (types.FLOAT64, types.FLOAT16, types.INT8, types.UINT8, types.STRING, types.BFLOAT16)


@functools.cache
def ops() -> tuple[str, ...]:
    """The names of the ops that have a rule."""
    lines = _ROWS.read_text().splitlines()
    return tuple(sorted({line.split()[0] for line in lines if line.strip() and OpDefs().get(line.split()[0])}))


def build(op: str, rng: Random) -> bytes:
    """The GraphDef of a node of this op, and of nodes that read its results."""
    return _Node(op, rng).build().SerializeToString(deterministic=True)


class _Node:
    def __init__(self, op: str, rng: Random) -> None:
        self.rng = rng
        definition = OpDefs().get(op)
        assert definition is not None
        self.op_def: OpDef = definition
        self.graph = Frozen(*(_size(rng) for _ in range(2)))
        self.graph.function("f", [])
        self.attrs: dict[str, Any] = {}
        self.shared = _shape(rng) if rng.random() < 0.6 else None

    def build(self) -> Any:
        for name, kind in self.op_def.attr_types.items():
            if name not in self.op_def.defaults or self.rng.random() < 0.4:
                self.attrs[name] = self._attribute(name, kind)
        operands = [self._operand(dtype) for arg in self.op_def.inputs for dtype in self._types(arg)]
        attrs = {name: _message(kind, self.attrs[name]) for name, kind in self.op_def.attr_types.items()
                 if name in self.attrs and kind != "tensor"}  # fmt: skip
        self.graph.node("n", self.op_def.name, *operands, **attrs)
        results = [dtype for arg in self.op_def.outputs for dtype in self._types(arg)]
        for index, dtype in enumerate(results[:8]):
            self.graph.node(f"y{index}", "Identity", f"n:{index}", T={"type": dtype.tf})
        return self.graph.graph

    def _types(self, arg: Arg) -> list[DType]:
        """The types of the tensors of an argument or result."""
        if arg.list_attr:
            return list(self._value(arg.list_attr))
        dtype = arg.dtype or self._value(arg.type_attr)
        return [dtype] * (max(0, min(self._value(arg.number_attr), 8)) if arg.number_attr else 1)

    def _value(self, name: str) -> Any:
        return self.attrs.get(name, self.op_def.defaults.get(name))

    def _operand(self, dtype: DType) -> str:
        name = f"operand_{len(self.graph.graph.node)}"
        whole = dtype in (types.INT32, types.INT64)
        if dtype.numpy.kind in "iufbO" and not dtype.is_handle and self.rng.random() < (0.75 if whole else 0.15):
            return self.graph.constant(name, self._array(dtype))
        dims = self.shared if self.shared is not None and self.rng.random() < 0.6 else _shape(self.rng)
        shape = {"unknown_rank": True} if self.rng.random() < 0.07 else {"dim": [{"size": size} for size in dims]}
        self.graph.node(name, "Placeholder", dtype={"type": dtype.tf}, shape={"shape": shape})
        return name

    def _array(self, dtype: DType) -> np.ndarray:
        shape = [self.rng.choice((0, 1, 1, 2, 2, 3, 4)) for _ in range(self.rng.choice((0, 0, 0, 1, 1, 1, 2, 2, 3, 4)))]
        count = int(np.prod(shape))
        if dtype is types.STRING:
            return np.array([self.rng.choice(_TEXTS).encode() for _ in range(count)], "S9").reshape(shape)
        if dtype.numpy.kind not in "iu":
            with np.errstate(all="ignore"):
                return np.array([self.rng.choice(_FLOATS) for _ in range(count)]).astype(dtype.numpy).reshape(shape)
        ends = np.iinfo(dtype.numpy)
        numbers = [min(max(_number(self.rng), ends.min), ends.max) for _ in range(count)]
        return np.array(numbers, dtype.numpy).reshape(shape)

    def _attribute(self, name: str, kind: str) -> Any:
        least, allowed = self.op_def.least.get(name, None), self.op_def.allowed.get(name)
        if not kind.startswith("list("):
            return self._item(kind, least, allowed)
        count = max(least or 0, self.rng.choice((0, 1, 2, 2, 3, 4, 4, 5, 8)))
        return [self._item(kind[5:-1], None, allowed) for _ in range(count)]

    def _item(self, kind: str, least: int | None, allowed: Sequence[Any] | None) -> Any:
        rng = self.rng
        if kind == "type":
            known = list(allowed or (*_COMMON, *_OTHERS))
            common = [dtype for dtype in known if dtype in _COMMON]
            return rng.choice(common if common and rng.random() < 0.75 else known)
        if kind == "int":
            return max(_number(rng), -(2**63) if least is None else least)
        if kind == "string":
            return rng.choice(allowed or _TEXTS)
        if kind == "shape":
            return None if rng.random() < 0.1 else _shape(rng)
        return {"bool": rng.random() < 0.5, "float": rng.choice(_FLOATS), "func": "f"}.get(kind)


def _number(rng: Random) -> int:
    return rng.choice(_ODD if rng.random() < 0.1 else _USUAL)


def _size(rng: Random) -> int:
    return rng.choice(_SIZES)


def _shape(rng: Random) -> list[int]:
    return [_size(rng) for _ in range(rng.choice(_RANKS))]


def _message(kind: str, value: Any) -> dict[str, Any]:
    """An attribute as the fields of its message."""
    field = {"type": "type", "int": "i", "string": "s", "shape": "shape", "bool": "b", "float": "f", "func": "func"}
    if kind.startswith("list("):
        inner = kind[5:-1]
        return {"list": {field[inner]: [_message(inner, item)[field[inner]] for item in value]}}
    if kind == "shape":
        value = {"unknown_rank": True} if value is None else {"dim": [{"size": size} for size in value]}
    elif kind == "type":
        value = value.tf
    elif kind == "string":
        value = value.encode()
    elif kind == "func":
        value = {"name": value}
    return {field[kind]: value}
