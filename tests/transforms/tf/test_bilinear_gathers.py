"""Bilinear resizing that is written as gathers and interpolations."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.api import _small_file
from fuseconv.fuse.registry import Registry
from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Op, Signature, Value, constant
from fuseconv.runners import TFLiteFile
from fuseconv.tf.builder import TfBuilder
from fuseconv.transforms.tf.bilinear_gathers import bilinear_resize


class _Axis:
    """The rows that are interpolated, as PyTorch computes them: at begin + weight * (end - begin)."""

    def __init__(self, size: int, made: int, align_corners: bool, moved: float = 0.0) -> None:
        at = (np.arange(made) + 0.5) * (size / made) - 0.5
        if align_corners:
            at = np.arange(made) * ((size - 1) / max(made - 1, 1))
        at = np.clip(at + moved, 0, size - 1)
        self.begin = np.floor(at).astype(np.int32)
        self.end = np.minimum(self.begin + 1, size - 1)
        self.weight = (at - self.begin).astype(np.float32)


def _places(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    return np.stack(np.meshgrid(rows, columns, indexing="ij"), -1)


def _written_out(x: Value, graph: Graph, rows: _Axis, columns: _Axis, order: list[int]) -> Value:
    """Write out the resizing of x [height, width, a, b], with pixels that are transposed."""
    tf = TfBuilder(graph.ops, Op("tf.AddV2", [], {}, "resize"))

    def interpolated(a: Value, b: Value, weight: np.ndarray, side: int) -> Value:
        shape = [1] * 4
        shape[order.index(side)] = weight.size
        difference = tf.add("Sub", [b, a], {}, x.dtype, a.shape)
        part = tf.add("Mul", [difference, constant(weight.reshape(shape))], {}, x.dtype, a.shape)
        return tf.add("AddV2", [a, part], {}, x.dtype, a.shape)

    def pixels(at: np.ndarray, of: np.ndarray) -> Value:
        shape = (len(at), len(of), *(x.shape or ())[2:])
        gathered = tf.add("GatherNd", [x, constant(_places(at, of))], {}, x.dtype, shape)
        moved = tuple(shape[axis] for axis in order)
        return tf.add("Transpose", [gathered, constant(np.array(order, np.int32))], {}, x.dtype, moved)

    top, bottom = (
        interpolated(pixels(at, columns.begin), pixels(at, columns.end), columns.weight, 1)
        for at in (rows.begin, rows.end)
    )
    return interpolated(top, bottom, rows.weight, 0)


def _resized(rows: _Axis, columns: _Axis, order: list[int], size: tuple[int, int]) -> tuple[Value | None, np.ndarray]:
    """Return what the resizing of random pixels becomes, None for nothing, and how far it is from what was written."""
    x = np.random.default_rng(3).standard_normal((*size, 2, 3)).astype(np.float32)
    files, named = [], None
    for rewrites in (False, True):
        graph = Graph("main")
        y = _written_out(graph.add_input(types.FLOAT32, x.shape, "x"), graph, rows, columns, order)
        if rewrites:
            assert y.op is not None
            made = bilinear_resize(y.op, TfBuilder(graph.ops, y.op))
            if made is None:
                return None, np.zeros(0)
            assert made[0].shape == y.shape
            named = y = made[0]
        graph.outputs = [y]
        module = Module([Signature(["serving_default"], graph, ["x"], ["y"])])
        file = TFLiteFile(_small_file(module, Registry.builtin()))
        files.append(file.run("serving_default", {"x": x})["y"])
    return named, np.abs(files[0] - files[1])


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("order", [[2, 3, 0, 1], [2, 0, 1, 3]])
@pytest.mark.parametrize("made", [(10, 16), (7, 8), (1, 3), (5, 64)])
def test_it_is_one_op(made: tuple[int, int], order: list[int], align_corners: bool) -> None:
    rows, columns = _Axis(5, made[0], align_corners), _Axis(8, made[1], align_corners)
    named, difference = _resized(rows, columns, order, (5, 8))
    assert named is not None
    assert difference.max() < 1e-5


def _none(rows: _Axis, columns: _Axis) -> bool:
    return _resized(rows, columns, [2, 3, 0, 1], (5, 8))[0] is None


def test_other_places_and_weights_stay() -> None:
    rows, columns = _Axis(5, 10, False), _Axis(8, 16, False)
    assert not _none(rows, columns)
    assert _none(_Axis(5, 10, False, moved=0.01), columns)
    assert _none(rows, _Axis(8, 16, True))
    columns.weight = columns.weight[::-1].copy()
    assert _none(rows, columns)
    columns = _Axis(8, 16, False)
    columns.end = columns.begin
    assert _none(rows, columns)
    rows.begin[3] = rows.end[3] = 4
    assert _none(rows, _Axis(8, 16, False))
