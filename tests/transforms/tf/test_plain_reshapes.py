"""Reshapes that can do without sizes that only a run tells."""

from __future__ import annotations

import re

import pytest

from fuseconv.report.records import Report
from fuseconv.transforms.tf.canonicalize import canonicalize
from fuseconv.transforms.tf.simplify_stablehlo import simplify_stablehlo
from tests.tf.text_cases import module_of, short_text

_SIZES = [
    "%s: int32[3] = tf.Shape(%x)",
    "%t: int32[1] = tf.StridedSlice(%s, int32[1] [1], int32[1] [2], int32[1] [1])",
    "%b: int32[1] = tf.StridedSlice(%s, int32[1] [0], int32[1] [1], int32[1] [1])",
    "%more: int32[1] = tf.Mul(%t, int32[] 4)",
]


def _made(shape: str, sizes: str) -> str:
    """Return the op that a reshape of [b, t, 4] to a shape becomes, and what its sizes are made of."""
    lines = [
        "input %x: float32[b,t,4]", *_SIZES, f"%to: int32[{shape.count(',') + 1}] = tf.ConcatV2({sizes}, int32[] 0)",
        f"%y: float32[{shape}] = tf.Reshape(%x, %to)", "return %y",
    ]  # fmt: skip
    module, _ = module_of("main {\n" + "\n".join(lines) + "\n}")
    canonicalize(module, Report())
    simplify_stablehlo(module)
    lines = short_text(module).splitlines()
    concat, last = ([line.strip() for line in lines if f"tf.{kind}" in line][-1:] for kind in ("Concat", ""))
    made = last[0].split(" = ")[1]
    return f"{made} of {concat[0].split(' = ')[1]}" if "Reshape" in made else made


@pytest.mark.parametrize(("shape", "sizes", "made"), [
    ("b,t,1,4", "%b, %t, int32[2] [1, 4]", "tf.ExpandDims(%, int32[] 2)"),
    ("1,b,t,4", "int32[1] [1], %b, %t, int32[1] [4]", "tf.ExpandDims(%, int32[] 0)"),
    ("b,?", "%b, %more", "tf.Reshape(%, %) of tf.ConcatV2(%, int32[1] [-1], int32[] 0)"),
    # Two more dimensions take two ops. Of two sizes that are computed neither is left out, nor one of another's.
    ("1,b,t,1,4", "int32[1] [1], %b, %t, int32[2] [1, 4]", None),
    ("b,t,2,2", "%b, %t, int32[2] [2, 2]", None),
    ("?,b", "%more, %b", "tf.Reshape(%, %) of tf.ConcatV2(int32[1] [-1], %, int32[] 0)"),
])  # fmt: skip
def test_reshapes_to_sizes_of_a_run(shape: str, sizes: str, made: str | None) -> None:
    found = _made(shape, sizes)
    if made is None:
        assert found.startswith("tf.Reshape") and "-1" not in found
    else:
        assert re.sub(r"%\d+", "%", found) == made


def test_a_dimension_is_dropped() -> None:
    module, _ = module_of("""main {
      input %x: float32[b,t,1]
      %s: int32[3] = tf.Shape(%x)
      %to: int32[2] = tf.StridedSlice(%s, int32[1] [0], int32[1] [2], int32[1] [1])
      %y: float32[b,t] = tf.Reshape(%x, %to)
      return %y
    }""")
    canonicalize(module, Report())
    simplify_stablehlo(module)
    assert "tf.Squeeze(%0) {'squeeze_dims': [2]}" in short_text(module)
