"""The type of 16 bits that a model computes in."""

from __future__ import annotations

import pytest
import tensorflow as tf

from fuseconv.load.half_precision import half_type, half_type_of_module


def graph_of(*types: tf.DType, inner: bool = False) -> tf.compat.v1.GraphDef:
    def body(x: tf.Tensor) -> tf.Tensor:
        for dtype in types:
            x = tf.cast(tf.nn.relu(tf.cast(x, dtype)), tf.float32)
        return x

    function = tf.function((lambda x: tf.function(body)(x)) if inner else body)
    return function.get_concrete_function(tf.TensorSpec([2], tf.float32)).graph.as_graph_def()


@pytest.mark.parametrize("inner", [False, True])
def test_the_coarsest_type_counts(inner: bool) -> None:
    assert half_type(graph_of(tf.float32, inner=inner)) == ""
    assert half_type(graph_of(tf.float16, inner=inner)) == "float16"
    assert half_type(graph_of(tf.float16, tf.bfloat16, inner=inner)) == "bfloat16"


def test_weights_of_16_bits_count_for_nothing() -> None:
    weights = tf.constant([1.5, 2.0], tf.float16)
    function = tf.function(lambda x: x * tf.cast(tf.identity(weights), tf.float32))
    assert half_type(function.get_concrete_function(tf.TensorSpec([2], tf.float32)).graph.as_graph_def()) == ""


def test_a_module_of_stablehlo() -> None:
    constant = "%0 = stablehlo.constant dense<1.0> : tensor<2xbf16>\n"
    cast = "%1 = stablehlo.convert %0 : (tensor<2xbf16>) -> tensor<2xf32>\n"
    assert half_type_of_module(constant + cast) == ""
    assert half_type_of_module(constant + "    %2 = stablehlo.add %a, %b : tensor<2xf16> loc(#loc2)\n") == "float16"
    scalar = "    %2 = stablehlo.add %a, %b : tensor<bf16>\n    %3 = stablehlo.exponential %c : tensor<?x2xf16>\n"
    assert half_type_of_module(scalar) == "bfloat16"
    dots = "%3 = stablehlo.dot_general %1, %2 : (tensor<?x3xf16>, tensor<3xf16>) -> tensor<?xf16>"
    assert half_type_of_module(dots) == "float16"
