"""SavedModels that TensorFlow wrote."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fuseconv.api import convert
from fuseconv.errors import InputError
from fuseconv.files import ModelFiles
from fuseconv.ir import budget, types, verifier
from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import FuncRef, Graph, Module, Op, Variable
from fuseconv.load import load, protos
from fuseconv.load.saved_model import chosen_tags
from fuseconv.verifying import verify
from tests.frozen import FLOAT, Frozen


def ops(graph: Graph, kind: str) -> list[Op]:
    return [op for op in graph.ops if op.kind == kind]


def data(variable: Variable) -> np.ndarray:
    assert variable.data is not None
    return variable.data


def all_ops(module: Module, kind: str) -> list[Op]:
    return [op for graph in module.graphs() for op in ops(graph, kind)]


def test_keras3_export(keras3: tuple[Path, Any]) -> None:
    path, model = keras3
    module = load(path)
    verifier.check(module, "tf")
    (signature,) = module.signatures
    assert signature.names == ["serving_default", "serve"]
    assert signature.inputs == ["image"]
    assert signature.outputs == ["output_0"]
    assert signature.graph.inputs[0].shape == (symbol("image.0"), 8, 8, 3)
    assert len(module.functions) == 2  # one wrapper went with the second name
    (conv,) = all_ops(module, "tf.Conv2D")
    assert conv.attrs == {"strides": [1, 1, 1, 1], "padding": "VALID"}
    assert conv.sources == (conv.name,)
    weights = sorted((w.numpy().shape, w.numpy().tobytes()) for w in model.weights)
    assert sorted((data(v).shape, data(v).tobytes()) for v in module.variables.values()) == weights
    assert {op.attrs["shared_name"] for op in all_ops(module, "tf.VarHandleOp")} == set(module.variables)


def test_values_are_named_for_their_nodes(tf2: Path) -> None:
    module = load(tf2)
    (split,) = all_ops(module, "tf.Split")
    assert [value.name for value in split.results] == [split.name, f"{split.name}:1"]
    assert [value.dtype for value in split.results] == [types.FLOAT32] * 2
    assert split.attrs == {}  # num_split is the number of results


def test_tf2_signatures(tf2: Path) -> None:
    module = load(tf2)
    verifier.check(module, "tf")
    assert [signature.names for signature in module.signatures] == [["serving_default"], ["another"]]
    serve = module.signatures[0]
    assert serve.inputs == ["a", "z"]
    assert serve.graph.inputs[0].shape == (symbol("a.0"), symbol("a.1"))
    assert serve.graph.inputs[0].dtype is types.STRING
    assert serve.outputs == sorted(serve.outputs)
    assert len(serve.graph.outputs) == len(serve.outputs) == 7


def test_functions_keep_their_annotations(tf2: Path) -> None:
    module = load(tf2)
    (annotated,) = [graph for graph in module.functions.values() if "_implements" in graph.attrs]
    assert annotated.attrs["_implements"] == FuncRef("my_op", {"width": 3})
    (call,) = [op for graph in module.graphs() for op in graph.ops if op.attrs.get("f") == FuncRef(annotated.name)]
    assert len(call.operands) == len(annotated.inputs)
    assert not {"config_proto", "config", "executor_type"} & call.attrs.keys()


def test_loops_refer_to_functions(tf2: Path) -> None:
    module = load(tf2)
    (loop,) = all_ops(module, "tf.StatelessWhile")
    assert isinstance(loop.attrs["cond"], FuncRef)
    assert loop.attrs["cond"].name in module.functions
    assert loop.attrs["body"].name in module.functions
    assert len(loop.results) == len(loop.operands)


def test_tf2_variables(tf2: Path) -> None:
    module = load(tf2)
    values = sorted(data(v).tolist() for v in module.variables.values())
    assert values == [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
    only = load(tf2, signatures=["another"])
    assert [data(v).tolist() for v in only.variables.values()] == [[[5, 6], [7, 8]]]
    assert [signature.names for signature in only.signatures] == [["another"]]


def test_captured_constants_are_constants(tf2: Path) -> None:
    graph = load(tf2).signatures[0].graph
    assert [10.0, 11.0] in [np.asarray(value.data).tolist() for value in graph.constants()]
    assert not ops(graph, "tf.Const")


def test_tf1_model(tf1: Path, models: Path) -> None:
    module = load(tf1)
    verifier.check(module, "tf")
    (signature,) = module.signatures
    assert signature.inputs == ["s", "x"]
    assert signature.outputs == ["ids", "words", "y"]
    variables = module.variables
    assert data(variables["ref"]).tolist() == [1, 2, 3]
    assert data(variables["scope/resource"]).tolist() == [4, 5, 6]
    parts = [data(variables[f"parts/part_{n}"]) for n in range(3)]
    np.testing.assert_array_equal(np.concatenate(parts), np.load(models / "parts.npy"))
    assert variables["parts/part_1"].shape == parts[1].shape
    (handle,) = [op for op in all_ops(module, "tf.VariableV2") if op.name == "ref"]
    assert handle.attrs["shared_name"] == "ref"
    assert handle.result.dtype is types.FLOAT32


def test_v1_loop_is_ordered_with_its_back_edge_open(tf1: Path) -> None:
    graph = load(tf1).signatures[0].graph
    place = {op: index for index, op in enumerate(graph.ops)}
    merges = ops(graph, "tf.Merge")
    assert len(merges) == 2
    for merge in merges:
        entered, back = (value.op for value in merge.operands if value)
        assert entered and back
        assert entered.kind == "tf.Enter"
        assert back.kind == "tf.NextIteration"
        assert place[entered] < place[merge] < place[back]


def test_tags(tf2: Path) -> None:
    assert load(tf2, tags=["serve"]).signatures
    with pytest.raises(InputError, match=r"tags other,serve; there are serve"):
        load(tf2, tags=["serve", "other"])


@pytest.mark.parametrize("tags", [[["train"], ["serve"]], [["serve", "gpu"], ["serve"]], [["train"], []]])
def test_the_graph_that_is_not_for_training(tf: Any, tmp_path: Path, tags: list[list[str]]) -> None:
    v1 = tf.compat.v1
    builder = v1.saved_model.Builder(str(tmp_path / "model"))
    for each in tags:
        with tf.Graph().as_default(), v1.Session() as session:
            x = v1.placeholder(tf.float32, [None, 2], "x")
            y = x * v1.get_variable("w", [2]) + float(each == tags[-1])
            session.run(v1.global_variables_initializer())
            signature = v1.saved_model.predict_signature_def({"x": x}, {"y": y})
            if each == tags[0]:
                builder.add_meta_graph_and_variables(session, each, {"serving_default": signature})
            else:
                builder.add_meta_graph(each, {"serving_default": signature})
    builder.save()
    (add,) = all_ops(load(tmp_path / "model"), "tf.AddV2")
    assert add.operands[1] is not None
    assert add.operands[1].data == 1
    assert chosen_tags(ModelFiles(tmp_path / "model")) == tags[-1]
    assert verify(tmp_path / "model", convert(tmp_path / "model").data or b"").passed


def test_no_such_signature(tf2: Path) -> None:
    with pytest.raises(InputError, match=r"no signature nope; there are serving_default, another"):
        load(tf2, signatures=["nope"])


def edited(source: Path, target: Path, edit: Any) -> Path:
    shutil.copytree(source, target)
    proto = protos.classes["SavedModel"].FromString((source / "saved_model.pb").read_bytes())
    edit(proto.meta_graphs[0])
    (target / "saved_model.pb").write_bytes(proto.SerializeToString())
    return target


def test_no_signatures(tf2: Path, tmp_path: Path) -> None:
    model = edited(tf2, tmp_path / "m", lambda meta: meta.ClearField("signature_def"))
    with pytest.raises(InputError, match=r"no signatures"):
        load(model)


def test_signature_that_reads_a_missing_node(tf2: Path, tmp_path: Path) -> None:
    def edit(meta: Any) -> None:
        meta.signature_def["another"].outputs["y"].name = "nowhere:0"

    with pytest.raises(InputError, match=r"'nowhere'"):
        load(edited(tf2, tmp_path / "m", edit))


def test_function_that_is_not_there(tf2: Path, tmp_path: Path) -> None:
    def edit(meta: Any) -> None:
        functions = meta.graph_def.library.function
        for index in reversed([i for i, f in enumerate(functions) if "_implements" in f.attr]):
            del functions[index]

    with pytest.raises(InputError, match=r"which the model does not contain"):
        load(edited(tf2, tmp_path / "m", edit))


def test_sparse_signature(tf2: Path, tmp_path: Path) -> None:
    def edit(meta: Any) -> None:
        meta.signature_def["another"].inputs["x"].coo_sparse.values_tensor_name = "v:0"

    with pytest.raises(InputError, match=r"sparse"):
        load(edited(tf2, tmp_path / "m", edit))


@pytest.mark.parametrize(
    "missing, message",
    [
        ("saved_model.pb", "no saved_model.pb"),
        ("variables/variables.index", "variables.index is missing"),
        ("variables/variables.data-00000-of-00001", "data-00000-of-00001 is missing"),
    ],
)
def test_missing_file(tf2: Path, tmp_path: Path, missing: str, message: str) -> None:
    model = edited(tf2, tmp_path / "m", lambda meta: None)
    (model / missing).unlink()
    with pytest.raises(InputError, match=message):
        load(model)


def test_text_model(tmp_path: Path) -> None:
    (tmp_path / "saved_model.pbtxt").write_text("")
    with pytest.raises(InputError, match=r"as text"):
        load(tmp_path)


@pytest.mark.parametrize("keep", [0, 1, 1000])
def test_cut_off_protobuf(tf2: Path, tmp_path: Path, keep: int) -> None:
    model = edited(tf2, tmp_path / "m", lambda meta: None)
    pb = model / "saved_model.pb"
    pb.write_bytes(pb.read_bytes()[:keep])
    with pytest.raises(InputError, match=r"empty|damaged"):
        load(model)


def test_damaged_bytes_never_crash(tf2: Path, tmp_path: Path) -> None:
    """What is damaged is refused, or goes unnoticed as other values do."""
    model = edited(tf2, tmp_path / "m", lambda meta: None)
    whole = (model / "saved_model.pb").read_bytes()
    random = np.random.default_rng(0)
    refused = 0
    for _ in range(500):
        damaged = bytearray(whole)
        for at in random.integers(0, len(whole), 3):
            damaged[at] = random.integers(0, 256)
        (model / "saved_model.pb").write_bytes(damaged)
        try:
            load(model)
        except InputError:
            refused += 1
    assert refused > 100


def test_cut_off_shard(tf2: Path, tmp_path: Path) -> None:
    model = edited(tf2, tmp_path / "m", lambda meta: None)
    shard = model / "variables/variables.data-00000-of-00001"
    shard.write_bytes(shard.read_bytes()[:4])
    with pytest.raises(InputError, match=r"cut off"):
        load(model)


def test_signatures_of_more_operations_than_the_bytes_justify(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each signature has a graph of its own, of nodes that it may share with all others."""
    monkeypatch.setattr(budget, "_LEAST_OPERATIONS", 100)
    frozen = Frozen(4)
    for index in range(40):
        frozen.node(f"n{index}", "Sin", f"n{index - 1}" if index else "x", T={"type": FLOAT})
    model = protos.classes["SavedModel"]()
    meta = model.meta_graphs.add(graph_def=frozen.graph)
    meta.meta_info_def.tags.append("serve")
    for name in ("a", "b", "c"):
        meta.signature_def[name].inputs["x"].CopyFrom(protos.classes["TensorInfo"](name="x:0", dtype=FLOAT))
        meta.signature_def[name].outputs[name].CopyFrom(protos.classes["TensorInfo"](name="n39:0", dtype=FLOAT))
    (tmp_path / "saved_model.pb").write_bytes(model.SerializeToString())
    with pytest.raises(InputError, match=r"more operations in all than a model of its size.*--signature"):
        convert(tmp_path)
    assert len(convert(tmp_path, signatures=["a", "c"]).report.emitted) == 80
