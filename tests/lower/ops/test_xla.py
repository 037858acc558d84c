"""Operations of XLA, as `jax2tf.convert` writes them, against XLA's own compiler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.compiler.tf2xla.ops import gen_xla_ops as xla
from tensorflow.compiler.xla import xla_data_pb2

from fuseconv.testing import check, check_refused

RNG = np.random.default_rng(0)
F32 = tf.float32


def _w(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def compiled(fn: Callable[..., Any]) -> Any:
    """The function as XLA runs it: TensorFlow has no kernels of its own for these ops."""
    return tf.function(fn, jit_compile=True, autograph=False)


def dot(x: tf.Tensor, y: Any, contracting: Sequence[Sequence[int]], batch: Sequence[Sequence[int]] = ((), ())) -> Any:
    numbers = xla_data_pb2.DotDimensionNumbers(
        lhs_contracting_dimensions=contracting[0], rhs_contracting_dimensions=contracting[1],
        lhs_batch_dimensions=batch[0], rhs_batch_dimensions=batch[1],
    )  # fmt: skip
    return xla.xla_dot_v2(x, y, numbers.SerializeToString(), b"", preferred_element_type=F32)


def test_a_dense_layer() -> None:
    weights = _w(4, 5)
    converted = check(compiled(lambda x: dot(x, weights, ([1], [0]))), tf.TensorSpec([None, 4]))
    assert converted.ops == ["FULLY_CONNECTED"]


@pytest.mark.parametrize(
    ("a", "b", "contracting", "batch"),
    [
        ((2, 3, 4), (2, 5, 4), ([2], [2]), ([0], [0])),
        ((3, 2, 4), (4, 5, 2), ([2], [0]), ([1], [2])),
        ((3, 4, 2), (4, 2, 5), ([1, 2], [0, 1]), ([], [])),
        ((3, 2), (4, 2), ([], []), ([1], [1])),
    ],
)
def test_products(a: Any, b: Any, contracting: Any, batch: Any) -> None:
    check(compiled(lambda x, y: dot(x, y, contracting, batch)), tf.TensorSpec(a), tf.TensorSpec(b))


def test_a_product_of_an_older_version() -> None:
    numbers = xla_data_pb2.DotDimensionNumbers(lhs_contracting_dimensions=[1], rhs_contracting_dimensions=[0])
    weights = _w(4, 5)
    check(compiled(lambda x: xla.xla_dot(x, weights, numbers.SerializeToString(), b"")), tf.TensorSpec([2, 4]))


def convolution(
    x: tf.Tensor, kernel: Any, *, strides: Any = (1, 1), pads: Any = ((0, 0), (0, 0)), spread: Any = (1, 1),
    dilations: Any = (1, 1), groups: int = 1, layouts: Sequence[str] = ("NHWC", "HWIO", "NHWC"), old: bool = False,
) -> Any:  # fmt: skip
    spatial = [letter for letter in layouts[0] if letter not in "NC"]
    image, filter, output = ({letter: layout.index(letter) for letter in layout} for layout in layouts)
    numbers = xla_data_pb2.ConvolutionDimensionNumbers(
        input_batch_dimension=image["N"], input_feature_dimension=image["C"],
        input_spatial_dimensions=[image[letter] for letter in spatial],
        kernel_input_feature_dimension=filter["I"], kernel_output_feature_dimension=filter["O"],
        kernel_spatial_dimensions=[filter[letter] for letter in spatial],
        output_batch_dimension=output["N"], output_feature_dimension=output["C"],
        output_spatial_dimensions=[output[letter] for letter in spatial],
    ).SerializeToString()  # fmt: skip
    if old:
        return xla.xla_conv(x, kernel, strides, pads, spread, dilations, groups, numbers, b"")
    return xla.xla_conv_v2(
        x, kernel, strides, pads, spread, dilations, groups, numbers, b"", preferred_element_type=F32
    )


IMAGES = tf.TensorSpec([None, 7, 6, 4])


@pytest.mark.parametrize(
    ("shape", "options", "op"),
    [
        ((3, 2, 4, 5), {"strides": (2, 1), "pads": ((1, 1), (0, 1))}, "CONV_2D"),
        ((3, 2, 4, 5), {"dilations": (2, 2), "pads": ((2, 2), (1, 1)), "old": True}, "CONV_2D"),
        ((3, 2, 2, 6), {"groups": 2}, "CONV_2D"),
        ((3, 2, 1, 8), {"groups": 4, "pads": ((1, 1), (1, 0))}, "DEPTHWISE_CONV_2D"),
    ],
)
def test_convolutions(shape: Any, options: Any, op: str) -> None:
    kernel = _w(*shape)
    converted = check(compiled(lambda x: convolution(x, kernel, **options)), IMAGES, static=False)
    assert op in converted.ops and "TRANSPOSE" not in converted.ops


def test_a_convolution_of_another_layout() -> None:
    kernel = _w(5, 4, 3, 2)
    layouts = ("NCHW", "OIHW", "NCHW")
    check(compiled(lambda x: convolution(x, kernel, layouts=layouts)), tf.TensorSpec([2, 4, 6, 5]))


def test_a_convolution_of_one_dimension() -> None:
    kernel = _w(3, 4, 5)
    one: dict[str, Any] = {"strides": (2,), "pads": ((1, 0),), "spread": (1,), "dilations": (1,)}
    layouts = ("NHC", "HIO", "NHC")
    check(compiled(lambda x: convolution(x, kernel, layouts=layouts, **one)), tf.TensorSpec([None, 9, 4]))


@pytest.mark.parametrize("pads", [((2, 2), (1, 1)), ((1, 2), (0, 1))])
def test_a_transposed_convolution(pads: Any) -> None:
    kernel = _w(3, 2, 4, 5)
    converted = check(compiled(lambda x: convolution(x, kernel, spread=(2, 3), pads=pads)), IMAGES, static=False)
    assert "TRANSPOSE_CONV" in converted.ops


def test_convolutions_that_are_refused() -> None:
    x, kernel = tf.TensorSpec([2, 6, 6, 4]), _w(3, 3, 4, 5)
    check_refused(compiled(lambda x: convolution(x, kernel, pads=((-1, 0), (0, 0)))), x, match="negative padding")
    check_refused(compiled(lambda x: convolution(x, kernel, spread=(2, 2), strides=(2, 2))), x, match="strides")
    check_refused(compiled(lambda x: convolution(x, kernel, spread=(2, 2), pads=((3, 3),) * 2)), x, match="padding")


def window(x: tf.Tensor, reducer: Any, start: float, size: Any, strides: Any, pads: Any, spread: Any = None) -> Any:
    ones = [1] * len(size)
    scalar = tf.TensorSpec([], x.dtype)
    function = tf.function(reducer, autograph=False).get_concrete_function(scalar, scalar)
    first = tf.constant(start, x.dtype)
    return xla.xla_reduce_window(x, first, size, strides, spread or ones, ones, pads, computation=function)


@pytest.mark.parametrize("pads", [[(0, 0)] * 4, [(0, 0), (1, 1), (0, 1), (0, 0)]], ids=["whole", "padded"])
@pytest.mark.parametrize(
    ("reducer", "start", "op"),
    [
        (tf.maximum, -np.inf, "MAX_POOL_2D"),
        (tf.minimum, np.inf, "MAX_POOL_2D"),
        (tf.add, 0.0, "AVERAGE_POOL_2D"),
    ],
)
def test_windows(reducer: Any, start: float, op: str, pads: Any) -> None:
    fn = compiled(lambda x: window(x, reducer, start, [1, 3, 2, 1], [1, 2, 2, 1], pads))
    assert op in check(fn, IMAGES, static=False).ops


@pytest.mark.parametrize("ends", [(4, 0), (0, 4)])
def test_a_cumulative_sum(ends: tuple[int, int]) -> None:
    fn = compiled(lambda x: window(x, tf.add, 0.0, [1, 5], [1, 1], [(0, 0), ends]))
    converted = check(fn, tf.TensorSpec([None, 5]), static=False)
    assert converted.ops == ["CUMSUM"]


@pytest.mark.parametrize(("reducer", "start"), [(tf.maximum, -np.inf), (tf.minimum, np.inf)])
@pytest.mark.parametrize("ends", [(4, 0), (0, 4)])
def test_running_extremes(reducer: Any, start: float, ends: tuple[int, int]) -> None:
    fn = compiled(lambda x: window(x, reducer, start, [1, 5], [1, 1], [(0, 0), ends]))
    assert "WHILE" not in check(fn, tf.TensorSpec([None, 5]), static=False).ops


def test_running_extremes_of_integers() -> None:
    for reducer, start in ((tf.maximum, -(2**31)), (tf.minimum, 2**31 - 1)):
        fn = compiled(lambda x: window(x, reducer, start, [1, 5], [1, 1], [(0, 0), (4, 0)]))  # noqa: B023
        check(fn, tf.TensorSpec([3, 5], tf.int32))


def test_windows_that_are_refused() -> None:
    rows, images = tf.TensorSpec([3, 5]), tf.TensorSpec([2, 6, 6, 3])
    same = [(0, 0)] * 4

    def refused(spec: tf.TensorSpec, match: str, *args: Any, **options: Any) -> None:
        check_refused(compiled(lambda x: window(x, *args, **options)), spec, match=match)

    refused(images, "not a sum", lambda a, b: a * b, 1.0, [1, 2, 2, 1], [1, 1, 1, 1], same)
    refused(images, "not a sum", lambda a, b: tf.maximum(a, a), 0.0, [1, 2, 2, 1], [1, 1, 1, 1], same)
    refused(images, "start from 0", tf.add, 1.0, [1, 2, 2, 1], [1, 1, 1, 1], same)
    refused(images, "least number", tf.maximum, 0.0, [1, 2, 2, 1], [1, 1, 1, 1], same)
    refused(images, "gaps", tf.maximum, -np.inf, [1, 2, 2, 1], [1, 1, 1, 1], same, spread=[1, 2, 1, 1])
    refused(rows, "least number", tf.maximum, 0.0, [1, 5], [1, 1], [(0, 0), (4, 0)])
    refused(rows, "rows and columns", tf.maximum, -np.inf, [2, 2], [1, 1], same[:2])


@pytest.mark.parametrize(("low", "high"), [((0, 1), (2, 0)), ((-1, 0), (1, -2)), ((0, 0), (0, 0))])
def test_pads(low: Any, high: Any) -> None:
    check(compiled(lambda x: xla.xla_pad(x, tf.constant(1.5), low, high, [0, 0])), tf.TensorSpec([4, 5]))


def test_pads_between_elements_are_refused() -> None:
    fn = compiled(lambda x: xla.xla_pad(x, tf.constant(1.5), [0, 0], [0, 0], [1, 0]))
    check_refused(fn, tf.TensorSpec([4, 5]), match="between")


def gather(x: tf.Tensor, indices: tf.Tensor, sizes: Any, **numbers: Any) -> Any:
    message = xla_data_pb2.GatherDimensionNumbers(**numbers).SerializeToString()
    return xla.xla_gather(x, indices, sizes, message, False)


X = tf.TensorSpec([6, 5, 3])


@pytest.mark.parametrize(
    ("shape", "sizes", "numbers"),
    [
        # rows; the axis of the indices is left out, or not
        ([4, 1], [1, 5, 3], {"offset_dims": [1, 2], "collapsed_slice_dims": [0], "start_index_map": [0],
                             "index_vector_dim": 1}),
        ([4, 2], [1, 5, 3], {"offset_dims": [2, 3], "collapsed_slice_dims": [0], "start_index_map": [0],
                             "index_vector_dim": 2}),
        # columns, in front or between
        ([2, 4], [6, 1, 3], {"offset_dims": [0, 2], "collapsed_slice_dims": [1], "start_index_map": [1],
                             "index_vector_dim": 2}),
        # single elements, with the numbers of an index in another order, in front
        ([2, 4], [1, 1, 3], {"offset_dims": [0], "collapsed_slice_dims": [0, 1], "start_index_map": [1, 0],
                             "index_vector_dim": 0}),
        # dimensions of one that are kept
        ([4, 2], [1, 1, 3], {"offset_dims": [0, 2, 3], "start_index_map": [0, 1], "index_vector_dim": 1}),
        # one slice
        ([2], [2, 1, 2], {"offset_dims": [0, 1], "collapsed_slice_dims": [1], "start_index_map": [2, 1],
                          "index_vector_dim": 0}),
    ],
)  # fmt: skip
def test_gathers(shape: Any, sizes: Any, numbers: Any) -> None:
    # Indices beyond the ends, too, which XLA moves back.
    check(compiled(lambda x, i: gather(x, i, sizes, **numbers)), X, tf.TensorSpec(shape, tf.int32))


def test_gathers_that_are_refused() -> None:
    indices = tf.TensorSpec([4, 1], tf.int32)
    parts = {"offset_dims": [1, 2, 3], "start_index_map": [0], "index_vector_dim": 1}
    check_refused(compiled(lambda x, i: gather(x, i, [2, 5, 3], **parts)), X, indices, match="neither single")
    check_refused(compiled(lambda x, i: gather(x, i, [1, 5, 2], **parts)), X, indices, match="nor all of a dimension")
    along = {"offset_dims": [1], "collapsed_slice_dims": [1], "start_index_map": [1], "index_vector_dim": 1,
             "operand_batching_dims": [0], "start_indices_batching_dims": [0]}  # fmt: skip
    rows = tf.TensorSpec([6, 1], tf.int32)
    check_refused(compiled(lambda x, i: gather(x, i, [1, 1, 3], **along)), X, rows, match="go together")


def test_a_barrier_is_nothing() -> None:
    converted = check(compiled(lambda x: tf.multiply(*xla.xla_optimization_barrier([x, x + 1]))), tf.TensorSpec([2]))
    assert converted.ops == ["ADD", "MUL"]


def test_what_a_reducer_makes_is_not_taken_for_the_result() -> None:
    # A branch on what an unknown reduction makes: its shape is not that of its operand.
    def fn(x: tf.Tensor) -> tf.Tensor:
        scalar = tf.TensorSpec([])
        largest = tf.function(lambda a, b: tf.where(a > b, a, b)).get_concrete_function(scalar, scalar)
        (top,) = xla.xla_variadic_reduce_v2([x], [tf.constant(-np.inf)], [0], largest)
        return tf.cond(top > 0, lambda: x, lambda: -x)

    check_refused(compiled(fn), tf.TensorSpec([4]), match="operation of XLA")
