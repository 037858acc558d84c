"""What is repeated within a dimension, below which elementwise ops are computed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.check_pass import check_pass
from tests.load.stablehlo.modules import check_case

# The mean of each of 2 groups of 3 channels, repeated for each channel.
_MEANS = [
    "%g: float32[n,5,2,3] = tf.Reshape(%x, int32[4] [-1, 5, 2, 3])",
    "%m: float32[n,2] = tf.Mean(%g, int32[2] [1, 3])",
    "%k: float32[n,2,1] = tf.Reshape(%m, int32[3] [-1, 2, 1])",
    "%s: int32[3] = tf.Shape(%k)",
    "%b: float32[n,2,3] = tf.BroadcastTo(%k, %s)",
    "%r: float32[n,6] = tf.Reshape(%b, int32[2] [-1, 6])",
]
_UNITS = "%u: float32[n,1,6] = tf.Reshape(%r, int32[3] [-1, 1, 6])"


def _main(*lines: str, shape: str = "n,5,6") -> str:
    return "main {\n" + "\n".join([f"input %x: float32[{shape}]", *_MEANS, *lines, "return %y"]) + "\n}"


def test_data_that_is_there_in_groups() -> None:
    check_pass("sink-repeats", _main(_UNITS, "%y: float32[n,5,6] = tf.Sub(%x, %u)"),
               _main(_UNITS, "%c: float32[n,1,2,1] = tf.Reshape(%m, int32[4] [-1, 1, 2, 1])",
                     "%d: float32[n,5,2,3] = tf.Sub(%g, %c)",
                     "%y: float32[n,5,6] = tf.Reshape(%d, int32[3] [-1, 5, 6])"))  # fmt: skip


def test_the_elements_of_a_group_are_computed_once() -> None:
    check_pass("sink-repeats", _main("%y: float32[n,6] = tf.Rsqrt(%r)"),
               _main("%c: float32[n,2,1] = tf.Rsqrt(%k)", "%t: float32[n,2,3] = tf.Tile(%c, int32[3] [1, 1, 3])",
                     "%y: float32[n,6] = tf.Reshape(%t, int32[2] [-1, 6])"))  # fmt: skip


def test_a_constant_is_put_in_groups() -> None:
    check_pass("sink-repeats", _main("%y: float32[n,6] = tf.Mul(%r, float32[6] [1, 2, 3, 4, 5, 6])"),
               _main("%c: float32[n,2,3] = tf.Mul(%k, float32[2,3] [[1, 2, 3], [4, 5, 6]])",
                     "%y: float32[n,6] = tf.Reshape(%c, int32[2] [-1, 6])"))  # fmt: skip


@pytest.mark.parametrize("lines", [
    ["%z: float32[n,5,6] = tf.Neg(%x)", "%u: float32[n,1,6] = tf.Reshape(%r, int32[3] [-1, 1, 6])",
     "%y: float32[n,5,6] = tf.Mul(%z, %u)"],
    ["%u: float32[n,3,2] = tf.Reshape(%r, int32[3] [-1, 3, 2])", "%y: float32[n,3,2] = tf.Neg(%u)"],
    ["%p: float32[n,3,2] = tf.BroadcastTo(%m, int32[3] [1, 3, 2])",
     "%q: float32[n,6] = tf.Reshape(%p, int32[2] [-1, 6])", "%y: float32[n,6] = tf.Neg(%q)"],
])  # fmt: skip
def test_near_misses_stay(lines: list[str]) -> None:
    """Data that is not there in groups, groups across elements, and whole rows that are repeated."""
    check_pass("sink-repeats", _main(*lines))


def test_two_unknown_sizes_stay() -> None:
    lines = [line.replace("n,5", "n,h").replace("-1, 5, 2", "1, -1, 2") for line in (*_MEANS, _UNITS)]
    whole = ["main {", "input %x: float32[n,h,6]", *lines, "%y: float32[n,h,6] = tf.Sub(%x, %u)", "return %y", "}"]
    check_pass("sink-repeats", "\n".join(whole))


@pytest.mark.parametrize("name", ["unet", "unet_dynamic"])
def test_group_norms_of_flax_take_as_few_ops_as_those_of_keras(name: str, tmp_path: Path) -> None:
    """Two of 10 ops each, and their swish; the numbers are JAX's."""
    made = check_case(f"models/{name}", tmp_path)
    assert {op: made[op] for op in ("RESHAPE", "MEAN", "SUB", "ADD", "BROADCAST_TO", "TILE")} == {
        "RESHAPE": 4, "MEAN": 4, "SUB": 2, "ADD": 4, "BROADCAST_TO": 0, "TILE": 0,
    }  # fmt: skip
