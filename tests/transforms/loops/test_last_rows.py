"""Loops of whose rows only the last one is read."""

from __future__ import annotations

import pytest

from fuseconv.ir.verifier import check
from fuseconv.transforms.loops.last_rows import read_last_row
from fuseconv.transforms.loops.raise_scans import raise_scans
from tests.tf.text_cases import module_of

_LAST = "%y: float32[3,2] = tf.StridedSlice(%r, int32[1] [4], int32[1] [5], int32[1] [1]) {'shrink_axis_mask': 1}"
_MOVED = "%t: float32[3,5,2] = tf.Transpose(%r, int32[3] [1, 0, 2])"
_OF_MOVED = (
    "%y: float32[3,1,2] = tf.StridedSlice(%t, int32[2] [0, {}], int32[2] [0, {}], int32[2] [1, 1]) "
    "{{'begin_mask': 1, 'end_mask': {}}}"
)


def _scan(*lines: str, written: str = "%c", place: str = "%i") -> str:
    return "\n".join(["""
    main {
      input %x: float32[3,2]
      input %z: float32[5,3,2]
      %n: int32[]; %s: float32[3,2]; %r: float32[5,3,2] = tf.While(int32[] 0, %x, %z) \
{'cond': @cond, 'body': @body}""", *lines, f"""
      return %y
    }}
    cond {{
      input %i: int32[]
      input %s: float32[3,2]
      input %r: float32[5,3,2]
      %go: bool[] = tf.Less(%i, int32[] 5)
      return %go
    }}
    body {{
      input %i: int32[]
      input %s: float32[3,2]
      input %r: float32[5,3,2]
      %c: float32[3,2] = tf.Sin(%s)
      %d: float32[3,2] = tf.Cos(%s)
      %p: int32[] = tf.Sub(int32[] 4, %i)
      %at: int32[3] = tf.Pack({place}, int32[] 0, int32[] 0)
      %row: float32[1,3,2] = tf.ExpandDims({written}, int32[] 0)
      %made: float32[5,3,2] = tf.XlaDynamicUpdateSlice(%r, %row, %at)
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      return %next, %c, %made
    }}
    """])  # fmt: skip


def _reads_state(text: str) -> bool:
    """Whether the result of the loop that is read is its state, and no list is made."""
    module, _ = module_of(text)
    graph = module.signatures[0].graph
    shape = graph.outputs[0].shape
    assert raise_scans(module)
    check(module)
    assert graph.outputs[0].shape == shape
    loop = next(op for op in graph.ops if op.kind == "tf.While")
    lists = any(op.kind == "tf.TensorListStack" for op in graph.ops)
    assert lists != bool(loop.results[1].uses)
    return not lists


@pytest.mark.parametrize("text", [
    _scan(_LAST),
    _scan(_LAST.replace("[4]", "[-1]").replace("[5],", "[0],")),
    _scan(_MOVED, _OF_MOVED.format(4, 5, 1)),
    _scan(_MOVED, _OF_MOVED.format(-1, 0, 3)),
    _scan("%v: float32[5,3,2] = tf.ReverseV2(%r, int32[1] [0])",
          _LAST.replace("%r", "%v").replace("[4]", "[0]").replace("[5],", "[1],")),
    _scan(_LAST.replace("[4]", "[0]").replace("[5],", "[1],"), place="%p"),
])  # fmt: skip
def test_the_last_row_is_the_state(text: str) -> None:
    assert _reads_state(text)


@pytest.mark.parametrize("text", [
    _scan(_LAST.replace("[4]", "[3]").replace("[5],", "[4],")),
    _scan(_LAST, written="%d"),
    _scan("%y: float32[1,3,1] = tf.Slice(%r, int32[3] [4, 0, 0], int32[3] [1, 3, 1])"),
    _scan("%y: float32[2,3,2] = tf.Slice(%r, int32[3] [3, 0, 0], int32[3] [2, 3, 2])"),
    _scan(_LAST, place="%p"),
    _scan(_LAST.replace("%y", "%l"), "%y: float32[5,3,2] = tf.Neg(%r)"),
    _scan(_MOVED, _OF_MOVED.format(3, 5, 1).replace("3,1,2", "3,2,2")),
    _scan("%t: float32[2,3,5] = tf.Transpose(%r, int32[3] [2, 1, 0])",
          "%y: float32[2,3] = tf.StridedSlice(%t, int32[3] [0, 0, 4], int32[3] [2, 3, 5], int32[3] [1, 1, 1]) "
          "{'shrink_axis_mask': 4}"),
])  # fmt: skip
def test_other_rows_are_lists(text: str) -> None:
    """Another row, one that is no state, rows in the other order, all rows, two of them, and one that is transposed."""
    assert not _reads_state(text)


@pytest.mark.parametrize(("taken", "place", "reads"), [
    ("int32[1] [-1], int32[1] [0], int32[1] [1]) {'shrink_axis_mask': 1}", -1, True),
    ("int32[1] [-1], int32[1] [0], int32[1] [1]) {'end_mask': 1}", -1, True),
    ("int32[1] [0], int32[1] [1], int32[1] [1]) {'shrink_axis_mask': 1}", 0, True),
    ("int32[1] [0], int32[1] [1], int32[1] [1]) {'begin_mask': 1}", 0, True),
    ("int32[1] [0], int32[1] [1], int32[1] [1]) {'shrink_axis_mask': 1}", -1, False),
    ("int32[1] [-1], int32[1] [0], int32[1] [1]) {'end_mask': 1}", 0, False),
    ("int32[1] [-2], int32[1] [0], int32[1] [1]) {'end_mask': 1}", -1, False),
    ("int32[1] [0], int32[1] [2], int32[1] [1]) {'begin_mask': 1}", 0, False),
])  # fmt: skip
def test_rows_whose_number_a_run_tells(taken: str, place: int, reads: bool) -> None:
    module, _ = module_of(f"""
    main {{
      input %x: float32[3,2]
      %r: float32[m,3,2] = tf.Loop(%x)
      %s: float32[3,2] = tf.Loop(%x)
      %y: float32[{'3,2' if 'shrink' in taken else '1,3,2'}] = tf.StridedSlice(%r, {taken}
      return %y
    }}
    """)
    (graph,) = module.graphs()
    rows, loop = graph.ops[:2]
    assert rows.result.shape is not None
    last = rows.result.shape[0] - 1 if place < 0 else place
    assert read_last_row(loop, graph, rows.result, loop.result, last) == reads
    check(module)
    assert bool(loop.result.uses) == reads
