"""Decompositions of matrices whose vectors' signs a result depends on, which no other algorithm than the model's knows.

Of u and v of a singular value decomposition, column k of both may change its sign, of eigenvectors that of v alone. An
element of what is made of them has the sign of column k of matrix b as a factor, where b and k are its places along
some dimensions. Products that sum over column k of the same matrix in both operands have none: v f(s) u', as
pseudoinverses, whitening and rotations between points have it. (Of equal values the vectors are any of a space, which
f(s) does not see either; those of values that are 0 TensorFlow chooses by rounding.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from operator import xor

from fuseconv.ir.graph import Graph, Module, Op, Rejection, Value
from fuseconv.ir.op_slices import forward_slice
from fuseconv.ir.rewriter import ops_of_kinds
from fuseconv.ir.terms import is_zero, op_of
from fuseconv.pass_manager import module_pass
from fuseconv.tf.operands import content_of
from fuseconv.tf.traits import ADDS, PRODUCTS

# Signs that are not known, and are factors of a tensor's elements. Of each, the dimensions along which it differs,
# counted from the last (-1, -2, ...): those of the matrices in a batch, in their order, then that of the columns.
Sign = tuple[int, ...]
Signed = frozenset[Sign]

_DECOMPOSITIONS = frozenset({"tf.Svd", "tf.SelfAdjointEigV2"})
_DIAGONALS = frozenset({"tf.MatrixDiag", "tf.MatrixDiagV2", "tf.MatrixDiagV3"})
_NONE: Signed = frozenset()
SEEN_SIGNS = Rejection(
    "vectors of matrices are defined up to their signs, of which each algorithm chooses some; only the values, "
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
    signed = {value: frozenset({_of_columns(value)}) for value in decomposition.results[1:]}
    readers = forward_slice([*signed])
    for op in (*graph.ops, graph.terminator):
        if op not in readers or not any(signed.get(value) for value in op.operands if value is not None):
            continue
        made = _of_result(op, [signed.get(value, _NONE) for value in op.operands])  # type: ignore[arg-type]
        if made is None:
            return True
        signed[op.result] = made
    return False


def _of_columns(vectors: Value) -> Sign:
    """Return the sign of vectors that are columns: [b, n, k] -> (-3, -1)."""
    shape = vectors.shape or ()
    return (*(axis for axis in range(-len(shape), -2) if shape[axis] != 1), -1)


def _of_result(op: Op, signed: list[Signed]) -> Signed | None:
    """Return the signs of an op's result; None if they cannot be told."""
    rule = _RULES.get(op.kind)
    shapes_known = all(value is not None and value.shape is not None for value in (*op.operands, *op.results))
    return rule(op, signed) if rule is not None and shapes_known else None


def _same(op: Op, signed: list[Signed]) -> Signed | None:
    """As those of all operands; numbers that are 0 have any."""
    parts = [part for value, part in zip(op.operands, signed) if not is_zero(value)]
    return _kept(op, signed, parts[0]) if all(part == parts[0] for part in parts) else None


def _selected(op: Op, signed: list[Signed]) -> Signed | None:
    sides = [part for value, part in zip(op.operands[1:], signed[1:]) if not is_zero(value)]
    return _kept(op, signed, sides[0]) if not signed[0] and all(part == sides[0] for part in sides) else None


def _multiplied(op: Op, signed: list[Signed]) -> Signed | None:
    return _kept(op, signed, signed[0] ^ signed[1])


def _unsigned(op: Op, signed: list[Signed]) -> Signed | None:
    return _NONE


def _kept(op: Op, signed: list[Signed], made: Signed, rank: int = 0) -> Signed | None:
    """Return `made` if no dimension along which signs differ is broadcast, before the last `rank` ones."""
    for value, part in zip(op.operands, signed):
        axes = [axis for axis in _axes(part) if axis < -rank]
        if any(value.shape[axis] != op.result.shape[axis] for axis in axes):  # type: ignore[union-attr,index]
            return None
    return made


def _axes(signed: Signed) -> set[int]:
    return {axis for sign in signed for axis in sign}


def _moved(signed: Signed, places: Mapping[int, int]) -> Signed:
    """Return signs with other numbers of dimensions. places: what becomes of those that change."""
    return frozenset(tuple(places.get(axis, axis) for axis in sign) for sign in signed)


def _transposed(op: Op, signed: list[Signed]) -> Signed | None:
    order = content_of(op.operands[1])
    if order is None or signed[1]:
        return None
    rank = len(order)
    return _moved(signed[0], {int(order[place]) % rank - rank: place - rank for place in range(rank)})


def _matmul(op: Op, signed: list[Signed]) -> Signed | None:
    """Multiply x[b, i, k] by y[b, k, j], and sum over k, here 0. Where y is a diagonal, only k = j is left; i of x."""
    flags = ("transpose_a", "adj_x"), ("transpose_b", "adj_y")
    places = ({-1: 0}, {-2: 0, -1: -2}), ({-2: 0}, {-1: 0, -2: -1})
    swaps = [any(op.attrs.get(flag) for flag in either) for either in flags]
    left, right = (_moved(part, either[swap]) for part, either, swap in zip(signed, places, swaps))
    if 0 in _axes(left ^ right):
        x, y = op.operands
        left_over = -1 if _is_diagonal(y) else -2 if _is_diagonal(x) else 0
        left, right = (_moved(part, {0: left_over}) for part in (left, right))
    made = _not_summed(left ^ right)
    return None if made is None else _kept(op, signed, made, 2)


def _einsum(op: Op, signed: list[Signed]) -> Signed | None:
    equation = op.attrs["equation"]
    inputs, _, output = equation.partition("->")
    terms = inputs.split(",")
    if "." in equation or any(len({*term}) < len(term) for term in (*terms, output)):
        return None
    if any(value is None or value.rank != len(term) for value, term in zip(op.operands, terms)):
        return None
    numbers = {label: at for at, label in enumerate(inputs)}
    numbers |= {label: at - len(output) for at, label in enumerate(output)}
    places = [{at - len(term): numbers[label] for at, label in enumerate(term)} for term in terms]
    return _not_summed(reduce(xor, map(_moved, signed, places)))


def _not_summed(signed: Signed) -> Signed | None:
    """Return signs, unless one differs along a dimension that is summed over, which has a number of 0 or more."""
    return signed if all(axis < 0 for axis in _axes(signed)) else None


def _is_diagonal(value: Value | None) -> bool:
    """Return whether a value is a square matrix of a diagonal."""
    op = op_of(value, _DIAGONALS)
    if op is None:
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
    return _moved(signed[0], {each: each - 1 for each in range(1 - rank, at + 1)})


def _squeezed(op: Op, signed: list[Signed]) -> Signed | None:
    gone = [int(axis) for axis in op.attrs.get("squeeze_dims", ())]
    rank = op.operands[0].rank or 0  # type: ignore[union-attr]
    if len(gone) != 1 or gone[0] % rank - rank in _axes(signed[0]):
        return None
    at = gone[0] % rank - rank
    return _moved(signed[0], {each: each + 1 for each in range(-rank, at)})


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
