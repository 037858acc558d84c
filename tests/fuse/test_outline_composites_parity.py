"""Composites in files: what targets get, a plug-in's, and what reads and quantizes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.api import quantize_file
from fuseconv.errors import InputError
from fuseconv.ir.text import print_module
from fuseconv.load.tflite.reader import module_of_bytes
from fuseconv.testing import check, convert_function, implements
from fuseconv.write.flatbuffer_export import to_bytes

SPEC = tf.TensorSpec([None, 12])
PLUGIN = '''
from fuseconv.fuse.match import Fusion, composite

CUBE = composite("acme.Cube", "x -> y", {"factor": 1.0})


def rewrite(tfl, m):
    factor = m.attrs["factor"]
    body = lambda tfl, x: tfl.mul(tfl.mul(x, tfl.mul(x, x)), factor)
    return tfl.composite("acme.cube", [m.x], body, {"factor": factor})


FUSIONS = [Fusion("acme_cube", "STABLEHLO_COMPOSITE", CUBE, rewrite)]
'''


def rms(x: Any, epsilon: float = 1e-3) -> Any:
    return x * tf.math.rsqrt(tf.reduce_mean(x * x, -1, keepdims=True) + epsilon)


def test_composites_are_of_floats() -> None:
    with pytest.raises(InputError, match="--composites are of floats"):
        convert_function(rms, SPEC, composites=["odml.*"], quantize="int8")


@pytest.mark.parametrize("target, epsilon, written", [
    ("qnn", 1e-3, True), ("openvino", 1e-3, True), ("google-tensor", 1e-3, True), ("mediatek", 1e-7, True),
    ("mediatek", 1e-3, False), ("gpu", 1e-3, False),
])  # fmt: skip
def test_a_target_gets_those_that_it_takes(target: str, epsilon: float, written: bool) -> None:
    converted = check(lambda x: rms(x, epsilon), tf.TensorSpec([2, 12]), target=target)
    assert ("STABLEHLO_COMPOSITE" in converted.ops) == written
    assert converted.report.target is not None and not converted.report.target["refused"]


def test_a_composite_of_a_plug_in(tmp_path: Path) -> None:
    plugin = tmp_path / "acme_cube.py"
    plugin.write_text(PLUGIN)

    def model(power: int) -> Any:
        cube = tf.function(lambda x: 2.0 * x**power, experimental_implements=implements("acme.Cube", factor=2.0))
        return lambda x: cube(x)

    converted = check(model(3), SPEC, plugins=[str(plugin)])
    assert converted.ops[0] == "STABLEHLO_COMPOSITE"
    wrong = convert_function(model(2), SPEC, plugins=[str(plugin)])
    assert "STABLEHLO_COMPOSITE" not in wrong.ops and "differ" in wrong.refused["acme_cube"]


def test_a_file_with_composites_is_read_as_it_was_written() -> None:
    data = convert_function(rms, SPEC, composites=["odml.*"]).data
    module = module_of_bytes(data, "")
    assert "odml.rms_norm" in print_module(module)
    assert to_bytes(module_of_bytes(to_bytes(module), "")) == to_bytes(module)


@pytest.mark.parametrize("form", ["dynamic", "int8"])
def test_a_file_with_composites_is_quantized(form: str, tmp_path: Path) -> None:
    """The function keeps to what the name says, in floats."""
    w = np.random.default_rng(0).standard_normal((12, 64)).astype(np.float32)
    converted = convert_function(lambda x: rms(x) @ w, SPEC, composites=["odml.*"])
    (tmp_path / "float.tflite").write_bytes(converted.data)
    samples = [{"x0": np.random.default_rng(n).standard_normal((1, 12)).astype(np.float32)} for n in range(2)]
    calibration = samples if form == "int8" else None
    data = quantize_file(tmp_path / "float.tflite", quantize=form, calibration_data=calibration).data
    assert data is not None
    (body,) = module_of_bytes(data, "").functions.values()
    assert all(value.dtype.name == "float32" for value in (*body.inputs, *body.outputs))


def test_rows_that_differ_in_their_scale_alone_stay_two() -> None:
    """The steps are part of a tensor: in integers, the tables are equal."""
    rows = np.random.default_rng(0).standard_normal((64, 32)).astype(np.float32)

    def tables(x: Any) -> list[Any]:
        where = tf.cast(x[:, 0] > 0, tf.int32)
        return [rms(x), tf.gather(rows, where), tf.gather(2 * rows, where)]

    check(tables, SPEC, composites=["odml.*"], quantize="dynamic", atol=0.02)
