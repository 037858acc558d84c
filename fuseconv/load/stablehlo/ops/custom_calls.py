"""Calls of functions outside of StableHLO that are known by name, as JAX writes them for the CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.stablehlo.bytecode import Operation
from fuseconv.load.stablehlo.ops.linear_algebra import Triangle, root, solved
from fuseconv.load.stablehlo.ops.registry import imports
from fuseconv.load.stablehlo.scope import Scope, refuse_unless, static_shape, tensor_type, text

# Calls that hand their operand on: where XLA places it says nothing of its value.
_FORWARDED = frozenset({"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement"})
_NO_RESULT = frozenset({"shape_assertion"})
# Functions of one tensor, by the names of older writers.
_FUNCTIONS = {
    "mhlo.acos": "Acos", "mhlo.acosh": "Acosh", "mhlo.asin": "Asin", "mhlo.asinh": "Asinh", "mhlo.atan": "Atan",
    "mhlo.atanh": "Atanh", "mhlo.cosh": "Cosh", "mhlo.erf": "Erf", "mhlo.sinh": "Sinh", "mhlo.tan": "Tan",
}  # fmt: skip
_CONFIG = "mhlo.backend_config"


@imports
def custom_call(tf: Scope, op: Operation, *operands: Value) -> Sequence[Value]:
    """Build what a call computes; assertions of shapes, which have no result, go."""
    target = text(op.attribute("call_target_name"))
    if target in _NO_RESULT and not op.results:
        return []
    if target in _FORWARDED and len(operands) == 1:
        return [tf.Identity(operands[0])]
    if target in _FUNCTIONS and len(operands) == 1:
        return [tf.add(_FUNCTIONS[target], operands, {}, operands[0].dtype)]
    known = _LAPACK.get(target)
    refuse_unless(known, f"it calls '{target}', a function of XLA's or of the program's own")
    config = op.attribute(_CONFIG) if op.has(_CONFIG) else None
    refuse_unless(isinstance(config, dict), f"the call of '{target}' does not say how it computes")
    return known(tf, op, config, *operands)  # type: ignore[misc]


def _root(tf: Scope, op: Operation, config: dict[str, Any], x: Value) -> list[Value]:
    """LAPACK's potrf -> Cholesky. What it says of success is 0: where there is no root, the result is no number."""
    made = root(tf, x, tensor_type(op.operands[0]).rank, _letter(config, "uplo", "LU"))
    shape = static_shape(op.results[1])
    return [made, tf.add("Fill", [tf.ints(shape), tf.const(0)], {}, types.INT32)]


def _solved(tf: Scope, op: Operation, config: dict[str, Any], a: Value, b: Value) -> list[Value]:
    """LAPACK's trsm -> MatrixTriangularSolve."""
    how = Triangle(
        _letter(config, "side", "LR"), _letter(config, "uplo", "LU"), not _letter(config, "trans_x", "NTC"),
        _letter(config, "diag", "UN"),
    )  # fmt: skip
    return [solved(tf, a, b, tensor_type(op.operands[0]).rank, how)]


def _letter(config: dict[str, Any], key: str, letters: str) -> bool:
    """Return whether an option is the first of the letters that it may be."""
    code = config.get(key)
    refuse_unless(isinstance(code, int) and chr(code & 127) in letters, f"its option {key} is {code}")
    return code == ord(letters[0])


_LAPACK: dict[str, Callable[..., list[Value]]] = {
    "lapack_dpotrf_ffi": _root, "lapack_dtrsm_ffi": _solved, "lapack_spotrf_ffi": _root, "lapack_strsm_ffi": _solved,
}  # fmt: skip
