"""All forms on the operands with which each op of the table is tried: LiteRT computes the same."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.verifier import check
from fuseconv.report.records import Report
from fuseconv.targets.forms import FORMS
from fuseconv.tfl.opdef import TABLE
from fuseconv.transforms.tfl.legalize_for_target import legalize_for_target
from fuseconv.write.flatbuffer_export import to_bytes
from tests.targets.forms.parity import without
from tests.tf.text_cases import kinds
from tests.tfl import cases
from tests.tfl.interpret import module_of, run_file
from tests.tfl.test_tfl_ops import build


def _kind(case: cases.Case) -> str:
    return case.kind.rstrip("_").upper()


def test_forms_are_of_ops_of_the_table() -> None:
    assert FORMS.keys() <= TABLE.keys()


@pytest.mark.parametrize("case", [case for case in cases.ALL if _kind(case) in FORMS and case.inputs], ids=str)
def test_an_op_in_another_form_computes_the_same(case: cases.Case) -> None:
    module = module_of(build(case), *[(types.of_array(array), array.shape) for array in case.inputs])
    before, expected = kinds(module), run_file(to_bytes(module), *case.inputs)
    legalize_for_target(module, without(_kind(case)), Report())
    check(module)
    assert kinds(module) == before or _kind(case) not in kinds(module)
    if kinds(module) != before:
        for old, new in zip(expected, run_file(to_bytes(module), *case.inputs), strict=True):
            assert old.shape == new.shape and old.dtype == new.dtype
            np.testing.assert_allclose(new, old, rtol=2e-6, atol=2e-6)
