"""Random valid models: a program applies ops of a table to values of any shapes and types, and to each other's results.

Each op is tried on numbers first, for two sizes of the batch; what TensorFlow refuses, or what grows beyond bounds, is
drawn again. So a table's row says nothing of shapes. Where a step or a comparison of floats lies between two roundings,
both results are right: such ops take exact values only, which are integers, inputs and what is moved of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from random import Random
from typing import Any

import numpy as np
import tensorflow as tf

from tests.fuzz import program_steps as steps
from tests.fuzz.program_steps import Step, Value

# The sizes that `check` takes, of the batch and of another unknown dimension.
BATCHES = (2, 3)
_MOST_ELEMENTS = 2000
_SMALLEST, _LARGEST = 1e-3, 1e3
_TYPES = tf.float32, tf.int32, tf.int64, tf.int8, tf.uint8, tf.bool, tf.complex64

Tensors = Sequence[tf.Tensor]


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

    def grow(self, rng: Random, count: int, nested: bool = True) -> Program:
        """Append up to `count` steps, programs within one if they may be `nested`, and return the last values."""
        names = [name for name in OPS if nested or name not in NESTED]
        for _ in range(4 * count):
            if len(self.steps) == count:
                break
            name = rng.choice(names)
            arity, draw = OPS[name]
            near = [each for each in self.values[-6:] + self.values[:2] if each.exact or name not in STEPS]
            if not near:
                continue
            operands = [rng.choice(near) for _ in range(arity)]
            try:
                step = draw(rng, *operands)
                made = tuple(step(*(value.at[size] for value in operands)) for size in range(len(BATCHES)))
            except (tf.errors.OpError, ValueError, TypeError, IndexError, LookupError):
                continue
            if _is_tame(made):
                self.steps.append((name, step, tuple(value.number for value in operands)))
                exact = name in MOVES and all(value.exact for value in operands)
                self.values.append(Value(len(self.values), made, exact or not _is_inexact(made[0])))
        self.outputs = tuple(value.number for value in self.values[-3:])
        return self


def _is_tame(made: Tensors) -> bool:
    """Return whether results have one rank at all sizes, some elements but not many, a type that TFLite computes, and
    numbers that are moderate: what is small beside that of which it is made is rounding."""
    if len({x.ndim for x in made}) > 1 or made[0].dtype not in _TYPES:
        return False
    if not all(0 < np.prod(x.shape) <= _MOST_ELEMENTS for x in made):
        return False
    largest = [np.max(np.abs(x.numpy().astype(np.complex128))) for x in made]
    return all(each == 0 or _SMALLEST <= each <= _LARGEST for each in largest)


def _is_inexact(x: tf.Tensor) -> bool:
    return x.dtype.is_floating or x.dtype.is_complex


@cache
def program(seed: int, count: int = 9) -> tuple[Program, list[tf.TensorSpec]]:
    """Draw a program and the specs of its inputs."""
    rng = Random(seed)
    specs = [tf.TensorSpec(shape, dtype) for shape, dtype in rng.sample(_INPUTS, rng.randint(2, 3))]
    numbers = np.random.default_rng(seed)
    drawn = [tuple(tf.constant(draw(numbers, _sizes(spec, batch), spec.dtype.as_numpy_dtype)) for batch in BATCHES)
             for spec in specs]  # fmt: skip
    return Program([Value(number, at) for number, at in enumerate(drawn)]).grow(rng, count), specs


def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Draw normal numbers, or integers so small that float32 holds what comes of them, or truths."""
    if np.dtype(dtype) == np.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    return np.asarray(rng.standard_normal(shape) * (1 if np.dtype(dtype).kind == "f" else 5)).astype(dtype)


def _sizes(spec: tf.TensorSpec, batch: int) -> tuple[int, ...]:
    return tuple(dim or batch + 5 * (axis > 0) for axis, dim in enumerate(spec.shape.as_list()))


_INPUTS: list[tuple[list[int | None], tf.DType]] = [
    ([None, 4], tf.float32), ([None, 6, 5, 4], tf.float32), ([None, None, 3], tf.float32), ([3, 4], tf.float32),
    ([], tf.float32), ([None], tf.float32), ([1, 3, 4, 2], tf.float32), ([None, 4], tf.int32), ([None, 2, 3], tf.int32),
    ([None, 3, 4], tf.int64), ([None, None, None, 3], tf.float32), ([None, 3, 3], tf.float32), ([None, 5], tf.bool),
    ([2, None], tf.float32), ([], tf.int32), ([None, 3, 2, 3, 2], tf.float32),
]  # fmt: skip


def _branch(rng: Random, *values: Value) -> Step:
    """Draw a branch on a size, of two or three programs of their own on all values. It returns a value that all make
    alike, or else one's mean or size."""
    sides = [_inner(rng, *values) for _ in range(rng.randint(2, 3))]
    alike = [[_like(side, value)[:1] for side in sides] for value in reversed(sides[0].values)]
    shared = next((numbers for numbers in alike if all(numbers)), None) if rng.random() < 0.6 else None
    for side, number in zip(sides, shared or []):
        side.outputs = tuple(number)
    least, of_sizes = rng.randint(1, 30), rng.random() < 0.3

    def result(side: Program, tensors: Tensors) -> tf.Tensor:
        last = side(*tensors)[-1]
        if shared:
            return last
        return tf.size(last) if of_sizes or last.dtype.is_complex else tf.reduce_mean(tf.cast(last, tf.float32))

    def branch(*tensors: tf.Tensor) -> tf.Tensor:
        results = [partial(result, side, tensors) for side in sides]
        if len(sides) == 2:
            return tf.cond(tf.size(tensors[0]) > least, *results)
        return tf.switch_case(tf.size(tensors[0]) % 4, results)

    return branch


def _loop(rng: Random, x: Value, y: Value) -> Step:
    """Draw a loop whose step is a program on x, y and the step's number that ends in a value like x, and carries what x
    was besides. It stops after a number of steps that may depend on a size, or by a break."""
    body = _inner(rng, x, y, Value(2, (tf.constant(0),) * len(BATCHES)))
    body.outputs = (_like(body, x)[0],)
    count, turn, last = rng.randint(0, 3), rng.random() < 0.5, rng.choice([None, 2])

    def loop(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        steps = count if last else count + tf.size(y) % 2

        def step(i: tf.Tensor, x: tf.Tensor, before: tf.Tensor) -> Any:
            return i + 1, tf.ensure_shape(body(x, y, i)[0], x.shape), x if turn else before

        first = [tf.constant(0), x, tf.zeros_like(x)]
        return tf.add(*tf.while_loop(lambda i, *_: i < steps, step, first, maximum_iterations=last)[1:])

    return loop


def _written_in_python(rng: Random, x: Value, y: Value) -> Step:
    """Draw a loop that AutoGraph reads, with a break, a continue and a branch."""
    body = _inner(rng, x, y)
    body.outputs = (_like(body, x)[0],)
    count, stop, skipped = rng.randint(1, 4), rng.randint(0, 3), rng.randint(0, 1)

    @tf.function
    def loop(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        made = x
        for i in tf.range(count):
            if i % 2 == skipped:
                continue
            if i >= stop or tf.size(y) > 40:
                break
            made = tf.ensure_shape(body(made, y)[0], x.shape)
        return made

    return loop


def _over_rows(rng: Random, x: Value, y: Value) -> Step:
    """Draw a map, a scan or a fold over the rows of x, by a program on a row and y."""
    row = Value(0, tuple(each[0] for each in x.at), x.exact)
    body = _inner(rng, row, y)
    like = Program(body.values, body.steps, (_like(body, row)[0],))

    def carried(before: tf.Tensor, row: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return tf.ensure_shape(like(before + row, y)[0], row.shape)

    def rows_that_are_kept(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        def write(i: tf.Tensor, rows: tf.TensorArray) -> Any:
            return i + 1, tf.cond(i % 2 == 0, lambda: rows.write(rows.size(), like(x[i], y)[0]), lambda: rows)

        rows = tf.TensorArray(x.dtype, 0, dynamic_size=True, element_shape=x.shape[1:])
        return tf.while_loop(lambda i, _: i < tf.shape(x)[0], write, [tf.constant(0), rows])[1].stack()

    last = body.values[-1].dtype
    return rng.choice([
        lambda x, y: tf.map_fn(lambda row: body(row, y)[-1], x, fn_output_signature=last),
        lambda x, y: tf.vectorized_map(lambda row: body(row, y)[-1], x),
        lambda x, y: tf.scan(lambda before, row: carried(before, row, y), x, tf.zeros_like(x[0]), reverse=True),
        lambda x, y: tf.foldl(lambda before, row: carried(before, row, y), x),
        rows_that_are_kept,
    ])  # fmt: skip


def _gradient(rng: Random, x: Value, y: Value) -> Step:
    """Draw the gradient to x of the sum of what a program makes of x and y."""
    if x.dtype != tf.float32:
        raise TypeError("a gradient is of floats")
    body = Program([replace(x, number=0), replace(y, number=1)]).grow(rng, 3, nested=False)

    def gradient(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = sum(tf.reduce_mean(each * each) for each in body(x, y) if each.dtype == tf.float32)
        return tf.convert_to_tensor(tape.gradient(total, x, unconnected_gradients="zero"))

    return gradient


def _calls(rng: Random, x: Value, y: Value) -> Step:
    """Draw a function of a program that several call, one of them in a branch."""
    body = _inner(rng, x, y)
    called = tf.function(lambda *tensors: body(*tensors)[-1], autograph=False)

    def calls(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        first = called(x, y)
        return tf.stack([first, tf.cond(tf.size(x) > 9, lambda: called(x, y), lambda: first)])

    return calls


def _inner(rng: Random, *values: Value) -> Program:
    return Program([replace(value, number=number) for number, value in enumerate(values)]).grow(
        rng, 3, nested=rng.random() < 0.2
    )


def _like(program: Program, value: Value) -> list[int]:
    """Return the numbers of the program's values that are like one, the last first."""
    return [each.number for each in reversed(program.values) if each.is_like(value)]


# How many operands each takes, and what draws its parameters.
OPS: dict[str, tuple[int, Callable[..., Step]]] = {
    "unary": (1, steps.each(
        tf.nn.relu, tf.nn.relu6, tf.tanh, tf.sigmoid, tf.abs, tf.negative, tf.nn.elu, tf.nn.gelu, tf.nn.softplus,
        tf.nn.silu, lambda x: x * x, lambda x: tf.negative(-x), lambda x: x * tf.nn.relu6(x + 3) / 6, lambda x: x - x,
        lambda x: tf.maximum(x, 0.2 * x), lambda x: tf.minimum(tf.maximum(x, -1), 1), lambda x: (x + 1) * 2 - x,
        lambda x: tf.sqrt(tf.abs(x) + 1), lambda x: 1 / tf.sqrt(x * x + 1),
    )),
    "binary": (2, steps.each(tf.add, tf.subtract, tf.multiply, tf.maximum, tf.minimum, tf.math.squared_difference)),
    "constant": (1, lambda rng, x: partial(
        rng.choice([tf.add, tf.subtract, tf.multiply, tf.minimum]), steps.constant(rng, x))),
    "integers": (1, lambda rng, x: partial(
        steps.by, rng.choice([tf.math.floordiv, tf.math.floormod, tf.truncatemod]), rng.choice([-3, 2, 5]))),
    "cast": (1, steps.each(lambda x: tf.cast(x, tf.float32) if x.dtype.is_integer else x * 1)),
    "dense": (1, steps.dense), "conv": (1, steps.conv),
    "pool": (1, steps.each(
        lambda x: tf.nn.max_pool2d(x, 2, 2, "SAME"), lambda x: tf.nn.avg_pool2d(x, 2, 1, "VALID"),
        lambda x: tf.nn.max_pool1d(x, 2, 2, "SAME"), lambda x: tf.nn.avg_pool1d(x, 2, 1, "VALID"),
    )),
    "matmul": (2, lambda rng, *_: partial(tf.matmul, transpose_b=rng.random() < 0.5)),
    "reduction": (1, steps.reduction), "softmax": (1, steps.each(tf.nn.softmax, tf.nn.log_softmax)),
    "norm": (1, steps.each(lambda x: (x - tf.reduce_mean(x, -1, True)) * tf.math.rsqrt(
        tf.math.reduce_variance(x, -1, True) + 0.1))),
    "cumsum": (1, steps.each(tf.cumsum, lambda x: tf.cumsum(x, -1, exclusive=True, reverse=True))),
    "transpose": (1, lambda rng, x: partial(tf.transpose, perm=rng.sample(range(x.ndim), x.ndim))),
    "merge": (1, steps.merged), "flatten": (1, steps.each(lambda x: tf.reshape(x, [tf.shape(x)[0], -1]))),
    "expand": (1, lambda rng, x: partial(tf.expand_dims, axis=rng.randint(0, x.ndim))),
    "squeeze": (1, lambda rng, x: partial(tf.squeeze, axis=[rng.randrange(x.ndim)])),
    "slice": (1, steps.strided_slice),
    "pad": (1, lambda rng, x: partial(tf.pad, paddings=[[rng.randint(0, 1), rng.randint(0, 2)] for _ in x.shape])),
    "concat": (2, lambda rng, x, _: partial(steps.join, tf.concat, rng.randrange(x.ndim))),
    "stack": (2, lambda rng, x, _: partial(steps.join, tf.stack, rng.randint(0, x.ndim))),
    "swap": (1, lambda rng, x: partial(steps.swap, rng.randrange(x.ndim))),
    "tile": (1, lambda rng, x: partial(tf.tile, multiples=[rng.randint(1, 2) for _ in x.shape])),
    "reverse": (1, lambda rng, x: partial(tf.reverse, axis=[rng.randrange(x.ndim)])),
    "gather": (1, steps.gathered), "scatter": (1, steps.scattered), "rows": (1, steps.of_rows),
    "image": (1, steps.of_images),
    "special": (1, steps.each(
        tf.math.erf, tf.math.asinh, tf.math.expm1, lambda x: tf.math.log1p(tf.abs(x)), tf.math.bessel_i0e,
        lambda x: tf.math.lgamma(tf.abs(x) + 0.5), lambda x: tf.math.digamma(tf.abs(x) + 0.5), tf.sin, tf.atan,
        lambda x: tf.math.xlogy(x, tf.abs(x) + 0.5), lambda x: tf.math.divide_no_nan(x, tf.abs(x) + 0.5),
        lambda x: tf.pow(tf.abs(x) + 0.1, 1.7), lambda x: tf.nn.l2_normalize(x, -1, 1e-3), tf.nn.crelu,
    )),
    "bits": (1, steps.each(
        tf.bitwise.invert, lambda x: tf.bitwise.right_shift(x, tf.ones_like(x)), lambda x: tf.one_hot(x % 5, 5),
        lambda x: tf.bitwise.bitwise_xor(x, tf.cast(5, x.dtype)), lambda x: tf.cast(tf.bitwise.invert(x), tf.uint8),
        lambda x: tf.math.bincount(tf.abs(x) % 7, axis=-1), lambda x: tf.sequence_mask(tf.abs(x) % 6),
        lambda x: tf.bitwise.invert(x) > 0,
    )),
    "truths": (1, steps.truths),
    "compare": (2, steps.each(
        tf.less, tf.equal, lambda x, y: tf.where(x > y, x, y - x), lambda x, y: tf.cast(x > y, x.dtype),
    )),
    "step": (1, steps.each(
        tf.floor, tf.round, tf.sign, lambda x: tf.cast(x, tf.int32), lambda x: x > 0, lambda x: tf.cast(x, tf.bool),
        lambda x: tf.cast(tf.cast(x, tf.float16), tf.float32), lambda x: tf.gather_nd(x, tf.where(x > 0)),
        lambda x: tf.quantization.fake_quant_with_min_max_args(x, -3, 3), lambda x: tf.math.floormod(x, 0.7),
        lambda x: tf.quantization.quantize_and_dequantize_v2(x, -4.0, 3.0, range_given=True),
    )),
    "order": (1, steps.each(
        tf.sort, lambda x: tf.argsort(x, 0, "DESCENDING", True), lambda x: tf.math.top_k(x, 2)[1], tf.argmax,
        lambda x: tf.unique(tf.reshape(x, [-1]))[1], lambda x: tf.searchsorted(tf.sort(x), x),
        lambda x: tf.nn.max_pool_with_argmax(x, 2, 1, "SAME")[1], lambda x: tf.math.cumulative_logsumexp(x, -1),
        lambda x: tf.sparse.to_dense(tf.sparse.from_dense(tf.nn.relu(x))),
        lambda x: tf.sparse.reduce_sum(tf.sparse.from_dense(tf.nn.relu(x)), 1),
        lambda x: tf.nn.ctc_greedy_decoder(x, tf.zeros([tf.shape(x)[1]], tf.int32) + tf.shape(x)[0])[0][0].values,
    )),
    "linear algebra": (1, steps.each(
        lambda x: tf.linalg.cholesky(steps.square(x)), lambda x: tf.linalg.inv(steps.square(x)),
        lambda x: tf.linalg.diag(x), lambda x: tf.linalg.solve(steps.square(x), x),
        lambda x: tf.linalg.logdet(steps.square(x)), tf.linalg.diag_part,
        lambda x: tf.linalg.band_part(x, 1, 0), lambda x: tf.linalg.set_diag(x, x[..., 0]), tf.linalg.trace,
    )),
    "signal": (1, steps.each(
        lambda x: tf.abs(tf.signal.stft(x, 4, 2)), tf.signal.rfft,
        lambda x: tf.signal.frame(x, 3, 2, pad_end=True), lambda x: tf.signal.dct(x, 2),
        lambda x: tf.signal.overlap_and_add(x, 1), lambda x: tf.abs(tf.signal.fft(tf.complex(x, x))),
    )),
    "complex": (1, steps.each(
        lambda x: tf.complex(x, -x), tf.math.real, tf.math.imag, tf.abs, lambda x: x + tf.math.conj(x) * x,
        lambda x: tf.concat([x, -x], -1), lambda x: tf.reduce_sum(x, -1),
    )),
    "einsum": (2, steps.each(
        lambda x, y: tf.einsum("...i,...i->...", x, y), lambda x, y: tf.einsum("ij,kj->ki", x, y),
        lambda x, y: tf.einsum("bij,bkj->kbi", x, y), lambda x, y: tf.tensordot(x, y, 0),
    )),
    "random": (1, steps.each(
        lambda x: tf.random.stateless_uniform(tf.shape(x), [1, 2]),
        lambda x: tf.random.stateless_normal(tf.shape(x), [3, 4]),
        lambda x: tf.random.stateless_uniform([2, 3], tf.stack([tf.size(x), 5]), 0, 9, tf.int32),
    )),
    "python": (2, _written_in_python), "over rows": (2, _over_rows), "gradient": (2, _gradient),
    "variable": (1, steps.variable), "calls": (2, _calls), "annotated": (1, steps.annotated),
    "where": (2, steps.each(lambda x, y: tf.where(tf.cast(tf.range(tf.shape(x)[-1]) % 2, tf.bool), x, y))),
    "broadcast": (2, steps.each(lambda x, y: tf.broadcast_to(x, tf.shape(y)))),
    "sizes": (1, steps.each(tf.shape, lambda x: tf.minimum(tf.shape(x), 3), lambda x: tf.range(tf.shape(x)[0]))),
    "branch": (2, _branch), "loop": (2, _loop),
}  # fmt: skip
# Those that hold programs.
NESTED = {"branch", "loop", "python", "over rows", "gradient", "calls"}
# Those that take exact values, and those whose results are as exact as their operands.
STEPS = {"compare", "step", "order", "truths"}
MOVES = {"transpose", "merge", "flatten", "expand", "squeeze", "slice", "pad", "concat", "stack", "swap", "tile",
         "reverse", "gather", "where", "broadcast", "rows", "compare"}  # fmt: skip
