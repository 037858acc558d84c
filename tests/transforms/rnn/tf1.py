"""Functions made of TensorFlow 1 graphs, with random weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1


def frozen_graph(
    build: Callable[[Any], Any], shape: Sequence[int | None], functional: bool = True
) -> tuple[Any, list[str]]:
    """A TF1 graph with constants for its variables, and the names of its results.

    build: makes the graph's results of its placeholder x. functional: loops are While ops, else Enter and Exit ops.
    """
    graph = tf.Graph()
    (v1.enable_control_flow_v2 if functional else v1.disable_control_flow_v2)()
    try:
        with graph.as_default(), v1.Session(graph=graph) as session:
            results = tf.nest.flatten(build(v1.placeholder(tf.float32, shape, "x")))
            names = [tf.identity(result).op.name for result in results]
            rng = np.random.default_rng(3)
            for variable in v1.global_variables():
                variable.load(rng.normal(0, 0.4, variable.shape).astype(np.float32), session)
            return v1.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), names), names
    finally:
        v1.enable_control_flow_v2()


def function_of(
    build: Callable[[Any], Any], shape: Sequence[int | None], functional: bool = True
) -> Callable[..., list[tf.Tensor]]:
    """The function of a float32 tensor of this shape that a frozen TF1 graph computes."""
    return function_of_graph(*frozen_graph(build, shape, functional), shape)


def function_of_graph(graph: Any, names: list[str], shape: Sequence[int | None]) -> Callable[..., list[tf.Tensor]]:
    def run(x: tf.Tensor) -> list[tf.Tensor]:
        return tf.import_graph_def(graph, {"x:0": x}, [f"{name}:0" for name in names])

    wrapped = v1.wrap_function(run, [tf.TensorSpec(shape)])
    return lambda x: wrapped(x)
