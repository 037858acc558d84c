"""Model metadata of a file. (MetadataDisplayer of tflite-support 0.4.4 was shown such files, and read them.)"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fuseconv
from fuseconv.errors import InputError
from fuseconv.inspecting import describe
from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Signature
from fuseconv.load.tflite.model_metadata import describe as read_metadata
from fuseconv.tfl.metadata_schema import NAME
from fuseconv.write.model_metadata import ModelMetadata
from tests.fast import ROOT

LSTM = ROOT / "testdata" / "keras2_lstm"
LABELS = "cat\ndog\nowl\nfox\n"
TEXTS = {"name": "Pets", "description": "which pet, if any", "version": "v2", "author": "Acme, Inc", "license": "MIT"}


def labels(folder: Path, text: str = LABELS, name: str = "labels.txt") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def module(**values: tuple) -> Module:
    """A module whose outputs are its inputs; the name of an image's tensor begins with image."""
    graph = Graph("main")
    for name, shape in values.items():
        graph.add_input(types.FLOAT32, shape, name)
    graph.outputs = list(graph.inputs)
    return Module([Signature(["serve"], graph, list(values), [f"{name}_out" for name in values])])


def attached(given: dict[str, Any], **values: tuple) -> dict[str, Any]:
    made = module(**values)
    ModelMetadata.of(given).attach(made)
    found = read_metadata(made.metadata[NAME])
    assert found is not None
    return found


def test_a_file_tells_all_and_still_runs(tmp_path: Path) -> None:
    from ai_edge_litert.interpreter import Interpreter

    given = TEXTS | {"labels": labels(tmp_path)}
    data = fuseconv.convert(LSTM, metadata=given).data
    assert data is not None and data == fuseconv.convert(LSTM, metadata=given).data
    description = describe(data, "file")
    found = description["model_metadata"]
    assert {key: found[key] for key in TEXTS} == TEXTS
    assert found["outputs"] == [{"name": "class", "mean": [], "std": [], "labels": ["labels.txt"]}]
    assert [tensor["name"] for tensor in found["inputs"]] == ["sequence"]
    assert description["files"] == [{"name": "labels.txt", "size": len(LABELS)}]
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        (entry,) = archive.infolist()
        assert archive.read(entry).decode() == LABELS and entry.compress_type == zipfile.ZIP_STORED
    plain = fuseconv.convert(LSTM).data
    outputs = []
    for contents in (data, plain):
        runner = Interpreter(model_content=contents).get_signature_runner()
        outputs.append(runner(sequence=np.ones((2, 10, 6), np.float32))["class"])
    assert np.array_equal(*outputs)


def test_quantizing_a_file_keeps_both(tmp_path: Path) -> None:
    file, small = tmp_path / "model.tflite", tmp_path / "small.tflite"
    fuseconv.convert(LSTM, file, metadata={"author": "Acme", "labels": labels(tmp_path)})
    fuseconv.quantize_file(file, small, quantize="float16")
    before, after = (describe(path.read_bytes(), "file") for path in (file, small))
    assert after["model_metadata"] == before["model_metadata"] and after["files"] == before["files"]


def test_an_image_is_told_with_its_normalization() -> None:
    given = {"mean": "127.5", "std": [1, 2.0, 4]}
    found = attached(given, image=(None, 8, 8, 3), scores=(None, 4))
    (image, scores) = found["inputs"]
    assert (image["mean"], image["std"]) == ([127.5], [1, 2, 4]) and scores["mean"] == []
    named = attached({"mean:x": 1, "std:x": 2}, x=(None, 4), y=(None, 4))
    assert [tensor["mean"] for tensor in named["inputs"]] == [[1], []]


def test_labels_of_one_output_among_several(tmp_path: Path) -> None:
    file = labels(tmp_path)
    found = attached({"value_labels:a_out": file, "labels:b_out": file}, a=(1, 10), b=(1, 4))
    assert [tensor["labels"] for tensor in found["outputs"]] == [["labels.txt"], ["labels.txt"]]


@pytest.mark.parametrize(("given", "sentence"), [
    ({"authr": "A"}, "does not know authr; did you mean author?"),
    ({"author:x": "A"}, "does not know author:x"),
    ({"labels": "FILE"}, "2 tensors of a_out, b_out may have labels; name one, as in labels:NAME="),
    ({"labels:c": "FILE"}, "no tensor is called c"),
    ({"labels:a_ou": "FILE"}, "did you mean a_out?"),
    ({"labels:a_out": "FILE"}, "labels.txt has 4 labels, but the last dimension of a_out is 10; value_labels="),
    ({"labels:a_out": "missing"}, "the labels missing cannot be read: No such file"),
    ({"labels:a_out": "."}, "is a directory"),
    ({"mean": 1}, "mean and std go together"),
    ({"mean": 1, "std": 0}, "for std other than 0"),
    ({"mean": "1,a", "std": 1}, "give a number, or one for each channel"),
    ({"mean": "nan", "std": 1}, "finite"),
    ({"mean": 1, "std": 1}, "0 tensors of a, b may have mean and std; name one, as in mean:NAME="),
    ({"mean:a": [1, 2], "std:a": 1}, "a has 10 channels, and not 2"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(given: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    given = {key: labels(tmp_path) if value == "FILE" else value for key, value in given.items()}
    with pytest.raises(InputError) as refused:
        attached(given, a=(1, 10), b=(1, 4))
    assert sentence in str(refused.value)


@pytest.mark.parametrize("contents", [b"", b"\xff\xfe\xff", b" \n"])
def test_a_file_that_holds_no_labels_is_refused(contents: bytes, tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_bytes(contents)
    with pytest.raises(InputError, match=r"are no text|are empty"):
        ModelMetadata.of({"labels": tmp_path / "labels.txt"})


def test_a_tensor_that_is_told_of_twice_is_refused(tmp_path: Path) -> None:
    file = labels(tmp_path)
    with pytest.raises(InputError, match="--metadata tells of one tensor twice: a_out"):
        attached({"labels": file, "labels:a_out": file}, a=(1, 4))


def test_lines_end_where_readers_end_them(tmp_path: Path) -> None:
    attached({"labels": labels(tmp_path, "one\x85more\ntwo\nthree\nfour")}, a=(1, 4))


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    given = {"labels:a_out": labels(tmp_path), "value_labels:b_out": labels(tmp_path / "other", "x\n")}
    with pytest.raises(InputError, match=r"names two files labels\.txt"):
        attached(given, a=(1, 4), b=(1, 4))
