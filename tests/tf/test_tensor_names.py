"""Tensors by the names that users know them by."""

from __future__ import annotations

import pytest

from fuseconv.errors import InputError
from fuseconv.tf.tensor_names import TensorNames
from fuseconv.transforms.tf.inline import inline
from tests.tf.text_cases import module_of

MODEL = """
main {
  input %x: float32[2]
  %first: float32[2] = tf.PartitionedCall(%x) {'f': @layers}
  %second: float32[2] = tf.PartitionedCall(%first) {'f': @layers}
  %top: float32[2] = tf.PartitionedCall(%second) {'f': @other}
  %unit: float32[2] = tf.PartitionedCall(%top) {'f': @layers}
  %unit_1: float32[2] = tf.PartitionedCall(%unit) {'f': @layers}
  %unit_1_2: float32[2] = tf.PartitionedCall(%unit_1) {'f': @layers}
  %parts: float32[1]; %parts_1: float32[1] = tf.Split(int32[] 0, %unit_1_2) {'num_split': 2}
  return %parts, %parts_1
}
layers {
  input %x: float32[2]
  %dense: float32[2] = tf.PartitionedCall(%x) {'f': @dense}
  %relu: float32[2] = tf.Relu(%dense)
  return %relu
}
dense {
  input %x: float32[2]
  %product: float32[2] = tf.Mul(%x, %x)
  %biased: float32[2] = tf.Add(%product, %x)
  return %biased
}
other {
  input %x: float32[2]
  %up: float32[2] = tf.Exp(%x)
  %down: float32[2] = tf.Neg(%up)
  %both: float32[2] = tf.Add(%up, %down)
  return %both
}
"""


@pytest.fixture
def names() -> TensorNames:
    module, report = module_of(MODEL)
    inline(module, report)
    return TensorNames(module, module.signatures[0].graph, ["first/dense/kernel"])


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("parts", "parts:0"), ("parts:1", "parts:1"), ("first/dense/product", "first/dense/product:0"),
        ("first/relu", "first/relu:0"), ("first/dense", "first/dense/biased:0"), ("first", "first/relu:0"),
        ("second/", "second/relu:0"),
        ("unit/", "unit/relu:0"), ("unit_1_2", "unit_1_2/relu:0"),
        ("up", "top/up:0"), ("top", "top/both:0"), ("down:0", "top/down:0"),
    ],
)  # fmt: skip
def test_a_name_in_full_its_end_or_a_layer(names: TensorNames, name: str, found: str) -> None:
    assert names.find(name, "--inputs").name == found


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("relu", "several tensors go by that name; name one of them in full: first/relu:0, second/relu:0, unit/relu:0"),
        ("dense", "several layers may be meant; name one of them in full, with the slash: first/dense/, second/"),
        ("unit", "name one of them in full, with the slash: unit/, unit_1/, unit_1_2/"),
        ("dense/product", "several tensors go by that name"),
        ("down:1", "the node 'top/down' (Neg) makes 1 tensors"),
        ("kernel", "that is a constant of the model"),
        ("prod", "there are first/dense/product, second/dense/product"),
        ("secnd", "did you mean second?"),
        ("second/dense/prodct", "did you mean second/dense/product?"),
        ("qqqq", "the model has no tensor or layer of that name; there are first/dense/product"),
        ("", "the model has no tensor or layer of that name"),
    ],
)
def test_what_is_no_tensor(names: TensorNames, name: str, why: str) -> None:
    with pytest.raises(InputError) as error:
        names.find(name, "--outputs")
    assert str(error.value).startswith(f"--outputs {name}: ") and why in str(error.value)
