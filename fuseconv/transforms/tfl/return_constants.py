"""Constants that a signature returns, without the copies that other passes, quantization and targets want.

LiteRT hands out what the file holds, by its interpreter as by its compiled model. Equal constants are one tensor, of
which a compiled model knows one name; it does not fill an input that is returned, or a tensor that is returned twice.
"""

from __future__ import annotations

from typing import Any

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.graph import Module, Op, Value
from fuseconv.ir.rewriter import rewrite_ops
from fuseconv.pass_manager import module_pass

_COPIES = frozenset({"tfl.SLICE", "tfl.RESHAPE"})


@module_pass("return-constants", requires=(TFL_ONLY,), kinds=_COPIES)
def return_constants(module: Module) -> None:
    """Return constants without a copy, each once: return SLICE(c), SLICE(c) -> return c, SLICE(c)."""
    for signature in module.signatures:
        returned = {value for value in signature.graph.outputs if len(value.uses) == 1}
        seen: set[Any] = set()

        def copied(op: Op, out: list[Op], returned: set[Value] = returned, seen: set[Any] = seen) -> list[Value] | None:
            constant = _copied(op) if op.result in returned else None
            if constant is None or _contents(constant) in seen:
                return None
            seen.add(_contents(constant))
            return [constant]

        rewrite_ops(signature.graph, _COPIES, copied)


def _copied(op: Op) -> Value | None:
    """Return the constant that an op copies; None for strings, whose size is not fixed, and for no elements, of which
    the file holds no bytes."""
    constant = op.operands[0]
    if constant is None or constant.data is None or constant.dtype is types.STRING or not constant.data.size:
        return None
    return constant if constant.shape == op.result.shape else None


def _contents(constant: Value) -> tuple[Any, ...]:
    return constant.dtype, constant.shape, constant.data.tobytes()  # type: ignore[union-attr]
