"""Parity of gathers, scatters and what else goes by indices."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused
from tests.pairwise import in_turn

raw = tf.raw_ops
TYPES = [
    tf.float32, tf.float16, tf.bfloat16, tf.int8, tf.uint8, tf.int16, tf.uint16, tf.int32, tf.uint32, tf.int64, tf.bool,
]  # fmt: skip
NUMBERS = [t for t in TYPES if t is not tf.bool]


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


def below_two(rng, shape, dtype):
    """Indices below 2; other numbers too."""
    return rng.integers(0, 2, shape).astype(dtype)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("index_type", [tf.int32, tf.int64, tf.int16], ids=lambda t: t.name)
def test_gather(axis, index_type):
    def layer(x, i):
        return tf.gather(x + 0.5, i, axis=axis)

    check(layer, spec(None, 3, 4), spec(None, 2, dtype=index_type), inputs=below_two)


def test_gather_is_one_op():
    check(lambda x: tf.gather(x, [2, 0], axis=-1), spec(None, 3), ops=["GATHER"])


def test_a_gather_of_all_in_order_is_none():
    check(lambda x: tf.exp(tf.gather(x, [0, 1, 2], axis=-1)), spec(None, 3), ops=["EXP"])
    check(lambda x: tf.gather(x, [0, 1], axis=-1), spec(None, 3), ops=["GATHER"])


def test_gather_of_strings():
    check(lambda x: tf.gather(x, [[2, 0]]), spec(3, dtype=tf.string))
    check(lambda x: tf.gather(x, [1]), spec(None, 3, dtype=tf.string))


@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.name)
def test_gather_of_each_type(dtype):
    check(lambda x: tf.gather(x, [[1, 0], [2, 1]], axis=1), spec(None, 3, dtype=dtype))
    check(lambda x: tf.gather(x, 1, axis=-1), spec(None, 3, dtype=dtype))
    check(lambda x: tf.gather_nd(x, [[1, 0], [0, 2]]), spec(None, 3, dtype=dtype))


@pytest.mark.parametrize("batch_dims", [1, 2, -1])
def test_gather_within_batches(batch_dims):
    def layer(x, i):
        return tf.gather(x * 7, i, axis=2, batch_dims=batch_dims)

    check(layer, spec(2, 3, 4, 2), spec(2, 3, 5, dtype=tf.int32), inputs=below_two)


@pytest.mark.parametrize("index_type", [tf.int32, tf.int64], ids=lambda t: t.name)
def test_gather_nd(index_type):
    check(tf.gather_nd, spec(None, 3, 4), spec(None, 2, 2, dtype=index_type), inputs=below_two)
    check(lambda x, i: tf.gather_nd(x, i, 1), spec(None, 3, 4), spec(None, 2, dtype=index_type), inputs=below_two)


@in_turn(index_type={"int32": tf.int32, "int64": tf.int64}, dtype={dtype.name: dtype for dtype in NUMBERS})
def test_scatter_nd(dtype, index_type):
    indices = np.array([[1], [0], [1]], index_type.as_numpy_dtype)
    check(lambda x: tf.scatter_nd(indices, x, np.array([4, 2], indices.dtype)), spec(3, 2, dtype=dtype))


def test_scatter_nd_at_run_time():
    x, i, n = np.ones((3, 2), np.float32), np.array([[1], [0], [1]], np.int32), np.array([4, 2], np.int32)
    check(lambda i, x, n: tf.scatter_nd(i, x, n), spec(None, 1, dtype=tf.int32), spec(None, 2), spec(2, dtype=tf.int32),
          inputs=[i, x, n], static=False)  # fmt: skip


SCATTERS = [
    tf.tensor_scatter_nd_add, tf.tensor_scatter_nd_sub, tf.tensor_scatter_nd_update, tf.tensor_scatter_nd_max,
    tf.tensor_scatter_nd_min,
]  # fmt: skip


@pytest.mark.parametrize("op", SCATTERS, ids=lambda op: op.__name__)
@pytest.mark.parametrize("dtype", [tf.float32, tf.int32], ids=lambda t: t.name)
def test_scatter_into_a_tensor(op, dtype):
    # Index 1 is named twice: the last update holds.
    rows = np.array([[1], [0], [1]], np.int32)
    cells = np.array([[1, 2], [0, 0], [1, 2], [1, 1]], np.int64)
    check(lambda x, y: op(x, rows, y), spec(4, 3, dtype=dtype), spec(3, 3, dtype=dtype))
    check(lambda x, y: op(x, cells, y), spec(4, 3, dtype=dtype), spec(4, dtype=dtype))


def test_a_single_update_is_a_slice():
    def at(rng, shape, dtype):
        return rng.standard_normal(shape).astype(dtype) if dtype.kind == "f" else np.full(shape, 2, dtype)

    def layer(x, row, place):
        return tf.tensor_scatter_nd_update(x, place[None, None], row[None])

    specs = spec(None, 3), spec(3), spec(dtype=tf.int64)
    converted = check(layer, *specs, inputs=at, batches=(3, 4))
    assert "DYNAMIC_UPDATE_SLICE" in converted.ops and "GATHER" not in converted.ops
    fixed = lambda x, y: tf.tensor_scatter_nd_update(x, [[1, 2]], y)  # noqa: E731
    check(fixed, spec(None, 4), spec(1), ops=["RESHAPE", "DYNAMIC_UPDATE_SLICE"])


@pytest.mark.parametrize("dtype", [tf.float32, tf.int16, tf.bool], ids=lambda dtype: dtype.name)
def test_known_updates_of_few_rows(dtype):
    places = [[[0, 1], [1, 1]], [[0, 1], [1, 2]]]
    kinds = ["RESHAPE", "RESHAPE", "CONCATENATION", "GATHER", "RESHAPE"]
    update = lambda x, y: tf.tensor_scatter_nd_update(x, places, y)  # noqa: E731
    check(update, spec(2, 3, 5, dtype=dtype), spec(2, 2, 5, dtype=dtype), ops=None if dtype is tf.int16 else kinds)
    check(update, spec(2, 3, None, dtype=dtype), spec(2, 2, None, dtype=dtype), static=False)


def test_known_updates_of_many_rows():
    places = [[4], [299], [4]]
    check(lambda x, y: tf.tensor_scatter_nd_update(x, places, y), spec(300, 2), spec(3, 2))


@pytest.mark.parametrize("op", SCATTERS, ids=lambda op: op.__name__)
def test_scatter_into_sizes_that_are_not_known(op):
    def layer(x, y):
        return op(x, [[0, 1, 0], [1, 2, 0], [0, 1, 0]], y) + op(x, [[1, 2], [0, 0]], x[0, :2])

    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal(size).astype(np.float32) for size in ((3, 4, 2), (3,))]
    check(layer, spec(None, None, None), spec(3), inputs=inputs, static=False)


def test_scatter_into_a_sequence_that_has_room_for_more():
    def layer(x):
        room = tf.pad(x, [[0, 0], [0, 6]])
        rows = tf.range(tf.shape(x)[0])
        return tf.tensor_scatter_nd_update(room, tf.stack([rows, rows + tf.shape(x)[1]], -1), x[:, 0])

    check(layer, spec(None, None))


@pytest.mark.parametrize("op", SCATTERS, ids=lambda op: op.__name__)
def test_scatter_at_computed_indices(op):
    specs = spec(None, 3, 2), spec(None, 2, dtype=tf.int32), spec(None, 2)
    check(op, *specs, inputs=below_two)


@pytest.mark.parametrize(
    "dtype", [tf.float32, tf.float16, tf.int16, tf.int64, tf.bool, tf.complex64], ids=lambda dtype: dtype.name
)
@pytest.mark.parametrize("shape", [(9,), (4, 3)], ids=str)
def test_elements_at_computed_indices(shape, dtype):
    level = len(shape)
    specs = spec(*shape), spec(5, level, dtype=tf.int32), spec(5)
    # The second and the last are named twice: the later update holds, also of what is no number.
    at = np.array([[2, 1], [0, 1], [3, 0], [2, 1], [0, 1]], np.int32)[:, :level]
    rng = np.random.default_rng(3)
    tensor, updates = rng.standard_normal(shape).astype(np.float32), rng.standard_normal(5).astype(np.float32)
    if dtype.is_floating:
        tensor[(2, 1)[:level]], updates[1], updates[2] = [np.nan] * 3

    def layer(x, places, y):
        return tf.tensor_scatter_nd_update(tf.cast(2 * x, dtype), places, tf.cast(3 * y, dtype))

    converted = check(layer, *specs, inputs=[tensor, at, updates])
    assert "UNSORTED_SEGMENT_MAX" in converted.ops and "SCATTER_ND" in converted.ops


@pytest.mark.parametrize("dtype", [tf.float32, tf.bool], ids=lambda dtype: dtype.name)
def test_one_place_of_each_row(dtype):
    def layer(x, places, y):
        rows = tf.range(tf.shape(x)[0])
        x = tf.where(x > 1, np.nan, x)  # what is replaced may be no number
        return tf.tensor_scatter_nd_update(tf.cast(x, dtype), tf.stack([rows, places], 1), tf.cast(y, dtype))

    specs = spec(None, 3, 2), spec(None, dtype=tf.int32), spec(None, 2)
    converted = check(layer, *specs, inputs=below_two)
    assert "UNSORTED_SEGMENT_MAX" not in converted.ops and converted.ops.count("SCATTER_ND") == 2


def test_one_place_of_each_row_in_a_loop():
    """As a decoder writes the symbol that it emits: the range is hoisted out of the loop."""

    def layer(x, places):
        rows, y = tf.range(tf.shape(x)[0]), x
        for step in tf.range(3):
            where = tf.stack([rows, places + step], 1)
            y = tf.tensor_scatter_nd_update(y, where, tf.tanh(tf.reduce_sum(y, 1)))
        return y

    converted = check(layer, spec(None, 9), spec(None, dtype=tf.int32), inputs=below_two)
    assert "UNSORTED_SEGMENT_MAX" not in converted.ops and converted.ops.count("WHILE") == 1


@pytest.mark.parametrize("in_order", [True, False], ids=["sorted", "as they are"])
@pytest.mark.parametrize("batch", [2, None])
def test_the_best_places_of_each_row(batch, in_order):
    """As ProbSparse attention of Informer updates the queries that matter."""

    def layer(x, y):
        places = tf.math.top_k(x[..., 0], 2).indices
        places = tf.sort(places, -1) if in_order else places
        count = tf.shape(x)[0]
        rows = tf.tile(tf.range(count)[:, None, None], [1, 3, 2])
        heads = tf.tile(tf.range(3)[None, :, None], [count, 1, 2])
        return tf.tensor_scatter_nd_update(x, tf.stack([rows, heads, places], -1), y)

    converted = check(layer, spec(batch, 3, 5, 4), spec(batch, 3, 2, 4), static=batch is not None)
    assert "UNSORTED_SEGMENT_MAX" not in converted.ops


@pytest.mark.parametrize("dtype", [tf.float32, tf.int32, tf.bool], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("few", [0.0, 9.0], ids=["some", "none"])
def test_scatter_of_as_many_updates_as_the_data_tells(few, dtype):
    def layer(x):
        rows = tf.where(x[:, 0] > few)
        return tf.tensor_scatter_nd_update(tf.cast(x, dtype), rows, tf.cast(tf.gather_nd(2.5 * x, rows), dtype))

    check(layer, spec(None, 3))


def test_scatter_of_nothing():
    check(lambda x: tf.tensor_scatter_nd_update(x, tf.zeros([0, 1], tf.int32), x[:0]), spec(None, 3))


@in_turn(
    axis=[0, -1, 1],
    dtype={dtype.name: dtype for dtype in (tf.float32, tf.float16, tf.int8, tf.uint8, tf.int16, tf.int32, tf.int64)}
    | {"bool": tf.bool},
)
def test_one_hot(dtype, axis):
    on, off = (True, False) if dtype is tf.bool else (1, 0)
    check(lambda i: tf.one_hot(i, 4, on, off, axis, dtype), spec(None, 3, dtype=tf.int32))


@pytest.mark.parametrize("index_type", [tf.uint8, tf.int64], ids=lambda t: t.name)
def test_one_hot_of_other_indices_and_values(index_type):
    indices = np.array([[0, 3, 2], [4, 1, 200]]).astype(index_type.as_numpy_dtype)
    check(lambda i: tf.one_hot(i, 4, 2.5, -1.0), spec(2, 3, dtype=index_type), inputs=[indices])


@pytest.mark.parametrize("dtype", NUMBERS, ids=lambda t: t.name)
def test_unique(dtype):
    x = np.array([3, 1, 3, 2, 1, 3], dtype.as_numpy_dtype)
    check(lambda x: list(tf.unique(x)), spec(None, dtype=dtype), inputs=[x], static=False)
    check(lambda x: list(tf.unique(x, tf.int64)), spec(6, dtype=dtype), inputs=[x])


@pytest.mark.parametrize("dtype", [tf.float32, tf.int32, tf.int64, tf.uint8, tf.bool], ids=lambda t: t.name)
def test_unique_slices(dtype):
    def few(rng, shape, numpy_type):
        return rng.integers(0, 2, shape).astype(numpy_type)

    def along(*axis):
        return lambda x: [*raw.UniqueV2(x=x, axis=axis), *raw.UniqueWithCountsV2(x=x, axis=axis, out_idx=tf.int64)]

    check(along(0), spec(None, 2, dtype=dtype), batches=(7, 9, 1), inputs=few)
    check(along(-1), spec(3, None, dtype=dtype), batches=(7, 9), inputs=few)
    check(along(1), spec(1, 6, 2, dtype=dtype), inputs=few)


def test_unique_slices_of_strings_and_with_nan():
    words = np.array([[b"a", b"b"], [b"", b"b"], [b"a", b"b"], [b"", b""]], object)
    check(lambda x: [*raw.UniqueV2(x=x, axis=[0])], spec(None, 2, dtype=tf.string), inputs=[words], static=False)
    numbers = np.array([[np.nan, 1], [0, 1], [np.nan, 1], [-0.0, 1], [0, 2]], np.float32)
    check(lambda x: [*raw.UniqueV2(x=x, axis=[0])], spec(None, 2), batches=(5,), inputs=[numbers])


def test_unique_strings():
    x = np.array([b"b", b"", b"b", b"a", b"", b"c"], object)
    check(lambda x: list(tf.unique(x)), spec(None, dtype=tf.string), inputs=[x], static=False)
    check(lambda x: list(tf.unique_with_counts(x, tf.int64)), spec(6, dtype=tf.string), inputs=[x])


@in_turn(index_type={"int32": tf.int32, "int64": tf.int64}, dtype={dtype.name: dtype for dtype in (*NUMBERS, tf.bool)})
def test_sparse_to_dense(dtype, index_type):
    indices = np.array([[0, 2], [1, 0]], index_type.as_numpy_dtype)
    shape = np.array([3, 4], index_type.as_numpy_dtype)

    def layer(x, default):
        return raw.SparseToDense(sparse_indices=indices, output_shape=shape, sparse_values=x, default_value=default)

    check(layer, spec(2, dtype=dtype), spec(dtype=dtype))


def test_sparse_to_dense_of_many_dimensions_is_refused():
    def layer(x):
        return raw.SparseToDense(sparse_indices=[[0] * 5], output_shape=[2] * 5, sparse_values=x, default_value=0.0)

    check_refused(layer, spec(1), match="SparseToDense.*4 dimensions")


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64], ids=lambda t: t.name)
def test_unravel_index(dtype):
    places = np.array([0, 5, 23, 7, 12], dtype.as_numpy_dtype)
    sizes = np.array([2, 3, 4], dtype.as_numpy_dtype)
    check(lambda i: tf.unravel_index(i, sizes), spec(None, dtype=dtype), inputs=[places], static=False)
    check(lambda i: tf.unravel_index(i, sizes), spec(dtype=dtype), inputs=[places[2]])


def test_stitch():
    check(lambda x, y: tf.dynamic_stitch([[0, 3, 1], [2, 1]], [x, y]), spec(3, 2), spec(2, 2))
    check_refused(lambda x: tf.dynamic_stitch([[0, 2]], [x]), spec(2, 2), match="DynamicStitch.*no index names")


def test_stitch_at_computed_places():
    def stitched(x, y, a, b):
        return tf.dynamic_stitch([a, b], [x, y])

    x, y = np.arange(12, dtype=np.float32).reshape(3, 2, 2), np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2) - 9
    # Of the rows that two indices name, the last one counts.
    inputs = [x, y, np.array([2, 0, 3], np.int32), np.array([[1, 2]], np.int32)]
    check(stitched, spec(3, 2, 2), spec(1, 2, 2, 2), spec(3, dtype=tf.int32), spec(1, 2, dtype=tf.int32), inputs=inputs)


@pytest.mark.parametrize("strategy", ["mod", "div"])
def test_lookup_in_a_partitioned_embedding(strategy):
    parts = [np.random.default_rng(n).standard_normal((4, 3), np.float32) for n in range(3)]

    def lookup(ids):
        return tf.compat.v1.nn.embedding_lookup(parts, ids, partition_strategy=strategy)

    check(lookup, spec(None, 2, dtype=tf.int64), inputs=lambda rng, shape, dtype: rng.integers(0, 12, shape))


@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.name)
def test_partition(dtype):
    def layer(x):
        return tf.dynamic_partition(x, [[2, 0, 2], [0, 0, 3]], 3 + 1)

    check(layer, spec(2, 3, 2, dtype=dtype))


def test_partition_by_computed_numbers():
    x, numbers = np.arange(6, dtype=np.float32).reshape(3, 2), np.array([1, 0, 1], np.int32)
    check(lambda x, n: tf.dynamic_partition(x, n, 2), spec(None, 2), spec(None, dtype=tf.int32), inputs=[x, numbers],
          static=False)  # fmt: skip


@pytest.mark.parametrize("dtype", [tf.float32, tf.int32, tf.int64], ids=lambda t: t.name)
@pytest.mark.parametrize("op", ["InplaceUpdate", "InplaceAdd", "InplaceSub"])
def test_in_place(op, dtype):
    specs = tf.TensorSpec([None, 4], dtype), tf.TensorSpec([2, 4], dtype)
    check(lambda x, v: getattr(tf.raw_ops, op)(x=tf.raw_ops.DeepCopy(x=x), i=[1, 0], v=v), *specs)


def test_non_aliasing_add():
    def added(x, updates):
        return tf.raw_ops.ScatterNdNonAliasingAdd(input=x, indices=[[1], [0], [1]], updates=updates)

    check(added, tf.TensorSpec([None, 4]), tf.TensorSpec([3, 4]))


def test_parallel_stitch():
    def stitched(x, y):
        return tf.raw_ops.ParallelDynamicStitch(indices=[[0, 3], [2, 1]], data=[x, y])

    check(stitched, tf.TensorSpec([2, 3]), tf.TensorSpec([2, 3]))


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64], ids=lambda t: t.name)
def test_data_formats(dtype):
    def dimensions(x):
        return tf.raw_ops.DataFormatDimMap(x=x, src_format="NHWC", dst_format="NCHW")

    def sizes(x):
        return tf.raw_ops.DataFormatVecPermute(x=x, src_format="NHWC", dst_format="NCHW")

    numbers = np.array([0, 1, 2, 3, -1, -2, -3, -4], dtype.as_numpy_dtype)
    check(dimensions, tf.TensorSpec([8], dtype), inputs=[numbers])
    for shape in ([4], [4, 2], [2], [2, 2]):
        check(sizes, tf.TensorSpec(shape, dtype))


def test_rows_of_sizes_that_data_tell_in_a_branch() -> None:
    """As Longformer's global attention: how many rows come before the others, only the data tells."""

    def fn(x: tf.Tensor) -> tf.Tensor:
        batch, length = tf.shape(x)[0], tf.shape(x)[1]
        chosen = tf.where(x[:, :, 0] > 1.0)
        numbers = tf.math.count_nonzero(x[:, :, 0] > 1.0, axis=1, dtype=tf.int32)
        most = tf.reduce_max(numbers)
        local = tf.where(tf.range(most)[None] < numbers[:, None])
        probs = tf.nn.softmax(tf.matmul(x, x, transpose_b=True))

        def scattered() -> tf.Tensor:
            tail = tf.transpose(tf.zeros([batch, most, length]), [0, 2, 1])
            rows = tf.scatter_nd(tf.cast(local, tf.int32), tf.gather_nd(probs, chosen), [batch, most, length])
            both = tf.transpose(tf.concat([tf.transpose(rows, [0, 2, 1]), probs], -1), [0, 2, 1])
            own = tf.gather_nd(tf.transpose(both, [0, 2, 1]), chosen)[:, :length] * 2.0
            return tf.reduce_sum(tf.tensor_scatter_nd_update(both, local, own), 1) + tf.reduce_sum(tail)

        return tf.cond(most > 0, scattered, lambda: tf.reduce_sum(probs, 1))

    check(fn, tf.TensorSpec([None, None, 8]), static=False)
