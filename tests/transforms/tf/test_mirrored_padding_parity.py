"""Padding by a mirror, against JAX."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.load.stablehlo.modules import check_case


@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
def test_a_mirror_is_one_op(mode: str, tmp_path: Path) -> None:
    for form in ("", "_dynamic"):
        assert check_case(f"shapes/pad_{mode}{form}", tmp_path) == {"MIRROR_PAD": 1}


@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
def test_what_is_mirrored_again_is_padded_again(mode: str, tmp_path: Path) -> None:
    assert check_case(f"shapes/pad_{mode}_again", tmp_path)["MIRROR_PAD"] > 1
