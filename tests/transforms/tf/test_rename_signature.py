"""Inputs and outputs of other names."""

from __future__ import annotations

import pytest

from fuseconv.errors import InputError
from tests.check_pass import check_pass

TEXT = """
main {
  input %x: float32[2]
  input %y: float32[2]
  %z: float32[2] = tf.Add(%x, %y)
  return %z, %x
}
"""


def test_new_names() -> None:
    context = check_pass("rename-signature", TEXT, TEXT, rename={"i0": "i1", "i1": "i0", "o0:0": "sum"})
    signature = context.module.signatures[0]
    assert (signature.inputs, signature.outputs) == (["i1", "i0"], ["sum", "o1"])
    assert [value.name for value in signature.graph.inputs] == signature.inputs
    assert context.report.renamed == {"i0": "i1", "i1": "i0", "o0": "sum"}
    assert context.report.passes[-1].changes


@pytest.mark.parametrize(
    ("rename", "why"),
    [
        ({"in0": "x"}, "--rename: no signature has an input or output in0; did you mean i0?"),
        ({"qqq": "x"}, "has an input or output qqq; there are i0, i1, o0, o1"),
        ({"i0": "i1"}, "two inputs of a signature would have the name i1"),
        ({"o0": "x", "o1": "x"}, "two outputs of a signature would have the name x"),
    ],
)
def test_what_is_refused(rename: dict[str, str], why: str) -> None:
    with pytest.raises(InputError) as error:
        check_pass("rename-signature", TEXT, TEXT, rename=rename)
    assert why in str(error.value)
