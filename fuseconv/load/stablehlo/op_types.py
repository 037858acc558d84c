"""The door: hold every op of a module to what StableHLO says that it takes and makes, before anything is built of it.

`op_types.txt` has types and the plain shapes; what depends on attributes and regions stands in `op_shapes.py`.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from fuseconv.errors import ILL_FITTING
from fuseconv.ir import types
from fuseconv.ir.types import DType
from fuseconv.load.stablehlo.attributes import TensorType
from fuseconv.load.stablehlo.bytecode import Module, Operation
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.op_shapes import SHAPES, Shapes, Size, agree, described, fits
from fuseconv.load.stablehlo.region_types import refuse_calls

_BOOLS = frozenset({types.BOOL})
_INTEGERS = frozenset(dtype for dtype in types.ALL if dtype.is_integer)
_FLOATS = frozenset(dtype for dtype in types.ALL if dtype.is_float)
_COMPLEX = frozenset(dtype for dtype in types.ALL if dtype.is_complex)
_CLASSES = {"bool": _BOOLS, "int": _INTEGERS, "float": _FLOATS, "complex": _COMPLEX, "i32": frozenset({types.INT32})}
_PARTS = {types.COMPLEX64: types.FLOAT32, types.COMPLEX128: types.FLOAT64}
_WHOLES = {part: whole for whole, part in _PARTS.items()}
_MOST_TOLD = 4


class _Term(NamedTuple):
    """kind: "t", "p", "q", "any" or a class of elements. shape: "", "[]", "[:]", "[?]" or "[*]"."""

    kind: str
    shape: str
    repeated: bool


@dataclass(frozen=True, eq=False)
class _Rule:
    """uniform: whether all operands and results are t. shapes: the op's function of `op_shapes`, if it has one."""

    operands: tuple[_Term, ...]
    results: tuple[_Term, ...]
    elements: frozenset[DType] | None
    uniform: bool
    shapes: Callable[..., Shapes] | None


def refuse_ill_typed(module: Module) -> None:
    """Raise DamagedError, which names the op, if one takes or makes what its kind does not, or a function is called
    with, or returns, other types than it says."""
    known: set[tuple[Any, ...]] = set()
    for name, function in module.functions.items():
        refuse_calls(name, function)
        _refuse_inside(function, known)


def _refuse_inside(outer: Operation, known: set[tuple[Any, ...]]) -> None:
    """Refuse ops in the regions of an op. known: what was found to be well.

    What has no regions is judged by its types and attributes, of which there are few."""
    rules = type_rules()
    for region in outer.regions:
        for op in region.ops:
            rule = rules.get(op.name)
            if op.regions:
                _refuse_inside(op, known)
                if rule is not None:
                    _check(op, rule)
            elif rule is not None:
                kinds = [id(var.type) for var in op.operands + op.results]
                key = (rule, len(op.operands), *kinds, *op.properties.values())
                if key not in known:
                    _check(op, rule)
                    known.add(key)


def _check(op: Operation, rule: _Rule) -> None:
    takes, makes = [var.type for var in op.operands], [var.type for var in op.results]
    for kind in (*takes, *makes):
        if not isinstance(kind, TensorType):
            return  # it is refused by name if something needs it
    if not _follows(rule, takes, makes):
        told = " -> ".join(", ".join(map(described, kinds[:_MOST_TOLD])) or "nothing" for kinds in (takes, makes))
        raise DamagedError(f"{_named(op)} is of the types {told}, as no {op.name} is")
    if rule.shapes is None:
        return
    try:
        shapes = rule.shapes(op, *takes)
        if shapes is not None:
            agree(len(shapes) == len(makes), "it makes {} results", len(makes))
            for shape, kind in zip(shapes, makes):
                agree(fits(shape, kind.shape), "it is said to make {}", kind)
    except DamagedError as error:
        raise DamagedError(f"{_named(op)} is not made as the op is: {error}") from error
    except ILL_FITTING as error:
        raise DamagedError(f"{_named(op)} is not made as the op is: {error!r}") from error


def _named(op: Operation) -> str:
    return f"{op.place} ({op.name})" if op.place else op.name


def _follows(rule: _Rule, takes: Sequence[TensorType], makes: Sequence[TensorType]) -> bool:
    if rule.uniform and len(takes) == len(rule.operands) and len(makes) == 1:
        kind = makes[0]
        if all(each is kind for each in takes):
            return rule.elements is None or kind.dtype in rule.elements
    sides = _paired(rule.operands, takes), _paired(rule.results, makes)
    if None in sides:
        return False
    pairs = [*itertools.chain(*sides)]  # type: ignore[arg-type]
    element = next((_element(term, kind) for term, kind in pairs if term.kind in "tpq"), None)
    same: tuple[Size, ...] | None = None
    for term, kind in pairs:
        if not _is_kind(term.kind, kind.dtype, element):
            return False
        if term.shape in ("", "[?]") and not (term.shape and not kind.shape):
            if same is None:
                same = kind.shape
            elif same is not kind.shape and not fits(same, kind.shape):
                return False
        elif term.shape in _RANKS and kind.rank != _RANKS[term.shape]:
            return False
    return rule.elements is None or element in rule.elements


_RANKS = {"[]": 0, "[:]": 1}


def _paired(terms: tuple[_Term, ...], kinds: Sequence[TensorType]) -> list[tuple[_Term, TensorType]] | None:
    """Return each tensor with its term; None if there are not so many as there are terms."""
    if terms and terms[-1].repeated:
        terms = (*terms[:-1], *terms[-1:] * (len(kinds) - len(terms) + 1))
    return list(zip(terms, kinds)) if len(terms) == len(kinds) else None


def _element(term: _Term, kind: TensorType) -> DType:
    """Return what t is, of a tensor of this term."""
    if term.kind == "t":
        return kind.dtype
    return (_WHOLES if term.kind == "p" else _PARTS).get(kind.dtype, kind.dtype)


def _is_kind(kind: str, dtype: DType, element: DType | None) -> bool:
    if kind == "t":
        return dtype is element
    if kind == "p":
        return dtype is _PARTS.get(element, element)  # type: ignore[arg-type]
    if kind == "q":
        return dtype is _WHOLES.get(element)  # type: ignore[arg-type]
    return kind == "any" or dtype in _CLASSES[kind]


@functools.cache
def type_rules() -> dict[str, _Rule]:
    rules = {name: _Rule((_ANY,), (_ANY,), None, False, function) for name, function in SHAPES.items()}
    for line in (Path(__file__).parent / "op_types.txt").read_text().splitlines():
        if not line.startswith("#"):
            name, _, rest = line.partition(":")
            kinds, _, classes = rest.partition(" : ")
            operands, results = (tuple(map(_term, side.split())) for side in kinds.split("->"))
            elements = frozenset().union(*(_CLASSES[each] for each in classes.split())) if classes else None
            uniform = {*operands, *results} == {_term("t")}
            rules[name] = _Rule(operands, results, elements, uniform, SHAPES.get(name))
    return rules


def _term(word: str) -> _Term:
    bare = word.removesuffix("...")
    kind, bracket, shape = bare.partition("[")
    return _Term(kind, bracket + shape, bare != word)


_ANY = _term("any[*]...")
