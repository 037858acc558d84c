"""The command line: exit codes, one sentence an error, one JSON document, nothing where nothing was asked for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from click.testing import CliRunner, Result

from fuseconv import cli
from tests.frozen import INT32, Frozen
from tests.report.test_json import check_schema

TESTDATA = Path(__file__).parents[1] / "testdata"
COMMANDS = ("convert", "quantize", "inspect", "verify", "fusions", "ops")


def run(*args: object) -> Result:
    return CliRunner().invoke(cli.main, [str(arg) for arg in args])


def fails(code: int, *args: object) -> str:
    """Runs a command that fails with `code`; returns its sentence, which is all that it prints."""
    result = run(*args)
    assert result.exit_code == code, result.output
    assert not result.stdout
    lines = result.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("fuseconv: error: "), result.stderr
    return lines[0]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """relu(x @ w), with a dynamic batch."""
    module = tf.Module()
    module.w = tf.Variable(np.random.default_rng(0).standard_normal((4, 3), np.float32))

    @tf.function(input_signature=[tf.TensorSpec((None, 4), name="x")])
    def serve(x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": tf.nn.relu(tf.matmul(x, module.w))}

    path = tmp_path_factory.mktemp("cli") / "model"
    tf.saved_model.save(module, str(path), {"serving_default": serve})
    return path


@pytest.fixture(scope="module")
def file(model: Path) -> Path:
    path = model.with_name("file.tflite")
    assert run("convert", model, "-o", path).exit_code == 0
    return path


@pytest.fixture(scope="module")
def wrong_file(model: Path) -> Path:
    """A file that computes something else."""
    function = tf.function(lambda x: {"y": x[:, :3] * 2.0}).get_concrete_function(x=tf.TensorSpec((None, 4), name="x"))
    saved = model.with_name("wrong")
    module = tf.Module()
    module.f = function
    tf.saved_model.save(module, str(saved), {"serving_default": function})
    path = model.with_name("wrong.tflite")
    path.write_bytes(tf.lite.TFLiteConverter.from_saved_model(str(saved)).convert())
    return path


class TestHelp:
    def test_it_names_the_commands(self) -> None:
        result = run("--help")
        assert result.exit_code == 0
        for command in COMMANDS:
            assert f"\n  {command} " in result.stdout

    @pytest.mark.parametrize("command", COMMANDS)
    def test_every_command_has_the_common_options(self, command: str) -> None:
        result = run(command, "--help")
        assert result.exit_code == 0
        for option in ("--json", "-q, --quiet", "-v, --verbose", "--debug"):
            assert option in result.stdout

    def test_it_imports_nothing_large(self) -> None:
        code = (
            "import sys\n"
            "from fuseconv.cli import main\n"
            "main(['convert', '--help'], standalone_mode=False)\n"
            "large = {'tensorflow', 'numpy', 'rich', 'keras', 'google', 'ai_edge_litert'}\n"
            "print(sorted(large & sys.modules.keys()), file=sys.stderr)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stderr.strip() == "[]"

    def test_version(self) -> None:
        assert run("--version").stdout.startswith("fuseconv, version ")


class TestConvert:
    def test_a_summary(self, model: Path, tmp_path: Path) -> None:
        result = run("convert", model, "-o", tmp_path / "out.tflite")
        assert result.exit_code == 0
        assert not result.stderr
        for title in ("Ops", "File", "Time"):
            assert f"\n{title} " in "\n" + result.stdout
        assert (tmp_path / "out.tflite").read_bytes()[4:8] == b"TFL3"

    def test_verbose_says_what_is_almost_fused(self, tmp_path: Path) -> None:
        module = tf.Module()
        spec = tf.TensorSpec((None, 4), name="x")
        module.f = tf.function(lambda x: {"y": x * tf.nn.relu6(x + 2.5) / 6}).get_concrete_function(spec)
        tf.saved_model.save(module, str(tmp_path / "model"), {"serving_default": module.f})
        command = "convert", tmp_path / "model", "-o", tmp_path / "out.tflite"
        assert "all fits but one thing" not in run(*command).stdout
        result = run(*command, "-v")
        assert result.exit_code == 0
        (row,) = (line for line in result.stdout.splitlines() if "all fits but one thing" in line)
        assert row.startswith("hard_swish ") and "the constant is 2.5, not 3" in row

    def test_quiet_says_nothing(self, model: Path, tmp_path: Path) -> None:
        result = run("convert", model, "-o", tmp_path / "out.tflite", "-q")
        assert (result.exit_code, result.output) == (0, "")

    def test_json_is_the_report(self, model: Path, tmp_path: Path) -> None:
        out, report = tmp_path / "out.tflite", tmp_path / "report.json"
        result = run("convert", model, "-o", out, "--json", "--report", report)
        document = json.loads(result.stdout)
        assert document == json.loads(report.read_text())
        check_schema(document)
        assert any(node.get("inputs") for node in document["nodes"])
        assert document["output"] == {"path": str(out), "bytes": out.stat().st_size}
        assert sum(document["totals"]["fates"].values()) == len(document["nodes"])

    def test_the_same_conversion_gives_the_same_report(self, model: Path, tmp_path: Path) -> None:
        documents = []
        for _ in range(2):
            documents.append(json.loads(run("convert", model, "-o", tmp_path / "out.tflite", "--json").stdout))
            assert documents[-1].pop("seconds")
            assert all(run.pop("seconds") >= 0 for run in documents[-1]["passes"])
        assert documents[0] == documents[1]

    def test_verified(self, model: Path, tmp_path: Path) -> None:
        result = run("convert", model, "-o", tmp_path / "out.tflite", "--verify")
        assert result.exit_code == 0
        assert "serving_default 2 times in a row on x[3,4]" in result.stdout
        document = json.loads(run("convert", model, "-o", tmp_path / "out.tflite", "--verify", "--json").stdout)
        check_schema(document)
        assert document["verification"]["passed"]
        assert document["verification"]["file"] == str(tmp_path / "out.tflite")
        assert [path.name for path in tmp_path.iterdir()] == ["out.tflite"]

    @pytest.mark.parametrize("output", [[], ["--json"]])
    def test_what_does_not_verify_is_not_written(
        self, model: Path, tmp_path: Path, output: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("fuseconv.output_comparison.compare", lambda *args: (1.0, 0.5, "a difference of 1"))
        result = run("convert", model, "-o", tmp_path / "out.tflite", "--verify", *output)
        assert result.exit_code == 4
        assert "1 of 1 outputs differ" in result.stderr
        assert not list(tmp_path.iterdir())
        if output:
            document = json.loads(result.stdout)
            assert document["error"]["exit_code"] == 4
            assert document["output"] == {"path": "", "bytes": 0}

    def test_shapes(self, model: Path, tmp_path: Path) -> None:
        out = tmp_path / "out.tflite"
        assert run("convert", model, "-o", out, "--input-shape", "x=2,4").exit_code == 0
        assert json.loads(run("inspect", out, "--json").stdout)["subgraphs"][0]["tensors"][0]["shape"] == [2, 4]
        assert run("convert", model, "-o", out, "--batch-size", 5, "-q").exit_code == 0
        assert json.loads(run("inspect", out, "--json").stdout)["subgraphs"][0]["tensors"][0]["shape"] == [5, 4]


class TestBadInput:
    """One sentence, exit code 2, no output file."""

    def test_models(self, tmp_path: Path) -> None:
        out = tmp_path / "out.tflite"
        (tmp_path / "empty").mkdir()
        (tmp_path / "truncated").mkdir()
        whole = (TESTDATA / "two_signatures" / "saved_model.pb").read_bytes()
        (tmp_path / "truncated" / "saved_model.pb").write_bytes(whole[: len(whole) // 2])
        (tmp_path / "nothing").mkdir()
        (tmp_path / "nothing" / "saved_model.pb").write_bytes(b"")
        (tmp_path / "shards").mkdir()
        (tmp_path / "shards" / "saved_model.pb").write_bytes(whole)
        (tmp_path / "text.keras").write_text("no archive")
        for bad in ("none", "empty", "truncated", "nothing", "shards", "text.keras"):
            fails(2, "convert", tmp_path / bad, "-o", out)
        fails(2, "convert", TESTDATA / "weights_only.h5", "-o", out)
        fails(2, "convert", TESTDATA / "lambda.keras", "-o", out)
        assert "encode" in fails(2, "convert", TESTDATA / "two_signatures", "-o", out, "--signature", "train")
        assert not out.exists()

    def test_outputs(self, model: Path, tmp_path: Path) -> None:
        assert "no such directory: make it" in fails(2, "convert", model, "-o", f"{tmp_path}/none/")
        assert "no directory" in fails(2, "convert", model, "-o", tmp_path / "none" / "out.tflite")
        out = tmp_path / "out.tflite"
        assert "no directory" in fails(2, "convert", model, "-o", out, "--report", tmp_path / "none" / "r.json")
        frozen = tmp_path / "frozen.pb"
        frozen.write_bytes((TESTDATA / "frozen.pb").read_bytes())
        assert "would overwrite the model" in fails(2, "convert", frozen, "-o", frozen)
        assert "would overwrite the model" in fails(2, "convert", frozen, "-o", out, "--report", frozen)
        assert "would overwrite the --output" in fails(2, "convert", model, "-o", out, "--report", out)
        assert not out.exists()

    def test_a_directory_that_is_not_ours(self, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        # Root may write everywhere, so the answer is made.
        monkeypatch.setattr(os, "access", lambda path, mode: False)
        assert "cannot be written" in fails(2, "convert", model, "-o", tmp_path / "out.tflite")

    @pytest.mark.parametrize("shape", ["x", "=1", "x=1,two", "x=1,-2", "x=1.5"])
    def test_shapes(self, model: Path, tmp_path: Path, shape: str) -> None:
        assert "--input-shape" in fails(2, "convert", model, "-o", tmp_path / "o.tflite", "--input-shape", shape)

    def test_ranges_hold_for_what_is_drawn(self, tmp_path: Path) -> None:
        graph = Frozen(3)
        graph.graph.node[0].attr["dtype"].type = INT32
        graph.node("y", "Maximum", "x", graph.constant("bound", np.int32(50)), T={"type": INT32})
        model, out = graph.write(tmp_path), tmp_path / "out.tflite"
        assert "whole numbers from 50 to 60" in run(
            "convert", model, "-o", out, "--input-range", "x=50:60", "--verify", "-v"
        ).stdout  # fmt: skip
        assert run("verify", model, out).exit_code == 4
        assert run("verify", model, out, "--input-range", "50:60").exit_code == 0
        assert "only whole numbers" in fails(2, "convert", "testdata/conv_bn", "-o", out, "--input-range", "0:1")

    def test_shapes_that_contradict(self, model: Path, tmp_path: Path) -> None:
        out = tmp_path / "out.tflite"
        fails(2, "convert", model, "-o", out, "--input-shape", "x=1,5")
        fails(2, "convert", model, "-o", out, "--input-shape", "y=1,4")
        assert "twice" in fails(
            2, "convert", model, "-o", out, "--input-shape", "x=1,4", "--input-shape", "x=2,4"
        )  # fmt: skip

    def test_options_that_belong_together(self, model: Path, tmp_path: Path) -> None:
        assert "--verify" in fails(2, "convert", model, "-o", tmp_path / "out.tflite", "--rtol", "0.1")

    def test_usage(self, model: Path) -> None:
        for args in (["-o"], ["-o", "x", "--batch-size", "0"], ["-o", "x", "--unknown"]):
            assert fails(2, "convert", model, *args).endswith("see `fuseconv convert --help`")
        fails(2, "convert")
        fails(2, "translate")

    def test_files(self, model: Path, tmp_path: Path) -> None:
        (tmp_path / "text.tflite").write_text("no flatbuffer at all")
        for name in ("none.tflite", "text.tflite"):
            fails(2, "inspect", tmp_path / name)
            fails(2, "verify", model, tmp_path / name)

    def test_usage_as_json(self, model: Path) -> None:
        for args in (["-o"], ["-o", "x", "--batch-size", "0"], ["-o", "x", "--unknown"]):
            result = run("convert", model, "--json", *args)
            error = json.loads(result.stdout)["error"]
            assert error["exit_code"] == result.exit_code == 2
            assert error["message"].rstrip(".") in result.stderr

    def test_json_tells_it_too(self, tmp_path: Path) -> None:
        result = run("inspect", tmp_path / "none.tflite", "--json")
        error = json.loads(result.stdout)["error"]
        assert error["exit_code"] == result.exit_code == 2
        assert error["message"] in result.stderr


class TestVerify:
    def test_agreement(self, model: Path, file: Path) -> None:
        result = run("verify", model, file)
        assert result.exit_code == 0
        assert "ok" in result.stdout and not result.stderr
        document = json.loads(run("verify", model, file, "--json", "--seed", 7).stdout)
        assert document["passed"] and document["outputs"][0]["output"] == "y"
        assert run("verify", model, file, "-q").output == ""

    @pytest.mark.parametrize("quiet", [[], ["-q"]])
    def test_difference(self, model: Path, wrong_file: Path, quiet: list[str]) -> None:
        result = run("verify", model, wrong_file, *quiet)
        assert result.exit_code == 4
        assert ("a difference of" in result.stdout) == (not quiet)
        assert result.stderr.startswith("fuseconv: error: 1 of 1 outputs differ")

    def test_difference_as_one_json_document(self, model: Path, wrong_file: Path) -> None:
        result = run("verify", model, wrong_file, "--json")
        document = json.loads(result.stdout)
        assert not document["passed"] and document["error"]["exit_code"] == result.exit_code == 4

    def test_tolerance_and_data(self, model: Path, wrong_file: Path, tmp_path: Path) -> None:
        assert run("verify", model, wrong_file, "--atol", 1e6).exit_code == 0
        np.savez(tmp_path / "data.npz", x=np.zeros((2, 4), np.float32))
        assert run("verify", model, wrong_file, "--data", tmp_path / "data.npz").exit_code == 0
        assert "cannot be read: No such file" in fails(2, "verify", model, wrong_file, "--data", tmp_path / "none.npz")
        for tolerance in ("nan", "inf"):
            assert "no tolerance" in fails(2, "verify", model, wrong_file, "--rtol", tolerance)


@pytest.mark.parametrize("args", [["inspect"], ["fusions"], ["ops"], ["inspect", "none.tflite"]])
def test_every_document_says_who_made_it(file: Path, args: list[str]) -> None:
    result = run(*args, *([file] if args == ["inspect"] else []), "--json")
    document = json.loads(result.stdout)
    assert document["generator"]["name"] == "fuseconv" and document["schema_version"] == 1


class TestLists:
    def test_inspecting(self, file: Path) -> None:
        result = run("inspect", file)
        assert result.exit_code == 0
        assert "FULLY_CONNECTED" in result.stdout
        assert json.loads(run("inspect", file, "--json").stdout)["op_counts"]["FULLY_CONNECTED"] == 1
        assert "resolver.AddFullyConnected();\n" in run("inspect", file, "--micro-resolver").stdout

    def test_fusions(self) -> None:
        assert "keras_lstm" in run("fusions").stdout
        rows = json.loads(run("fusions", "--json").stdout)["fusions"]
        assert all(row.keys() == {"name", "matches", "emits", "summary", "origin"} and row["summary"] for row in rows)

    def test_ops(self) -> None:
        assert "fuseconv.lower.ops.nn.convolution" in run("ops").stdout
        rows = {row["op"]: row for row in json.loads(run("ops", "--json").stdout)["ops"]}
        assert "CONV_2D" in rows["Conv2D"]["emits"] and "dilations" in rows["Conv2D"]["attributes"]
        assert rows["Switch"]["status"] == "pass"
        assert rows["StringJoin"]["status"] == "unsupported" and rows["StringJoin"]["select_tf_ops"]
        assert all(row["emits"] or row["summary"] for row in rows.values()), [
            op for op, row in rows.items() if not row["emits"] and not row["summary"]
        ]

    def test_some_ops(self) -> None:
        rows = json.loads(run("ops", "Conv3D", "Sparse*Mul", "--json").stdout)["ops"]
        names = ["Conv3D", "SparseDenseCwiseMul", "SparseMatMul", "SparseTensorDenseMatMul"]
        assert [row["op"] for row in rows] == names
        assert "unsupported" in run("ops", "Spence").stdout
        assert "by the name Nothing" in fails(2, "ops", "Nothing")

    def test_plugins_are_listed(self, tmp_path: Path) -> None:
        plugin = tmp_path / "mine.py"
        plugin.write_text(
            "from fuseconv.lower.rules import lowers\n\n\n@lowers\ndef Spence(tfl, x):\n    return tfl.neg(x)\n"
        )
        rows = {row["op"]: row for row in json.loads(run("ops", "--plugin", plugin, "--json").stdout)["ops"]}
        assert rows["Spence"]["emits"] == ["NEG"] and "mine" in rows["Spence"]["origin"]
        assert "no plug-in file" in fails(2, "ops", "--plugin", tmp_path / "none.py")


class TestQuantize:
    def test_a_file_is_quantized_and_verified(self, file: Path, tmp_path: Path) -> None:
        samples, out = tmp_path / "samples.npz", tmp_path / "out.tflite"
        np.savez(samples, x=np.random.default_rng(0).uniform(-4, 4, (150, 2, 4)).astype(np.float32))
        result = run("quantize", file, "-o", out, "--quantize", "int8", "--calibration-data", samples, "--verify")
        assert result.exit_code == 0 and not result.stderr, result.output
        assert "\nQuantized 1 int8 ops\nOps       3\n" in "\n" + result.stdout and " ok\n" in result.stdout
        verified = run("verify", file, out)
        assert verified.exit_code == 0 and "Allowed   1e-06 + 0.1 of the largest" in verified.stdout
        assert run("verify", file, out, "--rtol", 1e-4).exit_code == 4

    def test_what_calibrates_verifies(self, file: Path, tmp_path: Path) -> None:
        """Random numbers lie far outside of these ranges."""
        samples, rows, out = tmp_path / "samples.npz", tmp_path / "rows.npz", tmp_path / "out.tflite"
        array = np.random.default_rng(0).uniform(-0.1, 0.1, (150, 1, 4)).astype(np.float32)
        np.savez(samples, x=array)
        np.savez(rows, x=array[:, 0])
        for data in (samples, rows):
            result = run("quantize", file, "-o", out, "--quantize", "int8", "--calibration-data", data, "--verify")
            assert result.exit_code == 0 and "calibration samples" in result.stdout, result.output
            for command in (["verify", file, out], ["compare", "--runs", 1, file, out], ["profile", out, "--runs", 1]):
                assert run(*command, "--data", data).exit_code == 0
        assert run("verify", file, out).exit_code == 4

    def test_layers_of_a_quantized_file(self, file: Path, model: Path, tmp_path: Path) -> None:
        samples, out = tmp_path / "samples.npz", tmp_path / "out.tflite"
        np.savez(samples, x=np.random.default_rng(0).uniform(-4, 4, (150, 2, 4)).astype(np.float32))
        assert run("quantize", file, "-o", out, "--quantize", "int8", "--calibration-data", samples).exit_code == 0
        for original in (file, model):
            shown = run("verify", original, out, "--layers")
            assert shown.exit_code == 0 and "\nFULLY_CONNECTED " in shown.stdout
            document = json.loads(run("verify", original, out, "--layers", "--json").stdout)
            (layer,) = document["layers"]
            assert layer["type"] == "int8" and 0 < layer["error"]["relative"] < 0.05
            assert document["grows"] in (None, layer["tensor"])

    def test_errors(self, file: Path, model: Path, tmp_path: Path) -> None:
        out = tmp_path / "out.tflite"
        assert "needs samples" in fails(2, "quantize", file, "-o", out, "--quantize", "int8")
        assert "a directory" in fails(2, "quantize", model, "-o", out, "--quantize", "float16")
        assert "add --verify" in fails(2, "quantize", file, "-o", out, "--quantize", "float16", "--seed", 1)
        assert not out.exists()

    @pytest.mark.parametrize("suffix", ["json", "html"])
    def test_a_report_of_errors(self, file: Path, suffix: str, tmp_path: Path) -> None:
        out, page = tmp_path / "out.tflite", tmp_path / f"report.{suffix}"
        result = run("quantize", file, "-o", out, "--quantize", "float16", "--quantize-report", page)
        assert result.exit_code == 0 and "FULLY_CONNECTED" in page.read_text()

    def test_errors_of_the_report(self, file: Path, model: Path, tmp_path: Path) -> None:
        out = tmp_path / "out.tflite"
        half = ("-o", out, "--quantize", "float16", "--quantize-report")
        assert "end its name with .json or .html" in fails(2, "quantize", file, *half, tmp_path / "r.txt")
        assert "there is no directory" in fails(2, "quantize", file, *half, tmp_path / "no" / "r.json")
        assert "would overwrite the model" in fails(2, "quantize", file, *half[:-1], "--report", file)
        same = tmp_path / "r.json"
        assert "overwrite the --report" in fails(2, "quantize", file, *half, same, "--report", same)
        assert "add it" in fails(2, "convert", model, "-o", out, "--quantize-report", tmp_path / "r.json")
        assert not out.exists() and not same.exists()
