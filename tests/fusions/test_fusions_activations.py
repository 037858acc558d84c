"""Fused activations of ops that fusions take away, or take as they are: none is lost, wherever it stands."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.fuse.numeric_check import NumericCheck
from fuseconv.fuse.pattern_check import PatternCheck
from fuseconv.fuse.pattern_rewriter import fuse_patterns
from fuseconv.fuse.registry import Registry
from fuseconv.ir.graph import Module
from fuseconv.report.records import Report
from fuseconv.write.flatbuffer_export import to_bytes
from tests.tf.text_cases import module_of

RNG = np.random.default_rng(0)


def draw(*shape: int) -> str:
    return f"float32[{','.join(map(str, shape))}] {np.round(RNG.uniform(0.6, 3, shape), 1).tolist()}"


A, B = draw(4), draw(4)
EYE = f"float32[16,2,2,4] {np.eye(16).reshape(16, 2, 2, 4).tolist()}"
WIDE, POINT, BIAS = draw(3, 3, 3, 4), draw(3, 1, 1, 4), draw(3)
X, Y = "float32[2,6,8,4]", "float32[2,6,8,3]"
SAME, VALID = (str({"padding": kind, "stride_h": 1, "stride_w": 1}) for kind in ("SAME", "VALID"))
STRIDE = str({"padding": "VALID", "stride_h": 2, "stride_w": 2})
# What each fusion is made of; %x and %z are images, %g is a number for each channel.
ROWS = {
    "patches": f"%y: float32[2,3,4,16] = tfl.CONV_2D(%x, {EYE}, float32[16] {[0.0] * 16}) {STRIDE}",
    "channel_affine": f"""%a: {X} = tfl.MUL(%x, {A})
      %y: {X} = tfl.ADD(%a, {B})""",
    "constants_into_next_weights": f"""%a: {X} = tfl.MUL(%x, {A})
      %b: {X} = tfl.ADD(%a, {B})
      %y: {Y} = tfl.CONV_2D(%b, {POINT}, {BIAS}) {VALID}""",
    "factor_into_next_weights": f"""%a: {X} = tfl.MUL(%x, {A})
      %b: {X} = tfl.ADD(%a, {B})
      %y: {Y} = tfl.CONV_2D(%b, {WIDE}, {BIAS}) {SAME}""",
    "gate_factor_into_next_weights": f"""%a: float32[2,1,1,4] = tfl.MUL(%g, {A})
      %b: {X} = tfl.MUL(%x, %a)
      %y: {Y} = tfl.CONV_2D(%b, {WIDE}, {BIAS}) {SAME}""",
    "constants_into_weights": f"""%a: {Y} = tfl.CONV_2D(%x, {POINT}, {BIAS}) {VALID}
      %b: {Y} = tfl.ADD(%a, {draw(3)})
      %y: {Y} = tfl.MUL(%b, {draw(3)})""",
    "fused_activation": f"""%a: {X} = tfl.ADD(%x, %z)
      %y: {X} = tfl.RELU_N1_TO_1(%a)""",
    "sum_by_count": f"""%a: float32[2,4] = tfl.SUM(%x, int32[2] [1, 2])
      %y: float32[2,4] = tfl.MUL(%a, float32[] {1 / 48!r})""",
    "mean_of_affine": f"""%a: {X} = tfl.MUL(%x, {A})
      %b: {X} = tfl.ADD(%a, {B})
      %y: float32[2,4] = tfl.MEAN(%b, int32[2] [1, 2])""",
    "pool_into_stride": f"""%a: float32[2,3,4,4] = tfl.AVERAGE_POOL_2D(%x) {STRIDE[:-1]}, \
'filter_height': 1, 'filter_width': 1}}
      %y: float32[2,3,4,3] = tfl.CONV_2D(%a, {POINT}, {BIAS}) {VALID}""",
    "constant_operand": f"%y: {X} = tfl.SUB(%x, {A})",
    "constant_chain": f"""%a: {X} = tfl.MUL(%x, {A})
      %b: {X} = tfl.ADD(%a, {B})
      %y: {X} = tfl.MUL(%b, {A})""",
    "constant_before_move": f"""%a: {Y} = tfl.CONV_2D(%x, {POINT}, {BIAS}) {VALID}
      %b: float32[2,48,3] = tfl.RESHAPE(%a, int32[3] [2, 48, 3])
      %y: float32[2,48,3] = tfl.ADD(%b, float32[] 0.5)""",
    "activation_before_move": f"""%a: {Y} = tfl.CONV_2D(%x, {POINT}, {BIAS}) {VALID}
      %b: float32[2,48,3] = tfl.RESHAPE(%a, int32[3] [2, 48, 3])
      %y: float32[2,48,3] = tfl.RELU_N1_TO_1(%b)""",
    "attention_scale": f"""%a: {X} = tfl.FULLY_CONNECTED(%x, {draw(4, 4)}, _) {{'keep_num_dims': True}}
      %b: float32[2,6,8,8] = tfl.BATCH_MATMUL(%a, %z) {{'adj_y': True}}
      %y: float32[2,6,8,8] = tfl.MUL(%b, float32[] 0.3)""",
    "squared_sub": f"""%a: {X} = tfl.SUB(%x, %z)
      %y: {X} = tfl.MUL(%a, %a)""",
    "negated_term": f"""%a: {X} = tfl.NEG(%x)
      %b: {X} = tfl.MUL(%a, %g)
      %y: {X} = tfl.ADD(%b, %z)""",
}  # fmt: skip
_HAVE = {"ADD", "AVERAGE_POOL_2D", "CONV_2D", "FULLY_CONNECTED", "MUL", "SUB"}


def _module(name: str) -> Module:
    return module_of(f"""
    main {{
      input %x: {X}
      input %z: {X}
      input %g: float32[2,1,1,4]
      {ROWS[name]}
      return %y
    }}
    """)[0]


@pytest.mark.parametrize("name", ROWS)
def test_no_activation_is_lost(name: str) -> None:
    fusions = [fusion for fusion in Registry.builtin().fusions if fusion.name == name]
    check = PatternCheck(NumericCheck("always", to_bytes))
    ops = _module(name).signatures[0].graph.ops
    for place in (None, *(place for place, op in enumerate(ops) if op.type in _HAVE)):
        module = _module(name)
        if place is not None:
            module.signatures[0].graph.ops[place].attrs["fused_activation_function"] = "RELU6"
        fused = fuse_patterns(module, fusions, Report(), "tfl", pattern_check=check)
        assert fused or place is not None, "the fusion is not made at all"
    assert not check.warnings()
