"""Ops beside what they were in floats."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fuseconv
from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.quantize.floats import Floats
from fuseconv.quantize.op_errors import compare_ops
from fuseconv.quantize.samples import Samples
from fuseconv.report.records import Compared, Report
from fuseconv.write.flatbuffer_export import to_bytes
from tests.load.tflite.files import BATCH
from tests.quantize.test_tensor_errors import branching, looping
from tests.tfl.interpret import module_of

_RNG = np.random.default_rng(0)
WEIGHTS = _RNG.standard_normal((40, 30)).astype(np.float32)


def _compared(folder: Path, quantize: str, samples: int | None, measured: int | None = None, **options) -> Compared:
    """cos(abs(x @ w)), quantized; cos has no integer kernel."""
    module = module_of(
        lambda tfl, x: tfl.cos(tfl.abs(tfl.fully_connected(x, WEIGHTS, None))), (types.FLOAT32, (BATCH, 30))
    )
    path = folder / "float.tflite"
    path.write_bytes(to_bytes(module))
    data = None
    if samples is not None:
        # Those behind the first ones reach further.
        data = [{"x0": _RNG.uniform(-1, 1, (2, 30)).astype(np.float32) * (1 if n < 60 else 3)} for n in range(samples)]
    report = fuseconv.quantize_file(
        path, quantize=quantize, calibration_data=data, calibration_samples=measured, compare_quantized=True, **options
    ).report
    assert report.compared is not None
    return report.compared


def test_errors_on_samples_that_are_held_back(tmp_path: Path) -> None:
    compared = _compared(tmp_path, "int8", 80, 60)
    assert (compared.samples, compared.held_back) == (20, True)
    dense, absolute, cos = compared.ops
    assert [op.op for op in compared.ops] == ["FULLY_CONNECTED", "ABS", "COS"]
    assert (dense.type, dense.before, dense.after, dense.why) == ("int8", 4800, 1360, "")
    assert (cos.type, cos.why) == ("float32", "COS has no kernel for int8")
    assert dense.error is not None and dense.error["saturated"] > 0.05 and absolute.error is not None
    assert all(op.error is not None and op.error["cosine"] > 0.5 for op in (dense, absolute))
    assert cos.error is not None and cos.error["saturated"] == 0  # of floats


def test_errors_on_samples_that_were_measured(tmp_path: Path) -> None:
    compared = _compared(tmp_path, "int8", 60)
    assert (compared.samples, compared.held_back) == (32, False)
    error = compared.ops[0].error
    assert error is not None and error["saturated"] == 0 and 0 < error["relative"] < 0.02 and error["sqnr"] > 30


def test_ops_of_loops(tmp_path: Path) -> None:
    path = tmp_path / "float.tflite"
    path.write_bytes(looping(None))
    data = [{"i0": _RNG.uniform(-1, 1, 2).astype(np.float32)} for _ in range(50)]
    report = fuseconv.quantize_file(path, quantize="int8", calibration_data=data, compare_quantized=True).report
    assert report.compared is not None
    errors = {op.op: op.error for op in report.compared.ops if op.error and op.type == "int8"}
    # What the loop makes is what the last iteration's product is.
    assert [*errors] == ["ABS", "MUL"] and 0 < errors["MUL"]["relative"] < 0.2
    assert [op.op for op in report.compared.ops] == ["ADD", "ABS", "MUL", "WHILE"]


@pytest.mark.parametrize("least", [-1, 0])
def test_ops_of_branches(least: int, tmp_path: Path) -> None:
    path = tmp_path / "float.tflite"
    path.write_bytes(branching())
    data = [{"i0": _RNG.uniform(least, 1, 4).astype(np.float32)} for _ in range(60)]
    report = fuseconv.quantize_file(path, quantize="int8", calibration_data=data, compare_quantized=True).report
    assert report.compared is not None
    found = {op.op: op for op in report.compared.ops}
    assert [*found] == ["SUM", "GREATER", "MUL", "ABS", "IF"]
    assert found["MUL"].type == "int8" and found["MUL"].error and found["MUL"].error["relative"] < 0.02
    # What no sample runs has no range, and no error.
    assert found["ABS"].type == ("int8" if least else "float32") and bool(found["ABS"].error) == bool(least)
    assert least or found["ABS"].why.startswith("no range of")


@pytest.mark.parametrize(("quantize", "kind"), [("dynamic", "int8"), ("float16", "float16")])
def test_weights_alone(quantize: str, kind: str, tmp_path: Path) -> None:
    dense = _compared(tmp_path, quantize, 5).ops[0]
    assert dense.type == f"float32, weights {kind}" and dense.error is not None and dense.error["relative"] < 0.02
    bare = _compared(tmp_path, quantize, None)
    assert (bare.samples, bare.ops[0].error) == (0, None) and bare.ops[0].after < bare.ops[0].before


def test_what_was_asked_to_stay_float_says_so(tmp_path: Path) -> None:
    compared = _compared(tmp_path, "int8", 40, no_quantize=["ABS"])
    assert compared.ops[1].why == "--no-quantize ABS leaves it out"


def test_a_file_that_does_not_run():
    module = module_of(lambda tfl, x: tfl.custom("Acme", [x], [(x.dtype, x.shape)]), (types.FLOAT32, (2,)))
    floats = Floats(True, True, to_bytes(module))
    samples = Samples([{"x0": np.ones(2, np.float32)}])
    samples.bind(module.signatures)
    with pytest.raises(InputError, match="LiteRT cannot run the files to compare"):
        compare_ops(module, floats, samples, Report())
