"""Whole numbers that become indices lie on steps of integers."""

from __future__ import annotations

import pytest

from fuseconv.quantize.affine import parameters
from fuseconv.quantize.whole_numbers import hold_whole_numbers
from fuseconv.tfl.integer import INT8, INT16, Kernels
from tests.quantize.ranges import measured
from tests.tf.text_cases import module_of


@pytest.mark.parametrize(("ops", "ends", "kernels", "scales"), [
    # 36 steps of one would do, and 32 hold one exactly.
    ("%a: float32[n,4] = tfl.FLOOR(%x)", (0, 7), INT8, {"a": 1 / 32}),
    ("%a: float32[n,4] = tfl.FLOOR(%x)", (-3, 5.5), INT8, {"a": 1 / 16}),
    ("%a: float32[n,4] = tfl.ROUND(%x)", (0, 255), INT8, {"a": 1}),
    ("%a: float32[n,4] = tfl.CEIL(%x)", (0, 0), INT8, {"a": 1 / 128}),
    ("%a: float32[n,4] = tfl.FLOOR(%x)", (0, 7), INT16, {"a": 1 / 2048}),
    # More numbers than there are integers stay as they are, and become floats.
    ("%a: float32[n,4] = tfl.FLOOR(%x)", (0, 256), INT8, {}), ("%a: float32[n,4] = tfl.FLOOR(%x)", (0, 2e4), INT16, {}),
    ("%a: float32[n,4] = tfl.ABS(%x)", (0, 7), INT8, {}),
    # What clips them, and moves them by ones, leaves them whole; what scales them does not.
    ("%b: float32[n,4] = tfl.FLOOR(%x)\n%c: float32[n,4] = tfl.ADD(%b, float32[] 1)\n"
     "%a: float32[n,4] = tfl.MINIMUM(%c, float32[] 6)", (0, 7), INT8, {"a": 1 / 32, "b": 1 / 32, "c": 1 / 32}),
    ("%b: float32[n,4] = tfl.FLOOR(%x)\n%a: float32[n,4] = tfl.ADD(%b, float32[] 0.5)", (0, 7), INT8, {}),
    ("%b: float32[n,4] = tfl.FLOOR(%x)\n%a: float32[n,4] = tfl.SUB(%x, %b)", (0, 7), INT8, {}),
    ("%b: float32[n,4] = tfl.FLOOR(%x)\n%a: float32[n,4] = tfl.LEAKY_RELU(%b)", (0, 7), INT8, {}),
    ("%b: float32[n,4] = tfl.FLOOR(%x)\n%a: float32[n,4] = tfl.ADD(%b, %b) {'fused_activation_function': 'TANH'}",
     (0, 7), INT8, {}),
    ("%b: int32[n,4] = tfl.CAST(%x)\n%a: float32[n,4] = tfl.CAST(%b)", (0, 7), INT8, {"a": 1 / 32}),
])  # fmt: skip
def test_steps(ops: str, ends: tuple[float, float], kernels: Kernels, scales: dict[str, float]) -> None:
    module, _ = module_of(
        f"main {{\n  input %x: float32[n,4]\n{ops}\n  %y: int32[n,4] = tfl.CAST(%a)\n  return %y\n}}"
    )
    graph, ranges = module.signatures[0].graph, measured(a=ends, b=ends, c=ends).ranges
    hold_whole_numbers(graph, ranges, kernels)
    made = {value.name: ranges[value] for op in graph.ops for value in op.results if value.name in "abc"}
    fixed = {name: parameters(found, kernels.activations).scale[0] for name, found in made.items() if found.fixed}
    assert fixed == scales
    assert all(found.least <= ends[0] and ends[1] <= found.largest for found in made.values())


@pytest.mark.parametrize("reader", ["RELU(%a)", "MUL(%a, %x)"])
def test_what_is_only_computed_with_has_any_steps(reader: str) -> None:
    module, _ = module_of(f"""
    main {{
      input %x: float32[n,4]
      %a: float32[n,4] = tfl.FLOOR(%x)
      %y: float32[n,4] = tfl.{reader}
      return %y
    }}
    """)
    graph, ranges = module.signatures[0].graph, measured(a=(0, 7), y=(0, 7)).ranges
    hold_whole_numbers(graph, ranges, INT8)
    assert not ranges[graph.ops[0].result].fixed
