"""A Keras file read as data and through Keras: both files compute the same, that of the data with no more ops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fuseconv import convert
from fuseconv.load.keras import load
from fuseconv.load.keras.model import flat
from fuseconv.load.keras.registry import LAYERS

TOLERANCE = 2e-6
FORMATS = ("keras", "h5")
# What inputs of strings are made of.
WORDS = [b"red", b"green", b"blue", b"", b"grey", b"[UNK]"]
Model = Any


def branches(shape: Sequence[int | None], *layers: Any, dtype: str = "float32", library: Any = None) -> Model:
    """Return a model that calls each of these layers on its only input."""
    import keras

    library = library or keras
    x = library.Input(shape, dtype=dtype, name="x")
    return library.Model(x, [layer(x) for layer in layers])


def randomize(model: Model) -> None:
    """Give a model random weights: biases and statistics that are not zero, variances that are positive."""
    random = np.random.default_rng(7)
    values = []
    for variable in model.weights:
        value = np.asarray(variable.numpy())
        if value.dtype.kind == "f":
            value = (random.normal(size=value.shape) / 2).astype(value.dtype)
            value = np.abs(value) + 0.5 if "variance" in variable.name else value
        values.append(value)
    model.set_weights(values)
    for layer in model.layers:
        if hasattr(layer, "finalize_state"):  # of what a layer computes from its weights once it is loaded
            layer.finalize_state()


def check_ways(
    model: Model, folder: Path, formats: Sequence[str] = FORMATS, most_more: int = 0, **feeds: np.ndarray
) -> None:
    """Assert that both ways convert a model to files with equal inputs, outputs and results.

    formats: of the files to save; Keras loads the first, which takes longest. most_more: how many ops the file of the
    data may have more. feeds: inputs by name; random ones for the others, for an unknown batch of 3."""
    randomize(model)
    keras = None
    for suffix in formats:
        path = folder / f"model.{suffix}"
        model.save(path)
        data = Runner(convert(path, folder / "data.tflite", keras_loader="data").path)
        keras = keras or Runner(convert(path, folder / "keras.tflite", keras_loader="keras").path)
        assert _agree(data.ends(), keras.ends()), (data.ends(), keras.ends())
        assert len(data.ops) <= len(keras.ops) + most_more, (data.ops, keras.ops)
        given = keras.feeds() | feeds
        made, expected = data(given), keras(given)
        for name, value in expected.items():
            assert made[name].shape == value.shape, name
            assert_close(made[name], value, TOLERANCE, name)


def _agree(data: Any, keras: Any) -> bool:
    """Return whether the ends of two files are the same; the data's way may know a size that Keras' does not."""
    if not isinstance(keras, (list, tuple)):
        return bool(data == keras) or (isinstance(keras, np.int32) and keras == -1)
    return len(data) == len(keras) and all(map(_agree, data, keras))


def check_data(
    model: Model, folder: Path, formats: Sequence[str] = FORMATS, tolerance: float = 1e-5, **feeds: np.ndarray
) -> None:
    """Assert that a model whose file is read as data computes what its own call does, on a batch of 3.

    That takes a fraction of the time of `check_ways`. feeds: inputs by name; random ones for the others."""
    randomize(model)
    for suffix in formats:
        path = folder / f"model.{suffix}"
        model.save(path)
        result = convert(path, folder / "model.tflite", keras_loader="data")
        run = Runner(result.path)
        given = run.feeds() | feeds
        (signature,) = load(path).signatures
        outputs = _called(model, [given[name] for name in signature.inputs])
        made, expected = run(given), list(flat(outputs))
        assert len(expected) == len(signature.outputs)
        for name, value, declared in zip(signature.outputs, map(np.asarray, expected), flat(model.outputs)):
            assert made[name].shape == value.shape, (suffix, name)
            dtypes = value.dtype, getattr(declared.dtype, "as_numpy_dtype", declared.dtype)
            assert made[name].dtype in dtypes, (suffix, name)
            assert_close(made[name], value, tolerance, f"{suffix}: {name}")


def _called(model: Model, values: Sequence[np.ndarray]) -> Any:
    """Return what a model computes; of integers in a graph, as `predict` does: elsewhere Keras' layers that change
    pictures hand on integers."""
    import tensorflow as tf

    if any(value.dtype == np.uint8 for value in values):
        return tf.function(lambda: model([tf.constant(value) for value in values], training=False))()
    return model(values, training=False)


def assert_close(made: np.ndarray, expected: np.ndarray, tolerance: float, name: str) -> None:
    """Assert that two results are equal up to a tolerance; words are equal."""
    if made.dtype.kind == "O":
        assert made.tolist() == expected.tolist(), name
    else:
        made, expected = made.astype(float), expected.astype(float)
        np.testing.assert_allclose(made, expected, rtol=tolerance, atol=tolerance, err_msg=name)


def check_cases(
    cases: Mapping[str, Callable[[], Model]], name: str, folder: Path, formats: Sequence[str] = FORMATS,
    most_more: int = 0, **feeds: Any,
) -> None:  # fmt: skip
    """Do as `check_ways` for the first of several models, and as `check_data` for the others: Keras takes longer to
    load a model than all else. The walk over all layers, which is slow, goes both ways with each."""
    import keras

    keras.backend.clear_session()
    if name == next(iter(cases)):
        check_ways(cases[name](), folder, formats, most_more, **feeds)
    else:
        check_data(cases[name](), folder, formats, **feeds)


def registered(module: Any) -> set[str]:
    """Return the names of the layers whose functions a module has."""
    return {name for name, known in LAYERS.items() if known.function.__module__ == module.__name__}


class Runner:
    def __init__(self, path: Path | None) -> None:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType

        plain = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        self.interpreter = Interpreter(str(path), experimental_op_resolver_type=plain)
        self.ops = sorted(op["op_name"] for op in self.interpreter._get_ops_details())
        self.run = self.interpreter.get_signature_runner()

    def ends(self) -> tuple[Any, ...]:
        return tuple(
            [(name, tuple(detail["shape_signature"]), detail["dtype"]) for name, detail in details().items()]
            for details in (self.run.get_input_details, self.run.get_output_details)
        )

    def feeds(self) -> dict[str, np.ndarray]:
        random, feeds = np.random.default_rng(3), {}
        for name, detail in self.run.get_input_details().items():
            shape = [(3 if axis == 0 else 11) if n < 0 else n for axis, n in enumerate(detail["shape_signature"])]
            kind = np.dtype(detail["dtype"]).kind
            value = random.normal(size=shape) if kind == "f" else random.integers(0, 6, shape)
            feeds[name] = value.astype(detail["dtype"]) if kind in "fiub" else np.array(WORDS, object)[value]
        return feeds

    def __call__(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return self.run(**feeds)  # type: ignore[no-any-return]
