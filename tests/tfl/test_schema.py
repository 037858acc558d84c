"""The schema as data, held against the generated code that it comes from."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.tfl import schema
from fuseconv.tfl.generated_schema import generated
from fuseconv.tfl.opdef import TABLE


def test_fields_of_a_table():
    fields = schema.table("Conv2DOptions")
    assert list(fields)[:3] == ["padding", "stride_w", "stride_h"]
    assert fields["dilation_w_factor"] == schema.Field("dilation_w_factor", 4, "i", 1)
    assert fields["padding"].code == "b"


def test_deprecated_fields_are_skipped():
    """new_height and new_width keep slots 0 and 1."""
    fields = schema.table("ResizeBilinearOptions")
    assert {name: field.slot for name, field in fields.items()} == {"align_corners": 2, "half_pixel_centers": 3}


def test_types_and_defaults():
    assert schema.table("RandomOptions")["seed"].code == "q"
    assert schema.table("FakeQuantOptions")["min"].code == "f"
    assert schema.table("AddOptions")["pot_scale_int16"].default is True
    assert schema.table("Operator")["debug_metadata_index"].default == -1
    assert schema.table("Operator")["inputs"].code is None
    assert schema.table("AbsOptions") == {}


@pytest.mark.parametrize("name", sorted({op.options for op in TABLE.values() if op.options}))
def test_accessors_exist(name: str):
    for field in schema.table(name).values():
        assert hasattr(getattr(generated, name), field.camel)


def test_enums():
    assert schema.enum_name("Padding", 1) == "VALID"
    assert schema.enum_name("Padding", 9) == "UNKNOWN_9"
    assert schema.enum_number("ActivationFunctionType", "RELU6") == 3
    with pytest.raises(ValueError, match="'FULL' is no Padding; there are SAME, VALID"):
        schema.enum_number("Padding", "FULL")


def test_unions():
    assert schema.options_number("Conv2DOptions") == (generated.BuiltinOptions.Conv2DOptions, False)
    assert schema.options_number("DilateOptions") == (generated.BuiltinOptions2.DilateOptions, True)
    with pytest.raises(ValueError, match="no option table NoOptions"):
        schema.options_number("NoOptions")


@pytest.mark.parametrize(
    ("table", "name", "right", "wrong"),
    [
        ("SoftmaxOptions", "beta", [2, 0.5, np.float32(1)], ["1", [1.0]]),
        ("ReducerOptions", "keep_dims", [True, np.bool_(False)], ["True", 0.5]),
        ("GatherOptions", "axis", [-1, np.int64(2)], [1.5, "a", 2**31]),
        ("Conv2DOptions", "padding", ["SAME", 1, None], ["SOME"]),
        ("SqueezeOptions", "squeeze_dims", [[0], (1, 2)], [3]),
    ],
)
def test_what_an_option_can_be(table, name, right, wrong):
    for value in right:
        schema.check_option(table, name, value)
    for value in wrong:
        with pytest.raises(ValueError, match=f"the attribute {name}"):
            schema.check_option(table, name, value)
