"""Constants in integers."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir.graph import Op
from fuseconv.quantize.affine import Range
from fuseconv.quantize.recipe import choose_recipes
from fuseconv.quantize.rewriting import rewrite
from fuseconv.tfl.integer import INT8, INT16, Kernels
from tests.quantize.ranges import measured
from tests.tf.text_cases import module_of


def test_weights_get_a_wider_scale_for_a_bias_that_overflows() -> None:
    module, _ = module_of("""
    main {
      input %x: float32[n,1]
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, float32[2,1] [1e-6, 1], float32[2] [1000, 1])
      return %y
    }
    """)
    graph = module.signatures[0].graph
    rewrite(graph, choose_recipes(module, measured(x=(-1, 1), y=(0, 1001)).ranges, INT8)[graph])
    _, weights, bias = graph.ops[1].operands
    assert weights is not None and bias is not None and bias.data is not None and bias.quantization is not None
    assert abs(int(bias.data[0])) <= 1 << 30
    np.testing.assert_allclose(bias.data * np.array(bias.quantization.scale), [1000, 1], rtol=1e-4)


@pytest.mark.parametrize(("weights", "scales"), [("[0.5, 6, 63.5, 1]", 1), ("[0.5, 6.2, 63.5, 1]", 2)])
def test_a_matrix_on_one_grid_has_one_scale(weights: str, scales: int) -> None:
    module, _ = module_of(f"""
    main {{
      input %x: float32[n,2]
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, float32[2,2] {weights}, float32[2] [10, 1])
      return %y
    }}
    """)
    graph = module.signatures[0].graph
    rewrite(graph, choose_recipes(module, measured(x=(-1, 1), y=(0, 90)).ranges, INT8)[graph])
    _, stored, bias = graph.ops[1].operands
    assert stored is not None and bias is not None and stored.quantization is not None and stored.data is not None
    assert bias.quantization is not None and len(bias.quantization.scale) == len(stored.quantization.scale) == scales
    if scales == 1:
        assert stored.quantization.scale == (0.5,) and stored.data.tolist() == [[1, 12], [127, 2]]


@pytest.mark.parametrize(("fixed", "end", "kind"), [
    (True, 2.0, "tfl.ADD"), (False, 1.9, "tfl.QUANTIZE"),
    (False, 2.1, "tfl.ADD"), (False, 31.0, "tfl.ADD"), (False, 33.0, "tfl.QUANTIZE"),  # LiteRT's would round twice
    (True, 3e-6, "tfl.QUANTIZE"),  # ADD of so much finer steps would end the process
])  # fmt: skip
def test_what_would_be_rounded_otherwise_is_rescaled_by_a_sum_with_zero(fixed: bool, end: float, kind: str) -> None:
    module, _ = module_of("""
    main {
      input %x: float32[n,2]
      %y: float32[n,2] = tfl.ABS(%x)
      %z: float32[n,4] = tfl.CONCATENATION(%x, %y) {'axis': 1}
      return %z, %y
    }
    """)
    graph = module.signatures[0].graph
    ends = {"x": (-1.0, 2.0), "y": (0.0, 2.0), "z": (-end, end)}
    values = [*graph.inputs, *(op.result for op in graph.ops)]
    ranges = {value: Range(*ends[value.name], fixed=fixed) for value in values}
    rewrite(graph, choose_recipes(module, ranges, INT8)[graph], on_cpu=True)
    (concat,) = [op for op in graph.ops if op.type == "CONCATENATION"]
    value = concat.operands[1]
    assert value is not None and value.op is not None and value.op.kind == kind
    assert value.quantization == concat.result.quantization
    if kind == "tfl.ADD":
        narrow, zero = value.op.operands
        assert narrow is not None and zero is not None and zero.data is not None and zero.quantization is not None
        assert zero.quantization == narrow.quantization and zero.data == zero.quantization.zero_point[0]


@pytest.mark.parametrize("bias", ["float32[2] [1, 2]", "_"])
def test_biases_make_up_for_errors_of_weights(bias: str) -> None:
    weights = np.random.default_rng(0).standard_normal((2, 40)).astype(np.float32)
    module, _ = module_of(f"""
    main {{
      input %x: float32[n,40]
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, float32[2,40] {weights.tolist()}, {bias})
      return %y
    }}
    """)
    graph = module.signatures[0].graph
    means = np.linspace(0, 1, 40)
    recipe = choose_recipes(module, measured(x=(0, 1), y=(-9, 9)).ranges, INT8)[graph]
    rewrite(graph, recipe, means={graph.inputs[0]: means})
    made = []
    for value in graph.ops[1].operands[1:]:
        assert value is not None and value.data is not None and value.quantization is not None
        scales = np.array(value.quantization.scale)
        made.append(value.data * (scales[:, None] if value.rank == 2 else scales))
    wanted = weights @ means + ([1, 2] if bias != "_" else 0)
    assert np.abs(made[0] @ means - weights @ means).max() > 1e-3
    np.testing.assert_allclose(made[0] @ means + made[1], wanted, rtol=0, atol=1e-4)


@pytest.mark.parametrize("second", ["%w", "float32[2,2] [0.11, 0.22, 0.33, 0.44]"])
def test_steps_that_share_their_weights_get_no_biases_of_their_own(second: str) -> None:
    module, _ = module_of(f"""
    main {{
      input %x: float32[n,2]
      const %w: float32[2,2] = [0.11, 0.22, 0.33, 0.44]
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, %w, _)
      %z: float32[n,2] = tfl.FULLY_CONNECTED(%y, {second}, _)
      %a: float32[n,2] = tfl.FULLY_CONNECTED(%x, float32[2,2] [0.11, 0.22, 0.33, 0.45], _)
      return %z, %a
    }}
    """)
    graph = module.signatures[0].graph
    for op in graph.ops:
        op.sources = ("cell/matmul",)
    recipe = choose_recipes(module, measured(x=(0, 1), y=(0, 1), z=(0, 1), a=(0, 1)).ranges, INT8)[graph]
    rewrite(graph, recipe, means={graph.inputs[0]: np.ones(2), graph.ops[0].result: np.ones(2)})
    products = [op for op in graph.ops if op.type == "FULLY_CONNECTED"]
    assert [op.operands[2] is None for op in products] == [True, True, False]


def test_a_constant_of_several_readers_is_stored_once() -> None:
    module, _ = module_of("""
    main {
      input %x: float32[n,2]
      const %c: float32[2] = [1.0, 2.0]
      %y: float32[n,2] = tfl.ADD(%x, %c)
      %z: float32[n,2] = tfl.MUL(%y, %c)
      return %z
    }
    """)
    graph = module.signatures[0].graph
    rewrite(graph, choose_recipes(module, measured(x=(-1, 1), y=(0, 3), z=(0, 6)).ranges, INT8)[graph])
    assert len(list(graph.constants())) == 1


def _normalized(weights: np.ndarray, kernels: Kernels = INT8) -> Op:
    """Return a DEPTHWISE_CONV_2D with a weight and a bias for each channel, in integers."""
    count = len(weights)
    module, _ = module_of(f"""
    main {{
      input %x: float32[n,2,2,{count}]
      const %w: float32[1,1,1,{count}] = {weights.tolist()}
      const %b: float32[{count}] = {(weights / 7).tolist()}
      %y: float32[n,2,2,{count}] = tfl.DEPTHWISE_CONV_2D(%x, %w, %b) {{'padding': 'SAME', 'stride_w': 1, 'stride_h': 1}}
      return %y
    }}
    """)
    graph = module.signatures[0].graph
    rewrite(graph, choose_recipes(module, measured(x=(-1, 1), y=(-1, 1)).ranges, kernels)[graph])
    return graph.ops[1]


@pytest.mark.parametrize(("weights", "kernels", "count"), [
    (np.linspace(0.3, 1, 64), INT8, 1),
    (np.linspace(-1, 1, 64), INT8, 1),
    (np.linspace(0.3, 1, 3), INT8, 3),  # nothing to gain
    (np.r_[np.linspace(0.3, 1, 63), 40], INT8, 64),  # the others would be lost in its steps
    (np.linspace(0.3, 1, 64), INT16, 64),  # steps of weights are most of its error
])  # fmt: skip
def test_weights_of_one_a_channel_share_a_scale(weights: np.ndarray, kernels: Kernels, count: int) -> None:
    op = _normalized(weights, kernels)
    scales = []
    for value, exact in zip(op.operands[1:], (weights, weights / 7)):
        assert value is not None and value.data is not None and value.quantization is not None
        scales.append(np.array(value.quantization.scale))
        assert len(scales[-1]) == count
        off = value.data.ravel() * scales[-1] - exact
        assert np.abs(off).max() <= 0.51 * scales[-1].max()
    data = op.operands[0]
    assert data is not None and data.quantization is not None
    assert np.abs(scales[1] / (scales[0] * data.quantization.scale[0]) - 1).max() < 1e-6


@pytest.mark.parametrize(
    ("op", "bound", "stays"),
    [
        ("MAXIMUM", "1e-12", False),
        ("MAXIMUM", "0.3", True),
        ("MINIMUM", "10", False),
        ("MINIMUM", "0", True),
    ],
)
def test_a_bound_at_the_end_of_the_type_bounds_nothing(op: str, bound: str, stays: bool) -> None:
    """All of 0 to 10 lies in 255 steps: 1e-12 is the first of them."""
    module, _ = module_of(f"""
    main {{
      input %x: float32[n,4]
      %a: float32[n,4] = tfl.RELU(%x)
      %b: float32[n,4] = tfl.{op}(%a, float32[] {bound})
      %y: float32[n,4] = tfl.ADD(%b, %b)
      return %y, %b
    }}
    """)
    graph = module.signatures[0].graph
    ranges = measured(x=(-10, 10), a=(0, 10), b=(0, 10), y=(0, 20)).ranges
    rewrite(graph, choose_recipes(module, ranges, INT8)[graph])
    assert any(each.type == op for each in graph.ops) is stays
    (relu,) = [each.result for each in graph.ops if each.type == "RELU"]
    (added,) = [each for each in graph.ops if each.type == "ADD"]
    assert (added.operands[0] is relu) is not stays
    (returned,) = {value.op.operands[0] for value in graph.outputs[1:] if value.op is not None}
    assert (returned is relu) is not stays


def test_a_bound_of_what_is_read_in_another_scale_stays() -> None:
    module, _ = module_of("""
    main {
      input %x: float32[n,4]
      %a: float32[n,4] = tfl.RELU(%x)
      %b: float32[n,4] = tfl.MINIMUM(%a, float32[] 5)
      %y: float32[n,4] = tfl.ADD(%b, %a)
      return %y
    }
    """)
    graph = module.signatures[0].graph
    rewrite(graph, choose_recipes(module, measured(x=(-10, 10), a=(0, 10), b=(0, 5), y=(0, 15)).ranges, INT8)[graph])
    assert [each.type for each in graph.ops][:4] == ["QUANTIZE", "RELU", "QUANTIZE", "MINIMUM"]
