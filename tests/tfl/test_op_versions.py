"""Operator versions and the runtime version are those that TFLiteConverter writes for the same ops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fuseconv.inspecting import inspect
from fuseconv.ir import types
from fuseconv.ir.graph import Op, Quantization, Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.op_versions import op_version
from fuseconv.tfl.opdef import TABLE
from fuseconv.tfl.runtime_versions import min_runtime_version


def ops_of(description: dict[str, Any]) -> Iterator[tuple[Op, int]]:
    """The builtin ops of an inspected file as ops of ours, with the versions that the file gives them."""
    for subgraph in description["subgraphs"]:
        values = [value_of(tensor) for tensor in subgraph["tensors"]]
        for entry in subgraph["ops"]:
            definition = TABLE.get(entry["op"])
            if definition is None:
                continue
            attrs = {name: value for name, value in entry["options"].items() if name in definition.defaults}
            op = Op(f"tfl.{entry['op']}", [values[i] if i >= 0 else None for i in entry["operands"]], attrs)
            op.results = [values[i] for i in entry["results"]]
            yield op, entry["version"]


def value_of(tensor: dict[str, Any]) -> Value:
    shape = tuple(tensor["shape_signature"] or tensor["shape"])
    value = Value(types.BY_NAME[tensor["type"].lower()], shape, tensor["name"])
    parameters = tensor["quantisation"]
    if parameters is not None:
        count = parameters["count"]
        scale = parameters["scale"][:1] * count
        value.quantization = Quantization(tuple(scale), tuple(parameters["zero_point"][:1] * count), parameters["axis"])
    return value


def newest(pairs: Iterable[tuple[Op, int]]) -> dict[str, int]:
    """TFLiteConverter gives all ops of one kind the version that the newest of them needs."""
    versions: dict[str, int] = {}
    for op, version in pairs:
        versions[op.type] = max(version, versions.get(op.type, 0))
    return versions


def arithmetic(tf: Any, x: Any) -> list[Any]:
    y = x + 1
    t = tf.transpose(x, [0, 1, 3, 2])[..., :1, :1]
    wide = tf.reshape(x, [1, 2, 4, 1, 6, 3])
    return [
        x + t, x - t, x * t, x / t, x // y, tf.math.floormod(x, y), tf.pow(x, y), tf.maximum(x, y), tf.minimum(x, t),
        tf.math.squared_difference(x, y), tf.math.atan2(x, y), x == y, x != y, x < y, x <= y, x > y, x >= y,
        tf.logical_and(x > 0, y > 1), tf.logical_or(x > 0, y > 1), tf.logical_not(x > 0), tf.abs(x), -x, tf.sign(x),
        tf.square(x), tf.exp(x), tf.math.log(y), tf.sqrt(y), tf.math.rsqrt(y), tf.sin(x), tf.cos(x), tf.floor(x),
        tf.math.ceil(x), tf.round(x), tf.tanh(x), tf.sigmoid(x), tf.nn.relu(x), tf.nn.relu6(x), tf.nn.elu(x),
        tf.nn.leaky_relu(x, 0.3), tf.nn.gelu(x, True), tf.where(x > 0, x, y), tf.where(x > 0), tf.cast(x, tf.int32),
        tf.cast(x, tf.float16), tf.cast(tf.cast(x, tf.int8), tf.float32), tf.cast(tf.cast(x, tf.uint32), tf.float32),
        wide + wide[..., :1], tf.transpose(wide, [2, 1, 0, 3, 4, 5]), wide - wide[..., :1], wide / wide[..., :1],
        tf.maximum(wide, wide[..., :1]),
    ]  # fmt: skip


def arrays(tf: Any, x: Any) -> list[Any]:
    size = tf.shape(x)
    flat = tf.reshape(x, [-1, 3])
    five = tf.reshape(x, [2, 2, 2, 6, 3])
    flags = x > 0
    whole = tf.cast(x, tf.int32)
    batch, depth = tf.split(x, 2, 2)
    return [
        flat, tf.transpose(x, [0, 3, 1, 2]), tf.transpose(five, [4, 3, 2, 1, 0]), tf.transpose(flags, [3, 2, 1, 0]),
        tf.concat([x, x + 1], 1), tf.slice(x, [0, 1, 0, 0], [2, 2, 6, 3]), x[:, ::2], x[:, None, ..., 1], five[..., 0],
        flags[:, 1], tf.gather(x, [1, 0], axis=1), tf.gather(x, whole[:, :, 0, 0] % 2, axis=1, batch_dims=1),
        tf.gather(flags, [0, 1]), tf.gather_nd(x, [[0, 1], [1, 2]]), tf.stack([x, x + 1]), *tf.unstack(x, axis=1),
        *tf.unstack(flags), batch, depth, *tf.split(whole, 3, 3), *tf.split(x, [1, 3], 1),
        tf.pad(x, [[0, 0], [1, 1], [0, 0], [0, 0]]), tf.pad(x, [[0, 0], [1, 1], [0, 0], [0, 0]], constant_values=2.0),
        tf.pad(five, [[0, 1]] * 5), tf.pad(x, [[0, 0], [1, 1], [0, 0], [0, 0]], "REFLECT"), tf.tile(x, [1, 2, 1, 1]),
        tf.broadcast_to(x[:1], [3, 4, 6, 3]), tf.one_hot(whole, 4), tf.fill(size[:2], x[0, 0, 0, 0]),
        tf.range(size[0] + 3), tf.expand_dims(x, 1), tf.squeeze(x[:1], 0), tf.reverse(x, [1]), tf.reverse(flags, [1]),
        tf.space_to_batch_nd(x, [2, 2], [[0, 0], [0, 0]]), tf.nn.space_to_depth(x, 2), tf.zeros_like(x), size,
        tf.nn.depth_to_space(tf.concat([x, x[..., :1]], 3), 2), tf.scatter_nd([[0], [1]], flat[:2], [4, 3]),
        tf.linalg.diag(flat), tf.tensor_scatter_nd_update(flat, [[1]], flat[:1]), tf.math.cumsum(x, 1),
        *tf.math.top_k(flat, 2), tf.argmax(x, 1), tf.argmin(x, 2, tf.int32), *tf.unique(tf.reshape(whole, [-1])),
        tf.reduce_sum(x, 1), tf.reduce_mean(x, [1, 2]), tf.reduce_max(x, 1), tf.reduce_min(x, 1),
        tf.reduce_prod(x, 1), tf.reduce_any(flags, 1), tf.reduce_all(flags, 1), tf.math.segment_sum(flat, [0] * 16),
        tf.reverse_sequence(x, [1, 2], 1), tf.fill(size[:2], flags[0, 0, 0, 0]),
    ]  # fmt: skip


def layers(tf: Any, x: Any) -> list[Any]:
    filters = tf.constant(np.ones((3, 3, 3, 4), np.float32))
    grouped = tf.constant(np.ones((3, 3, 1, 6), np.float32))
    depthwise = tf.constant(np.ones((3, 3, 3, 2), np.float32))
    dense = tf.constant(np.ones((3, 5), np.float32))
    return [
        tf.nn.conv2d(x, filters, 1, "SAME"), tf.nn.conv2d(x, grouped, 1, "SAME"),
        tf.nn.depthwise_conv2d(x, depthwise, [1, 1, 1, 1], "SAME"),
        tf.nn.depthwise_conv2d(x, depthwise, [1, 1, 1, 1], "SAME", dilations=[2, 2]),
        tf.nn.conv2d_transpose(x, tf.transpose(filters, [0, 1, 3, 2]), [2, 8, 12, 4], 2),
        tf.nn.relu(tf.nn.conv2d_transpose(x, tf.transpose(filters, [0, 1, 3, 2]), [2, 8, 12, 4], 2) + np.ones(4, "f")),
        tf.matmul(tf.reshape(x, [-1, 3]), dense), tf.matmul(x, x, transpose_b=True), tf.nn.avg_pool2d(x, 2, 2, "SAME"),
        tf.nn.max_pool2d(x, 2, 2, "VALID"), tf.nn.softmax(x), tf.nn.log_softmax(x),
        tf.nn.local_response_normalization(x), tf.image.resize(x, [8, 8]), tf.image.resize(x, [8, 8], "nearest"),
        tf.compat.v1.image.resize_bilinear(x, [8, 8], align_corners=True), tf.nn.l2_normalize(x, -1),
        tf.nn.conv3d(x[..., None], tf.ones([2, 2, 2, 1, 4]), [1] * 5, "SAME"),
        tf.quantization.fake_quant_with_min_max_args(x, narrow_range=True),
        tf.signal.rfft2d(x), tf.abs(tf.signal.rfft2d(x)), tf.math.real(tf.signal.rfft2d(x)),
    ]  # fmt: skip


def integers(tf: Any, x: Any) -> list[Any]:
    results = []
    for dtype in (tf.int32, tf.int64, tf.int16, tf.int8):
        y = tf.cast(x * 10, dtype)
        results += [tf.reshape(y, [-1]), y[:, ::2], tf.gather(y, [0, 1], axis=1), tf.concat([y, y[:1]], 0)]
        if dtype in (tf.int32, tf.int64):
            results += [y + y[:1], y - y[:1], y * y[:1], tf.maximum(y, y[:1]), y < y[:1], tf.tile(y, [1, 2, 1, 1])]
            results += [tf.transpose(y, [3, 2, 1, 0]), y == y[:1]]
        if dtype == tf.int32:
            results += [y // (y[:1] + 1), tf.abs(y), tf.sign(y)]
    return results


def convert(function: Callable, folder: Path, shape: list[int | None]) -> dict[str, Any]:
    import tensorflow as tf

    traced = tf.function(lambda x: function(tf, x)).get_concrete_function(tf.TensorSpec(shape, tf.float32, name="x"))
    data = tf.lite.TFLiteConverter.from_concrete_functions([traced]).convert()
    (folder / "peer.tflite").write_bytes(data)
    return inspect(folder / "peer.tflite")


@pytest.mark.parametrize(("function", "least"), [(arithmetic, 43), (arrays, 42), (layers, 17), (integers, 10)])
def test_versions_of_float_and_integer_ops(function: Callable, least: int, tmp_path: Path):
    description = convert(function, tmp_path, [2, 4, 6, 3])
    pairs = list(ops_of(description))
    assert len({op.kind for op, _ in pairs}) >= least
    assert newest((op, op_version(op)) for op, _ in pairs) == newest(pairs)
    runtime = next(entry["text"] for entry in description["metadata"] if entry["name"] == "min_runtime_version")
    assert min_runtime_version((op.type, op_version(op)) for op, _ in pairs) == runtime


@pytest.mark.parametrize("scheme", ["dynamic range", "int8"])
def test_versions_of_quantized_ops(scheme: str, tmp_path: Path):
    import tensorflow as tf

    rng = np.random.default_rng(0)
    kernel = tf.constant(rng.normal(size=(3, 3, 8, 64)).astype(np.float32))
    depthwise = tf.constant(rng.normal(size=(3, 3, 64, 2)).astype(np.float32))
    dense = tf.constant(rng.normal(size=(128, 64)).astype(np.float32))

    def model(x):
        y = tf.nn.relu6(tf.nn.conv2d(x, kernel, 1, "SAME"))
        y = tf.nn.depthwise_conv2d(y, depthwise, [1, 1, 1, 1], "SAME")
        y = tf.nn.max_pool2d(tf.concat([y, y * y], 1), 2, 2, "SAME") - 1.0
        y = tf.pad(tf.nn.leaky_relu(y, 0.1), [[0, 0], [1, 1], [0, 0], [0, 0]])
        y = tf.matmul(tf.reduce_mean(y, [1, 2]), dense)
        return tf.nn.softmax(tf.sigmoid(y) + tf.tanh(y))

    traced = tf.function(model).get_concrete_function(tf.TensorSpec([1, 6, 6, 8], tf.float32, name="x"))
    converter = tf.lite.TFLiteConverter.from_concrete_functions([traced])
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if scheme == "int8":
        samples = rng.normal(size=(3, 1, 6, 6, 8)).astype(np.float32)
        converter.representative_dataset = lambda: ([sample] for sample in samples)
    (tmp_path / "peer.tflite").write_bytes(converter.convert())
    pairs = list(ops_of(inspect(tmp_path / "peer.tflite")))
    assert max(version for _, version in pairs) > 1
    assert newest((op, op_version(op)) for op, _ in pairs) == newest(pairs)


def value(dtype: types.DType, *shape: int) -> Value:
    return Value(dtype, shape, "x")


def version_of(kind: str, *operands: Value | None, **attrs: Any) -> int:
    ops: list[Op] = []
    Builder(ops, "op").op(kind, operands, attrs)
    return op_version(ops[0])


def test_versions_of_recurrent_ops():
    x, state = value(types.FLOAT32, 1, 5, 3), value(types.FLOAT32, 1, 4)
    for dtype, versions in ((types.FLOAT32, (1, 1)), (types.INT8, (2, 3))):
        w, r, b = value(dtype, 4, 3), value(dtype, 4, 4), value(types.FLOAT32, 4)
        lstm = (x, *[w] * 4, *[r] * 4, *[None] * 3, *[b] * 4, None, None, state, state)
        for asymmetric, version in zip((False, True), versions, strict=True):
            options = {"asymmetric_quantize_inputs": asymmetric}
            assert version_of("UNIDIRECTIONAL_SEQUENCE_LSTM", *lstm, **options) == version
            assert version_of("UNIDIRECTIONAL_SEQUENCE_RNN", x, w, r, b, state, **options) == version
    float_lstm = (x, *[value(types.FLOAT32, 4, 3)] * 4, *[value(types.FLOAT32, 4, 4)] * 4)
    rest = (*[None] * 3, *[value(types.FLOAT32, 4)] * 4, None, None, state, state)
    assert version_of("UNIDIRECTIONAL_SEQUENCE_LSTM", *float_lstm, *rest, diagonal_recurrent_tensors=True) == 4
