"""Steps that become one iteration, or no loop."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import Module, constant
from fuseconv.ir.verifier import check as check_ir
from fuseconv.transforms.loops.loop_info import LoopForm
from fuseconv.transforms.loops.unroll_loops import unroll
from fuseconv.transforms.loops.unroll_policy import MOST_UNROLLED, UnrollPolicy
from fuseconv.transforms.tf.canonicalize import canonicalize
from fuseconv.transforms.tf.inline import inline
from tests.check_pass import check_pass
from tests.tf.text_cases import kinds, module_of

INPUTS = """input %0 "t": int32[]
    input %1 "h": float32[2]
    input %2 "out": float32[7,2]
    input %3 "x": float32[7,2]"""


def unrolled(k: int, end: int = 7, extra: str = "") -> Module:
    """A loop that adds up the rows of x and keeps the sums, with k steps an iteration."""
    module, report = module_of(
        """main {
        input %0 "x": float32[7,2]
        const %1 "zero": int32[] = 0
        const %2 "h0": float32[2] = [0.5, 1.0]
        %3 "out0": float32[7,2] = tf.ZerosLike(%0) {}
        %4 "l": int32[]; %5 "l:1": float32[2]; %6 "l:2": float32[7,2]; %7 "l:3": float32[7,2] = \
tf.While(%1, %2, %3, %0) {'cond': {'function': 'cond'}, 'body': {'function': 'body'}}
        return %4, %5, %6
        }""",
        f"""cond {{
        {INPUTS}
        const %4 "n": int32[] = {end}
        %5 "less": bool[] = tf.Less(%0, %4) {{}}
        return %5
        }}""",
        f"""body {{
        {INPUTS}
        const %4 "one": int32[] = 1
        const %5 "axis": int32[] = 0
        %6 "row": float32[2] = tf.GatherV2(%3, %0, %5) {{}}
        %7 "sum": float32[2] = tf.AddV2(%1, %6) {{}}
        %8 "item": float32[1,2] = tf.ExpandDims(%7, %5) {{}}
        %9 "begin": int32[2] = tf.Pack(%0, %5) {{}}
        %10 "written": float32[7,2] = tf.XlaDynamicUpdateSlice(%2, %8, %9) {{}}
        {extra}
        %12 "next": int32[] = tf.AddV2(%0, %4) {{}}
        return %12, %7, %10, %3
        }}""",
        outputs=3,
    )
    inline(module, report)
    canonicalize(module, report)
    unroll(module, lambda loop, steps: k, report)
    check_ir(module)
    canonicalize(module, report)
    check_ir(module)
    return module


def test_no_loop() -> None:
    module = unrolled(7)
    assert kinds(module) == ["Unpack", *["AddV2"] * 7, "Pack"]
    steps, _, written = module.signatures[0].graph.outputs
    assert steps.data == 7 and written.shape == (7, 2)


@pytest.mark.parametrize(("k", "iterations", "left"), [(2, 3, 1), (3, 2, 1), (5, 1, 2)])
def test_steps_an_iteration(k: int, iterations: int, left: int) -> None:
    module = unrolled(k)
    main = module.signatures[0].graph
    loop = LoopForm(next(op for op in main.ops if op.kind == "tf.While"), module)
    assert loop.steps() == iterations
    body = Counter(op.type for op in loop.body.ops)
    # An iteration reads a block of rows and writes one; the counter of iterations is the one that is left.
    block = ["GatherV2", "Unpack", "Pack", "ExpandDims", "Pack", "XlaDynamicUpdateSlice"]
    assert body == Counter([*block, *["AddV2"] * (k + 1)])
    assert Counter(kinds(module))["AddV2"] == left
    assert main.outputs[0].data == 7 and main.outputs[2].shape == (7, 2)


def test_a_sequence_that_is_longer_is_read_row_by_row() -> None:
    module = unrolled(5, end=5)
    assert Counter(kinds(module))["GatherV2"] == 5
    assert Counter(kinds(module))["XlaDynamicUpdateSlice"] == 5


def test_effects_are_not_repeated() -> None:
    extra = """%11 "v": resource[] = tf.VarHandleOp() {'shared_name': 'v'}
        tf.AssignVariableOp(%11, %7) {} "assign" from []"""
    assert "While" in kinds(unrolled(7, extra=extra))


def test_one_step_an_iteration_is_the_loop_as_it_is() -> None:
    assert kinds(unrolled(1)) == ["ZerosLike", "While"]


TWO_STEPS = """
    main {
      input %h: float32[1,1]
      %i: int32[]; %y: float32[1,1] = tf.While(int32[] 0, %h) {'cond': @cond, 'body': @body}
      return %y
    }
    cond {
      input %i: int32[]
      input %h: float32[1,1]
      %more: bool[] = tf.Less(%i, int32[] 2)
      return %more
    }
    body {
      input %i: int32[]
      input %h: float32[1,1]
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      %p: float32[1,1] = tf.MatMul(%h, float32[1,1] [[0.5]])
      return %next, %p
    }
    """


def test_two_steps_without_a_loop() -> None:
    check_pass("unroll-loops", TWO_STEPS, """
    main {
      input %h: float32[1,1]
      %next: int32[] = tf.AddV2(int32[] 0, int32[] 1)
      %p: float32[1,1] = tf.MatMul(%h, float32[1,1] [[0.5]])
      %next2: int32[] = tf.AddV2(int32[] 1, int32[] 1)
      %p2: float32[1,1] = tf.MatMul(%p, float32[1,1] [[0.5]])
      return %p2
    }
    """)


def test_no_loop_is_unrolled_against_the_users_will() -> None:
    check_pass("unroll-loops", TWO_STEPS, unroll_policy=UnrollPolicy("loop"))


def loops_of(steps: int, weights: np.ndarray) -> list[LoopForm]:
    """Two loops of so many steps, of two ops each, beside constants."""
    functions = """
    cond{0} {{
      input %i: int32[]
      input %h: float32[1,1]
      %more: bool[] = tf.Less(%i, int32[] {1})
      return %more
    }}
    body{0} {{
      input %i: int32[]
      input %h: float32[1,1]
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      %p: float32[1,1] = tf.MatMul(%h, float32[1,1] [[0.5]])
      return %next, %p
    }}"""
    main = """main {
      input %h: float32[1,1]
      %i: int32[]; %y: float32[1,1] = tf.While(int32[] 0, %h) {'cond': @cond0, 'body': @body0}
      %j: int32[]; %z: float32[1,1] = tf.While(int32[] 0, %y) {'cond': @cond1, 'body': @body1}
      %w: float32[1,1] = tf.MatMul(%z, float32[1,1] [[1.0]])
      return %w
    }"""
    module, _ = module_of(main + functions.format(0, steps) + functions.format(1, steps))
    graph = module.signatures[0].graph
    graph.ops[-1].set_operands([graph.ops[1].results[1], constant(weights, types.FLOAT32, "weights")])
    return [LoopForm(op, module) for op in graph.ops if op.kind == "tf.While"]


@pytest.mark.parametrize(
    ("steps", "rnn", "side", "chosen"),
    [
        (2, "fused", 1, [2, 2]),  # which is no more than a loop takes
        (40, "fused", 1, [1, 1]),
        (40, "auto", 1, [40, 40]),
        (40, "loop", 1, [8, 8]),
        (40, "unroll", 1, [40, 40]),
        (MOST_UNROLLED, "unroll", 1, [8, 8]),  # of two ops each
        (40, "fused", 1000, [40, 40]),
        (40, "fused", 400, [40, 8]),  # room for 80 ops, of which the first takes 62
    ],
)
def test_by_default_loops_make_the_file_larger_by_a_fiftieth_at_most(
    steps: int, rnn: str, side: int, chosen: list[int]
) -> None:
    policy = UnrollPolicy(rnn)
    loops = loops_of(steps, np.ones((side, side), np.float32))
    assert [policy.steps_an_iteration(loop, steps) for loop in loops] == chosen
