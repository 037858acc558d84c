"""Small loops on constants run when the model is converted."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass

FUNCTIONS = """
    cond {
      input %i: int32[]
      input %list: variant[*]
      input %rows: int32[3]
      %more: bool[] = tf.Less(%i, int32[] 3)
      return %more
    }
    body {
      input %i: int32[]
      input %list: variant[*]
      input %rows: int32[3]
      %row: int32[] = tf.GatherV2(%rows, %i, int32[] 0)
      %square: int32[] = tf.Mul(%row, %row)
      %set: variant[*] = tf.TensorListSetItem(%list, %i, %square)
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      return %next, %set, %rows
    }
    """
MAIN = """
    main {
      input %x: float32[4,2,3]
      %list: variant[*] = tf.TensorListReserve(int32[] -1, int32[] 3) {'element_dtype': int32}
      %i: int32[]; %made: variant[*]; %rows: int32[3] = tf.While(int32[] 0, %list, int32[3] [0, 1, 2]) {'body': @body, 'cond': @cond}
      %squares: int32[*] = tf.TensorListStack(%made, int32[] -1)
      return %squares
    }
    """  # noqa: E501


def test_a_list_of_constants() -> None:
    check_pass("fold-constant-loops", MAIN + FUNCTIONS, """
    main {
      input %x: float32[4,2,3]
      %list: variant[*] = tf.TensorListReserve(int32[] -1, int32[] 3) {'element_dtype': int32}
      %made: variant[*] = tf.TensorListFromTensor(int32[3] [0, 1, 4], int32[0] [])
      %squares: int32[*] = tf.TensorListStack(%made, int32[] -1)
      return int32[3] [0, 1, 4]
    }
    """)


def test_a_list_that_is_read_element_by_element() -> None:
    read = "%squares: int32[*] = tf.TensorListGetItem(%made, int32[] 2, int32[] -1)"
    check_pass("fold-constant-loops", (MAIN + FUNCTIONS).replace(
        "%squares: int32[*] = tf.TensorListStack(%made, int32[] -1)", read), """
    main {
      input %x: float32[4,2,3]
      %list: variant[*] = tf.TensorListReserve(int32[] -1, int32[] 3) {'element_dtype': int32}
      %i: variant[*] = tf.TensorListFromTensor(int32[3] [0, 1, 4], int32[0] [])
      %squares: int32[*] = tf.TensorListGetItem(%i, int32[] 2, int32[] -1)
      return %squares
    }
    """)


def _numbers(start: str = "int32[] 0", step: str = "tf.AddV2(%y, %y)", test: str = "tf.Less(%i, int32[] 5)") -> str:
    return f"""
    main {{
      input %n: int32[]
      %i: int32[]; %y: float32[2] = tf.While({start}, float32[2] [1.0, 3.0]) {{'body': @body, 'cond': @cond}}
      return %y
    }}
    cond {{
      input %i: int32[]
      input %y: float32[2]
      %more: bool[] = {test}
      return %more
    }}
    body {{
      input %i: int32[]
      input %y: float32[2]
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      %z: float32[2] = {step}
      return %next, %z
    }}
    """


def test_a_loop_of_tensors() -> None:
    check_pass("fold-constant-loops", _numbers(), """
    main {
      input %n: int32[]
      return float32[2] [32.0, 96.0]
    }
    """)


@pytest.mark.parametrize("near_miss", [
    {"start": "%n"},
    {"step": "tf.RandomStandardNormal(int32[1] [2])"},
    {"test": "tf.Less(%i, int32[] 10000)"},
    {"step": "tf.Bessel(%y)"},
])  # fmt: skip
def test_loops_that_stay(near_miss: dict[str, str]) -> None:
    """An unknown operand, an op that differs from run to run, too many steps, and an op that numpy does not compute."""
    check_pass("fold-constant-loops", _numbers(**near_miss))


def test_large_results_stay_loops() -> None:
    doubled = _numbers(step="tf.ConcatV2(%y, %y, int32[] 0)", test="tf.Less(%i, int32[] 10)")
    for known, unknown in (("float32[2] =", "float32[*] ="), ("input %y: float32[2]", "input %y: float32[*]")):
        doubled = doubled.replace(known, unknown)
    check_pass("fold-constant-loops", doubled)


def test_a_list_with_an_element_that_nobody_wrote_stays() -> None:
    check_pass("fold-constant-loops", (MAIN + FUNCTIONS).replace("int32[] -1, int32[] 3)", "int32[] -1, int32[] 4)"))


@pytest.mark.parametrize("hostile", [
    {"start": "int32[] 0", "test": "tf.Identity(bool[] True)"},
    {"step": "tf.Fill(int32[2] [1000000, 1000000], float32[] 1.0)"},
    {"step": "tf.Range(float32[] 0.0, float32[] 1000000000.0, float32[] 1.0)"},
    {"step": "tf.MatMul(%y, %y)"},
])  # fmt: skip
def test_hostile_loops_stay(hostile: dict[str, str]) -> None:
    check_pass("fold-constant-loops", _numbers(**hostile))


def test_a_loop_without_ops_and_without_end_stays() -> None:
    check_pass("fold-constant-loops", """
    main {
      input %n: int32[]
      %more: bool[] = tf.While(bool[] True) {'body': @same, 'cond': @same}
      return %more
    }
    same {
      input %more: bool[]
      return %more
    }
    """)


def test_a_stack_of_many_large_elements_stays() -> None:
    """Each is one array of 4 MB, which a list holds many times."""
    check_pass("fold-constant-loops", """
    main {
      input %n: int32[]
      %list: variant[*] = tf.TensorListReserve(int32[] -1, int32[] 4000) {'element_dtype': float32}
      %i: int32[]; %made: variant[*] = tf.While(int32[] 0, %list) {'body': @body, 'cond': @cond}
      %all: float32[*] = tf.TensorListStack(%made, int32[] -1)
      return %all
    }
    cond {
      input %i: int32[]
      input %list: variant[*]
      %more: bool[] = tf.Less(%i, int32[] 500)
      return %more
    }
    body {
      input %i: int32[]
      input %list: variant[*]
      %large: float32[*] = tf.Fill(int32[1] [1000], float32[] 1.0)
      %set: variant[*] = tf.TensorListSetItem(%list, %i, %large)
      %all: float32[*] = tf.TensorListStack(%set, int32[] -1)
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      return %next, %set
    }
    """)


def test_a_loop_whose_result_has_another_shape_stays() -> None:
    check_pass("fold-constant-loops", """
    main {
      input %x: float32[4]
      %i: int32[]; %y: int32[1] = tf.While(int32[] 0, int32[] 1) {'body': @body, 'cond': @cond}
      return %y
    }
    cond {
      input %i: int32[]
      input %y: int32[]
      %more: bool[] = tf.Less(%i, int32[] 3)
      return %more
    }
    body {
      input %i: int32[]
      input %y: int32[]
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      return %next, %y
    }
    """)
