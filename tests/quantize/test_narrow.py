"""Tables and recurrent weights have few bits, though floats are computed of them."""

from __future__ import annotations

import pytest

from fuseconv.quantize.recipe import choose_recipes
from fuseconv.tfl.integer import INT8, INT16
from tests.quantize.ranges import measured
from tests.tf.text_cases import module_of


@pytest.mark.parametrize(("rows", "stays"), [(512, False), (4, True)])
def test_what_is_picked_from_a_table_for_floats(rows: int, stays: bool) -> None:
    """A table takes a quarter of its bytes in int8; of a small one, the conversion takes more."""
    numbers = ", ".join(str(index % 7 - 3) for index in range(2 * rows))
    module, _ = module_of(f"""
    main {{
      input %i: int32[n]
      %y: float32[n,2] = tfl.GATHER(float32[{rows},2] [{numbers}], %i)
      %t: float32[2,n] = tfl.TRANSPOSE(%y, int32[2] [1, 0])
      %z: float32[2,n] = tfl.SIN(%t)
      return %z
    }}
    """)
    ranges = measured(y=(-3, 3), t=(-3, 3), z=(-1, 1)).ranges
    for kernels in (INT8, INT16):
        recipe = choose_recipes(module, ranges, kernels)[module.signatures[0].graph]
        assert ("GATHER" not in {op.type for op in recipe.why}) is not stays
        assert {op.type for op in recipe.integer} <= {"GATHER", "TRANSPOSE"}


@pytest.mark.parametrize(("op", "narrow"), [
    ("tfl.UNIDIRECTIONAL_SEQUENCE_RNN(%x, float32[2,2] [1, 2, 3, 4], float32[2,2] [1, 2, 3, 4], float32[2] [1, 2], %h)",
     True),
    ("tfl.UNIDIRECTIONAL_SEQUENCE_RNN(%v, float32[2,2] [1, 2, 3, 4], float32[2,2] [1, 2, 3, 4], float32[2] [1, 2], %h)",
     False),
])  # fmt: skip
def test_fused_layers_without_an_integer_kernel_take_weights_of_int8(op: str, narrow: bool) -> None:
    """Not where nothing was measured: what the model itself rounds may be told alone."""
    module, _ = module_of(f"""
    main {{
      input %x: float32[n,3,2]
      input %v: float32[n,3,2]
      input %h: float32[n,2]
      %y: float32[n,3,2] = {op} {{'time_major': False, 'fused_activation_function': 'TANH'}}
      return %y
    }}
    """)
    ranges = measured(x=(-1, 1), y=(-1, 1)).ranges
    recipe = choose_recipes(module, ranges, INT8)[module.signatures[0].graph]
    assert {op.type for op in recipe.narrow} == ({"UNIDIRECTIONAL_SEQUENCE_RNN"} if narrow else set())
