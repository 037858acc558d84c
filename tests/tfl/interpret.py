"""Builds a graph of one op, or of what a function builds, writes it and runs it in the TFLite interpreter."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from ai_edge_litert.interpreter import Interpreter

from fuseconv.ir import types
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Graph, Module, Signature, Value
from fuseconv.tfl.builder import Builder
from fuseconv.write.flatbuffer_export import to_bytes

Build = Callable[..., Value | Sequence[Value]]


def module_of(build: Build, *inputs: tuple[types.DType, Shape | None]) -> Module:
    """A module of one signature, "serve"; `build` takes a Builder and the inputs x0, x1, ..., and gives the outputs."""
    graph = Graph("main")
    values = [graph.add_input(dtype, shape, f"x{index}") for index, (dtype, shape) in enumerate(inputs)]
    built = build(Builder(graph.ops, "op"), *values)
    graph.outputs = [built] if isinstance(built, Value) else list(built)
    names = [value.name for value in values]
    outputs = [f"y{index}" for index in range(len(graph.outputs))]
    return Module([Signature(["serve"], graph, names, outputs)])


def run_file(data: bytes, *inputs: np.ndarray, signature: str = "serve") -> list[np.ndarray]:
    """The outputs y0, y1, ... of a file for the inputs x0, x1, ..., of a second invoke."""
    runner = Interpreter(model_content=data).get_signature_runner(signature)
    feed = {f"x{index}": array for index, array in enumerate(inputs)}
    runner(**feed)
    results = runner(**feed)
    return [results[f"y{index}"] for index in range(len(results))]


def run(build: Build, *inputs: np.ndarray) -> list[np.ndarray]:
    """What `build` computes for these inputs, with static shapes."""
    module = module_of(build, *((types.of_array(array), array.shape) for array in inputs))
    return run_file(to_bytes(module), *inputs)
