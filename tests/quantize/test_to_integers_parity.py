"""Models in integers compute nearly what TensorFlow does: with any batch, behind a resize, twice in a row, with
delegates and without."""

from __future__ import annotations

from collections import Counter
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter
from keras import layers, ops

from fuseconv import convert
from fuseconv.testing import Converted, check
from tests.random_weights import randomize


def _check(model: keras.Model, low: int = 0, atol: float = 0.08, **options: Any) -> Converted:
    """low: integer inputs are below this. The data that is measured holds what is compared later, so that nothing is
    clipped."""
    randomize(model, 1)
    specs = [tf.TensorSpec(x.shape, x.dtype) for x in model.inputs]

    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        return (rng.integers(0, low, shape) if low else rng.uniform(-2, 2, shape)).astype(dtype)

    rng = np.random.default_rng(1)
    (spec,) = specs
    size = tuple(dim or 3 for dim in spec.shape.as_list())
    samples = [{"x0": draw(rng, size, spec.dtype.as_numpy_dtype)} for _ in range(40)]
    options |= {"quantize": "int8", "calibration_data": samples}
    return check(model, *specs, atol=atol, inputs=draw, batches=(1, 3), static=False, **options)


def _floats(converted: Converted) -> Counter[str]:
    return Counter(item.op for item in converted.report.quantized if item.why)


def test_images() -> None:
    x = keras.Input((12, 12, 3))
    y = layers.Conv2D(8, 3, strides=2, activation="relu")(x)
    y = layers.Concatenate()([layers.MaxPooling2D(2)(y), layers.AveragePooling2D(2)(layers.Activation("sigmoid")(y))])
    y = layers.Conv2DTranspose(4, 2, strides=2)(layers.DepthwiseConv2D(3, padding="same")(y))
    model = keras.Model(x, layers.Dense(5, activation="softmax")(layers.GlobalAveragePooling2D()(y)))
    converted = _check(model)
    assert not _floats(converted) and converted.ops.count("DEQUANTIZE") == 1


def test_embeddings_for_a_loop_of_floats() -> None:
    """The table has 8 bits, though what reads its rows takes floats."""
    x = keras.Input((7,), dtype="int32")
    converted = _check(keras.Model(x, layers.GRU(8)(layers.Embedding(300, 16)(x))), low=300)
    (table,) = [item for item in converted.report.quantized if item.op == "GATHER" and item.type == "int8"]
    assert len(converted.data) < 4 * 300 * 16 and not table.why


def test_attention_over_tokens() -> None:
    x = keras.Input((7,), dtype="int32")
    y = layers.Embedding(30, 16)(x)
    y = layers.LayerNormalization()(y + layers.MultiHeadAttention(2, 8)(y, y))
    converted = _check(keras.Model(x, layers.Dense(4)(layers.Dense(16, activation="gelu")(y))), low=30, atol=0.15)
    assert not _floats(converted) and "QUANTIZE" not in converted.ops


def test_normalization_of_groups() -> None:
    x = keras.Input((9, 7, 3))
    y = layers.ReLU()(layers.GroupNormalization(1)(layers.Conv2D(8, 3)(x)))
    y = layers.GroupNormalization(-1)(layers.Conv2D(8, 3, padding="same")(y))
    converted = _check(keras.Model(x, layers.Conv2D(2, 3)(y)), atol=0.15)
    assert "SQUARED_DIFFERENCE" not in converted.ops


def test_means_of_what_a_mean_was_subtracted_from() -> None:
    """They are small, and lost (an error of 0.07) if all that one mean moves is rounded the same way."""
    x = y = keras.Input((16, 16, 3))
    for _ in range(2):
        y = layers.Activation("swish")(layers.GroupNormalization(2)(layers.Conv2D(8, 3)(y)))
    y = layers.GroupNormalization(2)(y)
    _check(keras.Model(x, layers.Dense(5)(layers.GlobalAveragePooling2D()(y))), atol=0.04)


def test_normalization_behind_a_concatenation() -> None:
    x = keras.Input((12, 12, 3))
    y = layers.Conv2D(24, 3, padding="same")(x)
    for _ in range(2):
        z = layers.ReLU()(layers.BatchNormalization()(y))
        y = layers.Concatenate()([y, layers.Conv2D(8, 3, padding="same")(z)])
    converted = _check(keras.Model(x, layers.Dense(5)(layers.GlobalAveragePooling2D()(y))))
    assert not _floats(converted)
    one_scale = [
        detail for detail in Interpreter(model_content=converted.data).get_tensor_details()
        if tuple(detail["shape"]) == (1, 1, 1, 32) and len(detail["quantization_parameters"]["scales"]) == 1
    ]  # fmt: skip
    assert one_scale


def test_logarithms_of_exponentials() -> None:
    """What divides in them must not become zero, and what corrects a LOG is smaller than a step of it."""
    x = keras.Input((8,))
    hidden = [layers.Dense(16, activation=name)(x) for name in ("softplus", "log_sigmoid")]
    _check(keras.Model(x, layers.Dense(4)(layers.Concatenate()(hidden))))


def test_dense_layers_before_and_behind_activations() -> None:
    x = keras.Input((6,))
    y, z = layers.Dense(7)(x), layers.Dense(5)(x)
    joined = layers.Concatenate()([y, layers.Activation("tanh")(z)])
    converted = _check(keras.Model(x, [layers.ReLU()(y), layers.ReLU(6)(z), layers.Dense(3)(joined)]))
    assert not _floats(converted) and converted.ops.count("FULLY_CONNECTED") == 5
    assert not {"RELU", "RELU6"}.intersection(converted.ops)


def test_recurrent_layers() -> None:
    x = keras.Input((6, 5))
    y = layers.Bidirectional(layers.LSTM(4, return_sequences=True))(layers.LSTM(6, return_sequences=True)(x))
    converted = _check(keras.Model(x, y), atol=0.15)
    assert not _floats(converted) and converted.ops.count("UNIDIRECTIONAL_SEQUENCE_LSTM") == 3


def test_loops() -> None:
    """Products around what they carry are hybrid, and what is between is float: no number is converted there."""
    x = keras.Input((6, 5))
    model = keras.Model(x, layers.Bidirectional(layers.GRU(7))(x))
    for rnn in ("loop", "unroll"):
        converted = _check(model, atol=0.02, rnn=rnn)
        assert not {"QUANTIZE", "DEQUANTIZE"} & {*converted.ops} and ("WHILE" in converted.ops) == (rnn == "loop")
        assert {item.type for item in converted.report.quantized if item.op == "FULLY_CONNECTED"} == {"int8"}


def test_steps_that_no_sum_carries() -> None:
    """A step of a SimpleRNN multiplies what the step before has made of its product. Behind a convolution in integers,
    with a GRU that resets in front of its product behind it."""
    x = keras.Input((8, 5))
    y = layers.SimpleRNN(6, return_sequences=True)(layers.Conv1D(4, 3, activation="relu")(x))
    model = keras.Model(x, layers.Dense(3)(layers.GRU(5, reset_after=False)(y)))
    for rnn in ("loop", "unroll"):
        converted = _check(model, atol=0.06, rnn=rnn)
        counts = Counter(op for op in converted.ops if op in ("QUANTIZE", "DEQUANTIZE"))
        assert counts == {"QUANTIZE": 2, "DEQUANTIZE": 2}


def test_loops_of_integers_alone() -> None:
    """With inputs and outputs of integers, states have 16 bits."""
    x = keras.Input((6, 5))
    model = keras.Model(x, layers.GRU(4)(layers.LSTM(7, return_sequences=True)(x)))
    for rnn in ("loop", "unroll"):
        converted = _check(model, atol=0.06, rnn=rnn, io_types="int8,x0=float,y0=float")
        assert not _floats(converted)


def test_a_list_that_grows_from_no_elements() -> None:
    """Samples tell no range of what it starts from, which then has that of the list."""
    w = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)

    def grow(x: tf.Tensor) -> tf.Tensor:
        def step(i: tf.Tensor, h: tf.Tensor, made: tf.Tensor) -> tuple[tf.Tensor, ...]:
            h = tf.tanh(tf.matmul(h, w))
            return i + 1, h, tf.concat([made, h[None]], 0)

        count = 3 + tf.cast(x[0, 0] > 0, tf.int32)
        shapes = [tf.TensorShape([]), x.shape, tf.TensorShape([None, None, 4])]
        start = [0, x, tf.zeros([0, tf.shape(x)[0], 4])]
        return tf.matmul(tf.while_loop(lambda i, h, made: i < count, step, start, shapes)[2], w)

    rng = np.random.default_rng(1)
    samples = [{"x0": rng.standard_normal((3, 4)).astype(np.float32)} for _ in range(20)]
    options: dict[str, Any] = {"quantize": "int8", "calibration_data": samples, "static": False}
    converted = check(grow, tf.TensorSpec((None, 4)), atol=0.08, batches=(1, 3), **options)
    assert "WHILE" in converted.ops


def test_steps_of_a_fused_lstm_that_nothing_else_reads_are_not_clipped() -> None:
    """The output gate is open but in the last step, whose output is a tenth of the others' then: six steps of int8."""
    x = keras.Input((6, 5))
    model = keras.Model(x, layers.LSTM(8)(x))
    randomize(model, 1)
    kernel, recurrent, bias = model.get_weights()
    kernel[0, 24:], bias[24:] = 6, -3
    model.set_weights([kernel, 2 * recurrent, bias])

    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        array = rng.uniform(-2, 2, shape).astype(dtype)
        array[..., 0] = np.arange(6) < 5
        return array

    rng = np.random.default_rng(1)
    samples = [{"x0": draw(rng, (3, 6, 5), np.dtype(np.float32))} for _ in range(40)]
    check(
        model, tf.TensorSpec((None, 6, 5)), atol=0.15, inputs=draw, batches=(1, 3), static=False, quantize="int8",
        calibration_data=samples,
    )  # fmt: skip


def test_steps_that_a_model_unrolls_itself() -> None:
    """They are a loop, though each step comes of nodes of its own: with what they sum up in 8 bits, the state would be
    off by 0.09."""
    rng = np.random.default_rng(0)
    kernel, recurrent = (rng.normal(0, 0.5, shape).astype(np.float32) for shape in ((5, 24), (8, 24)))

    def model(x: tf.Tensor) -> tf.Tensor:
        h, states = tf.zeros((tf.shape(x)[0], 8)), []
        for step in range(6):
            z, r, candidate = tf.split(tf.matmul(x[:, step], kernel), 3, -1)
            from_z, from_r, from_h = tf.split(tf.matmul(h, recurrent), 3, -1)
            z = tf.sigmoid(z + from_z)
            h = z * h + (1 - z) * tf.tanh(candidate + tf.sigmoid(r + from_r) * from_h)
            states.append(h)
        return tf.stack(states, 1)

    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        return rng.uniform(-1, 1, shape).astype(dtype)

    data = [{"x0": draw(rng, (1, 6, 5), np.dtype(np.float32))} for _ in range(200)]
    check(
        model, tf.TensorSpec((None, 6, 5)), atol=0.015, inputs=draw, batches=(1, 3), static=False, quantize="int8",
        calibration_data=data,
    )  # fmt: skip


def test_a_cell_state_that_is_read_stays_float() -> None:
    x = keras.Input((6, 5))
    _, h, c = layers.LSTM(4, return_state=True)(x)
    converted = _check(keras.Model(x, layers.Dense(3)(layers.Concatenate()([h, c]))))
    whys = {item.op: item.why for item in converted.report.quantized if item.why}
    assert whys["UNIDIRECTIONAL_SEQUENCE_LSTM"] == "other ops read its state"


def test_weights_of_fused_layers_that_stay_float() -> None:
    """They have 8 bits beside floats, or 16 where they are few: an LSTM with an activation that the integer kernel has
    not, a cell state that is read, also behind masked steps."""
    x = keras.Input((6,), dtype="int32")
    y = layers.Embedding(40, 32, mask_zero=True)(x)
    y, _, c = layers.LSTM(20, return_sequences=True, return_state=True)(y)
    y = layers.LSTM(12, activation="relu")(y)
    converted = _check(keras.Model(x, layers.Dense(3)(layers.Concatenate()([y, c]))), low=40)
    lstms = [item for item in converted.report.quantized if item.op == "UNIDIRECTIONAL_SEQUENCE_LSTM"]
    assert len([item for item in lstms if item.why]) == 2
    assert [item.type for item in lstms if item.name] == ["int8"] * 8 + ["float16"] * 8


def test_small_results_of_a_kernel_with_one_scale() -> None:
    """In steps of 1/128, tanh of all that is below 0.004 is 0; the hundreds of it that are made later are not."""
    x = keras.Input((8,))
    small = layers.Activation("tanh")(layers.Rescaling(1e-3)(layers.LeakyReLU()(x)))
    converted = _check(keras.Model(x, layers.Rescaling(500.0)(small)))
    assert _floats(converted) == {"TANH": 1}


def test_outputs_that_are_returned_twice_and_constants() -> None:
    dense = keras.Sequential([keras.Input((6, 5)), layers.Dense(4)])
    randomize(dense, 1)

    def model(x: tf.Tensor) -> tuple[tf.Tensor, ...]:
        y = dense(x)
        return y, tf.constant([[1.5, -2.25, 3.0]]), y, tf.nn.tanh(y)

    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        return rng.uniform(-2, 2, shape).astype(dtype)

    rng, spec = np.random.default_rng(1), tf.TensorSpec((None, 6, 5), tf.float32)
    data = [{"x0": draw(rng, (3, 6, 5), np.dtype(np.float32))} for _ in range(40)]
    for quantize, sizes in (("dynamic", {"SLICE": 1}), ("int8", {"DEQUANTIZE": 3}), ("int16x8", {"DEQUANTIZE": 3})):
        options: dict[str, Any] = {"quantize": quantize} | ({} if quantize == "dynamic" else {"calibration_data": data})
        converted = check(model, spec, atol=0.08, inputs=draw, batches=(1, 3), static=False, **options)
        counts = Counter(converted.ops)
        assert {kind: counts[kind] for kind in ("SLICE", "DEQUANTIZE") if counts[kind]} == sizes


def _decoder() -> keras.Model:
    """A fused LSTM of int8 that begins with the states of another one, of which the cell's has 16 bits."""
    x = keras.Input((6, 5), name="x")
    _, *states = layers.LSTM(4, return_state=True)(x)
    return keras.Model(x, layers.LSTM(4, return_sequences=True)(x, initial_state=states))


def _gated() -> keras.Model:
    """A loop that sums up in 16 bits what has 8."""
    x = keras.Input((6, 5), name="x")
    return keras.Model(x, layers.Dense(3)(layers.GRU(7)(x)))


def _repeated() -> keras.Model:
    x = keras.Input((6, 5), name="x")
    return keras.Model(x, layers.Dense(3)(ops.tile(ops.max(x, axis=1, keepdims=True) - 0.5, [1, 4, 2])))


def _attention() -> keras.Model:
    x = keras.Input((6, 5), name="x")
    y = layers.Dense(8)(x)
    return keras.Model(x, layers.Dense(3)(layers.MultiHeadAttention(2, 4)(y, y)))


@pytest.mark.parametrize(("build", "how"), [
    (_attention, {"quantize": "int8"}), (_decoder, {"quantize": "int8"}),
    (_gated, {"quantize": "int8", "io_types": "int8"}), (_repeated, {"quantize": "int16x8"}),
])  # fmt: skip
def test_tensorflows_runtime_takes_it_too(build: Any, how: dict[str, Any], tmp_path: Any) -> None:
    """TensorFlow 2.21 tiles no int16, and makes none of int8; its XNNPACK ignores a zero point of BATCH_MATMUL."""
    model = build()
    randomize(model, 1)
    model.save(tmp_path / "model.keras")
    rng = np.random.default_rng(1)
    samples = [{"x": rng.uniform(-2, 2, (1, 6, 5)).astype(np.float32)} for _ in range(40)]
    data = convert(tmp_path / "model.keras", calibration_data=samples, **how).data
    feed = np.concatenate([sample["x"] for sample in samples[:3]])
    results = []
    for interpreter in (tf.lite.Interpreter(model_content=data), Interpreter(model_content=data)):
        runner = interpreter.get_signature_runner()
        scale, zero = runner.get_input_details()["x"]["quantization"]
        given = np.clip(np.rint(feed / scale) + zero, -128, 127).astype(np.int8) if scale else feed
        runner(x=given)
        (found,) = runner(x=given).values()
        (detail,) = runner.get_output_details().values()
        scale, zero = detail["quantization"]
        results.append(scale * (found.astype(np.float32) - zero) if scale else found)
    expected = model(feed).numpy()
    for result in results:
        np.testing.assert_allclose(result, expected, atol=0.05 * float(np.ptp(expected)))
