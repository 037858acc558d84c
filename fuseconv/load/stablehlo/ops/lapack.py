"""Calls of LAPACK, as JAX writes them for the CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fuseconv.ir import types
from fuseconv.ir.graph import Op, Rejection, Value
from fuseconv.load.stablehlo.bytecode import Operation
from fuseconv.load.stablehlo.ops.factorizations import product_of_reflections, reflections, triangular_factors
from fuseconv.load.stablehlo.ops.linear_algebra import Triangle, adjoint, root, solved
from fuseconv.load.stablehlo.scope import Scope, refuse_unless, static_shape, symbolic, tensor_type

_WORK = "LAPACK leaves there what it worked with"
# What says which vectors of a singular value decomposition are wanted: all, as many as there are values, or none.
_ALL, _THIN, _NONE = "ASN"


def _root(tf: Scope, op: Operation, config: dict[str, Any], shapes: Sequence[Value], x: Value) -> list[Value]:
    """potrf -> Cholesky. What it says of success is 0: where there is no root, the result is no number."""
    made = root(tf, x, tensor_type(op.operands[0]).rank, _letter(config, "uplo", "LU") == "L")
    return [made, _success(tf, op, shapes)]


def _factored(tf: Scope, op: Operation, config: dict[str, Any], shapes: Sequence[Value], x: Value) -> list[Value]:
    """getrf -> the factors of matrices, and which rows it exchanged, counted from 1."""
    factors = triangular_factors(tf, x, tensor_type(op.operands[0]), tensor_type(op.results[1]))
    return [*factors, _success(tf, op, shapes)]


def _reflections(tf: Scope, op: Operation, config: dict[str, Any], shapes: Sequence[Value], x: Value) -> list[Value]:
    """geqrf -> R, and below it the vectors of the reflections that lead there; their scales."""
    return reflections(tf, x, tensor_type(op.operands[0]), tensor_type(op.results[1]))


def _restored(
    tf: Scope, op: Operation, config: dict[str, Any], shapes: Sequence[Value], x: Value, scales: Value
) -> list[Value]:
    """orgqr -> Q, the product of the reflections that geqrf left."""
    return [product_of_reflections(tf, x, scales, *map(tensor_type, op.operands[:2]))]


def _eigen(tf: Scope, op: Operation, config: dict[str, Any], shapes: Sequence[Value], x: Value) -> list[Value]:
    """syevd -> SelfAdjointEigV2, which reads the lower triangle."""
    vectors = _letter(config, "mode", "VN") == "V"
    if _letter(config, "uplo", "LU") == "U":
        x = adjoint(tf, x, tensor_type(op.operands[0]).rank)
    values, turns = tf.many("SelfAdjointEigV2", [x], {"compute_v": vectors}, [x, x])
    return [turns if vectors else _work(tf, op, 0), values, _success(tf, op, shapes)]


def _singular(tf: Scope, op: Operation, config: dict[str, Any], shapes: Sequence[Value], x: Value) -> list[Value]:
    """gesdd -> Svd, whose right vectors are its rows."""
    mode, rank = _letter(config, "mode", _ALL + _THIN + _NONE), tensor_type(op.operands[0]).rank
    attrs = {"compute_uv": mode != _NONE, "full_matrices": mode == _ALL}
    values, u, v = tf.many("Svd", [x], attrs, [x, x, x])
    sides = [_work(tf, op, 2), _work(tf, op, 3)] if mode == _NONE else [u, adjoint(tf, v, rank)]
    return [_work(tf, op, 0), values, *sides, _success(tf, op, shapes)]


def _tridiagonal(
    tf: Scope, op: Operation, config: dict[str, Any], shapes: Sequence[Value], below: Value, diagonal: Value,
    above: Value, b: Value,
) -> list[Value]:  # fmt: skip
    """gtsv -> TridiagonalSolve of the three diagonals."""
    diagonals = tf.add("Pack", [above, diagonal, below], {"axis": tensor_type(op.operands[0]).rank - 1}, b.dtype)
    return [*(_work(tf, op, place) for place in range(3)), tf.TridiagonalSolve(diagonals, b), _success(tf, op, shapes)]


def _solved(
    tf: Scope, op: Operation, config: dict[str, Any], shapes: Sequence[Value], a: Value, b: Value
) -> list[Value]:
    """trsm -> MatrixTriangularSolve."""
    how = Triangle(
        _letter(config, "side", "LR") == "L", _letter(config, "uplo", "LU") == "L",
        _letter(config, "trans_x", "NTC") != "N", _letter(config, "diag", "UN") == "U",
    )  # fmt: skip
    return [solved(tf, a, b, tensor_type(op.operands[0]).rank, how)]


def _success(tf: Scope, op: Operation, shapes: Sequence[Value]) -> Value:
    """Return 0 for each matrix, which says that LAPACK went to its end: the last result."""
    shape = shapes[-1] if shapes else tf.ints(static_shape(op.results[-1]))
    return tf.add("Fill", [shape, tf.const(0)], {}, types.INT32)


def _work(tf: Scope, op: Operation, place: int) -> Value:
    """Return a result that is refused if something reads it."""
    kind = tensor_type(op.results[place])
    refused = Op("tf.stablehlo.custom_call", [], {}, tf.op.name, tf.op.sources)
    refused.rejection = Rejection(_WORK)
    tf.out.append(refused)
    return refused.add_result(kind.dtype, symbolic(kind))


def _letter(config: dict[str, Any], key: str, letters: str) -> str:
    """Return an option, which may be one of these letters."""
    code = config.get(key)
    refuse_unless(isinstance(code, int) and chr(code & 127) in letters, f"its option {key} is {code}")
    return chr(code & 127)  # type: ignore[operator]


# By names without the type of the numbers: importers, and the operand that the first result is of the type of.
_KNOWN: dict[str, tuple[Callable[..., list[Value]], int]] = {
    "geqrf": (_reflections, 0), "gesdd": (_singular, 0), "getrf": (_factored, 0), "gtsv": (_tridiagonal, 0),
    "orgqr": (_restored, 0), "potrf": (_root, 0), "syevd": (_eigen, 0), "trsm": (_solved, 1),
}  # fmt: skip
FUNCTIONS = {f"lapack_{letter}{name}_ffi": importer for name, (importer, _) in _KNOWN.items() for letter in "ds"}
OF_OPERAND = {f"lapack_{letter}{name}_ffi": place for name, (_, place) in _KNOWN.items() for letter in "ds"}
