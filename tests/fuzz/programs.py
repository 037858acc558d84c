"""Random valid models: a program applies ops of a table to values of any shapes and types, and to each other's results.

Each op is tried on numbers first, for two sizes of the batch; what TensorFlow refuses, or what grows beyond bounds, is
drawn again. So a table's row says nothing of shapes. Its ops are continuous, or of integers: where a step or a
comparison of floats lies between two roundings, both results are right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import numpy as np
import tensorflow as tf

# The sizes that `check` takes, of the batch and of another unknown dimension.
BATCHES = (2, 3)
_MOST_ELEMENTS = 2000
_SMALLEST, _LARGEST = 1e-3, 1e3

Tensors = Sequence[tf.Tensor]
Step = Callable[..., Any]


@dataclass(frozen=True)
class Value:
    """A value at each size of the batch, and its number in the program."""

    number: int
    at: tuple[tf.Tensor, ...]

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


@dataclass
class Program:
    """Steps on numbered values, of which the first are the inputs. Called, it returns those that `outputs` tells."""

    values: list[Value]
    steps: list[tuple[str, Step, tuple[int, ...]]] = field(default_factory=list)
    outputs: tuple[int, ...] = ()

    def __call__(self, *inputs: tf.Tensor) -> tuple[tf.Tensor, ...]:
        made = list(inputs)
        for _, step, operands in self.steps:
            made.append(step(*(made[number] for number in operands)))
        return tuple(made[number] for number in self.outputs)

    def grow(self, rng: Random, count: int) -> Program:
        """Append up to `count` steps, and return the last values."""
        for _ in range(4 * count):
            if len(self.steps) == count:
                break
            name = rng.choice([*OPS])
            arity, draw = OPS[name]
            operands = [rng.choice(self.values[-6:] + self.values[:2]) for _ in range(arity)]
            try:
                step = draw(rng, *operands)
                made = tuple(step(*(value.at[size] for value in operands)) for size in range(len(BATCHES)))
            except (tf.errors.OpError, ValueError, TypeError, IndexError):
                continue
            if _is_tame(made):
                self.steps.append((name, step, tuple(value.number for value in operands)))
                self.values.append(Value(len(self.values), made))
        self.outputs = tuple(value.number for value in self.values[-3:])
        return self


def _is_tame(made: Tensors) -> bool:
    """Return whether results have one rank at all sizes, some elements but not many, a type that TFLite computes, and
    numbers that are moderate: what is small beside that of which it is made is rounding."""
    if len({x.ndim for x in made}) > 1 or made[0].dtype == tf.float64:
        return False
    if not all(0 < np.prod(x.shape) <= _MOST_ELEMENTS for x in made):
        return False
    largest = [np.max(np.abs(x.numpy().astype(np.float64))) for x in made]
    return all(each == 0 or _SMALLEST <= each <= _LARGEST for each in largest)


def program(seed: int, count: int = 12) -> tuple[Program, list[tf.TensorSpec]]:
    """Draw a program and the specs of its inputs."""
    rng = Random(seed)
    specs = [tf.TensorSpec(shape, dtype) for shape, dtype in rng.sample(_INPUTS, rng.randint(1, 3))]
    numbers = np.random.default_rng(seed)
    drawn = [tuple(tf.constant(draw(numbers, _sizes(spec, batch), spec.dtype.as_numpy_dtype)) for batch in BATCHES)
             for spec in specs]  # fmt: skip
    return Program([Value(number, at) for number, at in enumerate(drawn)]).grow(rng, count), specs


def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Draw normal numbers, or integers so small that float32 holds what comes of them."""
    return np.asarray(rng.standard_normal(shape) * (1 if np.dtype(dtype).kind == "f" else 5)).astype(dtype)


def _sizes(spec: tf.TensorSpec, batch: int) -> tuple[int, ...]:
    return tuple(dim or batch + 5 * (axis > 0) for axis, dim in enumerate(spec.shape.as_list()))


_INPUTS: list[tuple[list[int | None], tf.DType]] = [
    ([None, 4], tf.float32), ([None, 6, 5, 4], tf.float32), ([None, None, 3], tf.float32), ([3, 4], tf.float32),
    ([], tf.float32), ([None], tf.float32), ([1, 3, 4, 2], tf.float32), ([None, 4], tf.int32), ([None, 2, 3], tf.int32),
    ([None, 3, 4], tf.int64),
]  # fmt: skip


def _constant(rng: Random, x: Value) -> tf.Tensor:
    """Draw a constant that broadcasts to the last dimensions of x."""
    shape = [dim if rng.random() < 0.7 else 1 for dim in x.shape[rng.randint(0, x.ndim) :]]
    numbers = np.random.default_rng(rng.getrandbits(32)).standard_normal(shape)
    return tf.constant(numbers * (1 if x.dtype.is_floating else 5), x.dtype)


def _dense(rng: Random, x: Value) -> Step:
    units = rng.randint(1, 4)
    weights, bias = (_constant_of(rng, shape) for shape in ([x.shape[-1], units], [units]))
    activation = rng.choice([tf.identity, tf.nn.relu, tf.nn.relu6, tf.tanh])
    return lambda x: activation(tf.matmul(x, weights) + bias)


def _conv(rng: Random, x: Value) -> Step:
    if x.ndim != 4 or x.dtype != tf.float32 or min(x.shape[1:3]) < 3:
        raise ValueError("TensorFlow's kernel ends the process on some other data")
    size, stride, padding = rng.randint(1, 3), rng.randint(1, 2), rng.choice(["SAME", "VALID"])
    filters, bias = (_constant_of(rng, shape) for shape in ([size, size, x.shape[-1], 3], [3]))
    return lambda x: tf.nn.bias_add(tf.nn.conv2d(x, filters, stride, padding), bias)


def _constant_of(rng: Random, shape: list[int]) -> tf.Tensor:
    return tf.constant(np.random.default_rng(rng.getrandbits(32)).standard_normal(shape), tf.float32)


def _reduction(rng: Random, x: Value) -> Step:
    reduce = rng.choice([tf.reduce_sum, tf.reduce_mean, tf.reduce_max, tf.reduce_min])
    axes, keep = rng.sample(range(x.ndim), rng.randint(1, x.ndim)), rng.random() < 0.5
    return lambda x: reduce(x, axes, keep)


def _strided_slice(rng: Random, x: Value) -> Step:
    count = rng.randint(1, x.ndim)
    begin, end = ([rng.randint(-3, 3) for _ in range(count)] for _ in range(2))
    strides = [rng.choice([1, 1, 2, -1]) for _ in range(count)]
    masks = {f"{name}_mask": rng.getrandbits(count) for name in ("begin", "end")}
    masks |= {f"{name}_mask": rng.getrandbits(count) & rng.getrandbits(count) for name in ("new_axis", "shrink_axis")}
    return lambda x: tf.strided_slice(x, begin, end, strides, **masks)


def _merged(rng: Random, x: Value) -> Step:
    axis = rng.randrange(x.ndim - 1)

    def merge(x: tf.Tensor) -> tf.Tensor:
        sizes = tf.shape(x)
        return tf.reshape(x, tf.concat([sizes[:axis], [sizes[axis] * sizes[axis + 1]], sizes[axis + 2 :]], 0))

    return merge


def _branch(rng: Random, x: Value) -> Step:
    """Draw a branch on a size, which returns a number or a size, of programs of its own on x."""
    then, other = (_inner(rng, x) for _ in range(2))
    least, of_sizes = rng.randint(1, 30), rng.random() < 0.3

    def result(side: Program, x: tf.Tensor) -> tf.Tensor:
        last = side(x)[-1]
        return tf.size(last) if of_sizes else tf.reduce_mean(tf.cast(last, tf.float32))

    return lambda x: tf.cond(tf.size(x) > least, lambda: result(then, x), lambda: result(other, x))


def _loop(rng: Random, x: Value) -> Step:
    """Draw a loop whose step is a program on x that ends in a value like x, and carries what x was besides."""
    body = _inner(rng, x)
    body.outputs = (next(value.number for value in reversed(body.values) if value.is_like(body.values[0])),)
    count, turn = rng.randint(0, 3), rng.random() < 0.5

    def loop(x: tf.Tensor) -> tf.Tensor:
        def step(i: tf.Tensor, x: tf.Tensor, before: tf.Tensor) -> Any:
            return i + 1, tf.ensure_shape(body(x)[0], x.shape), x if turn else before

        return tf.add(*tf.while_loop(lambda i, *_: i < count, step, [0, x, tf.zeros_like(x)])[1:])

    return loop


def _inner(rng: Random, x: Value) -> Program:
    return Program([Value(0, x.at)]).grow(rng, 3)


def _by(divide: Step, number: int, x: tf.Tensor) -> tf.Tensor:
    if not x.dtype.is_integer:
        raise TypeError("a quotient of floats that is rounded depends on their rounding")
    return divide(x, tf.constant(number, x.dtype))


def _join(join: Step, axis: int, *each: tf.Tensor) -> tf.Tensor:
    return join(each, axis)


def _swap(axis: int, x: tf.Tensor) -> tf.Tensor:
    return tf.concat(tf.split(x, 2, axis)[::-1], axis)


def _each(*functions: Step) -> Callable[..., Step]:
    return lambda rng, *operands: rng.choice(functions)


# How many operands each takes, and what draws its parameters.
OPS: dict[str, tuple[int, Callable[..., Step]]] = {
    "unary": (1, _each(
        tf.nn.relu, tf.nn.relu6, tf.tanh, tf.sigmoid, tf.abs, tf.negative, tf.nn.elu, tf.nn.gelu, tf.nn.softplus,
        tf.nn.silu, lambda x: x * x, lambda x: tf.negative(-x), lambda x: x * tf.nn.relu6(x + 3) / 6, lambda x: x - x,
        lambda x: tf.maximum(x, 0.2 * x), lambda x: tf.minimum(tf.maximum(x, -1), 1), lambda x: (x + 1) * 2 - x,
        lambda x: tf.sqrt(tf.abs(x) + 1), lambda x: 1 / tf.sqrt(x * x + 1),
    )),
    "binary": (2, _each(tf.add, tf.subtract, tf.multiply, tf.maximum, tf.minimum, tf.math.squared_difference)),
    "constant": (1, lambda rng, x: partial(
        rng.choice([tf.add, tf.subtract, tf.multiply, tf.minimum]), _constant(rng, x))),
    "integers": (1, lambda rng, x: partial(
        _by, rng.choice([tf.math.floordiv, tf.math.floormod, tf.truncatemod]), rng.choice([-3, 2, 5]))),
    "cast": (1, _each(lambda x: tf.cast(x, tf.float32) if x.dtype.is_integer else x * 1)),
    "dense": (1, _dense), "conv": (1, _conv),
    "pool": (1, _each(lambda x: tf.nn.max_pool2d(x, 2, 2, "SAME"), lambda x: tf.nn.avg_pool2d(x, 2, 1, "VALID"))),
    "matmul": (2, lambda rng, *_: partial(tf.matmul, transpose_b=rng.random() < 0.5)),
    "reduction": (1, _reduction), "softmax": (1, _each(tf.nn.softmax, tf.nn.log_softmax)),
    "norm": (1, _each(lambda x: (x - tf.reduce_mean(x, -1, True)) * tf.math.rsqrt(
        tf.math.reduce_variance(x, -1, True) + 0.1))),
    "cumsum": (1, _each(tf.cumsum, lambda x: tf.cumsum(x, -1, exclusive=True, reverse=True))),
    "transpose": (1, lambda rng, x: partial(tf.transpose, perm=rng.sample(range(x.ndim), x.ndim))),
    "merge": (1, _merged), "flatten": (1, _each(lambda x: tf.reshape(x, [tf.shape(x)[0], -1]))),
    "expand": (1, lambda rng, x: partial(tf.expand_dims, axis=rng.randint(0, x.ndim))),
    "squeeze": (1, lambda rng, x: partial(tf.squeeze, axis=[rng.randrange(x.ndim)])),
    "slice": (1, _strided_slice),
    "pad": (1, lambda rng, x: partial(tf.pad, paddings=[[rng.randint(0, 1), rng.randint(0, 2)] for _ in x.shape])),
    "concat": (2, lambda rng, x, _: partial(_join, tf.concat, rng.randrange(x.ndim))),
    "stack": (2, lambda rng, x, _: partial(_join, tf.stack, rng.randint(0, x.ndim))),
    "swap": (1, lambda rng, x: partial(_swap, rng.randrange(x.ndim))),
    "tile": (1, lambda rng, x: partial(tf.tile, multiples=[rng.randint(1, 2) for _ in x.shape])),
    "reverse": (1, lambda rng, x: partial(tf.reverse, axis=[rng.randrange(x.ndim)])),
    "gather": (1, lambda rng, x: partial(tf.gather, indices=[1, 0, 1], axis=rng.randrange(x.ndim))),
    "where": (2, _each(lambda x, y: tf.where(tf.cast(tf.range(tf.shape(x)[-1]) % 2, tf.bool), x, y))),
    "broadcast": (2, _each(lambda x, y: tf.broadcast_to(x, tf.shape(y)))),
    "sizes": (1, _each(tf.shape, lambda x: tf.minimum(tf.shape(x), 3), lambda x: tf.range(tf.shape(x)[0]))),
    "branch": (1, _branch), "loop": (1, _loop),
}  # fmt: skip
