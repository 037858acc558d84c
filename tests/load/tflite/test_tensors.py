"""Tensors as values: types, shapes, scales, and where they come from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from fuseconv.errors import InputError
from fuseconv.ir.dims import Sym
from fuseconv.ir.graph import Graph, Quantization
from fuseconv.load.tflite.reader import module_of_bytes
from tests.load.tflite.files import WEIGHTS, changed_dense


def read(change: Callable[[Any], object]) -> Graph:
    """The graph of a dense layer, whose tensors (0 input, 1 weights, 2 bias, 3 product, 4 softmax) were changed."""
    return module_of_bytes(changed_dense(lambda model: change(model.subgraphs[0])), "it").signatures[0].graph


def test_constants_and_unknown_sizes():
    graph = read(lambda subgraph: None)
    (x,), (y,) = graph.inputs, graph.outputs
    product = graph.ops[0]
    assert x.shape is not None and isinstance(x.shape[0], Sym) and x.shape[1:] == (3,)
    # What is one size in the model is one in the module, though the file says of each that it is not known.
    assert y.shape == product.result.shape == (x.shape[0], 4)
    assert product.operands[1] is not None and product.operands[1].data is not None
    np.testing.assert_array_equal(product.operands[1].data, WEIGHTS)


def test_a_file_without_signatures_of_shapes_takes_what_the_operands_tell():
    def change(subgraph: Any) -> None:
        for tensor in subgraph.tensors:
            tensor.shapeSignature, tensor.hasRank = None, False
        subgraph.tensors[0].shape = np.array([7, 3], np.int32)

    graph = read(change)
    assert [value.shape for value in (*graph.inputs, *graph.outputs)] == [(7, 3), (7, 4)]


def test_scales_and_variables():
    def change(subgraph: Any) -> None:
        how = subgraph.tensors[1].quantization = schema.QuantizationParametersT()
        how.scale, how.zeroPoint, how.quantizedDimension = [0.5] * 4, [0] * 4, 0
        subgraph.tensors[0].quantization = schema.QuantizationParametersT()
        subgraph.tensors[0].quantization.min = [0.0]
        subgraph.tensors[3].isVariable = True

    graph = read(change)
    weights = graph.ops[0].operands[1]
    assert weights is not None and weights.quantization == Quantization((0.5,) * 4, (0,) * 4, 0)
    assert graph.inputs[0].quantization is None and graph.ops[0].result.variable


def _named(**fields: Any) -> Callable[[Any], None]:
    def change(subgraph: Any) -> None:
        for name, value in fields.items():
            setattr(subgraph.tensors[1], name, value)

    return change


def _scaled(axis: int, scales: int, zero_points: int, details: int = 0, scale: float = 1.0) -> Callable[[Any], None]:
    how = schema.QuantizationParametersT()
    how.scale, how.zeroPoint, how.quantizedDimension = [scale] * scales, [0] * zero_points, axis
    if details:
        how.detailsType = details
        how.details = (schema.CustomQuantizationT if details == 1 else schema.BlockwiseQuantizationT)()
    return _named(quantization=how)


def _own_scales(subgraph: Any) -> None:
    """Weights whose scales are they themselves."""
    _scaled(0, 0, 0, 2)(subgraph)
    details = subgraph.tensors[1].quantization.details
    details.scales, details.zeroPoints, details.blockSize = 1, -1, 1


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (_own_scales, "have scales in blocks"),
        (_named(type=19), "INT2, which is not read"),
        (_named(type=17), "takes 6 bytes, but its buffer holds 48"),
        (_named(sparsity=schema.SparsityParametersT()), "that are not zero"),
        (_named(externalBuffer=1), "in another file"),
        (_named(isVariable=True), "variable .* has contents"),
        (_named(shape=[4, -3]), "has the shape"),
        (_named(shape=[4, 2]), "its buffer holds 48"),
        (lambda subgraph: setattr(subgraph.tensors[0], "shapeSignature", [3]), "different ranks"),
        (_named(buffer=99), "no buffer 99"),
        (_named(buffer=0), "nothing makes it"),
        (_scaled(2, 4, 4), "axis 2"),
        (_scaled(0, 4, 3), "3 zero points"),
        *((_scaled(0, 4, 4, scale=scale), "no positive numbers") for scale in (0.0, -0.1, float("nan"), float("inf"))),
        (_scaled(0, 1, 1, 2), "in blocks with zero points"),
        (_scaled(0, 1, 1, 1), "by CustomQuantization"),
        (lambda subgraph: setattr(subgraph.tensors[0], "buffer", 2), "input x0 has contents"),
        (lambda subgraph: setattr(subgraph.tensors[3], "buffer", 2), "has contents already"),
        (lambda subgraph: setattr(subgraph, "inputs", [0, 0]), "twice"),
        (lambda subgraph: setattr(subgraph, "inputs", [9]), "does not have"),
    ],
)
def test_what_is_refused(change: Callable[[Any], None], match: str) -> None:
    with pytest.raises(InputError, match=match):
        read(change)
