"""What variables and tables hold."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fuseconv.errors import InputError
from fuseconv.load import load, protos


def tables(path: Path) -> list[dict[Any, Any]]:
    module = load(path)
    return [dict(zip(t.keys.tolist(), t.values.tolist())) for t in module.tables.values()]  # type: ignore[union-attr]


def test_tf2_tables(tf2: Path) -> None:
    """From a vocabulary, whose path goes through a variable; from constants; and from the checkpoint."""
    found = tables(tf2)
    assert {b"first": 0, b"second": 1, b"third": 2} in found
    assert {7: b"seven", 8: b"eight"} in found
    assert {b"k": 1.5, b"l": 2.5} in found
    assert len(found) == 3


def test_tf1_tables(tf1: Path) -> None:
    """From values that are computed, and from a vocabulary, whose path is a constant."""
    found = tables(tf1)
    assert {b"p": 0, b"q": 1} in found
    assert {0: b"first", 1: b"second", 2: b"third"} in found
    assert len(found) == 2


def test_tables_are_those_that_handles_name(tf2: Path) -> None:
    module = load(tf2)
    named = {op.attrs["shared_name"] for op in module.signatures[0].graph.ops if "HashTable" in op.kind}
    assert named == set(module.tables)


def with_meta(source: Path, target: Path, edit: Any) -> Path:
    shutil.copytree(source, target)
    proto = protos.classes["SavedModel"].FromString((source / "saved_model.pb").read_bytes())
    edit(proto.meta_graphs[0])
    (target / "saved_model.pb").write_bytes(proto.SerializeToString())
    return target


def test_asset_outside_of_the_model(tf2: Path, tmp_path: Path) -> None:
    def edit(meta: Any) -> None:
        meta.asset_file_def[0].filename = "../../words.txt"

    with pytest.raises(InputError, match=r"outside its directory"):
        load(with_meta(tf2, tmp_path / "m", edit))


def test_file_that_is_no_asset(tf1: Path, tmp_path: Path) -> None:
    """A constant path is not followed, though a file may be there."""

    def edit(meta: Any) -> None:
        meta.ClearField("asset_file_def")
        del meta.collection_def["saved_model_assets"]

    with pytest.raises(InputError, match=r"no asset"):
        load(with_meta(tf1, tmp_path / "m", edit))


def test_assets_of_old_models(tf1: Path, tmp_path: Path) -> None:
    """They are in a collection."""
    model = with_meta(tf1, tmp_path / "m", lambda meta: meta.ClearField("asset_file_def"))
    assert tables(model) == tables(tf1)


@pytest.mark.parametrize("where", ["signature", "legacy_init_op", "table_initializer"])
def test_other_places_of_the_init_op(tf1: Path, tmp_path: Path, where: str) -> None:
    def edit(meta: Any) -> None:
        (name,) = meta.collection_def["saved_model_main_op"].node_list.value
        del meta.collection_def["saved_model_main_op"]
        meta.collection_def.pop("table_initializer", None)
        if where == "signature":
            meta.signature_def["__saved_model_init_op"].outputs["__saved_model_init_op"].name = name
        else:
            meta.collection_def[where].node_list.value.append(name)

    assert tables(with_meta(tf1, tmp_path / "m", edit)) == tables(tf1)


def test_variable_of_another_shape(tf2: Path, tmp_path: Path) -> None:
    def edit(meta: Any) -> None:
        for node in meta.graph_def.node:
            if node.op == "VarHandleOp" and len(node.attr["shape"].shape.dim) == 2:
                node.attr["shape"].shape.dim[0].size = 3

    with pytest.raises(InputError, match=r"declared as float32.3, 2., but the checkpoint holds float32.2, 2."):
        load(with_meta(tf2, tmp_path / "m", edit))


def test_shared_names(tf2: Path, tmp_path: Path) -> None:
    """Two variables with one shared name are told apart by their place in the checkpoint."""

    def edit(meta: Any) -> None:
        for node in meta.graph_def.node:
            if node.op == "VarHandleOp":
                node.attr["shared_name"].s = b"twice"

    module = load(with_meta(tf2, tmp_path / "m", edit))
    values = {name: v.data.tolist() for name, v in module.variables.items() if v.data is not None}
    assert sorted(values.values()) == [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
    assert "twice" in values


def test_handle_within_a_function(tf2: Path, tmp_path: Path) -> None:
    """It is that of the main graph with its shared name, whatever its node is called."""

    def edit(meta: Any) -> None:
        handles = [n for n in meta.graph_def.node if n.op == "VarHandleOp"]
        (other,) = [n for n in handles if n.attr["shared_name"].s == b"same_name_1"]
        for function in meta.graph_def.library.function:
            reads = [n for n in function.node_def if n.op == "ReadVariableOp"]
            if "inference_other" in function.signature.name:
                handle = function.node_def.add()
                handle.CopyFrom(other)
                handle.name = "same_name"
                for read in reads:
                    read.input[0] = "same_name:resource:0"

    module = load(with_meta(tf2, tmp_path / "m", edit), signatures=["another"])
    assert any(op.type == "VarHandleOp" for graph in module.functions.values() for op in graph.ops)
    expected = load(tf2).variables["same_name_1"].data
    assert module.variables["same_name_1"].data.tolist() == np.asarray(expected).tolist()  # type: ignore[union-attr]


def test_variable_without_a_value(tf2: Path, tmp_path: Path) -> None:
    def edit(meta: Any) -> None:
        meta.ClearField("saver_def")
        meta.ClearField("object_graph_def")

    model = with_meta(tf2, tmp_path / "m", edit)
    assert [v.data for v in load(model).variables.values()] == [None, None]


def test_variable_that_the_init_op_sets(tf: Any, tmp_path: Path) -> None:
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [2], "x")
        local = v1.get_local_variable("local", initializer=np.array([3, 4], np.float32), use_resource=True)
        saved = v1.get_variable("saved", initializer=np.array([5, 6], np.float32))
        signature = v1.saved_model.signature_def_utils.build_signature_def(
            {"x": v1.saved_model.build_tensor_info(x)}, {"y": v1.saved_model.build_tensor_info(x * local + saved)}
        )
        session.run(v1.global_variables_initializer())
        builder = v1.saved_model.Builder(str(tmp_path / "m"))
        main_op = v1.local_variables_initializer()
        builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature}, main_op=main_op)
        builder.save()
    variables = load(tmp_path / "m").variables
    assert {name: np.asarray(v.data).tolist() for name, v in variables.items()} == {"local": [3, 4], "saved": [5, 6]}
