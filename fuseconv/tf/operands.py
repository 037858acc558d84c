"""Operand queries of shape functions: shapes, and the elements of small integer tensors, with symbols for unknown
sizes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fuseconv.ir import dims, types
from fuseconv.ir.dims import Dim, Shape, Sym
from fuseconv.ir.graph import Op, Value
from fuseconv.ir.terms import look_through
from fuseconv.tf.traits import RESHAPES, ROUNDING

# A content is followed only through tensors as small as those that hold shapes.
CONTENT_LIMIT = 64
# TensorFlow's shapes are no longer; a damaged model may claim any length.
MAX_RANK = 254


class UnknownShape(Exception):
    """Raised by a shape function that cannot tell even the rank of its results."""


class Contradiction(Exception):
    """Raised by a shape function for operands or attributes that TensorFlow rejects as well. The message says why. The
    op may yet stand in a branch that is never taken, so only lowering refuses it."""


def agree(condition: bool, why: str) -> None:
    """Raise Contradiction with `why` unless the condition holds. What is asked of ops that each model has raises it by
    itself: a sentence takes longer to make than a condition to check."""
    if not condition:
        raise Contradiction(why)


def content_of(value: Value | None) -> np.ndarray | None:
    """Return the elements of a small integer (or bool) tensor as an object array of ints and Syms, None if not
    known."""
    if value is None:
        return None
    if value.content is not None:
        return value.content
    data = value.data
    if data is None or data.dtype.kind not in "iub" or data.size > CONTENT_LIMIT:
        return None
    return data.astype(object)


def added_units(core: Shape | None, shape: Shape) -> frozenset[int] | None:
    """Return where a shape has dimensions of size 1 that another lacks; None if they differ in more than that."""
    if core is None:
        return None
    units, place = set(), 0
    for axis, size in enumerate(shape):
        if place < len(core) and core[place] == size:
            place += 1
        elif size == 1:
            units.add(axis)
        else:
            return None
    return frozenset(units) if place == len(core) else None


def is_reversal(reader: Op, axis: int) -> bool:
    """Return whether an op reverses one dimension, and no other."""
    axes = reader.operands[1].data if reader.kind == "tf.ReverseV2" and reader.operands[1] is not None else None
    return axes is not None and axes.reshape(-1).tolist() == [axis]


def is_kept_from_zero(value: Value) -> bool:
    """Return True if a model, of either dialect, has taken care that a value is not 0, as norms do. Such a value is a
    constant, a maximum with a positive constant, or a sum of a positive constant and what is not negative."""
    while value.op is not None and value.op.type in ("Cast", "CAST"):
        source = value.op.operands[0]
        if source is None or not (source.dtype.is_float and value.dtype.is_float):
            return False
        value = source
    if value.data is not None:
        return bool((value.data != 0).all())
    op = value.op
    if op is None or op.type not in ("Add", "AddV2", "ADD", "Maximum", "MAXIMUM"):
        return False
    constants = [x.data for x in op.operands if x is not None and x.data is not None]
    return any(bool((data > 0).all()) for data in constants)


def is_whole(value: Value) -> bool:
    """Return True if a tensor holds nothing but whole numbers, infinities and NaN, as counts and ranks do: it is a
    constant of such, rounded, or cast from integers."""
    value = look_through(value, RESHAPES)
    if value.data is not None:
        return bool((value.data == np.rint(value.data)).all())
    op = value.op
    if op is None or op.kind not in ROUNDING | {"tf.Cast"} or op.operands[0] is None:
        return False
    source = op.operands[0].dtype
    return op.kind in ROUNDING or source.is_integer or source is types.BOOL


def shape_of(value: Value) -> Shape:
    """Return the shape of an operand whose rank is needed. Raises UnknownShape."""
    if value.shape is None:
        raise UnknownShape
    return value.shape


def with_rank(value: Value, rank: int) -> Shape:
    """Return the shape of an operand that must have this rank; unknown dimensions if its rank is not known. Raises
    Contradiction."""
    if value.shape is None:
        return tuple(dims.fresh() for _ in range(rank))
    if len(value.shape) != rank:
        raise Contradiction(f"an operand has {len(value.shape)} dimensions and not {rank}")
    return value.shape


def elements(value: Value) -> list[Dim]:
    """Return the elements of an operand, flat. Raises UnknownShape if they are not known."""
    known = value.data if value.content is None else value.content
    if known is None or value.dtype.numpy.kind not in "iub":
        raise UnknownShape
    return known.reshape(-1).tolist()


def ints(value: Value) -> list[int]:
    """Return the elements of an operand, all of them known integers, such as axes. Raises UnknownShape."""
    known = elements(value)
    if Sym in map(type, known):
        raise UnknownShape
    return known  # type: ignore[return-value]


def scalar(value: Value, hint: str = "u") -> Dim:
    """Return the single element of an operand that is a size, or an unknown. Raises Contradiction if it has several."""
    content = content_of(value)
    shape = value.shape if content is None else content.shape
    count = 1 if shape is None else dims.product(shape)
    agree(isinstance(count, Sym) or count == 1, f"it takes one number for a size, and is given {count}")
    return dims.fresh(hint) if content is None else content.reshape(-1)[0]


def sizes(value: Value, hint: str = "u") -> list[Dim]:
    """Return the elements of a vector of sizes; an unknown for each where only its length is known. Raises
    UnknownShape, and Contradiction if it is no vector."""
    if value.content is not None or value.data is not None:
        return elements(value)
    if value.op is not None and value.op.kind == "tf.Pack" and value.rank == 1:
        return [dims.fresh(hint) if each is None else scalar(each, hint) for each in value.op.operands]
    count = None if value.shape is None else with_rank(value, 1)[0]
    if not isinstance(count, int) or count > MAX_RANK:
        raise UnknownShape
    return [dims.fresh(hint) for _ in range(count)]


def extents(value: Value, hint: str = "u") -> list[Dim]:
    """Return the sizes that an operand gives for a result's shape; an unknown for one that is not surely a size."""
    known = sizes(value, hint)
    for size in known:
        if isinstance(size, int) and size < -1:
            raise Contradiction(f"it is to have {size} elements")
    return [size if nonnegative(size) else dims.fresh(hint) for size in known]


def agree_on_indices(params: Value, indices: Value, axis: int) -> None:
    """Raise Contradiction for indices beyond a constant: LiteRT gathers what is constant as it loads a file. Of other
    tensors it may be that nobody ever gathers."""
    if params.data is not None and indices.data is not None:
        inside = (indices.data >= 0) & (indices.data < params.data.shape[axis])
        agree(bool(inside.all()), f"it has an index beyond the {params.data.shape[axis]} elements of dimension {axis}")


def axis_in(axis: int, rank: int) -> int:
    """Return an axis counted from the front. Raises Contradiction if it is out of range."""
    if not -rank <= axis < rank:
        raise Contradiction(f"it has an axis {axis} of {rank} dimensions")
    return axis % rank


def axis_held_by(axis: Value, rank: int) -> int:
    """Return the axis that an operand holds, counted from the front. Raises Contradiction if it holds no one number, or
    one out of range, and UnknownShape if it is no constant."""
    held = ints(axis)
    agree(len(held) == 1, f"it takes one axis, and is given {len(held)}")
    return axis_in(held[0], rank)


def nonnegative(dim: Dim) -> bool:
    """Return True if an expression over sizes (which are never negative) cannot be negative."""
    if isinstance(dim, int):
        return dim >= 0
    if all(c >= 0 and all(_atom_nonnegative(atom) for atom in monomial) for monomial, c in dim.terms):
        return True
    for monomial, c in dim.terms:
        quotient = monomial[0] if c < 0 and len(monomial) == 1 else None
        if isinstance(quotient, tuple) and isinstance(quotient[2], int) and quotient[0] == "//" and quotient[2] > 0:
            # n // k is at most n / k, and a whole number above -1 is not negative.
            _, top, divisor = quotient
            others = dim - Sym(((monomial, c),))
            bound = others * divisor + top * c + (divisor - 1)
            # What grows too large is a symbol of its own, of which this is not known.
            same = isinstance(bound, int) or bound.symbols() <= dim.symbols()
            return same and nonnegative(bound)
    return False


def _atom_nonnegative(atom: object) -> bool:
    return isinstance(atom, str) or (isinstance(atom, tuple) and all(nonnegative(part) for part in atom[1:]))


def same(a: Dim, b: Dim) -> Dim:
    """Return the size of a dimension that two operands must agree on. Raises Contradiction."""
    if a != b and isinstance(a, int) and isinstance(b, int):
        raise Contradiction(f"its operands have {a} and {b} elements where they must have equally many")
    return b if isinstance(a, Sym) and isinstance(b, int) else a


def same_shape(shapes: Sequence[Shape | None]) -> Shape | None:
    """Return the shape of operands that must all have one shape: the most that any of them tells."""
    known = [shape for shape in shapes if shape is not None]
    if not known:
        return None
    if any(len(shape) != len(known[0]) for shape in known):
        raise Contradiction("its operands do not have equally many dimensions")
    result = known[0]
    for shape in known[1:]:
        result = tuple(same(a, b) for a, b in zip(result, shape))
    return result


def dims_behind(data: Value, leading: Value) -> Shape:
    """Return the dimensions of data behind those that it shares with another operand: [2, 3, 4] and [2, 3] -> [4].
    Raises Contradiction where these differ."""
    shape, shared = shape_of(data), shape_of(leading)
    same_shape([shape[: len(shared)], shared])
    return shape[len(shared) :]


def broadcast_dim(a: Dim, b: Dim) -> Dim:
    """Return the size that two sizes broadcast to."""
    if a == b or b == 1:
        return a
    if a == 1:
        return b
    if isinstance(a, int):
        if isinstance(b, int):
            raise Contradiction(f"its operands' dimensions {a} and {b} do not broadcast")
        return a
    return b if isinstance(b, int) else dims.either(a, b)


def broadcast(*shapes: Shape | None) -> Shape:
    """Return the shape that shapes broadcast to, by NumPy's rules. Raises UnknownShape if a rank is not known."""
    result: Shape = ()
    for shape in shapes:
        if shape is None:
            raise UnknownShape
        if not result:
            result = shape
        elif shape and shape != result:
            more = len(shape) - len(result)
            result = tuple(map(broadcast_dim, (1,) * more + result, (1,) * -more + shape))
    return result
