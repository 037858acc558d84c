"""Lists of elements of different numbers of rows, which are concatenated in the end, as detections of each scale."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused

X = tf.TensorSpec([None, 4])


def some(x: tf.Tensor, i: tf.Tensor) -> tf.Tensor:
    """Another number of rows for each i."""
    return tf.boolean_mask(x, x[:, 0] > tf.cast(i, tf.float32) * 0.5 - 0.9)


def array(size: int = 0, **options: bool) -> tf.TensorArray:
    return tf.TensorArray(
        tf.float32, size, dynamic_size=size == 0, infer_shape=False, element_shape=[None, 4], **options
    )


def in_a_loop(x: tf.Tensor) -> tf.Tensor:
    rows = array(3)
    for i in tf.range(3):
        rows = rows.write(i, some(x, i))
    return rows.concat()


def from_one(x: tf.Tensor) -> tf.Tensor:
    rows = array(3)
    for i in tf.range(1, 4):
        rows = rows.write(i - 1, some(x, i))
    return rows.concat()


def at_its_size(x: tf.Tensor) -> tf.Tensor:
    rows = array()
    for i in tf.range(3):
        rows = rows.write(rows.size(), some(x, i))
    return rows.concat()


def if_there_are_several(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    rows, count = array(), 0
    for i in tf.range(4):
        found = some(x, i)
        if tf.shape(found)[0] > 1:
            rows = rows.write(count, found)
            count += 1
    rows = rows.write(count, x)
    return rows.concat(), count


def in_two_loops_and_after(x: tf.Tensor) -> tf.Tensor:
    rows, count = array(), 0
    while count < 2:
        rows = rows.write(count, some(x, count))
        count += 1
    while count < 5:
        rows = rows.write(count, x[:count])
        count += 1
    return rows.write(count, x * 2.0).concat()


def in_nested_loops(x: tf.Tensor) -> tf.Tensor:
    rows, count = array(), 0
    for i in tf.range(2):
        for j in tf.range(3):
            rows = rows.write(count, tf.boolean_mask(x, x[:, j] > tf.cast(i, tf.float32) * 0.5 - 0.9))
            count += 1
    return rows.concat()


def until_there_are_few(x: tf.Tensor) -> tf.Tensor:
    rows = array()
    for i in tf.range(5):
        found = some(x, i)
        rows = rows.write(i, found)
        if tf.shape(found)[0] < 2:
            break
    return rows.concat()


def pushed(x: tf.Tensor) -> tf.Tensor:
    rows = tf.raw_ops.EmptyTensorList(element_shape=[-1, 4], max_num_elements=-1, element_dtype=tf.float32)
    for i in tf.range(5):
        rows = tf.raw_ops.TensorListPushBack(input_handle=rows, tensor=some(x, i))
    none = tf.zeros([0], tf.int64)
    return tf.raw_ops.TensorListConcatV2(
        input_handle=rows, element_shape=[-1, 4], leading_dims=none, element_dtype=tf.float32
    )[0]


@pytest.mark.parametrize(
    "function",
    [in_a_loop, from_one, at_its_size, if_there_are_several, in_two_loops_and_after, in_nested_loops,
     until_there_are_few, pushed],
)  # fmt: skip
def test_appended(function: Callable) -> None:
    check(tf.function(function), X, batches=(4, 7))


def test_a_pyramid_of_images() -> None:
    def fn(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        points = tf.TensorArray(tf.float32, 0, dynamic_size=True, infer_shape=False)
        places = tf.TensorArray(tf.int32, 0, dynamic_size=True, infer_shape=False)
        scale, count = 1.0, 0
        height, width = tf.cast(tf.shape(x)[1], tf.float32), tf.cast(tf.shape(x)[2], tf.float32)
        while tf.minimum(height, width) * scale > 4.0:
            size = [tf.cast(height * scale, tf.int32), tf.cast(width * scale, tf.int32)]
            level = tf.image.resize(x, size)
            found = tf.where(level[0, :, :, 0] > 0.3)
            points = points.write(count, tf.gather_nd(level[0], found))
            places = places.write(count, tf.cast(found, tf.int32))
            count, scale = count + 1, scale * 0.7
        return points.concat(), places.concat()

    check(tf.function(fn), tf.TensorSpec([1, None, None, 3]), batches=(6, 9))


def grown(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """A sequence with its last row once more, of a row for sure only if there was one."""
    row = tf.tanh(x[:, -1:, :] * 0.7)
    return row, tf.concat([x, row], 1)


def test_rows_of_a_size_that_only_the_loop_knows() -> None:
    def stacked(x: tf.Tensor) -> tf.Tensor:
        rows = tf.TensorArray(tf.float32, 0, dynamic_size=True)
        for i in tf.range(6):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(x, tf.TensorShape([None, None, 4]))])
            row, x = grown(x)
            rows = rows.write(i, row)
            if tf.reduce_sum(row) > 1.5:
                break
        return rows.stack()

    assert "WHILE" in check(tf.function(stacked), tf.TensorSpec([None, None, 4]), static=False).ops


def test_a_stack_of_fewer_rows_than_there_is_room_for_has_zeros() -> None:
    def stacked(x: tf.Tensor) -> tf.Tensor:
        rows = tf.TensorArray(tf.float32, 6)
        for i in tf.range(6):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(x, tf.TensorShape([None, None, 4]))])
            row, x = grown(x)
            rows = rows.write(i, row)
            if i > 2:
                break
        return rows.stack()

    check(tf.function(stacked), tf.TensorSpec([None, None, 4]), static=False)


@pytest.mark.parametrize("stated", [None, [1, 1, 4]])
def test_rows_that_are_concatenated(stated: list[int] | None) -> None:
    kernel = tf.constant(np.random.default_rng(0).standard_normal((4, 4)), tf.float32)

    def joined(x: tf.Tensor) -> tf.Tensor:
        rows = tf.TensorArray(tf.float32, 3, infer_shape=False, element_shape=stated)
        for i in tf.range(3):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(x, tf.TensorShape([1, None, 4]))])
            row, x = grown(x @ kernel)
            rows = rows.write(i, row)
        return rows.concat()

    check(tf.function(joined), tf.TensorSpec([1, None, 4]), batches=(1,), static=False)


def backwards(x: tf.Tensor) -> tf.Tensor:
    rows = array(3)
    for i in tf.range(3):
        rows = rows.write(2 - i, some(x, i))
    return rows.concat()


def twice(x: tf.Tensor) -> tf.Tensor:
    rows = array(3)
    for i in tf.range(3):
        rows = rows.write(i, some(x, i))
        rows = rows.write(i, some(x, i + 1))
    return rows.concat()


def with_gaps(x: tf.Tensor) -> tf.Tensor:
    rows = array()
    for i in tf.range(3):
        if x[0, i] > 0.0:
            rows = rows.write(i, some(x, i))
    return rows.concat()


def counted_in_the_other_branch(x: tf.Tensor) -> tf.Tensor:
    rows, count = array(), 0
    for i in tf.range(4):
        found = some(x, i)
        if tf.shape(found)[0] > 1:
            rows = rows.write(count, found)
        else:
            count += 1
    return rows.concat()


def read_too(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    rows = array(3, clear_after_read=False)
    for i in tf.range(3):
        rows = rows.write(i, some(x, i))
    return rows.concat(), tf.reduce_sum(rows.read(1))


def counted_too(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    rows = array()
    for i in tf.range(3):
        rows = rows.write(i, some(x, i))
    return rows.concat(), rows.size()


@pytest.mark.parametrize("function", [backwards, twice, with_gaps, counted_in_the_other_branch, read_too, counted_too])
def test_refused(function: Callable) -> None:
    check_refused(tf.function(function), X, match="elements of different shapes|shape of its elements is not known")
