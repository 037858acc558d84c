"""Whole models, from disk to a file: right, accounted for, the same every time, nothing left behind by a failure."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import fuseconv
from fuseconv.errors import InputError, UnsupportedError
from fuseconv.inspecting import inspect
from fuseconv.ir.graph import Graph, Module
from fuseconv.load import load
from fuseconv.tf.side_effects import references
from fuseconv.verifying import verify

TESTDATA = Path(__file__).parents[1] / "testdata"
LSTM = "FILL FILL UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE FULLY_CONNECTED SOFTMAX"
# What each model becomes: small enough to be read, and a change of it is a change that somebody should look at.
EXPECTED = {
    "keras2_lstm": f"SHAPE STRIDED_SLICE CONCATENATION {LSTM}",
    "keras2_lstm_static": LSTM.replace("STRIDED_SLICE", "SLICE"),
    "frozen.pb": "CONV_2D MAX_POOL_2D FULLY_CONNECTED SOFTMAX",
    "two_signatures": "FULLY_CONNECTED TANH FULLY_CONNECTED",
    "conv_bn": None,
    "attention": None,
    "tf1": None,
    "keras2.h5": None,
    "keras3.h5": None,
    "keras3.keras": None,
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_model_converts_and_computes_what_it_did(name: str, tmp_path: Path) -> None:
    out = tmp_path / "model.tflite"
    report = fuseconv.convert(TESTDATA / name, out).report
    expected = EXPECTED[name]
    if expected is not None:
        assert sorted(op.type for op in report.emitted) == sorted(expected.split())
    verify(TESTDATA / name, out, rtol=1e-5).check()


@pytest.mark.parametrize("name", ["keras2_lstm", "conv_bn", "attention", "two_signatures", "tf1", "frozen.pb"])
def test_every_node_of_the_model_is_accounted_for(name: str, tmp_path: Path) -> None:
    report = fuseconv.convert(TESTDATA / name).report
    nodes = set(_nodes(load(TESTDATA / name)))
    assert nodes
    assert nodes <= report.sources.keys()
    assert all(report.account().values())
    # What was emitted says where it comes from, and nothing claims a node that the model does not have.
    assert all(op.sources for op in report.emitted)
    assert {source for op in report.emitted for source in op.sources} <= report.sources.keys()


def _nodes(module: Module) -> Iterator[str]:
    """The names of all nodes of a model, one for each place where its function is called."""
    for signature in module.signatures:
        yield from _graph_nodes(signature.graph, "", module)


def _graph_nodes(graph: Graph, prefix: str, module: Module) -> Iterator[str]:
    for value in graph.constants():
        yield prefix + value.name
    for op in graph.ops:
        yield prefix + op.name
        for name in references(op):
            if name in module.functions:
                yield from _graph_nodes(module.functions[name], f"{prefix}{op.name}/", module)


@pytest.mark.parametrize("name", ["keras2_lstm", "conv_bn"])
def test_the_same_model_gives_the_same_bytes(name: str) -> None:
    model = str(TESTDATA / name)
    code = f"import fuseconv, hashlib; print(hashlib.sha256(fuseconv.convert({model!r}).data).hexdigest())"
    hashes = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(hashes) == 1


def test_tensorflow_is_not_imported_for_a_saved_model() -> None:
    code = (
        f"import sys, fuseconv; fuseconv.convert({str(TESTDATA / 'conv_bn')!r});"
        "assert not {'tensorflow', 'keras', 'tf_keras'} & set(sys.modules), 'imported'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_signatures_are_subgraphs_that_share_weights(tmp_path: Path) -> None:
    both = tmp_path / "both.tflite"
    fuseconv.convert(TESTDATA / "two_signatures", both)
    document = inspect(both)
    assert len(document["subgraphs"]) == 2
    assert {signature["key"] for signature in document["signatures"]} == {"encode", "decode"}
    single = [fuseconv.convert(TESTDATA / "two_signatures", signatures=[name]).data for name in ("encode", "decode")]
    assert both.stat().st_size < sum(len(data or b"") for data in single)


def test_a_batch_size_makes_the_file_static(tmp_path: Path) -> None:
    out = tmp_path / "model.tflite"
    fuseconv.convert(TESTDATA / "keras2_lstm", out, batch_size=2)
    (tensor,) = (t for t in inspect(out)["subgraphs"][0]["tensors"] if t["name"] == "sequence")
    assert list(tensor["shape"]) == [2, 10, 6]
    assert Counter(inspect(out)["op_counts"])["SHAPE"] == 0
    verify(TESTDATA / "keras2_lstm", out).check()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"input_shapes": {"sequence": (2, 11, 6)}}, "does not fit the input sequence"),
        ({"input_shapes": {"sequence": (2, 10)}}, "does not fit the input sequence"),
        ({"input_shapes": {"nothing": (2, 10)}}, "no input nothing; there is sequence"),
        ({"batch_size": 0}, "at least 1"),
        ({"batch_size": 2.5}, "batch_size takes a whole number, not 2.5"),
        ({"batch_size": True}, "batch_size takes a whole number, not True"),
        ({"input_shapes": {"sequence": (2, "ten", 6)}}, "'ten' is no whole number"),
        ({"input_shapes": {"sequence": 2}}, "2 of sequence is no list of sizes"),
        ({"input_shapes": [("sequence", (2, 10, 6))]}, "a dict from names to shapes"),
        ({"signatures": ["nope"]}, "nope"),
        ({"signatures": "nope"}, "signatures takes a list"),
        ({"plugins": Path("nope.py")}, "plugins takes a list"),
        ({"plugins": [Path("nope.py")]}, r"no plug-in file nope\.py"),
        ({"no_fuse": ["nope*"]}, "no fusion is called"),
        ({"plugins": ["nope.py"]}, "no plug-in file nope.py"),
    ],
)
def test_a_bad_option_is_one_sentence(options: dict, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        fuseconv.convert(TESTDATA / "keras2_lstm", **options)


def test_a_failure_harms_no_file(tmp_path: Path) -> None:
    out = tmp_path / "model.tflite"
    out.write_bytes(b"precious")
    with pytest.raises(UnsupportedError) as raised:
        fuseconv.convert(_unsupported(tmp_path), out)
    assert raised.value.ops[0][0] == "MatrixSquareRoot"
    assert out.read_bytes() == b"precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "model.tflite"]


def test_inputs_of_unknown_rank_are_asked_for(tmp_path: Path) -> None:
    import tensorflow as tf

    weights = tf.ones([2, 3])
    specs = [tf.TensorSpec((None, 2), name="x"), tf.TensorSpec(None, name="keep")]
    serve = tf.function(lambda x, keep: {"y": tf.matmul(x / keep, weights)}, input_signature=specs)
    tf.saved_model.save(tf.Module(), str(tmp_path / "model"), {"serving_default": serve})
    with pytest.raises(UnsupportedError, match=r"give --input-shape keep=\.\.\., empty for a scalar"):
        fuseconv.convert(tmp_path / "model")
    assert fuseconv.convert(tmp_path / "model", input_shapes={"keep": ()}).data


def _unsupported(tmp_path: Path) -> Path:
    import tensorflow as tf

    module = tf.Module()
    serve = tf.function(lambda x: {"y": tf.linalg.sqrtm(x)}, input_signature=[tf.TensorSpec((3, 3))])
    tf.saved_model.save(module, str(tmp_path / "model"), {"serving_default": serve})
    return tmp_path / "model"


def test_an_unwritable_output_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="there is no directory"):
        fuseconv.convert(TESTDATA / "frozen.pb", tmp_path / "no" / "where.tflite")
    # The longest name that there is, and a temporary file beside it.
    assert fuseconv.convert(TESTDATA / "frozen.pb", tmp_path / ("x" * 255)).path

    def fsync(descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(InputError, match=rf"cannot write into {tmp_path}: Input/output error; choose another --output"):
        fuseconv.convert(TESTDATA / "frozen.pb", tmp_path / "out.tflite")
    assert len(list(tmp_path.iterdir())) == 1
