"""The table of hybrid kernels is what the runtime does: each op computes with int8 weights nearly what it does with
those of floats, with and without delegates, and so again behind a resize."""

from __future__ import annotations

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType

import fuseconv.quantize.weights_to_int8 as weights_to_int8
from fuseconv.ir import types
from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import Module, Op, Value
from fuseconv.quantize.calibrate import Calibration
from fuseconv.quantize.selection import Selection
from fuseconv.report.records import Report
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.hybrid import HYBRID, RECURRENT, hybrid_weights
from fuseconv.write.flatbuffer_export import to_bytes
from tests.tfl.interpret import module_of

_UNITS, _INPUTS = 7, 5
_BATCH = symbol("batch")
_CONV = {"stride_h": 1, "stride_w": 1}


def _drawn(*shape: int) -> np.ndarray:
    rng = np.random.default_rng(sum(shape))
    return (rng.standard_normal(shape) * np.linspace(0.3, 1, shape[-1])).astype(np.float32) / np.float32(2)


def _state(tfl: Builder, units: int = _UNITS) -> Value:
    operands = [tfl.ints([2, units]), tfl.const(0.0, types.FLOAT32)]
    (state,) = tfl.typed_op("FILL", operands, [(types.FLOAT32, (2, units))], {})
    state.variable = True
    return state


def _gates(*shape: int) -> list[np.ndarray]:
    return [_drawn(*shape) * np.float32(scale) for scale in (0.5, 1, 0.7, 0.9)]


def _lstm(*, peephole: bool = False, projection: bool = False, coupled: bool = False):
    out = 4 if projection else _UNITS

    def operands() -> list[np.ndarray | None]:
        weights: list[np.ndarray | None] = [*_gates(_UNITS, _INPUTS), *_gates(_UNITS, out)]
        weights += [_drawn(_UNITS) * np.float32(scale) for scale in (1, 2, 3)] if peephole else [None] * 3
        weights += [*_gates(_UNITS), _drawn(4, _UNITS) if projection else None, None]
        if coupled:
            for index in (0, 4, 8, 11):
                weights[index] = None
        return weights

    return operands, out


def _unidirectional(**options: bool):
    operands, out = _lstm(**options)

    def build(tfl: Builder, x: Value) -> Value:
        states = _state(tfl, out), _state(tfl)
        return tfl.unidirectional_sequence_lstm(x, *operands(), *states, fused_activation_function="TANH")

    return build


def _bidirectional(tfl: Builder, x: Value) -> list[Value]:
    operands, _ = _lstm()
    weights = [tfl.const(each) if each is not None else None for each in (*operands(), *operands())]
    states = [_state(tfl) for _ in range(4)]
    return tfl.bidirectional_sequence_lstm(
        x, *weights, *states, *[None] * 9, fused_activation_function="TANH", time_major=False
    )


def _rnn(tfl: Builder, x: Value) -> Value:
    weights = _drawn(_UNITS, _INPUTS), _drawn(_UNITS, _UNITS), _drawn(_UNITS)
    return tfl.unidirectional_sequence_rnn(x, *weights, _state(tfl), fused_activation_function="TANH")


def _bidirectional_rnn(tfl: Builder, x: Value) -> list[Value]:
    one = _drawn(_UNITS, _INPUTS), _drawn(_UNITS, _UNITS), _drawn(_UNITS)
    return tfl.bidirectional_sequence_rnn(
        x, *one, _state(tfl), *one, _state(tfl), None, None, None, fused_activation_function="TANH", time_major=False
    )


# op -> the shapes of its input behind the batch, and what builds it; a batch of 2 is fixed where there are states.
CASES = {
    "BATCH_MATMUL": ((4, 6), lambda tfl, x: tfl.batch_matmul(x, _drawn(6, 5))),
    "BATCH_MATMUL of two dimensions": ((6,), lambda tfl, x: tfl.batch_matmul(x, _drawn(5, 6), adj_y=True)),
    "CONV_2D": ((5, 6, 3), lambda tfl, x: tfl.conv_2d(x, _drawn(4, 3, 2, 3), _drawn(4), **_CONV)),
    "DEPTHWISE_CONV_2D": (
        (5, 6, 3),
        lambda tfl, x: tfl.depthwise_conv_2d(x, _drawn(1, 3, 3, 6), _drawn(6), depth_multiplier=2, **_CONV),
    ),
    "FULLY_CONNECTED": ((6,), lambda tfl, x: tfl.fully_connected(x, _drawn(5, 6), _drawn(5))),
    "FULLY_CONNECTED of three dimensions": (
        (4, 6), lambda tfl, x: tfl.fully_connected(x, _drawn(5, 6), None, keep_num_dims=True),
    ),
    "TRANSPOSE_CONV": (
        (4, 5, 3), lambda tfl, x: tfl.transpose_conv([2, 8, 10, 4], _drawn(4, 3, 3, 3), x, stride_h=2, stride_w=2),
    ),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": ((6, _INPUTS), _unidirectional()),
    "UNIDIRECTIONAL_SEQUENCE_LSTM with peepholes": ((6, _INPUTS), _unidirectional(peephole=True)),
    "UNIDIRECTIONAL_SEQUENCE_LSTM with a projection": ((6, _INPUTS), _unidirectional(projection=True)),
    "UNIDIRECTIONAL_SEQUENCE_LSTM of coupled gates": ((6, _INPUTS), _unidirectional(coupled=True)),
    "BIDIRECTIONAL_SEQUENCE_LSTM": ((6, _INPUTS), _bidirectional),
    "UNIDIRECTIONAL_SEQUENCE_RNN": ((6, _INPUTS), _rnn),
    "BIDIRECTIONAL_SEQUENCE_RNN": ((6, _INPUTS), _bidirectional_rnn),
}  # fmt: skip


def test_every_kernel_is_tried() -> None:
    assert {name.split()[0] for name in CASES} | {"EMBEDDING_LOOKUP"} == HYBRID.keys()


@pytest.mark.parametrize("resolver", [OpResolverType.AUTO, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES])
@pytest.mark.parametrize(("name", "expanded"), [
    *((name, False) for name in CASES), *((name, True) for name in CASES if name.split()[0] in RECURRENT),
])  # fmt: skip
def test_int8_weights(name: str, expanded: bool, resolver: OpResolverType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights_to_int8, "LEAST_ELEMENTS", 1)
    monkeypatch.setattr(weights_to_int8, "_MOST_EXPANDED", 1 << 16 if expanded else -1)
    monkeypatch.setattr(weights_to_int8, "ROOM", -1 << 20)
    shape, build = CASES[name]
    x = np.random.default_rng(0).standard_normal((2, *shape)).astype(np.float32)
    fixed = "SEQUENCE" in name or name == "TRANSPOSE_CONV"
    module = module_of(build, (types.FLOAT32, (2 if fixed else _BATCH, *shape)))
    plain = _run(module, x, resolver)
    report = Report()
    weights_to_int8.weights_to_int8(module, report, Selection(), Calibration())
    assert report.quantized and not any(item.why for item in report.quantized)
    assert not expanded or any(op.type == "DEQUANTIZE" for op in module.signatures[0].graph.ops)
    for expected, actual in zip(plain, _run(module, x, resolver), strict=True):
        assert 0 < np.abs(actual - expected).max() < 0.03 * np.ptp(expected)


def _run(module: Module, x: np.ndarray, resolver: OpResolverType) -> list[np.ndarray]:
    """The outputs of a second run, after one of fewer rows where the batch is not fixed."""
    interpreter = Interpreter(model_content=to_bytes(module), experimental_op_resolver_type=resolver)
    dynamic = interpreter.get_input_details()[0]["shape_signature"][0] == -1
    for rows in (1, 2, 2) if dynamic else (2, 2):
        if dynamic:
            interpreter.resize_tensor_input(interpreter.get_input_details()[0]["index"], (rows, *x.shape[1:]))
        interpreter.allocate_tensors()
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x[:rows])
        interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def test_embedding_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights_to_int8, "LEAST_ELEMENTS", 1)
    table = _drawn(4, 3) * np.array([[1], [10], [100], [1000]], np.float32)
    module = module_of(lambda tfl, ids: tfl.embedding_lookup(ids, table), (types.INT32, (4,)))
    weights_to_int8.weights_to_int8(module, Report(), Selection(), Calibration())
    ids = np.array([3, 1, 2, 0], np.int32)
    rows = Interpreter(model_content=to_bytes(module)).get_signature_runner("serve")(x0=ids)["y0"]
    assert np.all(np.abs(rows - table[ids]) <= np.abs(table[ids]).max(axis=1, keepdims=True) / 250)



def test_what_has_no_hybrid_form() -> None:
    assert hybrid_weights(Op("tfl.MUL")) is None
    for shapes in (((3, 4, 6), (3, 6, 5)), ((2, 3, 4, 6), (6, 5))):
        assert hybrid_weights(Op("tfl.BATCH_MATMUL", [Value(types.FLOAT32, shape) for shape in shapes])) is None
    assert hybrid_weights(Op("tfl.UNIDIRECTIONAL_SEQUENCE_LSTM", (), {"diagonal_recurrent_tensors": True})) is None
    assert hybrid_weights(Op("tfl.FULLY_CONNECTED", (), {"weights_format": "SHUFFLED4x16INT8"})) is None
