"""What is proven of the order in which a list is written."""

from __future__ import annotations

import pytest

from fuseconv.transforms.tf.appended_lists import Appends
from fuseconv.transforms.tf.tensor_list_info import WRITES
from tests.check_pass import check_pass
from tests.tf.text_cases import module_of

LOOP = """main {
    input %0 "n": int32[]
    const %1 "any": int32[1] = [-1]
    const %2 "start": int32[] = START
    %3 "l": variant[*] = tf.TensorListReserve(%1, %0) {'element_dtype': float32}
    %4 "i": int32[]; %5 "m": variant[*] = tf.While(%2, %3) {'cond': @c, 'body': @b}
    const %6 "row": float32[2] = [1.0, 2.0]
    %7 "s": variant[*] = tf.TensorListSetItem(%5, %4, %6) {}
    return %7
}
c {
    input %0 "i": int32[]
    input %1 "l": variant[*]
    const %2 "most": int32[] = 3
    %3 "less": bool[] = tf.Less(%0, %2) {}
    return %3
}
b {
    input %0 "i": int32[]
    input %1 "l": variant[*]
    const %2 "step": int32[] = STEP
    %3 "next": int32[] = tf.AddV2(%0, %2) {}
    const %4 "row": float32[2] = [1.0, 2.0]
    %5 "s": variant[*] = tf.TensorListSetItem(%1, INDEX, %4) {}
    return %3, %5
}"""
BRANCH = """main {
    input %0 "c": bool[]
    input %1 "n": int32[]
    const %2 "any": int32[1] = [-1]
    %3 "l": variant[*] = tf.EmptyTensorList(%2, %1) {'element_dtype': float32}
    const %4 "zero": int32[] = 0
    %5 "i": int32[]; %6 "m": variant[*] = tf.If(%0, %4, %3) {'then_branch': @t, 'else_branch': @e}
    const %7 "row": float32[2] = [1.0, 2.0]
    %8 "s": variant[*] = tf.TensorListSetItem(%6, %5, %7) {}
    return %8
}
t {
    input %0 "i": int32[]
    input %1 "l": variant[*]
    const %2 "one": int32[] = 1
    %3 "next": int32[] = tf.AddV2(%0, %2) {}
    const %4 "row": float32[2] = [1.0, 2.0]
    %5 "s": variant[*] = tf.TensorListPushBack(%1, %4) {}
    return %3, %5
}
e {
    input %0 "i": int32[]
    input %1 "l": variant[*]
    return RESULT, %1
}"""


def appends(text: str) -> bool:
    module, _ = module_of(text)
    return Appends(module).all_of([op for graph in module.graphs() for op in graph.ops if op.kind in WRITES])


@pytest.mark.parametrize(
    ("start", "step", "index", "proven"),
    [(0, 1, "%0", True), (1, 1, "%0", False), (0, 2, "%0", False), (0, 1, "%3", False), (-1, 1, "%3", False)],
)
def test_a_loop_that_counts(start: int, step: int, index: str, proven: bool) -> None:
    text = LOOP.replace("START", str(start)).replace("STEP", str(step)).replace("INDEX", index)
    assert appends(text) is proven


def test_a_variable_that_is_always_one_off() -> None:
    # The write behind the loop is one too far then.
    text = LOOP.replace("START", "-1").replace("STEP", "1").replace("INDEX", "%3")
    write = text.index("    const %6")
    loop_alone = text[:write] + "    return %5\n" + text[text.index("}\nc {") :]
    assert appends(loop_alone) and not appends(text)


@pytest.mark.parametrize(("result", "proven"), [("%0", True), ("%2", False)])
def test_a_branch_that_appends_and_counts(result: str, proven: bool) -> None:
    text = BRANCH.replace("RESULT", result)
    assert appends(text.replace("    return %2,", '    const %2 "two": int32[] = 2\n    return %2,')) is proven


def test_a_list_that_is_appended_to_and_concatenated_is_its_concatenation() -> None:
    check_pass("lower-tensor-lists", """
    main {
      input %x: float32[n,2]
      input %y: float32[m,2]
      %l: variant[*] = tf.TensorListReserve(int32[2] [-1, 2], int32[] 2) {'element_dtype': float32}
      %a: variant[*] = tf.TensorListSetItem(%l, int32[] 0, %x)
      %b: variant[*] = tf.TensorListSetItem(%a, int32[] 1, %y)
      %c: float32[*]; %d: int64[*] = tf.TensorListConcatV2(%b, int32[2] [-1, 2], int64[0] [])
      return %c
    }
    """, """
    main {
      input %x: float32[n,2]
      input %y: float32[m,2]
      %s: int32[*] = tf.Pack(int32[] 0, int32[] 2)
      %l: float32[*] = tf.Fill(%s, float32[] 0.0)
      %a: float32[*] = tf.ConcatV2(%l, %x, int32[] 0)
      %b: float32[*] = tf.ConcatV2(%a, %y, int32[] 0)
      %d: int64[*] = tf.Cast(int32[0] [])
      return %b
    }
    """)  # fmt: skip
