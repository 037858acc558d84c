"""Which ops are fused in tiles, and which stay whole."""

from __future__ import annotations

import pytest

from fuseconv.ir.graph import Graph, Op
from fuseconv.tfl.linear import linear
from fuseconv.tfl.tile_rules import Tiles
from fuseconv.transforms.tfl.tiling import Tiler, tiled_inputs, tiled_result
from tests.tf.text_cases import module_of

LAST = Tiles(1, (0, 2, 4))
_W = "float32[4,4] [[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0]]"


def _graph(*lines: str, result: str = "%y") -> Graph:
    text = "\n".join(lines)
    given = "input %x: float32[3,4]\ninput %w: float32[3,8]"
    return module_of(f"main {{\n{given}\n{text}\nreturn {result}\n}}")[0].signatures[0].graph


def _fused(graph: Graph, tiles: Tiles = LAST) -> list[str]:
    places = {op: place for place, op in enumerate(graph.ops)}
    plan = tiled_result(graph.ops[-1], tiles, places)
    return [] if plan is None else [op.type for op in plan.region]


def _made(graph: Graph, tiles: Tiles = LAST) -> list[str]:
    plan = tiled_result(graph.ops[-1], tiles, {op: place for place, op in enumerate(graph.ops)})
    assert plan is not None
    out: list[Op] = []
    Tiler().build(plan, out)
    return [op.type for op in out]


_DENSE = f"%a: float32[3,4] = tfl.FULLY_CONNECTED(%x, {_W}, _)"


def test_a_chain_is_fused_from_the_layer_on() -> None:
    graph = _graph(_DENSE, "%b: float32[3,4] = tfl.TANH(%a)", "%y: float32[3,4] = tfl.MUL(%b, %a)")
    assert _fused(graph) == ["FULLY_CONNECTED", "TANH", "MUL"]
    assert _made(graph) == ["FULLY_CONNECTED", "TANH", "MUL"] * 2 + ["CONCATENATION"]


def test_what_others_read_stays_whole_and_is_sliced() -> None:
    graph = _graph(_DENSE, "%y: float32[3,4] = tfl.TANH(%a)", result="%a, %y")
    assert _fused(graph) == ["TANH"]
    assert _made(graph) == ["STRIDED_SLICE", "TANH"] * 2 + ["CONCATENATION"]


def test_what_is_read_in_other_tiles_too_stays_whole() -> None:
    both = _graph(
        "%a: float32[3,3] = tfl.BATCH_MATMUL(%x, %x) {'adj_y': True}",
        "%b: float32[3,3] = tfl.TRANSPOSE(%a, int32[2] [1, 0])", "%y: float32[3,3] = tfl.ADD(%a, %b)",
    )  # fmt: skip
    assert _fused(both, Tiles(1, (0, 1, 3))) == ["TRANSPOSE", "ADD"]
    whole = _graph(_DENSE, "%m: float32[3,1] = tfl.MEAN(%a, int32[1] [1]) {'keep_dims': True}",
                   "%y: float32[3,4] = tfl.SUB(%a, %m)")  # fmt: skip
    assert _fused(whole) == ["SUB"]


def test_one_of_several_results_is_sliced() -> None:
    graph = _graph("%a: float32[3,4]; %b: float32[3,4] = tfl.SPLIT(int32[] 1, %w) {'num_splits': 2}",
                   "%y: float32[3,4] = tfl.TANH(%b)")  # fmt: skip
    assert _fused(graph) == ["TANH"]


def test_a_slice_is_made_once_a_tile() -> None:
    assert _made(_graph("%y: float32[3,4] = tfl.MUL(%x, %x)")) == ["STRIDED_SLICE", "MUL"] * 2 + ["CONCATENATION"]


def test_what_cannot_be_cut_is_no_tiling() -> None:
    assert _fused(_graph("%y: float32[3,4] = tfl.SOFTMAX(%x)")) == []


@pytest.mark.parametrize("activation, fits", [("RELU", True), ("TANH", False)])
def test_sums_of_tiles_of_input_channels(activation: str, fits: bool) -> None:
    """The bias is added once, and the activation is that of the sum."""
    graph = _graph(
        "%a: float32[3,4] = tfl.TANH(%x)",
        f"%y: float32[3,4] = tfl.FULLY_CONNECTED(%a, {_W}, float32[4] [1.0, 2.0, 3.0, 4.0]) "
        f"{{'fused_activation_function': '{activation}'}}",
    )
    plan = tiled_inputs(graph.ops[-1], (0, 2, 4), {op: place for place, op in enumerate(graph.ops)})
    assert (plan is not None) is fits
    if plan is not None:
        out: list[Op] = []
        Tiler().build(plan, out)
        assert [op.type for op in out] == ["STRIDED_SLICE", "TANH", "FULLY_CONNECTED"] * 2 + ["ADD"]
        first, second = (op for op in out if op.type == "FULLY_CONNECTED")
        biases = [linear(op).bias.tolist() for op in (first, second)]  # type: ignore[union-attr]
        assert biases == [[1, 2, 3, 4], [0, 0, 0, 0]]
        assert first.attrs == second.attrs == {} and out[-1].attrs == {"fused_activation_function": "RELU"}


def test_other_channels_than_the_layer_reads_are_no_tiles() -> None:
    """A dense layer that reads rows of more numbers than its operand has in the last dimension."""
    graph = _graph("%a: float32[6,2] = tfl.RESHAPE(%x, int32[2] [6, 2])",
                   f"%y: float32[3,4] = tfl.FULLY_CONNECTED(%a, {_W}, _)")  # fmt: skip
    places = {op: place for place, op in enumerate(graph.ops)}
    assert tiled_inputs(graph.ops[-1], (0, 2, 4), places) is None
    assert tiled_inputs(graph.ops[-1], (0, 1, 2), places) is None
    assert tiled_inputs(graph.ops[0], (0, 1, 2), places) is None


def test_parts_of_integers_keep_their_scales() -> None:
    graph = _graph(
        "%q: int8[3,4]<0.5:3> = tfl.QUANTIZE(%x)",
        "%y: int8[3,2]<0.25> = tfl.FULLY_CONNECTED(%q, int8[2,4]<1.0,2.0@0> [[1, 2, 3, 4], [5, 6, 7, 8]], "
        "int32[2]<0.5,1.0@0> [2, 8])",
    )
    places = {op: place for place, op in enumerate(graph.ops)}
    assert tiled_inputs(graph.ops[-1], (0, 2, 4), places) is None  # sums would be rounded once more
    plan = tiled_result(graph.ops[-1], Tiles(1, (0, 1, 2)), places)
    assert plan is not None
    out: list[Op] = []
    result = Tiler().build(plan, out)
    values = [[*op.operands, op.result] for op in out]
    scales = [[value.quantization.scale for value in row if value and value.quantization] for row in values]
    assert scales == [[(0.5,), (1.0,), (0.5,), (0.25,)], [(0.5,), (2.0,), (1.0,), (0.25,)], [(0.25,)] * 3]
    assert result.quantization == graph.ops[-1].result.quantization
