"""Options of builtin ops as attributes: each field of the schema, none left out."""

from __future__ import annotations

from typing import Any

import pytest

import fuseconv.tfl.ops  # noqa: F401
from fuseconv.ir.graph import FuncRef
from fuseconv.load.tflite.options import attributes, options_table
from fuseconv.load.tflite.table_decoder import DamagedError, Decoder
from fuseconv.tfl import schema
from fuseconv.tfl.opdef import TABLE
from fuseconv.write.table_encoder import Encoder, Table


def read(kind: str, table: str, **fields: Any) -> dict[str, Any]:
    number, second = schema.options_number(table)
    slot = "builtin_options2" if second else "builtin_options"
    data = Encoder(Table("Operator", {f"{slot}_type": number, slot: Table(table, fields)}), b"TFL3").data
    options = options_table(Decoder(bytes(data)).root("Operator"))
    return attributes(kind, options, lambda index: FuncRef(f"f{index}"))


def test_options_that_differ_from_the_defaults_are_attributes():
    assert read("CONV_2D", "Conv2DOptions", padding=1, stride_w=2, stride_h=1, dilation_w_factor=1,
                dilation_h_factor=1, fused_activation_function=1) == {
        "padding": "VALID", "stride_w": 2, "stride_h": 1, "fused_activation_function": "RELU",
    }  # fmt: skip
    assert read("RESHAPE", "ReshapeOptions", new_shape=[2, -1]) == {"new_shape": [2, -1]}
    assert read("VAR_HANDLE", "VarHandleOptions", shared_name="v") == {"shared_name": "v"}
    refs = {"cond_subgraph_index": FuncRef("f1"), "body_subgraph_index": FuncRef("f2")}
    assert read("WHILE", "WhileOptions", cond_subgraph_index=1, body_subgraph_index=2) == refs
    assert read("PACK", "PackOptions", values_count=7, axis=1) == {"axis": 1}


def test_an_op_without_options_has_the_schemas():
    assert attributes("CONV_2D", None, lambda index: FuncRef("")) == {}
    assert attributes("RELU", None, lambda index: FuncRef("")) == {}
    assert options_table(Decoder(bytes(Encoder(Table("Operator", {}), b"TFL3").data)).root("Operator")) is None


def test_options_that_cannot_be_held():
    with pytest.raises(DamagedError, match="no ActivationFunctionType"):
        read("ADD", "AddOptions", fused_activation_function=77)
    with pytest.raises(DamagedError, match="has the options of another: SubOptions"):
        read("ADD", "SubOptions", fused_activation_function=1)
    assert read("ADD", "AbsOptions") == {}  # a table without fields says nothing, whatever it is called


@pytest.mark.parametrize("kind", [kind for kind in TABLE if TABLE[kind].options])
def test_each_scalar_option_comes_back(kind: str) -> None:
    definition = TABLE[kind]
    assert definition.options is not None
    for field in schema.table(definition.options).values():
        if field.code is None or field.name not in definition.defaults or field.name in definition.derived:
            continue
        enum = schema.ENUM_FIELDS.get(field.name)
        stored: Any = True if field.code == "?" else 1
        wanted = schema.enum_name(enum, 1) if enum else FuncRef("f1") if "subgraph" in field.name else stored
        found = read(kind, definition.options, **{field.name: stored}).get(field.name, definition.defaults[field.name])
        assert found == wanted
