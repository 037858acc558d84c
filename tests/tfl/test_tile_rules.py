"""Which tiles of its operands an op needs for tiles of its result."""

from __future__ import annotations

import pytest

from fuseconv.tfl.tile_rules import Tiles, joins_along, joints, operand_tiles
from tests.tf.text_cases import module_of

_W = "[[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0]]"
LAST, HEADS = Tiles(2, (0, 2, 4)), Tiles(2, (0, 1, 2))


@pytest.mark.parametrize(
    ("line", "tiles", "needed"),
    [
        ("%y: float32[1,6,4] = tfl.TANH(%x)", LAST, [LAST]),
        ("%y: float32[1,6,4] = tfl.MUL(%x, float32[4] [1.0, 2.0, 3.0, 4.0])", LAST, [LAST, Tiles(0, (0, 2, 4))]),
        ("%y: float32[1,6,4] = tfl.SOFTMAX(%x)", LAST, None),
        ("%y: float32[1,6,4] = tfl.SOFTMAX(%x)", Tiles(1, (0, 1, 6)), [Tiles(1, (0, 1, 6))]),
        (f"%y: float32[1,6,2] = tfl.FULLY_CONNECTED(%x, float32[2,4] {_W}, float32[2] [1.0, 2.0]) "
         "{'keep_num_dims': True}", HEADS, [None, Tiles(0, (0, 1, 2)), Tiles(0, (0, 1, 2))]),
        (f"%y: float32[1,6,2] = tfl.FULLY_CONNECTED(%x, float32[2,4] {_W}, _) {{'keep_num_dims': True}}",
         Tiles(1, (0, 3, 6)), [Tiles(1, (0, 3, 6)), None, None]),
        # Weights that are no constants of float32.
        ("%y: float32[1,6,6] = tfl.FULLY_CONNECTED(%x, %m, _) {'keep_num_dims': True}", Tiles(2, (0, 3, 6)), None),
        ("%y: float32[1,6,2,2] = tfl.RESHAPE(%x, int32[4] [1, 6, 2, 2])", HEADS, [LAST, None]),
        ("%y: float32[1,6,2,2] = tfl.RESHAPE(%x, int32[4] [1, 6, 2, 2])", Tiles(3, (0, 1, 2)), None),
        ("%y: float32[1,6,4] = tfl.RESHAPE(%h, int32[3] [1, 6, 4])", LAST, [HEADS, None]),
        ("%y: float32[1,6,4] = tfl.RESHAPE(%h, int32[3] [1, 6, 4])", Tiles(2, (0, 1, 4)), None),
        ("%y: float32[1,6,2,2] = tfl.BATCH_MATMUL(%h, %h)", Tiles(1, (0, 1, 6)), [Tiles(1, (0, 1, 6))] * 2),
        ("%y: float32[1,6,6] = tfl.BATCH_MATMUL(%x, %x) {'adj_y': True}", Tiles(2, (0, 3, 6)),
         [None, Tiles(1, (0, 3, 6))]),
        ("%y: float32[1,6,1,2] = tfl.MAX_POOL_2D(%h) {'padding': 'VALID', 'stride_w': 2, 'stride_h': 1, "
         "'filter_width': 2, 'filter_height': 1}", Tiles(3, (0, 1, 2)), [Tiles(3, (0, 1, 2))]),
        ("%y: float32[1,6,8] = tfl.CONCATENATION(%x, %x) {'axis': -1}", Tiles(2, (0, 4, 8)), [None, None]),
        ("%y: float32[1,6,8] = tfl.CONCATENATION(%x, %x) {'axis': -1}", Tiles(2, (0, 3, 8)), None),
        ("%y: float32[1,6,8] = tfl.CONCATENATION(%x, %x) {'axis': 2, 'fused_activation_function': 'RELU'}",
         Tiles(2, (0, 4, 8)), None),
        ("%y: float32[1,12,4] = tfl.CONCATENATION(%x, %x) {'axis': 1}", LAST, [LAST, LAST]),
        ("%y: float32[1,6,4] = tfl.CUMSUM(%x, int32[] 1)", LAST, None),
    ],
)  # fmt: skip
def test_tiles(line: str, tiles: Tiles, needed: list[Tiles | None] | None) -> None:
    given = "input %x: float32[1,6,4]\n input %h: float32[1,6,2,2]\n input %m: float32[6,4]"
    module, _ = module_of(f"main {{\n {given}\n {line}\n return %y\n}}")
    assert operand_tiles(module.signatures[0].graph.ops[0], tiles) == needed


@pytest.mark.parametrize(
    ("multiplier", "tiles", "data"), [(1, (0, 1, 2), (0, 1, 2)), (2, (0, 2, 4), (0, 1, 2)), (2, (0, 1, 4), None)]
)
def test_a_depthwise_convolution(multiplier: int, tiles: tuple[int, ...], data: tuple[int, ...] | None) -> None:
    size = 2 * multiplier
    weights = f"float32[1,1,1,{size}] [[[{[1.0] * size}]]], float32[{size}] {[1.0] * size}"
    module, _ = module_of(f"""
    main {{
      input %x: float32[1,6,2,2]
      %y: float32[1,6,2,{size}] = tfl.DEPTHWISE_CONV_2D(%x, {weights}) {{'stride_w': 1, 'stride_h': 1, \
'depth_multiplier': {multiplier}}}
      return %y
    }}
    """)
    found = operand_tiles(module.signatures[0].graph.ops[0], Tiles(3, tiles))
    assert found == (None if data is None else [Tiles(3, data), Tiles(3, tiles), Tiles(0, tiles)])


def test_a_concatenation_of_several_scales_is_none_of_tiles() -> None:
    module, _ = module_of("""
    main {
      input %x: int8[1,4]<0.5>
      input %y: int8[1,4]<0.25>
      %z: int8[1,8]<0.5> = tfl.CONCATENATION(%x, %y) {'axis': 1}
      return %z
    }
    """)
    assert operand_tiles(module.signatures[0].graph.ops[0], Tiles(1, (0, 4, 8))) is None


def test_where_operands_of_a_concatenation_meet() -> None:
    module, _ = module_of("""
    main {
      input %x: float32[2,3]
      input %y: float32[2,5]
      %z: float32[2,8] = tfl.CONCATENATION(%x, %y) {'axis': 1}
      return %z
    }
    """)
    op = module.signatures[0].graph.ops[0]
    assert joints(op) == (0, 3, 8)
    assert joins_along(op, 1) and not joins_along(op, 0)
