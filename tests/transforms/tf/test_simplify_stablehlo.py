"""Ops that StableHLO spells out."""

from __future__ import annotations

import pytest

from fuseconv.report.records import Report
from fuseconv.transforms.tf.canonicalize import canonicalize
from fuseconv.transforms.tf.simplify_stablehlo import simplify_stablehlo
from tests.check_pass import check_pass
from tests.tf.text_cases import module_of


def _main(*lines: str, result: str = "%y", input: str = "%x: float32[n,4]") -> str:
    return "main {\n" + "\n".join([f"input {input}", *lines, f"return {result}"]) + "\n}"


@pytest.mark.parametrize(("before", "after"), [
    (["%y: float32[n,4] = tf.Maximum(%x, float32[] 0.0)"], ["%y: float32[n,4] = tf.Relu(%x)"]),
    (["%y: float32[n,4] = tf.RealDiv(%x, float32[] 4.0)"], None),
    (["%y: float32[n,4] = tf.Maximum(%x, float32[] 1.0)"], None),
])  # fmt: skip
def test_bounds(before: list[str], after: list[str] | None) -> None:
    check_pass("simplify-stablehlo", _main(*before), None if after is None else _main(*after))


def test_a_logistic_function_has_a_name() -> None:
    before = [
        "%a: float32[n,4] = tf.Neg(%x)", "%b: float32[n,4] = tf.Exp(%a)",
        "%c: float32[n,4] = tf.AddV2(float32[] 1.0, %b)",
    ]  # fmt: skip
    quotient, name = "%y: float32[n,4] = tf.RealDiv(float32[] 1.0, %c)", "%y: float32[n,4] = tf.Sigmoid(%x)"
    check_pass("simplify-stablehlo", _main(*before, quotient), _main(*before, name))
    product = "%a: float32[n,4] = tf.Mul(float32[] -1.0, %x)"
    check_pass("simplify-stablehlo", _main(product, *before[1:], quotient), _main(*before, name))


_ABOVE = "%a: bool[n,4] = tf.Greater(%x, float32[] 0.0)"
_HELD = "%b: float32[n,4] = tf.SelectV2(%a, float32[] 0.0, %x)"


def test_an_exponential_linear_unit_has_a_name() -> None:
    powers = "%c: float32[n,4] = tf.Expm1(%b)"
    named = [_ABOVE, _HELD, "%c: float32[n,4] = tf.Elu(%b)"]
    scaled = ["%d: float32[n,4] = tf.Mul(%c, float32[] 1.5)", "%y: float32[n,4] = tf.SelectV2(%a, %x, %d)"]
    check_pass("simplify-stablehlo", _main(_ABOVE, _HELD, powers, *scaled), _main(*named, *scaled))
    whole = "%y: float32[n,4] = tf.SelectV2(%a, %x, %c)"
    check_pass("simplify-stablehlo", _main(_ABOVE, _HELD, powers, whole),
               _main(*named, "%y: float32[n,4] = tf.Elu(%x)"))  # fmt: skip


def test_the_exponential_of_a_clipped_number_is_one_op() -> None:
    clipped = "%a: float32[n,4] = tf.Minimum(%x, float32[] 0.0)"
    check_pass("simplify-stablehlo", _main(clipped, "%y: float32[n,4] = tf.Expm1(%a)"),
               _main(clipped, "%y: float32[n,4] = tf.Elu(%a)"))  # fmt: skip


@pytest.mark.parametrize("lines", [
    ["%y: float32[n,4] = tf.Expm1(%x)"],
    ["%a: float32[n,4] = tf.Minimum(%x, float32[] 1.0)", "%y: float32[n,4] = tf.Expm1(%a)"],
    [_ABOVE, "%b: float32[n,4] = tf.SelectV2(%a, %x, float32[] 0.0)", "%y: float32[n,4] = tf.Expm1(%b)"],
    ["%a: bool[n,4] = tf.Greater(%x, float32[] 1.0)", _HELD, "%y: float32[n,4] = tf.Expm1(%b)"],
    [_ABOVE, "%c: float32[n,4] = tf.Elu(%x)", "%y: float32[n,4] = tf.SelectV2(%a, %x, %c)"],
    [_ABOVE, _HELD, "%c: float32[n,4] = tf.Elu(%b)", "%y: float32[n,4] = tf.SelectV2(%a, %c, %x)"],
])  # fmt: skip
def test_other_exponentials_stay(lines: list[str]) -> None:
    check_pass("simplify-stablehlo", _main(*lines))


@pytest.mark.parametrize(("count", "named"), [("4.0", True), ("5.0", False)])
def test_a_sum_over_its_count_is_a_mean(count: str, named: bool) -> None:
    total = "%a: float32[n] = tf.Sum(%x, int32[1] [1])"
    before = _main(total, f"%y: float32[n] = tf.RealDiv(%a, float32[] {count})")
    after = _main(total, "%y: float32[n] = tf.Mean(%x, int32[1] [1])")
    check_pass("simplify-stablehlo", before, after if named else None)


def test_a_reduction_keeps_what_is_put_back() -> None:
    before = _main("%a: float32[3] = tf.Max(%x, int32[1] [1])", "%y: float32[3,1] = tf.Reshape(%a, int32[2] [3, 1])",
                   input="%x: float32[3,4]")  # fmt: skip
    after = _main("%a: float32[3,1] = tf.Max(%x, int32[1] [1]) {'keep_dims': True}",
                  result="%a", input="%x: float32[3,4]")  # fmt: skip
    check_pass("simplify-stablehlo", before, after)


def test_a_slice_at_a_known_place_has_bounds() -> None:
    before = _main("%y: float32[2,2] = tf.XlaDynamicSlice(%x, int32[2] [9, 1], int32[2] [2, 2])",
                   input="%x: float32[3,4]")  # fmt: skip
    after = _main("%y: float32[2,2] = tf.StridedSlice(%x, int32[2] [1, 1], int32[2] [3, 3], int32[2] [1, 1]) "
                  "{'end_mask': 1}", input="%x: float32[3,4]")  # fmt: skip
    check_pass("simplify-stablehlo", before, after)


def test_one_number_fills() -> None:
    check_pass("simplify-stablehlo",
               _main("%y: float32[?,?] = tf.BroadcastTo(float32[] 2.0, %x)", input="%x: int32[2]"),
               _main("%y: float32[?,?] = tf.Fill(%x, float32[] 2.0)", input="%x: int32[2]"))  # fmt: skip


def _moments(centered: str = "%mean", axes: str = "[1]") -> str:
    return _main(
        "%mean: float32[n,1] = tf.Mean(%x, int32[1] [1]) {'keep_dims': True}",
        f"%z: float32[n,4] = tf.Sub(%x, {centered})", "%xx: float32[n,4] = tf.Mul(%x, %x)",
        f"%a: float32[n,1] = tf.Mean(%xx, int32[1] {axes}) {{'keep_dims': True}}",
        "%b: float32[n,1] = tf.Mul(%mean, %mean)", "%c: float32[n,1] = tf.Sub(%a, %b)",
        "%d: float32[n,1] = tf.Maximum(%c, float32[] 0.0)", "%y: float32[n,4] = tf.Mul(%z, %d)",
    )  # fmt: skip


def test_a_variance_is_that_of_centered_numbers() -> None:
    lines = [
        "%mean: float32[n,1] = tf.Mean(%x, int32[1] [1]) {'keep_dims': True}",
        "%z: float32[n,4] = tf.Sub(%x, %mean)", "%xx: float32[n,4] = tf.Mul(%x, %x)",
        "%a: float32[n,1] = tf.Mean(%xx, int32[1] [1]) {'keep_dims': True}",
        "%b: float32[n,1] = tf.Mul(%mean, %mean)",
        "%m: float32[n,1] = tf.Mean(%x, int32[1] [1]) {'keep_dims': True}",
        "%s: float32[n,4] = tf.Sub(%x, %m)", "%ss: float32[n,4] = tf.Mul(%s, %s)",
        "%v: float32[n,1] = tf.Mean(%ss, int32[1] [1]) {'keep_dims': True}", "%y: float32[n,4] = tf.Mul(%z, %v)",
    ]  # fmt: skip
    check_pass("simplify-stablehlo", _moments(), _main(*lines))


@pytest.mark.parametrize(("zero", "dropped"), [("0.0", True), ("-0.0", False), ("1.0", False)])
def test_what_is_less_nothing_stays(zero: str, dropped: bool) -> None:
    text = _main(f"%d: float32[n,4] = tf.Sub(%x, float32[] {zero})", "%y: float32[n,4] = tf.Mul(%d, %x)")
    check_pass("simplify-stablehlo", text, _main("%y: float32[n,4] = tf.Mul(%x, %x)") if dropped else None)


def test_a_difference_of_more_dimensions_stays() -> None:
    check_pass("simplify-stablehlo", _main("%y: float32[1,n,4] = tf.Sub(%x, float32[1,1,1] [[[0.0]]])"), None)


@pytest.mark.parametrize("other", [{"centered": "float32[] 1.0"}, {"axes": "[0]"}])
def test_another_difference_is_no_variance(other: dict[str, str]) -> None:
    text = _moments(**other)
    floor = "tf.Maximum(%c, float32[] 0.0)"
    check_pass("simplify-stablehlo", text, text.replace(floor, "tf.Relu(%c)"))


_INDEX = [
    "%neg: bool[n] = tf.Less(%x, int32[] 0)", "%end: int32[n] = tf.AddV2(%x, int32[] 9)",
    "%i: int32[n] = tf.SelectV2(%neg, %end, %x)",
]  # fmt: skip
_LOOKUP = [
    "%low: bool[n] = tf.GreaterEqual(%i, int32[] 0)", "%high: bool[n] = tf.LessEqual(%i, int32[] 8)",
    "%in: bool[n] = tf.LogicalAnd(%low, %high)", "%m: int32[n] = tf.Minimum(%i, int32[] 8)",
    "%at: int32[n] = tf.Maximum(%m, int32[] 0)",
]  # fmt: skip


def test_an_index_from_the_end_is_a_remainder() -> None:
    held = ["tf.Minimum(%x, int32[] 8)", "tf.Maximum({}, int32[] -9)"]
    after = _main(*_INDEX, *_LOOKUP[:2], f"%a: int32[n] = {held[0]}", f"%b: int32[n] = {held[1].format('%a')}",
                  "%in: bool[n] = tf.Equal(%b, %x)", _LOOKUP[3], f"%c: int32[n] = {held[0]}",
                  f"%d: int32[n] = {held[1].format('%c')}", "%at: int32[n] = tf.FloorMod(%d, int32[] 9)",
                  result="%in, %at", input="%x: int32[n]")  # fmt: skip
    check_pass("simplify-stablehlo", _main(*_INDEX, *_LOOKUP, result="%in, %at", input="%x: int32[n]"), after)


def test_an_index_of_64_bits_is_clamped_before_it_is_cast() -> None:
    wide = [line.replace("int32", "int64").replace("%i:", "%wide:") for line in _INDEX]
    cast = "%i: int32[n] = tf.Cast(%wide)"
    held = ["tf.Minimum(%x, int64[] 8)", "tf.Maximum({}, int64[] -9)"]
    after = _main(*wide, cast, *_LOOKUP[:2], f"%a: int64[n] = {held[0]}", f"%b: int64[n] = {held[1].format('%a')}",
                  "%in: bool[n] = tf.Equal(%b, %x)", _LOOKUP[3], f"%c: int64[n] = {held[0]}",
                  f"%d: int64[n] = {held[1].format('%c')}", "%e: int32[n] = tf.Cast(%d)",
                  "%at: int32[n] = tf.FloorMod(%e, int32[] 9)", result="%in, %at", input="%x: int64[n]")  # fmt: skip
    before = _main(*wide, cast, *_LOOKUP, result="%in, %at", input="%x: int64[n]")
    check_pass("simplify-stablehlo", before, after)


def test_the_index_of_an_added_dimension_is_not_yet_compared() -> None:
    rows = [line.replace("[n]", "[n,1]").replace("%i", "%j").replace("%jn", "%in") for line in _LOOKUP[:3]]
    text = _main("%r: int64[n,1] = tf.ExpandDims(%x, int32[] 1)", "%j: int32[n,1] = tf.Cast(%r)", *rows,
                 "%m: int32[n,1] = tf.Minimum(%j, int32[] 8)", result="%in, %m", input="%x: int64[n]")  # fmt: skip
    check_pass("simplify-stablehlo", text, None)


@pytest.mark.parametrize("index", [-(2**31), -10, -9, -1, 0, 8, 9, 2**31 - 1])
def test_a_remainder_is_what_the_index_from_the_end_is(index: int) -> None:
    wrapped = index + 9 if index < 0 else index
    held = max(min(index, 8), -9)
    assert held % 9 == max(min(wrapped, 8), 0)
    assert (held == index) == (0 <= wrapped <= 8)


def test_an_index_in_bounds_is_what_it_is_clamped_to() -> None:
    before = [line.replace("%i", "%x").replace("%xn", "%in") for line in _LOOKUP]
    after = [*before[:2], "%a: int32[n] = tf.Minimum(%x, int32[] 8)", "%b: int32[n] = tf.Maximum(%a, int32[] 0)",
             "%in: bool[n] = tf.Equal(%b, %x)", *before[3:]]  # fmt: skip
    check_pass("simplify-stablehlo", _main(*before, result="%in, %at", input="%x: int32[n]"),
               _main(*after, result="%in, %at", input="%x: int32[n]"))  # fmt: skip


@pytest.mark.parametrize("keeps", [True, False])
def test_a_reduction_of_one_element_is_none(keeps: bool) -> None:
    attrs, shape = (" {'keep_dims': True}", "n,1") if keeps else ("", "n")
    before = _main(f"%y: bool[{shape}] = tf.All(%x, int32[1] [1]){attrs}", input="%x: bool[n,1]")
    rows = "%y: bool[n] = tf.Squeeze(%x) {'squeeze_dims': [1]}"
    made = _main(result="%x", input="%x: bool[n,1]") if keeps else _main(rows, input="%x: bool[n,1]")
    check_pass("simplify-stablehlo", before, made)


@pytest.mark.parametrize(("end", "named"), [("3", True), ("0", False)])
def test_an_element_of_a_shape_is_cut_as_a_vector(end: str, named: bool) -> None:
    bounds = f"int32[1] [2], int32[1] [{end}], int32[1] [1]"
    scalar = f"%a: int32[] = tf.StridedSlice(%x, {bounds}) {{'shrink_axis_mask': 1}}"
    before = _main(scalar, "%y: int32[1] = tf.Reshape(%a, int32[1] [1])", input="%x: int32[4]")
    after = _main(scalar, f"%y: int32[1] = tf.StridedSlice(%x, {bounds})", input="%x: int32[4]")
    check_pass("simplify-stablehlo", before, after if named else None)


@pytest.mark.parametrize("step", [1, -1])
def test_a_slice_that_goes_backwards_keeps_its_bounds(step: int) -> None:
    module, _ = module_of(_main(
        "%s: int32[2] = tf.Shape(%x)",
        "%n: int32[] = tf.StridedSlice(%s, int32[1] [0], int32[1] [1], int32[1] [1]) {'shrink_axis_mask': 1}",
        "%end: int32[2] = tf.Pack(%n, int32[] 0)",
        f"%y: float32[?,?] = tf.StridedSlice(%x, int32[2] [0, 0], %end, int32[2] [1, {step}]) {{'end_mask': 2}}",
    ))  # fmt: skip
    canonicalize(module, Report())
    assert simplify_stablehlo(module) == (step == 1)


@pytest.mark.parametrize("lines", [
    ["%a: int32[n] = tf.Mean(%xx, int32[1] [1])", "%y: int32[n] = tf.Maximum(%a, int32[] 0)"],
    ["%a: int32[n] = tf.Mean(%xx, int32[1] [1])", "%m: int32[n] = tf.Mean(%x, int32[1] [1])",
     "%mm: int32[n] = tf.Mul(%m, %m)", "%k: int32[n,1] = tf.Reshape(%m, int32[2] [-1, 1])",
     "%z: int32[n,4] = tf.Sub(%x, %k)", "%v: int32[n] = tf.Sub(%a, %mm)", "%s: int32[n] = tf.Sum(%z, int32[1] [1])",
     "%y: int32[n] = tf.AddV2(%v, %s)"],
])  # fmt: skip
def test_moments_of_integers_stay(lines: list[str]) -> None:
    check_pass("simplify-stablehlo", _main("%xx: int32[n,4] = tf.Mul(%x, %x)", *lines, input="%x: int32[n,4]"))


def test_a_logistic_function_that_adds_dimensions_stays() -> None:
    check_pass("simplify-stablehlo", _main(
        "%a: float32[4] = tf.Neg(%x)", "%b: float32[4] = tf.Exp(%a)", "%c: float32[4] = tf.AddV2(float32[] 1.0, %b)",
        "%y: float32[1,4] = tf.RealDiv(float32[1,1] [[1.0]], %c)", input="%x: float32[4]",
    ))  # fmt: skip


@pytest.mark.parametrize(("dtype", "count"), [("int32", 0), ("uint8", 9)])
def test_an_index_of_nothing_and_one_without_a_sign_stay(dtype: str, count: int) -> None:
    lines = [line.replace("int32", dtype).replace("[] 9", f"[] {count}") for line in _INDEX]
    held = [f"%m: {dtype}[n] = tf.Minimum(%i, {dtype}[] {max(count - 1, 0)})"] if count else [
        "%m: int32[n] = tf.Minimum(%i, int32[] -1)"]  # fmt: skip
    floor = f"%at: {dtype}[n] = tf.Maximum(%m, {dtype}[] 0)"
    check_pass("simplify-stablehlo", _main(*lines, *held, floor, result="%at", input=f"%x: {dtype}[n]"))


@pytest.mark.parametrize(("factor", "shape", "drops"), [
    ("float32[] 1.0", "n,4", True), ("float32[1,1] [[1.0]]", "n,4", True), ("float32[1,1,1] [[[1.0]]]", "1,n,4", False),
    ("float32[] -1.0", "n,4", False),
])  # fmt: skip
def test_what_is_multiplied_by_one(factor: str, shape: str, drops: bool) -> None:
    line = f"%y: float32[{shape}] = tf.Mul(%x, {factor})"
    check_pass("simplify-stablehlo", _main(line), _main(result="%x") if drops else None)


_MATRICES = "float32[2,1,3] [[[1, 2, 3]], [[1, 2, 3]]]"


@pytest.mark.parametrize(("weights", "shared"), [
    (_MATRICES, True), ("float32[2,1,3] [[[1, 2, 3]], [[1, 2, 4]]]", False), ("float32[1,3] [[1, 2, 3]]", False),
])  # fmt: skip
def test_weights_that_each_of_a_batch_has(weights: str, shared: bool) -> None:
    x = "%x: float32[2,5,1]"
    product = "%y: float32[2,5,3] = tf.BatchMatMulV2(%x, {})"
    after = _main(product.format("float32[1,3] [[1, 2, 3]]"), input=x)
    check_pass("simplify-stablehlo", _main(product.format(weights), input=x), after if shared else None)


def test_weights_that_are_broadcast_to_a_batch() -> None:
    wide = "%w: float32[n,1,3] = tf.BroadcastTo({}, %s)"
    inputs = "%x: float32[n,5,1]\ninput %s: int32[3]\ninput %k: float32[1,1,3]"
    product = "%y: float32[n,5,3] = tf.BatchMatMulV2(%x, {})"
    check_pass(
        "simplify-stablehlo",
        _main(wide.format("%k"), product.format("%w"), input=inputs),
        _main(wide.format("%k"), "%one: float32[1,3] = tf.Reshape(%k, int32[2] [1, 3])", product.format("%one"),
              input=inputs),
    )  # fmt: skip


def test_weights_that_make_a_batch_stay() -> None:
    product = f"%y: float32[2,5,3] = tf.BatchMatMulV2(%x, {_MATRICES})"
    check_pass("simplify-stablehlo", _main(product, input="%x: float32[1,5,1]"))


def test_a_part_of_one_number() -> None:
    inputs = "%s: int32[3]\ninput %t: int32[2]"
    part = "tf.StridedSlice(%a, int32[3] [1, 0, 0], int32[3] [2, 0, 0], int32[3] [1, 1, 1])"
    before = [
        "%a: float32[2,n,4] = tf.Fill(%s, float32[] 2.0)",
        f"%b: float32[1,n,4] = {part} {{'begin_mask': 6, 'end_mask': 6}}",
    ]  # fmt: skip
    check_pass(
        "simplify-stablehlo", _main(*before, "%y: float32[n,4] = tf.Reshape(%b, %t)", input=inputs),
        _main(*before, "%y: float32[n,4] = tf.Fill(%t, float32[] 2.0)", input=inputs),
    )  # fmt: skip


_MOVED = "%a: float32[4,n,3] = tf.Transpose(%x, int32[3] [2, 0, 1])"
_IMAGE = "%x: float32[n,3,4]"


@pytest.mark.parametrize(("total", "moved", "after"), [
    ("float32[n,4] = tf.Max(%x, int32[] 1)", "float32[4,n] = tf.Transpose(%t, int32[2] [1, 0])",
     "float32[4,n] = tf.Max(%b, int32[1] [2])"),
    ("float32[n] = tf.Sum(%x, int32[2] [-1, 1])", "float32[n] = tf.Transpose(%t, int32[1] [0])",
     "float32[n] = tf.Sum(%b, int32[2] [0, 2])"),
    ("float32[n,1,4] = tf.Max(%x, int32[] 1) {'keep_dims': True}",
     "float32[4,n,1] = tf.Transpose(%t, int32[3] [2, 0, 1])",
     "float32[4,n,1] = tf.Max(%b, int32[1] [2]) {'keep_dims': True}"),
    # The data are transposed in another order.
    ("float32[n,1,4] = tf.Max(%x, int32[] 1) {'keep_dims': True}",
     "float32[4,1,n] = tf.Transpose(%t, int32[3] [2, 1, 0])",
     ""),
    ("float32[n,4] = tf.Max(%x, int32[] 1)", "float32[n,4] = tf.Transpose(%t, int32[2] [0, 1])", ""),
], ids=str)  # fmt: skip
def test_what_is_transposed_anyway_is_reduced(total: str, moved: str, after: str) -> None:
    before = _main(_MOVED, f"%t: {total}", f"%y: {moved}", result="%a, %y", input=_IMAGE)
    again = _MOVED.replace("%a", "%b")
    made = _main(_MOVED, f"%t: {total}", again, f"%y: {after}", result="%a, %y", input=_IMAGE)
    check_pass("simplify-stablehlo", before, made if after else None)


def test_what_is_not_transposed_or_read_otherwise_is_reduced_as_it_is() -> None:
    total = ["%t: float32[n,4] = tf.Max(%x, int32[] 1)", "%y: float32[4,n] = tf.Transpose(%t, int32[2] [1, 0])"]
    check_pass("simplify-stablehlo", _main(*total, input=_IMAGE))
    check_pass("simplify-stablehlo", _main(_MOVED, *total, result="%a, %t, %y", input=_IMAGE))


def test_a_sum_of_powers_is_not_negative() -> None:
    sums = ["%a: float32[n,4] = tf.Exp(%x)", "%b: float32[n,1] = tf.Sum(%a, int32[1] [1]) {'keep_dims': True}"]
    after = "%y: float32[n,1] = tf.Log(%b)"
    check_pass("simplify-stablehlo", _main(*sums, "%c: float32[n,1] = tf.Abs(%b)", after.replace("%b", "%c")),
               _main(*sums, after))  # fmt: skip
    check_pass("simplify-stablehlo", _main("%a: float32[n,4] = tf.Tanh(%x)", "%y: float32[n,4] = tf.Abs(%a)"))
    check_pass("simplify-stablehlo", _main(sums[0], "%y: float32[n,4] = tf.Abs(%a)"), _main(sums[0], result="%a"))
