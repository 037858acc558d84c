"""Functions with an op's own signature, and what they do not serve."""

from __future__ import annotations

from typing import Any

from fuseconv.ir.graph import Op, constant
from fuseconv.ir.op_function import op_function


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
    assert function.unhandled(op(3)) == "3 operands are not supported"
    assert function.unhandled(op(0)) == "0 operands are not supported"
