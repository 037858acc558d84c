"""The table of VHLO's ops."""

from __future__ import annotations

from fuseconv.load.stablehlo.vhlo import ELEMENT_TYPES, OTHER_TYPES, op_attributes


def test_attributes_stand_in_alphabetical_order() -> None:
    table = op_attributes()
    assert table["gather_v1"] and table["add_v1"] == ()
    assert {name: names for name, names in table.items() if list(names) != sorted(names)} == {}
    assert set(table["dot_general_v1"]) < set(table["dot_general_v2"])


def test_a_code_stands_for_one_type() -> None:
    assert not ELEMENT_TYPES.keys() & OTHER_TYPES.keys()
