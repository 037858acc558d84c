"""One table of functions by op type, closed for fuseconv's own and open for a conversion."""

from __future__ import annotations

from types import ModuleType

import pytest

from fuseconv.errors import InputError
from fuseconv.ir.op_table import OpTable, marks


def a_module(name: str, *types: str) -> ModuleType:
    made = ModuleType(name)

    def function() -> None: ...

    function.__module__ = name
    made.function = marks("serves", types)(function)  # type: ignore[attr-defined]
    return made


def test_declared() -> None:
    table: OpTable[object] = OpTable()

    @table.declare("A", "B")
    def both() -> None: ...

    @table.declare()
    def C() -> None: ...

    assert table == {"A": both, "B": both, "C": C}
    assert set(table.owners.values()) == {__name__}


def test_marked_and_collected() -> None:
    table: OpTable[object] = OpTable("serves", make=lambda function, name: name.lower())
    module = a_module("acme", "A", "B")
    module.imported = a_module("other", "C").function  # type: ignore[attr-defined]
    module.text = "no function"  # type: ignore[attr-defined]
    table.collect(module, "acme.py")
    assert table == {"A": "a", "B": "b"}
    assert table.owners == {"A": "acme.py", "B": "acme.py"}
    assert marks("serves", (a_module,)) is a_module
    assert a_module.serves == ("a_module",)  # type: ignore[attr-defined]


def test_a_class_with_an_attribute_of_the_name_is_not_marked() -> None:
    module = a_module("acme", "A")
    layer = type("Layer", (), {"__module__": "acme", "serves": None, "__call__": lambda self: None})
    module.Layer, module.layer = layer, layer()  # type: ignore[attr-defined]
    table: OpTable[object] = OpTable("serves", make=lambda function, name: name)
    table.collect(module)
    assert [*table] == ["A"]


def test_a_clash_names_both_owners() -> None:
    first: OpTable[object] = OpTable("serves")
    first.collect(a_module("one", "A"))
    for table in (first, first.copy(), OpTable("serves", extends=first)):
        with pytest.raises(InputError, match="A is claimed by both one and two; leave one out"):
            table.collect(a_module("two", "A"))
    assert first == first.copy()


def test_offered_for_a_time() -> None:
    table: OpTable[int] = OpTable()
    table.claim("A", 1, "one")
    with table.offering({"B": 2}):
        assert (table.offered("B"), table.offered("C")) == (2, None)
        assert "B" not in table
    assert table.offered("B") is None
