"""What draws the steps of random programs that need no other program: functions of values, with their parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import tensorflow as tf

from fuseconv.testing import implements

Step = Callable[..., Any]


@dataclass(frozen=True)
class Value:
    """A value at each size of the batch, and its number in the program."""

    number: int
    at: tuple[tf.Tensor, ...]
    exact: bool = True

    @property
    def shape(self) -> list[int]:
        return self.at[0].shape.as_list()

    @property
    def ndim(self) -> int:
        return self.at[0].ndim

    @property
    def dtype(self) -> tf.DType:
        return self.at[0].dtype

    def is_like(self, other: Value) -> bool:
        return all(a.dtype == b.dtype and a.shape == b.shape for a, b in zip(self.at, other.at))


def constant(rng: Random, x: Value) -> tf.Tensor:
    """Draw a constant that broadcasts to the last dimensions of x."""
    shape = [dim if rng.random() < 0.7 else 1 for dim in x.shape[rng.randint(0, x.ndim) :]]
    numbers = np.random.default_rng(rng.getrandbits(32)).standard_normal(shape)
    return tf.constant(numbers * (1 if x.dtype.is_floating else 5), x.dtype)


def dense(rng: Random, x: Value) -> Step:
    units = rng.randint(1, 4)
    weights, bias = (constant_of(rng, shape) for shape in ([x.shape[-1], units], [units]))
    activation = rng.choice([tf.identity, tf.nn.relu, tf.nn.relu6, tf.tanh])
    return lambda x: activation(tf.matmul(x, weights) + bias)


def conv(rng: Random, x: Value) -> Step:
    if x.ndim != 4 or x.dtype != tf.float32 or min(x.shape[1:3]) < 3:
        raise ValueError("TensorFlow's kernel ends the process on some other data")
    size, stride, padding = rng.randint(1, 3), rng.randint(1, 2), rng.choice(["SAME", "VALID"])
    filters, bias = (constant_of(rng, shape) for shape in ([size, size, x.shape[-1], 3], [3]))
    return lambda x: tf.nn.bias_add(tf.nn.conv2d(x, filters, stride, padding), bias)


def constant_of(rng: Random, shape: list[int]) -> tf.Tensor:
    return tf.constant(np.random.default_rng(rng.getrandbits(32)).standard_normal(shape), tf.float32)


def reduction(rng: Random, x: Value) -> Step:
    reduce = rng.choice([tf.reduce_sum, tf.reduce_mean, tf.reduce_max, tf.reduce_min])
    axes, keep = rng.sample(range(x.ndim), rng.randint(1, x.ndim)), rng.random() < 0.5
    return lambda x: reduce(x, axes, keep)


def strided_slice(rng: Random, x: Value) -> Step:
    count = rng.randint(1, x.ndim)
    begin, end = ([rng.randint(-3, 3) for _ in range(count)] for _ in range(2))
    strides = [rng.choice([1, 1, 2, -1]) for _ in range(count)]
    masks = {f"{name}_mask": rng.getrandbits(count) for name in ("begin", "end")}
    masks |= {f"{name}_mask": rng.getrandbits(count) & rng.getrandbits(count) for name in ("new_axis", "shrink_axis")}
    return lambda x: tf.strided_slice(x, begin, end, strides, **masks)


def merged(rng: Random, x: Value) -> Step:
    axis = rng.randrange(x.ndim - 1)

    def merge(x: tf.Tensor) -> tf.Tensor:
        sizes = tf.shape(x)
        return tf.reshape(x, tf.concat([sizes[:axis], [sizes[axis] * sizes[axis + 1]], sizes[axis + 2 :]], 0))

    return merge


def variable(rng: Random, x: Value) -> Step:
    """Draw writes to a variable, before, in and behind a branch or a loop, and what it holds then."""
    first = np.random.default_rng(rng.getrandbits(32)).standard_normal([3, 4]).astype(np.float32)
    variable, count, again = tf.Variable(first), rng.randint(1, 30), rng.randint(0, 2)

    def add(*_: Any) -> tf.Tensor:
        return variable.assign_add(tf.ones([3, 4])) * 2

    def write_rows(i: Any = 0) -> tf.Tensor:
        variable.scatter_nd_update([[i], [2]], tf.ones([2, 4]) * 3)
        variable[1:, ::2].assign(variable[:2, ::2] - 1)
        return variable.read_value()

    def write(x: tf.Tensor) -> tf.Tensor:
        variable.assign(first * tf.cast(tf.size(x), tf.float32))
        before = variable.read_value()
        chosen = tf.cond(tf.size(x) > count, add, write_rows)
        tf.while_loop(lambda i: i < again, lambda i: [i + 1 + 0 * tf.cast(write_rows(i)[0, 0], tf.int32)], [0])
        return tf.concat([before, chosen, variable.read_value()], 0)

    return write


def annotated(rng: Random, x: Value) -> Step:
    """Draw a function that says that it is a norm or a GELU, or a lie, and a user of what is inside of such a one."""
    name = rng.choice(["odml.rms_norm", "odml.layer_norm", "acme.Unknown"])

    @tf.function(experimental_implements=implements(name, epsilon=0.125), autograph=False)
    def norm(x: tf.Tensor) -> tf.Tensor:
        return x * tf.math.rsqrt(tf.reduce_mean(x * x, -1, keepdims=True) + 0.125)

    def gelu(x: tf.Tensor) -> tf.Tensor:
        inner = 1 + tf.math.erf(x * np.float32(np.sqrt(0.5)))
        return 0.5 * x * inner + tf.reduce_mean(inner)

    return rng.choice([norm, gelu])


def square(x: tf.Tensor) -> tf.Tensor:
    """Return a matrix of full rank, for each matrix of x."""
    return tf.matmul(x, x, transpose_b=True) + tf.eye(tf.shape(x)[-2])


def of_images(rng: Random, x: Value) -> Step:
    if x.ndim not in (2, 3, 4) or x.dtype != tf.float32:
        raise TypeError("an image has four dimensions, or fewer before it has channels and neighbors")
    image, nn = tf.image, tf.nn
    size, method = [rng.randint(1, 9), rng.randint(1, 9)], rng.choice(["bilinear", "nearest", "bicubic", "area"])
    window, padding = [rng.randint(1, 3), rng.randint(1, 3)], rng.choice(["SAME", "VALID"])
    boxes = [[-0.1, 0.2, 0.7, 1.1], [0.9, 0.1, 0.2, 0.8]]
    step = rng.choice([
        lambda x: image.resize(x, size, method), lambda x: image.resize(x, tf.shape(x)[1:3] * 2, method),
        lambda x: image.crop_and_resize(x, boxes, [0, tf.shape(x)[0] - 1], size, extrapolation_value=-1.5),
        lambda x: image.extract_patches(x, [1, *window, 1], [1, 2, 1, 1], [1, 1, 1, 1], padding),
        lambda x: image.adjust_hue(tf.sigmoid(x[..., :3]), 0.2), lambda x: image.resize_with_pad(x, *size),
        lambda x: image.per_image_standardization(x), lambda x: image.resize_with_crop_or_pad(x, *size),
        lambda x: image.sobel_edges(x), lambda x: image.rot90(x), lambda x: image.central_crop(x, 0.6),
        lambda x: nn.max_pool_with_argmax(x, window, 2, padding)[0], lambda x: nn.lrn(x, 2, 1.0, 0.5, 0.6),
        lambda x: nn.space_to_depth(x, 2), lambda x: tf.space_to_batch(x, [2, 1], [[0, tf.shape(x)[1] % 2], [1, 1]]),
        lambda x: nn.pool(x, window, "MAX", padding=padding, dilations=[2, 1]),
    ])  # fmt: skip
    whole = [slice(None)] * x.ndim
    index = (*[None] * (x.ndim == 2), *whole, *[None] * (x.ndim < 4))
    return lambda x: step(x[index])


def truths(rng: Random, x: Value) -> Step:
    step = rng.choice([
        tf.math.logical_not, lambda x: tf.reduce_any(x, -1), lambda x: tf.where(x, 1.0, 2.0), tf.where,
        lambda x: tf.boolean_mask(tf.cast(x, tf.float32), x), lambda x: tf.math.count_nonzero(x, -1),
    ])  # fmt: skip
    return lambda x: step(x if x.dtype == tf.bool else x > 0)


def of_rows(rng: Random, x: Value) -> Step:
    """Draw a ragged tensor of the first elements of each row, and a tensor of it."""
    ragged = tf.RaggedTensor

    def rows(x: tf.Tensor) -> tf.RaggedTensor:
        return ragged.from_tensor(x, lengths=tf.range(tf.shape(x)[0]) % tf.shape(x)[1] + 1)

    return rng.choice([
        lambda x: rows(x).to_tensor(), lambda x: tf.reduce_sum(rows(x), 1), lambda x: rows(x).row_lengths(),
        lambda x: tf.concat([rows(x), rows(x) * 2], 1).to_tensor(), lambda x: rows(x)[1:].to_tensor(),
        lambda x: tf.reduce_max(rows(x), 1), lambda x: rows(x).value_rowids(),
    ])  # fmt: skip


def scattered(rng: Random, x: Value) -> Step:
    rows = [[each] for each in rng.sample(range(x.shape[0]), rng.randint(1, x.shape[0]))]
    twice = [*rows, rows[0]]
    return rng.choice([
        lambda x: tf.tensor_scatter_nd_update(x, rows, tf.gather_nd(x, rows) * 2),
        lambda x: tf.tensor_scatter_nd_add(x, twice, tf.gather_nd(x, twice)),
        lambda x: tf.tensor_scatter_nd_max(x, twice, tf.gather_nd(x, twice) * 2),
        lambda x: tf.scatter_nd(twice, tf.gather_nd(x, twice), tf.shape(x)),
        lambda x: tf.dynamic_stitch([[0, 2], [1]], [tf.stack([x, x * 2]), tf.expand_dims(x, 0)]),
        lambda x: tf.math.unsorted_segment_sum(x, tf.range(tf.shape(x)[0]) % 2, 2),
        lambda x: tf.math.segment_max(x, tf.range(tf.shape(x)[0]) // 2),
        lambda x: tf.sparse.segment_mean(x, [0, 1, 1], [0, 0, 1]),
        lambda x: tf.concat(tf.dynamic_partition(x, tf.range(tf.shape(x)[0]) % 2, 2), 0),
    ])  # fmt: skip


def gathered(rng: Random, x: Value) -> Step:
    axis = rng.randrange(-x.ndim, x.ndim)
    return rng.choice([
        lambda x: tf.gather(x, [1, 0, 1], axis=axis), lambda x: tf.gather(x, tf.shape(x)[axis] - 1, axis=axis),
        lambda x: tf.gather(x, tf.range(tf.shape(x)[axis])[::-1], axis=axis), lambda x: tf.roll(x, 2, axis),
        lambda x: tf.gather(x, tf.zeros([tf.shape(x)[0], 2], tf.int32) + 1, axis=1, batch_dims=1),
        lambda x: tf.gather_nd(x, tf.zeros([tf.shape(x)[0], 2, 1], tf.int64), batch_dims=1),
        lambda x: tf.repeat(x, tf.range(tf.shape(x)[0]) % 3 + 1, axis=0), lambda x: tf.repeat(x, 2, axis),
        lambda x: tf.reverse_sequence(x, tf.range(tf.shape(x)[0]) % tf.shape(x)[1] + 1, seq_axis=1),
        lambda x: x[tf.shape(x)[0] // 2 :], lambda x: x[..., -1:], lambda x: x[..., : tf.shape(x)[-1] // 2 + 1],
    ])  # fmt: skip


def by(divide: Step, number: int, x: tf.Tensor) -> tf.Tensor:
    if not x.dtype.is_integer:
        raise TypeError("a quotient of floats that is rounded depends on their rounding")
    return divide(x, tf.constant(number, x.dtype))


def join(join: Step, axis: int, *each: tf.Tensor) -> tf.Tensor:
    return join(each, axis)


def swap(axis: int, x: tf.Tensor) -> tf.Tensor:
    return tf.concat(tf.split(x, 2, axis)[::-1], axis)


def each(*functions: Step) -> Callable[..., Step]:
    return lambda rng, *operands: rng.choice(functions)
