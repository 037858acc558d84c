"""What errors of weights amount to on the mean, as numpy computes it from whole products."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fuseconv.quantize.channel_means import ChannelMeans, mean_errors, read_by_products
from tests.tf.text_cases import module_of

_RNG = np.random.default_rng(0)


def _means(
    op: str, sizes: tuple[int, ...], channels: int, size: str = "4,4", **attrs: object
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return errors of an op's weights, means, and what they amount to."""
    attrs = {"padding": "VALID", "stride_h": 1, "stride_w": 1, **attrs}
    weights = f"float32[{','.join(map(str, sizes))}] {[0] * math.prod(sizes)}"
    module, _ = module_of(f"""
    main {{
      input %x: float32[n,{size},{channels}]
      %y: float32[*] = tfl.{op}(%x, {weights}, _) {attrs}
      return %y
    }}
    """)
    (found,) = module.signatures[0].graph.ops
    errors, means = _RNG.standard_normal(sizes), _RNG.standard_normal(channels)
    return errors, means, mean_errors(found, errors, means)


def test_convolutions() -> None:
    errors, means, moved = _means("CONV_2D", (5, 3, 2, 4), 4)
    np.testing.assert_allclose(moved, np.einsum("ohwi,i->o", errors, means))  # type: ignore[arg-type]


def test_groups() -> None:
    errors, means, moved = _means("CONV_2D", (6, 3, 2, 2), 4)
    np.testing.assert_allclose(moved[:3], np.einsum("ohwi,i->o", errors[:3], means[:2]))  # type: ignore[index, arg-type]
    np.testing.assert_allclose(moved[3:], np.einsum("ohwi,i->o", errors[3:], means[2:]))  # type: ignore[index, arg-type]


def test_rows_of_several_pixels() -> None:
    """A dense layer reads a tensor whose channels a convolution reads, too (DeepID)."""
    errors, means, moved = _means("FULLY_CONNECTED", (5, 8), 4, "1,2")
    np.testing.assert_allclose(moved, errors @ np.tile(means, 2))  # type: ignore[arg-type]


def test_depthwise() -> None:
    errors, means, moved = _means("DEPTHWISE_CONV_2D", (1, 3, 2, 8), 4)
    np.testing.assert_allclose(moved, errors.sum((0, 1, 2)) * means.repeat(2))  # type: ignore[arg-type]


@pytest.mark.parametrize("op", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_zeros_beside_the_data_meet_errors(op: str) -> None:
    """On maps of 1 x 1 the weight in the middle alone meets data; on 2 x 1, those above and below meet it half the
    time."""
    sizes = (1, 3, 3, 2)
    errors, means, moved = _means(op, sizes, 2, "1,1", padding="SAME")
    axis = {"CONV_2D": (3,), "DEPTHWISE_CONV_2D": ()}[op]
    by_tap = (errors * means).sum(axis)[0]
    np.testing.assert_allclose(moved, np.atleast_1d(by_tap[1, 1]))  # type: ignore[arg-type]
    errors, means, moved = _means(op, sizes, 2, "2,1", padding="SAME")
    by_tap = (errors * means).sum(axis)[0]
    np.testing.assert_allclose(moved, np.atleast_1d(by_tap[1, 1] + (by_tap[0, 1] + by_tap[2, 1]) / 2))  # type: ignore[arg-type]


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_sizes_that_are_not_known(padding: str) -> None:
    """Away from the ends, all weights meet data."""
    errors, means, moved = _means("CONV_2D", (5, 3, 3, 4), 4, "h,w", padding=padding)
    np.testing.assert_allclose(moved, np.einsum("ohwi,i->o", errors, means))  # type: ignore[arg-type]


def test_outputs_that_read_other_weights() -> None:
    assert _means("TRANSPOSE_CONV", (5, 3, 2, 4), 4)[2] is None


@pytest.mark.parametrize(("op", "found"), [
    ("tfl.FULLY_CONNECTED(%x, float32[2,3] [0, 0, 0, 0, 0, 0], _)", ["x"]),
    ("tfl.FULLY_CONNECTED(%x, float32[2,6] [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], _)", []),
    ("tfl.FULLY_CONNECTED(%x, %x, _)", []), ("tfl.BATCH_MATMUL(%x, float32[3,2] [0, 0, 0, 0, 0, 0])", []),
])  # fmt: skip
def test_what_products_read(op: str, found: list[str]) -> None:
    module, _ = module_of(f"""
    main {{
      input %x: float32[n,3]
      %y: float32[n,2] = {op}
      return %y
    }}
    """)
    assert [value.name for value in read_by_products(module.signatures[0].graph)] == found


def test_means_of_samples() -> None:
    module, _ = module_of("main {\n  input %x: float32[n,2]\n  input %y: float32[n,1]\n  return %x\n}")
    x, y = module.signatures[0].graph.inputs
    means = ChannelMeans()
    assert not means.means()
    means.see(x, np.array([1, 2], np.float32))
    assert {value.name: part.tolist() for value, part in means.means().items()} == {"x": [1, 2]}
    means.see(x, np.array([3, 6], np.float32))
    means.see(y, np.array([np.inf], np.float32))
    assert {value.name: part.tolist() for value, part in means.means().items()} == {"x": [2, 4]}
