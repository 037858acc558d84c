"""Keras models in memory become functions with the names of their layers."""

from __future__ import annotations

from typing import Any

import keras
import pytest
import tensorflow as tf
import tf_keras

from fuseconv.load.through_keras.trace_model import NoInputs, Untraceable, call_error, trace_model


@pytest.mark.parametrize("library", [keras, tf_keras])
def test_names_are_those_of_layers(library: Any) -> None:
    a, b = library.Input((2,), name="a"), library.Input((3,), name="b")
    both = library.layers.Concatenate(name="both")([a, b])
    model = library.Model([b, a], [library.layers.Dense(1, name="out")(both), both])
    traced = trace_model(model, library is keras)
    assert (traced.inputs, traced.outputs) == (["b", "a"], ["out", "both"])
    assert [tuple(tensor.shape) for tensor in traced.function.inputs[:2]] == [(None, 3), (None, 2)]


def test_layers_may_branch_on_tensors_in_python() -> None:
    class Halved(tf_keras.layers.Layer):
        def call(self, x: tf.Tensor) -> tf.Tensor:
            while tf.reduce_max(x) > 1:
                x = x / 2
            return x

    x = tf_keras.Input((3,), name="x")
    traced = trace_model(tf_keras.Model(x, Halved()(x)), is_keras3=False)
    assert traced.function(tf.constant([[4.0, 3.0, 1.0]])).numpy().tolist() == [[1.0, 0.75, 0.25]]


@pytest.mark.parametrize("library", [keras, tf_keras])
def test_a_model_that_was_never_built_has_no_inputs(library: Any) -> None:
    with pytest.raises(NoInputs):
        trace_model(library.Sequential([library.layers.Dense(1)]), library is keras)


@pytest.mark.parametrize("library", [keras, tf_keras])
def test_what_a_layer_raises_is_the_cause_and_what_fuseconv_raises_is_not(
    library: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Refusing(library.layers.Layer):  # type: ignore[name-defined, misc]
        refuses = False

        def call(self, x: Any) -> Any:
            if self.refuses:
                raise ArithmeticError("not today")
            return x + 1

    x, layer = library.Input((3,), name="x"), Refusing()
    model = library.Model(x, layer(x))
    layer.refuses = True
    with pytest.raises(Untraceable, match="not today") as caught:
        trace_model(model, library is keras)
    assert isinstance(caught.value.__cause__, ArithmeticError)
    layer.refuses = False
    monkeypatch.setattr("fuseconv.load.through_keras.trace_model.Traced", None)
    with pytest.raises(TypeError):
        trace_model(model, library is keras)


def test_the_reason_why_a_layer_cannot_be_called_is_one_line() -> None:
    class Refusing(tf_keras.layers.Layer):
        def call(self, x: tf.Tensor) -> tf.Tensor:
            raise ValueError("it takes no such shape.\nAnd more")

    with pytest.raises(ValueError) as caught:
        Refusing()(tf.ones([2, 3]))
    assert call_error(caught.value).endswith("(type Refusing): it takes no such shape")
    assert call_error(ValueError("as it is.")) == "as it is."
