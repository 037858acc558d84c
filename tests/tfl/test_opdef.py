"""The table of TFLite ops, as it is written."""

from __future__ import annotations

import pytest

import fuseconv.tfl.ops  # noqa: F401  (fills the table)
from fuseconv.errors import InputError
from fuseconv.ir.graph import constant
from fuseconv.ir.types import FLOAT32
from fuseconv.tfl import opdef
from fuseconv.tfl.opdef import TABLE


def test_a_definition_is_read_off_a_function() -> None:
    gather = TABLE["GATHER"]
    assert (gather.operands, gather.required, gather.indices) == (("x", "indices"), 2, {1})
    assert gather.defaults == {"axis": 0, "batch_dims": 0} and not gather.variadic and not gather.told
    assert TABLE["CONCATENATION"].variadic and TABLE["WHILE"].told
    assert TABLE["SLICE"].name == "SLICE"  # slice_: no name of Python's is hidden


def test_a_function_defines_several_operators_of_one_form() -> None:
    assert TABLE["EXP"].infer is TABLE["SIN"].infer
    assert (TABLE["EXP"].name, TABLE["EXP"].options, TABLE["SIN"].options) == ("EXP", "ExpOptions", None)


def test_operands_and_attributes_that_are_wrong() -> None:
    x = constant([1.0, 2.0], FLOAT32)
    assert TABLE["NEG"].result_types([x], {}) == [(FLOAT32, (2,))]
    with pytest.raises(TypeError, match="GATHER takes 2 operands, not 1"):
        TABLE["GATHER"].result_types([x], {})
    with pytest.raises(TypeError, match="width"):
        TABLE["NEG"].result_types([x], {"width": 1})


def test_an_op_is_declared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def neg(x):
        return x

    with pytest.raises(InputError, match="NEG is claimed by both"):
        opdef.op()(neg)
