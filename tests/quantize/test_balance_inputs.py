"""Inputs of a model are brought to like sizes where their weights differ much."""

from __future__ import annotations

import pytest

import fuseconv.quantize.balance_inputs as module
from fuseconv.quantize.selection import Selection
from tests.check_pass import check_pass


@pytest.fixture
def _small_constants_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LEAST_ELEMENTS", 2)


@pytest.mark.usefixtures("_small_constants_count")
def test_a_product_of_powers_of_two_stands_in_front() -> None:
    check_pass("balance-inputs", """
    main {
      input %x: float32[n,3]
      %c: float32[n,3] = tfl.ADD(%x, float32[3] [1, 2, 3])
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%c, float32[2,3] [1.1, 150, 0, -0.9, 100, 0], float32[2] [1, 2])
      return %y
    }
    """, """
    main {
      input %x: float32[n,3]
      %c: float32[n,3] = tfl.ADD(%x, float32[3] [1, 2, 3])
      %m: float32[n,3] = tfl.MUL(%c, float32[3] [0.0078125, 1, 0.000000059604645])
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%m, float32[2,3] [140.8, 150, 0, -115.2, 100, 0], float32[2] [1, 2])
      return %y
    }
    """)


@pytest.mark.usefixtures("_small_constants_count")
def test_inputs_that_come_alike_and_results_of_ops_stay() -> None:
    check_pass("balance-inputs", """
    main {
      input %x: float32[n,2]
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, float32[2,2] [1.1, 1.5, 0.9, 1.7], _)
      %t: float32[n,2] = tfl.TANH(%y)
      %z: float32[n,2] = tfl.FULLY_CONNECTED(%t, float32[2,2] [0.1, 150, 0.2, 1.7], _)
      return %z
    }
    """)


@pytest.mark.usefixtures("_small_constants_count")
def test_masks_and_orders_of_steps_are_no_numbers_of_inputs() -> None:
    before = """
      input %x: float32[n,5,2]
      input %counts: bool[n,5,1]
      input %order: int32[n,5]
      %s: float32[n,5,2] = tfl.SELECT_V2(%counts, %x, float32[] 0)
      %g: float32[n,5,2] = tfl.GATHER(%s, %order) {'axis': 1, 'batch_dims': 1}
    """
    check_pass("balance-inputs", f"""
    main {{{before}
      %y: float32[n,5,1] = tfl.FULLY_CONNECTED(%g, float32[1,2] [1.1, 150], _) {{'keep_num_dims': True}}
      return %y
    }}
    """, f"""
    main {{{before}
      %m: float32[n,5,2] = tfl.MUL(%g, float32[2] [0.0078125, 1])
      %y: float32[n,5,1] = tfl.FULLY_CONNECTED(%m, float32[1,2] [140.8, 150], _) {{'keep_num_dims': True}}
      return %y
    }}
    """)


@pytest.mark.usefixtures("_small_constants_count")
@pytest.mark.parametrize("numbers", [
    "tfl.GATHER(float32[2,2] [1, 2, 3, 4], %ids) {'axis': 0, 'batch_dims': 0}",
    "tfl.SELECT_V2(%is, float32[1,2] [1, 2], float32[1,2] [3, 4])",
])  # fmt: skip
def test_numbers_of_the_model_stay(numbers: str) -> None:
    check_pass("balance-inputs", f"""
    main {{
      input %ids: int32[n]
      input %is: bool[n,1]
      %x: float32[n,2] = {numbers}
      %y: float32[n,1] = tfl.FULLY_CONNECTED(%x, float32[1,2] [1.1, 150], _)
      return %y
    }}
    """)


@pytest.mark.usefixtures("_small_constants_count")
def test_each_tensor_on_the_way_to_an_input_is_looked_at_once() -> None:
    """Ways through so many choices there are 2 ** 1000."""
    steps = [f"%x{at + 1}: float32[n,2] = tfl.SELECT_V2(%is, %x{at}, %x{at})" for at in range(1000)]
    begin = "\n".join(["main {", "input %is: bool[n,1]", "input %x0: float32[n,2]", *steps])
    product = "%y: float32[n,1] = tfl.FULLY_CONNECTED(%x1000, float32[1,2] [1.1, 150], _)\nreturn %y\n}"
    balanced = product.replace("%x1000", "%m").replace("[1.1, 150]", "[140.8, 150]")
    factors = "%m: float32[n,2] = tfl.MUL(%x1000, float32[2] [0.0078125, 1])"
    check_pass("balance-inputs", f"{begin}\n{product}", f"{begin}\n{factors}\n{balanced}")


@pytest.mark.usefixtures("_small_constants_count")
@pytest.mark.parametrize(("weights", "without"), [
    ("[1, 127, 2, 126]", ()),  # on a grid, as weights that were quantized once
    ("[0.1, 150, 0.2, 1.7]", ("FULLY_CONNECTED",)),
])  # fmt: skip
def test_what_lies_on_a_grid_or_is_to_stay_float_stays(weights: str, without: tuple[str, ...]) -> None:
    check_pass("balance-inputs", f"""
    main {{
      input %x: float32[n,2]
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, float32[2,2] {weights}, _)
      return %y
    }}
    """, quantize="int8", selection=Selection(without=without))


@pytest.mark.usefixtures("_small_constants_count")
def test_what_a_product_reads_of_several_dimensions() -> None:
    check_pass("balance-inputs", """
    main {
      input %x: float32[2,n,2]
      %t: float32[n,2,2] = tfl.TRANSPOSE(%x, int32[3] [1, 0, 2])
      %y: float32[n,1] = tfl.FULLY_CONNECTED(%t, float32[1,4] [1.1, 150, 0.3, 100], _)
      return %y
    }
    """, """
    main {
      input %x: float32[2,n,2]
      %t: float32[n,2,2] = tfl.TRANSPOSE(%x, int32[3] [1, 0, 2])
      %m: float32[n,2,2] = tfl.MUL(%t, float32[2,2] [0.0078125, 1, 0.001953125, 0.5])
      %y: float32[n,1] = tfl.FULLY_CONNECTED(%m, float32[1,4] [140.8, 150, 153.6, 200], _)
      return %y
    }
    """)


_JOINED = """
main {
  input %x: float32[n,2]
  input %h: float32[n,2]
  %t: float32[n,2] = tfl.TANH(%h)
  %c: float32[n,4] = tfl.CONCATENATION(%x, %t) {'axis': AXIS}
  %y: float32[n,2] = tfl.FULLY_CONNECTED(%c, float32[2,4] [1.1, 150, 2, 4, -0.9, 100, 3, 5], float32[2] [1, 2])
  return %y
}
"""


@pytest.mark.usefixtures("_small_constants_count")
@pytest.mark.parametrize("axis", ["-1", "1"])
def test_what_is_joined_with_inputs_has_one_power(axis: str) -> None:
    before = _JOINED.replace("AXIS", axis)
    factors = "float32[4] [0.0078125, 1, 0.03125, 0.03125]"
    after = before.replace("  %y", f"  %m: float32[n,4] = tfl.MUL(%c, {factors})\n  %y")
    for old, new in (
        ("CONNECTED(%c", "CONNECTED(%m"),
        ("[1.1, 150, 2, 4, -0.9, 100, 3, 5]", "[140.8, 150, 64, 128, -115.2, 100, 96, 160]"),
    ):
        after = after.replace(old, new)
    check_pass("balance-inputs", before, after, quantize="dynamic")
    # Ranges tell which of these are to stay float.
    check_pass("balance-inputs", before, quantize="int8")


@pytest.mark.usefixtures("_small_constants_count")
def test_what_the_model_computes_alone_stays() -> None:
    check_pass("balance-inputs", _JOINED.replace("AXIS", "1").replace("(%x, %t)", "(%t, %t)"), quantize="dynamic")
    check_pass("balance-inputs", """
    main {
      input %x: float32[1,4]
      %t: float32[1,4] = tfl.TANH(%x)
      %c: float32[2,4] = tfl.CONCATENATION(%x, %t) {'axis': 0}
      %y: float32[2,1] = tfl.FULLY_CONNECTED(%c, float32[1,4] [1.1, 150, 3, 9], _)
      return %y
    }
    """, quantize="dynamic")


def _bidirectional(x: str, forward: str, backward: str, auxiliary: str = "_", balanced: str = "") -> str:
    rest = "float32[2,2] [1, 2, 3, 4], float32[2] [1, 2]"
    return f"""
    main {{
      input %x: float32[n,3,2]
      variable %f: float32[1,2] {{'variable': True}}
      variable %b: float32[1,2] {{'variable': True}}
      {balanced}
      %y: float32[n,3,4] = tfl.BIDIRECTIONAL_SEQUENCE_RNN({x}, float32[2,2] {forward}, {rest}, %f, \
        float32[2,2] {backward}, {rest}, %b, {auxiliary}, _, _) {{'merge_outputs': True}}
      return %y
    }}
    """


@pytest.mark.usefixtures("_small_constants_count")
def test_weights_of_both_directions_count() -> None:
    """The second input is the larger one of the backward weights alone."""
    forward, backward = "[1.137, 0.2173, 0.9117, 0.0871]", "[1.137, 150.3, 0.9117, 100.7]"
    balanced = "%m: float32[n,3,2] = tfl.MUL(%x, float32[2] [0.015625, 1])"
    larger = "[72.768, 0.2173, 58.3488, 0.0871]", "[72.768, 150.3, 58.3488, 100.7]"
    check_pass("balance-inputs", _bidirectional("%x", forward, backward), _bidirectional("%m", *larger, "_", balanced))
    check_pass("balance-inputs", _bidirectional("%x", forward, backward, auxiliary="%x"))
