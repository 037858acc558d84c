"""Two files side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fuseconv
from fuseconv.comparing import compare_files
from fuseconv.errors import InputError
from tests.test_cli import run

TESTDATA = Path(__file__).parents[1] / "testdata"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A model in floats, and with weights of 16 bits."""
    folder = tmp_path_factory.mktemp("compare")
    paths = folder / "floats.tflite", folder / "halves.tflite"
    for path, quantize in zip(paths, (None, "float16")):
        fuseconv.convert(TESTDATA / "conv_bn", path, quantize=quantize)
    return paths


def test_bytes_ops_and_outputs(files: tuple[Path, Path]) -> None:
    document = compare_files(*files, runs=0).to_json()
    assert document["latency"] is None and document["why"] == ""
    assert document["bytes"] == [path.stat().st_size for path in files]
    assert document["weights"][1] < document["weights"][0]
    assert document["ops"]["DEQUANTIZE"][0] == 0 < document["ops"]["DEQUANTIZE"][1]
    differences = [output["relative"] for output in document["outputs"]["outputs"]]
    assert all(0 < difference < 0.01 for difference in differences)


def test_the_command(files: tuple[Path, Path]) -> None:
    result = run("compare", *files, "--runs", 2)
    assert result.exit_code == 0
    rows = {line.split()[0]: line.split()[1:] for line in result.stdout.splitlines() if line}
    assert rows["DEQUANTIZE"][0] == "-" and len(rows["latency"]) == 5
    document = json.loads(run("compare", *files, "--runs", 2, "--json").stdout)
    assert len(document["latency"]) == 2 and document["files"] == [str(path) for path in files]


@pytest.mark.parametrize("wrong", [{"runs": -1}, {"threads": 0}, {"delegate": "gpu"}])
def test_what_files_cannot_be_timed_with(files: tuple[Path, Path], wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="delegate is xnnpack or none, runs at least 0 and threads 1 to 1024"):
        compare_files(*files, **wrong)


def test_files_that_take_different_inputs(files: tuple[Path, Path], tmp_path: Path) -> None:
    other = tmp_path / "other.tflite"
    fuseconv.convert(TESTDATA / "keras2_lstm", other)
    document = compare_files(files[0], other).to_json()
    assert document["outputs"] is None and document["why"] and document["bytes"][1] == other.stat().st_size
    shown = run("compare", files[0], other).stdout
    assert "Not run" in shown


def test_the_inputs_may_be_given(tmp_path: Path) -> None:
    file = tmp_path / "file.tflite"
    fuseconv.convert(TESTDATA / "keras2_lstm", file)
    np.savez(tmp_path / "ones.npz", sequence=np.ones((2, 10, 6), np.float32))
    result = run("compare", file, file, "--runs", 1, "--data", tmp_path / "ones.npz", "--json")
    document = json.loads(result.stdout)
    assert document["latency"] and document["outputs"]["outputs"][0]["shapes"][0] == [2, 4]
