"""Demote float64 between casts -> the type that the last cast makes, where that computes the same numbers.

TensorFlow divides whole numbers in float64, as models do with their own sizes (`tf.cast(tf.math.ceil(length / 4),
tf.int32)`), and tables made by numpy are of float64. TFLite has next to no kernels for it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Module, Op, Value, constant
from fuseconv.ir.rewriter import Speculative, rewrite_ops
from fuseconv.ir.terms import operand_of
from fuseconv.ir.types import DType
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.traits import ROUNDING

if TYPE_CHECKING:
    from fractions import Fraction

# What float64 holds to the last bit, and int32 does if it is an integer.
_EXACT = (
    types.BOOL, types.INT8, types.UINT8, types.INT16, types.UINT16, types.INT32,
    types.FLOAT16, types.BFLOAT16, types.FLOAT32,
)  # fmt: skip
# Ops whose int64 are places or sizes, which TFLite counts in 32 bits.
_COUNTS = ("ArgMax", "ArgMin", "Shape", "Size", "Where")
_LARGEST = 2**31 - 1
# Of the terms of a fraction, whose product int32 holds with ease.
_LARGEST_TERM = 2**15
# A fraction's denominator if it is a power of 2, for half of whose bits int32 holds the products.
_LARGEST_POWER = 2**28
_EVERY, _FIRST = slice(None), slice(0, 1)
# Ops that take elements from one place to another, with the operands that hold them.
_MOVES = {
    **dict.fromkeys(("BroadcastTo", "ExpandDims", "Gather", "GatherNd", "GatherV2", "Reshape", "ReverseV2"), _FIRST),
    **dict.fromkeys(("Slice", "Squeeze", "StridedSlice", "Tile", "Transpose"), _FIRST),
    **dict.fromkeys(("Fill", "Select", "SelectV2"), slice(1, None)),
    "ConcatV2": slice(0, -1),
    "Pack": _EVERY,
}
# Those that choose between elements or turn their signs, which rounding does not alter.
_CHOICES = dict.fromkeys(("Abs", "Maximum", "Minimum", "Neg"), _EVERY)
# Of floats: those of which there is one among many, and what stands around them. XlaReduceWindow: by its computation.
_LARGEST_OF = {
    **dict.fromkeys(("Max", "MaxPool", "Min", "MirrorPad", "Pad"), _FIRST),
    "PadV2": slice(0, None, 2),
    "XlaReduceWindow": slice(0, 2),
}
_CHOOSING = ("Max", "Min")
_OF_FLOATS = _MOVES | _CHOICES | _LARGEST_OF
_SUMS = dict.fromkeys(("Add", "AddV2", "Mul", "Sub"), _EVERY)
_QUOTIENTS = ("Div", "RealDiv")
# float64 has more than twice the bits of float32, so that to round to it first makes no difference.
_ROUNDED_ONCE = dict.fromkeys((*_SUMS, *_QUOTIENTS, "Sqrt"), _EVERY)


@module_pass("demote-float64", kinds=("tf.Cast",))
def demote_float64(module: Module, report: Report) -> bool:
    """Compute in narrower types what float64 only passes on: Cast(Cast(x, float64) / y, int32) -> FloorDiv(x, y).

    Returns whether anything changed; dead ops stay for `canonicalize`.

    To integers: quotients, cut off or rounded, and their sums and products. To floats: what was never rounded to
    float64, and constants, also where they are moved, negated or compared, or the largest of a window is taken. To
    float32: one sum, product, quotient or root of numbers that float32 holds, which are all but the largest of int32.
    Expects folded constants.
    """

    def rewrite(op: Op, out: list[Op]) -> list[Value] | None:
        if op.operands[0].dtype is not types.FLOAT64:  # type: ignore[union-attr]
            return None
        with Speculative() as trial:
            made = _Narrow(op, trial.ops).cast()
            if made is None:
                return None
            trial.keep()
        if not trial.ops:
            report.removed(op, "demote-float64", "it makes a number what it was")
        out += trial.ops
        return [made]

    changed = [rewrite_ops(graph, ("tf.Cast",), rewrite) for graph in module.graphs()]
    return any(changed)


def _once(method: Callable[..., Value | None]) -> Callable[..., Value | None]:
    """Decorate a method of `_Narrow`: what it returned before is returned again, for the same arguments."""

    @functools.wraps(method)
    def known(self: _Narrow, *arguments: Any) -> Value | None:
        key = (method.__name__, *arguments)
        if key not in self.known:
            self.known[key] = method(self, *arguments)
        return self.known[key]

    return known


class _Narrow:
    """What a Cast makes of float64, computed in another type. Each method returns None where it would not be equal."""

    def __init__(self, op: Op, out: list[Op]) -> None:
        self.op = op
        self.tf = TfBuilder(out, op)
        # What was computed before, by method and arguments: a value that is read twice is narrowed once.
        self.known: dict[tuple[Any, ...], Value | None] = {}

    def cast(self) -> Value | None:
        """Return what the Cast makes: a float that is rounded, or an integer without its fraction."""
        (x,) = self.op.operands
        dtype = self.op.result.dtype
        assert x is not None
        if dtype in (types.FLOAT32, types.FLOAT16, types.BFLOAT16):
            return self.rounded(x, dtype)
        made = self.truncated(x, dtype is types.INT32) if dtype in (types.INT32, types.INT64) else None
        return made and self.converted(made, dtype)

    @_once
    def rounded(self, x: Value, dtype: DType) -> Value | None:
        """Return x in a type of fewer bits."""
        if x.data is not None:
            with np.errstate(over="ignore"):
                return constant(x.data.astype(dtype.numpy), dtype, x.name)
        source = _cast_from(x)
        if source is not None:
            return self.converted(source, dtype)
        if dtype is types.FLOAT32 and x.op is not None and x.op.type in _ROUNDED_ONCE:
            return self.rebuilt(x, _ROUNDED_ONCE, dtype, self.exact)
        return self.rebuilt(x, _OF_FLOATS, dtype, lambda operand: self.rounded(operand, dtype))

    @_once
    def exact(self, x: Value) -> Value | None:
        """Return x as float32 if that holds it."""
        if x.data is not None:
            return self.rounded(x, types.FLOAT32) if np.array_equal(x.data.astype(np.float32), x.data) else None
        if _cast_from(x) is not None:
            return self.rounded(x, types.FLOAT32)
        return self.rebuilt(x, _OF_FLOATS, types.FLOAT32, self.exact)

    @_once
    def truncated(self, x: Value, wraps: bool) -> Value | None:
        """Return x without its fraction, as int32. wraps: what does not fit int32 may be anything."""
        if x.op is not None and x.op.type in (*_QUOTIENTS, "Mul", "Sub"):
            made = self.quotient(x.op, "TruncateDiv") if x.op.type in _QUOTIENTS else self.whole(x, wraps)
            return made or self.scaled(x, wraps)
        if x.op is not None and x.op.type in _MOVES:
            return self.rebuilt(x, _MOVES, types.INT32, lambda operand: self.truncated(operand, wraps))
        return self.whole(x, wraps)

    @_once
    def whole(self, x: Value, wraps: bool) -> Value | None:
        """Return x as int32 if all its elements are whole numbers that fit."""
        if x.data is not None:
            fits = np.all((np.abs(x.data) <= _LARGEST) & (np.trunc(x.data) == x.data))
            return constant(x.data.astype(np.int32), types.INT32, x.name) if fits else None
        source = _cast_from(x)
        if source is not None:
            return None if source.dtype.is_float else self.converted(source, types.INT32)
        if x.op is None:
            return None
        if x.op.type == "FloorDiv":
            return self.quotient(x.op, "FloorDiv")
        if x.op.kind in ROUNDING:
            (operand,) = x.op.operands
            assert operand is not None
            if operand.op is None or operand.op.type not in _QUOTIENTS:
                return self.whole(operand, wraps)
            return self.rounded_quotient(operand.op, x.op.type)
        if x.op.type in ("Maximum", "Minimum"):
            return self.rebuilt(x, _CHOICES, types.INT32, lambda operand: self.whole(operand, False))
        # Of sums and products the last 32 bits are right whatever became of the others.
        kinds = _MOVES | _SUMS if wraps else _MOVES
        return self.rebuilt(x, kinds, types.INT32, lambda operand: self.whole(operand, wraps))

    def quotient(self, op: Op, kind: str) -> Value | None:
        """Return a quotient of numbers that fit int32, which float64 never rounds to a whole number that it is not."""
        a, b = (self.whole(operand, False) for operand in op.operands if operand is not None)
        if a is None or b is None or (b.data is not None and not b.data.all()):
            return None
        made: Value = getattr(self.tf, kind)(a, b)
        return made

    def rounded_quotient(self, op: Op, kind: str) -> Value | None:
        """Return a quotient that an op of this kind rounds. float64 holds halves, and rounds nothing to one."""
        low = self.quotient(op, "FloorDiv")
        if low is None or low.op is None or kind == "Floor":
            return low
        a, b = low.op.operands
        rest = self.tf.FloorMod(a, b)
        if kind == "Ceil":
            more = self.tf.NotEqual(rest, 0, dtype=types.BOOL)
        elif b is not None and b.data is not None and ((b.data > 0) & (b.data <= _LARGEST // 2)).all():
            # More than a half goes up, and so does a half from an odd number.
            more = self.tf.Greater(self.tf.AddV2(self.tf.Mul(rest, 2), self.tf.FloorMod(low, 2)), b, dtype=types.BOOL)
        else:
            return None
        return self.tf.AddV2(low, self.tf.as_int32(more))

    def scaled(self, x: Value, wraps: bool) -> Value | None:
        """Return x without its fraction as int32, where x is a part of a number n that fits int32. With n = q * d + r,
        n * c / d is q * c + r * c / d, in which nothing overflows."""
        part = _part_of(x)
        n = part and self.whole(part[0], False)
        if part is None or n is None or not (wraps or part[1] <= 1):
            return None
        c, d = part[1].numerator, part[1].denominator
        quotient = self.tf.TruncateDiv(n, d)
        if c == 1:
            return quotient
        rest = self.tf.Sub(n, self.tf.Mul(quotient, d))
        if d <= _LARGEST_TERM:
            more = self.tf.TruncateDiv(self.tf.Mul(rest, c), d)
        else:
            more = self.product_in_halves(rest, c, d)
        return self.tf.AddV2(self.tf.Mul(quotient, c), more)

    def product_in_halves(self, n: Value, c: int, d: int) -> Value:
        """Return n * c / d for c and n below d, a power of 2: what they are made of has half the bits of d each."""
        base = 1 << d.bit_length() // 2
        high, low = divmod(c * base * base // d, base)
        upper = self.tf.TruncateDiv(n, base)
        lower = self.tf.Sub(n, self.tf.Mul(upper, base))
        carried = self.tf.TruncateDiv(self.tf.Mul(lower, low), base)
        middle = self.tf.AddV2(self.tf.AddV2(self.tf.Mul(upper, low), self.tf.Mul(lower, high)), carried)
        return self.tf.AddV2(self.tf.Mul(upper, high), self.tf.TruncateDiv(middle, base))

    def converted(self, x: Value, dtype: DType) -> Value:
        """Return x as another type; x itself if it has that."""
        return x if x.dtype is dtype else self.tf.Cast(x, dtype=dtype)

    def rebuilt(
        self, x: Value, kinds: dict[str, slice], dtype: DType, narrow: Callable[[Value], Value | None]
    ) -> Value | None:
        """Return the op that makes x, if it is of these kinds, on operands of another type."""
        if x.op is None or x.op.type not in kinds:
            return None
        if x.op.type == "XlaReduceWindow" and x.op.attrs.get("computation") not in _CHOOSING:
            return None
        operands: list[Value | None] = list(x.op.operands)
        for index in range(len(operands))[kinds[x.op.type]]:
            operand = operands[index]
            operands[index] = operand and narrow(operand)
            if operands[index] is None:
                return None
        return self.tf.add(x.op.type, operands, dict(x.op.attrs), dtype, x.shape)


def _cast_from(x: Value) -> Value | None:
    """Return the number of a type that float64 holds exactly, of which x is a Cast."""
    source = operand_of(x, "tf.Cast")
    if source is None or source.dtype in _EXACT:
        return source
    counts = source.dtype is types.INT64 and source.op is not None and source.op.type in _COUNTS
    return source if counts else None


def _part_of(x: Value) -> tuple[Value, Fraction] | None:
    """Return n and a fraction, if x is n * f, n - n * f or a quotient of these, and cutting off x gives what cutting
    off n times the fraction gives. That holds for each int32 n; if f has the 24 bits of a float32, for each n below
    2^27 at least."""
    divisor = 1
    if x.op is not None and x.op.type in _QUOTIENTS:
        top, by = x.op.operands
        number = None if by is None or by.rank != 0 or by.data is None else float(by.data)
        if top is None or number is None or not (1 <= number <= _LARGEST_TERM and number.is_integer()):
            return None
        x, divisor = top, int(number)
    n, product = x.op.operands if x.op is not None and x.op.type == "Sub" else (None, x)
    if product is None or product.op is None or product.op.type != "Mul":
        return None
    of, factor = sorted((value for value in product.op.operands if value is not None), key=lambda value: value.is_const)
    if factor.data is None or factor.rank != 0 or (n is not None and n is not of):
        return None
    fraction = _fraction(float(factor.data), upwards=n is None)
    if fraction is None:
        return None
    fraction = (fraction if n is None else 1 - fraction) / divisor
    c, d = fraction.numerator, fraction.denominator
    fits = max(c, d) <= _LARGEST_TERM or (c < d <= _LARGEST_POWER and d & (d - 1) == 0)
    return (of, fraction) if fraction > 0 and fits else None


def _fraction(f: float, upwards: bool) -> Fraction | None:
    """Return the fraction that f stands for.

    That is f itself if it has few bits, as n * f then is exact. It is a fraction of small terms if f is the float64
    next to it. Where n times the fraction is no whole number, it is further from one than float64 errs. Where it is a
    whole number, n * f must be that number, as it is if f is off the fraction by no more than 2^-54 of it. Else n * f
    must err to the side that is not cut off: upwards, or downwards if it is subtracted from n."""
    if not 0 < f <= _LARGEST_TERM:
        return None
    from fractions import Fraction  # brings decimals along, and hardly a model needs either

    itself = Fraction(f)
    if itself.denominator <= _LARGEST_POWER:
        return itself
    fraction = itself.limit_denominator(_LARGEST_TERM)
    if float(fraction) != f:
        return None
    error = (itself - fraction) / fraction
    safe = (error >= 0 if upwards else error <= 0) or abs(error) <= Fraction(1, 2**54)
    return fraction if safe else None
