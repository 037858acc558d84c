"""Tensors that hold one number everywhere."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass


def test_ones_are_no_factor() -> None:
    check_pass("propagate-splats", """
    main {
      input %x: float32[n,2]
      %ones: float32[n,2] = tf.OnesLike(%x)
      %y: float32[n,2] = tf.Mul(%x, %ones)
      return %y
    }
    """, """
    main {
      input %x: float32[n,2]
      %ones: float32[n,2] = tf.OnesLike(%x)
      return %x
    }
    """)


def test_ones_that_give_the_product_its_shape_stay() -> None:
    check_pass("propagate-splats", """
    main {
      input %x: float32[n,2]
      input %row: float32[2]
      %ones: float32[n,2] = tf.OnesLike(%x)
      %y: float32[n,2] = tf.Mul(%row, %ones)
      return %y
    }
    """)


def test_a_constant_condition_that_is_the_same_everywhere_chooses_an_operand() -> None:
    check_pass("propagate-splats", """
    main {
      input %x: float32[n,2]
      input %y: float32[n,2]
      input %row: float32[2]
      %a: float32[n,2] = tf.SelectV2(bool[2] [True, True], %x, %y)
      %b: float32[n,2] = tf.SelectV2(bool[2] [False, False], %a, %y)
      %c: float32[n,2] = tf.SelectV2(bool[2] [True, False], %a, %b)
      %d: float32[n,2] = tf.SelectV2(bool[2] [True, True], %row, %c)
      return %d
    }
    """, """
    main {
      input %x: float32[n,2]
      input %y: float32[n,2]
      input %row: float32[2]
      %c: float32[n,2] = tf.SelectV2(bool[2] [True, False], %x, %y)
      %d: float32[n,2] = tf.SelectV2(bool[2] [True, True], %row, %c)
      return %d
    }
    """)


_UNCHANGED = [
    ("Add", 0, "0"), ("Add", 1, "0"), ("AddV2", 0, "0"), ("AddV2", 1, "0"), ("Sub", 1, "0"), ("Mul", 0, "1"),
    ("Mul", 1, "1"), ("Div", 1, "1"), ("RealDiv", 1, "1"), ("LogicalAnd", 0, "True"), ("LogicalAnd", 1, "True"),
    ("LogicalOr", 0, "False"), ("LogicalOr", 1, "False"),
]  # fmt: skip


@pytest.mark.parametrize("number", ["0", "1"])
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("kind", sorted({kind for kind, *_ in _UNCHANGED}))
def test_numbers_that_change_nothing(kind: str, place: int, number: str) -> None:
    dtype = "bool" if kind.startswith("Logical") else "float32"
    said = str(number == "1") if dtype == "bool" else number
    operands = ["%x", f"{dtype}[] {said}"]
    text = f"""
    main {{
      input %x: {dtype}[n,2]
      %y: {dtype}[n,2] = tf.{kind}({", ".join(operands if place else operands[::-1])})
      return %y
    }}
    """
    after = f"main {{\ninput %x: {dtype}[n,2]\nreturn %x\n}}" if (kind, place, said) in _UNCHANGED else None
    check_pass("propagate-splats", text, after)


@pytest.mark.parametrize(("dtype", "number", "total"), [
    ("int8", "-64", "-128"), ("int8", "64", None), ("uint8", "128", None), ("int32", "2000000000", None),
    ("float16", "20000", "40000"), ("float32", "0.75", "1.5"),
])  # fmt: skip
def test_a_sum_that_its_type_holds_is_a_number(dtype: str, number: str, total: str | None) -> None:
    text = f"""
    main {{
      input %x: {dtype}[n]
      input %s: int32[2]
      %a: {dtype}[n,2] = tf.Fill(%s, {dtype}[] {number})
      %b: {dtype}[n] = tf.Sum(%a, int32[] 1)
      %c: {dtype}[n] = tf.Mul(%x, %b)
      return %c
    }}
    """
    after = text.replace("tf.Mul(%x, %b)", f"tf.Mul(%x, {dtype}[] {total})") if total else None
    check_pass("propagate-splats", text, after)


def test_a_sum_of_halves_is_not_that_of_a_rounded_count() -> None:
    before = """
    main {
      input %x: float16[n]
      input %s: int32[2]
      %a: float16[n,100000] = tf.Fill(%s, float16[] 0.0625)
      %b: float16[n] = tf.Sum(%a, int32[] 1)
      %c: float16[n] = tf.Mul(%x, %b)
      return %c
    }
    """
    check_pass("propagate-splats", before, before.replace("tf.Mul(%x, %b)", "tf.Mul(%x, float16[] 6250)"))


def test_what_kernels_broadcast_slowly_stays_a_tensor() -> None:
    check_pass("propagate-splats", """
    main {
      input %x: int32[n,2]
      input %f: float32[n,2]
      %zeros: int32[n,2] = tf.ZerosLike(%x)
      %ones: float32[n,2] = tf.OnesLike(%f)
      %a: int32[n,2] = tf.Maximum(%x, %zeros)
      %b: float32[n,2] = tf.Maximum(%f, %ones)
      return %a, %b
    }
    """, """
    main {
      input %x: int32[n,2]
      input %f: float32[n,2]
      %zeros: int32[n,2] = tf.ZerosLike(%x)
      %ones: float32[n,2] = tf.OnesLike(%f)
      %a: int32[n,2] = tf.Maximum(%x, %zeros)
      %b: float32[n,2] = tf.Maximum(%f, float32[] 1.0)
      return %a, %b
    }
    """)


def test_a_product_of_equal_rows_is_a_constant_row() -> None:
    """The gradient of sum(sigmoid(x) @ [[2, 3]])."""
    check_pass("propagate-splats", """
    main {
      input %y: float32[n,2]
      input %shape: int32[2]
      %ones: float32[n,1] = tf.Tile(float32[1,1] [[1.0]], %shape)
      %rows: float32[n,2] = tf.MatMul(%ones, float32[1,2] [[2.0, 3.0]])
      %half: float32[n,2] = tf.Mul(%rows, float32[2] [0.5, 1.0])
      %dx: float32[n,2] = tf.SigmoidGrad(%y, %half)
      %whole: float32[n,2] = tf.BatchMatMulV2(%half, float32[2,2] [[1.0, 0.0], [0.0, 1.0]])
      return %dx, %whole
    }
    """, """
    main {
      input %y: float32[n,2]
      input %shape: int32[2]
      %ones: float32[n,1] = tf.Tile(float32[1,1] [[1.0]], %shape)
      %rows: float32[n,2] = tf.MatMul(%ones, float32[1,2] [[2.0, 3.0]])
      %half: float32[n,2] = tf.Mul(%rows, float32[2] [0.5, 1.0])
      %dx: float32[n,2] = tf.SigmoidGrad(%y, float32[1,2] [[1.0, 3.0]])
      %whole: float32[n,2] = tf.BatchMatMulV2(%half, float32[2,2] [[1.0, 0.0], [0.0, 1.0]])
      return %dx, %whole
    }
    """)


def test_rows_are_padded_along_the_last_dimension_alone() -> None:
    check_pass("propagate-splats", """
    main {
      input %x: float32[n,3]
      input %y: float32[m,1]
      %ones: float32[n,1] = tf.Fill(int32[2] [4, 1], float32[] 1.0)
      %row: float32[n,3] = tf.Pad(%ones, int32[2,2] [[0, 0], [1, 1]])
      %a: float32[n,3] = tf.Mul(%x, %row)
      %more: float32[m,1] = tf.Pad(%ones, int32[2,2] [[1, 0], [0, 0]])
      %b: float32[m,1] = tf.Mul(%y, %more)
      return %a, %b
    }
    """, """
    main {
      input %x: float32[n,3]
      input %y: float32[m,1]
      %ones: float32[n,1] = tf.Fill(int32[2] [4, 1], float32[] 1.0)
      %row: float32[n,3] = tf.Pad(%ones, int32[2,2] [[0, 0], [1, 1]])
      %a: float32[n,3] = tf.Mul(%x, float32[1,3] [[0.0, 1.0, 0.0]])
      %more: float32[m,1] = tf.Pad(%ones, int32[2,2] [[1, 0], [0, 0]])
      %b: float32[m,1] = tf.Mul(%y, %more)
      return %a, %b
    }
    """)


def test_columns_of_ones_are_no_rows() -> None:
    check_pass("propagate-splats", """
    main {
      input %x: float32[n,2]
      input %y: float32[2,2]
      %ones: float32[2,n] = tf.Fill(int32[2] [2, 4], float32[] 1.0)
      %a: float32[n,2] = tf.MatMul(%ones, float32[2,2] [[1.0, 2.0], [3.0, 4.0]]) {'transpose_a': True}
      %b: float32[n,2] = tf.Mul(%x, %a)
      %c: float32[2,2] = tf.MatMul(%ones, %b)
      %d: float32[2,2] = tf.Mul(%y, %c)
      return %d
    }
    """)
