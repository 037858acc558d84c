"""Rows of ragged tensors that loops take and write are parts of tensors."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass

COND = """
    cond {
      input %i: int32[]
      input %list: variant[*]
      %more: bool[] = tf.Less(%i, int32[] 3)
      return %more
    }
    """

TAKEN = """
    main {
      input %splits: int64[n]
      input %x: float32[m]
      %rows: variant[*] = tf.RaggedTensorToVariant(%splits, %x) {'batched_input': True}
      %list: variant[*] = tf.TensorListFromTensor(%rows, int32[0] [])
      %shape: int32[1] = tf.Shape(%rows)
      %i: int32[]; %made: variant[*] = tf.While(int32[] 0, %list) {'body': @body, 'cond': @cond}
      return %i, %shape
    }
    body {
      input %i: int32[]
      input %list: variant[*]
      %row: variant[] = tf.TensorListGetItem(%list, %i, int32[0] []) {'element_dtype': variant}
      %values: float32[*] = tf.RaggedTensorFromVariant(%row) {'output_ragged_rank': 0}
      %size: int32[] = tf.Size(%values)
      %next: int32[] = tf.AddV2(%i, %size)
      return %next, %list
    }
    """ + COND

SPLIT = """
    main {
      input %splits: int64[n]
      input %x: float32[m]
      %rows: variant[*] = tf.RaggedTensorToVariant(%splits, %x) {'batched_input': True}
      %starts: int64[*] = tf.StridedSlice(%splits, int32[1] [0], int32[1] [-1], int32[1] [1]) {'begin_mask': 1}
      %ends: int64[*] = tf.StridedSlice(%splits, int32[1] [1], int32[1] [0], int32[1] [1]) {'end_mask': 1}
      %lengths: int64[*] = tf.Sub(%ends, %starts)
      %long: int64[*] = tf.Cast(%lengths)
      %list: variant[*] = tf.TensorListSplit(%x, int32[] -1, %long) {'element_dtype': float32}
      %of: int32[*] = tf.Shape(%splits)
      %less: int32[*] = tf.Sub(%of, int32[1] [1])
      %shape: int32[*] = tf.Cast(%less)
      %i: int32[]; %made: variant[*] = tf.While(int32[] 0, %list) {'body': @body, 'cond': @cond}
      return %i, %shape
    }
    body {
      input %i: int32[]
      input %list: variant[*]
      %values: float32[*] = tf.TensorListGetItem(%list, %i, int32[] -1) {'element_dtype': float32}
      %size: int32[] = tf.Size(%values)
      %next: int32[] = tf.AddV2(%i, %size)
      return %next, %list
    }
    """ + COND

WRITTEN = """
    main {
      input %x: float32[n,4]
      %list: variant[*] = tf.TensorListReserve(int32[0] [], int32[] 3) {'element_dtype': variant}
      %i: int32[]; %made: variant[*] = tf.While(int32[] 0, %list) {'body': @body, 'cond': @cond}
      %rows: variant[*] = tf.TensorListStack(%made, int32[0] []) {'element_dtype': variant}
      %splits: int64[*]; %values: float32[*] = tf.RaggedTensorFromVariant(%rows) {'output_ragged_rank': 1}
      return %splits, %values
    }
    body {
      input %i: int32[]
      input %list: variant[*]
      %row: float32[k] = tf.Fill(%i, float32[] 1.5)
      %wrapped: variant[] = tf.RaggedTensorToVariant(%row) {'batched_input': False}
      %set: variant[*] = tf.TensorListSetItem(%list, %i, %wrapped) {'element_dtype': variant}
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      return %next, %set
    }
    """ + COND

JOINED = """
    main {
      input %x: float32[n,4]
      %lengths: variant[*] = tf.TensorListReserve(int32[0] [], int32[] 3) {'element_dtype': int32}
      %list: variant[*] = tf.TensorListReserve(int32[] -1, int32[] 3) {'element_dtype': float32}
      %i: int32[]; %made: variant[*]; %counted: variant[*] = tf.While(int32[] 0, %list, %lengths) {'body': @body, 'cond': @cond}
      %rows: variant[*] = tf.TensorListStack(%made, int32[0] []) {'element_dtype': variant}
      %counts: int32[*] = tf.TensorListStack(%counted, int32[0] []) {'element_dtype': int32}
      %ends: int32[*] = tf.Cumsum(%counts, int32[] 0)
      %splits: int32[*] = tf.ConcatV2(int32[1] [0], %ends, int32[] 0)
      %values: float32[*]; %l: int64[*] = tf.TensorListConcatV2(%made, int32[] -1, int64[0] []) {'element_dtype': float32, 'shape_type': int32}
      %cast: int64[*] = tf.Cast(%splits)
      return %cast, %values
    }
    body {
      input %i: int32[]
      input %list: variant[*]
      input %lengths: variant[*]
      %row: float32[k] = tf.Fill(%i, float32[] 1.5)
      %wrapped: variant[] = tf.RaggedTensorToVariant(%row) {'batched_input': False}
      %shape: int32[*] = tf.Shape(%row)
      %length: int32[*] = tf.StridedSlice(%shape, int32[1] [0], int32[1] [1], int32[1] [1]) {'shrink_axis_mask': 1}
      %counted: variant[*] = tf.TensorListSetItem(%lengths, %i, %length) {'element_dtype': int32}
      %set: variant[*] = tf.TensorListSetItem(%list, %i, %row) {'element_dtype': float32}
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      return %next, %set, %counted
    }
    """  + COND.replace("list: variant[*]", "list: variant[*]\n      input %lengths: variant[*]")  # noqa: E501


def test_rows_are_parts_of_what_is_split() -> None:
    check_pass("decompose-ragged-rows", TAKEN, SPLIT)


def test_rows_are_joined_and_their_lengths_kept() -> None:
    check_pass("decompose-ragged-rows", WRITTEN, JOINED)


@pytest.mark.parametrize("old, new", [
    ("'batched_input': True", "'batched_input': False"),
    ("%values: float32[*] = tf.Ragged", "%values: float64[*] = tf.Ragged"),
    ("return %i, %shape", "return %i, %shape, %rows"),
])  # fmt: skip
def test_what_is_taken_otherwise_stays(old: str, new: str) -> None:
    """One row in the place of many, one read as of another type, and rows that leave the graph."""
    assert old in TAKEN
    check_pass("decompose-ragged-rows", TAKEN.replace(old, new))


@pytest.mark.parametrize("old, new", [
    ("%row: float32[k] = tf.Fill(%i, float32[] 1.5)", "%row: float32[] = tf.Cast(%i)"),
    ("%values: float32[*] = tf.Ragged", "%values: float64[*] = tf.Ragged"),
    ("return %splits, %values", "return %splits, %values, %made"),
    ("tf.RaggedTensorToVariant(%row)", "tf.RaggedTensorToVariant(int64[2] [0, 1], %row)"),
])  # fmt: skip
def test_what_is_written_otherwise_stays(old: str, new: str) -> None:
    """A scalar, rows read as of another type, a list that leaves the graph, and a row that is ragged itself."""
    assert old in WRITTEN
    check_pass("decompose-ragged-rows", WRITTEN.replace(old, new))
