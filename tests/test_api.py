"""Conversions to files and to bytes; files that are quantized."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import fuseconv
from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.report.records import EmittedOp, Report
from fuseconv.write.flatbuffer_export import to_bytes
from tests.frozen import FLOAT, Frozen
from tests.load.tflite.files import BATCH, dense
from tests.tfl.interpret import module_of, run_file

TESTDATA = Path(__file__).parents[1] / "testdata"


def test_a_conversion_writes_a_file_or_gives_its_bytes(tmp_path: Path) -> None:
    graph = Frozen(2)
    graph.node("y", "Neg", "x", T={"type": FLOAT})
    model = graph.write(tmp_path)
    given = fuseconv.convert(model)
    written = fuseconv.convert(model, tmp_path / "out.tflite")
    assert given.path is None and written.data is None
    assert written.path is not None and written.path.read_bytes() == given.data
    assert [op.type for op in given.report.emitted] == ["NEG"]


def _samples(count: int, width: int = 3) -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(0)
    return [{"x0": rng.uniform(-2, 2, (2, width)).astype(np.float32)} for _ in range(count)]


_TOLERANCES = {"float16": 2e-3, "dynamic": 0.05, "int8": 0.06, "int16x8": 0.03}


@pytest.mark.parametrize(("quantize", "atol"), _TOLERANCES.items())
def test_a_file_of_floats_is_quantized(quantize: str, atol: float, tmp_path: Path) -> None:
    weights = np.random.default_rng(1).standard_normal((60, 100)).astype(np.float32) / 10
    module = module_of(lambda tfl, x: tfl.tanh(tfl.fully_connected(x, weights, None)), (types.FLOAT32, (BATCH, 100)))
    data = to_bytes(module)
    (tmp_path / "float.tflite").write_bytes(data)
    samples = _samples(120, 100) if quantize.startswith("int") else None
    source, out = tmp_path / "float.tflite", tmp_path / "out.tflite"
    made = fuseconv.quantize_file(source, out, quantize=quantize, calibration_data=samples)
    assert made.path is not None and made.path.stat().st_size < 0.75 * len(data)
    assert any(item.type != "float32" for item in made.report.quantized)
    of_bytes = fuseconv.quantize_file(data, quantize=quantize, calibration_data=samples)
    assert of_bytes.data == made.path.read_bytes() and of_bytes.report.model == "the file"
    for batch in (1, 3):
        x = np.random.default_rng(batch).uniform(-2, 2, (batch, 100)).astype(np.float32)
        np.testing.assert_allclose(run_file(made.path.read_bytes(), x)[0], run_file(data, x)[0], atol=atol)


@pytest.mark.parametrize("quantize", ["dynamic", "int8", "int16x8"])
def test_weights_of_float16_get_fewer_bits(quantize: str, tmp_path: Path) -> None:
    """As if the file held floats: they are no numbers that were quantized to a grid."""
    weights = np.random.default_rng(1).standard_normal((60, 100)).astype(np.float16) / 10
    floats = module_of(
        lambda tfl, x: tfl.tanh(tfl.fully_connected(x, weights.astype(np.float32), None)), (types.FLOAT32, (BATCH, 100))
    )
    halves = module_of(
        lambda tfl, x: tfl.tanh(tfl.fully_connected(x, tfl.dequantize(weights), None)), (types.FLOAT32, (BATCH, 100))
    )
    samples = None if quantize == "dynamic" else _samples(120, 100)
    made = []
    for name, module in (("floats", floats), ("halves", halves)):
        (tmp_path / name).write_bytes(to_bytes(module))
        found = fuseconv.quantize_file(tmp_path / name, quantize=quantize, calibration_data=samples)
        assert found.data is not None and not any("already" in warning for warning in found.report.warnings)
        made.append(found.data)
    x = np.random.default_rng(3).uniform(-2, 2, (3, 100)).astype(np.float32)
    np.testing.assert_array_equal(run_file(made[0], x)[0], run_file(made[1], x)[0])


def test_what_is_quantized_already_is_left_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "float.tflite"
    path.write_bytes(to_bytes(dense()))
    half = fuseconv.quantize_file(path, quantize="int8", calibration_data=_samples(120), quantize_only=["SOFTMAX"])
    assert half.data is not None
    path.write_bytes(half.data)
    whole = fuseconv.quantize_file(path, quantize="int8", calibration_data=_samples(120))
    assert any("quantized already" in warning for warning in whole.report.warnings)
    assert "float32" not in {item.type for item in whole.report.quantized if item.op == "FULLY_CONNECTED"}
    path.write_bytes(fuseconv.quantize_file(tmp_path / "float.tflite", quantize="int8",
                                            calibration_data=_samples(120)).data or b"")  # fmt: skip
    with pytest.raises(InputError, match=r"is quantized: .* nothing else can be"):
        fuseconv.quantize_file(path, quantize="dynamic")
    with pytest.raises(InputError, match=r"is quantized: .* nothing else can be"):  # and needs no samples to say so
        fuseconv.quantize_file(path, quantize="int8")
    path.write_bytes(to_bytes(dense()))
    assert fuseconv.quantize_file(path, quantize="dynamic").report.warnings == ["nothing was quantized"]


@pytest.mark.parametrize("name", ["keras2_lstm", "keras2_lstm/saved_model.pb"])
def test_models_are_quantized_as_they_are_converted(name: str) -> None:
    match = f"is a [a-z]+, not a .tflite .*, fuseconv convert testdata/{name} --quantize int4"
    with pytest.raises(InputError, match=match):
        fuseconv.quantize_file(f"testdata/{name}", quantize="int4")


def test_options_of_quantization_that_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "float.tflite"
    path.write_bytes(to_bytes(dense()))
    for options, sentence in (
        ({"quantize": None}, "quantize is one of float16"),
        ({"quantize": "int8"}, "needs samples"),
        ({"quantize": "dynamic", "no_quantize": "a"}, "takes a list"),
        ({"quantize": "dynamic", "no_quantize": ["nothing"]}, "matches no op"),
        ({"quantize": "dynamic", "print_ir_after": ["lower"]}, "no pass is called lower"),
        ({"quantize": "dynamic", "out": path}, "would overwrite the model"),
    ):
        with pytest.raises(InputError, match=sentence):
            fuseconv.quantize_file(path, **options)


def test_what_the_package_exports() -> None:
    assert {name for name in fuseconv.__all__ if getattr(fuseconv, name) is None} == set()
    assert dir(fuseconv) == sorted(fuseconv.__all__)
    assert re.fullmatch(r"\d+\.\d+\.\d+", fuseconv.__version__)
    with pytest.raises(fuseconv.InputError, match="nothing"):
        fuseconv.convert("nothing")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = fuseconv.nothing  # type: ignore[attr-defined]


def test_a_conversion_is_shown_in_one_line(tmp_path: Path) -> None:
    conversion = fuseconv.convert(TESTDATA / "conv_bn")
    assert re.fullmatch(r"<Conversion of \S*conv_bn: \d+ ops, \d+ bytes>", repr(conversion))
    conversion = fuseconv.convert(TESTDATA / "conv_bn", tmp_path / "out.tflite")
    assert repr(conversion).endswith("out.tflite>")


def test_a_notebook_shows_a_conversion_as_a_table() -> None:
    report = Report("<b>model</b>", warnings=["1 < 2"], emitted=[EmittedOp(0, i, "NEG", ()) for i in range(3)])
    shown = fuseconv.Conversion(report, data=b"12345")._repr_html_()
    assert "Conversion of &lt;b&gt;model&lt;/b&gt;: 3 ops, 5 bytes, 1 warning" in shown and "<b>" not in shown
    assert "<td>NEG</td><td>3</td>" in shown and "<li>1 &lt; 2</li>" in shown
