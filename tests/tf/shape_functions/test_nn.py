"""Shapes of convolutions and poolings."""

from __future__ import annotations

from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Op, Value
from fuseconv.ir.types import FLOAT32
from fuseconv.tf.shape_functions import infer
from tests.check_pass import check_pass


def test_windows() -> None:
    check_pass("canonicalize", """
    main {
      input %x: float32[n,8,9,2]
      input %w: float32[3,3,2,4]
      %a: float32[*] = tf.Conv2D(%x, %w) {'strides': [1, 2, 2, 1], 'padding': 'SAME'}
      %b: float32[*] = tf.MaxPool(%a) {'ksize': [1, 2, 2, 1], 'strides': [1, 1, 1, 1], 'padding': 'VALID'}
      %c: float32[*] = tf.BiasAdd(%b, float32[4] [1.0, 2.0, 3.0, 4.0])
      return %a, %c
    }
    """, """
    main {
      input %x: float32[n,8,9,2]
      input %w: float32[3,3,2,4]
      %a: float32[n,4,5,4] = tf.Conv2D(%x, %w) {'padding': 'SAME', 'strides': [1, 2, 2, 1]}
      %b: float32[n,3,4,4] = tf.MaxPool(%a) {'ksize': [1, 2, 2, 1], 'padding': 'VALID', 'strides': [1, 1, 1, 1]}
      %c: float32[n,3,4,4] = tf.BiasAdd(%b, float32[4] [1.0, 2.0, 3.0, 4.0])
      return %a, %c
    }
    """)


def _inferred(kind: str, *shapes: Shape, **attrs: object) -> Shape | None:
    op = Op(f"tf.{kind}", [Value(FLOAT32, shape) for shape in shapes], attrs)
    for _ in range(3 if kind.startswith("Fractional") else 1):
        op.add_result(FLOAT32, None)
    return (infer(op) or [None])[0]


def test_convolutions_of_any_rank() -> None:
    how = {"strides": [1, 1, 2, 1], "padding": "VALID"}
    last, first = (4, 9, 10, 2), (4, 2, 9, 10)
    assert _inferred("Conv", last, (3, 2, 2, 5), data_format="CHANNELS_LAST", **how) == (4, 7, 5, 5)
    assert _inferred("Conv", first, (3, 2, 2, 5), data_format="CHANNELS_FIRST", **how) == (4, 5, 4, 9)
    assert _inferred("Conv", last, (3, 2, 2, 5), batch_dims=2, **how) is None


def test_pools_of_channels_are_told_of_as_they_are() -> None:
    pools = {"deterministic": True, "seed": 1, "seed2": 2}
    assert _inferred("FractionalMaxPool", (4, 9, 10, 2), pooling_ratio=[1.0, 1.5, 2.5, 1.0], **pools) == (4, 6, 4, 2)
    assert _inferred("FractionalMaxPool", (4, 9, 10, 2), pooling_ratio=[1.0, 1.5, 2.5, 2.0], **pools) is None
    of_channels = {"ksize": [1, 1, 1, 2], "strides": [1, 1, 1, 3], "padding": "VALID"}
    assert _inferred("MaxPool", (4, 9, 10, 6), **of_channels) == (4, 9, 10, 2)
