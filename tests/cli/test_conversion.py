"""The files of a conversion: the report is opened before anything else is done, and both are put in their places."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import fuseconv
from fuseconv import cli
from fuseconv.cli.conversion import convert_to_file
from fuseconv.cli.terminal import Terminal
from fuseconv.errors import InputError, UnsupportedError
from tests.frozen import FLOAT, INT32, Frozen
from tests.report.test_json import check_schema

QUIET = Terminal(json=False, quiet=True, verbose=False, debug=False)


def model(folder: Path, op: str) -> str:
    graph = Frozen(2)
    graph.node("y", op, "x", T={"type": FLOAT})
    return str(graph.write(folder))


def test_the_file_and_the_report_are_written(tmp_path: Path) -> None:
    out, report = tmp_path / "y.tflite", tmp_path / "report.json"
    written = convert_to_file(QUIET, model(tmp_path, "Neg"), str(out), str(report), None, {}, fuseconv.convert)
    assert written.failure is None and written.document["output"]["bytes"] == out.stat().st_size
    assert '"ops"' in report.read_text()


def test_a_report_tells_why_nothing_was_written(tmp_path: Path) -> None:
    out, report = tmp_path / "y.tflite", tmp_path / "report.json"
    with pytest.raises(UnsupportedError):
        convert_to_file(QUIET, model(tmp_path, "NoSuchOp"), str(out), str(report), None, {}, fuseconv.convert)
    assert not out.exists() and "NoSuchOp" in report.read_text()


@pytest.mark.parametrize("op", ["Neg", "NoSuchOp"])
def test_a_report_may_be_a_page(tmp_path: Path, op: str) -> None:
    out, report = tmp_path / "y.tflite", tmp_path / "report.HTML"
    done = CliRunner().invoke(cli.main, ["convert", model(tmp_path, op), "-o", str(out), "--report", str(report)])
    assert done.exit_code == (0 if op == "Neg" else 3)
    page = report.read_text()
    assert page.startswith("<!doctype html>") and ("not converted" in page) == (op == "NoSuchOp")
    assert ("NEG" in page) == (op == "Neg")


def test_a_page_without_jinja2_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(InputError, match="pip install jinja2"):
        convert_to_file(QUIET, "no/model", str(tmp_path / "y.tflite"), str(tmp_path / "r.html"), None, {},
                        fuseconv.convert)  # fmt: skip
    assert not list(tmp_path.iterdir())


def test_a_c_array_holds_the_file_with_a_report_and_without(tmp_path: Path) -> None:
    graph = model(tmp_path, "Neg")
    data = fuseconv.convert(graph).data
    assert data is not None
    outs = [tmp_path / folder / "y.cc" for folder in ("alone", "reported")]
    for out, report in zip(outs, (None, str(tmp_path / "report.json"))):
        out.parent.mkdir()
        written = convert_to_file(QUIET, graph, str(out), report, None, {}, fuseconv.convert)
        assert written.document["output"]["bytes"] == len(data)
        assert [path.name for path in out.parent.iterdir()] == ["y.cc"]
    alone, reported = (out.read_text() for out in outs)
    assert fuseconv.convert(graph, plan_arena=True).data == data  # there is no better plan
    assert alone == reported and "resolver.AddNeg();" in alone and "unsigned char g_y[]" in alone
    assert bytes(int(number, 16) for number in re.findall(r"0x(\w\w),", alone)) == data


def test_a_report_that_cannot_be_written_comes_first(tmp_path: Path) -> None:
    out = tmp_path / "y.tflite"
    with pytest.raises(InputError, match=r"--report .* would overwrite the --output"):
        convert_to_file(QUIET, model(tmp_path, "Neg"), str(out), str(out), None, {}, fuseconv.convert)
    assert not out.exists()


def convert(folder: Path, *options: str) -> Result:
    testdata = Path(__file__).parents[2] / "testdata" / "two_signatures"
    return CliRunner().invoke(cli.main, ["convert", str(testdata), "-o", str(folder / "y.tflite"), *options])


def test_a_cut_and_new_names_are_in_the_report(tmp_path: Path) -> None:
    names = json.loads(convert(tmp_path, "--signature", "encode", "--json").stdout)
    node = next(node["name"] for node in names["nodes"] if node["fate"] in ("lowered", "fused"))
    done = convert(tmp_path, "--signature", "encode", "--outputs", node, "--rename", f"{node}=code", "--json")
    document = json.loads(done.stdout)
    assert document["cut"] == {"inputs": {}, "outputs": {node: f"{node}:0"}}
    assert document["renamed"] == {node: "code"}
    again = convert(tmp_path, "--signature", "encode", "--outputs", node)
    assert f"\nCut       {node} at {node}:0\n" in again.stdout


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--outputs", "nowhere_at_all"], "--outputs nowhere_at_all: the model has no tensor or layer of that name"),
        (["--rename", "x"], "--rename x is no new name: write OLD=NEW"),
        (["--rename", "x=y=z"], "--rename x=y=z is no new name"),
        (["--rename", "x=y", "--rename", "x=z"], "--rename gives x two names"),
        (["--rename", "nowhere_at_all=y"], "no signature has an input or output nowhere_at_all"),
    ],
)
def test_names_that_mean_nothing(tmp_path: Path, options: list[str], why: str) -> None:
    done = convert(tmp_path, "--signature", "encode", *options)
    assert done.exit_code == 2 and why in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("options", "why"), [
    (["--image-mean", "1,x"], "1,x is no list of numbers"),
    (["--image-scale", "1,0"], "no scale is zero"),
    (["--image-scale", "2"], "are for --calibration-data that is a directory of images"),
])  # fmt: skip
def test_numbers_for_images(tmp_path: Path, options: list[str], why: str) -> None:
    done = convert(tmp_path, "--quantize", "int8", *options)
    assert done.exit_code == 2 and why in done.stderr


def test_nothing_to_quantize_is_told(tmp_path: Path) -> None:
    document = json.loads(convert(tmp_path, "--quantize", "dynamic", "--json").stdout)
    assert "nothing was quantized" in document["warnings"]


def test_integers_over_samples_of_a_file(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", x=np.array([[-1, 1], [0.5, 0.25], [3, 1]], np.float32))
    out = tmp_path / "y.tflite"
    options = ["--quantize", "int8", "--calibration-data", str(tmp_path / "data.npz"), "--calibration-samples", "2"]
    done = CliRunner().invoke(cli.main, ["convert", model(tmp_path, "Neg"), "-o", str(out), *options, "--json"])
    document = json.loads(done.stdout)
    check_schema(document)
    assert [(item["op"], item["type"]) for item in document["quantized"]] == [("SUB", "int8")]
    assert document["warnings"] == ["calibrated on 2 samples: later inputs may lie outside; give 100"]
    assert document["totals"]["emitted_by_type"] == {"QUANTIZE": 1, "SUB": 1, "DEQUANTIZE": 1}


def test_ranges_of_inputs_are_in_the_report(tmp_path: Path) -> None:
    graph = Frozen(3)
    graph.graph.node[0].attr["dtype"].type = INT32
    graph.node("y", "Maximum", "x", graph.constant("zero", np.int32(0)), T={"type": INT32})
    path, out = str(graph.write(tmp_path)), str(tmp_path / "y.tflite")
    run = CliRunner().invoke(cli.main, ["convert", path, "-o", out, "--input-range", "x=0:5", "--json"])
    document = json.loads(run.stdout)
    assert document["input_ranges"] == {"x": [0, 5]}
    run = CliRunner().invoke(cli.main, ["convert", path, "-o", out, "--input-range", "0:5"])
    assert "\nInputs    x from 0 to 5\n" in run.stdout
