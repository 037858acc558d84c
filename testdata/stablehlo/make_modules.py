"""Make the StableHLO modules that the tests convert, with inputs and expected outputs, by JAX.

    pip install .[jax]
    python testdata/stablehlo/make_modules.py

writes ops.tar.xz: for each case GROUP/NAME.mlirbc, as `jax.export` serializes it, and GROUP/NAME.npz with in0, in1, ...
and out0, out1, ..., as JAX computes them. Cases with a symbolic batch b are exported for any b and run with b = 3.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax

# Source files by their names alone: a module is not to say on which machine it was made.
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
HERE = Path(__file__).parent
_SIZES = {"b": 3, "t": 5}


class Case(NamedTuple):
    """A function, its inputs (arrays, or shapes of random floats as text: "b,7"), and what it is exported for."""

    function: Callable[..., Any]
    inputs: tuple[Any, ...]
    platforms: tuple[str, ...]


# Numbers of all kinds, but for those below the normal ones.
_SPECIAL = np.array([0, -0.0, 2, -2, 3.5, -3.5, np.inf, -np.inf, np.nan], np.float32)
CASES: dict[str, Case] = {}


def case(name: str, function: Callable[..., Any], *inputs: Any, platforms: tuple[str, ...] = ("cpu",)) -> None:
    if name in CASES:
        raise ValueError(f"two cases are named {name}")
    CASES[name] = Case(function, inputs, platforms)


def _of_positive(function: Callable[..., Any], x: Any) -> Any:
    return function(jnp.abs(x) + 0.25)


def _elementwise() -> None:
    x, y = "3,5", "3,5"
    whole = np.array([[-7, 7, -6, 5], [3, -2, 9, 1]], np.int32)
    other = np.array([[2, -2, 3, -3], [4, 5, -7, 1]], np.int32)
    for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "arctan2"):
        case(name, getattr(jnp, name), x, y)
    for name in ("add", "multiply", "maximum"):
        case(f"{name}_int", getattr(jnp, name), whole, other)
    case("divide_int", lax.div, whole, other)
    case("remainder_int", lax.rem, whole, other)
    least, most = np.iinfo(np.int32).min, np.iinfo(np.int32).max
    ends, divisors = (np.array(a, np.int32) for a in ([least, most, 7, -7, 0, least], [-1, 0, 0, 0, 0, 3]))
    for kind in (np.int32, np.int8, np.uint8, np.uint32):
        case(f"divide_{np.dtype(kind)}_by_zero", lambda a, b: (lax.div(a, b), lax.rem(a, b)), ends.astype(kind),
             divisors.astype(kind))  # fmt: skip
    case("divide_by_minus_one", lambda a: (lax.div(a, np.int32(-1)), lax.rem(a, np.int32(-1))), ends)
    few = np.arange(-9, 9, dtype=np.int32)
    case("floor_divide", lambda a: (a // 7, a % 7, *jnp.divmod(a, -3)), np.append(ends, few))
    case("floor_divide_dynamic", lambda a: a[:, : (a.shape[1] + 3) // 4] * (a.shape[1] % 3), "b,t")
    case("greatest_common_divisor", jnp.gcd, whole, other)
    case("remainder", lax.rem, x, y)
    case("modulo", lambda a, b: (a % b, a % 2.5, a % -2.5, 3.75 % b, a % jnp.array([1, -2, 0, 3, 4.0])), x, y)
    case("modulo_special", lambda a: (a % 2, a % -2, a % 0, a % jnp.inf, 2 % a), _SPECIAL)
    case("power", lambda a, b: jnp.power(jnp.abs(a) + 0.5, b), x, y)
    for name in ("abs", "sign", "floor", "ceil", "exp", "expm1", "sin", "cos", "tan", "tanh", "cbrt", "square"):
        case(name, getattr(jnp, name), x)
    for name in ("sqrt", "log", "log1p", "reciprocal"):
        case(name, partial(_of_positive, getattr(jnp, name)), x)
    for name in ("logistic", "round"):
        case(name, getattr(lax, name), x)
    case("round_even", lambda a: lax.round(4 * a, lax.RoundingMethod.TO_NEAREST_EVEN), x)
    case("round_halves", lax.round, np.array([-2.5, -0.5, 0.5, 0.49999997, 1.5, 2.5], np.float32))
    case("rsqrt", lambda a: lax.rsqrt(jnp.abs(a) + 0.25), x)
    case("erf", lax.erf, x)
    case("gelu_exact", lambda a: jax.nn.gelu(a, approximate=False), x)
    case("gelu_tanh", jax.nn.gelu, x)
    case("softplus", lambda a: jax.nn.softplus(4 * a), x)
    case("mish_dynamic", jax.nn.mish, "b,5")
    for name in ("elu", "selu", "celu"):
        case(name, getattr(jax.nn, name), x)
    case("elu_dynamic", lambda a: jax.nn.elu(a, alpha=0.7), "b,5")
    case("is_finite", jnp.isfinite, np.array([1, np.inf, -np.inf, np.nan], np.float32))
    for name in ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"):
        case(name, getattr(jnp, name), whole, other)
    ordered = np.array([-np.nan, -np.inf, -1, -0.0, 0, 1e-40, 1, np.inf, np.nan], np.float32)
    case("less_in_total_order", lambda a: lax.lt_to_p.bind(*jnp.broadcast_arrays(a[:, None], a)), ordered)
    case("select", lambda a, b: jnp.where(a > b, a, 2 * b), x, y)
    case("clamp", lambda a: jnp.clip(a, -0.5, 0.7), x)
    case("convert_to_int", lambda a: (4 * a).astype(jnp.int32), x)
    case("convert_to_float", lambda a: a.astype(jnp.float32) / 3, whole)
    case("convert_to_bool", lambda a: (a > 0).astype(jnp.int32), whole)
    case("logic", lambda a, b: jnp.logical_xor(a > 0, jnp.logical_or(b > 0, jnp.logical_not(a == b))), whole, other)
    case("bitwise", lambda a, b: (a & b) ^ (a | ~b), whole, other)
    bits = np.array([-5, 1, 2**31 - 1, -(2**31), 12, 7], np.int32)
    by = np.array([1, 31, 4, 3, 32, 40], np.int32)
    for name in ("shift_left", "shift_right_logical", "shift_right_arithmetic"):
        case(name, getattr(lax, name), bits, by)
    case("shift_unsigned", lambda a: (a >> 3) ^ (a << 5), bits.view(np.uint32))
    case("turned_bits", lambda a: ((a << 13) | (a >> 19)) ^ (a * 3 - 7), bits.astype(np.uint32))
    case("popcnt", lax.population_count, bits)
    case("count_leading_zeros", lax.clz, bits)
    case("bitcast", lambda a: lax.bitcast_convert_type(a, jnp.int32), x)
    case("reduce_precision", lambda a: lax.reduce_precision(a, 8, 7), x)
    numbers = np.array([1.0009766, -65519, 65520, 3e-8, -6e-5, 2.9802322e-8, 0, -0.0, np.inf, np.nan, 240, 248.1], "f4")
    for exponent, mantissa in ((5, 10), (4, 3), (8, 11), (5, 23)):
        case(
            f"reduce_precision_{exponent}_{mantissa}",
            lambda a, bits=(exponent, mantissa): lax.reduce_precision(a, *bits),
            numbers,
        )
    case("complex_product", lambda a, b: jnp.real(lax.complex(a, b) * lax.complex(b, a)), x, y)
    case("optimization_barrier", lambda a: lax.optimization_barrier(a) * 2, x)


def _shapes() -> None:
    case("iota", lambda a: a + lax.broadcasted_iota(jnp.float32, (3, 5), 1), "3,5")
    case("reshape", lambda a: a.reshape(5, 2, 2), "4,5")
    case("transpose", lambda a: a.transpose(2, 0, 1), "2,3,4")
    case("broadcast_rows", lambda a, b: a + b, "3,5", "5")
    case("broadcast_columns", lambda a: jnp.broadcast_to(a[:, None], (3, 4)), "3")
    case("broadcast_moved", lambda a: lax.broadcast_in_dim(a, (4, 2, 3), (2, 0)), "3,4")
    case("concatenate", lambda a, b: jnp.concatenate([a, b, a], 1), "2,3", "2,1")
    case("reverse", lambda a: a[::-1, ::-1], "3,4")
    case("slice", lambda a: a[1:4:2, :-1], "5,4")
    case("dynamic_slice", lambda a, i: lax.dynamic_slice(a, (i, 1), (2, 2)), "5,4", np.int32(4))
    case("dynamic_update", lambda a, b, i: lax.dynamic_update_slice(a, b, (i, 1)), "5,4", "2,2", np.int32(9))
    case("pad", lambda a: lax.pad(a, 1.5, ((1, 2, 0), (0, 1, 0))), "2,3")
    case("pad_interior", lambda a: lax.pad(a, 1.5, ((1, 2, 1), (0, 1, 2))), "2,3")
    case("pad_interior_behind", lambda a: lax.pad(a, 1.5, ((1, 3, 2), (2, 1, 1))), "2,3")
    case("pad_interior_before", lambda a: lax.pad(a, 1.5, ((3, 1, 2), (2, 0, 2))), "2,3")
    case("pad_interior_cut", lambda a: lax.pad(a, 1.5, ((3, -2, 2), (-1, 4, 3))), "2,3")
    case("pad_negative", lambda a: lax.pad(a, 1.5, ((-1, 2, 0), (0, -1, 0))), "3,4")
    case("size_dynamic", lambda a: a * a.shape[0], "b,4")
    case("reshape_dynamic", lambda a: a.reshape(a.shape[0], -1), "b,4,2")
    case("flatten_dynamic", lambda a: a.reshape(-1, 2), "b,4,2")
    case("broadcast_dynamic", lambda a, b: a + b, "b,4", "4")
    case("broadcast_batch", lambda a, b: jnp.broadcast_to(b, (a.shape[0], 4)), "b,2", "4")
    case("concatenate_dynamic", lambda a: jnp.concatenate([jnp.zeros((a.shape[0], 1)), a], 1), "b,4")
    case("slice_dynamic", lambda a: a[:, 1:] - a[:, :-1], "b,t")
    case("iota_dynamic", lambda a: a + jnp.arange(a.shape[0], dtype=jnp.float32)[:, None], "b,4")
    case("pad_interior_dynamic", lambda a: lax.pad(a, 1.5, ((0, 0, 0), (1, 2, 2), (0, 1, 1))), "b,3,4")
    case("pad_interior_sizes_dynamic", lambda a: lax.pad(a, 1.5, ((0, 0, 0), (1, 2, 2), (0, 1, 1))), "b,t,4")
    case("tile_volumes_dynamic", lambda a: jnp.tile(a, (1, 2, 1, 3, 1)), "b,3,2,2,3")
    case("pad_by_size_dynamic", lambda a, b: jnp.pad(a, ((1, 0), (b.shape[0], 2))), "3,t", "b")
    case("pad_dynamic", lambda a: jnp.pad(a, ((0, 0), (1, 2))), "b,4")
    for mode in ("reflect", "symmetric"):
        case(f"pad_{mode}", partial(jnp.pad, pad_width=((0, 0), (2, 1), (0, 3)), mode=mode), "2,3,4")
        case(f"pad_{mode}_dynamic", partial(jnp.pad, pad_width=((0, 0), (2, 1), (0, 3)), mode=mode), "b,3,4")
        case(f"pad_{mode}_again", partial(jnp.pad, pad_width=((0, 0), (4, 5)), mode=mode), "b,4")


def _products() -> None:
    for name, equation, shapes in (
        ("dot", "ij,jk->ik", "4,5 5,3"), ("dot_right", "ij,kj->ik", "4,5 3,5"), ("dot_left", "ji,jk->ik", "5,4 5,3"),
        ("dot_dense", "btc,cd->btd", "2,3,4 4,5"), ("dot_batch", "bij,bjk->bik", "2,4,5 2,5,3"),
        ("dot_heads", "bthd,bshd->bhts", "2,4,3,5 2,6,3,5"), ("dot_two", "bthd,hdc->btc", "2,4,3,5 3,5,6"),
        ("dot_vector", "ij,j->i", "4,5 5"), ("dot_outer", "i,j->ij", "4 5"), ("dot_inner", "i,i->", "4 4"),
        ("dot_dynamic", "ij,jk->ik", "b,5 5,3"), ("dot_heads_dynamic", "bthd,bshd->bhts", "b,4,3,5 b,6,3,5"),
    ):  # fmt: skip
        case(name, lambda a, b, e=equation: jnp.einsum(e, a, b), *shapes.split())
    case("dot_int8", lambda a, b: lax.dot(a, b, preferred_element_type=jnp.int32),
         np.arange(-6, 6, dtype=np.int8).reshape(3, 4), np.arange(-10, 10, dtype=np.int8).reshape(4, 5))  # fmt: skip
    numbers = np.array([[127, 255, 3], [85, 7, 32767]])
    for kind in (np.int8, np.uint8, np.int16, np.uint16, np.uint32):
        case(f"dot_wraps_{np.dtype(kind)}", lambda a: [jnp.einsum(e, a, a) for e in ("bi,bj->bij", "bi,bi->b")],
             numbers.astype(kind))  # fmt: skip


def _length(a: Any, b: Any) -> Any:
    return jnp.sqrt(a * a + b * b)


def _larger(a: Any, b: Any) -> Any:
    return jnp.where(a[0] > b[0], a[0], b[0]), jnp.where(a[0] > b[0], a[1], b[1])


def _pairs(a: Any) -> Any:
    """Numbers and their places, and what a reduction of them begins with."""
    return (a, lax.broadcasted_iota(jnp.int32, a.shape, 1)), (-jnp.inf, jnp.int32(9))


def _products_of_complex(a: Any, b: Any) -> list[Any]:
    made = [of(lax.complex(a, b), axis=1) for of in (jnp.prod, jnp.cumprod)]
    return [part(each) for each in made for part in (jnp.real, jnp.imag)]


def _reductions() -> None:
    for name in ("sum", "prod", "max", "min", "mean", "var"):
        case(f"reduce_{name}", partial(getattr(jnp, name), axis=1), "3,5,2")
    case("reduce_all", lambda a: jnp.sum(a), "3,5")
    case("reduce_any", lambda a: jnp.any(a > 0.5, axis=0), "3,5")
    case("reduce_and", lambda a: jnp.all(a > -0.5, axis=1), "3,5")
    case("reduce_max_int", lambda a: jnp.max(a, axis=0), np.array([[-7, 7], [3, -2]], np.int32))
    for kind in (np.int8, np.uint32):
        case(f"reduce_bits_{np.dtype(kind)}", lambda a: (lax.reduce_and(a, (1,)), lax.reduce_or(a, (0,))),
             np.array([[7, 13, 21], [96, 36, 100]], kind))  # fmt: skip
    case("reduce_complex", _products_of_complex, "b,4", "b,4")
    case("reduce_from", lambda a: lax.reduce(a, 3.0, lax.add, (0,)), "3,5")
    case("softmax", jax.nn.softmax, "3,5")
    case("softmax_dynamic", jax.nn.softmax, "b,5")
    case("logsumexp", lambda a: jax.nn.logsumexp(a, axis=1), "3,5")
    case("mean_dynamic", lambda a: jnp.mean(a, axis=1), "b,5")
    case("reduce_lengths_dynamic", lambda a: lax.reduce(a, jnp.float32(0), _length, (1,)), "b,5")
    case("reduce_last_place", lambda a: lax.reduce(*_pairs(a), _larger, (1,)), "3,5")


def _places(a: Any, count: int) -> Any:
    return jnp.clip((2 * a).astype(jnp.int32), -count, count)


def _indexing() -> None:
    case("grid_dynamic", lambda a: a[:, 1::2, ::3], "b,6,5,2")
    case("grid_and_rows_dynamic", lambda a: a[:, ::-2, 2:], "b,6,5,2")
    starts = np.array([-2, 0, 5, 11], np.int32)
    for name, less in (("frames_dynamic", 0), ("frames_less_dynamic", 1)):
        case(name, lambda a, i, less=less: jax.vmap(
            lambda start: lax.dynamic_slice(a, (0, start), (a.shape[0] - less, 3)))(i), "b,9", starts)  # fmt: skip
    even = np.arange(0, 6, 2)
    case("frames_known_dynamic", lambda a: jax.vmap(
        lambda start: lax.dynamic_slice(a, (0, start, 0), (a.shape[0], 3, 2)))(even), "b,9,2")  # fmt: skip
    table, rows = "6,4", np.array([[5, 0, 2], [3, 3, 1]], np.int32)
    case("take", lambda a, i: a[i], table, rows)
    case("take_columns", lambda a, i: a[:, i], table, np.array([3, 0], np.int32))
    case("take_beyond", lambda a, i: a.at[i].get(mode="clip"), table, np.array([9, -9, 2], np.int32))
    case("take_fill", lambda a, i: a.at[i].get(mode="fill", fill_value=7.0), table, np.array([9, 2], np.int32))
    case("take_pairs", lambda a, i, j: a[i, j], table, rows, rows % 4)
    pairs = np.arange(12, dtype=np.int32).reshape(6, 2) % 4
    case("take_along", lambda a, i: jnp.take_along_axis(a, i, axis=1), table, pairs)
    case("take_one", lambda a, i: a[i], table, np.int32(4))
    case("take_windows", lambda a, i: jax.vmap(lambda j: lax.dynamic_slice(a, (j, 1), (2, 3)))(i), table,
         np.array([0, 4, 9], np.int32))  # fmt: skip
    case("take_batched", lambda a, i: jax.vmap(lambda row, j: row[j])(a, i), table, np.arange(6, dtype=np.int32) % 4)
    grid, places = "3,5,4,2", np.array([[[0, 3], [4, -1]], [[9, 1], [2, 2]], [[-5, 0], [1, 1]]], np.int32)
    case("pairs_batched", lambda a, i: jax.vmap(lambda row, j: row[j[:, 0], j[:, 1]])(a, i), grid, places)
    case("pairs_batched_twice", lambda a, i: jax.vmap(jax.vmap(lambda row, j: row[j[0], j[1]], (None, 0)))(a, i),
         grid, places)  # fmt: skip
    case("windows_batched", lambda a, i: jax.vmap(
        lambda row, j: lax.dynamic_slice(row, (j[0, 0], j[0, 1], 0), (2, 3, 1)))(a, i), grid, places)  # fmt: skip
    case("pairs_batched_dynamic", lambda a: jax.vmap(lambda row: row[_places(row[0], 5), _places(row[1], 4)])(
        jnp.tile(a[..., None], 4)), "b,5")  # fmt: skip
    case("add_pairs_batched", lambda a, i: jax.vmap(lambda row, j: row.at[j[:, 0], j[:, 1]].add(1.5))(a, i),
         grid, places)  # fmt: skip
    case("take_dynamic", lambda a, i: a[i], table, np.array([1, 5], np.int32))
    case("embedding_dynamic", lambda a: jnp.take(jnp.arange(12.0).reshape(4, 3), a.astype(jnp.int32), axis=0), "b,5")
    case("rows_dynamic", lambda a: a[jnp.arange(a.shape[0]), _places(a[:, 0, 0], 4)], "b,4,2")
    case("rows_behind_time_dynamic", lambda a: a[_places(a[0, :, 0], 4), jnp.arange(a.shape[1])], "4,b,2")
    case("rows_along_dynamic", lambda a: jnp.take_along_axis(a, _places(a[:, :2], 5), axis=1), "b,5")
    case("rows_mapped_dynamic", lambda a: jax.vmap(lambda row: row[_places(row[0, 0], 4)])(a), "b,4,2")
    case("columns_mapped_dynamic", lambda a: jax.vmap(lambda row: row[:, _places(row[0], 4)])(a), "b,3,4")
    case("take_last_dynamic", lambda a: a[:, -1], "b,5")
    case("set_row", lambda a, b: a.at[2].set(b), table, "4")
    case("set_rows", lambda a, b, i: a.at[i].set(b), table, "2,4", np.array([5, 1], np.int32))
    case("set_beyond", lambda a, b, i: a.at[i].set(b), table, "3,4", np.array([5, 9, 0], np.int32))
    case("add_rows", lambda a, b, i: a.at[i].add(b), table, "3,4", np.array([5, 1, 5], np.int32))
    case("add_elements", lambda a, b, i, j: a.at[i, j].add(b), table, "2,3", rows, rows % 4)
    case("max_columns", lambda a, b, i: a.at[:, i].max(b), table, "6,2", np.array([3, 0], np.int32))
    case("multiply_rows", lambda a, b, i: a.at[i].multiply(b), table, "3,4", np.array([5, 1, 5], np.int32))
    case("set_slice", lambda a, b: a.at[1:3, 2:].set(b), table, "2,2")
    case("min_along", lambda a, b, i: jax.vmap(lambda x, y, j: x.at[j].min(y))(a, b, i), table, "6",
         np.arange(6, dtype=np.int32) % 4)  # fmt: skip
    places = np.array([2, 0, 2, 5, -1], np.int32)
    case("add_slice", lambda a, b: a.at[:, 1:3].add(b), table, "6,2")
    case("add_slice_dynamic", lambda a, b: a.at[:, 1:].add(b), "b,t", "b,t-1")
    case("set_slice_dynamic", lambda a, b: a.at[:, :-1].set(b), "b,t,2", "b,t-1,2")
    case("multiply_last_dynamic", lambda a: a.at[..., 0].multiply(3), "b,4")
    case("multiply_slice_beyond", lambda a, b: lax.scatter_mul(
        a, np.array([4], np.int32), b, lax.ScatterDimensionNumbers((0,), (), (0,)),
        mode=lax.GatherScatterMode.FILL_OR_DROP), "6", "3")  # fmt: skip
    case("multiply_rows_dynamic", lambda a, b, i: a.at[i].multiply(b), "b,4", "5,4", places)
    case("multiply_many_dynamic", lambda a, b, i: a.at[:, i].multiply(b), "b,6", "b,5", places)
    case("apply_rows", lambda a, i: a.at[i].apply(lambda v: v * v + 1), table, places)
    case("apply_slice_dynamic", lambda a: a.at[:, 1:3].apply(jax.nn.gelu), "b,4")
    case("subtract_rows", lambda a, b, i: a.at[i].subtract(b), table, "3,4", np.array([5, 1, 5], np.int32))
    case("add_rows_dynamic", lambda a, b, i: a.at[i].add(b), "b,4", "3,4", np.array([2, 1, 7], np.int32))
    case("set_rows_of_rows_dynamic", lambda a, b, i: a.at[i, 1].set(b), "b,4,t", "2,t", np.array([2, 0], np.int32))
    case("set_diagonal_dynamic", lambda a: a.at[jnp.arange(a.shape[0]), jnp.arange(a.shape[0])].set(9.0), "b,4")
    case("count", lambda i: jnp.bincount(i, length=5), np.array([1, 4, 1, 9], np.int32))


def _sorting() -> None:
    x = "3,7"
    ties = np.array([[2, 1, 2, 1, 3], [5, 5, 4, 4, 5]], np.int32)
    case("sort", jnp.sort, x)
    case("sort_first_axis", lambda a: jnp.sort(a, axis=0), x)
    case("sort_descending", lambda a: jnp.sort(a, descending=True), x)
    case("argsort", jnp.argsort, ties)
    case("argsort_descending", lambda a: jnp.argsort(a, descending=True), ties)
    case("sort_values", lambda a, b: lax.sort((a, b), num_keys=1), ties, "2,5")
    case("sort_two_keys", lambda a, b: lax.sort((a, b), num_keys=2), ties, "2,5")
    case("sort_bytes", jnp.sort, ties.astype(np.uint8))
    case("lexsort", lambda a, b: jnp.lexsort((a[0], b[0])), ties, ties[::-1])
    case("median", lambda a: jnp.median(a, axis=1), x)
    case("argmax", lambda a: jnp.argmax(a, axis=1), x)
    case("argmin", lambda a: jnp.argmin(a, axis=0), x)
    case("argmax_all", jnp.argmax, x)
    case("argmax_int", lambda a: jnp.argmax(a, axis=1), ties)
    case("argmax_dynamic", lambda a: jnp.argmax(a, axis=1), "b,5")
    case("top_k", lambda a: lax.top_k(a, 3), x)
    case("cumsum", lambda a: jnp.cumsum(a, axis=1), x)
    case("cumprod", lambda a: jnp.cumprod(a, axis=0), x)
    case("cummax", lambda a: lax.cummax(a, axis=1), x)
    case("cumsum_dynamic", lambda a: (jnp.cumsum(a, axis=1), lax.cumsum(a, axis=0, reverse=True)), "b,t")
    running = lambda a: (lax.cummax(a, 1), lax.cummin(a, 0, reverse=True), jnp.cumprod(a, axis=1))  # noqa: E731
    case("running_dynamic", running, "b,t")
    case("approx_max_k", lambda a: lax.approx_max_k(a, 3), x)
    case("approx_min_k", lambda a: lax.approx_min_k(a, 2), "b,7")
    case("cumsum_reverse", lambda a: lax.cumsum(a, axis=1, reverse=True), x)


def _conv(strides: Any = (1, 1), padding: Any = "SAME", **options: Any) -> Callable[..., Any]:
    options.setdefault("dimension_numbers", ("NHWC", "HWIO", "NHWC"))
    return lambda a, w: lax.conv_general_dilated(a, w, strides, padding, **options)


def _convolution() -> None:
    x, w = "2,7,6,4", "3,2,4,5"
    case("conv_same", _conv(), x, w)
    case("conv_valid_strides", _conv((2, 1), "VALID"), x, w)
    case("conv_same_strides", _conv((2, 2)), x, w)
    case("conv_explicit", _conv((1, 2), ((2, 0), (1, 3))), x, w)
    case("conv_negative", _conv((1, 1), ((-1, 0), (1, -2))), x, w)
    case("conv_dilated", _conv(rhs_dilation=(2, 1)), x, w)
    case("conv_depthwise", _conv(feature_group_count=4), x, "3,2,1,8")
    case("conv_groups", _conv(feature_group_count=2), x, "3,2,2,6")
    case("conv_transposed", lambda a, w: lax.conv_transpose(a, w, (2, 3), "SAME"), x, w)
    case("conv_transposed_valid", lambda a, w: lax.conv_transpose(a, w, (2, 2), "VALID"), x, w)
    case("conv_spread_strides", _conv((2, 1), ((1, 1), (2, 2)), lhs_dilation=(3, 2)), x, w)
    case("conv_channels_first", _conv(dimension_numbers=("NCHW", "OIHW", "NCHW")), "2,4,7,6", "5,4,3,2")
    case("conv_row", _conv((2,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")), "2,9,4", "3,4,5")
    volume = "NDHWC", "DHWIO", "NDHWC"
    case("conv_volume", _conv((1, 2, 1), "SAME", dimension_numbers=volume), "2,4,5,3,2", "2,3,1,2,3")
    case("conv_batch_groups", _conv(batch_group_count=2), "4,5,6,3", "3,2,3,4")
    case("conv_dynamic", _conv((2, 2)), "b,7,6,4", w)
    case("conv_length_dynamic", _conv((2, 2)), "2,t,b,4", w)
    case("conv_length_first_dynamic", _conv((2,), dimension_numbers=("NCH", "OIH", "NHC")), "b,4,t", "5,4,3")
    case("conv_filter_gradient_dynamic", lambda a, b, c: jax.vjp(partial(_conv((2, 1)), a), b)[1](c)[0], "b,7,6,4", w,
         "b,4,6,5")  # fmt: skip
    case("conv_spread_dynamic", _conv((1, 1), ((3, 3), (2, 2)), lhs_dilation=(2, 2)), "b,7,6,4", w)
    case("conv_spread_size_dynamic", _conv((2, 1), ((1, 1), (2, 2)), lhs_dilation=(3, 2)), "b,t,6,4", w)
    case("conv_transposed_length_dynamic", lambda a, w: lax.conv_transpose(a, w, (2,), "SAME"), "b,t,2", "3,2,4")
    for padding in ("SAME", "VALID"):
        case(f"conv_transposed_size_{padding}_dynamic",
             lambda a, w, padding=padding: lax.conv_transpose(a, w, (2, 3), padding), "2,b,t,4", w)  # fmt: skip
    case("conv_vmap", lambda a, w: jax.vmap(_conv(), in_axes=(0, None))(a, w), "3,2,5,4,4", w)
    rng, whole = np.random.default_rng(3), {"preferred_element_type": jnp.int32}
    small, weights = (rng.integers(-128, 128, shape, np.int8) for shape in ((2, 5, 4, 8), (3, 2, 8, 3)))
    case("conv_int8", _conv((2, 1), **whole), small, weights)
    case("conv_int8_constant", lambda a: _conv(**whole)(a, weights), small)
    case("conv_uint8_row", _conv((2,), dimension_numbers=("NWC", "WIO", "NWC"), **whole),
         rng.integers(0, 256, (2, 9, 4), np.uint8), rng.integers(0, 256, (3, 4, 5), np.uint8))


def _pool(name: str, window: Any, strides: Any, padding: Any = "VALID", **options: Any) -> Callable[..., Any]:
    start, join = {"max": (-jnp.inf, lax.max), "min": (jnp.inf, lax.min), "sum": (0.0, lax.add)}[name]
    return lambda a: lax.reduce_window(a, start, join, window, strides, padding, **options)


def _windows() -> None:
    x = "2,7,6,3"
    case("max_pool", _pool("max", (1, 2, 3, 1), (1, 2, 1, 1)), x)
    case("max_pool_same", _pool("max", (1, 3, 2, 1), (1, 2, 2, 1), "SAME"), x)
    case("max_pool_sizes_dynamic", _pool("max", (1, 2, 2, 2, 1), (1, 2, 1, 2, 1)), "2,b,t,4,3")
    spread = _pool("sum", (1, 3, 2), (1, 2, 1), ((0, 0), (1, 0), (0, 1)), base_dilation=(1, 2, 1))
    case("sum_pool_spread_dynamic", spread, "b,t,4")
    case("min_pool", _pool("min", (1, 2, 2, 1), (1, 1, 1, 1)), x)
    case("sum_pool", _pool("sum", (1, 2, 2, 1), (1, 2, 2, 1), "SAME"), x)
    case("max_pool_channels_first", _pool("max", (1, 1, 2, 2), (1, 1, 2, 2)), "2,3,7,6")
    case("max_pool_row", _pool("max", (1, 2, 1), (1, 2, 1)), "2,7,3")
    case("max_pool_dilated", _pool("max", (1, 2, 2, 1), (1, 1, 1, 1), window_dilation=(1, 2, 1, 1)), x)
    case("max_pool_volume", _pool("max", (1, 2, 2, 2, 1), (1, 2, 1, 1, 1)), "2,4,5,4,3")
    case("sum_channels", _pool("sum", (1, 1, 1, 2), (1, 1, 1, 1)), x)
    case("max_pool_vector", _pool("max", (3,), (2,)), "9")
    case("max_pool_dynamic", _pool("max", (1, 2, 2, 1), (1, 2, 2, 1)), "b,6,6,3")
    case("max_pool_length_dynamic", _pool("max", (1, 3, 2, 1), (1, 2, 2, 1), "SAME"), "2,t,b,3")
    case("sum_pool_length_dynamic", _pool("sum", (1, 3, 1), (1, 2, 1), "SAME"), "b,t,3")
    case("max_pool_volume_dynamic", _pool("max", (1, 2, 2, 2, 1), (1, 2, 1, 1, 1)), "b,4,5,4,3")
    case("sum_dilated_dynamic", _pool("sum", (1, 2, 2, 1), (1, 1, 1, 1), window_dilation=(1, 2, 2, 1)), "b,7,6,3")
    case("length_dynamic", lambda a: lax.reduce_window(a, jnp.float32(0), _length, (1, 3), (1, 2), "VALID"), "b,8")
    case("larger_dynamic", lambda a: lax.reduce_window(*_pairs(a), _larger, (1, 2), (1, 2), "SAME"), "b,7")
    case("cumulative_logsumexp", lambda a: lax.cumlogsumexp(a, 1), "3,4")
    case("mean_pool_dynamic", lambda a: _pool("sum", (1, 2, 2, 1), (1, 2, 2, 1))(a) / 4, "b,6,6,3")


def _pool_gradient(pool: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b: jax.vjp(pool, a)[1](b)[0]


def _window_gradients() -> None:
    case("max_pool", _pool_gradient(_pool("max", (1, 2, 2, 1), (1, 2, 2, 1))), "2,6,4,3", "2,3,2,3")
    case("max_pool_overlapping", _pool_gradient(_pool("max", (1, 3, 3, 1), (1, 2, 1, 1))), "2,7,6,3", "2,3,4,3")
    case("min_pool_same", _pool_gradient(_pool("min", (1, 3, 2), (1, 2, 2), "SAME")), "2,7,5", "2,4,3")
    case("max_pool_dynamic", _pool_gradient(_pool("max", (1, 3, 2, 1), (1, 2, 2, 1), "SAME")), "b,5,6,2", "b,3,3,2")
    case("max_pool_ties", _pool_gradient(_pool("max", (3,), (2,))), np.array([1, 1, 1, 0, 2, 2, 2], np.float32), "3")


_FRY = lax.RandomAlgorithm.RNG_THREE_FRY


def _bits(key: Any, shape: Any, dtype: Any = jnp.uint32, algorithm: Any = lax.RandomAlgorithm.RNG_DEFAULT) -> Any:
    return lax.rng_bit_generator(key, shape, dtype=dtype, algorithm=algorithm)


def _drawn(draw: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    return lambda data: draw(jax.random.wrap_key_data(data, impl="rbg"), shape=(3, 4), **options)


def _random() -> None:
    key, last = np.array([1, 2, 3, 4], np.uint32), np.array([7, 9, 2**32 - 1, 2**32 - 1], np.uint32)
    case("bits", lambda data: _bits(data, (3, 5)), key)
    case("bits_one", lambda data: _bits(data, ()), key)
    case("bits_begin_again", lambda data: _bits(data, (11,)), last)
    case("bits_dynamic", lambda data, a: _bits(data, a.shape), key, "b,5")
    for kind in (jnp.uint8, jnp.uint16):
        case(f"bits_{kind.__name__}", lambda data, kind=kind: _bits(data, (7,), kind), key)
    case("fry", lambda data: _bits(data, (3, 5), algorithm=_FRY), last)
    case("fry_even", lambda data: _bits(data, (3, 4, 2), algorithm=_FRY), key)
    case("fry_one", lambda data: _bits(data, (), algorithm=_FRY), key)
    case("fry_uint8", lambda data: _bits(data, (5, 5), jnp.uint8, algorithm=_FRY), key)
    case("uniform", _drawn(jax.random.uniform), key)
    case("normal", _drawn(jax.random.normal), key)
    case("threefry_dynamic", lambda a: a + jax.random.uniform(jax.random.PRNGKey(3), a.shape), "b,4")
    case("split", lambda data: jax.random.key_data(jax.random.split(jax.random.wrap_key_data(data, impl="rbg"))), key)


def _platforms() -> None:
    both = "cpu", "cuda"
    case("same", lambda a: jnp.tanh(a) * a.shape[0], "b,4", platforms=both)
    case("dependent", lambda a: lax.platform_dependent(a, cpu=jnp.sin, default=jnp.cos), "3", platforms=both)
    forms = lambda a, w: jnp.cumsum(a @ w, axis=1) + jax.random.uniform(jax.random.key(3), (4,))  # noqa: E731
    case("forms", forms, "b,3", "3,4", platforms=("tpu", "cuda", "cpu"))
    case("lapack", lambda a: jnp.linalg.solve(a, a[0]), "3,3", platforms=("tpu", "cpu"))


def _devices() -> None:
    rows = jax.sharding.NamedSharding(jax.sharding.Mesh(jax.devices()[:1], "data"), jax.sharding.PartitionSpec("data"))
    case("sharding_constraint", lambda a: 2 * lax.with_sharding_constraint(jnp.sin(a), rows) + a, "3,4")
    specs = {"mesh": rows.mesh, "in_specs": rows.spec, "out_specs": rows.spec}
    case("sum_over_one", jax.shard_map(lambda a: a * lax.psum(a, "data"), **specs), "3,4")
    sent = lambda a: 2 * lax.ppermute(a, "data", [(0, 0)]) + lax.ppermute(a, "data", [])  # noqa: E731
    case("sent_to_itself", jax.shard_map(sent, **specs), "3,4")


def _is_small(state: Any) -> Any:
    return jnp.sum(state[0]) < 50


def _step(weights: Any, state: Any, x: Any) -> Any:
    return jnp.tanh(state @ weights + x), state.sum()


def _inner_loop(a: Any, step: Any, value: Any) -> Any:
    return lax.fori_loop(0, 2, lambda _, inner: inner * 0.5 + a * step, value)


def _decayed(state: Any, x: Any) -> Any:
    return state * 0.9 + x, state


def _loops() -> None:
    sides = jnp.sin, jnp.exp, lambda a: 2 * a
    for index in (-1, 1, 7):
        case(f"switch_{index}", lambda a, i: lax.switch(i, sides, a), "3,5", np.int32(index))
    case("switch_vmap", jax.vmap(lambda a, i: lax.switch(i, sides, a)), "4,5", np.array([-1, 0, 1, 7], np.int32))
    case("cond_vmap_dynamic", jax.vmap(lambda a: lax.cond(a.sum() > 0, jnp.sin, jnp.exp, a)), "b,5")
    case("fori", lambda a: lax.fori_loop(0, 5, lambda i, y: y * 0.9 + i, a), "3,4")
    case("while", lambda a: lax.while_loop(_is_small, lambda s: (s[0] * 2 + 1, s[1] + 1), (a * a, 0)), "3")
    case("scan", lambda a, w: lax.scan(partial(_step, w), jnp.zeros((2, 3)), a), "5,2,3", "3,3")
    case("cond", lambda a: lax.cond(a[0] > 0, lambda y: y * 2, lambda y: y - a, a), "3")
    case("switch", lambda a, i: lax.switch(i, [jnp.sin, jnp.cos, lambda y: y + a], a), "3", np.int32(7))
    case("nested", lambda a: lax.fori_loop(0, 3, partial(_inner_loop, a), a), "4")
    case("scan_numbers", lambda a: lax.scan(partial(lax.scan, _decayed), jnp.zeros(()), a), "4,5")
    case("fori_dynamic", lambda a: lax.fori_loop(0, 3, lambda i, y: y @ jnp.eye(4) + i, a), "b,4")
    case("map", lambda a: lax.map(lambda row: jnp.cumsum(row) / (1 + jnp.max(row) ** 2), a), "3,4")


def _linear_algebra() -> None:
    half = np.random.default_rng(3).normal(size=(4, 4)).astype(np.float32)
    spd = half @ half.T + 5 * np.eye(4, dtype=np.float32)
    triangle = np.tril(spd)
    case("cholesky", jnp.linalg.cholesky, spd)
    case("solve_left", lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True), triangle, "4,3")
    case("solve_transposed", lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True, trans=1), triangle, "4,3")
    case("solve_right", lambda a, b: lax.linalg.triangular_solve(a, b, lower=True), triangle, "3,4")
    case("solve_unit", lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True, unit_diagonal=True),
         triangle / 9, "4,3")  # fmt: skip
    singular = np.array([[0, 2, 4], [0, 1, 3], [0, 5, 1]], np.float32)
    for name, shape in (("square", "2,4,4"), ("tall", "5,3"), ("wide", "b,3,5")):
        case(f"factors_{name}", jax.scipy.linalg.lu_factor, shape)
    case("factors_singular", lambda a: lax.linalg.lu(a), singular)
    case("determinant", jnp.linalg.det, "b,4,4")
    case("inverse", jnp.linalg.inv, "b,3,3")
    case("cholesky_dynamic", lambda a: jnp.linalg.cholesky(a @ a.transpose(0, 2, 1) + jnp.eye(3)), "b,3,3")
    case("solve_dynamic", lambda a, b: lax.linalg.triangular_solve(a + 3 * jnp.eye(4), b, left_side=True, lower=True),
         "b,4,4", "b,4,2")  # fmt: skip
    case("rfft", lambda a: jnp.abs(jnp.fft.rfft(a)), "3,8")
    case("irfft", lambda a: jnp.fft.irfft(jnp.fft.rfft(a) * 2), "3,8")
    case("fft2", lambda a: jnp.real(jnp.fft.fft2(a.astype(jnp.complex64))), "4,6")
    case("threefry", lambda k: jax.random.uniform(k, (3,)), np.array([5, 7], np.uint32))


def _factorizations() -> None:
    case("reflections_dynamic", lambda a: jnp.linalg.qr(a, mode="raw"), "b,6,5")
    case("reflections_none", lambda a: jnp.linalg.qr(a, mode="raw"), np.array([[2, 3], [0, 1], [0, 4]], np.float32))
    tiny = np.array([[3, 1], [4, 2]], np.float32) * np.array([1e-30, 1e30], np.float32)
    case("reflections_tiny", lambda a: jnp.linalg.qr(a)[0], tiny)
    case("orthogonal_tall", jnp.linalg.qr, "2,5,3")
    case("orthogonal_wide", jnp.linalg.qr, "3,7")
    case("orthogonal_complete", lambda a: jnp.linalg.qr(a, mode="complete"), "6,5")
    case("orthogonal_unknown_dynamic", jnp.linalg.qr, "t,t")
    case("factors_many_dynamic", jax.scipy.linalg.lu_factor, "b,18,18")
    case("factors_unknown_dynamic", lambda a, b: jnp.linalg.solve(a + 3 * jnp.eye(a.shape[0]), b), "t,t", "t,2")
    half = np.random.default_rng(4).normal(size=(9, 7)).astype(np.float32)
    case("orthogonal_in_loop", lambda a: lax.fori_loop(0, 3, lambda i, q: jnp.linalg.qr(a @ q)[0], jnp.eye(7)[:, :5]),
         half.T @ half)  # fmt: skip


def _spectrum(function: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return what makes a function of symmetric matrices out of one of numbers."""

    def apply(a: Any) -> Any:
        values, vectors = jnp.linalg.eigh(a)
        return (vectors * function(values)[..., None, :]) @ jnp.swapaxes(vectors, -1, -2)

    return apply


def _lapack() -> None:
    case("eigenvalues", jnp.linalg.eigvalsh, "2,4,4")
    case("eigenvalues_upper", lambda a: jnp.linalg.eigvalsh(a, UPLO="U", symmetrize_input=False), "5,5")
    case("function_dynamic", _spectrum(jnp.exp), "b,3,3")
    case("singular_values", lambda a: jnp.linalg.svd(a, compute_uv=False), "2,3,5")
    case("pseudoinverse_dynamic", jnp.linalg.pinv, "b,5,3")
    case("nearest_rotation", lambda a: jnp.matmul(*jnp.linalg.svd(a, full_matrices=False)[::2]), "4,4")
    case("least_squares", lambda a, b: jnp.linalg.lstsq(a, b)[0], "6,3", "6,2")
    case("tridiagonal", lambda a, d, b: lax.linalg.tridiagonal_solve(a, d + 5, a[::-1], b), "5", "5", "5,2")


def _interleave() -> None:
    def joined(x: Any, y: Any, axis: int = 1, join: Any = lax.add, first: float | bool = 0) -> Any:
        def spread(a: Any, low: int, high: int) -> Any:
            amounts = [(low, high, 1) if at == axis else (0, 0, 0) for at in range(a.ndim)]
            return lax.pad(a, jnp.array(first, a.dtype), amounts)

        equal = x.shape[axis] == y.shape[axis]
        return join(spread(x, 0, int(equal)), spread(y, 1, int(not equal)))

    case("equal", joined, "2,3,4", "2,3,4")
    case("one_more", joined, "2,4,3", "2,3,3")
    case("turned", lambda x, y: joined(y, x)[:, ::-1], "2,3", "2,4")
    case("first_axis", partial(joined, axis=0), "4", "3")
    case("booleans", lambda x, y: joined(x > 0, y > 0, join=lax.bitwise_or, first=False), "3,5", "3,4")
    case("integers", lambda x, y: joined(_places(x, 9), _places(y, 9), axis=0), "3,2", "3,2")
    case("batch_dynamic", joined, "b,3", "b,3")
    case("batch_and_time_dynamic", lambda x, y: joined(x, y, axis=2), "b,t,4", "b,t,3")
    case("scan", lambda x: lax.associative_scan(
        lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (jnp.tanh(x), x), axis=1), "2,13")  # fmt: skip
    case("scan_dynamic", lambda x: lax.associative_scan(jnp.logaddexp, x, axis=1, reverse=True), "b,6")
    case("of_ones", partial(joined, first=1), "2,3", "2,3")
    case("overlapping", lambda x, y: joined(x, y) + lax.pad(x, 0.0, [(0, 0, 0), (0, 1, 1)]), "2,3", "2,3")
    case("multiplied", partial(joined, join=lax.mul), "2,3", "2,3")


def _searches() -> None:
    edges = np.array([-1.5, -0.0, 0.25, 0.25, 2], np.float32)
    special = np.array([[-np.inf, -1.5, -0.0, 0.0, 0.25], [0.3, 2, 7, np.inf, np.nan]], np.float32)
    for side in ("left", "right"):
        case(side, partial(jnp.searchsorted, edges, side=side), special)
        case(f"{side}_dynamic", partial(jnp.searchsorted, edges, side=side), "b,7")
        case(f"{side}_of_unknown", partial(jnp.searchsorted, side=side), np.sort(special[0]), special)
    case("int", partial(jnp.searchsorted, np.array([-3, 0, 2, 5])), np.array([[-4, -3, 1], [5, 6, 2]], np.int32))
    case("digitize", lambda x: jnp.digitize(x, edges), "b,4")
    case("falling", lambda x: jnp.digitize(x, edges[::-1], right=True), special)
    case("infinite", lambda x: jnp.digitize(x, np.array([-np.inf, 0, np.inf], np.float32)), special)
    case("interp", lambda x: jnp.interp(x, np.array([-1, 0, 2], np.float32), np.array([3, 1, 2], np.float32)), "b,4")


def _vmap() -> None:
    rng = np.random.default_rng(5)
    w, v, b = (rng.normal(size=shape).astype(np.float32) * 0.5 for shape in ((12, 4), (12, 3), (12,)))
    square = rng.normal(size=(4, 4)).astype(np.float32)
    case("dense", jax.vmap(lambda x: jax.nn.relu(w @ x + b)), "2,4")
    case("dense_dynamic", jax.vmap(lambda x: jax.nn.relu(w @ x + b)), "b,4")
    case("dense_square", jax.vmap(lambda x: jnp.tanh(square @ x)), "b,4")
    case("sum_dynamic", jax.vmap(lambda x, h: (w @ x + v @ h)[3:9] * 2 + b[:6]), "b,4", "b,3")
    case("left_and_transposed", lambda x: (w[:, :3] @ x).T + b, "3,5")

    def lstm(state: Any, x: Any) -> tuple[Any, Any]:
        h, c = state
        i, f, g, o = jnp.split(w @ x + v @ h + b, 4)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    scanned = jax.vmap(lambda x: lax.scan(lstm, (jnp.zeros(3), jnp.zeros(3)), x)[1])
    case("lstm", scanned, "2,5,4")
    case("lstm_dynamic", scanned, "b,5,4")
    for name, shape in (("", "2"), ("_dynamic", "b")):
        heads = f"{shape},5,4,8", f"{shape},6,2,8", f"{shape},6,2,8"
        case(f"attention_of_groups{name}", jax.nn.dot_product_attention, *heads)


def export_case(one: Case) -> tuple[bytes, dict[str, np.ndarray]]:
    """Return the module of a case, and its inputs and outputs by name."""
    rng = np.random.default_rng(17)
    scope = export.SymbolicScope()
    arrays, specs = [], []
    for given in one.inputs:
        if isinstance(given, str):
            sizes = [eval(size, {}, _SIZES) for size in given.split(",")]
            arrays.append(rng.standard_normal(sizes).astype(np.float32))
            specs.append(jax.ShapeDtypeStruct(export.symbolic_shape(given, scope=scope), jnp.float32))
        else:
            arrays.append(np.asarray(given))
            specs.append(jax.ShapeDtypeStruct(arrays[-1].shape, arrays[-1].dtype))
    function = jax.jit(one.function)
    made = jax.tree_util.tree_leaves(function(*arrays))
    data = export.export(function, platforms=one.platforms)(*specs).mlir_module_serialized
    named = {f"in{index}": array for index, array in enumerate(arrays)}
    return data, {**named, **{f"out{index}": np.asarray(array) for index, array in enumerate(made)}}


def files() -> Iterator[tuple[str, bytes]]:
    """Yield the files of the archive by name."""
    for name, one in sorted(CASES.items()):
        data, arrays = export_case(one)
        yield f"{name}.mlirbc", data
        stream = io.BytesIO()
        np.savez(stream, **arrays)  # type: ignore[arg-type]
        yield f"{name}.npz", stream.getvalue()


_GROUPS = (
    _elementwise, _shapes, _products, _reductions, _indexing, _sorting, _convolution, _windows, _window_gradients,
    _random, _platforms, _devices, _loops, _linear_algebra, _factorizations, _lapack, _interleave,
    _searches, _vmap,
)  # fmt: skip


def write(archive_name: str, groups: Sequence[Callable[[], None]]) -> None:
    """Write the cases of groups to an archive; their names begin with the group's."""
    for add in groups:
        before = set(CASES)
        add()
        for name in CASES.keys() - before:
            CASES[f"{add.__name__.lstrip('_')}/{name}"] = CASES.pop(name)
    with tarfile.open(HERE / archive_name, "w:xz", preset=9) as archive:
        for name, data in sorted(files(), key=lambda file: (file[0].rpartition(".")[2], file[0])):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


if __name__ == "__main__":
    write("ops.tar.xz", _GROUPS)
