"""Norms written out, as the composites that NPUs know: by their forms, and what is left alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.inspecting import describe
from fuseconv.testing import Converted, check
from tests.load.stablehlo.modules import check_case

RNG = np.random.default_rng(7)
GAMMA, BETA = (RNG.uniform(0.5, 2, 12).astype(np.float32) for _ in range(2))
ROWS, IMAGE = tf.TensorSpec([None, 5, 12]), tf.TensorSpec([None, 3, 5, 12])
COMPOSITE = ["STABLEHLO_COMPOSITE"]
RMS_BODY = ["MUL", "MEAN", "ADD", "RSQRT", "MUL", "MUL"]


def composites(converted: Converted) -> list[tuple[str, dict[str, Any]]]:
    """Return the composites of a file, as `inspect` shows them: names and attributes."""
    ops = [op for subgraph in describe(converted.data, "")["subgraphs"] for op in subgraph["ops"]]
    options = [op["options"] for op in ops if op["op"] == COMPOSITE[0]]
    return [(each["name"], each["composite_attributes"]) for each in options]


def mean(x: Any) -> Any:
    return tf.reduce_mean(x * x, -1, keepdims=True)


RMS = {
    "rsqrt": lambda x: x * tf.math.rsqrt(mean(x) + 1e-3) * GAMMA,
    "divided": lambda x: x / tf.sqrt(mean(x) + 1e-3) * GAMMA,
    "gamma first": lambda x: GAMMA * x * tf.math.rsqrt(mean(x) + 1e-3),
    "gamma with the root": lambda x: x * (tf.math.rsqrt(mean(x) + 1e-3) * GAMMA),
    "without gamma": lambda x: x * tf.math.rsqrt(mean(x) + 1e-3),
    "of sums": lambda x: x * tf.math.rsqrt(tf.reduce_sum(x * x, 2, keepdims=True) / 12 + 1e-3) * (1 + GAMMA),
}


@pytest.mark.parametrize("form", RMS)
def test_rms_norms(form: str) -> None:
    converted = check(RMS[form], ROWS, ops=COMPOSITE + RMS_BODY, composites=["odml.*"], static=form == "rsqrt")
    assert composites(converted) == [("odml.rms_norm", {"epsilon": pytest.approx(1e-3)})]


@pytest.mark.parametrize("other", [
    lambda x: x * tf.math.rsqrt(tf.reduce_mean(x * x, 1, keepdims=True) + 1e-3),
    lambda x: x * tf.math.rsqrt(tf.reduce_sum(x * x, -1, keepdims=True) / 11 + 1e-3),
    lambda x: x * tf.math.rsqrt(mean(x) + GAMMA[:5, None]),
    lambda x: x * tf.math.rsqrt(mean(x + 1) + 1e-3),
], ids=["axis", "share", "epsilons", "another"])  # fmt: skip
def test_what_is_no_norm_stays(other: Any) -> None:
    assert COMPOSITE[0] not in check(other, ROWS, composites=["odml.rms_norm"], static=False).ops


def test_l2_norms() -> None:
    def norm(x: Any) -> Any:
        return x * tf.math.rsqrt(tf.reduce_sum(x * x, -1, keepdims=True) + 1e-4)

    converted = check(norm, ROWS, ops=[*COMPOSITE, "MUL", "SUM", "ADD", "RSQRT", "MUL"], composites=["odml.l2*"])
    assert composites(converted) == [("odml.l2_norm", {"axis": -1, "epsilon": pytest.approx(1e-4)})]


def grouped(x: Any, groups: int = 4) -> tuple[Any, Any, Any]:
    rows = tf.reshape(x, [-1, *x.shape[1:3], groups, 12 // groups])
    return rows, *tf.nn.moments(rows, [1, 2, 4], keepdims=True)


def plain(x: Any) -> Any:
    rows, middle, variance = grouped(x)
    norm = (rows - middle) * tf.math.rsqrt(variance + 1e-3)
    return tf.reshape(norm, [-1, 3, 5, 12]) * GAMMA + BETA


def factored(x: Any) -> Any:
    rows, middle, variance = grouped(x)
    shape = [1, 1, 1, 4, 3]
    norm = tf.nn.batch_normalization(rows, middle, variance, BETA.reshape(shape), GAMMA.reshape(shape), 1e-3)
    return tf.reshape(norm, [-1, 3, 5, 12])


@pytest.mark.parametrize("form", [plain, factored])
@pytest.mark.parametrize("activated", [False, True])
def test_group_norms(form: Any, activated: bool) -> None:
    def model(x: Any) -> Any:
        return tf.nn.relu(form(x)) if activated else form(x)

    converted = check(model, IMAGE, composites=["odml.*"], static=not activated)
    assert converted.ops[: 1 + activated] == COMPOSITE + ["RELU"] * activated
    told = {"num_groups": 4, "epsilon": pytest.approx(1e-3), "channel_axis": 3}
    assert composites(converted) == [("odml.group_norm", told)]


@pytest.mark.parametrize("name", ["unet", "unet_dynamic"])
def test_group_norms_of_flax(name: str, tmp_path: Path) -> None:
    assert check_case(f"models/{name}", tmp_path, composites=["odml.group_norm"])["STABLEHLO_COMPOSITE"] == 2


def one_group(x: Any) -> Any:
    rows, middle, variance = grouped(x, 1)
    return tf.reshape((rows - middle) * tf.math.rsqrt(variance + 1e-3), [-1, 3, 5, 12]) * GAMMA + BETA


def test_a_norm_of_one_group_stays() -> None:
    converted = check(one_group, IMAGE, composites=["odml.*"], static=False)
    assert COMPOSITE[0] not in converted.ops


def test_floats_of_attributes_are_as_wide_as_readers_take() -> None:
    """XNNPACK reads four bytes, however many there are."""
    converted = check(RMS["rsqrt"], ROWS, composites=["odml.*"], static=False)
    float_of_4_bytes = bytes([3 << 2 | 2])
    assert np.float32(1e-3).tobytes() + float_of_4_bytes in converted.data
