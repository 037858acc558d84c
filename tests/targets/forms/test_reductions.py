"""Forms of reductions, against LiteRT's own ops."""

from __future__ import annotations

import pytest

from fuseconv.targets.conditions import option
from fuseconv.targets.target import Target, takes
from tests.check_pass import check_pass
from tests.targets.forms.parity import forms_of, target_of, without


def test_a_sum_by_the_mean() -> None:
    op = "float32[2,1] = tfl.SUM(%0, int32[1] [1]) {'keep_dims': True}"
    assert forms_of(without("SUM"), "float32[2,7]", op) == ["MEAN", "MUL"]


@pytest.mark.parametrize("name, extreme", [("REDUCE_ANY", "REDUCE_MAX"), ("REDUCE_ALL", "REDUCE_MIN")])
def test_truths(name: str, extreme: str) -> None:
    found = forms_of(without(name), "bool[5,2]", f"bool[5] = tfl.{name}(%0, int32[1] [1])")
    assert found == ["CAST", extreme, "GREATER"]


def test_truths_without_extremes() -> None:
    found = forms_of(without("REDUCE_ANY", "REDUCE_MAX"), "bool[5,2]", "bool[5] = tfl.REDUCE_ANY(%0, int32[1] [1])")
    assert found == ["LOGICAL_NOT", "REDUCE_ALL", "LOGICAL_NOT"]


def test_a_product() -> None:
    op = "float32[2] = tfl.REDUCE_PROD(%0, int32[1] [1])"
    assert forms_of(target_of("micro"), "float32[2,3]", op, 0.5, 2) == ["SPLIT", "MUL", "MUL", "RESHAPE"]


def test_log_softmax() -> None:
    found = forms_of(target_of("gpu"), "float32[2,5]", "float32[2,5] = tfl.LOG_SOFTMAX(%0)")
    assert found == ["REDUCE_MAX", "SUB", "EXP", "SUM", "LOG", "SUB"]


def test_l2_normalization() -> None:
    found = forms_of(target_of("gpu"), "float32[2,5]", "float32[2,5] = tfl.L2_NORMALIZATION(%0)")
    assert found == ["MUL", "SUM", "SQRT", "MAXIMUM", "DIV"]


def test_dimensions_stay_where_the_reader_sees_rows() -> None:
    weights = "float32[2,3] [1, 2, 3, 4, 5, 6], float32[2] [1, 2]"
    check_pass("legalize-for-target", f"""
    main {{
      input %x: float32[1,4,4,3]
      %y: float32[1,3] = tfl.MEAN(%x, int32[2] [1, 2])
      %z: float32[1,2] = tfl.FULLY_CONNECTED(%y, {weights})
      return %z
    }}
    """, f"""
    main {{
      input %x: float32[1,4,4,3]
      %y: float32[1,1,1,3] = tfl.MEAN(%x, int32[2] [1, 2]) {{'keep_dims': True}}
      %z: float32[1,2] = tfl.FULLY_CONNECTED(%y, {weights})
      return %z
    }}
    """, target=target_of("coreml"))


def test_other_readers_get_a_reshape() -> None:
    target = Target("most", "a test", takes("MEAN", option("keep_dims", True)), others=True)
    op = "float32[2] = tfl.MEAN(%0, int32[2] [1, 2])"
    assert forms_of(target, "float32[2,3,4]", op) == ["MEAN", "RESHAPE"]
