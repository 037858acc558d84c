"""The signatures of TensorFlow's ops."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.load import op_defs, protos
from fuseconv.load.op_defs import Arg, OpDefs

AttrValue = protos.classes["AttrValue"]


def test_table_is_that_of_the_installed_tensorflow(tf: Any) -> None:
    """A newer TensorFlow may know more ops; what it says of those in the table, the table must say."""
    installed = {line.partition("\t")[0]: line for line in op_defs.registry_table().splitlines()}
    stale = [name for name, line in op_defs._lines().items() if installed.get(name, line) != line]
    assert not stale, "run python -m fuseconv.load.op_defs"


def test_table_entry() -> None:
    conv = OpDefs().get("Conv2D")
    assert conv is not None
    assert conv.inputs == (Arg("input", type_attr="T"), Arg("filter", type_attr="T"))
    assert conv.outputs == (Arg("output", type_attr="T"),)
    assert conv.defaults["dilations"] == [1, 1, 1, 1]
    assert conv.attr_types["strides"] == "list(int)"
    assert conv.structural == {"T"}
    assert not conv.stateful


@pytest.mark.parametrize(
    "op, arg",
    [
        ("Split", Arg("output", type_attr="T", number_attr="num_split")),
        ("While", Arg("output", list_attr="T")),
        ("Shape", Arg("output", type_attr="out_type")),
        ("Size", Arg("output", type_attr="out_type")),
        ("VarHandleOp", Arg("resource", types.RESOURCE)),
    ],
)
def test_kinds_of_results(op: str, arg: Arg) -> None:
    op_def = OpDefs().get(op)
    assert op_def is not None
    assert op_def.outputs == (arg,)


def test_defaults_of_all_kinds() -> None:
    table = OpDefs()
    assert table.get("Shape").defaults["out_type"] is types.INT32  # type: ignore[union-attr]
    assert table.get("Placeholder").defaults["shape"] is None  # type: ignore[union-attr]
    assert table.get("LeakyRelu").defaults["alpha"] == 0.20000000298023224  # type: ignore[union-attr]
    assert table.get("VarHandleOp").stateful  # type: ignore[union-attr]


def test_every_line_can_be_read() -> None:
    table = OpDefs()
    for name in op_defs._lines():
        assert table.get(name).name == name  # type: ignore[union-attr]


def test_a_model_adds_attributes_to_ops_of_the_table_and_nothing_else() -> None:
    """A newer TensorFlow may know more attributes; it never changes what an op takes, or a default."""
    stripped = protos.classes["OpList"]()
    op = stripped.op.add(name="Conv2D", is_stateful=True)
    op.attr.add(name="n", type="int", default_value=AttrValue(i=4))
    op.attr.add(name="data_format", type="string", default_value=AttrValue(s=b"NCHW"))
    op.output_arg.add(name="y", type=1)
    known, conv = OpDefs().get("Conv2D"), OpDefs(stripped).get("Conv2D")
    assert known is not None and conv is not None
    assert conv.defaults == known.defaults | {"n": 4}
    assert (conv.inputs, conv.outputs, conv.stateful) == (known.inputs, known.outputs, False)


def test_a_models_own_ops() -> None:
    stripped = protos.classes["OpList"]()
    op = stripped.op.add(name="Mine", is_stateful=True)
    op.attr.add(name="n", type="int", default_value=AttrValue(i=4))
    op.output_arg.add(name="y", type=1)
    mine = OpDefs(stripped).get("Mine")
    assert mine is not None
    assert (mine.defaults, mine.outputs, mine.stateful) == ({"n": 4}, (Arg("y", types.FLOAT32),), True)
    assert OpDefs(stripped).get("Unheard") is None


def test_a_default_of_another_type() -> None:
    stripped = protos.classes["OpList"]()
    stripped.op.add(name="Mine").attr.add(name="n", type="int", default_value=AttrValue(s=b"4"))
    with pytest.raises(InputError, match="default of 'n' of the model's op 'Mine' is no int"):
        OpDefs(stripped).get("Mine")


def test_types_of_nodes_are_kept_for_all_models_unless_they_are_many() -> None:
    known = OpDefs().get("AddN")
    assert known is not None
    op_def = replace(known)
    op_def.remember_types((3, 1), ([types.FLOAT32] * 3, [("sum", [types.FLOAT32])]))
    assert op_def.known_types == {(3, 1): ([types.FLOAT32] * 3, [("sum", [types.FLOAT32])])}
    op_def.remember_types((1000, 1), ([types.FLOAT32] * 1000, [("sum", [types.FLOAT32])]))
    for count in range(200):
        op_def.remember_types((1, count), ([types.FLOAT32], [("sum", [types.FLOAT32])]))
    assert (1000, 1) not in op_def.known_types and len(op_def.known_types) == 64
