"""Constants that the kernels broadcast as fast are written once, or as one number."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir.graph import Module
from fuseconv.pass_manager import Context, PassManager
from fuseconv.pipeline import CLEANUP_TFL
from tests.check_pass import check_pass
from tests.tf.text_cases import module_of


def _tidied(body: str, of_input: str) -> Module:
    module, report = module_of(f'main {{\n input %0 "x": {of_input}\n{body}\n    return %9\n}}')
    PassManager(Context(module, report)).run(CLEANUP_TFL)
    return module


_ROW = np.arange(40)


@pytest.mark.parametrize(
    ("op", "dtype", "constant", "shape"),
    [
        ("MINIMUM", "float32", np.tile(_ROW, [2, 1]), (1, 40)),
        ("MINIMUM", "float32", np.tile(_ROW[:, None], [1, 40]), (40, 1)),
        ("MINIMUM", "float32", np.full([3, 5], 7), (1, 1)),
        ("MINIMUM", "float32", np.stack([_ROW, _ROW * 2]), (2, 40)),
        # The kernels would take four numbers at once.
        ("MINIMUM", "float32", np.tile(_ROW[:4], [40, 1]), (40, 4)),
        ("MINIMUM", "float32", np.tile(_ROW[:, None], [1, 4]), (40, 4)),
        ("MINIMUM", "float32", np.tile(_ROW[:8].reshape(2, 1, 4), [3, 5, 1]), (6, 5, 4)),
        ("MINIMUM", "float32", np.tile(_ROW[None, :, None, None], [3, 1, 2, 5]), (1, 40, 2, 5)),
        # Kernels of integers broadcast numbers at most.
        ("ADD", "int32", np.full([3, 5], 7), (1, 1)),
        ("ADD", "int32", np.tile(_ROW, [2, 1]), (2, 40)),
        ("MINIMUM", "int32", np.full([3], 7), (1,)),
        ("FLOOR_DIV", "int32", np.full([3, 5], 7), ()),
        ("FLOOR_MOD", "int32", np.full([3, 5], 7), ()),
    ],
)
def test_constants_that_repeat_themselves_are_broadcast_in_long_runs(
    op: str, dtype: str, constant: np.ndarray, shape: tuple[int, ...]
) -> None:
    sizes = ",".join(map(str, constant.shape))
    body = f"""
    const %1 "c": {dtype}[{sizes}] = {constant.tolist()}
    %9 "a": {dtype}[b,{sizes}] = tfl.{op}(%0, %1) {{}}"""
    module = _tidied(body, f"{dtype}[b,{sizes}]")
    (made,) = module.signatures[0].graph.ops
    assert made.operands[1] is not None and made.operands[1].shape == shape


@pytest.mark.parametrize(
    ("op", "constant", "shape"),
    [
        ("bool[b,2,3] = tfl.GREATER(%0, %1)", "[[5, 5, 5], [5, 5, 5]]", ()),
        ("float32[b,2,3] = tfl.POW(%1, %0)", "[[5, 5, 5], [5, 5, 5]]", ()),
        # Rows are broadcast in more time than a whole constant takes.
        ("bool[b,2,3] = tfl.EQUAL(%0, %1)", "[[1, 2, 3], [1, 2, 3]]", (2, 3)),
    ],
)
def test_numbers_that_are_the_same_everywhere_are_one(op: str, constant: str, shape: tuple[int, ...]) -> None:
    body = f"""
    const %1 "c": float32[2,3] = {constant}
    %9 "a": {op} {{}}"""
    module = _tidied(body, "float32[b,2,3]")
    assert [x.shape for x in module.signatures[0].graph.ops[0].operands if x is not None and x.is_const] == [shape]


def test_what_a_selection_has_its_shape_from_stays() -> None:
    check_pass("canonicalize-tfl", """
    main {
      input %c: bool[b,3]
      input %one: bool[]
      input %x: float32[b,3]
      %a: float32[b,3] = tfl.SELECT_V2(%c, %x, float32[3] [0.0, 0.0, 0.0])
      %d: float32[2,3] = tfl.SELECT_V2(%one, float32[2,3] [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], float32[] 2.0)
      return %a, %d
    }
    """, """
    main {
      input %c: bool[b,3]
      input %one: bool[]
      input %x: float32[b,3]
      %a: float32[b,3] = tfl.SELECT_V2(%c, %x, float32[] 0.0)
      %d: float32[2,3] = tfl.SELECT_V2(%one, float32[2,3] [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], float32[] 2.0)
      return %a, %d
    }
    """)


def test_selections_that_broadcast_nothing_broadcast_a_number() -> None:
    check_pass("canonicalize-tfl", """
    main {
      input %c: bool[2,2]
      input %rows: bool[2]
      input %x: float32[2,2]
      %a: float32[2,2] = tfl.SELECT(%c, %x, float32[2,2] [[0.0, 0.0], [0.0, 0.0]])
      %d: float32[2,2] = tfl.SELECT(%rows, %x, float32[2,2] [[0.0, 0.0], [0.0, 0.0]])
      return %a, %d
    }
    """, """
    main {
      input %c: bool[2,2]
      input %rows: bool[2]
      input %x: float32[2,2]
      %a: float32[2,2] = tfl.SELECT_V2(%c, %x, float32[] 0.0)
      %d: float32[2,2] = tfl.SELECT(%rows, %x, float32[2,2] [[0.0, 0.0], [0.0, 0.0]])
      return %a, %d
    }
    """)


def test_what_broadcasts_by_itself_reads_what_is_broadcast() -> None:
    check_pass("canonicalize-tfl", """
    main {
      input %x: float32[4,8]
      input %y: float32[1,8]
      input %z: float32[2,8]
      %wide: float32[4,8] = tfl.BROADCAST_TO(%y, int32[2] [4, 8])
      %twice: float32[4,8] = tfl.TILE(%z, int32[2] [2, 1])
      %a: float32[4,8] = tfl.ADD(%x, %wide)
      %b: bool[4,8] = tfl.LESS(%wide, %x)
      %c: float32[4,8] = tfl.MUL(%x, %twice)
      return %a, %b, %c
    }
    """, """
    main {
      input %x: float32[4,8]
      input %y: float32[1,8]
      input %z: float32[2,8]
      %wide: float32[4,8] = tfl.BROADCAST_TO(%y, int32[2] [4, 8])
      %twice: float32[4,8] = tfl.TILE(%z, int32[2] [2, 1])
      %a: float32[4,8] = tfl.ADD(%x, %y)
      %b: bool[4,8] = tfl.LESS(%y, %x)
      %c: float32[4,8] = tfl.MUL(%x, %twice)
      return %a, %b, %c
    }
    """)


def test_more_dimensions_than_kernels_broadcast_keep_their_constants() -> None:
    dims = "1,1,1,1,2,1,2"
    check_pass("canonicalize-tfl", f"""
    main {{
      input %x: float32[{dims}]
      %y: float32[{dims}] = tfl.ADD(%x, float32[{dims}] [[[[[[[3.0, 3.0]], [[3.0, 3.0]]]]]]])
      return %y
    }}
    """)


def test_a_constant_that_enlarges_keeps_its_size() -> None:
    body = """
    const %1 "c": float32[2,3] = [[1, 2, 3], [1, 2, 3]]
    %9 "a": float32[2,3] = tfl.ADD(%0, %1) {}"""
    module = _tidied(body, "float32[3]")
    constant = module.signatures[0].graph.ops[0].operands[1]
    assert constant is not None and constant.shape == (2, 3)
