"""Einsum as transposes, reshapes and one product: a dense layer, a batched matrix product or an elementwise one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fuseconv.ir import budget, types
from fuseconv.ir.dims import Dim, product
from fuseconv.ir.graph import Value
from fuseconv.lower.ops.math.matmul import dense, matmul
from fuseconv.lower.rules import Lowering, lowers, require
from fuseconv.lower.support.dynamic_shapes import reshape, shape_of, static_dims
from fuseconv.lower.support.legalize_operands import elementwise, filled, select
from fuseconv.lower.support.merged_dims import transpose
from fuseconv.lower.support.type_promotion import build_on_complex_parts, cast, in_float32, promote

# A dimension's name: a letter of the equation, or for an ellipsis' dimensions a number that counts from the right.
Label = str | int
Labels = tuple[Label, ...]

# BATCH_MATMUL takes rank 5.
_MOST_BATCHES = 3


class _Term(NamedTuple):
    """A value and the labels of its dimensions."""

    value: Value
    labels: Labels

    @property
    def sizes(self) -> dict[Label, Dim]:
        return dict(zip(self.labels, shape_of(self.value)))


class _Layout(NamedTuple):
    """The layout of a matrix product: the order of the labels in each group, and the operand that comes first."""

    swap: bool
    batch: Labels
    left: Labels
    right: Labels
    contracted: Labels
    adj_left: bool
    adj_right: bool

    @property
    def left_order(self) -> Labels:
        return self.batch + (self.contracted + self.left if self.adj_left else self.left + self.contracted)

    @property
    def right_order(self) -> Labels:
        return self.batch + (self.right + self.contracted if self.adj_right else self.contracted + self.right)

    @property
    def result(self) -> Labels:
        return self.batch + self.left + self.right


@lowers
def Einsum(tfl, *inputs, equation):
    """FULLY_CONNECTED with a constant, BATCH_MATMUL, or MUL if nothing is summed; transposes as few as can be."""
    if tfl.dtype is types.COMPLEX64 and len(inputs) == 1:
        return build_on_complex_parts(tfl, lambda part: _einsum(tfl, part, equation=equation), *inputs)
    if tfl.dtype is types.COMPLEX64:
        return _einsum(tfl, *inputs, equation=equation)
    if tfl.dtype.is_integer:
        wide = [promote(tfl, x, (types.INT32, types.INT64)) for x in inputs]
        return cast(tfl, _einsum(tfl, *wide, equation=equation), tfl.dtype)
    return in_float32(_einsum)(tfl, *inputs, equation=equation)


def _einsum(tfl: Lowering, *inputs: Value, equation: str) -> Value:
    left, _, right = equation.replace(" ", "").partition("->")
    terms = [_term(tfl, text, x) for text, x in zip(left.split(","), inputs)]
    widest = max(sum(isinstance(label, int) for label in term.labels) for term in terms)
    output = _labels(right, widest)
    unique = tuple(dict.fromkeys(output))
    return _spread(tfl, _Term(_product(tfl, terms, unique), unique), output)


def _product(tfl: Lowering, terms: list[_Term], output: Labels) -> Value:
    """Multiply one or two terms, and sum over labels that neither `output` nor the other has: by FULLY_CONNECTED with a
    constant, else BATCH_MATMUL, or element by element for integers and where nothing is contracted."""
    if len(terms) == 1:
        return _arranged(tfl, _summed(tfl, terms[0], set(output)), output)
    require(len(terms) == 2, "an Einsum of more than two operands is not supported")
    a, b = terms
    a, b = _unbroadcast(tfl, a, b), _unbroadcast(tfl, b, a)
    a, b = _summed(tfl, a, {*output, *b.labels}), _summed(tfl, b, {*output, *a.labels})
    contracted = tuple(label for label in a.labels if label in b.labels and label not in output)
    batched = any(label in b.labels and label in output for label in a.labels)
    if not contracted or tfl.dtype.is_integer:
        return _elementwise(tfl, a, b, output, contracted)
    _require_equal(a, b, contracted)
    sizes = {**b.sizes, **a.sizes}
    if 0 in sizes.values():
        return filled(tfl, tuple(sizes[label] for label in output), 0, tfl.dtype, a.value, b.value)
    if not batched and tfl.dtype.is_float and (a.value.is_const or b.value.is_const):
        return _dense(tfl, *((b, a) if a.value.is_const else (a, b)), output)
    return _matmul(tfl, a, b, output)


def _labels(text: str, ellipsis: int) -> Labels:
    """Return the labels of an equation's term, with the ellipsis expanded to so many dimensions."""
    before, dots, after = text.partition("...")
    return (*before, *(reversed(range(ellipsis)) if dots else ()), *after)


def _term(tfl: Lowering, text: str, x: Value) -> _Term:
    labels = _labels(text, len(shape_of(x)) - len(text.replace("...", "")))
    return _diagonal(tfl, _Term(x, labels))


def _diagonal(tfl: Lowering, term: _Term) -> _Term:
    """Return the term without repeated labels: GATHER of the elements whose places are equal."""
    again = next((label for label in term.labels if term.labels.count(label) > 1), None)
    if again is None:
        return term
    places = [axis for axis, label in enumerate(term.labels) if label == again][:2]
    others = [axis for axis in range(len(term.labels)) if axis not in places]
    dims = shape_of(term.value)
    n, _ = static_dims([dims[axis] for axis in places], "the size of a diagonal")
    outer = [dims[axis] for axis in others]
    flat = reshape(tfl, transpose(tfl, term.value, [*others, *places]), [product(outer), n * n], term.value)
    diagonal = tfl.gather(flat, np.arange(n, dtype=np.int32) * (n + 1), axis=1)
    labels = (*(term.labels[axis] for axis in others), again)
    return _diagonal(tfl, _Term(reshape(tfl, diagonal, [*outer, n], term.value), labels))


def _spread(tfl: Lowering, term: _Term, output: Labels) -> Value:
    """Return the term with repeated labels as the output has them: SELECT_V2 where all places of a label are equal,
    else 0."""
    if output == term.labels:
        return term.value
    at = [output.index(label) for label in term.labels]
    dims = shape_of(term.value)
    single = [dims[at.index(axis)] if axis in at else 1 for axis in range(len(output))]
    value = reshape(tfl, term.value, single, term.value)
    for axis, label in enumerate(output):
        if axis not in at:
            (n,) = static_dims([term.sizes[label]], "the size of a diagonal")
            budget.require_room(n * n, 1, tfl.name)
            mask = np.eye(n, dtype=bool).reshape([n if other in (output.index(label), axis) else 1
                                                  for other in range(len(output))])  # fmt: skip
            value = select(tfl, tfl.const(mask), value, 0)
    return value


def _unbroadcast(tfl: Lowering, a: _Term, b: _Term) -> _Term:
    """Return `a` without the dimensions of an ellipsis that are 1 and broadcast along b's."""
    others = b.sizes
    dropped = {label for label, size in a.sizes.items() if size == 1 and others.get(label, 1) != 1}
    kept = tuple(label for label in a.labels if label not in dropped)
    return _Term(reshape(tfl, a.value, [a.sizes[label] for label in kept]), kept)


def _require_equal(a: _Term, b: _Term, labels: Labels) -> None:
    """Refuse the op if a dimension of an ellipsis might turn out to broadcast where that cannot be expressed."""
    same = all(isinstance(label, str) or a.sizes[label] == b.sizes[label] for label in labels)
    require(same, "unknown dimensions of an ellipsis may broadcast")


def _summed(tfl: Lowering, term: _Term, wanted: set[Label]) -> _Term:
    """Return the term summed over the labels that are not wanted."""
    axes = [axis for axis, label in enumerate(term.labels) if label not in wanted]
    value = tfl.sum_(term.value, axes) if axes else term.value
    return _Term(value, tuple(label for label in term.labels if label in wanted))


def _arranged(tfl: Lowering, term: _Term, order: Labels) -> Value:
    """Return the term's value with its dimensions in this order."""
    require(set(order) == set(term.labels), "the result has a label that no operand has")
    if order == term.labels:
        return term.value
    return transpose(tfl, term.value, [term.labels.index(label) for label in order])


def _elementwise(tfl: Lowering, a: _Term, b: _Term, output: Labels, contracted: Labels) -> Value:
    """Return the broadcast product, summed over the contracted labels."""
    order = output + contracted
    factors = []
    for term in (a, b):
        own = _arranged(tfl, term, tuple(label for label in order if label in term.labels))
        first = next((at for at, label in enumerate(order) if label in term.labels), len(order))
        factors.append(reshape(tfl, own, [term.sizes.get(label, 1) for label in order[first:]]))
    z = elementwise(tfl, "MUL", *factors)
    return tfl.sum_(z, [*range(len(output), len(order))]) if contracted else z


def _dense(tfl: Lowering, x: _Term, weights: _Term, output: Labels) -> Value:
    """Return the product with a constant: one FULLY_CONNECTED, the weights laid out for it when the model is
    converted."""
    sizes = {**x.sizes, **weights.sizes}  # a constant knows all of its own
    contracted = tuple(label for label in x.labels if label in weights.labels)
    kept = tuple(label for label in x.labels if label not in contracted)
    if x.labels != kept + contracted:
        kept = tuple(label for label in output if label in kept)
    units = tuple(label for label in output if label in weights.labels)
    rows = [sizes[label] for label in kept] or [1]
    flat = reshape(tfl, _arranged(tfl, x, kept + contracted), [*rows, _size(sizes, contracted)], x.value)
    matrix = [_size(sizes, units), _size(sizes, contracted)]
    y = dense(tfl, flat, reshape(tfl, _arranged(tfl, weights, units + contracted), matrix))
    return _result(tfl, y, kept + units, output, sizes, x.value)


def _matmul(tfl: Lowering, a: _Term, b: _Term, output: Labels) -> Value:
    """Return the product as one BATCH_MATMUL, with as few transposes around it as there can be."""
    sizes = {**b.sizes, **a.sizes}
    best = min(_layouts(a, b, output), key=lambda layout: _transposes(layout, a, b, output))
    left, right = (b, a) if best.swap else (a, b)
    if len(best.batch) > _MOST_BATCHES:
        _require_equal(a, b, best.batch)
    m, n, k = (_size(sizes, group) for group in (best.left, best.right, best.contracted))
    x = _matrices(tfl, left, best.left_order, best.batch, [k, m] if best.adj_left else [m, k], right.value)
    y = _matrices(tfl, right, best.right_order, best.batch, [n, k] if best.adj_right else [k, n], left.value)
    z = matmul(tfl, x, y, best.adj_left, best.adj_right)
    if len(best.batch) <= _MOST_BATCHES:
        sizes.update(zip(best.batch, shape_of(z)))
    return _result(tfl, z, best.result, output, sizes, z, a.value, b.value)


def _matrices(tfl: Lowering, term: _Term, order: Labels, batch: Labels, matrix: list[Dim], other: Value) -> Value:
    """Return a term as an operand of BATCH_MATMUL: what it lacks is 1, or left out in front; too many become one."""
    value = _arranged(tfl, term, _present(order, term))
    first = next((at for at, label in enumerate(batch) if label in term.labels), len(batch))
    outer = [term.sizes.get(label, 1) for label in batch[first:]]
    return reshape(tfl, value, [*([product(outer)] if len(outer) > _MOST_BATCHES else outer), *matrix], other)


def _present(order: Labels, term: _Term) -> Labels:
    return tuple(label for label in order if label in term.labels)


def _layouts(a: _Term, b: _Term, output: Labels) -> Iterator[_Layout]:
    """Yield every layout that keeps the order that a group's labels have in an operand or in the result. A batch may
    have dimensions that an operand lacks and is broadcast along: those of an ellipsis, and those before the others in
    the result, as of bhid,hjd->bhij."""

    def orders(group: set[Label], *by: Sequence[Label]) -> list[Labels]:
        return list(dict.fromkeys(tuple(label for label in labels if label in group) for labels in by))

    shared = set(a.labels) & set(b.labels)
    contracted = shared - set(output)
    batches = [shared - contracted]
    leading = {label for label in output if batches[0] & {*output[output.index(label) :]}}
    rows = [set(term.labels) - shared for term in (a, b)]
    for more in ({label for label in output if isinstance(label, int)}, leading):
        broadcast = batches[0] | more
        matrices = more is not leading or all(not own or own - leading for own in rows)
        if batches[0] < broadcast and len(broadcast) <= _MOST_BATCHES and matrices:
            batches.append(broadcast)
    for batch, (swap, left, right) in itertools.product(batches, ((False, a, b), (True, b, a))):
        yield from itertools.starmap(
            _Layout,
            itertools.product(
                [swap],
                orders(batch, output, a.labels, b.labels) if batch <= shared else orders(batch, output),
                orders(set(left.labels) - batch - contracted, output, left.labels),
                orders(set(right.labels) - batch - contracted, output, right.labels),
                orders(contracted, a.labels, b.labels),
                [False, True],
                [False, True],
            ),
        )


def _transposes(layout: _Layout, a: _Term, b: _Term, output: Labels) -> int:
    left, right = (b, a) if layout.swap else (a, b)
    orders = ((left, layout.left_order), (right, layout.right_order))
    moved = sum(not term.value.is_const and _present(order, term) != term.labels for term, order in orders)
    return moved + (layout.result != output)


def _size(sizes: dict[Label, Dim], labels: Labels) -> Dim:
    return product(sizes[label] for label in labels)


def _result(
    tfl: Lowering, y: Value, labels: Labels, output: Labels, sizes: dict[Label, Dim], *sources: Value
) -> Value:
    """Return y, whose dimensions are those of `labels` or products of them, with the dimensions of the output."""
    return _arranged(tfl, _Term(reshape(tfl, y, [sizes[label] for label in labels], *sources), labels), output)
