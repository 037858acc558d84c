"""The drop-in for TFLiteConverter does what its settings say, or refuses them by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import fuseconv
from fuseconv import lite
from fuseconv.errors import InputError, UnsupportedError
from fuseconv.inspecting import describe
from fuseconv.runners import TFLiteFile

SPEC = tf.TensorSpec([4, 64], name="x")
WEIGHTS = np.random.default_rng(1).standard_normal((64, 32)).astype(np.float32) / 8
X = np.random.default_rng(2).uniform(-1, 1, (4, 64)).astype(np.float32)


@tf.function(input_signature=[SPEC])
def dense(x: Any) -> Any:
    return tf.nn.relu(x @ WEIGHTS)


def _converter(function: Any = dense) -> lite.TFLiteConverter:
    return lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()])


def _samples() -> Iterator[list[np.ndarray]]:
    for seed in range(4):
        yield [np.random.default_rng(seed).uniform(-1, 1, (4, 64)).astype(np.float32)]


def _ends(data: bytes) -> list[str]:
    graph = describe(data, "file")["subgraphs"][0]
    return [graph["tensors"][index]["type"] for index in (*graph["inputs"], *graph["outputs"])]


def test_without_settings_it_is_the_plain_conversion() -> None:
    converter = _converter()
    data = converter.convert()
    assert data == fuseconv.convert(dense).data
    (actual,) = TFLiteFile(data).run("serving_default", {"x": X}).values()
    np.testing.assert_allclose(actual, np.maximum(X @ WEIGHTS, 0), rtol=1e-5, atol=1e-6)
    assert converter.report is not None and [op.type for op in converter.report.emitted] == ["FULLY_CONNECTED"]


@pytest.mark.parametrize(("settings", "quantize"), [
    ({}, "dynamic"), ({"types": [tf.float16]}, "float16"), ({"types": [np.float16]}, "float16"),
    ({"samples": True}, "int8"), ({"samples": True, "types": [tf.int8]}, "int8"),
    ({"samples": True, "ops": [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]}, "int8"),
    ({"samples": True, "ops": list(lite.OpsSet)[3:]}, "int16x8"),
])  # fmt: skip
def test_settings_choose_the_quantization(settings: dict[str, Any], quantize: str) -> None:
    converter = _converter()
    converter.optimizations = [tf.lite.Optimize.DEFAULT if quantize == "int8" else lite.Optimize.DEFAULT]
    converter.target_spec.supported_types = settings.get("types", [])
    converter.target_spec.supported_ops = settings.get("ops", [lite.OpsSet.TFLITE_BUILTINS])
    if settings.get("samples"):
        converter.representative_dataset = _samples
    calibration = [{"x": sample[0]} for sample in _samples()] if settings.get("samples") else None
    expected = fuseconv.convert(dense, quantize=quantize, calibration_data=calibration)
    assert converter.convert() == expected.data


def test_inputs_and_outputs_may_be_integers() -> None:
    converter = _converter()
    converter.optimizations = {lite.Optimize.DEFAULT}
    converter.representative_dataset = lite.RepresentativeDataset(lambda: ({"x": s[0]} for s in _samples()))
    converter.inference_input_type = tf.uint8
    converter.inference_output_type = tf.int8
    assert _ends(converter.convert()) == ["UINT8", "INT8"]
    converter.inference_output_type = np.float32
    assert _ends(converter.convert()) == ["UINT8", "FLOAT32"]


def test_samples_of_a_signature() -> None:
    converter = _converter()
    converter.optimizations = [lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: (("serving_default", {"x": s[0]}) for s in _samples())
    data = converter.convert()
    converter.representative_dataset = _samples
    assert converter.convert() == data


def test_a_model_that_was_trained_for_integers_needs_no_samples() -> None:
    @tf.function(input_signature=[SPEC])
    def trained(x: Any) -> Any:
        x = tf.quantization.fake_quant_with_min_max_args(x, -1, 1)
        weights = tf.quantization.fake_quant_with_min_max_args(tf.constant(WEIGHTS), -1, 1, narrow_range=True)
        return tf.quantization.fake_quant_with_min_max_args(x @ weights, -4, 4)

    converter = _converter(trained)
    converter.optimizations = [lite.Optimize.DEFAULT]
    converter.inference_input_type = tf.float32
    assert converter.convert() == fuseconv.convert(trained, quantize="int8").data


def test_integers_only_refuses_floats() -> None:
    converter = _converter(tf.function(lambda x: tf.cumsum(tf.nn.relu(x @ WEIGHTS)), input_signature=[SPEC]))
    converter.optimizations = [lite.Optimize.DEFAULT]
    converter.representative_dataset = _samples
    assert converter.convert()
    converter.target_spec.supported_ops = [lite.OpsSet.TFLITE_BUILTINS_INT8]
    with pytest.raises(UnsupportedError, match=r"1 op stays float where .* CUMSUM \(.*; add OpsSet") as caught:
        converter.convert()
    assert [op for op, _, _ in caught.value.ops] == ["CUMSUM"] and caught.value.report is converter.report


@pytest.mark.parametrize("kind", [tf.float32, tf.int8])
def test_integers_only_is_for_recurrent_layers_too(kind: Any) -> None:
    """Their sums are floats else, which CPUs are faster with."""
    import keras

    layers = keras.layers
    model = keras.Sequential([keras.Input((7, 5), name="x"), layers.GRU(4), layers.Dense(3, name="y")])
    steps = np.random.default_rng(2).normal(size=(100, 1, 7, 5)).astype(np.float32)
    converter = lite.TFLiteConverter.from_keras_model(model)
    converter.optimizations = [lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: ([step] for step in steps)
    converter.inference_output_type = kind
    converter.target_spec.supported_ops = [lite.OpsSet.TFLITE_BUILTINS_INT8]
    data = converter.convert()
    assert _ends(data) == ["FLOAT32", "INT8" if kind is tf.int8 else "FLOAT32"]
    if kind is tf.float32:
        (actual,) = TFLiteFile(data).run("serving_default", {"x": steps[0]}).values()
        assert np.abs(actual - model(steps[0]).numpy()).max() < 0.05


def test_a_saved_model_and_its_signature(tmp_path: Path) -> None:
    module = tf.Module()
    module.dense = dense
    tf.saved_model.save(module, str(tmp_path), signatures={"a": dense, "b": dense})
    converter = lite.TFLiteConverter.from_saved_model(str(tmp_path), signature_keys=["b"], tags={"serve"})
    assert [s["key"] for s in describe(converter.convert(), "file")["signatures"]] == ["b"]


def test_a_keras_model() -> None:
    import keras

    model = keras.Sequential([keras.Input((5,), name="x"), keras.layers.Dense(3, name="y")])
    x = X[:, :5]
    data = lite.TFLiteConverter.from_keras_model(model).convert()
    (actual,) = TFLiteFile(data).run("serving_default", {"x": x}).values()
    np.testing.assert_allclose(actual, model(x).numpy(), rtol=1e-5, atol=1e-6)


def test_custom_and_flex_ops() -> None:
    function = tf.function(lambda x: tf.strings.length(tf.io.encode_base64(tf.as_string(x))), input_signature=[SPEC])
    with pytest.raises(UnsupportedError):
        _converter(function).convert()
    converter = _converter(function)
    converter.allow_custom_ops = True
    assert converter.convert() == fuseconv.convert(function, allow_custom_ops=True).data
    converter = _converter(function)
    converter.target_spec = tf.lite.TargetSpec(
        supported_ops=[tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]
    )
    assert converter.convert() == fuseconv.convert(function, select_tf_ops=True).data


def test_what_gets_loops_past_tflite_converter_is_taken() -> None:
    """The settings that its error messages advise for an LSTM, which has no loop here."""
    saved_model = "testdata/keras2_lstm"
    converter = lite.TFLiteConverter.from_saved_model(saved_model)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]
    converter._experimental_lower_tensor_list_ops = False
    converter._experimental_default_to_single_batch_in_tensor_list_ops = True
    assert converter.convert() == fuseconv.convert(saved_model).data


def test_what_runs_files_is_elsewhere() -> None:
    with pytest.raises(AttributeError, match=r"no Interpreter; from ai_edge_litert\.interpreter import Interpreter"):
        _ = lite.Interpreter
    with pytest.raises(AttributeError, match="has no Optimise; did you mean Optimize"):
        _ = lite.Optimise


def test_unknown_settings_are_refused_when_they_are_set() -> None:
    converter = _converter()
    with pytest.raises(AttributeError, match="has no optimisations; did you mean optimizations"):
        converter.optimisations = []
    with pytest.raises(AttributeError, match="TargetSpec has no supported_op; did you mean supported_ops"):
        converter.target_spec.supported_op = []
    with pytest.raises(AttributeError, match="fuseconv has no experimental_new_converter = False"):
        converter.experimental_new_converter = False
    converter.experimental_new_converter = True
    converter._experimental_disable_per_channel = False
    with pytest.raises(AttributeError, match="fuseconv has no _experimental_disable_per_channel = True"):
        converter._experimental_disable_per_channel = True
    with pytest.raises(AttributeError, match="has no _experimental_low_bit_qat"):
        converter._experimental_low_bit_qat = True
    with pytest.raises(AttributeError, match=r"has no target_ops; use target_spec\.supported_ops"):
        converter.target_ops = []


@pytest.mark.parametrize(("name", "help"), [
    ("experimental_from_jax", r"call fuseconv\.convert"), ("from_session", "save a SavedModel"),
    ("from_savedmodel", "did you mean from_saved_model"),
])  # fmt: skip
def test_where_models_are_taken_from_elsewhere(name: str, help: str) -> None:
    with pytest.raises(AttributeError, match=f"has no {name}; {help}"):
        getattr(lite.TFLiteConverter, name)


@pytest.mark.parametrize(("settings", "why"), [
    ({"optimizations": [tf.lite.Optimize.EXPERIMENTAL_SPARSITY]}, "optimizations: fuseconv has no EXPERIMENTAL_SPARSI"),
    ({"target_spec": lite.TargetSpec(["TFLITE_BUILTIN"])}, "fuseconv has no TFLITE_BUILTIN; did you mean TFLITE_BUILT"),
    ({"target_spec": lite.TargetSpec(supported_types=[tf.bfloat16])}, "supported_types: fuseconv has no bfloat16"),
    ({"target_spec": lite.TargetSpec(supported_types=[tf.float16])}, "target_spec asks for quantization: set optimiz"),
    ({"target_spec": lite.TargetSpec([lite.OpsSet.SELECT_TF_OPS])}, "fuseconv writes TFLITE_BUILTINS where it can"),
    ({"target_spec": tf.lite.TargetSpec(experimental_select_user_tf_ops=["X"])}, "experimental_select_user_tf_ops is"),
    ({"representative_dataset": _samples}, "representative_dataset asks for quantization"),
    ({"inference_input_type": tf.int8}, "are for models in integers only"),
    ({"optimizations": tf.lite.Optimize.DEFAULT}, "optimizations is a list, not <Optimize.DEFAULT"),
    ({"optimizations": "DEFAULT"}, "optimizations is a list, not 'DEFAULT'"),
    ({"target_spec": None}, "target_spec is a TargetSpec, not None"),
    ({"target_spec": lite.TargetSpec(tf.lite.OpsSet.TFLITE_BUILTINS)}, "target_spec.supported_ops is a list, not"),
    ({"target_spec": lite.TargetSpec(supported_types=tf.float16)}, "target_spec.supported_types is a list, not"),
    ({"target_spec": lite.TargetSpec(supported_types=["half"])}, "supported_types: fuseconv has no half"),
    ({"inference_input_type": None}, "inputs and outputs are of .*, not None"),
    ({"inference_output_type": "int"}, "inputs and outputs are of .*, not int$"),
    ({"optimizations": [lite.Optimize.DEFAULT], "representative_dataset": 3}, "is a function that yields samples"),
    ({"optimizations": [lite.Optimize.DEFAULT], "representative_dataset": lambda: [[X, X]]}, "a sample has 2 arrays"),
    ({"optimizations": [lite.Optimize.DEFAULT], "representative_dataset": lambda: [X]}, "a sample is a list of arrays"),
])  # fmt: skip
def test_what_contradicts_itself_is_refused(settings: dict[str, Any], why: str) -> None:
    converter = _converter()
    for name, value in settings.items():
        setattr(converter, name, value)
    with pytest.raises(InputError, match=why):
        converter.convert()


def test_functions_are_concrete() -> None:
    with pytest.raises(ValueError, match="is no ConcreteFunction: call its get_concrete_function"):
        lite.TFLiteConverter.from_concrete_functions([dense])


def test_what_is_one_is_no_list() -> None:
    with pytest.raises(InputError, match="funcs is a list, not <ConcreteFunction"):
        lite.TFLiteConverter.from_concrete_functions(dense.get_concrete_function())
    with pytest.raises(InputError, match="signature_keys is a list, not 'encode'"):
        lite.TFLiteConverter.from_saved_model("model", signature_keys="encode")


def test_defaults_of_tflite_converter_are_taken() -> None:
    """What says no more than it does by itself, but for its metadata, which no file has here."""
    theirs, ours = tf.lite.TFLiteConverter.from_concrete_functions([dense.get_concrete_function()]), _converter()
    for name in lite._WITHOUT_EFFECT.keys() - {"exclude_conversion_metadata"}:
        setattr(ours, name, getattr(theirs, name))
