"""The forms in which a function says what it implements."""

import pytest

from fuseconv.ir.graph import FuncRef
from fuseconv.load.annotation import annotation
from fuseconv.load.protos import classes

AttrValue, NameAttrList = classes["AttrValue"], classes["NameAttrList"]
WITH_ATTRS = NameAttrList(name="my_op", attr={"width": AttrValue(i=3), "flag": AttrValue(b=True)})
TEXT = b'name: "my_op" attr { key: "width" value { i: 3 } } attr { key: "flag" value { b: true } }'
FOUND = FuncRef("my_op", {"width": 3, "flag": True})


@pytest.mark.parametrize("key", ["_implements", "api_implements"])
@pytest.mark.parametrize(
    ("value", "found"),
    [
        (AttrValue(s=b"my_op"), FuncRef("my_op")),
        (AttrValue(s=b"LSTMCellSimple,Coupled"), FuncRef("LSTMCellSimple", {"Coupled": True})),
        (AttrValue(func=WITH_ATTRS), FOUND),
        (AttrValue(s=TEXT), FOUND),
        (AttrValue(s=WITH_ATTRS.SerializeToString()), FOUND),
        (AttrValue(s=b"addons:DenseImageWarp"), FuncRef("addons:DenseImageWarp")),
        (AttrValue(s=b""), None),
        (AttrValue(s=b"\xff\xfe"), None),
        (AttrValue(s=b"\n\xffno proto"), None),
        (AttrValue(func=NameAttrList()), None),
    ],
)
def test_forms(key, value, found):
    result = annotation({key: value, "go_backwards": AttrValue(b=True)})
    assert result == found and (found is None or result.attrs == found.attrs)


def test_no_annotation():
    assert annotation({"_noinline": AttrValue(b=True)}) is None
