"""Functions with an op's own signature, and what they do not serve."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from fuseconv.fuse.registry import Registry
from fuseconv.ir.graph import Op, constant
from fuseconv.ir.op_function import OpFunction, op_function
from fuseconv.load.op_defs import OpDefs
from fuseconv.tf.folders.registry import TABLE as KERNELS
from fuseconv.tf.shape_functions.registry import TABLE as SHAPES


def Pool(context: Any, x: Any, y: Any = None, *, ksize: int = 1) -> Any:
    return context, x, y, ksize


def Join(context: Any, *xs: Any) -> Any:
    return xs


def op(count: int, **attrs: Any) -> Op:
    return Op("tf.Pool", [constant(1.0)] * count, attrs)


def test_operands_are_positional_and_attributes_keywords() -> None:
    function = op_function(Pool)
    assert (function.op, function.attrs, function.required, function.most) == ("Pool", {"ksize"}, 1, 2)
    assert function("c", op(1, ksize=3), [7]) == ("c", 7, None, 3)
    assert function("c", op(1, _note=1, use_cudnn_on_gpu=True), [7]) == ("c", 7, None, 1)
    assert op_function(Join).most == float("inf")


def test_what_is_not_served() -> None:
    function = op_function(Pool)
    assert function.unhandled(op(2, ksize=3, _note=1)) is None
    assert function.unhandled(op(1, strides=2)) == "the attribute strides=2 is not supported"
    assert function.unhandled(op(3)) == "3 operands are not supported; 1 to 2 are"
    assert function.unhandled(op(0)) == "0 operands are not supported; 1 to 2 are"


@pytest.mark.parametrize("functions", [Registry.builtin().rules, KERNELS, SHAPES], ids=["rules", "kernels", "shapes"])
def test_defaults_are_those_of_tensorflow(functions: Mapping[str, OpFunction]) -> None:
    """The IR leaves out an attribute that holds its default. None and () stand for what the operands tell."""
    known = OpDefs()
    right: list[str] = []
    wrong: list[str] = []
    for name, function in functions.items():
        definition = known.get(name)
        for parameter in inspect.signature(inspect.unwrap(function.function)).parameters.values():
            own, default = parameter.default, definition and definition.defaults.get(parameter.name)
            if default is not None and own not in (parameter.empty, None, ()):
                own = [*own] if isinstance(own, tuple) else np.float32(own) if isinstance(own, float) else own
                agrees = own == (np.float32(default) if isinstance(default, float) else default)
                (right if agrees else wrong).append(f"{name}: {parameter.name}={own!r}, TensorFlow's is {default!r}")
    assert right and not wrong
