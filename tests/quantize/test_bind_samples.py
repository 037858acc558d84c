"""Calibration data learns which inputs it is for."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fuseconv.quantize.bind_samples import bind_samples
from fuseconv.quantize.calibrate import Calibration
from fuseconv.quantize.images import Pixels
from fuseconv.quantize.samples import Samples
from tests.check_pass import check_pass
from tests.tf.text_cases import module_of

_TEXT = """
main {
  input %x: float32[n,4,4,3]
  return %x
}
"""


def test_samples_begin() -> None:
    samples = Samples([{"i0": np.zeros(2)}])
    assert not list(samples)
    check_pass("bind-samples", _TEXT, calibration=Calibration(samples))
    assert len(list(samples)) == 1


def test_images_whose_numbers_nothing_tells_are_warned_of(tmp_path: Path) -> None:
    (tmp_path / "a.png").touch()
    for text, pixels, told in (
        (_TEXT, Pixels(), 1), (_TEXT, Pixels.of(0, 255), 0), (_TEXT.replace("float32", "uint8"), Pixels(), 0),
    ):  # fmt: skip
        module, report = module_of(text)
        bind_samples(module, report, Calibration(Samples(tmp_path, pixels=pixels)))
        assert len(report.warnings) == told
