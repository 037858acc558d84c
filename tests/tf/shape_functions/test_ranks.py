"""Operands with numbers of dimensions that an op does not take, and other contradictions."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fuseconv
from fuseconv.errors import InputError, UnsupportedError
from fuseconv.tf.shape_functions import ranks
from tests.frozen import FLOAT, INT32, Frozen

T = {"T": {"type": FLOAT}}


@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize("op", ["Conv2D", "Range", "ResizeBilinear", "ConcatV2", "Neg"])
def test_lines_are_what_tensorflow_says(op: str) -> None:
    lines = {line.partition("\t")[0]: line for line in ranks._TABLE.read_text().splitlines()}
    assert ranks.line_of(op) == lines.get(op, "")


def test_kernels_are_no_less_strict_than_shape_functions() -> None:
    tables = [dict(line.split("\t", 1) for line in path.read_text().splitlines())
              for path in (ranks._TABLE, ranks._KERNELS)]  # fmt: skip
    for op in tables[0].keys() & tables[1].keys():
        for said, strict in zip(tables[0][op].split("\t"), tables[1][op].split("\t"), strict=True):
            allowed, of_kernel = (field.partition("=")[0].replace("*", "0123456") for field in (said, strict))
            assert {*of_kernel} <= {*allowed}, op


def ints(graph: Frozen, value: Any) -> str:
    return graph.constant(f"c{len(graph.graph.node)}", np.array(value, np.int32))


def transpose(graph: Frozen) -> None:
    graph.node("y", "Transpose", "x", ints(graph, [0, 1, 1, 2]), Tperm={"type": INT32}, **T)


def reshape(graph: Frozen) -> None:
    graph.node("y", "Reshape", "x", ints(graph, [7]), Tshape={"type": INT32}, **T)


def axis_of_a_scalar(graph: Frozen) -> None:
    graph.node("s", "Sum", "x", ints(graph, [0, 1, 2, 3]), Tidx={"type": INT32}, **T)
    graph.node("y", "Cumsum", "s", ints(graph, 0), Tidx={"type": INT32}, **T)


def two_counts(graph: Frozen) -> None:
    graph.node("y", "TopKV2", "x", ints(graph, [3, 3]), Tk={"type": INT32}, **T)


def broadcast(graph: Frozen) -> None:
    graph.node("y", "AddV2", "x", graph.constant("c", np.ones(5, np.float32)), **T)


def rank(graph: Frozen) -> None:
    graph.node("y", "MatMul", "x", "x", **T)


def length(graph: Frozen) -> None:
    graph.node("y", "ResizeBilinear", "x", ints(graph, [4, 4, 4]), **T)


def channels(graph: Frozen) -> None:
    kernel = graph.constant("k", np.ones((1, 1, 2, 4), np.float32))
    graph.node("y", "Conv2D", "x", kernel, strides={"list": {"i": [1] * 4}}, padding={"s": b"SAME"}, **T)


def strides(graph: Frozen) -> None:
    kernel = graph.constant("k", np.ones((1, 1, 3, 4), np.float32))
    graph.node("y", "Conv2D", "x", kernel, strides={"list": {"i": [1, 0, 0, 1]}}, padding={"s": b"SAME"}, **T)


def split(graph: Frozen) -> None:
    graph.node("y", "Split", ints(graph, 3), "x", num_split={"i": 2}, **T)


def split_of_sizes(graph: Frozen) -> None:
    graph.node("y", "SplitV", "x", ints(graph, [1, 1]), ints(graph, 3), num_split={"i": 2}, Tlen={"type": INT32}, **T)


def unpack(graph: Frozen) -> None:
    graph.node("y", "Unpack", "x", num={"i": 5}, **T)


def paddings(graph: Frozen) -> None:
    graph.node("y", "Pad", "x", ints(graph, [[0, 0], [-9, 0], [0, 0], [0, 0]]), Tpaddings={"type": INT32}, **T)


def crops(graph: Frozen) -> None:
    graph.node("y", "BatchToSpaceND", "x", ints(graph, [1]), ints(graph, [0, 0]), Tblock_shape={"type": INT32},
               Tcrops={"type": INT32}, **T)  # fmt: skip


def squeeze(graph: Frozen) -> None:
    graph.node("y", "Squeeze", "x", squeeze_dims={"list": {"i": [1]}}, **T)


def window(graph: Frozen) -> None:
    graph.node("y", "MaxPool", "x", ksize={"list": {"i": [1, 9, 9, 1]}}, strides={"list": {"i": [1] * 4}},
               padding={"s": b"VALID"}, **T)  # fmt: skip


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (transpose, r"its perm is \[0, 1, 1, 2\]"),
        (reshape, "another number of elements"),
        (axis_of_a_scalar, "axis 0 of 0 dimensions"),
        (two_counts, "operand 1 has the shape \\[2\\]"),
        (broadcast, "dimensions 3 and 5 do not broadcast"),
        (rank, r"its operand 0 has the shape \[1,4,4,3\], which the op does not take"),
        (length, r"its operand 1 has the shape \[3\], which the op does not take"),
        (channels, "3 channels, and its filter takes 2"),
        (strides, r"its strides are \[1, 0, 0, 1\]"),
        (split, "2 equal parts of 3 elements"),
        (split_of_sizes, "2 and 3 elements"),
        (unpack, "1 and 5 elements"),
        (paddings, "it pads or crops"),
        (crops, "what it pads or crops has 1 dimensions"),
        (squeeze, r"drops the dimensions \[1\] of"),
        (window, "it would make a dimension of -4 elements"),
    ],
)
def test_a_node_that_cannot_run_is_refused_by_name(damage: Callable[[Frozen], None], why: str, tmp_path: Path) -> None:
    graph = Frozen(1, 4, 4, 3)
    damage(graph)
    with pytest.raises(UnsupportedError) as refused:
        fuseconv.convert(graph.write(tmp_path), outputs=["y"])
    ((_, nodes, told),) = refused.value.ops
    assert nodes == ["y"]
    assert told.endswith(": the model is damaged")
    assert re.search(why, told)


def test_a_node_that_cannot_run_is_refused_though_only_its_shape_is_read(tmp_path: Path) -> None:
    graph = Frozen(4, 4, 3)
    graph.node("norm", "LRN", "x", **T)
    graph.node("y", "Shape", "norm", out_type={"type": INT32}, **T)
    with pytest.raises(InputError, match="'norm' \\(LRN\\) cannot run"):
        fuseconv.convert(graph.write(tmp_path))
