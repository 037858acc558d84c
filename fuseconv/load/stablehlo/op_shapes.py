"""The shapes of what ops make, by their attributes and regions: StableHLO's constraints, as far as types tell them.

A function is called with the op and the types of its operands, and returns the shapes of its results (None if any will
do); it raises DamagedError for an op that contradicts itself. None is a size that is not known: it fits any.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from fuseconv.ir import types
from fuseconv.load.stablehlo.attributes import TensorType
from fuseconv.load.stablehlo.bytecode import Operation
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.ops.convolution import conv_orders, conv_windows
from fuseconv.load.stablehlo.ops.indexing import Numbers, gather_numbers
from fuseconv.load.stablehlo.scope import axes, ints, number, text

Size: TypeAlias = "int | None"
Shape: TypeAlias = "tuple[Size, ...]"
Shapes: TypeAlias = "Sequence[Shape] | None"
SHAPES: dict[str, Callable[..., Shapes]] = {}
SCALAR: Shape = ()


def shapes_of(*names: str) -> Callable:
    def enter(function: Callable[..., Shapes]) -> Callable[..., Shapes]:
        SHAPES.update(dict.fromkeys(names or (function.__name__,), function))
        return function

    return enter


def agree(condition: object, why: str, *what: Any) -> None:
    """Raise DamagedError if a condition does not hold. why: has a {} for each of `what`, which are described."""
    if not condition:
        raise DamagedError(why.format(*map(described, what)))


def fits(one: Sequence[Size], other: Sequence[Size]) -> bool:
    """Return whether two shapes may be the same."""
    return one == other or (
        len(one) == len(other) and all(a == b or a is None or b is None for a, b in zip(one, other))
    )


def described(kind: Any) -> str:
    """Return a type as text: float32[2,?]."""
    if not isinstance(kind, TensorType):
        return f"{getattr(kind, 'name', kind)}"
    return f"{kind.dtype}[{','.join('?' if size is None else f'{size}' for size in kind.shape)}]"


def alike(kinds: Iterable[Any], others: Iterable[Any]) -> bool:
    """Return whether types are those of the same tensors, but for sizes that are not known."""
    return all(
        one is other
        or one == other
        or (isinstance(one, TensorType) and isinstance(other, TensorType) and one.dtype is other.dtype
            and fits(one.shape, other.shape))
        for one, other in itertools.zip_longest(kinds, others)
    )  # fmt: skip


def types_of(vars: Iterable[Any]) -> list[Any]:
    return [var.type for var in vars]


def as_operands(op: Operation, kinds: Sequence[TensorType]) -> Shapes:
    """Return the shapes of results that are as these tensors are, in their types too."""
    agree([kind.dtype for kind in kinds] == [var.type.dtype for var in op.results], "its results are of other types")
    return [kind.shape for kind in kinds]


@shapes_of()
def bitcast_convert(op: Operation, x: TensorType) -> Shapes:
    wide, made = (
        1 if kind.dtype is types.BOOL else 8 * kind.dtype.numpy.itemsize for kind in (x, op.results[0].type)
    )
    if wide >= made:
        return [x.shape if wide == made else (*x.shape, wide // made)]
    agree(x.rank and x.shape[-1] in (None, made // wide), "its last dimension is no element of the other type")
    return [x.shape[:-1]]


@shapes_of()
def broadcast(op: Operation, x: TensorType) -> Shapes:
    return [(*ints(op.attribute("broadcast_sizes")), *x.shape)]


@shapes_of()
def broadcast_in_dim(op: Operation, x: TensorType) -> Shapes:
    made: Shape = op.results[0].type.shape
    places = axes(op.attribute("broadcast_dimensions"), len(made))
    agree(len(places) == x.rank, "it places {} dimensions of {}", len(places), x.rank)
    for size, place in zip(x.shape, places):
        agree(size in (1, None, made[place]) or made[place] is None, "it makes {} elements of {}", made[place], size)
    return None


@shapes_of()
def dynamic_broadcast_in_dim(op: Operation, x: TensorType, shape: TensorType) -> Shapes:
    _lists(shape, op.results[0].type.rank)
    return broadcast_in_dim(op, x)


def _lists(vector: TensorType, count: int) -> None:
    agree(fits(vector.shape, (count,)), "it is given {} for {} dimensions", vector, count)


@shapes_of()
def concatenate(op: Operation, *operands: TensorType) -> Shapes:
    agree(operands, "it has no operands")
    axis = number(op.attribute("dimension"), operands[0].rank)
    shapes = [list(kind.shape) for kind in operands]
    sizes = [shape.pop(axis) if axis < len(shape) else None for shape in shapes]
    agree(all(fits(shape, shapes[0]) for shape in shapes), "its operands differ in other dimensions too")
    total = None if None in sizes else sum(size or 0 for size in sizes)
    return [(*shapes[0][:axis], total, *shapes[0][axis:])]


@shapes_of()
def convolution(op: Operation, x: TensorType, kernel: TensorType) -> Shapes:
    return _convolved(op, x, kernel, ints(op.attribute("padding")))


@shapes_of()
def dynamic_conv(op: Operation, x: TensorType, kernel: TensorType, padding: TensorType) -> Shapes:
    spatial = x.rank - 2
    agree(fits(padding.shape, (spatial, 2)), "its padding is {}", padding)
    (shape,) = _convolved(op, x, kernel, [0, 0] * spatial) or ()
    places = conv_orders(op)[2][1:-1]
    return [tuple(None if axis in places else size for axis, size in enumerate(shape))]


def _convolved(op: Operation, x: TensorType, kernel: TensorType, pads: list[int]) -> Shapes:
    _refuse_mixed(op, x, kernel)
    orders = conv_orders(op)
    batch, *spatial, channels = (x.shape[axis] for axis in orders[0])
    *window, inputs, outputs = (kernel.shape[axis] for axis in orders[1])
    windows = conv_windows(op, x.rank - 2, pads)
    batches = number(op.attribute("batch_group_count"))
    agree(windows.groups > 0 and batches > 0, "it has no groups")
    for size, groups in ((batch, batches), (channels, windows.groups), (outputs, windows.groups * batches)):
        agree(size is None or size % groups == 0, "{} are not {} groups", size, groups)
    agree(None in (channels, inputs) or channels == inputs * windows.groups, "its filter takes {} channels", inputs)  # type: ignore[operator]
    sizes = [
        window_count(size, part, *how)
        for size, part, *how in zip(spatial, window, windows.pads, windows.strides, windows.spread, windows.dilations)
    ]
    made = [None if batch is None else batch // batches, *sizes, outputs]
    return [tuple(size for _, size in sorted(zip(orders[2], made), key=lambda pair: pair[0]))]


def window_count(
    size: Size, window: Size, ends: tuple[int, int], stride: int, spread: int = 1, dilation: int = 1
) -> Size:
    """Return how many windows there are along a dimension."""
    if size is None or window is None:
        return None
    whole, reach = _spread(size, spread) + sum(ends), _spread(window, dilation)
    agree(whole >= 0, "it cuts off more than there is")
    return 0 if not whole or reach > whole else (whole - reach) // stride + 1


def _spread(size: int, step: int) -> int:
    return (size - 1) * step + 1 if size else 0


def _refuse_mixed(op: Operation, *operands: TensorType) -> None:
    kinds = [*operands, op.results[0].type]
    agree(len({kind.dtype.is_complex for kind in kinds}) == 1, "it makes {} of {} and {}", *kinds[::-1])


@shapes_of()
def dot(op: Operation, x: TensorType, y: TensorType) -> Shapes:
    _refuse_mixed(op, x, y)
    agree(x.rank in (1, 2) and y.rank in (1, 2) and fits(x.shape[-1:], y.shape[:1]), "its operands do not fit")
    return [(*x.shape[:-1], *y.shape[1:])]


@shapes_of()
def dot_general(op: Operation, x: TensorType, y: TensorType) -> Shapes:
    _refuse_mixed(op, x, y)
    batch, summed = (
        [axes(op.attribute(f"{side}_{kind}_dimensions"), of.rank) for side, of in (("lhs", x), ("rhs", y))]
        for kind in ("batching", "contracting")
    )
    for pair in (batch, summed):
        agree(fits(*([of.shape[axis] for axis in part] for of, part in zip((x, y), pair))), "its operands do not fit")
    free = []
    for of, *used in zip((x, y), batch, summed):
        taken = [*itertools.chain(*used)]
        agree(len(taken) == len({*taken}), "it sums over a dimension of the batch")
        free += [size for axis, size in enumerate(of.shape) if axis not in taken]
    return [(*(x.shape[axis] for axis in batch[0]), *free)]


@shapes_of()
def dynamic_slice(op: Operation, x: TensorType, *starts: TensorType) -> Shapes:
    sizes = ints(op.attribute("slice_sizes"))
    _part(x, sizes, starts)
    return [tuple(sizes)]


@shapes_of()
def dynamic_update_slice(op: Operation, x: TensorType, update: TensorType, *starts: TensorType) -> Shapes:
    _part(x, update.shape, starts)
    return [x.shape]


def _part(x: TensorType, sizes: Sequence[Size], starts: Sequence[TensorType]) -> None:
    agree(len(starts) == len(sizes) == x.rank, "it takes {} dimensions of {}, at {}", len(sizes), x.rank, len(starts))
    refuse_outside(sizes, x.shape)


def refuse_outside(sizes: Iterable[Size], wholes: Iterable[Size]) -> None:
    for size, whole in zip(sizes, wholes):
        inside = size is None or (size >= 0 and (whole is None or size <= whole))
        agree(inside, "it takes {} of {} elements", size, whole)


@shapes_of()
def einsum(op: Operation, *operands: TensorType) -> Shapes:
    inputs, _, output = text(op.attribute("einsum_config")).replace(" ", "").partition("->")
    sizes: dict[str, Size] = {}
    terms = inputs.split(",")
    agree(len(terms) == len(operands), "it has {} terms", len(terms))
    for term, kind in zip(terms, operands):
        agree(len(term) == kind.rank, "'{}' is not of {} dimensions", term[:50], kind.rank)
        for letter, size in zip(term, kind.shape):
            agree(fits([sizes.get(letter)], [size]), "its dimension '{}' is of several sizes", letter)
            sizes[letter] = size if size is not None else sizes.get(letter)
    return [tuple(sizes[letter] for letter in output)]


@shapes_of()
def fft(op: Operation, x: TensorType) -> Shapes:
    kind, lengths = text(op.attribute("fft_type")), ints(op.attribute("fft_length"))
    made = op.results[0].type
    agree(0 < len(lengths) <= min(3, x.rank) and min(lengths) >= 0, "its lengths are {}", lengths[:9])
    agree([x.dtype.is_complex, made.dtype.is_complex] == [kind != "RFFT", kind != "IRFFT"], "its types are others")
    lead, half = x.shape[: -len(lengths)], (*lengths[:-1], lengths[-1] // 2 + 1)
    agree(fits(x.shape, (*lead, *(half if kind == "IRFFT" else lengths))), "{} is of other lengths", x)
    return [(*lead, *(half if kind == "RFFT" else lengths))]


@shapes_of()
def gather(op: Operation, x: TensorType, indices: TensorType) -> Shapes:
    return _gathered(op, x, indices, ints(op.attribute("slice_sizes")))


@shapes_of()
def dynamic_gather(op: Operation, x: TensorType, indices: TensorType, sizes: TensorType) -> Shapes:
    _lists(sizes, x.rank)
    return _gathered(op, x, indices, [None] * x.rank)


def _gathered(op: Operation, x: TensorType, indices: TensorType, sizes: Sequence[Size]) -> Shapes:
    numbers = gather_numbers(op)
    batch = indices_batch(numbers, x, indices)
    agree(len(sizes) == x.rank, "its slices are of {} dimensions", len(sizes))
    refuse_outside(sizes, x.shape)
    agree(all(sizes[axis] in (None, 0, 1) for axis in (*numbers.left_out, *numbers.operand_batch)), "it drops elements")
    return [placed(numbers, batch, [sizes[axis] for axis in numbers.kept(x.rank)])]


def indices_batch(numbers: Numbers, x: TensorType, indices: TensorType) -> list[Size]:
    """Return the sizes of indices but for that which an index goes along."""
    apart = numbers.index_vector
    sizes = list(indices.shape)
    of_index = sizes.pop(apart) if apart < len(sizes) else 1
    agree(of_index in (None, len(numbers.index_map)), "an index has {} numbers", of_index)
    agree(apart not in numbers.indices_batch, "an index goes along a dimension of the batch")
    listed = [*numbers.left_out, *numbers.operand_batch]
    once = len(listed) == len({*listed}) and not {*numbers.index_map} & {*numbers.operand_batch}
    agree(once, "it lists a dimension twice")
    paired = zip((x, indices), (numbers.operand_batch, numbers.indices_batch))
    agree(fits(*([of.shape[axis] for axis in listed] for of, listed in paired)), "its batches are of different sizes")
    return sizes


def placed(numbers: Numbers, batch: Sequence[Size], window: Sequence[Size]) -> Shape:
    """Return the shape in which the dimensions of a window stand at their places among those of the batch."""
    rank = len(batch) + len(window)
    placed = len(window) == len(numbers.window) and all(0 <= place < rank for place in numbers.window)
    agree(placed, "its slices are of another rank")
    inner, outer = iter(window), iter(batch)
    return tuple(next(inner if place in numbers.window else outer) for place in range(rank))


@shapes_of()
def get_dimension_size(op: Operation, x: TensorType) -> Shapes:
    number(op.attribute("dimension"), x.rank)
    return [SCALAR]


@shapes_of()
def iota(op: Operation) -> Shapes:
    number(op.attribute("iota_dimension"), op.results[0].type.rank)
    return None


@shapes_of()
def dynamic_iota(op: Operation, shape: TensorType) -> Shapes:
    _lists(shape, op.results[0].type.rank)
    return iota(op)


@shapes_of()
def optimization_barrier(op: Operation, *operands: TensorType) -> Shapes:
    return as_operands(op, operands)


@shapes_of()
def pad(op: Operation, x: TensorType, filling: TensorType) -> Shapes:
    amounts = [ints(op.attribute(name)) for name in ("edge_padding_low", "edge_padding_high", "interior_padding")]
    plain = {*map(len, amounts)} == {x.rank} and min(amounts[2], default=0) >= 0
    agree(plain, "its amounts are of another rank, or less than none between elements")
    made = [
        None if size is None else _spread(size, inner + 1) + low + high
        for size, low, high, inner in zip(x.shape, *amounts)
    ]
    agree(all(size is None or size >= 0 for size in made), "it cuts off more than there is")
    return [tuple(made)]


@shapes_of()
def dynamic_pad(op: Operation, x: TensorType, filling: TensorType, *amounts: TensorType) -> Shapes:
    for vector in amounts:
        _lists(vector, x.rank)
    return [(None,) * x.rank]


@shapes_of()
def real_dynamic_slice(op: Operation, x: TensorType, *bounds: TensorType) -> Shapes:
    return dynamic_pad(op, x, x, *bounds)


@shapes_of()
def reshape(op: Operation, x: TensorType) -> Shapes:
    made = op.results[0].type
    same = not (x.is_static and made.is_static) or math.prod(x.sizes) == math.prod(made.sizes)
    agree(same, "{} has not the elements of {}", x, made)
    return None


@shapes_of()
def dynamic_reshape(op: Operation, x: TensorType, shape: TensorType) -> Shapes:
    _lists(shape, op.results[0].type.rank)
    return reshape(op, x)


@shapes_of()
def reverse(op: Operation, x: TensorType) -> Shapes:
    axes(op.attribute("dimensions"), x.rank)
    return [x.shape]


@shapes_of()
def rng_bit_generator(op: Operation, state: TensorType) -> Shapes:
    agree(alike([state], types_of(op.results[:1])), "its state is of another type than it was")
    return None


@shapes_of("slice")
def static_slice(op: Operation, x: TensorType) -> Shapes:
    starts, ends, strides = (ints(op.attribute(name)) for name in ("start_indices", "limit_indices", "strides"))
    plain = len(starts) == len(ends) == len(strides) == x.rank and min(strides, default=1) > 0
    agree(plain, "its bounds are of another rank, or have no stride")
    refuse_outside(ends, x.shape)
    refuse_outside(starts, ends)
    return [tuple(-((begin - end) // step) for begin, end, step in zip(starts, ends, strides))]


@shapes_of()
def transpose(op: Operation, x: TensorType) -> Shapes:
    order = axes(op.attribute("permutation"), x.rank)
    agree(len(order) == x.rank, "it orders {} dimensions of {}", len(order), x.rank)
    return [tuple(x.shape[axis] for axis in order)]


@shapes_of()
def cholesky(op: Operation, x: TensorType) -> Shapes:
    agree(x.rank >= 2 and fits(x.shape[-1:], x.shape[-2:-1]), "{} are no square matrices", x)
    return [x.shape]


@shapes_of()
def triangular_solve(op: Operation, a: TensorType, b: TensorType) -> Shapes:
    cholesky(op, a)
    axis = -2 if op.attribute("left_side") else -1
    fit = a.rank == b.rank and fits(a.shape[:-2], b.shape[:-2]) and fits(a.shape[-1:], [b.shape[axis]])
    agree(fit, "{} and {} do not fit", a, b)
    return [b.shape]


@shapes_of()
def batch_norm_inference(op: Operation, x: TensorType, *vectors: TensorType) -> Shapes:
    features = x.shape[number(op.attribute("feature_index"), x.rank)]
    for vector in vectors:
        agree(fits(vector.shape, (features,)), "{} is not for {} features", vector, features)
    return [x.shape]


@shapes_of()
def batch_norm_training(op: Operation, x: TensorType, *vectors: TensorType) -> Shapes:
    batch_norm_inference(op, x, *vectors)
    features = (x.shape[number(op.attribute("feature_index"), x.rank)],)
    return [x.shape, features, features]
