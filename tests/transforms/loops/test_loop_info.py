"""What a loop carries, how often it runs, and what its indices run through."""

from __future__ import annotations

import pytest

from fuseconv.ir.dims import symbol
from fuseconv.transforms.tf.canonicalize import canonicalize
from fuseconv.transforms.tf.inline import inline
from tests.tf.text_cases import module_of
from tests.transforms.loops.test_reduce_while_operands import loop_of, trimmed


@pytest.mark.parametrize(("value", "expected"), [("t", (0, 1)), ("one", (1, 0)), ("next", (1, 1)), ("sum", None)])
def test_the_course_of_an_index(value: str, expected: tuple[int, int] | None) -> None:
    loop = loop_of(trimmed(7))
    values = [*loop.body.inputs, *loop.body.constants(), *(result for op in loop.body.ops for result in op.results)]
    assert loop.course(next(v for v in values if v.name.endswith(value))) == expected


def test_a_loop_to_an_unknown_size() -> None:
    module, report = module_of(
        """main {
        input %0 "x": float32[n,2]
        const %1 "zero": int32[] = 0
        %2 "shape": int32[2] = tf.Shape(%0) {}
        const %3 "begin": int32[1] = [0]
        const %4 "one": int32[1] = [1]
        %5 "size": int32[] = tf.StridedSlice(%2, %3, %4, %4) {'shrink_axis_mask': 1}
        %6 "l": int32[]; %7 "l:1": int32[] = \
tf.While(%1, %5) {'cond': {'function': 'cond'}, 'body': {'function': 'body'}}
        return %6
        }""",
        """cond {
        input %0 "t": int32[]
        input %1 "n": int32[]
        %2 "less": bool[] = tf.Less(%0, %1) {}
        return %2
        }""",
        """body {
        input %0 "t": int32[]
        input %1 "n": int32[]
        const %2 "one": int32[] = 1
        %3 "next": int32[] = tf.AddV2(%0, %2) {}
        return %3, %1
        }""",
    )
    inline(module, report)
    canonicalize(module, report)
    loop = loop_of(module)
    assert loop.steps() == symbol("n")
    for graph in (loop.cond, loop.body):
        counter, size = graph.inputs
        assert loop.outside(counter) is None and loop.outside(size) is loop.op.operands[1]
