"""Files with weights of few bits are quantized as their floats would be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fuseconv import quantize_file
from fuseconv.ir import types
from fuseconv.ir.graph import Quantization, Value, constant
from fuseconv.quantize.expand_weights import expand_weights
from fuseconv.tfl.builder import Builder
from fuseconv.write.flatbuffer_export import to_bytes
from tests.tfl.interpret import module_of, run_file


def test_4_bits_also_in_blocks() -> None:
    def weights(how: Quantization) -> Value:
        made = constant(np.array([[1, -7, 3, 0], [4, 5, -6, 7]], types.INT4.numpy), types.INT4)
        made.quantization = how
        return made

    def build(tfl: Builder, x: Value) -> Value:
        scales = constant(np.array([[0.5, 0.25], [1, 2]], np.float16), types.FLOAT16)
        rows = weights(Quantization((0.5, 2.0), (0, 0), 0))
        blocks = weights(Quantization((), (), 0, scales))
        y = tfl.fully_connected(x, tfl.dequantize(rows), None)
        return tfl.add(y, tfl.fully_connected(x, tfl.dequantize(blocks), None))

    module = module_of(build, (types.FLOAT32, (2, 4)))
    assert expand_weights(module)
    (graph,) = module.graphs()
    weights_of = [op.operands[1] for op in graph.ops if op.kind == "tfl.FULLY_CONNECTED"]
    found = [value.data.tolist() for value in weights_of if value is not None and value.data is not None]
    assert found == [[[0.5, -3.5, 1.5, 0], [8, 10, -12, 14]], [[0.5, -3.5, 0.75, 0], [4, 5, -12, 14]]]


@pytest.mark.parametrize("mode", ["int8", "int16x8"])
def test_files_with_weights_of_few_bits(mode: str, tmp_path: Path) -> None:
    """Those beside floats compute in integers; what a kernel takes in few bits stays as it is."""
    rng = np.random.default_rng(0)
    matrices = [rng.standard_normal(shape).astype(np.float32) for shape in ((64, 64), (6, 64))]
    samples = [{"x0": rng.standard_normal((2, 64)).astype(np.float32)} for _ in range(50)]

    def build(tfl: Builder, x: Value) -> Value:
        return tfl.fully_connected(tfl.relu(tfl.fully_connected(x, matrices[0], None)), matrices[1], None)

    path, narrow, out = (tmp_path / f"{name}.tflite" for name in ("float", "narrow", "out"))
    path.write_bytes(to_bytes(module_of(build, (types.FLOAT32, (2, 64)))))
    for size in (None, 32):
        quantize_file(path, narrow, quantize="int4", block_size=size)
        made = quantize_file(narrow, out, quantize=mode, calibration_data=samples)
        assert "quantized already, and left as they are: 1 of the file's ops" in made.report.warnings
        (wanted,), (found,) = (run_file(file.read_bytes(), samples[0]["x0"]) for file in (narrow, out))
        assert np.abs(found - wanted).max() < 0.02 * np.ptp(wanted)


def test_weights_beside_floats_compute_in_16_bits(tmp_path: Path) -> None:
    stored = constant(np.random.default_rng(0).integers(-127, 128, (4, 3)).astype(np.int8), types.INT8)
    stored.quantization = Quantization((0.01,) * 4, (0,) * 4, 0)
    path = tmp_path / "stored.tflite"
    path.write_bytes(to_bytes(module_of(
        lambda tfl, x: tfl.fully_connected(x, tfl.dequantize(stored), None), (types.FLOAT32, (2, 3))
    )))  # fmt: skip
    samples = [{"x0": np.random.default_rng(seed).standard_normal((2, 3)).astype(np.float32)} for seed in range(9)]
    made = quantize_file(path, quantize="int16x8", calibration_data=samples)
    assert [(item.op, item.type) for item in made.report.quantized] == [("FULLY_CONNECTED", "int16")]
    assert not any("quantized already" in each for each in made.report.warnings)
