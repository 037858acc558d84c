"""What errors of weights amount to on the mean, as numpy computes it from whole products."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fuseconv.quantize.channel_means import ChannelMeans, mean_errors, read_by_products
from tests.tf.text_cases import module_of

_RNG = np.random.default_rng(0)


def _means(op: str, sizes: tuple[int, ...], channels: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return errors of an op's weights, means, and what they amount to."""
    module, _ = module_of(f"""
    main {{
      input %x: float32[n,4,4,{channels}]
      %y: float32[n,2,2,{sizes[0]}] = tfl.{op}(%x, float32[{",".join(map(str, sizes))}] {[0] * math.prod(sizes)}, _)
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


def test_depthwise() -> None:
    errors, means, moved = _means("DEPTHWISE_CONV_2D", (1, 3, 2, 8), 4)
    np.testing.assert_allclose(moved, errors.sum((0, 1, 2)) * means.repeat(2))  # type: ignore[arg-type]


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
    means = ChannelMeans([x, y])
    assert not means.means()
    for each in ([1, 2, np.inf], [3, 6, 1]):
        means.add(np.array(each, np.float32))
    assert {value.name: part.tolist() for value, part in means.means().items()} == {"x": [2, 4]}
