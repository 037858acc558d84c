"""Evaluate the body of a loop: what its values are as polynomials of the step's input and the states."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fuseconv.ir.graph import Op, Value
from fuseconv.ir.slice_spec import SliceSpec
from fuseconv.transforms.rnn import polynomial
from fuseconv.transforms.rnn.polynomial import (
    Columns,
    Opaque,
    Part,
    Poly,
    Product,
    Source,
    TooLarge,
    Vector,
    elementwise,
    of_atom,
    of_number,
    one_piece,
    renamed,
    side_by_side,
)
from fuseconv.transforms.rnn.recurrence import Loop, known_size

_FUNCTIONS = frozenset({
    "Sigmoid", "Tanh", "Relu", "Relu6", "Elu", "Selu", "Softplus", "Softsign", "Exp", "Abs", "Erf", "Sin", "Cos",
    "LeakyRelu", "Sqrt", "Rsqrt", "Log", "Log1p", "Expm1", "Sign", "Floor", "Round",
})  # fmt: skip


class Step:
    """The values of one step of a loop.

    What the step makes of a state is an atom of its own (`next`) wherever it is read; `definition` tells what it is.
    """

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.known: dict[Value, Columns | None] = {}
        self.next: dict[Value, int] = {}
        for i in loop.states:
            self.next.setdefault(loop.made[i], i)
        for number, given in enumerate(loop.inputs):
            shape = given.tensor.shape
            assert shape is not None
            if len(shape) == 3 and isinstance(shape[2], int):
                self.known[given.item] = _source("x", number, shape[2])
        for i in loop.states:
            width = self.width(i)
            if width is not None:
                self.known[loop.body.inputs[i]] = _source("state", i, width)
        for op in loop.body.ops:
            for result, columns in zip(op.results, self.run(op)):
                self.known.setdefault(result, columns)

    def width(self, state: int) -> int | None:
        """Return the number of columns of a state; None if it is not [batch, n]."""
        initial = self.loop.op.operands[state]
        shape = initial.shape if initial is not None else None
        return shape[1] if shape is not None and len(shape) == 2 and isinstance(shape[1], int) else None

    def definition(self, state: int) -> Columns | None:
        """Return what the step makes of a state."""
        return self.known.get(self.loop.made[state])

    def operand(self, value: Value | None) -> Columns | None:
        """Return what a value is, as its readers see it; None if it is not [batch, n] with a known n."""
        if value is None:
            return None
        if value in self.next:
            width = self.width(self.next[value])
            return None if width is None else _source("next", self.next[value], width)
        if value not in self.known:
            self.known[value] = _weight(value)
        return self.known[value]

    def run(self, op: Op) -> list[Columns | None]:
        """Return what the results of an op are: atoms of their own where it cannot be said."""
        try:
            made = self.apply(op)
        except TooLarge:
            made = None
        if made is None:
            return [_opaque(result) for result in op.results]
        return made if isinstance(made, list) else [made]

    def apply(self, op: Op) -> Columns | list[Columns | None] | None:
        """Return what an op makes; None if that cannot be said."""
        rule = _RULES.get(op.type)
        if rule is not None:
            return rule(self, op)
        if op.type in _FUNCTIONS:
            return self.map(lambda x: polynomial.call(_name(op), x), op.operands[0])
        if op.type in _ARITHMETIC:
            return self.map(_ARITHMETIC[op.type], *op.operands)
        return None

    def map(self, function: Callable[..., Poly], *operands: Value | None) -> Columns | None:
        """Return a function of polynomials of operands, column by column; None if one of these is not known."""
        columns = [self.operand(operand) for operand in operands]
        known = [operand for operand in columns if operand is not None]
        return elementwise(lambda *x: renamed(function(*x)), *known) if len(known) == len(columns) else None


def _source(role: str, index: int, width: int) -> Columns:
    """Return all columns of an input (`x`), of a state, or of what the step makes of a state (`next`)."""
    return one_piece(of_atom(Source(role, index, 0, width, width)), width)


def _weight(value: Value) -> Columns | None:
    """Return a constant or another value from outside, as a number or a vector that is the same for the whole batch."""
    data = value.data
    if data is not None and data.dtype.kind == "f" and data.size and data.ndim <= 2 and (data == data.flat[0]).all():
        width = None if data.ndim == 0 or data.shape[-1] == 1 else data.shape[-1]
        return one_piece(of_number(float(data.flat[0])), width)
    shape = value.shape
    if data is None or shape is None or value.dtype.numpy.kind != "f" or len(shape) > 2 or shape[:-1] not in ((), (1,)):
        return None
    return one_piece(of_atom(Vector(Part(value, (0, data.size)))), data.size)


def _opaque(value: Value) -> Columns | None:
    """Return a value [batch, n] as an atom of which nothing is known; None of another shape."""
    shape = value.shape
    if shape is None or len(shape) != 2 or not isinstance(shape[1], int):
        return None
    return one_piece(of_atom(Opaque(value, 0, shape[1])), shape[1])


def _name(op: Op) -> str:
    """Return the name of a function, with its attributes."""
    return op.type + "".join(f" {key}={value}" for key, value in sorted(op.attrs.items()))


def _negated(x: Poly) -> Poly:
    return x.scaled(-1.0)


def _quotient(a: Poly, b: Poly) -> Poly:
    return a * _inverse(b)


def _inverse(x: Poly) -> Poly:
    number = x.number
    return of_number(1.0 / number) if number else polynomial.call("Reciprocal", x)


def _total(*parts: Poly) -> Poly:
    return polynomial.poly(term for part in parts for term in part.terms)


def _clip(low: float, high: float, x: Poly) -> Poly:
    """Read a clip that is put together from a maximum and a minimum."""
    atom = x.atom
    if isinstance(atom, polynomial.Call) and (bounds := polynomial.bounds(atom.name)) is not None:
        # Between the outer bounds, or at the one that lies nearer to what the inner ones let through.
        low, high = (min(max(bound, low), high) for bound in bounds)
        x = atom.argument
    return polynomial.call(polynomial.clip_name(low, high), x)


def _bounded(minimum: bool) -> Callable[..., Poly]:
    """Return the meaning of Minimum, or of Maximum: a clip on one side. It raises TooLarge if neither is a number."""
    def function(a: Poly, b: Poly) -> Poly:
        x, bound = (b, a.number) if b.number is None else (a, b.number)
        if bound is None:
            raise TooLarge
        return _clip(-np.inf, bound, x) if minimum else _clip(bound, np.inf, x)

    return function


def _clip_by_value(x: Poly, low: Poly, high: Poly) -> Poly:
    if low.number is None or high.number is None:
        raise TooLarge
    return _clip(low.number, high.number, x)


_ARITHMETIC: dict[str, Callable[..., Poly]] = {
    "Add": Poly.__add__,
    "AddV2": Poly.__add__,
    "BiasAdd": Poly.__add__,
    "AddN": _total,
    "Sub": lambda a, b: a + _negated(b),
    "Neg": _negated,
    "Mul": Poly.__mul__,
    "Square": lambda x: x * x,
    "RealDiv": _quotient,
    "Div": _quotient,
    "Reciprocal": _inverse,
    "Inv": _inverse,
    "Maximum": _bounded(minimum=False),
    "Minimum": _bounded(minimum=True),
    "ClipByValue": _clip_by_value,
}


def _matmul(step: Step, op: Op) -> Columns | None:
    if op.attrs.get("transpose_a") or op.attrs.get("adj_x"):
        return None
    return _product(step, op.operands[0], op.operands[1], bool(op.attrs.get("transpose_b") or op.attrs.get("adj_y")))


def _einsum(step: Step, op: Op) -> Columns | None:
    """Return an Einsum that is a product of two matrices: "ij,jk->ik", "ij,kj->ik"."""
    equation = op.attrs["equation"]
    left, _, rest = (equation.decode() if isinstance(equation, bytes) else equation).replace(" ", "").partition(",")
    right, _, result = rest.partition("->")
    if not (len(left) == len(right) == len(result) == 2) or left[0] != result[0] or len(op.operands) != 2:
        return None
    if len({*left, *right}) != 3:  # a diagonal
        return None
    if right not in (left[1] + result[1], result[1] + left[1]):
        return None
    return _product(step, op.operands[0], op.operands[1], right[0] == result[1])


def _product(step: Step, left: Value | None, right: Value | None, transposed: bool) -> Columns | None:
    """Return the product with a constant matrix: the sum of each piece of the columns times its rows of the matrix."""
    columns = step.operand(left)
    shape = right.shape if right is not None and right.data is not None else None
    if columns is None or columns.width is None or shape is None or len(shape) != 2:
        return None
    height, width = shape[::-1] if transposed else shape
    if height != columns.width:
        return None
    assert right is not None and isinstance(width, int)
    total, at = of_number(0.0), 0
    for piece, size in columns.pieces:
        assert size is not None
        matrix = Part(right, (0, width), (at, at + size), transposed)
        total = total + of_atom(Product(piece, matrix))
        at += size
    return one_piece(total, width)


def _split(step: Step, op: Op) -> list[Columns | None] | None:
    """Split and SplitV along the columns."""
    value, axis = (op.operands[1], op.operands[0]) if op.type == "Split" else (op.operands[0], op.operands[2])
    columns = step.operand(value)
    if columns is None or columns.width is None or known_size(axis) not in (1, -1):
        return None
    count = len(op.results)
    sizes = [columns.width // count] * count
    if op.type == "SplitV":
        given = op.operands[1].data if op.operands[1] is not None else None
        if given is None:
            return None
        known = [int(size) for size in given]
        sizes = [size if size >= 0 else columns.width - sum(s for s in known if s >= 0) for size in known]
    made: list[Columns | None] = []
    at = 0
    for size in sizes:
        made.append(columns.cut(at, at + size))
        at += size
    return made


def _slice(step: Step, op: Op) -> Columns | None:
    """Return a Slice or StridedSlice of columns, for the whole batch."""
    columns = step.operand(op.operands[0])
    spec = SliceSpec.of(op)
    takes = spec.takes() if spec is not None else None
    if columns is None or columns.width is None or takes is None or len(takes) != 2 or not takes[0].takes_all():
        return None
    _, take = takes
    if any(bound is not None and not isinstance(bound, int) for bound in (take.begin, take.end)):
        return None
    begin, end, _ = slice(take.begin, take.end).indices(columns.width)
    return columns.cut(begin, end) if begin < end else None


def _concat(step: Step, op: Op) -> Columns | None:
    """Return a ConcatV2 of columns, for the whole batch."""
    *values, axis = op.operands
    columns = [step.operand(value) for value in values]
    known = [part for part in columns if part is not None and part.width is not None]
    if len(known) != len(columns) or known_size(axis) not in (1, -1):
        return None
    return side_by_side(known)


def _same_row(step: Step, op: Op) -> Columns | None:
    """Return a change of shape that keeps the columns: between [n] and [1, n], which the same one row has."""
    value = op.operands[0]
    shapes = [None if v is None else v.shape for v in (value, op.result)]
    rows = [shape is not None and 0 < len(shape) < 3 and shape[:-1] in ((), (1,)) for shape in shapes]
    return step.operand(value) if all(rows) or (shapes[0] is not None and shapes[0] == shapes[1]) else None


def _filled(number: float) -> Callable[[Step, Op], Columns | None]:
    def rule(step: Step, op: Op) -> Columns | None:
        columns = step.operand(op.operands[0])
        return None if columns is None else one_piece(of_number(number), columns.width)

    return rule


_RULES: dict[str, Callable[[Step, Op], Columns | list[Columns | None] | None]] = {
    "MatMul": _matmul,
    "BatchMatMulV2": _matmul,
    "BatchMatMulV3": _matmul,
    "Einsum": _einsum,
    "Split": _split,
    "SplitV": _split,
    "Slice": _slice,
    "StridedSlice": _slice,
    "ConcatV2": _concat,
    "OnesLike": _filled(1.0),
    "ZerosLike": _filled(0.0),
    "Squeeze": _same_row,
    "ExpandDims": _same_row,
    "Reshape": _same_row,
}
