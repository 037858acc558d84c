"""Lists of elements whose shape nothing states are as their first element is."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass

BEFORE = """
    main {
      input %x: float32[n,8]
      input %k: int32[n]
      %list: variant[*] = tf.TensorListReserve(int32[] -1, int32[] 3) {'element_dtype': float32}
      %i: int32[]; %made: variant[*]; %x2: float32[n,8]; %k2: int32[n] = tf.While(int32[] 0, %list, %x, %k) {'body': @body, 'cond': @cond}
      %y: float32[*] = tf.TensorListStack(%made, int32[] -1)
      return %y
    }
    cond {
      input %i: int32[]
      input %list: variant[*]
      input %x: float32[n,8]
      input %k: int32[n]
      %more: bool[] = tf.Less(%i, int32[] 3)
      return %more
    }
    body {
      input %i: int32[]
      input %list: variant[*]
      input %x: float32[n,8]
      input %k: int32[n]
      %row: float32[8] = tf.GatherV2(%x, %i, int32[] 0)
      %length: int32[] = tf.GatherV2(%k, %i, int32[] 0)
      %end: int32[1] = tf.Reshape(%length, int32[1] [1])
      %part: float32[m] = tf.StridedSlice(%row, int32[1] [0], %end, int32[1] [1])
      %set: variant[*] = tf.TensorListSetItem(%list, %i, %part)
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      return %next, %set, %x, %k
    }
    """  # noqa: E501


FIRST = """\
      %row: float32[*] = tf.GatherV2(%x, int32[] 0, int32[] 0)
      %length: int32[*] = tf.GatherV2(%k, int32[] 0, int32[] 0)
      %end: int32[*] = tf.Reshape(%length, int32[1] [1])
      %part: float32[*] = tf.StridedSlice(%row, int32[1] [0], %end, int32[1] [1])
      %shape: int32[*] = tf.Shape(%part)
"""


def test_the_first_element_is_computed_before_the_loop() -> None:
    made = "      %list: variant[*] = tf.TensorListReserve("
    check_pass("measure-list-elements", BEFORE, BEFORE.replace(f"{made}int32[] -1", f"{FIRST}{made}%shape"))


@pytest.mark.parametrize("old, new", [
    ("tf.GatherV2(%k, %i, int32[] 0)", "tf.RandomUniformInt(int32[0] [], int32[] 1, int32[] 5)"),
    ("%part: float32[m]", "%part: float32[*]"),
    ("%y: float32[*] = tf.TensorListStack(%made, int32[] -1)",
     "%y: float32[*] = tf.TensorListGetItem(%made, int32[] 1, int32[] -1)"),
    ("return %next, %set, %x, %k", "return %next, %list, %x, %k"),
])  # fmt: skip
def test_lists_that_stay(old: str, new: str) -> None:
    """An element that differs from run to run, one of unknown rank, a list that is not stacked, and one that no step
    hands on."""
    assert old in BEFORE
    check_pass("measure-list-elements", BEFORE.replace(old, new))


BRANCHES = """
    then {
      input %row: float32[8]
      input %end: int32[1]
      %part: float32[m] = tf.StridedSlice(%row, int32[1] [0], %end, int32[1] [1])
      return %part
    }
    else {
      input %row: float32[8]
      input %end: int32[1]
      %part: float32[m] = tf.StridedSlice(%row, int32[1] [1], %end, int32[1] [1])
      return %part
    }
"""
PART = "%part: float32[{}] = tf.StridedSlice(%row, int32[1] [0], %end, int32[1] [1])"
IF = "%part: float32[{}] = tf.StatelessIf(%more, %row, %end) {{'then_branch': @{}, 'else_branch': @{}}}"


def test_branches_of_the_first_element_are_copied() -> None:
    """The length of the list may be read as well."""
    inside = "%more: bool[{}] = tf.Less(%i, int32[] 1)\n      " + IF
    before = BEFORE.replace(PART.format("m"), inside.format("", "m", "then", "else")) + BRANCHES
    before = before.replace("return %y\n", "%count: int32[] = tf.TensorListLength(%made)\n      return %y, %count\n")
    first = FIRST.replace(PART.format("*"), inside.format("*", "*", "then'", "else'")).replace("%i,", "int32[] 0,")
    made = "      %list: variant[*] = tf.TensorListReserve("
    after = before.replace(f"{made}int32[] -1", f"{first}{made}%shape")
    check_pass("measure-list-elements", before, after + BRANCHES.replace("then", "then'").replace("else", "else'"))
