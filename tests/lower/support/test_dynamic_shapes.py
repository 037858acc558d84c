"""Shapes of the run time."""

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.dims import substitute_dim, symbol
from fuseconv.ir.graph import Graph, Module, Op, Signature, Value
from fuseconv.lower.rules import Lowering, Unsupported
from fuseconv.lower.support.dynamic_shapes import dim_vector, reshape, shape_of, shape_vector, static_dims
from fuseconv.runners import TFLiteFile
from fuseconv.write.flatbuffer_export import to_bytes

N, M = symbol("n"), symbol("m")


@pytest.fixture
def tfl():
    op = Op("tf.Op", name="op")
    op.add_result(types.FLOAT32, None)
    return Lowering([], op)


def emitted(tfl):
    return [op.type for op in tfl.out]


def test_a_reshape_to_the_same_shape_is_nothing(tfl):
    x = Value(types.FLOAT32, (N, 2))
    assert reshape(tfl, x, [N, 2]) is x


def test_a_reshape_with_one_unknown_dimension_takes_a_constant(tfl):
    y = reshape(tfl, Value(types.FLOAT32, (N, 2, 3)), [N, 6])
    assert y.shape == (N, 6)
    assert emitted(tfl) == ["RESHAPE"]
    assert y.op.operands[1].data.tolist() == [-1, 6]


def test_a_reshape_with_more_takes_a_shape_made_of_the_operands(tfl):
    y = reshape(tfl, Value(types.FLOAT32, (N, M, 2, 3)), [N, M, 6])
    assert y.shape == (N, M, 6)
    assert emitted(tfl)[-2:] == ["CONCATENATION", "RESHAPE"]


def test_a_known_shape_is_a_constant(tfl):
    assert shape_vector(tfl, [2, 3]).data.tolist() == [2, 3]
    assert dim_vector(tfl, 4).data.tolist() == [4]


def test_sums_products_and_quotients_of_sizes(tfl):
    dim_vector(tfl, (N * M * 2 + 1) // 3, Value(types.FLOAT32, (N, M)))
    assert set(emitted(tfl)) == {"SHAPE", "STRIDED_SLICE", "MUL", "ADD", "FLOOR_DIV"}


def test_a_size_that_another_differs_from_by_a_known_number(tfl):
    dim_vector(tfl, M * N, Value(types.FLOAT32, (N, M * 2 + 6)))
    assert emitted(tfl) == ["SHAPE", "STRIDED_SLICE", "SUB", "FLOOR_DIV", "SHAPE", "STRIDED_SLICE", "MUL"]


def test_a_size_that_another_differs_from_by_sizes_that_can_be_read(tfl):
    dim_vector(tfl, M * N, Value(types.FLOAT32, (N, M * 2 + N)))
    assert [op for op in emitted(tfl) if op not in ("SHAPE", "STRIDED_SLICE")] == ["SUB", "FLOOR_DIV", "MUL"]
    for shape in ((N, M + symbol("k")), (N, M * N + M), (N * 2, M + N)):
        with pytest.raises(Unsupported, match="cannot be told"):
            dim_vector(tfl, M, Value(types.FLOAT32, shape))


@pytest.mark.parametrize(("dim", "shape"), [
    (N, (M, N)), ((N * M * 2 + 1) // 3, (N, M)), (M * N, (N, M * 2 + 6)), (M, (N, M * 3 - 2)), (M, (N, M * 2 + N)),
    (M - N, (N, M)), (M * M - 1, (N, M)), (N * 5, (N * 5, 2)), ((N + M) * 2, (N + M, 2)), (M // 2 + N, (N, M)),
], ids=str)  # fmt: skip
def test_sizes_are_computed_from_those_of_operands(tfl, dim, shape):
    sizes = {"n": 3, "m": 7}
    graph = Graph("main")
    x = graph.add_input(types.FLOAT32, shape, "x")
    graph.outputs, graph.ops = [dim_vector(tfl, dim, x)], tfl.out
    file = TFLiteFile(to_bytes(Module([Signature(["check"], graph, ["x"], ["y"])])))
    data = np.zeros([substitute_dim(each, sizes) for each in shape], np.float32)
    assert file.run("check", {"x": data})["y"].tolist() == [substitute_dim(dim, sizes)]


def test_what_cannot_be_told_is_refused(tfl):
    with pytest.raises(Unsupported, match="cannot be told"):
        dim_vector(tfl, N + 1, Value(types.FLOAT32, (M,)))
    with pytest.raises(Unsupported, match="the channels must be known"):
        static_dims([2, N], "the channels")
    with pytest.raises(Unsupported, match="not known"):
        shape_of(Value(types.FLOAT32, None, "x"))
    with pytest.raises(Unsupported, match="rank 2 where"):
        shape_of(Value(types.FLOAT32, (2, 3)), 4)


def test_known_sizes_are_plain_ints():
    assert static_dims((np.int64(3), 2), "sizes") == [3, 2]


@pytest.mark.parametrize(
    ("shape", "dims", "op"),
    [
        ((N, M, 4), (N, M, 1, 4), "EXPAND_DIMS"),
        ((N, M, 4), (N, M, 4, 1), "EXPAND_DIMS"),
        ((N, 1, M, 1), (N, M), "SQUEEZE"),
        ((N, M, 1, 1), (N, M, 1), "SQUEEZE"),
    ],
)
def test_units_come_and_go_without_sizes(tfl, shape, dims, op):
    y = reshape(tfl, Value(types.FLOAT32, shape), dims)
    assert (emitted(tfl), y.shape) == ([op], dims)


@pytest.mark.parametrize("dims", [(N, 1, M, 1, 4), (M, N, 1, 4), (N, M, 2, 2)])
def test_other_dimensions_are_computed(tfl, dims):
    reshape(tfl, Value(types.FLOAT32, (N, M, 4)), dims)
    assert emitted(tfl)[-2:] == ["CONCATENATION", "RESHAPE"]


def test_a_product_with_a_size_that_only_its_whole_can_be_read_off(tfl):
    padded = N + (-N) % 4
    dim_vector(tfl, padded * M * 2, Value(types.FLOAT32, (M, padded)))
    assert emitted(tfl) == ["SHAPE", "STRIDED_SLICE", "SHAPE", "STRIDED_SLICE", "MUL", "MUL"]
    with pytest.raises(Unsupported, match="cannot be told"):
        dim_vector(tfl, padded * M + 1, Value(types.FLOAT32, (M, padded)))
