"""Products that are transposed: with weights on the left, and of an Einsum."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass

_WEIGHTS = "float32[3,4] [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]"
_TURNED = "float32[4,3] [[1, 5, 9], [2, 6, 10], [3, 7, 11], [4, 8, 12]]"


def _check(before: str, after: str = "", inputs: str = "input %x: float32[n,4]\ninput %h: float32[n,4]") -> None:
    """Compare what a pass makes of the last op; the others, one a line, stay for want of readers."""
    lines, last = before.rsplit("\n", 1)
    made = [f"main {{\n{inputs}\n{lines}\n{end}\nreturn %y\n}}" for end in (last, after)]
    check_pass("simplify-stablehlo", made[0], made[1] if after else None)


def _product(name: str, x: str, flags: str = "{'transpose_b': True}", shape: str = "3,n") -> str:
    return f"%{name}: float32[{shape}] = tf.MatMul({_WEIGHTS}, {x}) {flags}"


@pytest.mark.parametrize(("flags", "x", "after"), [
    ("{'transpose_b': True}", "float32[n,4]", "{'transpose_b': True}"),
    ("", "float32[4,n]", "{'transpose_a': True, 'transpose_b': True}"),
])  # fmt: skip
def test_weights_move_to_the_right(flags: str, x: str, after: str) -> None:
    _check(
        _product("a", "%x", flags) + "\n%y: float32[n,3] = tf.Transpose(%a, int32[2] [1, 0])",
        f"%y: float32[n,3] = tf.MatMul(%x, {_WEIGHTS}) {after}",
        f"input %x: {x}\ninput %h: float32[n,4]",
    )  # fmt: skip


def test_sums_and_slices_of_products_are_made_of_the_others() -> None:
    _check(f"""{_product("a", "%x")}
        {_product("b", "%h")}
        %c: float32[3,n] = tf.AddV2(%a, %b)
        %d: float32[3,n] = tf.AddV2(%c, float32[3,1] [[1], [2], [3]])
        %e: float32[2,n] = tf.StridedSlice(%d, int32[2] [1, 0], int32[2] [3, 0], int32[2] [1, 1]) {{'begin_mask': 2, 'end_mask': 2}}
        %f: float32[2,n] = tf.Mul(%e, float32[] 2.0)
        %y: float32[n,2] = tf.Transpose(%f, int32[2] [1, 0])""", f"""%i: float32[n,3] = tf.MatMul(%x, {_WEIGHTS}) {{'transpose_b': True}}
        %j: float32[n,3] = tf.MatMul(%h, {_WEIGHTS}) {{'transpose_b': True}}
        %k: float32[n,3] = tf.AddV2(%i, %j)
        %l: float32[n,3] = tf.AddV2(%k, float32[1,3] [[1, 2, 3]])
        %m: float32[n,2] = tf.StridedSlice(%l, int32[2] [0, 1], int32[2] [0, 3], int32[2] [1, 1]) {{'begin_mask': 1, 'end_mask': 1}}
        %y: float32[n,2] = tf.Mul(%m, float32[] 2.0)""")  # noqa: E501


@pytest.mark.parametrize("lines", [
    # No weights, or on the right; another order; what others read; what no product is in.
    ["%a: float32[n,n] = tf.MatMul(%x, %h) {'transpose_b': True}",
     "%y: float32[n,n] = tf.Transpose(%a, int32[2] [1, 0])"],
    [f"%a: float32[n,3] = tf.MatMul(%x, {_TURNED})", "%y: float32[3,n] = tf.Transpose(%a, int32[2] [1, 0])"],
    [_product("a", "%x"), "%y: float32[3,n] = tf.Transpose(%a, int32[2] [0, 1])"],
    [_product("a", "%x"), "%b: float32[3,n] = tf.Tanh(%a)", "%c: float32[n,3] = tf.Transpose(%b, int32[2] [1, 0])",
     "%y: float32[n,n] = tf.MatMul(%c, %b)"],
    [_product("a", "%x"), "%b: float32[3,n] = tf.Softmax(%a)", "%y: float32[n,3] = tf.Transpose(%b, int32[2] [1, 0])"],
    ["%a: float32[n,4] = tf.Tanh(%x)", "%y: float32[4,n] = tf.Transpose(%a, int32[2] [1, 0])"],
    # Axes of vectors would be others.
    [_product("a", "%x"), "%b: float32[3,n] = tf.AddV2(%a, float32[1] [2.0])",
     "%y: float32[n,3] = tf.Transpose(%b, int32[2] [1, 0])"],
], ids=str)  # fmt: skip
def test_others_stay(lines: list[str]) -> None:
    _check("\n".join(lines))


def _einsum(shape: str, result: str) -> str:
    return f"float32[{shape}] = tf.Einsum(%x, %h) {{'equation': 'ab, cb -> {result}'}}"


def test_an_einsum_orders_the_dimensions() -> None:
    _check(f"%a: {_einsum('n,n', 'ac')}\n%y: float32[n,n] = tf.Transpose(%a, int32[2] [1, 0])",
           "%y: float32[n,n] = tf.Einsum(%x, %h) {'equation': 'ab,cb->ca'}")  # fmt: skip


def test_an_einsum_that_is_read_as_it_is_stays() -> None:
    moved = "%b: float32[n,n] = tf.Transpose(%a, int32[2] [1, 0])"
    _check("\n".join([f"%a: {_einsum('n,n', 'ac')}", moved, "%y: float32[n,n] = tf.AddV2(%a, %b)"]))
