"""Linear ops, read off the IR."""

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import Quantization, Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.linear import linear

N = symbol("n")


def weights(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def data(*shape):
    return Value(types.FLOAT32, shape, "x")


def build(kind, *operands, **attrs):
    return linear(Builder([]).op(kind, operands, attrs)[0].op)


CONV = {"stride_h": 1, "stride_w": 1}


@pytest.mark.parametrize(
    "found, inputs, outputs, pads",
    [
        (build("CONV_2D", data(N, 5, 5, 3), weights(4, 2, 2, 3), weights(4), **CONV), 3, 4, True),
        (build("CONV_2D", data(N, 5, 5, 3), weights(4, 1, 1, 3), weights(4), **CONV), 3, 4, False),
        (build("CONV_2D", data(N, 5, 5, 3), weights(4, 2, 2, 3), weights(4), padding="VALID", **CONV), 3, 4, False),
        (build("CONV_2D", data(N, 5, 5, 6), weights(4, 2, 2, 3), weights(4), **CONV), None, 4, True),
        (build("DEPTHWISE_CONV_2D", data(N, 5, 5, 3), weights(1, 2, 2, 6), depth_multiplier=2, **CONV), 3, 6, True),
        (build("TRANSPOSE_CONV", [2, 5, 5, 4], weights(4, 2, 2, 3), data(2, 5, 5, 3), **CONV), 3, 4, True),
        (build("CONV_3D", data(N, 5, 5, 5, 3), weights(2, 2, 2, 3, 4), stride_d=1, **CONV), 3, 4, True),
        (build("FULLY_CONNECTED", data(N, 3), weights(4, 3)), 3, 4, False),
    ],
)  # fmt: skip
def test_channels_and_padding(found, inputs, outputs, pads):
    assert (found.inputs, found.outputs, found.pads) == (inputs, outputs, pads)
    assert found.data.name == "x" and found.activation == "NONE"
    ones = found.along_outputs(np.ones(outputs))
    assert found.per_output(found.array * ones).shape == (outputs,)
    if inputs is not None:
        assert (found.array * found.along_inputs(np.ones(inputs))).shape == found.weights.shape


def test_a_depthwise_channel_reads_its_own_input():
    found = build(
        "DEPTHWISE_CONV_2D", data(N, 5, 5, 3), weights(1, 1, 1, 6), weights(6), depth_multiplier=2, **CONV
    )  # fmt: skip
    assert found.along_inputs(np.array([1, 2, 3])).reshape(-1).tolist() == [1, 1, 2, 2, 3, 3]


def test_what_is_no_linear_op_of_constant_floats():
    assert linear(None) is None
    assert build("FULLY_CONNECTED", data(N, 3), data(4, 3)) is None
    assert build("FULLY_CONNECTED", data(N, 3), weights(4, 3), data(4)) is None
    assert build("FULLY_CONNECTED", data(N, 3), weights(4, 3), weights_format="SHUFFLED4x16INT8") is None
    assert build("BATCH_MATMUL", data(N, 2, 3), data(N, 3, 4)) is None
    quantized = Value(types.FLOAT32, (4, 3), "w")
    quantized.data, quantized.quantization = weights(4, 3), Quantization((0.1,), (0,))
    assert build("FULLY_CONNECTED", data(N, 3), quantized) is None
