"""Files that are read, and written as they were."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.ir.graph import FuncRef, Graph, Module, Quantization, Signature, Value, constant
from fuseconv.load.tflite.reader import module_of_bytes, read_tflite, refuse_damaged
from fuseconv.tfl.builder import Builder
from fuseconv.write.flatbuffer_export import to_bytes, write
from tests.load.tflite.files import BATCH, WEIGHTS, changed_dense, dense
from tests.tfl.interpret import module_of, run_file


def loop() -> Module:
    functions: dict[str, Graph] = {}

    def build(tfl: Builder, x: Value) -> Any:
        tfl = Builder(tfl.out, "loop", (), functions)
        return tfl.repeat(3, lambda inner, step, y: [inner.mul(y, WEIGHTS[0])], [x])

    module = module_of(build, (types.FLOAT32, (BATCH, 3)))
    module.functions = functions
    return module


def variables() -> Module:
    """A variable that a first run fills, and each run adds to."""
    start = Graph("start")
    tfl = Builder(start.ops, "start")
    tfl.assign_variable(tfl.var_handle(shared_name="v"), np.ones(3, np.float32))

    def build(tfl: Builder, x: Value) -> Value:
        tfl.call_once(init_subgraph_index=FuncRef("start"))
        handle = tfl.var_handle(shared_name="v")
        total = tfl.add(tfl.read_variable(handle, results=[(types.FLOAT32, (3,))]), x)
        tfl.assign_variable(handle, total)
        return total

    module = module_of(build, (types.FLOAT32, (3,)))
    module.functions = {"start": start}
    return module


def quantized() -> Module:
    weights = constant(np.arange(12, dtype=np.int8).reshape(4, 3), types.INT8, "w")
    weights.quantization = Quantization((0.1, 0.2, 0.3, 0.4), (0,) * 4, 0)
    return module_of(
        lambda tfl, x: tfl.fully_connected(x, weights, None, asymmetric_quantize_inputs=True),
        (types.FLOAT32, (BATCH, 3)),
    )


def blocks() -> Module:
    weights = constant(np.ones((4, 64), types.INT4.numpy), types.INT4, "w")
    scales = constant(np.arange(8, dtype=np.float16).reshape(4, 2), types.FLOAT16, "scales")
    weights.quantization = Quantization((), (), 0, scales)
    return module_of(lambda tfl, x: tfl.fully_connected(x, weights, None), (types.FLOAT32, (BATCH, 64)))


def recurrent() -> Module:
    def build(tfl: Builder, x: Value) -> Value:
        states = [Value(types.FLOAT32, (2, 4), name) for name in ("h", "c")]
        for state in states:
            state.variable = True
        matrices = [np.ones((4, 3), np.float32)] * 4 + [np.ones((4, 4), np.float32)] * 4
        biases = [np.ones(4, np.float32)] * 4
        return tfl.unidirectional_sequence_lstm(
            x, *matrices, None, None, None, *biases, None, None, *states, fused_activation_function="TANH"
        )

    return module_of(build, (types.FLOAT32, (2, 5, 3)))


def texts() -> Module:
    table = np.array([b"a", b"", b"ccc"], object)
    return module_of(lambda tfl, i: tfl.gather(constant(table, types.STRING), i), (types.INT32, (BATCH,)))


@pytest.mark.parametrize("build", [dense, loop, variables, quantized, blocks, recurrent, texts])
def test_a_file_of_ours_is_written_as_it_was(build: Any) -> None:
    data = to_bytes(build())
    assert to_bytes(module_of_bytes(data, "it")) == data


def test_weights_behind_the_model(tmp_path: Path) -> None:
    out = io.BytesIO()
    write(dense(), out, inline_limit=0)
    path = tmp_path / "large.tflite"
    path.write_bytes(out.getvalue())
    module = read_tflite(path)
    assert to_bytes(module) == to_bytes(dense())
    # Weights are views of the mapped file.
    assert all(not value.data.flags.owndata for value in module.signatures[0].graph.constants())  # type: ignore[union-attr]


def test_metadata_is_carried():
    def change(model: Any) -> None:
        # A plan of TFLite Micro's arena tells a place of each tensor: it does not fit the file that is written.
        for name, data in ((b"OfflineMemoryAllocation", bytes(24)), (b"TFLITE_METADATA", b"labels")):
            buffer = schema.BufferT()
            buffer.data = data
            entry = schema.MetadataT()
            entry.name, entry.buffer = name, len(model.buffers)
            model.buffers.append(buffer)
            model.metadata.append(entry)

    module = module_of_bytes(changed_dense(change), "it")
    assert module.metadata == {"TFLITE_METADATA": b"labels"}
    data = to_bytes(module)
    model = schema.ModelT.InitFromPackedBuf(data, 0)
    assert [entry.name for entry in model.metadata] == [b"min_runtime_version", b"TFLITE_METADATA"]
    assert bytes(model.buffers[model.metadata[1].buffer].data) == b"labels"
    x = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(run_file(data, x)[0], run_file(to_bytes(dense()), x)[0])


def test_subgraphs_of_one_name_get_their_own():
    second = dense().signatures[0]
    module = Module([*dense().signatures, Signature(["other"], second.graph, second.inputs, second.outputs)])
    names = [each.graph.name for each in module_of_bytes(to_bytes(module), "it").signatures]
    assert names == ["main", "main_1"]


def _version(model: Any) -> None:
    model.version = 2


def _empty(model: Any) -> None:
    model.subgraphs, model.signatureDefs = [], []


def _recursion(model: Any) -> None:
    op = model.subgraphs[0].operators[1]
    model.operatorCodes[1].builtinCode = model.operatorCodes[1].deprecatedBuiltinCode = 119
    op.builtinOptionsType, op.builtinOptions = 93, schema.WhileOptionsT()


@pytest.mark.parametrize(
    ("change", "match"), [(_version, "of version 2"), (_empty, "no subgraph"), (_recursion, "runs itself")]
)
def test_what_is_refused(change: Any, match: str) -> None:
    with pytest.raises(InputError, match=match):
        module_of_bytes(changed_dense(change), "it")


def test_a_subgraph_that_does_not_fit_the_op_that_runs_it() -> None:
    model = schema.ModelT.InitFromPackedBuf(to_bytes(loop()), 0)
    body = model.subgraphs[-1]
    body.outputs = body.outputs[:-1]
    builder = flatbuffers.Builder()
    builder.Finish(model.Pack(builder), b"TFL3")
    with pytest.raises(InputError, match="takes or returns other tensors than WHILE"):
        module_of_bytes(bytes(builder.Output()), "it")


def _no_input(model: Any) -> None:
    model.subgraphs[0].inputs = []


def _no_operand(model: Any) -> None:
    op = model.subgraphs[0].operators[0]
    op.inputs = [-1, *op.inputs[1:]]


def _later_op(model: Any) -> None:
    model.operatorCodes[0].builtinCode = schema.BuiltinOperator.STABLEHLO_RNG_BIT_GENERATOR


def _elsewhere(model: Any) -> None:
    model.subgraphs[0].tensors[0].externalBuffer = 1


@pytest.mark.parametrize(
    ("change", "match"),
    [(_no_input, "nothing makes it"), (_no_operand, "lacks an operand"), (_recursion, "runs itself")],
)
def test_what_is_damaged_is_refused_before_it_runs(change: Any, match: str, tmp_path: Path) -> None:
    (tmp_path / "it.tflite").write_bytes(changed_dense(change))
    with pytest.raises(InputError, match=match):
        refuse_damaged(tmp_path / "it.tflite")


@pytest.mark.parametrize("change", [_later_op, _elsewhere, lambda model: None])
def test_what_is_only_not_read_may_run(change: Any, tmp_path: Path) -> None:
    (tmp_path / "it.tflite").write_bytes(changed_dense(change))
    refuse_damaged(tmp_path / "it.tflite")


def test_no_model_and_no_file(tmp_path: Path) -> None:
    for data in (b"", b"\0" * 4 + b"TFL2", b"PK\3\4" * 9):
        with pytest.raises(InputError, match="is not a TFLite model"):
            module_of_bytes(data, "it")
    with pytest.raises(InputError, match="does not exist"):
        read_tflite(tmp_path / "none.tflite")
    (tmp_path / "empty.tflite").write_bytes(b"")
    with pytest.raises(InputError, match="is not a TFLite model"):
        read_tflite(tmp_path / "empty.tflite")


def test_any_damage_is_told_in_a_sentence():
    """Each byte of a small file set to others: it is read, or refused as an error of the input."""
    data = to_bytes(dense())
    refused = 0
    for position in range(8, min(len(data), 1400)):
        for value in (0, 0xFF, data[position] ^ 1):
            try:
                to_bytes(module_of_bytes(data[:position] + bytes([value]) + data[position + 1 :], "it"))
            except InputError as error:
                refused += str(error) != ""
            except Exception as error:
                assert type(error).__name__ == "UnsupportedError", (position, value, repr(error))
    assert refused > 500
