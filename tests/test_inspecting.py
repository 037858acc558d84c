"""Files of ours and of TFLiteConverter, described without reading a weight."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import flatbuffers
import numpy as np
import pytest

import fuseconv
from fuseconv.errors import InputError
from fuseconv.inspecting import inspect
from fuseconv.ir import types
from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import FuncRef, Graph, Module, Op, Quantization, Signature, Value, constant
from fuseconv.tfl import schema
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.generated_schema import generated
from fuseconv.tfl.opdef import TABLE
from fuseconv.write.flatbuffer_export import to_bytes, write
from fuseconv.write.flexbuffer import encode
from tests.fuzz.shared_tables import SHARED, build, nested
from tests.tfl.interpret import module_of


def look(module: Module, folder: Path) -> dict[str, Any]:
    write(module, folder / "model.tflite")
    description = inspect(folder / "model.tflite")
    assert json.loads(json.dumps(description)) == description
    return description


def test_the_whole_description_of_a_small_file(tmp_path: Path):
    weights = constant(np.ones((3, 5), np.int8), None, "w")
    weights.quantization = Quantization((0.5, 0.25, 2.0), (0, 0, 0), 0)

    def build(tfl: Builder, x: Value):
        y = tfl.fully_connected(x, weights, np.zeros(3, np.float32), fused_activation_function="RELU")
        return tfl.add(y, np.zeros(3, np.float32))

    description = look(module_of(build, (types.FLOAT32, (symbol("n"), 5))), tmp_path)
    path = tmp_path / "model.tflite"

    def tensor(name: str, kind: str, shape: list[int], buffer: int = 0, size: int = 0, **more: Any) -> dict[str, Any]:
        plain = {"shape_signature": None, "quantisation": None, "is_variable": False, "is_sparse": False}
        return {"name": name, "type": kind, "shape": shape, "buffer": buffer, "size": size, **plain, **more}

    scales = {"axis": 0, "count": 3, "scale": [0.25, 2.0], "zero_point": [0, 0]}
    dense = {
        "fused_activation_function": "RELU", "weights_format": "DEFAULT", "keep_num_dims": False,
        "asymmetric_quantize_inputs": False, "quantized_bias_type": "FLOAT32",
    }  # fmt: skip
    ops = description["subgraphs"][0]["ops"]
    assert dense.items() <= ops[0].pop("options").items()
    maker = f"Converted by fuseconv {fuseconv.__version__}"
    assert description == {
        "schema_version": 1,
        "file": {"path": str(path), "size": path.stat().st_size, "version": 3, "description": maker},
        "metadata": [{"name": "min_runtime_version", "size": 16, "text": "2.17.0"}],
        "model_metadata": None,
        "files": [],
        "signatures": [{"key": "serve", "subgraph": 0, "inputs": {"x0": 0}, "outputs": {"y0": 4}}],
        "subgraphs": [
            {
                "name": "main",
                "inputs": [0],
                "outputs": [4],
                "tensors": [
                    tensor("x0", "FLOAT32", [1, 5], shape_signature=[-1, 5]),
                    tensor("w", "INT8", [3, 5], 2, 15, quantisation=scales),
                    tensor("op;1", "FLOAT32", [3], 3, 12),
                    tensor("op;2", "FLOAT32", [1, 3], shape_signature=[-1, 3]),
                    tensor("op", "FLOAT32", [1, 3], shape_signature=[-1, 3]),
                ],
                "ops": [
                    {
                        "op": "FULLY_CONNECTED", "version": 12, "operands": [0, 1, 2], "results": [3],
                        "intermediates": [],
                    },
                    {
                        "op": "ADD", "version": 1, "operands": [3, 2], "results": [4], "intermediates": [],
                        "options": {"fused_activation_function": "NONE", "pot_scale_int16": True},
                    },
                ],
            }
        ],
        "op_counts": {"ADD": 1, "FULLY_CONNECTED": 1},
        "weight_bytes": {"FULLY_CONNECTED": 27},
        "buffers": {"count": 4, "size": 16 + 15 + 12},
        "arena": {"bytes": 48, "peak": 48, "subgraph": 0, "index": 0, "dynamic": True},
        "micro_resolver": {
            "lines": [
                "tflite::MicroMutableOpResolver<2> resolver;", "resolver.AddAdd();", "resolver.AddFullyConnected();",
            ],
            "lacks": [],
        },
        "custom_ops": [],
        "flex_ops": [],
    }  # fmt: skip


def sample(field: schema.Field, name: str) -> Any:
    """A value that is not the field's default."""
    if name.endswith("_subgraph_index"):
        return FuncRef("function")
    enum = schema.ENUM_FIELDS.get(name)
    if enum is not None:
        return schema.enum_name(enum, 1)
    if field.code is None:
        lists = {"boundaries": (0.5, 1.5), "squeeze_dims": (2, -1), "new_shape": (1, -1)}
        return {**lists, "composite_attributes": {"axis": -1}}.get(name, f"a {name}")
    return not field.default if field.code == "?" else 0.5 if field.code == "f" else field.default + 3


@pytest.mark.parametrize("name", [name for name, definition in TABLE.items() if definition.defaults])
def test_options_are_read_as_they_were_written(name: str, tmp_path: Path):
    definition = TABLE[name]
    known = schema.table(definition.options or "")
    attrs = {field: sample(known[field], field) for field in definition.defaults}
    graph, function = Graph("main"), Graph("function")
    x = graph.add_input(types.FLOAT32, (1, 1, 1, 1), "x")
    function.outputs = []
    op = Op(f"tfl.{name}", [x] * 24, attrs, "op")
    op.add_result(types.FLOAT32, (1,))
    op.add_result(types.FLOAT32, (1,))
    graph.ops.append(op)
    graph.outputs = [op.result]
    description = look(Module([Signature(["serve"], graph, ["x"], ["y"])], {"function": function}), tmp_path)
    options = description["subgraphs"][0]["ops"][0]["options"]
    expected = {
        field: 1 if isinstance(value, FuncRef) else list(value) if isinstance(value, tuple) else value
        for field, value in attrs.items()
    }
    assert {field: options[field] for field in expected} == expected


def test_custom_and_flex_ops(tmp_path: Path):
    def build(tfl: Builder, x: Value):
        y = tfl.custom("Mine", [x, None], [(types.FLOAT32, (2,))], {"a": [1, 2], "raw": b"1234", "deep": {"b": "text"}})
        z = tfl.custom("Other", y, [(types.FLOAT32, (2,))], b"\x01\x02\x03")
        return tfl.custom("FlexErfinv", z, [(types.FLOAT32, (2,))])

    description = look(module_of(build, (types.FLOAT32, (2,))), tmp_path)
    assert description["custom_ops"] == ["Mine", "Other"]
    assert description["flex_ops"] == ["Erfinv"]
    mine, other, flex = description["subgraphs"][0]["ops"]
    assert mine["options"] == {"a": [1, 2], "raw": {"size": 4}, "deep": {"b": "text"}}
    assert mine["operands"] == [0, -1]
    assert (other["options"], flex["options"]) == ({"size": 3}, {})
    assert description["op_counts"] == {"FlexErfinv": 1, "Mine": 1, "Other": 1}


def test_a_file_of_tflite_converter(tmp_path: Path):
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
    def loop(x):
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (0, tf.nn.relu(x)))[1]

    data = tf.lite.TFLiteConverter.from_concrete_functions([loop.get_concrete_function()]).convert()
    (tmp_path / "peer.tflite").write_bytes(data)
    description = inspect(tmp_path / "peer.tflite")
    assert json.loads(json.dumps(description)) == description
    main = description["subgraphs"][0]
    loops = [op for op in main["ops"] if op["op"] == "WHILE"]
    assert {loops[0]["options"][key] for key in ("cond_subgraph_index", "body_subgraph_index")} == {1, 2}
    assert main["tensors"][main["inputs"][0]]["shape_signature"] == [-1, 4]
    assert description["op_counts"]["WHILE"] == 1 and len(description["subgraphs"]) == 3
    assert description["arena"]["subgraph"] in (1, 2) and description["arena"]["bytes"] >= description["arena"]["peak"]
    assert {entry["name"] for entry in description["metadata"]} >= {"min_runtime_version"}


def test_weights_that_offsets_do_not_reach(tmp_path: Path):
    module = module_of(lambda tfl, x: tfl.add(x, np.ones(100, np.float32)), (types.FLOAT32, (100,)))
    write(module, tmp_path / "model.tflite", inline_limit=10)
    description = inspect(tmp_path / "model.tflite")
    assert description["weight_bytes"] == {"ADD": 400}


def small() -> bytes:
    return to_bytes(module_of(lambda tfl, x: tfl.add(x, np.ones(100, np.float32)), (types.FLOAT32, (100,))))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a TFLite model"),
        (b"TFL3", "not a TFLite model"),
        (b"PK\x03\x04 this is a zip", "not a TFLite model"),
        (b"\xff\xff\xff\xffTFL3", "damaged"),
        (b"\x08\x00\x00\x00TFL3" + b"\xff" * 40, "damaged"),
        (small()[:-1], "damaged.*reaches beyond the end"),
        (small()[:200], "damaged"),
    ],
    ids=["empty", "short", "zip", "root", "garbage", "cut", "cut in the description"],
)
def test_what_is_no_model_is_refused(data: bytes, message: str, tmp_path: Path):
    (tmp_path / "bad.tflite").write_bytes(data)
    with pytest.raises(InputError, match=message):
        inspect(tmp_path / "bad.tflite")


def test_a_damaged_byte_never_ends_in_another_error(tmp_path: Path):
    """Each byte of the description in turn is turned over."""
    data = small()
    path = tmp_path / "bad.tflite"
    for place in range(len(data) - 400):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :])
        try:
            inspect(path)
        except InputError as error:
            assert "bad.tflite" in str(error)


def _patched(change: Callable[[Any], None]) -> bytes:
    """A small file with something else in its description."""
    model = generated.ModelT.InitFromPackedBuf(small(), 0)
    change(model)
    builder = flatbuffers.Builder()
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _set(path: str, value: Any) -> Callable[[Any], None]:
    """Sets "subgraphs.0.outputs", for example."""

    def change(model: Any) -> None:
        *parents, last = path.split(".")
        for name in parents:
            model = model[int(name)] if name.isdigit() else getattr(model, name)
        setattr(model, last, value)

    return change


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("subgraphs.0.inputs", [7], "uses a tensor that it does not have"),
        ("subgraphs.0.outputs", [-2], "uses a tensor that it does not have"),
        ("subgraphs.0.operators.0.inputs", [0, 99], "uses a tensor that it does not have"),
        ("subgraphs.0.operators.0.opcodeIndex", 9, "is a damaged TFLite model: an offset or an index"),
        ("subgraphs.0.tensors.0.buffer", 99, "is a damaged TFLite model"),
        ("signatureDefs.0.subgraphIndex", 1, "names a subgraph that is not there"),
        ("signatureDefs.0.outputs.0.tensorIndex", 99, "names a tensor that is not there"),
    ],
)
def test_what_refers_to_nothing_is_refused(path: str, value: Any, message: str, tmp_path: Path):
    (tmp_path / "bad.tflite").write_bytes(_patched(_set(path, value)))
    with pytest.raises(InputError, match=message):
        inspect(tmp_path / "bad.tflite")


def test_sparse_tensors_are_told(tmp_path: Path):
    sparsity = generated.SparsityParametersT()
    (tmp_path / "m").write_bytes(_patched(_set("subgraphs.0.tensors.1.sparsity", sparsity)))
    tensors = inspect(tmp_path / "m")["subgraphs"][0]["tensors"]
    assert [tensor["is_sparse"] for tensor in tensors] == [False, True, False]


def test_custom_options_that_are_almost_a_map(tmp_path: Path):
    """Each byte of a map in turn is another: what cannot be read is told by its size."""
    raw = encode({"a": [1, 2], "deep": {"b": "text"}})
    for place, byte in itertools.product(range(len(raw)), (0, 0x3B, 0xFF)):
        options = raw[:place] + bytes([byte]) + raw[place + 1 :]

        def build(tfl: Builder, x: Value, options: bytes = options):
            return tfl.custom("Mine", [x], [(types.FLOAT32, (2,))], options)

        (tmp_path / "m").write_bytes(to_bytes(module_of(build, (types.FLOAT32, (2,)))))
        assert isinstance(inspect(tmp_path / "m")["subgraphs"][0]["ops"][0]["options"], dict)


@pytest.mark.parametrize("name", ["missing.tflite", "."])
def test_what_cannot_be_read_is_refused(name: str, tmp_path: Path):
    with pytest.raises(InputError, match=r"does not exist|is a directory"):
        inspect(tmp_path / name)


def test_a_pipe_is_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is a pipe, no ordinary file"):
        inspect(tmp_path / "pipe")


def test_no_tensorflow_and_no_weights_are_needed(tmp_path: Path):
    """Of 100 MB next to nothing is read, in a process of its own without TensorFlow."""
    weights = np.zeros((100, 250_000), np.float32)
    module = module_of(lambda tfl, x: tfl.fully_connected(x, weights, None), (types.FLOAT32, (1, 250_000)))
    write(module, tmp_path / "m")
    tracemalloc.start()
    inspect(tmp_path / "m")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5_000_000
    code = f"import sys; from fuseconv.inspecting import inspect; inspect({str(tmp_path / 'm')!r}); print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "fuseconv.inspecting" in modules and "tensorflow" not in modules


@pytest.mark.parametrize("name", sorted(SHARED))
def test_tables_that_are_shared_stand_for_no_more_than_the_file_accounts_for(name: str, tmp_path: Path):
    (tmp_path / "small.tflite").write_bytes(build(name, Random(1)))
    if name == "options":  # of a custom op, which may be in any format
        described = inspect(tmp_path / "small.tflite")["subgraphs"][0]["ops"][0]["options"]
        assert described == {"size": len(nested(12, 8))}
    else:
        with pytest.raises(InputError, match="shared so often that they stand for much more than the file holds"):
            inspect(tmp_path / "small.tflite")


def test_a_field_that_the_installed_schema_does_not_know(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`quant_spec` came with ai-edge-litert 2.3."""
    file = tmp_path / "m.tflite"
    fuseconv.convert(Path(__file__).parents[1] / "testdata" / "conv_bn", file)
    whole = inspect(file)
    monkeypatch.delattr(generated.FullyConnectedOptions, "QuantSpec")
    assert inspect(file) == whole
    assert any(op["op"] == "FULLY_CONNECTED" for graph in whole["subgraphs"] for op in graph["ops"])
