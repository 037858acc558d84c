"""Graphs built by hand, written, and run in the TFLite interpreter."""

from __future__ import annotations

import errno
import io
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from flatbuffers import flexbuffers

from fuseconv.errors import FuseconvError, InputError
from fuseconv.ir import types
from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import FuncRef, Graph, Module, Op, Quantization, Signature, Value, constant
from fuseconv.ir.product import Product
from fuseconv.tfl.builder import Builder
from fuseconv.write.flatbuffer_export import to_bytes, write
from tests.tfl.interpret import module_of, run, run_file
from tests.work import count_calls

B = symbol("batch")
_RNG = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return _RNG.normal(size=shape).astype(np.float32)


def read(data: bytes) -> schema.ModelT:
    return schema.ModelT.InitFromPackedBuf(data, 0)


def dense(weights: np.ndarray, batch=B) -> Module:
    return module_of(lambda tfl, x: tfl.fully_connected(x, weights, None), (types.FLOAT32, (batch, weights.shape[1])))


def test_a_dynamic_batch_is_resized():
    w = normal(3, 5)
    data = to_bytes(dense(w))
    interpreter = Interpreter(model_content=data)
    details = interpreter.get_input_details()[0]
    assert details["shape"].tolist() == [1, 5] and details["shape_signature"].tolist() == [-1, 5]
    for batch in (1, 4, 2):
        x = normal(batch, 5)
        interpreter.resize_tensor_input(details["index"], x.shape, strict=True)
        interpreter.allocate_tensors()
        interpreter.set_tensor(details["index"], x)
        interpreter.invoke()
        result = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
        np.testing.assert_allclose(result, x @ w.T, atol=1e-5)


def test_static_shapes_have_no_signature():
    tensors = read(to_bytes(dense(normal(3, 5), 2))).subgraphs[0].tensors
    assert [tensor.shapeSignature for tensor in tensors] == [None] * 3
    assert all(tensor.hasRank for tensor in tensors)


def test_computed_sizes_stand_at_one_at_the_least():
    module = module_of(lambda tfl, x: tfl.strided_slice(x, [0], [0], [2], end_mask=1), (types.FLOAT32, (B * 3, B // 2)))
    given, result = (tensor for tensor in read(to_bytes(module)).subgraphs[0].tensors if not tensor.buffer)
    assert given.shape.tolist() == [3, 1] and given.shapeSignature.tolist() == [-1, -1]
    assert result.shape.tolist() == [2, 1] and result.shapeSignature.tolist() == [-1, -1]


def two_signatures(first: np.ndarray, second: np.ndarray) -> Module:
    signatures = []
    for name, w in (("double", first), ("single", second)):
        graph = Graph(name)
        x = graph.add_input(types.FLOAT32, (B, 5), "x")
        tfl = Builder(graph.ops, name)
        y = tfl.fully_connected(x, w, None)
        graph.outputs = [tfl.add(y, y) if name == "double" else y]
        signatures.append(Signature([name, f"{name}_too"], graph, ["x"], ["y"]))
    return Module(signatures)


def test_signatures_share_equal_weights():
    w = normal(3, 5)
    # The same numbers in another shape and order of memory are stored once too.
    data = to_bytes(two_signatures(w, np.asfortranarray(w)))
    assert data.count(w.tobytes()) == 1
    interpreter = Interpreter(model_content=data)
    assert sorted(interpreter.get_signature_list()) == ["double", "double_too", "single", "single_too"]
    x = normal(2, 5)
    for name, factor in (("double", 2), ("double_too", 2), ("single", 1), ("single_too", 1)):
        result = interpreter.get_signature_runner(name)(x=x)["y"]
        np.testing.assert_allclose(result, x @ w.T * factor, atol=1e-5)
    model = read(data)
    assert len(model.subgraphs) == 2
    assert [signature.subgraphIndex for signature in model.signatureDefs] == [0, 0, 1, 1]


def test_constants_that_only_begin_alike_or_differ_in_type_are_kept_apart():
    w = normal(3, 500)
    other = w.copy()
    other[-1, -1] += 1

    def sums(tfl: Builder, x: Value):
        whole = tfl.cast(x, out_data_type="INT32")
        return tfl.add(x, np.zeros(4, np.float32)), tfl.add(whole, np.zeros(4, np.int32))

    zeros = module_of(sums, (types.FLOAT32, (4,)))
    assert len(read(to_bytes(dense(w))).buffers) == 3
    signatures = [dense(w).signatures[0], dense(other).signatures[0]]
    signatures[1].names = ["other"]
    assert len(read(to_bytes(Module(signatures))).buffers) == 4
    assert len(read(to_bytes(zeros)).buffers) == 4


def test_a_transposed_view_is_written_in_its_own_order():
    w = normal(5, 3)
    data = to_bytes(dense(w.T))
    assert w.T.copy().tobytes() in data
    x = normal(2, 5)
    np.testing.assert_allclose(run_file(data, x)[0], x @ w, atol=1e-5)


def test_weights_are_copied_one_at_a_time():
    """A file of four transposed views of 8 MB is written with hardly more than 8 MB."""
    shape, count = (1024, 2048), 4
    weights = [np.full(shape, index, np.float32).T for index in range(count)]
    graph = module_of(
        lambda tfl, *xs: [tfl.fully_connected(x, w, None) for x, w in zip(xs, weights, strict=True)],
        *[(types.FLOAT32, (B, shape[0]))] * count,
    )
    with open(os.devnull, "wb") as out:
        tracemalloc.start()
        write(graph, out)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 1.2 * weights[0].nbytes


def test_products_are_multiplied_on_their_way_to_the_file():
    w, by = normal(1000, 2000), normal(1000, 1)
    products = [Product(constant(w), by, 9.0), Product(constant(w), by, 9.0), Product(constant(w), by.copy() * 2, 9.0)]
    module = module_of(
        lambda tfl, x: tfl.add_n(*[tfl.fully_connected(x, product, None) for product in products]),
        (types.FLOAT32, (B, 2000)),
    )
    with open(os.devnull, "wb") as file:
        tracemalloc.start()
        write(module, file)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < w.nbytes
    model = read(to_bytes(module))
    stored = [bytes(buffer.data) for buffer in model.buffers if buffer.data is not None and len(buffer.data) > 100]
    assert stored == [(w * by).tobytes(), (w * (by * 2)).tobytes()], "equal ones are stored once"


def test_big_endian_arrays_are_turned():
    w = normal(3, 5)
    module = dense(w)
    assert to_bytes(dense(w.astype(">f4"))) == to_bytes(module)


@pytest.mark.parametrize("lengths", [(1, 2, 3), (5, 16, 7)])
def test_buffers_are_aligned(lengths: tuple[int, ...]):
    def build(tfl: Builder, x: Value):
        return [tfl.reverse_v2(tfl.concatenation(x, normal(length)), [0]) for length in lengths]

    data = to_bytes(module_of(build, (types.FLOAT32, (B,))))
    model = schema.Model.GetRootAs(data, 0)
    full = [model.Buffers(index) for index in range(model.BuffersLength()) if not model.Buffers(index).DataIsNone()]
    # Buffer 1 holds metadata, which needs no alignment; the axis and the constants follow.
    places = [buffer._tab.Vector(buffer._tab.Offset(4)) for buffer in full[1:]]
    assert len(places) == len(lengths) + 1
    assert [place % 16 for place in places] == [0] * len(places)
    run_file(data, normal(2))


def test_the_same_module_gives_the_same_bytes():
    def build(tfl: Builder, x: Value):
        y = tfl.fully_connected(x, np.ones((3, 5), np.float32), None)
        return tfl.custom("Mine", [y], [(types.FLOAT32, y.shape)], {"b": 1, "a": [1.5], "c": "text"})

    first, second = (to_bytes(module_of(build, (types.FLOAT32, (B, 5)))) for _ in range(2))
    assert first == second


def test_writing_to_a_path_and_to_a_file(tmp_path: Path):
    module = dense(normal(3, 5))
    write(module, tmp_path / "a.tflite")
    out = io.BytesIO()
    write(module, out)
    assert (tmp_path / "a.tflite").read_bytes() == out.getvalue() == to_bytes(module)
    assert out.getvalue()[4:8] == b"TFL3"


def test_a_file_system_that_reserves_nothing_is_written_to_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*operands: int) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    module = dense(normal(3, 5))
    write(module, tmp_path / "reserved.tflite")
    monkeypatch.setattr(os, "posix_fallocate", refuse)
    write(module, tmp_path / "unreserved.tflite")
    assert (tmp_path / "reserved.tflite").read_bytes() == (tmp_path / "unreserved.tflite").read_bytes()
    assert (tmp_path / "reserved.tflite").read_bytes() == to_bytes(module)


def test_weights_beyond_the_reach_of_offsets_are_found_by_file_position():
    w = normal(3, 500)
    module = two_signatures(w, normal(3, 5))
    module.signatures[0].graph.inputs[0].shape = (B, 500)
    out = io.BytesIO()
    write(module, out, inline_limit=1000)
    data = out.getvalue()
    buffer = read(data).buffers[2]
    assert buffer.data is None and buffer.offset % 16 == 0
    assert data[buffer.offset : buffer.offset + buffer.size] == w.tobytes()
    x = normal(2, 500)
    result = Interpreter(model_content=data).get_signature_runner("double")(x=x)["y"]
    np.testing.assert_allclose(result, x @ w.T * 2, atol=1e-4)


def test_outputs_that_are_inputs_or_constants_or_repeat():
    def build(tfl: Builder, x: Value):
        y = tfl.add(x, x)
        return x, y, y, tfl.const(np.array([1, 2], np.float32))

    module = module_of(build, (types.FLOAT32, (B, 4)))
    x = normal(3, 4)
    for resolver in (OpResolverType.AUTO, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES):
        interpreter = Interpreter(model_content=to_bytes(module), experimental_op_resolver_type=resolver)
        runner = interpreter.get_signature_runner("serve")
        for scale in (1, 2):
            results = runner(x0=x * np.float32(scale))
            np.testing.assert_array_equal(results["y0"], x * scale)
            np.testing.assert_array_equal(results["y1"], x * scale * 2)
            np.testing.assert_array_equal(results["y2"], results["y1"])
            np.testing.assert_array_equal(results["y3"], [1, 2])


def test_equal_constants_are_one_tensor_and_others_are_not():
    def build(tfl: Builder, x: Value) -> Value:
        for one in ([1, 2], [1, 2], [[1, 2]], [2, 1]):
            x = tfl.add(x, np.array(one, np.float32))
        return x

    model = read(to_bytes(module_of(build, (types.FLOAT32, (1, 2)))))
    operands = [op.inputs[1] for op in model.subgraphs[0].operators]
    assert operands[0] == operands[1]
    assert len(set(operands)) == 3
    buffers = [model.subgraphs[0].tensors[index].buffer for index in operands]
    assert buffers[0] == buffers[1] == buffers[2] != buffers[3]
    assert len(model.buffers) == 4


def test_operator_codes_name_old_and_new_operators():
    def build(tfl: Builder, x: Value):
        return tfl.cumsum(tfl.abs(tfl.abs(tfl.custom("Mine", [x], [(types.FLOAT32, (2,))])[0])), [0])

    codes = read(to_bytes(module_of(build, (types.FLOAT32, (2,))))).operatorCodes
    builtin = schema.BuiltinOperator
    assert [(code.deprecatedBuiltinCode, code.builtinCode, code.version) for code in codes] == [
        (builtin.CUSTOM, builtin.CUSTOM, 1), (builtin.ABS, builtin.ABS, 1), (127, builtin.CUMSUM, 1)
    ]  # fmt: skip
    assert codes[0].customCode == b"Mine"


def test_min_runtime_version_is_metadata():
    model = read(to_bytes(module_of(lambda tfl, x: tfl.gelu(x), (types.FLOAT32, (2,)))))
    entry = model.metadata[0]
    assert (entry.name, bytes(model.buffers[entry.buffer].data)) == (b"min_runtime_version", b"2.9.0".ljust(16, b"\0"))
    assert model.version == 3 and model.buffers[0].data is None


def test_custom_options():
    options = {"threshold": 0.5, "boxes": 10, "name": "x", "fast": True}

    def build(tfl: Builder, x: Value):
        mapped = tfl.custom("Mine", [x], [(types.FLOAT32, (2,))], options)[0]
        return tfl.custom("Mine", [mapped], [(types.FLOAT32, (2,))], b"raw bytes")

    operators = read(to_bytes(module_of(build, (types.FLOAT32, (2,))))).subgraphs[0].operators
    assert flexbuffers.Loads(bytes(operators[0].customOptions)) == options
    assert bytes(operators[1].customOptions) == b"raw bytes"


def test_a_custom_op_of_the_runtime_runs_with_its_options():
    def build(tfl: Builder, x: Value):
        options = {"window_size": 16, "stride": 8, "magnitude_squared": True}
        return tfl.custom("AudioSpectrogram", [x], [(types.FLOAT32, (1, 5, 9))], options)

    x = normal(48, 1)
    (spectrum,) = run(build, x)
    window = np.float32(0.5) - np.cos(2 * np.pi * np.arange(16) / 16) / 2
    expected = np.abs(np.fft.rfft(np.stack([x[8 * i : 8 * i + 16, 0] * window for i in range(5)]))) ** 2
    np.testing.assert_allclose(spectrum[0], expected, atol=1e-3)


def test_string_constants():
    words = np.array([["a", b"\xff\x00", ""], ["süß", b"x" * 40, b"end"]], object)

    def build(tfl: Builder, ids: Value):
        return tfl.gather(constant(words.reshape(-1)), ids), constant(words)

    picked, whole = run(build, np.array([3, 1], np.int32))
    assert picked.tolist() == ["süß".encode(), b"\xff\x00"]
    assert whole.tolist() == [[b"a", b"\xff\x00", b""], ["süß".encode(), b"x" * 40, b"end"]]


@pytest.mark.parametrize(
    "data",
    [
        np.array([True, False]), np.zeros((0, 3), np.float32), np.array(7, np.int64), np.array([1 + 2j], np.complex64),
        np.array([1.5], np.float16), np.array([-3], np.int8), np.array([3], np.uint8), np.array([1e300]),
        np.array([], object),
    ],
    ids=lambda data: f"{data.dtype}{list(data.shape)}",
)  # fmt: skip
def test_constants_of_each_type(data: np.ndarray):
    """Small, scalar and empty ones."""
    module = module_of(lambda tfl, x: (tfl.abs(x), constant(data)), (types.FLOAT32, (1,)))
    interpreter = Interpreter(model_content=to_bytes(module))
    interpreter.allocate_tensors()
    if data.size:
        result = run_file(to_bytes(module), np.ones(1, np.float32))[1]
        assert result.dtype == data.dtype and result.shape == data.shape
        np.testing.assert_array_equal(result, data)


def test_quantized_values():
    stored = constant(np.array([[10, -20], [30, 40]], np.int8), None, "w")
    stored.quantization = Quantization((0.5, 0.25), (0, 0), 0)
    (result,) = run(lambda tfl, x: tfl.add(tfl.dequantize(stored), x), np.zeros((2, 2), np.float32))
    np.testing.assert_array_equal(result, [[5, -10], [7.5, 10]])


def test_variables_and_intermediates():
    graph = Graph("main")
    x = graph.add_input(types.FLOAT32, (1, 2), "x")
    state = Value(types.FLOAT32, (1, 2), "state")
    state.variable = True
    middle = [Value(types.INT8, (1,), f"middle{index}") for index in range(2)]
    op = Op("tfl.UNIDIRECTIONAL_SEQUENCE_RNN", [x, x, x, None, state], {"intermediates": middle}, "rnn")
    graph.ops.append(op)
    graph.outputs = [op.add_result(types.FLOAT32, (1, 2))]
    subgraph = read(to_bytes(Module([Signature(["serve"], graph, ["x"], ["y"])]))).subgraphs[0]
    tensors = subgraph.tensors
    assert [tensor.isVariable for tensor in tensors] == [False, True, False, False, False]
    assert [tensors[index].name for index in subgraph.operators[0].intermediates] == [b"middle0", b"middle1"]
    assert subgraph.operators[0].inputs.tolist() == [0, 0, 0, -1, 1]


def test_an_lstm_has_all_its_inputs():
    graph = Graph("main")
    x = graph.add_input(types.FLOAT32, (1, 2), "x")
    op = Op("tfl.UNIDIRECTIONAL_SEQUENCE_LSTM", [x] * 20, {}, "lstm")
    graph.ops.append(op)
    graph.outputs = [op.add_result(types.FLOAT32, (1, 2))]
    (written,) = read(to_bytes(Module([Signature(["serve"], graph, ["x"], ["y"])]))).subgraphs[0].operators
    assert written.inputs.tolist() == [0] * 20 + [-1] * 4


def test_functions_that_are_reached_become_subgraphs():
    module = module_of(lambda tfl, x: tfl.abs(x), (types.FLOAT32, (2,)))
    graph = module.signatures[0].graph
    for name in ("used", "inner", "unused"):
        function = Graph(name)
        function.outputs = []
        module.functions[name] = function
    Builder(graph.ops, "call").call_once(init_subgraph_index=FuncRef("used"))
    Builder(module.functions["used"].ops, "call").call_once(init_subgraph_index=FuncRef("inner"))
    model = read(to_bytes(module))
    assert [subgraph.name for subgraph in model.subgraphs] == [b"main", b"used", b"inner"]
    calls = [subgraph.operators[-1].builtinOptions for subgraph in model.subgraphs[:2]]
    assert [call.initSubgraphIndex for call in calls] == [1, 2]


def bad(op: Op) -> Module:
    graph = Graph("main")
    x = graph.add_input(types.FLOAT32, (2,), "x")
    op.set_operands([x])
    graph.ops.append(op)
    graph.outputs = [op.add_result(types.FLOAT32, (2,))]
    return Module([Signature(["serve"], graph, ["x"], ["y"])])


def test_what_cannot_be_written_is_refused_by_name():
    with pytest.raises(FuseconvError, match=r"tf\.Relu \(my/relu\) cannot be written"):
        to_bytes(bad(Op("tf.Relu", name="my/relu")))
    with pytest.raises(FuseconvError, match="attribute speed"):
        to_bytes(bad(Op("tfl.GELU", attrs={"speed": 3}, name="g")))
    with pytest.raises(FuseconvError, match="function lost that is not there"):
        to_bytes(bad(Op("tfl.CALL_ONCE", attrs={"init_subgraph_index": FuncRef("lost")}, name="c")))
    with pytest.raises(FuseconvError, match="no_such_op"):
        to_bytes(bad(Op("tfl.NO_SUCH_OP", name="no_such_op")))
    with pytest.raises(FuseconvError, match=r"fused_activation_function of .*'SLOW' .*there are NONE, RELU"):
        to_bytes(bad(Op("tfl.L2_NORMALIZATION", attrs={"fused_activation_function": "SLOW"}, name="n")))
    for wrong, message in ((types.INT8, "of float32, but declared as int8"), (types.FLOAT32, r"\(1,\), but .* \(3,\)")):
        weight = constant(np.zeros(1, np.float32), None, "w")
        weight.dtype = wrong
        weight.shape = (1,) if wrong is types.INT8 else (3,)
        with pytest.raises(FuseconvError, match=message):
            to_bytes(module_of(lambda tfl, x, weight=weight: (x, weight), (types.FLOAT32, (1,))))
    op = Op("tfl.ABS", name="abs")
    module = bad(op)
    op.result.dtype = types.QINT8
    with pytest.raises(FuseconvError, match="qint8, which TFLite does not have"):
        to_bytes(module)
    with pytest.raises(InputError, match=f"'x0' has {189**20} elements or more"):
        to_bytes(module_of(lambda tfl, x: (x,), (types.FLOAT32, (B, 9, 7, 3) * 20)))


def _chain(length: int) -> Module:
    graph = Graph("main")
    x = graph.add_input(types.FLOAT32, (B, 4, 4, 3), "x")
    tfl = Builder(graph.ops, "a/node/of/some/layer")
    y = x
    w = normal(3, 3, 3, 3)
    for index in range(length):
        bias = np.array([index, 1, 2], np.float32)
        y = tfl.conv_2d(y, w, bias, stride_w=1, stride_h=1, fused_activation_function="RELU")
        y = tfl.add(y, y)
    graph.outputs = [y]
    return Module([Signature(["serve"], graph, ["x"], ["y"])])


def test_work_grows_with_the_number_of_ops():
    short, long = (_chain(length) for length in (200, 800))
    assert count_calls(lambda: to_bytes(long)) < 4.2 * count_calls(lambda: to_bytes(short))


def test_string_tensors_beyond_two_gigabytes_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("fuseconv.write.buffer_data._STRINGS_LIMIT", 100)
    with pytest.raises(InputError, match="string tensor"):
        to_bytes(module_of(lambda tfl, x: (x, constant(np.array([b"x" * 99], object))), (types.FLOAT32, (1,))))


def test_the_part_that_is_written_is_told():
    graph = Graph("main")
    x = graph.add_input(types.FLOAT32, (4,), "x")
    ops = [Op("tfl.ADD", [x, constant(np.full(4, n, np.float32))]) for n in (1, 2)]
    graph.ops, graph.outputs = ops, [op.add_result(types.FLOAT32, (4,), "y") for op in ops]
    told: list[float] = []
    out = io.BytesIO()
    contents = write(Module([Signature(["serve"], graph, ["x"], ["a", "b"])]), out, progress=told.append)
    assert len(told) == 2 and 0 < told[0] < told[1] == 1
    assert [contents.buffers[op.operands[1]] for op in ops] == [2, 3] and contents.graphs == [graph]
