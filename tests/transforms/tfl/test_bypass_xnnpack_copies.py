"""XNNPACK makes no copies of what LiteRT may move."""

from __future__ import annotations

import pytest

from fuseconv.ir.dims import Sym
from fuseconv.transforms.tfl.bypass_xnnpack_copies import bypass_xnnpack_copies
from tests.check_pass import check_pass
from tests.tf.text_cases import module_of

# A tensor of dynamic size, and what else stands in the graph.
MOVING = """
    main {{
      input %x: float32[n,6]
      {ops}
      %b: bool[n,6] = tfl.GREATER(%x, float32[] 0.0)
      %w: int64[m,2] = tfl.WHERE(%b)
      return %w, {results}
    }}
    """


def _check(ops: str, results: str, after: str | None = None) -> None:
    made = None if after is None else MOVING.format(ops=after, results=results)
    check_pass("bypass-xnnpack-copies", MOVING.format(ops=ops, results=results), made)


DENSE = """
    main {
      input %x: float32[n,6]
      input %k: float32[2,6]
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, %k)
      return %y
    }
    """


def test_a_dense_layer_keeps_its_dimensions() -> None:
    kept = DENSE.replace("%k)", "%k) {'keep_num_dims': True}")
    check_pass("bypass-xnnpack-copies", DENSE, kept)
    check_pass("bypass-xnnpack-copies", kept)


def test_where_all_sizes_are_known_nothing_changes() -> None:
    check_pass("bypass-xnnpack-copies", DENSE.replace("[n,", "[3,"))


def test_a_dense_layer_that_merges_dimensions() -> None:
    """Before a tensor of dynamic size, of data that is LiteRT's."""
    merging = """
    main {
      input %x: float32[n,3,6]
      input %k: float32[2,6]
      %y: float32[3*n,2] = tfl.FULLY_CONNECTED(%x, %k)ATTRS
      %w: int64[m,2] = tfl.WHERE(%y)
      return %w, %y
    }
    """
    after = merging.replace("ATTRS", " {'keep_num_dims': True}").replace("CTED(%x,", "CTED(%rows,").replace(
        "      %y:", """      %rows: float32[3*n,6] = tfl.RESHAPE(%x, int32[2] [-1, 6]) {}
      %shape: int32[2] = tfl.SHAPE(%rows) {'out_type': 'INT32'}
      %y:""")  # fmt: skip
    check_pass("bypass-xnnpack-copies", merging.replace("ATTRS", ""), after)
    still = merging.replace("ATTRS", "").replace("%w: int64[m,2] = tfl.WHERE(%y)", "%w: float32[3*n,2] = tfl.ABS(%y)")
    check_pass("bypass-xnnpack-copies", still)


@pytest.mark.parametrize("copy", [
    "%r: float32[n,3,2] = tfl.RESHAPE(%x, int32[3] [-1, 3, 2])",
    "%r: float32[n,7] = tfl.CONCATENATION(%x, float32[1,1] 1.0) {'axis': 1}",
    "%r: float32[n,3]; %r2: float32[n,3] = tfl.SPLIT(int32[] 1, %x) {'num_splits': 2}",
])  # fmt: skip
def test_what_is_copied_to_memory_of_xnnpack(copy: str) -> None:
    shape = copy.partition(": float32[")[2].partition("]")[0]
    ops = f"{copy}\n      TANH%y: float32[{shape}] = tfl.TANH(%r)"
    rank = shape.count(",") + 1
    read = f"%s: int32[{rank}] = tfl.SHAPE(%r) {{'out_type': 'INT32'}}\n      "
    _check(ops.replace("TANH%", "%"), "%y", ops.replace("TANH%", f"{read}%"))


def test_what_is_copied_from_memory_of_xnnpack() -> None:
    ops = "%t: float32[n,6] = tfl.TANH(%x)\n      %r: float32[n,3,2] = tfl.RESHAPE(%t, int32[3] [-1, 3, 2])"
    _check(ops, "%r", f"{ops}\n      %s: int32[2] = tfl.SHAPE(%t) {{'out_type': 'INT32'}}")


def test_a_copy_of_an_unknown_number_of_dimensions() -> None:
    """Its SHAPE has a length that only a run tells."""
    module, _ = module_of("""
    main {
      input %x: float32[*]
      input %b: bool[n]
      %w: int64[m,1] = tfl.WHERE(%b)
      %t: float32[*] = tfl.TANH(%x)
      %r: float32[n,6] = tfl.RESHAPE(%t, int32[2] [-1, 6])
      return %w, %r
    }
    """)
    bypass_xnnpack_copies(module)
    (shape,) = (op for op in module.signatures[0].graph.ops if op.type == "SHAPE")
    assert shape.result.shape is not None and isinstance(shape.result.shape[0], Sym)


@pytest.mark.parametrize("ops, results", [
    ("%r: float32[n,3,2] = tfl.RESHAPE(%x, int32[3] [-1, 3, 2])", "%r"),
    ("%t: float32[n,6] = tfl.TANH(%x)\n      %r: float32[n,3,2] = tfl.RESHAPE(%t, int32[3] [-1, 3, 2])\n"
     "      %y: float32[n,3,2] = tfl.TANH(%r)", "%y"),
    ("%r: bool[n,3,2] = tfl.RESHAPE(%b0, int32[3] [-1, 3, 2])\n      %y: bool[n,3,2] = tfl.LOGICAL_NOT(%r)", "%y"),
])  # fmt: skip
def test_copies_on_one_side_stay(ops: str, results: str) -> None:
    """Both ends are LiteRT's, or XNNPACK's, or it is no op of XNNPACK's."""
    before = "%b0: bool[n,6] = tfl.LESS(%x, float32[] 0.0)\n      " if "%b0" in ops else ""
    _check(before + ops, results)


@pytest.mark.parametrize("op", [
    "%w: int32[n,4] = tfl.ONE_HOT(%i, int32[] 4, int32[] 1, int32[] 0) {'axis': -1}",
    "%s: int32[1] = tfl.SHAPE(%i)\n      %w: int32[n] = tfl.FILL(%s, int32[] 2)",
    "%w: int32[2] = tfl.RANGE(int32[] 0, int32[] 2, int32[] 1)",
])  # fmt: skip
def test_where_all_tensors_are_allocated_at_once_copies_stay(op: str) -> None:
    check_pass("bypass-xnnpack-copies", f"""
    main {{
      input %x: float32[n,6]
      input %i: int32[n]
      %r: float32[n,3,2] = tfl.RESHAPE(%x, int32[3] [-1, 3, 2])
      %y: float32[n,3,2] = tfl.TANH(%r)
      {op}
      return %y, %w
    }}
    """)
