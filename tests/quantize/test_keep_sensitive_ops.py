"""The pass chooses what stays float, and changes nothing else."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pytest

from fuseconv.errors import InputError
from fuseconv.quantize import keep_sensitive_ops
from fuseconv.quantize.calibrate import Calibration
from fuseconv.quantize.floats import Floats
from fuseconv.quantize.samples import Samples
from fuseconv.quantize.selection import Selection
from tests.check_pass import check_pass

# What is added is coarse in steps of 8 bits beside the larger numbers, and what is left is what was added. Of numbers
# that were much larger yet, neither op would be computed in integers at all.
_TEXT = """
main {
  input %x: float32[8]
  %large: float32[8] = tfl.ADD(%x, float32[8] [6, -6, 6, -6, 6, -6, 6, -6])
  %small: float32[8] = tfl.SUB(%large, float32[8] [6, -6, 6, -6, 6, -6, 6, -6])
  %y: float32[8] = tfl.RELU(%small)
  return %y
}
"""


def _samples() -> Samples:
    rng = np.random.default_rng(0)
    return Samples([{"i0": rng.uniform(0, 1, 8).astype(np.float32)} for _ in range(20)])


def _chosen(limit: float) -> Selection:
    selection = Selection()
    check_pass("keep-sensitive-ops", _TEXT, first=("bind-samples", "calibrate", "keep-floats"), quantize="int8",
               keep_float_under=limit, selection=selection, calibration=Calibration(_samples()),
               floats=Floats(True))  # fmt: skip
    return selection


@pytest.mark.parametrize(
    ("limit", "kept"), [(2.0, []), (0.01, ["ADD", "SUB"]), (1e-6, ["ADD", "RELU", "SUB"])]
)
def test_as_few_as_suffice_stay_float(limit: float, kept: list[str]) -> None:
    selection = _chosen(limit)
    assert sorted(op.type for op in selection.kept) == kept
    assert all("alone it costs" in selection.refusal(op) for op in selection.kept)


def test_no_more_files_are_tried_than_halves_take(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[object] = []
    measured = keep_sensitive_ops._Trials._error

    def error(self: keep_sensitive_ops._Trials, kept: Collection[str]) -> float:
        tried.append(kept)
        return measured(self, kept)

    monkeypatch.setattr(keep_sensitive_ops._Trials, "_error", error)
    assert len(_chosen(0.01).kept) == 2
    assert len(tried) == 1 + 3 + 2  # all in integers, each of three alone, and the first 2 and 1 of them as floats


def test_weights_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuseconv.quantize.weights_to_float16.LEAST_ELEMENTS", 4)
    text = """
    main {
      input %x: float32[n,2]
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, float32[2,2] [1.0001, 2, 3, 4], _)
      %z: float32[n,2] = tfl.FULLY_CONNECTED(%y, float32[2,2] [1, 2, 3, 4], _)
      return %z
    }
    """
    for limit, kept in ((1e-2, 0), (1e-6, 1)):
        selection, samples = Selection(), Samples([{"i0": np.array([[1, 2], [3, -4]], np.float32)}])
        check_pass("keep-sensitive-ops", text, first=("bind-samples", "keep-floats"), quantize="float16",
                   keep_float_under=limit, selection=selection, calibration=Calibration(samples),
                   floats=Floats(True))  # fmt: skip
        assert len(selection.kept) == kept


def test_ops_that_read_the_same_weights_stay_float_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuseconv.quantize.weights_to_float16.LEAST_ELEMENTS", 4)
    text = """
    main {
      input %x: float32[n,2]
      %w: float32[n,2] = tfl.FULLY_CONNECTED(%x, float32[2,2] [1.0001, 2, 3, 4], _)
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%w, float32[2,2] [1, 2, 3, 4], _)
      %z: float32[n,2] = tfl.FULLY_CONNECTED(%y, float32[2,2] [1.0001, 2, 3, 4], _)
      return %z
    }
    """
    selection, samples = Selection(), Samples([{"i0": np.array([[1, 2], [3, -4]], np.float32)}])
    check_pass("keep-sensitive-ops", text, first=("bind-samples", "keep-floats"), quantize="float16",
               keep_float_under=6e-6, selection=selection, calibration=Calibration(samples),
               floats=Floats(True))  # fmt: skip
    assert sorted(op.result.name for op in selection.kept) == ["w", "z"]


def test_samples_are_asked_for() -> None:
    with pytest.raises(InputError, match="--keep-float-under needs samples"):
        check_pass("keep-sensitive-ops", _TEXT, first=("keep-floats",), quantize="float16", keep_float_under=0.1,
                   selection=Selection(), calibration=Calibration(Samples(())), floats=Floats(True))  # fmt: skip
