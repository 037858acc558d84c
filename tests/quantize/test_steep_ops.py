"""What integers would lose stays float."""

from __future__ import annotations

import pytest

from fuseconv.quantize.steep_ops import lost_in_steps
from fuseconv.tfl.integer import INT8, INT16, Kernels
from tests.quantize.ranges import measured
from tests.tf.text_cases import module_of


@pytest.mark.parametrize(("op", "by", "kernels", "why"), [
    ("MUL(%x, %v)", (0, 2), INT8, ""),
    ("LOG(%v)", (0.02, 2), INT8, "its operand comes near zero"), ("LOG(%v)", (0.2, 2), INT16, ""),
    ("ADD(%x, %v)", (-99, 99), INT8, "its operands cancel out"), ("ADD(%x, %v)", (-9, 9), INT8, ""),
])  # fmt: skip
def test_why(op: str, by: tuple[float, float], kernels: Kernels, why: str) -> None:
    module, _ = module_of(f"""
    main {{
      input %x: float32[2]
      input %v: float32[2]
      %y: float32[2] = tfl.{op}
      return %y
    }}
    """)
    ranges = measured(x=(-1, 1), v=by, y=(-1, 1)).ranges
    (made,) = module.signatures[0].graph.ops
    assert lost_in_steps(made, ranges, kernels) == why
