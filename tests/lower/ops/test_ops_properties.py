"""Ops with many forms, in forms that hypothesis picks: always the same ones, and few, as each is converted and run."""

from __future__ import annotations

import string
from typing import Any

import numpy as np
import tensorflow as tf
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fuseconv.testing import check

BINARY = [tf.add, tf.multiply, tf.subtract, tf.maximum, tf.greater, tf.math.squared_difference, tf.pow]
few = settings(
    max_examples=12, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)


def shapes(least: int = 1, most: int = 4, size: int = 5) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(1, size), min_size=least, max_size=most)


def spec(data: st.DataObject, shape: list[int]) -> tf.TensorSpec:
    """The shape with or without its first dimension, the one that `check` gives two sizes."""
    dynamic: bool = bool(shape) and data.draw(st.booleans(), "dynamic")
    return tf.TensorSpec([None, *shape[1:]] if dynamic else shape)


def parity(layer: Any, *specs: tf.TensorSpec, batches: tuple[int, ...] = (2, 3), **options: Any) -> None:
    check(layer, *specs, batches=batches, static=False, **options)


@few
@given(st.data(), shapes(size=7))
def test_strided_slice(data: st.DataObject, shape: list[int]) -> None:
    place = st.none() | st.integers(-9, 9)
    slices = st.builds(slice, place, place, st.sampled_from([None, 1, 2, 3, -1, -2]))
    items: list[Any] = []
    for axis in range(data.draw(st.integers(1, len(shape)), "entries")):
        # The size of the first dimension may be another one at run time.
        items.append(data.draw(slices | st.integers(-shape[axis], shape[axis] - 1) if axis else slices))
    if data.draw(st.booleans(), "ellipsis"):
        items.insert(data.draw(st.sampled_from([0, len(items)])), Ellipsis)
    if data.draw(st.booleans(), "new axis"):
        items.insert(data.draw(st.integers(0, len(items))), None)
    # From the end, an entry stands for another dimension, where its index may not exist.
    assume(items[0] is not Ellipsis or all(item is None or isinstance(item, (slice, type(...))) for item in items))
    parity(lambda x: x[tuple(items)] + 1.0, spec(data, shape))


@few
@given(st.data(), st.integers(1, 3), st.integers(0, 3))
def test_einsum(data: st.DataObject, left: int, right: int) -> None:
    labels = string.ascii_letters[:4]
    sizes = dict(zip(labels, data.draw(st.lists(st.integers(1, 4), min_size=4, max_size=4), "sizes")))
    a, b = (data.draw(st.permutations(labels))[:count] for count in (left, right))
    seen = sorted({*a, *b})
    out = data.draw(st.permutations(seen))[: data.draw(st.integers(0, len(seen)), "results")]
    equation = f"{''.join(a)},{''.join(b)}->{''.join(out)}"
    specs = [tf.TensorSpec([sizes[label] for label in term]) for term in (a, b)]
    parity(lambda x, y: tf.einsum(equation, x, y), *specs)


@few
@given(st.data(), shapes(), st.sampled_from(["CONSTANT", "REFLECT", "SYMMETRIC"]))
def test_pad(data: st.DataObject, shape: list[int], mode: str) -> None:
    def most(size: int) -> int:
        return {"CONSTANT": 3, "REFLECT": size - 1, "SYMMETRIC": size}[mode]

    # The smaller one of the sizes that it may have at run time.
    shape[0] = 2
    paddings = [[data.draw(st.integers(0, most(size))) for _ in range(2)] for size in shape]
    value = data.draw(st.sampled_from([0.0, -1.5]), "value")
    parity(lambda x: tf.pad(x, paddings, mode, constant_values=value), spec(data, shape))


@few
@given(
    st.data(), st.sampled_from(["SAME", "VALID", "EXPLICIT"]), st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)), st.tuples(st.integers(1, 3), st.integers(1, 3)), st.booleans(),
)  # fmt: skip
def test_conv2d(
    data: st.DataObject,
    padding: str,
    kernel: tuple[int, int],
    strides: tuple[int, int],
    dilations: tuple[int, int],
    depthwise: bool,
) -> None:
    # TensorFlow strides alike in both dimensions of a depthwise convolution, and not at all where it is dilated.
    assume(not depthwise or (strides[0] == strides[1] and (strides == (1, 1) or dilations == (1, 1))))
    assume(not depthwise or padding != "EXPLICIT")
    height, width, channels, outputs = 9, 8, 3, 2
    w = np.random.default_rng(0).standard_normal((*kernel, channels, outputs)).astype(np.float32)
    explicit = [[0, 0], *([data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))] for _ in range(2)), [0, 0]]
    pads = explicit if padding == "EXPLICIT" else padding

    def layer(x: tf.Tensor) -> tf.Tensor:
        if depthwise:
            return tf.nn.depthwise_conv2d(x, w, [1, *strides, 1], pads, dilations=dilations)
        return tf.nn.conv2d(x, w, strides, pads, dilations=dilations)

    parity(layer, spec(data, [2, height, width, channels]))


@few
@given(st.data(), shapes(least=0, size=4))
def test_reshape(data: st.DataObject, shape: list[int]) -> None:
    """Into any factors of the size, one of them to be found out, after an op that makes the shape known or not."""
    given_spec = spec(data, shape)
    dynamic = None in given_spec.shape
    left = int(np.prod(shape[1:] if dynamic else shape))
    target: list[int] = []
    while left > 1 and len(target) < 4:
        factor = data.draw(st.sampled_from([n for n in range(1, left + 1) if left % n == 0]))
        target.append(factor)
        left //= factor
    target.append(left)
    if dynamic:
        target.insert(data.draw(st.integers(0, len(target)), "unknown"), -1)
    elif data.draw(st.booleans()):
        target[data.draw(st.integers(0, len(target) - 1))] = -1
    parity(lambda x: tf.reshape(tf.abs(x), target), given_spec)


@few
@given(st.data(), shapes(), shapes(least=0, most=3, size=4))
def test_gather(data: st.DataObject, shape: list[int], places: list[int]) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1), "axis")
    batch_dims = data.draw(st.integers(0, min(axis, len(places))), "batch")
    places[:batch_dims] = shape[:batch_dims]
    rng = np.random.default_rng(len(shape))
    arrays = [
        rng.standard_normal(shape).astype(np.float32),
        rng.integers(0, shape[axis], places).astype(data.draw(st.sampled_from([np.int32, np.int64]), "type")),
    ]
    negative = data.draw(st.booleans(), "negative axis")
    at = axis - len(shape) if negative else axis
    specs = [tf.TensorSpec(array.shape, array.dtype) for array in arrays]
    parity(lambda x, i: tf.gather(x, i, axis=at, batch_dims=batch_dims), *specs, inputs=arrays)


@few
@given(st.data(), shapes(least=0, most=6, size=3), st.sampled_from(BINARY))
def test_broadcasting(data: st.DataObject, shape: list[int], op: Any) -> None:
    def narrowed() -> list[int]:
        kept = shape[data.draw(st.integers(0, len(shape)), "dropped") :]
        return [size if data.draw(st.booleans()) else 1 for size in kept]

    def positive(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        return rng.uniform(0.5, 2, shape).astype(dtype)

    first, second = (shape, narrowed()) if data.draw(st.booleans()) else (narrowed(), narrowed())
    specs = [tf.TensorSpec(first), tf.TensorSpec(second)]
    if data.draw(st.booleans(), "swapped"):
        specs.reverse()
    parity(op, *specs, inputs=positive)


@few
@given(
    st.data(), shapes(most=5, size=4), st.booleans(),
    st.sampled_from([tf.reduce_sum, tf.reduce_mean, tf.reduce_max, tf.reduce_min, tf.reduce_prod,
                     tf.reduce_logsumexp, tf.math.reduce_variance, tf.math.reduce_euclidean_norm]),
)  # fmt: skip
def test_reductions(data: st.DataObject, shape: list[int], keepdims: bool, op: Any) -> None:
    axes = data.draw(st.lists(st.sampled_from(range(len(shape))), unique=True) | st.none(), "axes")
    if axes and data.draw(st.booleans(), "negative"):
        axes = [axis - len(shape) for axis in axes]
    parity(lambda x: op(x, axes, keepdims), spec(data, shape))
