"""Padding by a mirror, against JAX."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.load.stablehlo.modules import check_case


@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
def test_a_mirror_is_one_op(mode: str, tmp_path: Path) -> None:
    assert check_case(f"shapes/pad_{mode}", tmp_path) == {"MIRROR_PAD": 1}
    # What the pass expand-mirror-pads makes of one that may be large.
    assert check_case(f"shapes/pad_{mode}_dynamic", tmp_path) == {"GATHER": 2}


@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
def test_what_is_mirrored_again_is_padded_again(mode: str, tmp_path: Path) -> None:
    assert check_case(f"shapes/pad_{mode}_again", tmp_path)["GATHER"] > 1
