"""Decompositions of matrices whose vectors' signs a result depends on, which no algorithm but TensorFlow's knows.

Of u and v of a singular value decomposition, column k of both may change its sign, of eigenvectors that of v alone. In
what is made of them the signs of some dimensions' elements are such. Products that sum over such a dimension of both
operands have none: v f(s) u', as pseudoinverses, whitening and rotations between points have it. (Of equal values the
vectors are any of a space, which f(s) does not see either; those of values that are 0 TensorFlow chooses by rounding.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fuseconv.ir.graph import Graph, Module, Op, Rejection, Value
from fuseconv.ir.op_slices import forward_slice
from fuseconv.ir.rewriter import ops_of_kinds
from fuseconv.pass_manager import module_pass
from fuseconv.tf.operands import content_of
from fuseconv.tf.traits import ADDS, PRODUCTS

# The dimensions of a tensor whose elements have signs that are not known, counted from the last: -1, -2, ...
Signed = frozenset[int]

_DECOMPOSITIONS = frozenset({"tf.Svd", "tf.SelfAdjointEigV2"})
_DIAGONALS = frozenset({"tf.MatrixDiag", "tf.MatrixDiagV2", "tf.MatrixDiagV3"})
_NONE: Signed = frozenset()
SEEN_SIGNS = Rejection(
    "vectors of matrices are defined up to their signs, of which TensorFlow's algorithm chooses some; only the values, "
    "and products in which the signs cancel (v * f(s) @ u'), are composed"
)


@module_pass("reject-vector-signs", kinds=_DECOMPOSITIONS)
def reject_vector_signs(module: Module) -> bool:
    """Reject decompositions of which a result has the signs: return u -> an op that is refused.

    Returns whether there are such."""
    found = [(op, graph) for graph in module.graphs() for op in ops_of_kinds(graph, _DECOMPOSITIONS)]
    seen = [op for op, graph in found if _are_seen(op, graph)]
    for op in seen:
        op.rejection = SEEN_SIGNS
    return bool(seen)


def _are_seen(decomposition: Op, graph: Graph) -> bool:
    signed: dict[Value, Signed] = {value: frozenset({-1}) for value in decomposition.results[1:]}
    readers = forward_slice([*signed])
    for op in (*graph.ops, graph.terminator):
        if op not in readers or not any(signed.get(value) for value in op.operands if value is not None):
            continue
        made = _of_result(op, [signed.get(value, _NONE) for value in op.operands])  # type: ignore[arg-type]
        if made is None:
            return True
        signed[op.result] = made
    return False


def _of_result(op: Op, signed: list[Signed]) -> Signed | None:
    """Return the dimensions of an op's result that have signs; None if that cannot be told."""
    rule = _RULES.get(op.kind)
    shapes_known = all(value is not None and value.shape is not None for value in (*op.operands, *op.results))
    return rule(op, signed) if rule is not None and shapes_known else None


def _same(op: Op, signed: list[Signed]) -> Signed | None:
    """As those of all operands; numbers that are 0 have any."""
    parts = [part for value, part in zip(op.operands, signed) if not _is_zero(value)]
    return _kept(op, signed, parts[0]) if all(part == parts[0] for part in parts) else None


def _selected(op: Op, signed: list[Signed]) -> Signed | None:
    sides = [part for value, part in zip(op.operands[1:], signed[1:]) if not _is_zero(value)]
    return _kept(op, signed, sides[0]) if not signed[0] and all(part == sides[0] for part in sides) else None


def _multiplied(op: Op, signed: list[Signed]) -> Signed | None:
    return _kept(op, signed, signed[0] ^ signed[1])


def _unsigned(op: Op, signed: list[Signed]) -> Signed | None:
    return _NONE


def _kept(op: Op, signed: list[Signed], made: Signed) -> Signed | None:
    """Return `made` if no dimension with signs is broadcast."""
    for value, part in zip(op.operands, signed):
        if any(value.shape[axis] != op.result.shape[axis] for axis in part):  # type: ignore[union-attr,index]
            return None
    return made


def _transposed(op: Op, signed: list[Signed]) -> Signed | None:
    order = content_of(op.operands[1])
    if order is None or signed[1]:
        return None
    rank = len(order)
    return frozenset(place - rank for place in range(rank) if int(order[place]) - rank in signed[0])


def _matmul(op: Op, signed: list[Signed]) -> Signed | None:
    """Rows of the first and columns of the second operand keep their signs; both have the same along the dimension that
    is summed over, unless one is a diagonal."""
    names = ("transpose_a", "adj_x"), ("transpose_b", "adj_y")
    swaps = [any(op.attrs.get(name) for name in either) for either in names]
    left, right = (_swapped(part) if swap else part for part, swap in zip(signed, swaps))
    if any(axis < -2 for axis in left | right):
        return None
    made = {axis for axis in (-2,) if axis in left} | {axis for axis in (-1,) if axis in right}
    if (-1 in left) != (-2 in right):
        scale, axis = (op.operands[1], -1) if -1 in left else (op.operands[0], -2)
        if not _is_diagonal(scale) or axis in made:
            return None
        made.add(axis)
    return frozenset(made)


def _einsum(op: Op, signed: list[Signed]) -> Signed | None:
    """What one label is signed in an odd number of operands has signs, and is not summed over."""
    equation = op.attrs["equation"]
    inputs, _, output = equation.partition("->")
    terms = inputs.split(",")
    if "." in equation or any(len({*term}) < len(term) for term in (*terms, output)):
        return None
    labels = [term[axis] for term, part in zip(terms, signed) for axis in part]
    odd = {label for label in labels if labels.count(label) % 2}
    return frozenset(output.index(label) - len(output) for label in odd) if odd <= {*output} else None


def _swapped(signed: Signed) -> Signed:
    return frozenset({-1: -2, -2: -1}.get(axis, axis) for axis in signed)


def _is_diagonal(value: Value | None) -> bool:
    """Return whether a value is a square matrix of a diagonal."""
    op = value.op if value is not None else None
    if op is None or op.kind not in _DIAGONALS:
        return False
    wanted = (0, -1, -1)  # which diagonal, how many rows and columns
    given = [content_of(each) for each in op.operands[1:4]]
    return all(each is not None and each.reshape(-1).tolist() == [one] for each, one in zip(given, wanted))


def _expanded(op: Op, signed: list[Signed]) -> Signed | None:
    axis = content_of(op.operands[1])
    rank = op.result.rank or 0
    if axis is None:
        return None
    at = int(axis.reshape(-1)[0]) % rank - rank
    return frozenset(each - 1 if each <= at else each for each in signed[0])


def _squeezed(op: Op, signed: list[Signed]) -> Signed | None:
    gone = [int(axis) for axis in op.attrs.get("squeeze_dims", ())]
    rank = op.operands[0].rank or 0  # type: ignore[union-attr]
    if len(gone) != 1 or gone[0] % rank - rank in signed[0]:
        return None
    at = gone[0] % rank - rank
    return frozenset(each + 1 if each < at else each for each in signed[0])


def _is_zero(value: Value | None) -> bool:
    return value is not None and value.data is not None and not value.data.any()


def _rules() -> Iterator[tuple[str, Callable[[Op, list[Signed]], Signed | None]]]:
    for kind in (*ADDS, "tf.Sub", "tf.Identity", "tf.Neg"):
        yield kind, _same
    for kind in ("tf.Mul", "tf.RealDiv", "tf.Div"):
        yield kind, _multiplied
    for kind in ("tf.Square", "tf.Abs", "tf.Shape"):
        yield kind, _unsigned
    for kind in PRODUCTS - {"tf.Einsum"}:
        yield kind, _matmul
    yield "tf.Einsum", _einsum
    yield "tf.SelectV2", _selected
    yield "tf.Transpose", _transposed
    yield "tf.ExpandDims", _expanded
    yield "tf.Squeeze", _squeezed


_RULES = dict(_rules())
