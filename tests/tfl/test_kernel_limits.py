"""The limits speak of ops that the table has. That they hold, the parity tests of the rules show."""

import pytest

import fuseconv.tfl.ops  # noqa: F401  (fills the table)
from fuseconv.ir.dims import Dim, symbol
from fuseconv.ir.graph import Op, Value
from fuseconv.ir.types import FLOAT32
from fuseconv.tfl import kernel_limits
from fuseconv.tfl.opdef import TABLE
from tests.tf.text_cases import module_of


@pytest.mark.parametrize("limit", [kernel_limits.TYPES, kernel_limits.RANK, kernel_limits.BROADCAST_RANK])
def test_names(limit):
    assert sorted(set(limit) - set(TABLE)) == []


def test_types_are_those_that_a_file_can_hold():
    for name, types in kernel_limits.TYPES.items():
        assert len(types) == len(set(types)) > 0, name
        assert all(dtype.tflite is not None for dtype in types), name


def op(kind: str, *shapes: tuple[Dim, ...] | None) -> Op:
    made = Op(f"tfl.{kind}", [None if shape is None else Value(FLOAT32, shape, "x") for shape in shapes], {}, "op")
    made.add_result(FLOAT32, shapes[0])
    return made


def test_a_rank_beyond_the_limit_is_told() -> None:
    six = (symbol("n"), 1, 2, 3, 4, 5)
    assert not kernel_limits.rank_excess(op("PAD", six[1:]))
    assert "up to 5" in kernel_limits.rank_excess(op("PAD", six))
    assert not kernel_limits.rank_excess(op("SLICE", six))
    assert "up to 6" in kernel_limits.rank_excess(op("SUM", (*six, 7)))
    assert not kernel_limits.rank_excess(op("DIV", six, six)) and not kernel_limits.rank_excess(op("ABS", six * 2))
    assert "broadcasts" in kernel_limits.rank_excess(op("DIV", six, ()))
    assert not kernel_limits.rank_excess(op("MUL", six, (5,)))
    assert not kernel_limits.rank_excess(op("ATAN2", (2,), (2,))) and kernel_limits.rank_excess(op("ATAN2", (2,), (1,)))
    assert not kernel_limits.rank_excess(op("FULLY_CONNECTED", None, (2, 3)))


def test_sizes_that_may_be_the_same_do_not_broadcast() -> None:
    assert not kernel_limits.rank_excess(op("ATAN2", (symbol("n"), 3), (symbol("m"), 3)))
    assert kernel_limits.rank_excess(op("ATAN2", (symbol("n"), 3), (1, 3)))


@pytest.mark.parametrize("op, why", [
    ("bool[2,4] = tfl.SPLIT(int32[] 0, %x) {'num_splits': 1}", "SPLIT takes float32 or int32 or "),
    ("bool[2] = tfl.REDUCE_ALL(%x, int32[1] [1])", ""),
    ("int64[2] = tfl.ARG_MAX(%x, int32[] 1) {'output_type': 'INT64'}", ""),
    ("bool[2,4] = tfl.RESHAPE(%x, int32[2] [2, 4])", ""),
])  # fmt: skip
def test_types(op: str, why: str) -> None:
    module, _ = module_of(f"main {{\ninput %x: bool[2,4]\n%y: {op}\nreturn %y\n}}")
    found = kernel_limits.type_excess(module.signatures[0].graph.ops[0])
    assert found.startswith(why) and bool(found) == bool(why)
