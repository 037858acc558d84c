"""Profiles name every op once, with its layer; times themselves are not tested."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import fuseconv
from fuseconv.errors import InputError, VerificationError
from fuseconv.load.tflite.reader import module_of_bytes
from fuseconv.profiling import OpTime, Profile, _arrays, inputs_of, profile
from fuseconv.report.json import read_report
from fuseconv.runners import TFLiteFile
from tests.frozen import FLOAT, Frozen
from tests.test_cli import fails, run

TESTDATA = Path(__file__).parents[1] / "testdata"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An LSTM with a dynamic batch, and the report beside it."""
    path = tmp_path_factory.mktemp("profile") / "lstm.tflite"
    run("convert", TESTDATA / "keras2_lstm", "-o", path, "--report", path.with_suffix(".json"))
    return path


@pytest.mark.parametrize("delegate", ["xnnpack", "none"])
def test_each_op_is_timed_once(file: Path, delegate: str) -> None:
    told: list[str] = []
    found = profile(file, runs=3, delegate=delegate, batch_size=2, progress=told.append)
    document = found.to_json()
    assert [op["type"] for op in document["ops"]] == [
        "SHAPE", "STRIDED_SLICE", "CONCATENATION", "FILL", "FILL", "UNIDIRECTIONAL_SEQUENCE_LSTM", "STRIDED_SLICE",
        "FULLY_CONNECTED", "SOFTMAX",
    ]  # fmt: skip
    assert all(op["seconds"] is not None and op["seconds"] >= 0 and not op["why"] for op in document["ops"])
    assert document["shapes"] == {"sequence": [2, 10, 6]} and document["runs"] == 3
    assert sum(row["ops"] for row in document["layers"]) == sum(row["ops"] for row in document["types"]) == 9
    assert told[-1] == "profile: op 9 of 9"


def test_sums_and_what_is_accounted_for() -> None:
    ops = [
        OpTime(0, "ADD", "a/x", "a", 0.25), OpTime(1, "ADD", "b/x", "b", 0.5), OpTime(2, "IF", "b/y", "b", None, "no"),
    ]  # fmt: skip
    document = Profile("f", "none", 1, {}, [3.0, 1.0, 2.0], ops, overhead=0.25).to_json()
    assert document["accounted"] == 0.5 and document["seconds"] == {"median": 2.0, "least": 1.0, "most": 3.0}
    assert document["layers"] == [{"layer": "b", "ops": 2, "seconds": 0.5}, {"layer": "a", "ops": 1, "seconds": 0.25}]
    assert document["types"][0] == {"type": "ADD", "ops": 2, "seconds": 0.75}


def test_the_report_tells_layers(file: Path) -> None:
    report = read_report(file.with_suffix(".json"))
    report["ops"][5]["layer"] = "named/here"
    assert profile(file, runs=1, report=report).ops[5].layer == "named/here"


def test_the_command(file: Path) -> None:
    shown = run("profile", file, "--runs", 2, "--report", file.with_suffix(".json"), "-v").stdout
    assert "UNIDIRECTIONAL_SEQUENCE_LSTM" in shown and "sequential/lstm" in shown
    assert "Run       with XNNPACK, 1 thread, on sequence[1,10,6]" in shown and "Exact to" in shown
    document = json.loads(run("profile", file, "--runs", 2, "--delegate", "none", "--json").stdout)
    assert document["delegate"] == "none" and len(document["ops"]) == 9


def test_what_reads_a_table_is_not_timed(tmp_path: Path) -> None:
    path = tmp_path / "table.tflite"
    fuseconv.convert(TESTDATA / "tf1_table", path)
    module = module_of_bytes(path.read_bytes(), "it")
    feed = list(inputs_of(TFLiteFile(path)).values())
    assert not any(value.dtype.is_handle for value in _arrays(module, feed))
    whys = {op.type: op.why for op in profile(path, runs=1).ops}
    assert whys["CALL_ONCE"] and "a table" in whys["HASHTABLE_FIND"]


def test_a_loop_is_one_op(tmp_path: Path) -> None:
    path = tmp_path / "loop.tflite"
    fuseconv.convert(TESTDATA / "keras2_lstm", path, rnn="loop")
    (loop,) = [op for op in profile(path, runs=1).ops if op.type == "WHILE"]
    assert loop.seconds is not None and loop.seconds > 0 and not loop.why


def test_what_cannot_be_profiled(file: Path, tmp_path: Path) -> None:
    assert "is not a TFLite model" in fails(2, "profile", TESTDATA / "frozen.pb")
    assert "is no report" in fails(2, "profile", file, "--report", file)
    (tmp_path / "old.json").write_text('{"schema_version": 1, "ops": [], "nodes": []}')
    assert "is of version 1" in fails(2, "profile", file, "--report", tmp_path / "old.json")
    with pytest.raises(InputError, match="runs at least 1 and threads 1 to 1024"):
        profile(file, runs=0)
    assert "threads 1 to 1024" in fails(2, "profile", file, "--threads", 10**12)


def test_the_inputs_may_be_given(file: Path, tmp_path: Path) -> None:
    data = tmp_path / "inputs.npz"
    np.savez(data, sequence=np.ones((3, 10, 6), np.float32))
    assert "on sequence[3,10,6]" in run("profile", file, "--runs", 1, "--data", data).stdout
    assert "--batch-size is of random inputs" in fails(2, "profile", file, "--data", data, "--batch-size", 2)
    np.savez(data, sequence=np.ones((3, 9, 6), np.float32))
    for command in (["profile", file], ["compare", file, file]):
        assert "has the shape [3, 9, 6], where the model takes [?,10,6]" in fails(2, *command, "--data", data)


def test_a_file_that_does_not_run_is_told(tmp_path: Path) -> None:
    path = tmp_path / "custom.tflite"
    graph = Frozen(2)
    graph.node("y", "Acme", "x", T={"type": FLOAT})
    fuseconv.convert(graph.write(tmp_path), path, allow_custom_ops=True)
    with pytest.raises(VerificationError, match="LiteRT cannot"):
        profile(path)
