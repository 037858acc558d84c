"""Reductions that keep their dimensions."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir.graph import Op, Value, constant
from fuseconv.ir.types import FLOAT32
from fuseconv.transforms.tf.keep_dimensions import keep_dimensions, kept_shape
from tests.check_pass import check_pass
from tests.tf.text_cases import module_of

_BACK = "tf.Reshape({}, int32[2] [-1, 1])"


def _main(*lines: str, result: str) -> str:
    return "main {\n" + "\n".join(["input %x: float32[n,4]", *lines, f"return {result}"]) + "\n}"


def _unchanged(*lines: str, result: str) -> bool:
    module, _ = module_of(_main(*lines, result=result))
    return not keep_dimensions(module.signatures[0].graph)


def test_what_is_computed_on_the_way_keeps_them_too() -> None:
    def text(rank: str, attrs: str) -> list[str]:
        return [
            f"%sum: float32{rank} = tf.Sum(%x, int32[1] [1]){attrs}",
            f"%max: float32{rank} = tf.Max(%x, int32[1] [1]){attrs}",
            f"%eps: float32{rank} = tf.AddV2(%sum, float32[] 0.001)", f"%y: float32{rank} = tf.Mul(%eps, %max)",
        ]  # fmt: skip

    back = [f"%a: float32[n,1] = {_BACK.format('%y')}", f"%b: float32[n,1] = {_BACK.format('%sum')}"]
    check_pass("simplify-stablehlo", _main(*text("[n]", ""), *back, result="%a, %b"),
               _main(*text("[n,1]", " {'keep_dims': True}"), result="%y, %sum"))  # fmt: skip


@pytest.mark.parametrize("line", [
    "%y: float32[n] = tf.Mul(%sum, float32[1] [2.0])",  # no scalar
    "%y: float32[n] = tf.Mul(%sum, %mean)", "%y: float32[n] = tf.Cumsum(%sum, int32[] 0)",
    "%y: float32[n] = tf.Mul(%sum, %row)",
])  # fmt: skip
def test_what_has_another_reader_or_operand_keeps_none(line: str) -> None:
    assert _unchanged(
        "%mean: float32[n] = tf.Mean(%x, int32[1] [1])", "%out: float32[n] = tf.Cumsum(%mean, int32[] 0)",
        "%row: float32[n] = tf.StridedSlice(%x, int32[2] [0, 0], int32[2] [0, 1], int32[2] [1, 1]) "
        "{'begin_mask': 1, 'end_mask': 1, 'shrink_axis_mask': 2}",
        "%sum: float32[n] = tf.Sum(%x, int32[1] [1])", line, f"%a: float32[n,1] = {_BACK.format('%y')}",
        result="%a, %out",
    )  # fmt: skip


def test_what_the_graph_returns_stays() -> None:
    assert _unchanged("%y: float32[n] = tf.Sum(%x, int32[1] [1])", f"%a: float32[n,1] = {_BACK.format('%y')}",
                      result="%a, %y")  # fmt: skip


def test_sizes_that_a_reshape_is_given_are_no_data_of_it() -> None:
    text = """
    main {
      input %m: int32[2,3]
      input %z: float32[2]
      %sizes: int32[2] = tf.Sum(%m, int32[1] [1])
      %y: float32[2,1] = tf.Reshape(%z, %sizes)
      return %y
    }
    """
    module, _ = module_of(text)
    assert not keep_dimensions(module.signatures[0].graph)


def test_a_reshape_to_another_shape_is_no_way_back() -> None:
    assert _unchanged("%y: float32[n] = tf.Sum(%x, int32[1] [1])",
                      "%a: float32[1,n] = tf.Reshape(%y, int32[2] [1, -1])", result="%a")  # fmt: skip


@pytest.mark.parametrize(("axes", "expected"), [([1], (2, 1, 3)), ([-1, 0], (1, 5, 1)), ([], (2, 5, 3))])
def test_the_shape_with_its_dimensions(axes: list[int], expected: tuple[int, ...]) -> None:
    op = Op("tf.Sum", [Value(FLOAT32, (2, 5, 3)), constant(np.array(axes, np.int32))])
    assert kept_shape(op) == expected


def test_dimensions_that_come_back_one_by_one_are_kept() -> None:
    def text(shape: str, attrs: str) -> list[str]:
        return [f"%sum: float32{shape} = tf.Sum(%x, int32[2] [1, 2]){attrs}", f"%y: float32{shape} = tf.Rsqrt(%sum)"]

    first = "%a: float32[n,1,4] = tf.ExpandDims(%y, int32[] 1)"
    back, more = [f"{name}: float32[n,1,1,4] = tf.ExpandDims(%a, int32[] 2)" for name in ("%b", "%c")]

    def main(*lines: str, result: str) -> str:
        return "main {\n" + "\n".join(["input %x: float32[n,3,5,4]", *lines, f"return {result}"]) + "\n}"

    check_pass("simplify-stablehlo", main(*text("[n,4]", ""), first, back, more, result="%b, %c"),
               main(*text("[n,1,1,4]", " {'keep_dims': True}"), result="%y, %y"))  # fmt: skip
    # Something needs them one by one.
    module, _ = module_of(main(*text("[n,4]", ""), first, back, result="%a, %b"))
    assert not keep_dimensions(module.signatures[0].graph)
