"""Ops of a quantized file beside those of the file of floats."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.errors import VerificationError
from fuseconv.ir import types
from fuseconv.ir.graph import Module, Quantization, Value
from fuseconv.quantize.tensor_errors import TensorError
from fuseconv.tfl.builder import Builder
from fuseconv.verification_layers import Layer, compare_layers, first_growth
from fuseconv.write.flatbuffer_export import to_bytes
from tests.load.tflite.files import BATCH
from tests.quantize.test_tensor_errors import looping
from tests.tfl.interpret import module_of


def model(scale: float | None) -> Module:
    """abs, cos, twice a neg of one name, sin; the result of cos is stored in this scale."""

    def build(tfl: Builder, x: Value) -> Value:
        tfl.name = "abs"
        y = tfl.abs(x)
        tfl.name = "cos"
        y = tfl.cos(y)
        if scale is not None:
            y = tfl.quantize(y, results=[(types.INT8, y.shape)])
            y.quantization = Quantization((scale,), (0,))
            y = tfl.dequantize(y)
        tfl.name = "neg"
        y = tfl.neg(tfl.neg(y))
        tfl.name = "sin"
        return tfl.sin(y)

    return module_of(build, (types.FLOAT32, (BATCH, 3)))


FEEDS = [{"x0": np.random.default_rng(seed).uniform(-2, 2, (seed, 3)).astype(np.float32)} for seed in (1, 2)]


def test_where_the_error_grows():
    layers = compare_layers(to_bytes(model(None)), to_bytes(model(0.3)), FEEDS)
    # Of two ops of one name, nobody knows which is which; conversions are no layers.
    assert [(layer.op, layer.type) for layer in layers] == [("ABS", "float32"), ("COS", "float32"), ("SIN", "float32")]
    assert [layer.error.largest > 0 for layer in layers] == [False, False, True]
    found = first_growth(layers)
    assert found is not None and found.op == "SIN" and found.to_json()["error"]["max"] > 0.01
    assert layers[0].error.count == 9


def test_equal_files_do_not_differ():
    data = to_bytes(model(None))
    layers = compare_layers(data, data, FEEDS)
    assert first_growth(layers) is None and all(layer.error.largest == 0 for layer in layers)
    assert first_growth([]) is None


def test_ops_of_loops():
    layers = compare_layers(looping(None), looping(0.3), [{"i0": np.array([-4.0, 2], np.float32)}])
    assert [layer.op for layer in layers] == ["ABS", "MUL"]
    found = first_growth(layers)
    assert found is not None and found.op == "ABS" and found.error.count == 2


def test_what_lies_beyond_a_tensor_alone_is_no_growth():
    error = TensorError()
    error.add(np.array([0.0, 9.0], np.float32), np.array([0.0, 3.0]), (-3.0, 3.0))
    assert error.relative > 0.5 and first_growth([Layer("gate", "ADD", "int8", error)]) is None


def test_files_that_cannot_be_compared():
    acme = to_bytes(module_of(lambda tfl, x: tfl.custom("Acme", [x], [(x.dtype, x.shape)]), (types.FLOAT32, (2,))))
    with pytest.raises(VerificationError, match="tensor by tensor"):
        compare_layers(acme, acme, FEEDS)
    two = module_of(lambda tfl, x, y: tfl.add(x, y), (types.FLOAT32, (2,)), (types.FLOAT32, (2,)))
    with pytest.raises(VerificationError, match="different orders"):
        compare_layers(to_bytes(two), to_bytes(model(None)), FEEDS)
