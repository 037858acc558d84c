"""Rows, then columns, each repeated -> RESIZE_NEAREST_NEIGHBOR, as UpSampling2D of Keras 3 writes it.

`tf.repeat(x, 2, axis)` is ExpandDims(axis + 1), Tile and Reshape. Of volumes, the last two of three dimensions are
resized, for each plane apart.
"""

from __future__ import annotations

from typing import Any

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Constant, Term, pattern
from fuseconv.fusions.constant_operands import require_float32
from fuseconv.ir.graph import Op, Value
from fuseconv.tfl.builder import Builder


@pattern
def repeated(tf: Any, x: Any, axis: Constant, times: Constant, shape: Any, axis2: Constant, times2: Constant) -> Term:
    rows = tf.Reshape(tf.Tile(tf.ExpandDims(x, axis, name="opened"), times), ..., name="rows", shared=True)
    return tf.Reshape(tf.Tile(tf.ExpandDims(rows, axis2, name="opened2"), times2), shape, name="all")


def check(m: Match) -> None:
    require_float32(m)
    m.require(m.x.rank in (4, 5), "it is no image, nor a volume")
    first, second = _repeats(m)
    pair = {first[0], second[0]}
    m.require(pair == {m.x.rank - 3, m.x.rank - 2}, "it does not repeat rows and columns")
    m.require(all(use.kind == "tf.Shape" or use is m.opened2 for use in m.rows.result.uses), "the rows are read too")
    known = all(isinstance(size, int) for size in m.x.shape[1:])
    m.require(m.x.rank == 4 or known, "the sizes of the volume are not known")


def _repeats(m: Match) -> tuple[tuple[int, int], tuple[int, int]]:
    return _repeat(m, m.x, m.opened, m.times, m.rows.result), _repeat(m, m.rows.result, m.opened2, m.times2, m.result)


def _repeat(m: Match, x: Value, opened: Op, times: Value, made: Value) -> tuple[int, int]:
    """Return the dimension along which each element of x is repeated, and how often."""
    assert x.shape is not None and opened.operands[1] is not None and opened.operands[1].data is not None
    assert times.data is not None
    axis = int(opened.operands[1].data) % (len(x.shape) + 1) - 1
    count = int(times.data[axis + 1])
    alone = times.data.size == len(x.shape) + 1 and (times.data != 1).sum() == 1 and count > 1
    m.require(alone and axis >= 0, "it repeats several dimensions, or none")
    wanted = (*x.shape[:axis], x.shape[axis] * count, *x.shape[axis + 1 :])
    m.require(made.shape == wanted, "the copies do not become one dimension with what they are of")
    return axis, count


def rewrite(tfl: Builder, m: Match) -> Value:
    counts = [count for _, count in sorted(_repeats(m))]
    *planes, height, width, channels = m.x.shape
    if isinstance(height, int) and isinstance(width, int):
        size: Any = [height * counts[0], width * counts[1]]
    else:
        size = tfl.mul(tfl.strided_slice(tfl.shape(m.x), [1], [3], [1]), counts)
    images = m.x if len(planes) == 1 else tfl.reshape(m.x, [-1, height, width, channels])
    resized = tfl.resize_nearest_neighbor(images, size, half_pixel_centers=True)
    return resized if len(planes) == 1 else tfl.reshape(resized, [-1, planes[1], *size, channels])


FUSIONS = [Fusion("upsampling", "RESIZE_NEAREST_NEIGHBOR", repeated, rewrite, check)]
