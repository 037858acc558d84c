"""What a file holds that is quantized already."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fuseconv.api import quantize_file
from fuseconv.inspecting import describe
from fuseconv.ir import types
from fuseconv.ir.graph import Module, Quantization, Value, constant
from fuseconv.quantize import MEASURED, QUANTIZATIONS
from fuseconv.quantize.affine import quantized_weights
from fuseconv.quantize.existing import computes_floats, form_of_file, quantized_ops
from fuseconv.tfl.builder import Builder
from fuseconv.write.flatbuffer_export import to_bytes
from tests.tfl.interpret import module_of

WEIGHTS = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)


def _dense(weights: Value) -> Module:
    return module_of(lambda tfl, x: tfl.relu(tfl.fully_connected(x, weights, None)), (types.FLOAT32, (2, 3)))


def test_floats_and_plain_integers_are_not_quantized():
    assert quantized_ops(_dense(constant(WEIGHTS))) == 0
    assert quantized_ops(module_of(lambda tfl, x: tfl.add(x, x), (types.INT8, (3,)))) == 0


def test_weights_of_few_bits_are():
    narrow = quantized_weights(constant(WEIGHTS), 0)
    assert narrow is not None and quantized_ops(_dense(narrow)) == 1
    assert computes_floats(_dense(narrow), "int8")  # the RELU

    def halved(tfl: Builder, x: Value) -> Value:
        return tfl.fully_connected(x, tfl.dequantize(constant(WEIGHTS.astype(np.float16))), None)

    assert quantized_ops(module_of(halved, (types.FLOAT32, (2, 3)))) == 1


def test_pairs_round_floats():
    def rounded(tfl: Builder, x: Value) -> Value:
        stored = tfl.quantize(x, results=[(types.INT8, x.shape)])
        stored.quantization = Quantization((0.5,), (3,))
        return tfl.dequantize(stored)

    def kept(tfl: Builder, x: Value) -> Value:
        stored = tfl.quantize(x, results=[(types.INT8, x.shape)])
        stored.quantization = Quantization((0.5,), (3,))
        return tfl.relu(stored)

    assert quantized_ops(module_of(rounded, (types.FLOAT32, (2, 3)))) == 0
    assert quantized_ops(module_of(kept, (types.FLOAT32, (2, 3)))) == 2
    assert computes_floats(module_of(rounded, (types.FLOAT32, (2, 3))), "int8")
    assert not computes_floats(module_of(kept, (types.FLOAT32, (2, 3))), "int8")


@pytest.mark.parametrize("form", [None, *QUANTIZATIONS])
def test_forms_of_files(form: str | None, tmp_path: Path) -> None:
    weights = np.random.default_rng(0).standard_normal((32, 32)).astype(np.float32)
    made = module_of(lambda tfl, x: tfl.relu(tfl.fully_connected(x, weights, None)), (types.FLOAT32, (2, 32)))
    file = tmp_path / "float.tflite"
    data = to_bytes(made)
    file.write_bytes(data)
    if form is not None:
        samples = [{"x0": np.ones((2, 32), np.float32)}] if form in MEASURED else None
        found = quantize_file(file, quantize=form, calibration_data=samples).data
        assert found is not None
        data = found
    assert form_of_file(describe(data, "the file")) == form
