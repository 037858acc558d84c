"""StableHLO's own tests as a referee: what converts computes what they expect, and what does not is known.

testdata/stablehlo/make_referee.py makes the modules; referee.py runs all of them, and more than stand here.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.load.stablehlo.modules import FOLDER
from tests.load.stablehlo.referee import NEARLY, REFUSED, RIGHT, judge, modules

MODULES = modules(FOLDER / "referee.tar.xz")
# Operations that take numbers which only a run tells, and types that TFLite's kernels lack.
_REFUSED = {
    "bitcast_convert/bitcast_convert_op_test_i1_to_i64", "convolution/convolution_op_test_si64",
    "count_leading_zeros/count_leading_zeros_op_test_si64",
    "dynamic_conv/dynamic_conv_op_test_si64", "dynamic_conv/dynamic_conv_op_test_si64+const", "dynamic_pad/dynamic_pad",
    "reduce/reduce_window_min_float32_1_1600",
}  # fmt: skip
# XNNPACK takes numbers below the normal ones for 0.
_NEARLY = {"ceil/ceil_op_test_f32", "floor/floor_op_test_f32"}


@pytest.mark.parametrize("name", MODULES)
def test_it_is_right_or_refused(name: str, tmp_path: Path) -> None:
    found = judge(*MODULES[name], tmp_path)
    assert found.state == (REFUSED if name in _REFUSED else NEARLY if name in _NEARLY else RIGHT), found.why


def test_a_wrong_number_is_told(tmp_path: Path) -> None:
    data, arrays = MODULES["add/add_op_test_si8"]
    assert judge(data, {**arrays, "out0": arrays["out0"] + 1}, tmp_path).state == "wrong"
