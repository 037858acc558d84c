"""Scans as loops over lists of rows."""

from __future__ import annotations

import pytest

from fuseconv.ir.types import VARIANT
from fuseconv.ir.verifier import check
from fuseconv.transforms.loops.raise_scans import raise_scans
from fuseconv.transforms.tf.canonicalize import canonicalize
from tests.check_pass import check_pass
from tests.tf.text_cases import module_of


def _scan(start: str, steps: int = 5) -> str:
    return f"""
    main {{
      input %xs: float32[5,2]
      input %ys: float32[5,2]
      %i: int32[]; %seq: float32[5,2]; %out: float32[5,2] = tf.While(int32[] 0, %xs, %ys) \
{{'cond': @cond, 'body': @body}}
      return %out
    }}
    cond {{
      input %i: int32[]
      input %xs: float32[5,2]
      input %ys: float32[5,2]
      %go: bool[] = tf.Less(%i, int32[] {steps})
      return %go
    }}
    body {{
      input %i: int32[]
      input %xs: float32[5,2]
      input %ys: float32[5,2]
      %at: int32[2] = tf.Pack({start}, int32[] 0)
      %row: float32[1,2] = tf.XlaDynamicSlice(%xs, %at, int32[2] [1, 2])
      %y: float32[1,2] = tf.Neg(%row)
      %made: float32[5,2] = tf.XlaDynamicUpdateSlice(%ys, %y, %at)
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      return %next, %xs, %made
    }}
    """


def test_rows_are_read_and_written_one_by_one() -> None:
    module, _ = module_of(_scan("%i"))
    assert raise_scans(module)
    check(module)
    main = module.signatures[0].graph
    assert [op.type for op in main.ops] == ["TensorListReserve", "While", "TensorListStack"]
    assert main.outputs == main.ops[2].results
    body = module.functions["body"]
    assert {"GatherV2", "TensorListSetItem"} < {op.type for op in body.ops}
    assert body.inputs[2].dtype is VARIANT and body.outputs[2].dtype is VARIANT
    item = body.outputs[2].op.operands[2]  # type: ignore[union-attr]
    assert item is not None and item.shape == (2,)


def test_an_index_that_is_never_negative_is_not_wrapped() -> None:
    text = _scan("%where").replace("%at:", """%negative: bool[] = tf.Less(%i, int32[] 0)
      %wrapped: int32[] = tf.AddV2(%i, int32[] 5)
      %where: int32[] = tf.SelectV2(%negative, %wrapped, %i)
      %at:""")
    module, _ = module_of(text)
    assert raise_scans(module)
    (gather,) = [op for op in module.functions["body"].ops if op.type == "GatherV2"]
    assert gather.operands[1] is module.functions["body"].inputs[0]


def test_a_list_has_a_row_for_each_step() -> None:
    module, _ = module_of(_scan("%i", steps=4))
    assert raise_scans(module)
    assert [op.type for op in module.signatures[0].graph.ops] == ["While"]


def test_what_the_condition_reads_is_no_list() -> None:
    text = _scan("%i").replace("%go:", """%read: float32[5,2] = tf.Neg(%ys)
      %go:""")
    module, _ = module_of(text)
    raise_scans(module)
    assert module.functions["body"].inputs[2].dtype is not VARIANT


@pytest.mark.parametrize("start", ["%at_row", "int32[] 2"])
def test_other_rows_stay_slices(start: str) -> None:
    text = _scan(start).replace("%at:", "%at_row: int32[] = tf.AddV2(%i, int32[] 3)\n%at:")
    check_pass("raise-scans", text)


def test_a_start_that_is_held_to_a_number_is_known() -> None:
    held = """%low: int32[2] = tf.Maximum(%at, int32[] 0)
      %held: int32[2] = tf.Minimum(%low, int32[2] [4, 0])
      %row:"""
    text = _scan("%i").replace("%row:", held).replace("XlaDynamicSlice(%xs, %at", "XlaDynamicSlice(%xs, %held")
    module, _ = module_of(text)
    assert raise_scans(module)
    assert "GatherV2" in {op.type for op in module.functions["body"].ops}


def test_sums_and_bounds_of_an_index_with_itself_are_not_looked_through() -> None:
    """There are 2 ** 64 ways from the last of these to the step's number."""
    sums = "".join(f"%i{at + 1}: int32[] = tf.AddV2(%i{at}, %i{at})\n" for at in range(64))
    bounds = "".join(f"%at{at + 1}: int32[2] = tf.Maximum(%at{at}, %at{at})\n" for at in range(64))
    same = "%i0: int32[] = tf.AddV2(%i, int32[] 0)\n"
    for text in (
        _scan("%i64").replace("%at:", f"{same}{sums}%at:"),
        _scan("%i").replace("%at:", "%at0:").replace("%row:", f"{bounds}%row:").replace("%at)", "%at64)")
        .replace("%at,", "%at64,"),
    ):
        assert not raise_scans(module_of(text)[0])


def _of_any_length(read: str, written: str, last: str = "%n") -> tuple[list[str], set[str]]:
    """Return the ops of the graph, and those of the body, of a scan over as many rows as %xs has, which reads and
    writes rows of these numbers. last: where the counter ends."""
    module, report = module_of(f"""
    main {{
      input %xs: float32[n,2]
      %sizes: int32[2] = tf.Shape(%xs)
      %n: int32[] = tf.StridedSlice(%sizes, int32[1] [0], int32[1] [1], int32[1] [1]) {{'shrink_axis_mask': 1}}
      %end: int32[] = tf.Identity({last})
      %to: int32[2] = tf.Pack(%n, int32[] 2)
      %ys: float32[n,2] = tf.Fill(%to, float32[] 0.0)
      %i: int32[]; %e: int32[]; %m: int32[]; %x: float32[n,2]; %out: float32[n,2] = \
tf.While(int32[] 0, %end, %n, %xs, %ys) {{'cond': @cond, 'body': @body}}
      return %out
    }}
    cond {{
      input %i: int32[]
      input %end: int32[]
      input %n: int32[]
      input %xs: float32[n,2]
      input %ys: float32[n,2]
      %go: bool[] = tf.Less(%i, %end)
      return %go
    }}
    body {{
      input %i: int32[]
      input %end: int32[]
      input %n: int32[]
      input %xs: float32[n,2]
      input %ys: float32[n,2]
      %more: int32[] = tf.AddV2(%i, int32[] 1)
      %left: int32[] = tf.Sub(%n, %more)
      %at: int32[2] = tf.Pack({read}, int32[] 0)
      %row: float32[1,2] = tf.XlaDynamicSlice(%xs, %at, int32[2] [1, 2])
      %y: float32[1,2] = tf.Neg(%row)
      %to: int32[2] = tf.Pack({written}, int32[] 0)
      %made: float32[n,2] = tf.XlaDynamicUpdateSlice(%ys, %y, %to)
      return %more, %end, %n, %xs, %made
    }}
    """)
    canonicalize(module, report)
    raise_scans(module)
    check(module)
    return [op.type for op in module.signatures[0].graph.ops], {op.type for op in module.functions["body"].ops}


@pytest.mark.parametrize(("read", "written"), [("%i", "%i"), ("%left", "%i"), ("%i", "%left")])
def test_the_number_of_steps_may_be_a_size(read: str, written: str) -> None:
    ops, inner = _of_any_length(read, written)
    assert ops[-3:] == ["TensorListReserve", "While", "TensorListStack"]
    assert {"GatherV2", "TensorListSetItem"} < inner and "XlaDynamicSlice" not in inner


def test_rows_that_need_not_be_there_or_be_written() -> None:
    ops, inner = _of_any_length("%more", "%i")
    assert "XlaDynamicSlice" in inner and "TensorListSetItem" in inner
    ops, inner = _of_any_length("%i", "%more")
    assert "GatherV2" in inner and "XlaDynamicUpdateSlice" in inner and "TensorListStack" not in ops
    ops, inner = _of_any_length("%i", "%i", last="int32[] 4")
    assert "XlaDynamicSlice" in inner and "XlaDynamicUpdateSlice" in inner
