"""How the command line tells of errors: what cannot be converted, what the machine answers, and our own defects."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from fuseconv.errors import InputError, UnsupportedError
from fuseconv.report.records import Report
from tests.fast import ROOT
from tests.report.test_json import check_schema
from tests.test_cli import fails, run


def test_a_sentence_that_quotes_much_of_the_model_is_cut_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    def inspect(path: str) -> dict[str, Any]:
        raise InputError(f"{path} holds {'x' * 5000}.")

    monkeypatch.setattr("fuseconv.inspecting.inspect", inspect)
    done = run("inspect", "it")
    assert done.exit_code == 2 and len(done.stderr) < 1100 and "--json has all of it" in done.stderr
    assert len(json.loads(run("inspect", "it", "--json").stdout)["error"]["message"]) > 5000


class TestUnsupported:
    @pytest.fixture(scope="class")
    @staticmethod
    def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
        @tf.function(input_signature=[tf.TensorSpec((3, 3), name="x")])
        def serve(x: tf.Tensor) -> dict[str, tf.Tensor]:
            return {"y": tf.linalg.sqrtm(x)}

        path = tmp_path_factory.mktemp("unsupported") / "model"
        module = tf.Module()
        module.serve = serve
        tf.saved_model.save(module, str(path), {"serving_default": serve})
        return path

    def test_a_table_and_no_file(self, model: Path, tmp_path: Path) -> None:
        result = run("convert", model, "-o", tmp_path / "out.tflite")
        assert result.exit_code == 3
        assert not result.stdout
        assert re.search("^MatrixSquareRoot \\(1\\)  .*\n    .*--custom-op MatrixSquareRoot", result.stderr, re.M)
        assert not list(tmp_path.iterdir())

    def test_the_report_is_written(self, model: Path, tmp_path: Path) -> None:
        report = tmp_path / "report.json"
        result = run("convert", model, "-o", tmp_path / "out.tflite", "--report", report, "--json")
        document = json.loads(result.stdout)
        assert document == json.loads(report.read_text())
        check_schema(document)
        assert document["error"]["exit_code"] == 3
        (entry,) = document["error"]["ops"]
        assert (entry["op"], entry["count"], len(entry["nodes"])) == ("MatrixSquareRoot", 1, 1)
        assert "--custom-op MatrixSquareRoot" in entry["why"]
        assert document["totals"]["fates"]["unsupported"] == 1
        assert [record["kind"] for record in document["records"] if record["kind"] == "unsupported"]


class TestDefects:
    @pytest.fixture(autouse=True)
    def broken(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def inspect(path: str) -> dict[str, Any]:
            raise {
                "interrupt": KeyboardInterrupt(),
                "full": OSError(28, "No space left on device", path),
                "large": MemoryError("Unable to allocate 8 TiB"),
            }.get(path, ZeroDivisionError("a\x1b[2Jb\nc"))

        monkeypatch.setattr("fuseconv.inspecting.inspect", inspect)

    def test_one_sentence(self) -> None:
        sentence = fails(1, "inspect", "x")
        assert "please report" in sentence and "ZeroDivisionError: a [2Jb c" in sentence

    def test_a_traceback_if_asked_for(self) -> None:
        result = run("inspect", "x", "--debug")
        assert result.exit_code == 1
        assert "Traceback" in result.stderr and "line" in result.stderr

    def test_what_the_machine_answers_is_no_defect(self) -> None:
        assert fails(2, "inspect", "full").endswith("full: No space left on device")
        assert fails(2, "inspect", "large").endswith("memory does not suffice for the model: Unable to allocate 8 TiB")

    def test_interrupted(self) -> None:
        result = run("inspect", "interrupt")
        assert (result.exit_code, result.stderr) == (130, "fuseconv: interrupted\n")


def test_an_unsupported_op_without_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    error = UnsupportedError("no", [("Svd", ["a"], "no rule")])

    def inspect(path: str) -> dict[str, Any]:
        raise error

    monkeypatch.setattr("fuseconv.inspecting.inspect", inspect)
    ops = [{"op": "Svd", "count": 1, "nodes": ["a"], "why": "no rule"}]
    answer = json.loads(run("inspect", "x", "--json").stdout)["error"]
    assert answer == {"message": "no", "exit_code": 3, "ops": ops}
    assert run("inspect", "x").stderr.count("no rule") == 1, "the table tells why, and not the sentence, too"
    error.report = Report("model")
    assert json.loads(run("inspect", "x", "--json").stdout)["model"] == "model"


@pytest.mark.parametrize("words", [
    "convert", "convert nothere", "convert text.txt", "convert folder", "convert MODEL -o none/",
    "convert MODEL -o none/out.tflite", "convert MODEL --report out.txt", "convert MODEL --report folder",
    "convert MODEL --fuse kers_lstm", "convert MODEL --target gpuu", "convert MODEL --plugin nothere.py",
    "convert MODEL --plugin no_such_module", "convert MODEL --plugin bad.py", "convert MODEL --signature serve",
    "convert MODEL --input-shape sequence", "convert MODEL --batch-size two", "convert MODEL --config text.txt",
    "convert MODEL --metadata labels=folder", "convert MODEL --metdata a=b", "convert MODEL MODEL -o out.tflite",
    "convrt MODEL", "convert out.tflite", "inspect folder", "inspect text.txt",
    "inspect", "quantize text.txt -o out --quantize dynamic",
    "verify MODEL text.txt", "verify MODEL", "profile text.txt", "profile folder", "profile text.txt --runs 0",
    "compare text.txt", "compare text.txt folder", "fusions kers_lstm", "fusions --plugin bad.py", "ops MatMull",
    "passes extra", "new-plugin", "new-plugin 1bad", "new-plugin folder", "--nosuch",
])  # fmt: skip
def test_each_wrong_use_is_one_sentence(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.txt").write_text("a = [")
    (tmp_path / "bad.py").write_text("def f(:\n")
    result = run(*words.replace("MODEL", str(ROOT / "testdata" / "keras2_lstm")).split())
    assert result.exit_code == 2 and result.stdout == ""
    (sentence,) = result.stderr.splitlines()
    assert sentence.startswith("fuseconv: error: ") and not sentence.endswith(".") and "Traceback" not in sentence
    assert {path.name for path in tmp_path.iterdir()} <= {"folder", "text.txt", "bad.py", "__pycache__"}
