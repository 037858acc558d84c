"""Sums with a number for each channel, in the steps of their operand."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from keras import layers

from fuseconv import convert
from fuseconv.ir.graph import Graph, Op, Value
from fuseconv.quantize.affine import Range
from fuseconv.quantize.recipe import choose_recipes
from fuseconv.quantize.rewriting import rewrite
from fuseconv.quantize.shifts import is_shift, span, widened
from fuseconv.tfl.integer import INT8, INT16, Kernels
from tests.quantize.ranges import measured
from tests.random_weights import randomize
from tests.tf.text_cases import module_of

_MEAN = "tfl.MEAN(%y, int32[2] [1, 2]) {'keep_dims': False}"
_FULL = "%z: float32[n,2] = tfl.FULLY_CONNECTED(%m, float32[2,2] [1, 0, 0, 1], float32[2] [0, 0])"


def _quantized(
    reader: str, y: tuple[float, float] = (-1.0, 9.0), numbers: str = "float32[2] [-1, 0.51]", attrs: str = "{}",
    kernels: Kernels = INT8,
) -> Graph:  # fmt: skip
    module, _ = module_of(f"""
    main {{
      input %a: float32[n,4,4,2]
      %x: float32[n,4,4,2] = tfl.RELU(%a)
      %y: float32[n,4,4,2] = tfl.ADD(%x, {numbers}) {attrs}
      {reader}
      return %z
    }}
    """)
    graph = module.signatures[0].graph
    ranges = measured(a=(-9, 9), x=(0, 9), y=y, m=(-1, 9), p=(-1, 9), z=(-1, 9)).ranges
    rewrite(graph, choose_recipes(module, ranges, kernels)[graph])
    return graph


def _floats(value: Value | None) -> np.ndarray:
    assert value is not None and value.data is not None and value.quantization is not None
    return (value.data - float(value.quantization.zero_point[0])) * np.array(value.quantization.scale)


def _op(graph: Graph, kind: str) -> Op:
    (found,) = [op for op in graph.ops if op.type == kind]
    return found


def _steps(op: Op) -> set[float]:
    return {value.quantization.scale[0] for value in (*op.operands, op.result) if value and value.quantization}


@pytest.mark.parametrize("reader", [
    f"%m: float32[n,2] = {_MEAN}\n{_FULL}",
    f"%p: float32[n,2,2,2] = tfl.MAX_POOL_2D(%y) {{'padding': 'VALID', 'stride_w': 2, 'stride_h': 2, "
    f"'filter_width': 2, 'filter_height': 2}}\n%m: float32[n,2] = {_MEAN.replace('%y', '%p')}\n{_FULL}",
    "%z: float32[n,4,4,2] = tfl.CONV_2D(%y, float32[2,1,1,2] [1, 0, 0, 1], float32[2] [0, 0]) "
    "{'padding': 'VALID', 'stride_w': 1, 'stride_h': 1}",
    "%z: float32[n,4,4,2] = tfl.DEPTHWISE_CONV_2D(%y, float32[1,1,1,2] [1, 1], _) "
    "{'padding': 'VALID', 'stride_w': 1, 'stride_h': 1, 'depth_multiplier': 1}",
])  # fmt: skip
def test_what_products_read_is_off_by_the_same_everywhere(reader: str) -> None:
    graph = _quantized(reader)
    add = _op(graph, "ADD")
    assert len(_steps(add)) == 1
    off = _floats(add.operands[1]) - [-1, 0.51]
    assert 1e-3 < np.abs(off).max() <= _steps(add).pop() / 2 * 1.001
    (product,) = [op for op in graph.ops if op.type in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")]
    np.testing.assert_allclose(_floats(product.operands[2]), -off, atol=2e-4)  # half a step of biases


@pytest.mark.parametrize("reader", [
    "%z: float32[n,4,4,2] = tfl.GELU(%y)",  # nothing makes up for its errors
    f"%m: float32[n,2] = {_MEAN}\n{_FULL}\n%p: float32[n,4,4,2] = tfl.ABS(%y)",
    # What is behind the mean of channels is none, though there are as many.
    "%p: float32[n,2,2,2] = tfl.MAX_POOL_2D(%y) {'padding': 'VALID', 'stride_w': 2, 'stride_h': 2, 'filter_width': 2, "
    "'filter_height': 2}\n%m: float32[n,2,2] = tfl.MEAN(%p, int32[1] [-1]) {'keep_dims': False}\n"
    + _FULL.replace("[n,2]", "[n,2,2]"),
])  # fmt: skip
def test_what_others_read_keeps_its_own_steps(reader: str) -> None:
    assert len(_steps(_op(_quantized(reader), "ADD"))) > 1


@pytest.mark.parametrize(("least", "largest", "length"), [(-3, 5, 8), (2, 5, 5), (-5, -2, 5), (-1, 0, 1)])
def test_ranges_hold_zero(least: float, largest: float, length: float) -> None:
    values = Range(least, largest)
    assert span(values) == length and widened(values, length) == values
    assert widened(values, length + 1) == Range(min(least, 0), min(least, 0) + length + 1)


@pytest.mark.parametrize("options", [
    {"y": (-0.5, 5.0)},  # its steps would be coarse
    {"numbers": "float32[2] [-1, 12]"},  # no 8 bits of them hold these
    {"numbers": "float32[4,4,1] [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6]"},
    {"attrs": "{'fused_activation_function': 'RELU'}"},
    {"kernels": INT16},
])  # fmt: skip
def test_sums_that_do_not_suit(options: dict) -> None:
    assert len(_steps(_op(_quantized(f"%m: float32[n,2] = {_MEAN}\n{_FULL}", **options), "ADD"))) > 1


def test_batch_normalization_behind_relu() -> None:
    """Rounded on its own, each constant is off for all the zeros of RELU, and outputs by 0.004 on the mean."""
    x = y = keras.Input((12, 12, 3), name="x")
    for _ in range(4):
        y = layers.BatchNormalization()(layers.Conv2D(16, 3, padding="same", activation="relu")(y))
    model = keras.Model(x, layers.Dense(5)(layers.GlobalAveragePooling2D()(y)))
    randomize(model, 2)

    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        return rng.uniform(-1, 1, shape).astype(dtype)

    rng = np.random.default_rng(1)
    samples = [{"x": draw(rng, (1, 12, 12, 3), np.dtype("float32"))} for _ in range(40)]
    data = convert(model, quantize="int8", calibration_data=samples).data
    assert data is not None
    wanted = np.stack([model(sample["x"]).numpy() for sample in samples])
    for kind in (OpResolverType.AUTO, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES):
        run = Interpreter(model_content=data, experimental_op_resolver_type=kind).get_signature_runner()
        found = np.stack([next(iter(run(**sample).values())) for sample in samples])
        off = np.abs((found - wanted).mean(axis=0)).max() / np.ptp(wanted)
        assert off < 0.0015


def test_a_chain_of_any_length_hands_on() -> None:
    pool = "{'padding': 'VALID', 'stride_w': 1, 'stride_h': 1, 'filter_width': 1, 'filter_height': 1}"
    pools = "\n".join(f"%p{at + 1}: float32[n,4,4,2] = tfl.MAX_POOL_2D(%p{at}) {pool}" for at in range(2000))
    module, _ = module_of(f"""
    main {{
      input %x: float32[n,4,4,2]
      %p0: float32[n,4,4,2] = tfl.ADD(%x, float32[2] [-1, 0.51])
      {pools}
      %m: float32[n,2] = {_MEAN.replace("%y", "%p2000")}
      {_FULL}
      return %z
    }}
    """)
    ops = module.signatures[0].graph.ops
    assert is_shift(ops[0], {*ops})
    assert not is_shift(ops[0], {*ops[:-1]})
