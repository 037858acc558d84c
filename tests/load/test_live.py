"""Models in memory are converted as they are, and compute what they did."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import fuseconv
from fuseconv.errors import InputError, UnsupportedError
from fuseconv.load.live import model_name
from fuseconv.runners import TFLiteFile
from fuseconv.verifying import verify

RNG = np.random.default_rng(3)
SPEC = tf.TensorSpec([None, 5], name="x")


def _weights(*shape: int) -> tf.Variable:
    return tf.Variable(RNG.standard_normal(shape).astype(np.float32), name="w")


class Dense(tf.Module):
    """Two functions with a variable in common, one of them with a table."""

    def __init__(self) -> None:
        self.w = _weights(5, 3)
        keys, values = tf.constant(["a", "b"]), tf.constant([4, 7], tf.int64)
        self.table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), -1)

    @tf.function(input_signature=[SPEC])
    def encode(self, x: Any) -> Any:
        return tf.nn.relu(x @ self.w)

    @tf.function(input_signature=[tf.TensorSpec([3, None], name="rows"), tf.TensorSpec([4], tf.string, name="word")])
    def decode(self, rows: Any, word: Any) -> Any:
        return {"back": tf.transpose(rows) @ tf.transpose(self.w), "number": self.table.lookup(word)}

    @property
    def broken(self) -> Any:
        raise RuntimeError("nobody may ask for this")


def _run(data: bytes, signature: str, **feed: Any) -> dict[str, np.ndarray]:
    return {name: np.array(array) for name, array in TFLiteFile(data).run(signature, feed).items()}


def _x(rows: int) -> np.ndarray:
    return np.random.default_rng(rows).standard_normal((rows, 5)).astype(np.float32)


def _check(model: Any, expected: Callable[[Any], Any], name: str = "x", signature: str = "serving_default") -> Any:
    """Convert a model of one input, and hold two batches against what it computes itself."""
    conversion = fuseconv.convert(model)
    assert conversion.data is not None
    for rows in (2, 3):
        (actual,) = _run(conversion.data, signature, **{name: _x(rows)}).values()
        np.testing.assert_allclose(actual, np.asarray(expected(tf.constant(_x(rows)))), rtol=1e-5, atol=1e-6)
    assert verify(model, conversion.data).passed
    lost = [node for node, fate in conversion.report.account().items() if not fate]
    assert not lost
    return conversion


def _function(x: Any) -> Any:
    return tf.tanh(x) * 2.0


def test_a_tf_function_with_a_signature() -> None:
    _check(tf.function(_function, input_signature=[SPEC]), _function)


def test_a_tf_function_that_was_called_is_taken_by_its_most_open_trace() -> None:
    function = tf.function(_function)
    function(tf.zeros([1, 5]))
    function.get_concrete_function(SPEC)
    function(tf.zeros([4, 5]))
    _check(function, _function)


def test_a_tf_function_without_a_trace_is_refused() -> None:
    with pytest.raises(InputError, match="_function was never traced: give it an input_signature"):
        fuseconv.convert(tf.function(_function))


def test_a_concrete_function_with_variables_and_tensors() -> None:
    weights, bias = _weights(5, 2), tf.constant([1.0, -2.0])

    @tf.function
    def scaled(x: Any) -> Any:
        return x @ weights + bias

    concrete = scaled.get_concrete_function(SPEC)
    conversion = _check(concrete, scaled)
    assert [op.type for op in conversion.report.emitted] == ["FULLY_CONNECTED"]
    # The variable is read when the model is converted, not when it was traced.
    weights.assign(weights * 3.0)
    _check(concrete, scaled)


def test_structures_of_arguments_and_results() -> None:
    @tf.function
    def pair(x: Any, more: Any, scale: float = 2.0) -> Any:
        return {"sum": x + more["b"] * scale, "all": (more["a"], [x - 1.0])}

    concrete = pair.get_concrete_function(SPEC, {"a": tf.TensorSpec([2]), "b": tf.TensorSpec([5])})
    data = fuseconv.convert(concrete).data
    assert data is not None
    feed = {"x": _x(2), "more_a": np.array([7, 8], np.float32), "more_b": np.arange(5, dtype=np.float32)}
    results = _run(data, "serving_default", **feed)
    np.testing.assert_allclose(results["sum"], feed["x"] + 2 * feed["more_b"], rtol=1e-6)
    np.testing.assert_allclose(results["all_0"], feed["more_a"])
    np.testing.assert_allclose(results["all_1_0"], feed["x"] - 1)
    assert verify(concrete, data).passed


@pytest.mark.parametrize("as_list", [False, True])
def test_several_functions_become_signatures(as_list: bool) -> None:
    module = Dense()
    functions = {"encode": module.encode, "decode": module.decode, "again": module.encode}
    model = [module.encode, module.decode] if as_list else functions
    conversion = fuseconv.convert(model)
    assert conversion.data is not None
    signatures = TFLiteFile(conversion.data).signatures
    assert set(signatures) == ({"encode", "decode"} if as_list else set(functions))
    assert as_list or signatures["encode"][0] == signatures["again"][0]
    _check_dense(conversion.data, module)
    assert verify(model, conversion.data).passed
    assert not [node for node, fate in conversion.report.account().items() if not fate]


def _check_dense(data: bytes, module: Any) -> None:
    x, rows, word = _x(3), np.ascontiguousarray(_x(2)[:, :3].T), np.array([b"b", b"?", b"a", b"b"], object)
    (encoded,) = _run(data, "encode", x=x).values()
    np.testing.assert_allclose(encoded, np.maximum(x @ module.w.numpy(), 0), rtol=1e-5, atol=1e-6)
    decoded = _run(data, "decode", rows=rows, word=word)
    np.testing.assert_allclose(decoded["back"], rows.T @ module.w.numpy().T, rtol=1e-5, atol=1e-6)
    assert decoded["number"].tolist() == [7, -1, 4, 7]


def test_a_module_and_what_is_loaded_of_it(tmp_path: Path) -> None:
    module = Dense()
    live = fuseconv.convert(module)
    tf.saved_model.save(module, str(tmp_path / "functions"))
    tf.saved_model.save(module, str(tmp_path / "signed"), signatures={"encode": module.encode, "decode": module.decode})
    models = [tf.saved_model.load(str(tmp_path / name)) for name in ("functions", "signed")]
    for model, data in [(module, live.data), *((model, fuseconv.convert(model).data) for model in models)]:
        assert data is not None
        _check_dense(data, module)
        assert verify(model, data).passed
    one = fuseconv.convert(module, signatures=["encode"])
    assert [op.type for op in one.report.emitted] == ["FULLY_CONNECTED"]
    with pytest.raises(InputError, match=r"Dense has no signature other; there are decode, encode"):
        fuseconv.convert(module, signatures=["other"])


def test_a_module_is_what_its_call_is() -> None:
    class Callable(Dense):
        @tf.function(input_signature=[SPEC])
        def __call__(self, x: Any) -> Any:
            return self.encode(x) + 1.0

    module = Callable()
    _check(module, module)


def test_a_loaded_model_is_what_its_directory_is(tmp_path: Path) -> None:
    path = "testdata/keras2_lstm"
    loaded = tf.saved_model.load(path)
    ops = [op.type for op in fuseconv.convert(path).report.emitted]
    conversion = fuseconv.convert(loaded)
    assert [op.type for op in conversion.report.emitted] == ops
    assert verify(path, conversion.data or b"").passed


@pytest.mark.parametrize(("name", "kind"), [("tf1", "variable"), ("tf1_table", "table")])
def test_what_tensorflow_loads_of_tf1_is_refused(name: str, kind: str) -> None:
    """Its functions make their variables and tables themselves."""
    with pytest.raises(InputError, match=f"makes the {kind} '.*' itself.* convert the directory that"):
        fuseconv.convert(tf.saved_model.load(f"testdata/{name}"))


def test_a_variable_of_a_function_is_not_the_captured_one_of_its_name() -> None:
    captured = tf.Variable([1.0, 2.0], name="state")

    @tf.function
    def inner(x: Any) -> Any:
        handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[2], shared_name="state")
        tf.raw_ops.AssignVariableOp(resource=handle, value=x)
        return tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)

    function = tf.function(lambda x: inner(x) + captured, input_signature=[tf.TensorSpec([2])])
    with pytest.raises(InputError, match="makes the variable 'VarHandleOp' itself"):
        fuseconv.convert(function)


def test_a_loaded_export_of_keras_holds_its_layers_once(tmp_path: Path) -> None:
    """Keras writes its function twice, as "serve" and "serving_default"."""
    import keras

    keras.Sequential([keras.Input((5, 3)), keras.layers.LSTM(4)]).export(str(tmp_path / "m"), verbose=False)
    report = fuseconv.convert(tf.saved_model.load(str(tmp_path / "m"))).report
    assert [signature.names for signature in report.signatures] == [("serving_default", "serve")]
    assert [op.type for op in report.emitted].count("UNIDIRECTIONAL_SEQUENCE_LSTM") == 1


def test_a_frozen_graph_with_names() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [None, 5], "x")
        y = tf.tanh(x, name="y")
        tf.negative(y, name="z")
    proto = graph.as_graph_def()
    conversion = fuseconv.convert(proto, inputs=["x"], outputs=["y"])
    assert [op.type for op in conversion.report.emitted] == ["TANH"] and conversion.data is not None
    assert verify(proto, conversion.data, inputs=["x"], outputs=["y"]).passed
    assert [op.type for op in fuseconv.convert(proto).report.emitted] == ["TANH", "NEG"]
    with pytest.raises(InputError, match="GraphDef has no node 'no'"):
        fuseconv.convert(proto, outputs=["no"])


def _layers(library: Any) -> list[Any]:
    layers = library.layers
    return [library.Input((6, 5), name="steps"), layers.LSTM(4), layers.Dense(3, "softmax", name="class")]


@pytest.mark.parametrize("name", ["keras", "tf_keras"])
def test_a_keras_model(name: str, tmp_path: Path) -> None:
    library = pytest.importorskip(name)
    model = library.Sequential(_layers(library))
    weights = [RNG.standard_normal(weight.shape).astype(np.float32) for weight in model.get_weights()]
    model.set_weights(weights)
    conversion = fuseconv.convert(model)
    assert conversion.data is not None
    assert "UNIDIRECTIONAL_SEQUENCE_LSTM" in [op.type for op in conversion.report.emitted]
    for rows in (1, 3):
        x = np.random.default_rng(rows).standard_normal((rows, 6, 5)).astype(np.float32)
        actual = _run(conversion.data, "serving_default", steps=x)["class"]
        np.testing.assert_allclose(actual, model(x).numpy(), rtol=1e-5, atol=1e-6)
    assert verify(model, conversion.data).passed
    path = tmp_path / "model.keras"
    model.save(path)
    assert fuseconv.convert(path).data == fuseconv.convert(path).data
    assert verify(path, conversion.data).passed


def test_a_subclassed_model_is_exported() -> None:
    import keras

    class Scale(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = keras.layers.Dense(2)

        def call(self, inputs: Any) -> Any:
            return self.dense(inputs["a"]) * inputs["b"]

    model = Scale()
    feed = {"a": _x(2), "b": np.array([[3], [4]], np.float32)}
    expected = model({name: tf.constant(array) for name, array in feed.items()}).numpy()
    data = fuseconv.convert(model).data
    assert data is not None
    names = sorted(TFLiteFile(data).inputs("serving_default"))  # Keras numbers what is in a structure
    (actual,) = _run(data, "serving_default", **dict(zip(names, feed.values(), strict=True))).values()
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)
    assert verify(model, data).passed


def test_a_keras_model_that_tensorflow_cannot_trace_is_refused() -> None:
    keras = pytest.importorskip("keras")
    x = keras.Input((None, None, 2))
    model = keras.Model(x, keras.layers.UpSampling2D(3, interpolation="bilinear")(x))
    with pytest.raises(InputError, match=r"cannot be traced: UpSampling2D\.call\(\): Using a symbolic"):
        fuseconv.convert(model)


def test_what_has_an_export_writes_its_model() -> None:
    class Exporter:
        def export(self, folder: str) -> None:
            module = tf.Module()
            module.run = tf.function(_function, input_signature=[SPEC])
            tf.saved_model.save(module, folder, signatures=module.run)

    conversion = fuseconv.convert(Exporter())
    assert conversion.report.model == "Exporter" and conversion.data is not None
    (actual,) = _run(conversion.data, "serving_default", x=_x(2)).values()
    np.testing.assert_allclose(actual, np.tanh(_x(2)) * 2, rtol=1e-5)


class _Failing:
    def export(self, folder: str) -> None:
        raise RuntimeError("the disk is full of eels")


class _Lazy:
    def export(self, folder: str) -> None:
        pass


@pytest.mark.parametrize(("model", "why"), [
    (_Failing(), r"_Failing.export\(\) failed: RuntimeError: the disk is full of eels"),
    (_Lazy(), r"_Lazy.export\(directory\) wrote no SavedModel there"),
    (_function, "function '_function' cannot be converted: make a tf.function of it with an input_signature"),
    (["model"], "model cannot be a signature: give one path, and not a list"),
    ({}, "dict of nothing cannot be converted: give a path"),
    (3, "int cannot be converted: give a path, a Keras model"),
    ([_function], "function '_function' cannot be a signature"),
    (tf.Module(), "Module 'module' cannot be converted"),
    (type("PjitFunction", (), {"__module__": "jaxlib._jax"})(), r"PjitFunction cannot be converted: give jax\.export"),
])  # fmt: skip
def test_what_is_no_model_is_refused(model: Any, why: str) -> None:
    with pytest.raises(InputError, match=why):
        fuseconv.convert(model)


def test_what_is_not_dense_is_refused() -> None:
    @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.float32)])
    def ragged(x: Any) -> Any:
        return x.to_tensor()

    @tf.function(input_signature=[SPEC])
    def sparse(x: Any) -> Any:
        return tf.sparse.from_dense(x)

    for function, kind in ((ragged, "an input"), (sparse, "an output")):
        with pytest.raises(InputError, match=f"{kind} of the function .* is sparse, ragged .* take and return dense"):
            fuseconv.convert(function)


def test_what_no_file_holds_is_refused() -> None:
    iterator = iter(tf.data.Dataset.range(3))

    @tf.function(input_signature=[tf.TensorSpec([], tf.int64)])
    def draws(x: Any) -> Any:
        return x + next(iterator)

    with pytest.raises((InputError, UnsupportedError), match=r"resource that is no variable and no table|variant"):
        fuseconv.convert(draws)


def test_a_part_of_a_live_model() -> None:
    module = Dense()
    conversion = fuseconv.convert({"encode": module.encode}, inputs=["matmul"], outputs=["Relu"])
    assert [op.type for op in conversion.report.emitted] == ["RELU"]


def test_a_conversion_writes_a_file(tmp_path: Path) -> None:
    function = tf.function(_function, input_signature=[SPEC])
    conversion = fuseconv.convert(function, tmp_path / "out.tflite")
    assert (tmp_path / "out.tflite").read_bytes() == fuseconv.convert(function).data
    assert conversion.report.model == "Function '_function'"
    assert "trace" in conversion.report.seconds


def test_names() -> None:
    assert model_name("a/b") == "a/b" and model_name(Path("a")) == "a"
    assert model_name(tf.function(_function).get_concrete_function(SPEC)).startswith("ConcreteFunction '")


def test_tensorflow_is_not_imported_for_a_path() -> None:
    code = """if True:
        import fuseconv, sys
        fuseconv.convert("testdata/keras2_lstm")
        try:
            fuseconv.convert(object())
        except fuseconv.InputError as error:
            print(error, "tensorflow" in sys.modules)
    """
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert re.match("object cannot be converted: give a path.*False$", done.stdout)
