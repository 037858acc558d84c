"""Frozen graphs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fuseconv.errors import InputError
from fuseconv.ir import types, verifier
from fuseconv.ir.dims import symbol
from fuseconv.load import load, protos

Write = Callable[[Callable[[Any], None]], Path]


@pytest.fixture
def write(tf: Any, tmp_path: Path) -> Write:
    """Writes the graph that a function builds."""

    def write(build: Callable[[Any], None]) -> Path:
        with tf.Graph().as_default() as graph:
            build(tf)
        path = tmp_path / "graph.pb"
        path.write_bytes(graph.as_graph_def().SerializeToString())
        return path

    return write


def dense(tf: Any) -> None:
    x = tf.compat.v1.placeholder(tf.float32, [None, 2], "x")
    tf.compat.v1.placeholder(tf.float32, name="unused")
    y = tf.matmul(x, tf.constant([[1.0], [2.0]], name="w"), name="matmul")
    tf.nn.relu(y, name="relu")
    tf.debugging.assert_equal(tf.shape(x)[0], 3)


def test_finds_its_inputs_and_outputs(write: Write) -> None:
    module = load(write(dense))
    verifier.check(module, "tf")
    (signature,) = module.signatures
    assert (signature.names, signature.inputs, signature.outputs) == (["serving_default"], ["x"], ["relu"])
    assert signature.graph.inputs[0].shape == (symbol("x.0"), 2)
    assert [op.kind for op in signature.graph.ops] == ["tf.MatMul", "tf.Relu"]
    matmul = signature.graph.ops[0]
    assert matmul.attrs == {}
    weights = matmul.operands[1]
    assert weights is not None
    assert weights.name == "w"
    assert np.asarray(weights.data).tolist() == [[1], [2]]


@pytest.mark.parametrize("names", [("matmul", "relu"), ("matmul:0", "relu:0")])
def test_cut_at_an_inner_tensor(write: Write, names: tuple[str, str]) -> None:
    module = load(write(dense), inputs=[names[0]], outputs=[names[1]])
    (signature,) = module.signatures
    assert (signature.inputs, signature.outputs) == (["matmul"], ["relu"])
    assert signature.graph.inputs[0].dtype is types.FLOAT32
    assert [op.kind for op in signature.graph.ops] == ["tf.Relu"]


def test_order_of_names_is_kept(write: Write) -> None:
    def build(tf: Any) -> None:
        a, b = (tf.compat.v1.placeholder(tf.float32, [2], name) for name in "ab")
        tf.add(a, b, "sum")
        tf.split(tf.subtract(a, b), 2, name="parts")

    signature = load(write(build), inputs=["b", "a"], outputs=["parts:1", "sum"]).signatures[0]
    assert (signature.inputs, signature.outputs) == (["b", "a"], ["parts:1", "sum"])
    assert signature.graph.outputs[0].index == 1
    found = load(write(build)).signatures[0]
    assert (found.inputs, found.outputs) == (["a", "b"], ["sum", "parts", "parts:1"])


def test_placeholder_with_default(write: Write) -> None:
    def build(tf: Any) -> None:
        tf.identity(tf.compat.v1.placeholder_with_default(np.array([1, 2], np.float32), [None], "p"), "y")

    path = write(build)
    assert [op.kind for op in load(path).signatures[0].graph.ops] == ["tf.PlaceholderWithDefault", "tf.Identity"]
    named = load(path, inputs=["p"]).signatures[0]
    assert named.graph.inputs[0].shape == (symbol("p.0"),)
    assert [op.kind for op in named.graph.ops] == ["tf.Identity"]


def test_sides_of_branches_are_no_outputs(write: Write) -> None:
    def build(tf: Any) -> None:
        x = tf.compat.v1.placeholder(tf.float32, [2], "x")
        training = tf.compat.v1.placeholder(tf.bool, [], "training")
        tf.compat.v1.disable_control_flow_v2()
        try:
            y = tf.compat.v1.cond(training, lambda: tf.reduce_sum(x), lambda: tf.reduce_max(x))
        finally:
            tf.compat.v1.enable_control_flow_v2()
        tf.nn.relu(y, name="relu")

    (signature,) = load(write(build)).signatures
    assert (signature.inputs, signature.outputs) == (["x", "training"], ["relu"])


def test_functions_of_the_graph(write: Write) -> None:
    def build(tf: Any) -> None:
        x = tf.compat.v1.placeholder(tf.float32, [2], "x")
        tf.identity(tf.function(lambda v: tf.split(v * 2.0, 2)[1])(x), "y")

    module = load(write(build))
    (body,) = module.functions.values()
    assert [op.kind for op in body.ops] == ["tf.Mul", "tf.Split", "tf.Identity"]
    assert body.ops[2].operands[0] is body.ops[1].results[1]


def test_tables_with_their_initializer(write: Write) -> None:
    def build(tf: Any) -> None:
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)
        tf.identity(table.lookup(tf.compat.v1.placeholder(tf.string, [2], "x")), "y")

    (table,) = load(write(build)).tables.values()
    assert (np.asarray(table.keys).tolist(), np.asarray(table.values).tolist()) == ([b"a", b"b"], [1, 2])


def test_scalar_shape_of_old_graphs_is_unknown(tmp_path: Path) -> None:
    graph = protos.classes["GraphDef"]()
    node = graph.node.add(name="x", op="Placeholder")
    node.attr["dtype"].type = 1
    node.attr["shape"].shape.SetInParent()
    graph.node.add(name="y", op="Neg", input=["x"]).attr["T"].type = 1
    for producer, shape in ((21, None), (22, ())):
        graph.versions.producer = producer
        path = tmp_path / "graph.pb"
        path.write_bytes(graph.SerializeToString())
        assert load(path).signatures[0].graph.inputs[0].shape == shape


@pytest.mark.parametrize("names", [{"inputs": ["nope"]}, {"outputs": ["nope:0"]}])
def test_no_such_node(write: Write, names: dict[str, list[str]]) -> None:
    with pytest.raises(InputError, match=r"no node 'nope'. Its placeholders are x, unused; .* are relu"):
        load(write(dense), **names)  # type: ignore[arg-type]


def test_no_such_tensor(write: Write) -> None:
    with pytest.raises(InputError, match=r"relu:3"):
        load(write(dense), outputs=["relu:3"])
    with pytest.raises(InputError, match=r"relu:3"):
        load(write(dense), inputs=["relu:3"], outputs=["relu"])


def test_no_outputs(write: Write) -> None:
    with pytest.raises(InputError, match=r"--outputs"):
        load(write(lambda tf: tf.compat.v1.placeholder(tf.float32, [2], "x")))


def test_variables_are_refused(write: Write) -> None:
    def build(tf: Any) -> None:
        tf.identity(tf.compat.v1.get_variable("v", [2]), "y")

    with pytest.raises(InputError, match=r"not frozen: it holds the variable 'v'"):
        load(write(build), outputs=["y"])


def test_wrong_files(tmp_path: Path, tf2: Path) -> None:
    path = tmp_path / "graph.pb"
    for content, message in (
        (b"", "is empty"),
        (b"\x1c\0\0\0TFL3\0\0", "is a TensorFlow Lite file already"),
        (b"PK\x03\x04 and more", "looks like a Keras file"),
        (b'node { name: "x" op: "Placeholder" }\n', "is text"),
        (b"\x0a\xff\xff", "cannot be parsed"),
        (b"\x22\x00", "contains no graph"),
        ((tf2 / "saved_model.pb").read_bytes(), "give the directory"),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match=message):
            load(path)
    for name, content, message in (
        ("data.npz", b"PK\x03\x04 and more", "holds arrays of NumPy, and no model"),
        ("model.onnx", b"\x08\x07", "is an ONNX model; fuseconv reads TensorFlow's"),
        ("model.pt", b"PK\x03\x04 and more", "is a PyTorch model; fuseconv reads TensorFlow's"),
        ("model.pth", b"\x80\x02", "is a PyTorch model"),
        ("model.safetensors", b"\x08\0\0\0\0\0\0\0{}", "holds weights only"),
        ("model.json", b"{}", "describes a model, whose weights lie elsewhere"),
        ("model.zip", b"PK\x03\x04 and more", "is an archive: unpack it"),
        ("model.tar.gz", b"\x1f\x8b", "is an archive: unpack it"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=message):
            load(tmp_path / name)
    for suffix in ("meta", "index", "data-00000-of-00001"):
        part = tmp_path / f"model.ckpt-10.{suffix}"
        part.write_bytes(b"\x0a\xff\xff")
        with pytest.raises(InputError, match="belongs to a checkpoint"):
            load(part)


def test_a_long_name_is_no_text(write: Write) -> None:
    assert load(write(lambda tf: tf.negative(tf.compat.v1.placeholder(tf.float32, [1]), name="y" * 110))).signatures


def test_what_a_dataset_gives_is_an_input(write: Write) -> None:
    def build(tf: Any) -> None:
        v1 = tf.compat.v1
        handle = v1.placeholder(tf.string, [], "handle")
        shapes = (tf.TensorShape([None, 2]), tf.TensorShape([None]))
        iterator = v1.data.Iterator.from_string_handle(handle, (tf.float32, tf.int64), shapes)
        x, labels = iterator.get_next()
        logits = tf.matmul(x, tf.constant([[1.0], [2.0]]), name="logits")
        tf.add(tf.cast(labels, tf.float32), tf.squeeze(logits, 1), name="sum")

    (signature,) = load(write(build)).signatures
    assert (signature.inputs, signature.outputs) == (["IteratorGetNext", "IteratorGetNext:1"], ["sum"])
    assert [value.shape for value in signature.graph.inputs] == [
        (symbol("IteratorGetNext.0"), 2), (symbol("IteratorGetNext:1.0"),)
    ]  # fmt: skip
    (signature,) = load(write(build), outputs=["logits"]).signatures
    assert signature.inputs == ["IteratorGetNext"]


def test_what_a_branch_or_loop_makes_and_nobody_reads_is_no_output(write: Write) -> None:
    def build(tf: Any) -> None:
        raw = tf.raw_ops
        x = tf.compat.v1.placeholder(tf.float32, [2], "x")
        other, one = raw.Switch(data=x, pred=tf.compat.v1.placeholder(tf.bool, [], "yes"))
        with tf.control_dependencies([tf.identity(one)]):
            tf.identity(tf.constant(1.0), "pivoted")
        raw.Exp(x=one, name="in_branch")
        merged, _ = raw.Merge(inputs=[other, raw.Neg(x=one)])
        entered = raw.Enter(data=merged, frame_name="loop")
        start, _ = raw.Merge(inputs=[entered, entered])
        limit = raw.Enter(data=9.0, frame_name="loop", is_constant=True)
        goes_on = raw.LoopCond(input=raw.Less(x=raw.Sum(input=start, axis=[0]), y=limit))
        left, body = raw.Switch(data=start, pred=goes_on)
        raw.Exp(x=body, name="in_loop")
        start.op._update_input(1, raw.NextIteration(data=raw.AddV2(x=body, y=raw.Exp(x=body))))
        tf.identity(raw.Exit(data=left), "out")

    (signature,) = load(write(build)).signatures
    assert signature.outputs == ["out"]
