"""Each op of the table, run by TFLite: the table's result types are those of the runtime, and numbers are numpy's."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

from fuseconv.ir import types
from fuseconv.ir.dims import Shape, Sym, symbol
from fuseconv.ir.graph import FuncRef, Graph, Module, Signature, Value
from fuseconv.tfl import schema
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.opdef import TABLE
from fuseconv.tfl.type_inference import ShapeError
from fuseconv.write.flatbuffer_export import to_bytes
from tests.fuzz.child import load as why_refused
from tests.tfl import cases
from tests.tfl.interpret import module_of, run, run_file

# Ops that need other ops, functions or state beside them; the tests below run them.
TOGETHER = {
    "ASSIGN_VARIABLE", "BIDIRECTIONAL_SEQUENCE_LSTM", "BIDIRECTIONAL_SEQUENCE_RNN", "BITCAST", "CALL_ONCE", "DENSIFY",
    "HASHTABLE", "HASHTABLE_FIND", "HASHTABLE_IMPORT", "HASHTABLE_SIZE", "IF", "LSTM", "QUANTIZE", "RANK",
    "READ_VARIABLE", "RNN", "SHAPE", "SKIP_GRAM", "STABLEHLO_COMPOSITE", "SVDF",
    "UNIDIRECTIONAL_SEQUENCE_LSTM", "UNIDIRECTIONAL_SEQUENCE_RNN", "VAR_HANDLE", "WHILE",
}  # fmt: skip

# Operators of the schema that no kernel of the default resolver stands behind, or that are no operators.
ABSENT = {"CALL", "CONCAT_EMBEDDINGS", "CUSTOM", "DELEGATE", "PLACEHOLDER_FOR_GREATER_OP_CODES"}


def test_table_holds_every_builtin_operator():
    names = {name for name in schema.enum("BuiltinOperator") if not name.startswith("STABLEHLO")}
    assert {name for name in TABLE if not name.startswith("STABLEHLO")} == names - ABSENT


def test_every_op_is_tried():
    assert {case.kind.upper() for case in cases.ALL} | TOGETHER == set(TABLE)


@pytest.mark.parametrize("name", sorted(TABLE))
def test_options_are_the_schemas(name: str):
    """Fields and defaults, except where the schema's default is a value that no kernel takes or an operand tells."""
    definition = TABLE[name]
    known = schema.table(definition.options) if definition.options else {}
    assert set(definition.defaults) <= set(known)
    for field, default in definition.defaults.items():
        enum = schema.ENUM_FIELDS.get(field)
        given = known[field].default if enum is None else schema.enum_name(enum, known[field].default)
        if default is not None and field not in ("out_type", "output_type"):
            assert default == given, field


def build(case: cases.Case):
    def graph_of(tfl: Builder, *inputs: Value):
        rest = iter(inputs)
        operands = [next(rest) if isinstance(operand, cases.Input) else operand for operand in case.operands]
        return getattr(tfl, case.kind)(*operands, **case.options)

    return graph_of


@pytest.mark.parametrize("case", cases.ALL, ids=str)
def test_op(case: cases.Case):
    types_of_inputs = [(types.of_array(array), array.shape) for array in case.inputs]
    module = module_of(build(case), *types_of_inputs)
    results = run_file(to_bytes(module), *case.inputs)
    for value, result in zip(module.signatures[0].graph.outputs, results, strict=True):
        assert value.dtype.numpy == result.dtype
        assert_shape(value.shape, result.shape)
    if case.expected is not None:
        np.testing.assert_allclose(results[0], case.expected(*case.inputs), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("case", cases.ALL, ids=str)
def test_litert_takes_what_the_table_takes(case: cases.Case, tmp_path: Path):
    """Of operands and options that may not fit together, the table refuses at least those that LiteRT refuses."""
    for seed in range(8):
        changed = cases.changed(case, Random(f"{case}/{seed}"))
        try:
            module = module_of(build(changed), *((types.of_array(array), array.shape) for array in changed.inputs))
        except ShapeError:
            continue
        file = tmp_path / f"{seed}.tflite"
        file.write_bytes(to_bytes(module))
        assert not why_refused(file), changed


@pytest.mark.parametrize("case", [case for case in cases.ALL if case.inputs], ids=str)
def test_op_with_unknown_sizes(case: cases.Case):
    """With a symbol for each size of an input, the result's shape is the real one for the real sizes."""
    static = module_of(build(case), *((types.of_array(array), array.shape) for array in case.inputs))
    symbolic = module_of(build(case), *((types.of_array(array), named(array.shape)) for array in case.inputs))
    real = run_file(to_bytes(static), *case.inputs)
    for value, result in zip(symbolic.signatures[0].graph.outputs, real, strict=True):
        assert value.dtype.numpy == result.dtype
        assert_shape(value.shape, result.shape)


@pytest.mark.parametrize("case", [case for case in cases.ALL if case.inputs], ids=str)
def test_op_without_ranks(case: cases.Case):
    """Without known ranks the types are still right, and a shape is known only where it is the real one."""
    if case.kind == "add_n":
        return
    static = module_of(build(case), *((types.of_array(array), array.shape) for array in case.inputs))
    unknown = module_of(build(case), *((types.of_array(array), None) for array in case.inputs))
    for value, real in zip(unknown.signatures[0].graph.outputs, static.signatures[0].graph.outputs, strict=True):
        assert value.dtype is real.dtype
        if value.shape is not None and real.shape is not None:
            assert len(value.shape) == len(real.shape)


def named(shape: tuple[int, ...]) -> Shape:
    """Equal sizes have equal names, but 1 keeps its value, since it broadcasts."""
    return tuple(size if size == 1 else symbol(f"s{size}") for size in shape)


def assert_shape(inferred: Shape | None, real: tuple[int, ...]):
    assert inferred is not None
    assert len(inferred) == len(real)
    sizes = {f"s{size}": size for size in range(2, 20)}
    for dim, size in zip(inferred, real, strict=True):
        known = dim.substitute(sizes) if isinstance(dim, Sym) else dim
        assert known == size or (isinstance(known, Sym) and any(name.startswith("?") for name in known.symbols()))


def test_shape_and_rank_of_an_unknown_shape():
    def graph(tfl: Builder, x: Value):
        return tfl.shape(x), tfl.shape(x, out_type="INT64"), tfl.rank(x)

    module = module_of(graph, (types.FLOAT32, (symbol("a"), 3)))
    shape, wide, rank = run_file(to_bytes(module), np.zeros((5, 3), np.float32))
    assert shape.tolist() == wide.tolist() == [5, 3]
    assert (shape.dtype, wide.dtype) == (np.int32, np.int64)
    # The rank is known, and was not asked at run time.
    assert rank == 2 and [op.type for op in module.signatures[0].graph.ops] == ["SHAPE", "SHAPE"]


def test_quantize_and_dequantize():
    from fuseconv.ir.graph import Quantization

    def graph(tfl: Builder, x: Value):
        stored = tfl.quantize(x, results=[(types.INT8, x.shape)])
        stored.quantization = Quantization((0.5,), (3,))
        return stored, tfl.dequantize(stored)

    stored, back = run(graph, np.float32([[1, -2.3, 100]]))
    assert stored.tolist() == [[5, -2, 127]]
    assert back.tolist() == [[1, -2.5, 62]]


def test_bitcast():
    x = np.float32([[1.5, -2]])
    (bits,) = run(lambda tfl, x: tfl.bitcast(x, results=[(types.INT32, x.shape)]), x)
    assert bits.tolist() == x.view(np.int32).tolist()


def test_skip_gram_and_strings():
    def graph(tfl: Builder, x: Value):
        return tfl.skip_gram(x, ngram_size=2, max_skip_size=0, include_all_ngrams=False)

    (grams,) = run(graph, np.array([b"a bc d"], object))
    assert grams.tolist() == [b"a bc", b"bc d"]


def test_if_and_while():
    double, half = Graph("double"), Graph("half")
    for graph, factor in ((double, 2), (half, 0.5)):
        x = graph.add_input(types.FLOAT32, (3,), "x")
        graph.outputs = [Builder(graph.ops, graph.name).mul(x, np.float32(factor).reshape(()))]
    condition, step = Graph("condition"), Graph("step")
    i, x = condition.add_input(types.INT32, (), "i"), condition.add_input(types.FLOAT32, (3,), "x")
    condition.outputs = [Builder(condition.ops, "c").less(i, np.int32(3).reshape(()))]
    i, x = step.add_input(types.INT32, (), "i"), step.add_input(types.FLOAT32, (3,), "x")
    tfl = Builder(step.ops, "s")
    step.outputs = [tfl.add(i, np.int32(1).reshape(())), tfl.add(x, x)]

    def graph_of(tfl: Builder, flag: Value, x: Value):
        chosen = tfl.if_(
            flag, x, then_subgraph_index=FuncRef("double"), else_subgraph_index=FuncRef("half"),
            results=[(x.dtype, x.shape)],
        )  # fmt: skip
        start = tfl.const(np.int32(0).reshape(()))
        return tfl.while_(
            start, chosen, cond_subgraph_index=FuncRef("condition"), body_subgraph_index=FuncRef("step")
        )  # fmt: skip

    module = module_of(graph_of, (types.BOOL, ()), (types.FLOAT32, (3,)))
    module.functions = {graph.name: graph for graph in (double, half, condition, step)}
    data = to_bytes(module)
    x = np.float32([1, 2, 3])
    count, y = run_file(data, np.array(True), x)
    assert count == 3
    np.testing.assert_array_equal(y, x * 16)
    np.testing.assert_array_equal(run_file(data, np.array(False), x)[1], x * 4)


def test_a_composite():
    functions: dict[str, Graph] = {}

    def graph_of(tfl: Builder, x: Value, y: Value):
        tfl.functions = functions
        body = lambda tfl, x, y: [tfl.sub(x, y), tfl.mul(x, y)]  # noqa: E731
        return tfl.composite("acme.both", [x, y], body, {"scale": 0.1, "axis": -1, "kind": "both"})

    module = module_of(graph_of, (types.FLOAT32, (3,)), (types.FLOAT32, (3,)))
    module.functions = functions
    x, y = np.float32([1, 2, 3]), np.float32([5, 7, 8])
    for made, expected in zip(run_file(to_bytes(module), x, y), (x - y, x * y), strict=True):
        np.testing.assert_array_equal(made, expected)


def test_variables_and_call_once():
    init = Graph("init")
    tfl = Builder(init.ops, "init")
    tfl.assign_variable(tfl.var_handle(shared_name="count"), tfl.const(np.float32([10, 20])))
    init.outputs = []

    def graph(tfl: Builder, x: Value):
        tfl.call_once(init_subgraph_index=FuncRef("init"))
        handle = tfl.var_handle(shared_name="count")
        total = tfl.add(tfl.read_variable(handle, results=[(types.FLOAT32, (2,))]), x)
        tfl.assign_variable(handle, total)
        return total

    module = module_of(graph, (types.FLOAT32, (2,)))
    module.functions = {"init": init}
    runner = Interpreter(model_content=to_bytes(module)).get_signature_runner("serve")
    assert [runner(x0=np.float32([1, 2]))["y0"].tolist() for _ in range(3)] == [[11, 22], [12, 24], [13, 26]]


def test_hash_table():
    init = Graph("init")
    tfl = Builder(init.ops, "init")
    options = {"table_id": 7, "key_dtype": "INT64", "value_dtype": "STRING"}
    tfl.hashtable_import(tfl.hashtable(**options), np.int64([4, 5]), np.array([b"four", b"five"], object))
    init.outputs = []

    def graph(tfl: Builder, keys: Value):
        tfl.call_once(init_subgraph_index=FuncRef("init"))
        table = tfl.hashtable(**options)
        return tfl.hashtable_find(table, keys, np.array([b"none"], object)), tfl.hashtable_size(table)

    module = module_of(graph, (types.INT64, (3,)))
    module.functions = {"init": init}
    found, size = run_file(to_bytes(module), np.int64([5, 1, 4]))
    assert found.tolist() == [b"five", b"none", b"four"]
    assert size.tolist() == [2]


def state(shape: tuple[int, ...], name: str) -> Value:
    value = Value(types.FLOAT32, shape, name)
    value.variable = True
    return value


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def first_invoke(build_graph, x: np.ndarray) -> list[np.ndarray]:
    """States are zero on the first invoke only, since these graphs do not write them."""
    module = module_of(build_graph, (types.FLOAT32, x.shape))
    runner = Interpreter(model_content=to_bytes(module)).get_signature_runner("serve")
    results = runner(x0=x)
    for value, name in zip(module.signatures[0].graph.outputs, sorted(results), strict=True):
        assert value.shape == results[name].shape
    return [results[name] for name in sorted(results)]


def lstm_weights(rng: np.random.Generator, depth: int, units: int) -> list[np.ndarray | None]:
    kernels = [rng.normal(size=(units, depth)).astype(np.float32) for _ in range(4)]
    recurrent = [rng.normal(size=(units, units)).astype(np.float32) for _ in range(4)]
    biases = [rng.normal(size=units).astype(np.float32) for _ in range(4)]
    return [*kernels, *recurrent, None, None, None, *biases, None, None]


def lstm_reference(x: np.ndarray, operands: list) -> np.ndarray:
    """x [batch, time, depth] -> [batch, time, units]."""
    h = c = np.zeros((len(x), len(operands[0])), np.float32)
    rows = []
    for step in range(x.shape[1]):
        gates = [x[:, step] @ operands[g].T + h @ operands[4 + g].T + operands[11 + g] for g in range(4)]
        c = sigmoid(gates[1]) * c + sigmoid(gates[0]) * np.tanh(gates[2])
        h = sigmoid(gates[3]) * np.tanh(c)
        rows.append(h)
    return np.stack(rows, 1)


def test_lstm_over_a_sequence_and_one_step():
    rng = np.random.default_rng(1)
    operands = lstm_weights(rng, 3, 4)
    x = rng.normal(size=(2, 5, 3)).astype(np.float32)

    def sequence(tfl: Builder, x: Value):
        states = state((2, 4), "h"), state((2, 4), "c")
        return tfl.unidirectional_sequence_lstm(x, *operands, *states, fused_activation_function="TANH")

    (y,) = first_invoke(sequence, x)
    np.testing.assert_allclose(y, lstm_reference(x, operands), atol=1e-5)

    def step(tfl: Builder, x: Value):
        return tfl.lstm(x, *operands, state((2, 4), "h"), state((2, 4), "c"), fused_activation_function="TANH")

    (y,) = first_invoke(step, x[:, 0])
    np.testing.assert_allclose(y, lstm_reference(x, operands)[:, 0], atol=1e-5)


def test_basic_lstm_step():
    rng = np.random.default_rng(1)
    weights = rng.normal(size=(16, 7)).astype(np.float32)

    def step(tfl: Builder, x: Value):
        states = state((2, 4), "h"), state((2, 4), "c")
        bias = np.zeros(16, np.float32)
        return tfl.lstm(
            x, states[0], weights, bias, states[1], kernel_type="BASIC", fused_activation_function="TANH"
        )

    assert len(first_invoke(step, rng.normal(size=(2, 3)).astype(np.float32))) == 4


@pytest.mark.parametrize("merge", [True, False])
def test_bidirectional_lstm(merge: bool):
    rng = np.random.default_rng(1)
    forward, backward = lstm_weights(rng, 3, 4), lstm_weights(rng, 3, 4)
    x = rng.normal(size=(1, 6, 3)).astype(np.float32)

    def graph(tfl: Builder, x: Value):
        states = state((1, 4), "fh"), state((1, 4), "fc"), state((1, 4), "bh"), state((1, 4), "bc")
        return tfl.bidirectional_sequence_lstm(
            x, *forward, *backward, *states, *[None] * 9, merge_outputs=merge, time_major=False,
            fused_activation_function="TANH",
        )  # fmt: skip

    expected = [lstm_reference(x, forward), lstm_reference(x[:, ::-1], backward)[:, ::-1]]
    results = first_invoke(graph, x)
    assert len(results) == (1 if merge else 2)
    np.testing.assert_allclose(np.concatenate(results, -1), np.concatenate(expected, -1), atol=1e-5)


def rnn_reference(x: np.ndarray, weights: np.ndarray, recurrent: np.ndarray, bias: np.ndarray) -> np.ndarray:
    h = np.zeros((len(x), len(weights)), np.float32)
    rows = []
    for step in range(x.shape[1]):
        h = np.tanh(x[:, step] @ weights.T + h @ recurrent.T + bias)
        rows.append(h)
    return np.stack(rows, 1)


def test_rnns():
    rng = np.random.default_rng(1)
    operands = [rng.normal(size=size).astype(np.float32) for size in ((4, 3), (4, 4), (4,))]
    other = [rng.normal(size=size).astype(np.float32) for size in ((4, 3), (4, 4), (4,))]
    x = rng.normal(size=(2, 5, 3)).astype(np.float32)
    tanh = {"fused_activation_function": "TANH"}
    expected = rnn_reference(x, *operands)
    (y,) = first_invoke(lambda t, x: t.unidirectional_sequence_rnn(x, *operands, state((2, 4), "h"), **tanh), x)
    np.testing.assert_allclose(y, expected, atol=1e-5)
    (y,) = first_invoke(lambda t, x: t.rnn(x, *operands, state((2, 4), "h"), **tanh), x[:, 0])
    np.testing.assert_allclose(y, expected[:, 0], atol=1e-5)

    def both(tfl: Builder, x: Value, merge: bool):
        states = state((2, 4), "f"), state((2, 4), "b")
        return tfl.bidirectional_sequence_rnn(
            x, *operands, states[0], *other, states[1], None, None, None, merge_outputs=merge, **tanh
        )

    reverse = rnn_reference(x[:, ::-1], *other)[:, ::-1]
    for merge in (True, False):
        results = first_invoke(lambda t, x, merge=merge: both(t, x, merge), x)
        np.testing.assert_allclose(np.concatenate(results, -1), np.concatenate([expected, reverse], -1), atol=1e-5)


def test_svdf():
    rng = np.random.default_rng(1)
    feature, time = (rng.normal(size=size).astype(np.float32) for size in ((4, 3), (4, 5)))
    x = rng.normal(size=(2, 3)).astype(np.float32)
    (y,) = first_invoke(lambda t, x: t.svdf(x, feature, time, None, state((2, 20), "s"), rank=2), x)
    np.testing.assert_allclose(y, (x @ feature.T * time[:, -1]).reshape(2, 2, 2).sum(-1), atol=1e-5)


def test_unknown_operator_and_options_are_refused():
    tfl = Builder([], "op")
    with pytest.raises(AttributeError, match="NO_SUCH_OP"):
        tfl.no_such_op()
    x = Value(types.FLOAT32, (2, 3), "x")
    with pytest.raises(TypeError, match="stride"):
        tfl.relu(x, stride=1)
    with pytest.raises(TypeError, match="takes 2 operands, not 1"):
        tfl.add(x)
    with pytest.raises(ValueError, match="broadcast"):
        tfl.add(x, Value(types.FLOAT32, (2, 4), "y"))


def test_module_is_one_graph_per_function():
    graph = Graph("main")
    x = graph.add_input(types.FLOAT32, (1,), "x")
    graph.outputs = [x]
    module = Module([Signature(["serve"], graph, ["x0"], ["y0"])])
    np.testing.assert_array_equal(run_file(to_bytes(module), np.float32([3]))[0], [3])


def test_numbers_as_operands():
    """Axes and sizes are int32, other numbers are of the type of the values beside them; numpy's keep their own."""
    ops: list = []
    tfl = Builder(ops, "op")
    values = Value(types.FLOAT32, (2, 6), "x")
    tfl.expand_dims(values, 1)
    tfl.split(1, values, num_splits=2)
    tfl.fill([2], Value(types.FLOAT32, (), "number"))
    tfl.mul(values, 2)
    tfl.padv2(values, [[1, 0], [0, 0]], 3)
    tfl.add(Value(types.INT64, (2,), "i"), np.int64(3))
    dtypes = [[str(operand.dtype) for operand in op.operands] for op in ops]
    assert dtypes == [
        ["float32", "int32"], ["int32", "float32"], ["int32", "float32"], ["float32", "float32"],
        ["float32", "int32", "float32"], ["int64", "int64"],
    ]  # fmt: skip
