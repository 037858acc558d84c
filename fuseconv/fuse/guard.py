"""Shape functions and folders of converter modules, which are anybody's code: what they raise or return that is no
answer is an InputError that names the function's file and line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from fuseconv.errors import module_error
from fuseconv.ir.dims import Sym
from fuseconv.ir.graph import Op
from fuseconv.ir.op_function import OpFunction, op_function
from fuseconv.tf.folders.registry import Declined
from fuseconv.tf.operands import Contradiction, UnknownShape


def shape_function(function: Callable, name: str) -> OpFunction:
    """Return the shape function of a module as the table has it, held to one shape for each result."""
    return _guarded(function, name, f"the shape function of {name}", (UnknownShape, Contradiction), _is_shape, "shapes")


def folder(function: Callable, name: str) -> OpFunction:
    """Return the folder of a module as the table has it, held to one array of the result's type for each result."""
    return _guarded(function, name, f"the folder of {name}", (Declined,), _is_array, "arrays of the results' types")


def _guarded(
    function: Callable,
    name: str,
    what: str,
    declines: tuple[type[Exception], ...],
    fits: Callable[[Any, Any], bool],
    wanted: str,
) -> OpFunction:
    """Return the function of a module for the table. What it raises but for `declines`, and results that do not fit,
    become an error that names the module. what, wanted: in words, for that."""

    def call(op: Op, *operands: Any, **attrs: Any) -> Any:
        try:
            made = function(op, *operands, **attrs)
        except declines:
            raise
        except Exception as error:
            # A module's function is the user's code and may raise anything.
            raise module_error(what, function, error) from error
        each = made if isinstance(made, list) else [made]
        if len(each) != len(op.results) or not all(fits(item, result) for item, result in zip(each, op.results)):
            raise module_error(what, function, f"made {made!r}, and not {wanted}, one for each result")
        return made

    return replace(op_function(function, name), function=call)


def _is_shape(shape: Any, result: Any) -> bool:
    if shape is None:
        return True
    return isinstance(shape, tuple) and all(isinstance(dim, Sym) or (type(dim) is int and dim >= 0) for dim in shape)


def _is_array(array: Any, result: Any) -> bool:
    return isinstance(array, np.ndarray) and array.dtype == result.dtype.numpy
