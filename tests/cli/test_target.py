"""`fuseconv inspect --target`: what is refused, in which layer, and with which exit code."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from fuseconv import cli
from fuseconv.report.json import REPORT_VERSION
from fuseconv.write.flatbuffer_export import write
from tests.frozen import FLOAT, INT32, Frozen
from tests.tf.text_cases import module_of

_TEXT = """
main {
  input %x: float32[1,4]
  %y: float32[1,1,4] = tfl.EXPAND_DIMS(%x, int32[] 0)
  %z: float32[1,1,4] = tfl.RELU(%y)
  return %z
}
"""
_PLUGIN = """
from fuseconv.targets.target import Target, takes

TARGETS = [Target("acme", "our handbook, 2026", takes("EXPAND_DIMS"))]
"""


def run(*args: object) -> Result:
    return CliRunner().invoke(cli.main, ["inspect", *map(str, args)])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write(module_of(_TEXT)[0], tmp_path / "m.tflite")
    return tmp_path / "m.tflite"


def test_the_document_is_as_agreed(file: Path) -> None:
    found = json.loads(run(file, "--target", "gpu", "--json").stdout)["target"]
    assert found == {
        "name": "gpu", "rules": "LiteRT gpu_compatibility.cc and model_builder.cc, 2026-08-21", "share": 0.0,
        "refused": [{"subgraph": 0, "op": 0, "type": "EXPAND_DIMS", "why": "it has no EXPAND_DIMS"}], "partitions": 1,
        "remarks": [],
    }  # fmt: skip


def test_constants_beyond_float16_are_told(tmp_path: Path) -> None:
    graph = Frozen(4, 5)
    graph.node("y", "AddV2", "x", graph.constant("mask", np.array([0, -1e9, 0, 0, 0], np.float32)), T={"type": FLOAT})
    out = tmp_path / "m.tflite"
    convert = ["convert", str(graph.write(tmp_path)), "-o", str(out), "--strict", "--target", "gpu"]
    result = CliRunner().invoke(cli.main, convert)
    why = "its constant -1e+09 is infinite in float16: rows of nothing else become NaN"
    assert result.exit_code == 0 and f"gpu may compute something else: 1 ADD: {why}" in " ".join(result.stderr.split())
    (remark,) = json.loads(run(out, "--target", "gpu", "--json").stdout)["target"]["remarks"]
    assert remark == {"subgraph": 0, "op": 0, "type": "ADD", "why": why}
    assert "infinite in" in run(out, "--target", "gpu").stdout
    assert "infinite" not in run(out, "--target", "qnn").stdout


def test_strict_fails_with_4_if_an_op_is_refused(file: Path) -> None:
    result = run(file, "--target", "gpu", "--strict")
    assert result.exit_code == 4 and "gpu refuses 1 op of" in result.stderr and "EXPAND_DIMS" in result.stdout
    assert run(file, "--target", "gpu").exit_code == 0
    assert run(file, "--target", "openvino", "--strict").exit_code == 0


def test_strict_leaves_no_file_of_a_conversion(tmp_path: Path) -> None:
    graph = Frozen(4, 5)
    graph.node("y", "Erf", "x", T={"type": FLOAT})
    out = tmp_path / "m.tflite"
    convert = ["convert", str(graph.write(tmp_path)), "-o", str(out), "--strict"]
    assert CliRunner().invoke(cli.main, convert).exit_code == 2
    result = CliRunner().invoke(cli.main, [*convert, "--target", "coreml"])
    assert result.exit_code == 4 and "coreml refuses" in result.stderr and not out.exists()
    assert CliRunner().invoke(cli.main, [*convert, "--target", "gpu"]).exit_code == 0 and out.exists()


def test_a_plugins_target_is_found(file: Path, tmp_path: Path) -> None:
    (tmp_path / "acme.py").write_text(_PLUGIN)
    result = run(file, "--target", "acme", "--plugin", tmp_path / "acme.py")
    assert result.exit_code == 0 and "acme refuses 1 of 2 ops, by the rules of our handbook, 2026" in result.stdout


def test_the_report_tells_the_layer(tmp_path: Path) -> None:
    graph = Frozen(4, 5)
    axis = graph.constant("layer/axis", np.int32(1))
    graph.node("layer/best", "ArgMax", "x", axis, T={"type": FLOAT}, Tidx={"type": INT32}, output_type={"type": INT32})
    out, report = tmp_path / "m.tflite", tmp_path / "r.json"
    convert = ["convert", str(graph.write(tmp_path)), "-o", str(out), "--report", str(report)]
    assert CliRunner().invoke(cli.main, convert).exit_code == 0
    result = run(out, "--target", "gpu", "--report", report, "--json")
    (refused,) = json.loads(result.stdout)["target"]["refused"]
    assert refused["type"] == "ARG_MAX" and refused["layer"] == "layer"
    assert "Layer" in run(out, "--target", "gpu", "--report", report).stdout


def test_wrong_use_is_told(file: Path, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text("[]")
    (tmp_path / "other.json").write_text(json.dumps({"schema_version": REPORT_VERSION, "ops": [], "nodes": []}))
    wrong: list[tuple[list[object], str]] = [
        (["--strict"], "are for a --target: add it"),
        (["--target", "gpux"], "no target is called gpux; did you mean gpu?"),
        (["--target", "zzz"], "no target is called zzz; there are gpu, coreml"),
        (["--target", "gpu", "--report", tmp_path / "r.json"], "is no report that convert --report FILE.json wrote"),
        (["--target", "gpu", "--report", tmp_path / "other.json"], "is of another file"),
        (["--target", "gpu", "--report", tmp_path / "none.json"], "none.json"),
    ]
    for arguments, why in wrong:
        result = run(file, *arguments)
        assert result.exit_code == 2 and why in result.stderr, result.output
