"""Keras files become modules like those of SavedModels."""

from __future__ import annotations

import importlib
import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module
from fuseconv.load.through_keras import model_file
from fuseconv.load.through_keras.model_file import load, other_keras, trace
from fuseconv.load.traced_functions import SIGNATURE

TESTDATA = Path("testdata")


def kinds(graph: Graph) -> list[str]:
    return [op.type for op in graph.ops]


def test_keras2_file_goes_to_tf_keras_and_keeps_its_annotations() -> None:
    notes: list[str] = []
    module = load(TESTDATA / "keras2.h5", warn=notes.append)
    assert notes == []
    annotated = [f for f in module.functions.values() if "_implements" in f.attrs]
    assert len(annotated) == 1
    assert annotated[0].attrs["_implements"].name.startswith("lstm_")
    assert annotated[0].attrs["time_major"] is True
    (signature,) = module.signatures
    assert (signature.names, signature.inputs, signature.outputs) == ([SIGNATURE], ["steps"], ["score"])
    steps, rows, features = signature.graph.inputs[0].shape or ()
    assert (steps, features) == (7, 5)
    assert not isinstance(rows, int)


def test_tf_keras_reads_hdf5_of_the_name_of_an_archive(tmp_path: Path) -> None:
    (tmp_path / "model.keras").write_bytes((TESTDATA / "keras2.h5").read_bytes())
    module = load(tmp_path / "model.keras")
    assert kinds(module.signatures[0].graph) == kinds(load(TESTDATA / "keras2.h5").signatures[0].graph)


def test_keras3_hdf5_needs_no_note() -> None:
    notes: list[str] = []
    module = load(TESTDATA / "keras3.h5", warn=notes.append)
    assert notes == []
    assert module.signatures[0].outputs == ["class"]
    assert "DepthwiseConv2dNative" in kinds(module.signatures[0].graph)


def test_names_of_several_inputs_and_outputs() -> None:
    traced = trace(TESTDATA / "keras3.keras")
    (signature,) = load(TESTDATA / "keras3.keras").signatures
    assert signature.inputs == traced.inputs == ["extra", "image"]
    assert signature.outputs == traced.outputs == ["label", "value"]
    rng = np.random.default_rng(1)
    image, extra = rng.normal(size=(2, 8, 8, 2)), rng.normal(size=(2, 3))
    import tensorflow as tf

    results = traced.function(tf.constant(extra, tf.float32), tf.constant(image, tf.float32))
    expected = traced.model({"image": image, "extra": extra}, training=False)
    for key, tensor in expected.items():
        np.testing.assert_allclose(results[key], tensor, rtol=1e-6)


def test_variables_are_those_of_the_model() -> None:
    module = load(TESTDATA / "keras3.h5")
    weights = {weight.path: weight.numpy() for weight in trace(TESTDATA / "keras3.h5").model.weights}
    assert module.variables.keys() == weights.keys()
    for name, variable in module.variables.items():
        np.testing.assert_array_equal(variable.data, weights[name])
    handles = [op for op in module.signatures[0].graph.ops if op.type == "VarHandleOp"]
    assert {op.attrs["shared_name"] for op in handles} == weights.keys()
    assert all(op.attrs["shape"] == module.variables[op.attrs["shared_name"]].shape for op in handles)


def test_same_names_each_time() -> None:
    def names(module: Module) -> list[str]:
        return [op.name for op in module.signatures[0].graph.ops]

    assert names(load(TESTDATA / "keras3.keras")) == names(load(TESTDATA / "keras3.keras"))


@pytest.fixture(params=["keras", "tf_keras"])
def library(request: pytest.FixtureRequest) -> Any:
    return importlib.import_module(request.param)


@pytest.mark.parametrize("suffix", ["h5", "keras"])
def test_sequential(library: Any, suffix: str, tmp_path: Path) -> None:
    layers = library.layers
    first = library.Input((5,), name="numbers")
    model = library.Sequential([first, layers.Dense(4, name="hidden"), layers.Dense(2, name="out")])
    path = tmp_path / f"model.{suffix}"
    model.save(path)
    (signature,) = load(path).signatures
    assert signature.outputs == ["out"]
    assert signature.inputs == ["numbers"]
    assert kinds(signature.graph).count("MatMul") == 2


def test_two_outputs_of_one_layer_have_two_names(library: Any, tmp_path: Path) -> None:
    layers = library.layers
    x = library.Input((4, 3), name="x")
    sequence, last, _ = layers.LSTM(2, return_sequences=True, return_state=True, name="lstm")(x)
    library.Model(x, [sequence, last]).save(tmp_path / "model.keras")
    assert load(tmp_path / "model.keras").signatures[0].outputs == ["lstm", "lstm_1"]


def test_declared_batch_is_kept(library: Any, tmp_path: Path) -> None:
    x = library.Input(batch_shape=(2, 3), name="x")
    library.Model(x, library.layers.Dense(1)(x)).save(tmp_path / "model.h5")
    assert load(tmp_path / "model.h5").signatures[0].graph.inputs[0].shape == (2, 3)


def test_dropout_and_batch_norm_are_in_inference_mode(library: Any, tmp_path: Path) -> None:
    layers = library.layers
    x = library.Input((4,), name="x")
    y = layers.BatchNormalization()(layers.Dropout(0.5)(layers.GaussianNoise(1.0)(x)))
    library.Model(x, y).save(tmp_path / "model.keras")
    module = load(tmp_path / "model.keras")
    found = set(kinds(module.signatures[0].graph))
    assert not {kind for kind in found if "Random" in kind or "Assign" in kind or kind == "Mean"}


def test_lookup_table(library: Any, tmp_path: Path) -> None:
    import tensorflow as tf

    x = library.Input((1,), dtype=tf.string if library.__name__ == "tf_keras" else "string", name="words")
    library.Model(x, library.layers.StringLookup(vocabulary=["red", "green"])(x)).save(tmp_path / "model.keras")
    module = load(tmp_path / "model.keras")
    (table,) = module.tables.values()
    assert (table.key_dtype, table.value_dtype) == (types.STRING, types.INT64)
    assert table.keys is not None and table.values is not None
    assert dict(zip(table.keys.tolist(), table.values.tolist(), strict=True)) == {b"red": 1, b"green": 2}
    handles = [op for graph in module.graphs() for op in graph.ops if op.type == "HashTableV2"]
    assert [op.attrs["shared_name"] for op in handles] == [table.name]


@pytest.mark.parametrize("name", ["lambda.keras", "keras2_lambda.h5"])
def test_lambda_layer_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"Lambda layer 'twice'.*--trust-model"):
        load(TESTDATA / name)


@pytest.mark.parametrize("suffix", ["h5", "keras"])
def test_a_layer_with_the_name_of_an_operation_is_the_users_own(library: Any, suffix: str, tmp_path: Path) -> None:
    class Log(library.layers.Layer):  # type: ignore[name-defined,misc]
        def call(self, x: Any) -> Any:
            return x * 2.0

    x = library.Input((4,), name="x")
    path = tmp_path / f"model.{suffix}"
    library.Model(x, Log()(x)).save(path)
    with pytest.raises(InputError, match=r"uses 'Log'.* which Keras does not know"):
        load(path)


@pytest.mark.parametrize("suffix", ["h5", "keras"])
def test_lambda_layer_of_a_trusted_file(library: Any, suffix: str, tmp_path: Path) -> None:
    # Made here: bytecode belongs to the Python that wrote it.
    x = library.Input((4,), name="x")
    model = library.Model(x, library.layers.Lambda(lambda t: t * 2.0 + 1.0, output_shape=(4,))(x))
    path = tmp_path / f"model.{suffix}"
    model.save(path)
    with pytest.raises(InputError, match="--trust-model"):
        load(path)
    assert {"Mul", "AddV2"} <= set(kinds(load(path, trust_model=True).signatures[0].graph))


def test_unknown_class_of_an_archive() -> None:
    with pytest.raises(InputError, match=r"uses 'Scale'.*--plugin"):
        load(TESTDATA / "custom.keras")


def test_a_mask_in_an_hdf5_file_of_keras_3_is_what_keras_cannot_load(tmp_path: Path) -> None:
    keras = importlib.import_module("keras")
    tokens = keras.Input((7,), name="tokens")
    vectors = keras.layers.Embedding(10, 4, mask_zero=True)(tokens)
    keras.Model(tokens, keras.layers.LSTM(3)(vectors)).save(tmp_path / "model.h5")
    with pytest.raises(InputError, match=r"^Keras cannot load .* operations \(NotEqual\).*; save the model as \.keras"):
        trace(tmp_path / "model.h5")


def test_custom_class_of_an_archive() -> None:
    import keras

    class Scale(keras.layers.Layer):
        def build(self, shape: Any) -> None:
            self.factor = self.add_weight(shape=(shape[-1],), name="factor")

        def call(self, x: Any) -> Any:
            return x * self.factor

    # The file has it registered as "testdata>Scale".
    module = load(TESTDATA / "custom.keras", custom_objects={"Scale": Scale})
    assert "scale/factor" in module.variables


def test_custom_class(library: Any, tmp_path: Path) -> None:
    class Doubled(library.layers.Layer):
        def call(self, x: Any) -> Any:
            return x + x

    x = library.Input((4,), name="x")
    library.Model(x, Doubled(name="doubled")(x)).save(tmp_path / "model.h5")
    with pytest.raises(InputError, match=r"uses 'Doubled'.*--plugin"):
        load(tmp_path / "model.h5")
    module = load(tmp_path / "model.h5", custom_objects={"Doubled": Doubled})
    assert "AddV2" in kinds(module.signatures[0].graph)
    assert module.signatures[0].outputs == ["doubled"]


def test_custom_function_of_an_older_file(tmp_path: Path) -> None:
    import h5py
    import tf_keras

    def doubled(x: Any) -> Any:
        return x + x

    model = tf_keras.Sequential([tf_keras.Input((4,)), tf_keras.layers.Dense(2, activation="softplus")])
    model.save(tmp_path / "model.h5")
    with h5py.File(tmp_path / "model.h5", "r+") as file:
        file.attrs["model_config"] = file.attrs["model_config"].replace('"softplus"', '"doubled"')
    with pytest.raises(InputError, match=r"uses 'doubled'.*--plugin"):
        load(tmp_path / "model.h5")
    module = load(tmp_path / "model.h5", custom_objects={"doubled": doubled})
    assert "AddV2" in kinds(module.signatures[0].graph)


def test_subclassed_model(tmp_path: Path) -> None:
    import keras

    class Net(keras.Model):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.dense = keras.layers.Dense(3)

        def call(self, x: Any) -> Any:
            return {"score": self.dense(x)}

    net = Net()
    net(np.zeros((2, 4), np.float32))
    net.save(tmp_path / "net.keras")
    (signature,) = load(tmp_path / "net.keras", custom_objects={"Net": Net}).signatures
    assert (signature.inputs, signature.outputs) == (["inputs"], ["score"])
    batch, width = signature.graph.inputs[0].shape or ()
    assert width == 4
    assert not isinstance(batch, int)


def test_a_file_of_keras2_with_a_layer_of_keras3_goes_to_that(tmp_path: Path) -> None:
    import keras
    import tf_keras

    class Halved(tf_keras.layers.Layer):
        def call(self, x: Any) -> Any:
            return x / 2

    class HalvedBy3(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            return x / 2

    tf_keras.Sequential([tf_keras.Input((4,)), Halved()]).save(tmp_path / "net.h5")
    notes: list[str] = []
    load(tmp_path / "net.h5", custom_objects={"Halved": HalvedBy3}, warn=notes.append)
    assert re.search(r"net.h5 was loaded with Keras 3, as tf-keras refused it: .*Layer", "".join(notes))


def test_damaged_weights(tmp_path: Path) -> None:
    path = tmp_path / "model.h5"
    path.write_bytes((TESTDATA / "keras3.h5").read_bytes())
    import h5py

    with h5py.File(path, "r+") as file:
        del file["model_weights"]
    with pytest.raises(InputError, match=r"cannot be loaded\. Keras 3: "):
        load(path)


def test_damaged_archive(tmp_path: Path) -> None:
    path = tmp_path / "model.keras"
    data = bytearray((TESTDATA / "keras3.keras").read_bytes())
    data[len(data) // 2] ^= 0xFF  # within the weights
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"is damaged or cut off: .*CRC"):
        load(path)


def test_what_keras_says_of_functions_has_their_names_and_no_addresses(tmp_path: Path) -> None:
    import keras

    x = keras.Input((3, 4))
    keras.Model(x, keras.layers.Attention()([x, x])).save(tmp_path / "model.h5")  # which Keras does not load again
    with pytest.raises(InputError, match=r"Received: score_mode=dot$"):
        load(tmp_path / "model.h5")


def test_what_keras_says_of_a_layer_s_call_has_the_reason(tmp_path: Path) -> None:
    import keras

    x = keras.Input((3,))
    keras.Model(x, keras.layers.Activation("threshold")(x)).save(tmp_path / "model.keras")  # it needs two numbers
    with pytest.raises(InputError, match=r"Keras 3: Activation\.call\(\): threshold\(\) missing 2 [^\x1b\n]*$"):
        load(tmp_path / "model.keras")


def test_both_refuse(tmp_path: Path) -> None:
    import h5py

    path = tmp_path / "model.h5"
    config = {"name": "net", "layers": [{"class_name": "Dense", "config": {"nonsense": 1}}]}
    with h5py.File(path, "w") as file:
        file.attrs["model_config"] = json.dumps({"class_name": "Sequential", "config": config})
    with pytest.raises(InputError, match=r"tf-keras: .*; Keras 3: "):
        load(path)


def test_sparse_input_is_refused(library: Any, tmp_path: Path) -> None:
    x = library.Input((4,), sparse=True, name="x")
    library.Model(x, library.layers.Dense(2)(x)).save(tmp_path / "model.keras")
    with pytest.raises(InputError, match="sparse or ragged"):
        load(tmp_path / "model.keras")


def test_weights_that_an_older_keras_has_not_saved_are_not_made_up(tmp_path: Path) -> None:
    """Keras before 3.15 saves no layers in lists of lists; today's gives them their first weights, and warns."""
    import keras

    class Blocks(keras.layers.Layer):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.blocks = [[keras.layers.Dense(3)]]

        def call(self, x: Any) -> Any:
            return self.blocks[0][0](x)

    x = keras.Input((3,))
    keras.Model(x, Blocks()(x)).save(tmp_path / "new.keras")
    assert load(tmp_path / "new.keras", custom_objects={"Blocks": Blocks})
    with zipfile.ZipFile(tmp_path / "new.keras") as new, zipfile.ZipFile(tmp_path / "old.keras", "w") as old:
        weights = io.BytesIO(new.read("model.weights.h5"))
        with h5py.File(weights, "r+") as file:
            del file["layers/blocks/blocks/container"]
        for name in ("metadata.json", "config.json"):
            old.writestr(name, new.read(name))
        old.writestr("model.weights.h5", weights.getvalue())
    with pytest.raises(InputError, match=r"no weights for layers/blocks/blocks/container, .*; export the model"):
        load(tmp_path / "old.keras", custom_objects={"Blocks": Blocks})


@pytest.mark.parametrize(("wrote", "installed", "told"), [
    ("3.15.1", "3.12.4", "; keras 3.15.1 wrote it, which is newer than the 3.12.4 here: pip install --upgrade keras"),
    ("2.21.0-tf", "2.9.0", "; keras 2.21.0 wrote it, which is newer than the 2.9.0 here: pip install --upgrade keras"),
    ("3.9.0", "3.12.4",
     "; keras 3.9.0 wrote it, which is older than the 3.12.4 here: with that one, export it as a SavedModel"),
    ("3.12.4", "3.12.4", ""), ("", "3.12.4", ""), ("x.y", "3.12.4", ""), ("2.21-tf", "2.17.0", ""),
])  # fmt: skip
def test_a_file_of_another_keras(wrote: str, installed: str, told: str) -> None:
    assert other_keras(wrote, installed, "keras") == told


@pytest.mark.parametrize(("error", "told"), [
    (KeyError("kwargs"), "its architecture lacks 'kwargs'"),
    (TypeError("unhashable type: 'list'"), "of another type than Keras takes (unhashable type: 'list')"),
    (ValueError("units is -1"), "units is -1"),
    (ValueError("2 objects failed, such as <Dense>:\n\nbad shape\n[<Dense>]"), "such as <Dense>: bad shape"),
])  # fmt: skip
def test_what_python_says_inside_keras_is_told_as_what_is_wrong(error: Exception, told: str) -> None:
    assert model_file._reason(error).endswith(told)
