"""Dimensions of size 1 that stand below what does not need them."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass


def _main(*lines: str, result: str = "%y", shape: str = "n,4") -> str:
    return "main {\n" + "\n".join([f"input %x: float32[{shape}]", *lines, f"return {result}"]) + "\n}"


_ADDED = "%a: float32[n,1,4] = tf.Reshape(%x, int32[3] [-1, 1, 4])"


def _sinks(before: list[str], after: list[str], shape: str = "n,4") -> None:
    check_pass("sink-unit-dimensions", _main(_ADDED, *before, shape=shape), _main(_ADDED, *after, shape=shape))


def test_elementwise_ops_are_computed_without_them() -> None:
    _sinks(["%y: float32[n,1,4] = tf.Mul(%a, float32[1,4] [[1, 2, 3, 4]])"],
           ["%b: float32[n,4] = tf.Mul(%x, float32[4] [1, 2, 3, 4])",
            "%y: float32[n,1,4] = tf.Reshape(%b, int32[3] [-1, 1, 4])"])  # fmt: skip


def test_an_operand_of_fewer_dimensions_lacks_its_own() -> None:
    column = "%a: float32[3,3,1] = tf.Reshape(%x, int32[3] [3, 3, 1])"
    check_pass(
        "sink-unit-dimensions",
        _main(column, "%y: float32[3,3,1] = tf.Mul(%a, float32[3,1] [[1], [2], [3]])", shape="3,3"),
        _main(column, "%b: float32[3,3] = tf.Mul(%x, float32[3] [1, 2, 3])",
              "%y: float32[3,3,1] = tf.Reshape(%b, int32[3] [3, 3, 1])", shape="3,3"),
    )  # fmt: skip


def test_an_operand_that_has_the_dimension_keeps_it() -> None:
    sum_ = "%y: float32[n,1,4] = tf.AddV2(%a, %z)"
    check_pass("sink-unit-dimensions", _main("input %z: float32[n,1,4]", _ADDED, sum_))


def test_two_operands_that_lack_the_same_dimension() -> None:
    other = "%b: float32[n,1,1] = tf.Reshape(%r, int32[3] [-1, 1, 1])"
    total = "%r: float32[n] = tf.Sum(%x, int32[1] [1])"
    _sinks([total, other, "%y: float32[n,1,4] = tf.Sub(%a, %b)"],
           [total, other, "%c: float32[n,1] = tf.Reshape(%r, int32[2] [-1, 1])",
            "%d: float32[n,4] = tf.Sub(%x, %c)",
            "%y: float32[n,1,4] = tf.Reshape(%d, int32[3] [-1, 1, 4])"])  # fmt: skip


def test_a_transposition_of_nothing_else_is_none() -> None:
    _sinks(["%y: float32[1,n,4] = tf.Transpose(%a, int32[3] [1, 0, 2])"],
           ["%y: float32[1,n,4] = tf.Reshape(%x, int32[3] [1, -1, 4])"])  # fmt: skip


def test_a_transposition_moves_the_others() -> None:
    _sinks(["%y: float32[4,1,n] = tf.Transpose(%a, int32[3] [2, 1, 0])"],
           ["%b: float32[4,n] = tf.Transpose(%x, int32[2] [1, 0])",
            "%y: float32[4,1,n] = tf.Reshape(%b, int32[3] [4, 1, -1])"])  # fmt: skip


@pytest.mark.parametrize(("axes", "keeps", "made", "sizes"), [
    ("[1, 2]", True, "[n,1,1]", "[-1, 1, 1]"), ("[2]", True, "[n,1,1]", "[-1, 1, 1]"),
    ("[-1]", False, "[n,1]", "[-1, 1]"),
])  # fmt: skip
def test_reductions_of_other_dimensions(axes: str, keeps: bool, made: str, sizes: str) -> None:
    attrs, inner = (" {'keep_dims': True}", "[n,1]") if keeps else ("", "[n]")
    count, rank = axes.count(",") + 1, sizes.count(",") + 1
    _sinks([f"%y: float32{made} = tf.Sum(%a, int32[{count}] {axes}){attrs}"],
           [f"%b: float32{inner} = tf.Sum(%x, int32[1] [1]){attrs}",
            f"%y: float32{made} = tf.Reshape(%b, int32[{rank}] {sizes})"])  # fmt: skip


def test_a_reduction_of_nothing_else_is_none() -> None:
    check_pass("sink-unit-dimensions", _main(_ADDED, "%y: float32[n,4] = tf.Max(%a, int32[1] [1])"),
               _main(_ADDED, result="%x"))  # fmt: skip


def test_products_lose_their_letters() -> None:
    weights = "float32[4,2] [[1, 2], [3, 4], [5, 6], [7, 8]]"
    _sinks([f"%y: float32[1,n,2] = tf.Einsum(%a, {weights}) {{'equation': 'abc,cd->bad'}}"],
           [f"%b: float32[n,2] = tf.Einsum(%x, {weights}) {{'equation': 'ac,cd->ad'}}",
            "%y: float32[1,n,2] = tf.Reshape(%b, int32[3] [1, -1, 2])"])  # fmt: skip


def test_what_drops_them_again_is_nothing() -> None:
    check_pass("sink-unit-dimensions", _main(_ADDED, "%y: float32[n,4] = tf.Squeeze(%a) {'squeeze_dims': [1]}"),
               _main(_ADDED, result="%x"))  # fmt: skip


def test_a_slice_of_the_others() -> None:
    ends = "int32[3] [0, 0, 1], int32[3] [0, 0, 3], int32[3] [1, 1, 1]"
    _sinks([f"%y: float32[n,1,2] = tf.StridedSlice(%a, {ends}) {{'begin_mask': 3, 'end_mask': 3}}"],
           ["%b: float32[n,2] = tf.StridedSlice(%x, int32[2] [0, 1], int32[2] [0, 3], int32[2] [1, 1])"
            " {'begin_mask': 1, 'end_mask': 1}",
            "%y: float32[n,1,2] = tf.Reshape(%b, int32[3] [-1, 1, 2])"])  # fmt: skip


def test_a_slice_of_the_dimension_itself_stays() -> None:
    ends = "int32[3] [0, 1, 0], int32[3] [0, 1, 0], int32[3] [1, 1, 1]"
    _sinks([line := f"%y: float32[n,0,4] = tf.StridedSlice(%a, {ends}) {{'begin_mask': 5, 'end_mask': 5}}"], [line])


def test_what_is_joined_along_it_is_packed() -> None:
    _sinks(["%b: float32[n,1,4] = tf.Neg(%a)", "%y: float32[n,2,4] = tf.ConcatV2(%a, %b, int32[] 1)"],
           ["%c: float32[n,4] = tf.Neg(%x)", "%b: float32[n,1,4] = tf.Reshape(%c, int32[3] [-1, 1, 4])",
            "%y: float32[n,2,4] = tf.Pack(%x, %c) {'axis': 1}"])  # fmt: skip


def test_what_is_joined_along_another_is_joined_without_it() -> None:
    _sinks(["%b: float32[n,1,4] = tf.Neg(%a)", "%y: float32[n,1,8] = tf.ConcatV2(%a, %b, int32[] -1)"],
           ["%c: float32[n,4] = tf.Neg(%x)", "%b: float32[n,1,4] = tf.Reshape(%c, int32[3] [-1, 1, 4])",
            "%d: float32[n,8] = tf.ConcatV2(%x, %c, int32[] 1)",
            "%y: float32[n,1,8] = tf.Reshape(%d, int32[3] [-1, 1, 8])"])  # fmt: skip


def test_what_is_joined_with_others_stays() -> None:
    joined = "%y: float32[n,2,4] = tf.ConcatV2(%a, %z, int32[] 1)"
    check_pass("sink-unit-dimensions", _main("input %z: float32[n,1,4]", _ADDED, joined))
    # Dimensions that are not the same.
    other = "%b: float32[1,n,4] = tf.Reshape(%x, int32[3] [1, -1, 4])"
    check_pass("sink-unit-dimensions", _main(_ADDED, other, "%y: float32[n,n,4] = tf.ConcatV2(%a, %b, int32[] 1)"))


def test_one_of_several_dimensions_will_do() -> None:
    angles = ["input %z: float32[1,4]", "%t: float32[1,1,4] = tf.Reshape(%z, int32[3] [1, 1, 4])"]
    after = ["%b: float32[n,4] = tf.Mul(%x, %z)", "%y: float32[n,1,4] = tf.Reshape(%b, int32[3] [-1, 1, 4])"]
    check_pass("sink-unit-dimensions", _main(*angles, _ADDED, "%y: float32[n,1,4] = tf.Mul(%a, %t)"),
               _main(*angles, _ADDED, *after))  # fmt: skip


@pytest.mark.parametrize("units", [[1], [1, 1]], ids=["sizes", "indices"])
def test_integers_are_joined(units: list[int]) -> None:
    rank, last = len(units), len(units) - 1
    added, joined = str(units)[1:-1], ",".join(["1"] * last + ["2"])
    check_pass("sink-unit-dimensions", f"""
    main {{
      input %x: int32[]
      %a: int32[{added.replace(" ", "")}] = tf.Reshape(%x, int32[{rank}] [{added}])
      %y: int32[{joined}] = tf.ConcatV2(%a, %a, int32[] {last})
      return %y
    }}
    """)


@pytest.mark.parametrize("lines", [
    ["%a: float32[n,1,4] = tf.Reshape(%x, int32[3] [-1, 1, 4])", "%y: float32[n,n,4] = tf.AddV2(%a, %x)"],
    ["%a: float32[n,2,2] = tf.Reshape(%x, int32[3] [-1, 2, 2])", "%y: float32[n,2,2] = tf.Neg(%a)"],
    ["%a: float32[n,1] = tf.Sum(%x, int32[1] [1]) {'keep_dims': True}", "%y: float32[n,1] = tf.Neg(%a)"],
])  # fmt: skip
def test_dimensions_that_are_needed_stay(lines: list[str]) -> None:
    check_pass("sink-unit-dimensions", _main(*lines))


def test_beside_no_elements_a_size_is_not_left_open() -> None:
    added = "%a: float32[n,1,0] = tf.ExpandDims(%x, int32[] 1)"
    before = _main(added, "%y: float32[n,1,0] = tf.Neg(%a)", shape="n,0")
    after = _main(added, "%b: float32[n,0] = tf.Neg(%x)", "%y: float32[n,1,0] = tf.ExpandDims(%b, int32[] 1)",
                  shape="n,0")  # fmt: skip
    check_pass("sink-unit-dimensions", before, after)


_WEIGHTS = "float32[4,2] [[1, 2], [3, 4], [5, 6], [7, 8]]"


def test_rows_are_multiplied_by_a_matrix_without_them() -> None:
    _sinks([f"%y: float32[n,1,2] = tf.BatchMatMulV2(%a, {_WEIGHTS})"],
           [f"%b: float32[n,2] = tf.MatMul(%x, {_WEIGHTS})",
            "%y: float32[n,1,2] = tf.Reshape(%b, int32[3] [-1, 1, 2])"])  # fmt: skip
    turned = "float32[2,4] [[1, 2, 3, 4], [5, 6, 7, 8]]"
    _sinks([f"%y: float32[n,1,2] = tf.BatchMatMulV2(%a, {turned}) {{'adj_y': True}}"],
           [f"%b: float32[n,2] = tf.MatMul(%x, {turned}) {{'transpose_b': True}}",
            "%y: float32[n,1,2] = tf.Reshape(%b, int32[3] [-1, 1, 2])"])  # fmt: skip


def test_a_product_that_needs_them_keeps_them() -> None:
    _same("%a: float32[n,4,1] = tf.Reshape(%x, int32[3] [-1, 4, 1])",
          "%y: float32[n,4,3] = tf.BatchMatMulV2(%a, float32[1,3] [[1, 2, 3]])")  # fmt: skip
    _same(_ADDED, f"%y: float32[n,4,2] = tf.BatchMatMulV2(%a, {_WEIGHTS}) {{'adj_x': True}}")


def _same(*lines: str) -> None:
    check_pass("sink-unit-dimensions", _main(*lines))
