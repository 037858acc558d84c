"""Functions by name, given as messages and as bytes."""

import pytest

from fuseconv.errors import InputError
from fuseconv.load import protos
from fuseconv.load.function_library import FunctionLibrary


def function(name, *nodes):
    made = protos.classes["FunctionDef"]()
    made.signature.name = name
    for node in nodes:
        made.node_def.add(name=node, op="NoOp")
    return made


@pytest.mark.parametrize("form", [lambda f: f, lambda f: f.SerializeToString()], ids=["messages", "bytes"])
class TestForms:
    def test_functions_are_there_by_name(self, form):
        found = FunctionLibrary([form(function("f", "a", "b")), form(function("g"))])
        assert list(found) == ["f", "g"] and "f" in found and "h" not in found
        assert [node.name for node in found["f"].node_def] == ["a", "b"]
        assert found["f"] is found["f"] is found.get("f")
        assert found.get("h") is None
        with pytest.raises(KeyError):
            found["h"]

    def test_the_same_function_may_be_there_twice(self, form):
        assert list(FunctionLibrary([form(function("f", "a")), form(function("f", "a"))])) == ["f"]

    def test_two_functions_of_one_name_are_refused(self, form):
        with pytest.raises(InputError, match="two functions of the name 'f'"):
            FunctionLibrary([form(function("f", "a")), form(function("f", "b"))])


def test_bytes_are_parsed_when_they_are_asked_for():
    whole = function("f", "a").SerializeToString()
    damaged = whole[:-1]  # within a node
    with pytest.raises(InputError, match="cannot be parsed"):
        FunctionLibrary([damaged])
    # A node (field 3) whose bytes are no NodeDef: the outline leaves it alone.
    found = FunctionLibrary([function("f").SerializeToString() + bytes([3 << 3 | 2, 1, 0xFF])])
    with pytest.raises(InputError, match="cannot be parsed"):
        found["f"]
